"""How often this process's models have failed, for its metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, get_args

Kind = Literal["chat", "embedding", "reranker"]

_failures: Counter[Kind] = Counter()  # changed without a lock, which a fork could leave locked: a figure may be too low


def count_failure(kind: Kind) -> None:
    """Count a call that failed or took too long; not one that was refused because of an earlier one."""
    _failures[kind] += 1


def failures() -> Mapping[Kind, int]:
    """Return the failures of each kind of model since the process started."""
    return {kind: _failures[kind] for kind in get_args(Kind)}
