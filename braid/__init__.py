"""Braid: multi-collection hybrid retrieval for chat applications.

``from braid import Braid`` is the way in. In a checkout the rooms ``core``, ``app`` and ``config`` are links to the
folders beside this one, so that every module has one name wherever Braid runs: ``braid.core…``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from braid.app.auth.identity import HostUser
    from braid.app.factory import create_app, register_braid
    from braid.core.braid import Braid
    from braid.core.ingest.ingest import ingest_bytes
    from braid.core.retriever_manager import RetrieverManager
    from braid.core.types import Filters

_HOMES = {
    "Braid": "core.braid",
    "Filters": "core.types",
    "HostUser": "app.auth.identity",
    "RetrieverManager": "core.retriever_manager",
    "create_app": "app.factory",
    "ingest_bytes": "core.ingest.ingest",
    "register_braid": "app.factory",
}

__all__ = [
    "Braid",
    "Filters",
    "HostUser",
    "RetrieverManager",
    "create_app",
    "ingest_bytes",
    "register_braid",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that ``import braid`` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'braid' has no attribute {name!r}")
    return getattr(importlib.import_module(f"braid.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
