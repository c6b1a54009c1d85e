"""Parts that other installed packages bring, by the entry points of these packages."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

RERANKERS = "braid.rerankers"
"""Group of the rerankers: the name is what a reranker's name begins with, the object a class or function that takes
the rest of the name."""

logger = logging.getLogger(__name__)


@lru_cache
def installed(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, sorted; loads none of them."""
    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def loaded(what: str, point: EntryPoint) -> Any:
    """Return the object that an entry point names; None, logged, where it cannot be loaded."""
    try:
        return point.load()
    except Exception:  # the edge to another package: any error of its own must not take ours away
        logger.exception("%s %r of %s is left out: it cannot be loaded", what, point.name, point.value)
        return None
