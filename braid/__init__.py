"""Braid: multi-collection hybrid retrieval for chat applications.

``from braid import Braid`` is the way in. In a checkout the rooms ``core``, ``app`` and ``config`` are links to the
folders beside this one, so that every module has one name wherever Braid runs: ``braid.core…``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from braid.core.braid import Braid
    from braid.core.retriever_manager import RetrieverManager
    from braid.core.types import Filters

__all__ = ["Braid", "Filters", "RetrieverManager"]

_HOMES = {
    "Braid": "braid.core.braid",
    "Filters": "braid.core.types",
    "RetrieverManager": "braid.core.retriever_manager",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that ``import braid`` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'braid' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
