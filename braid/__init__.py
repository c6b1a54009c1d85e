"""Braid: multi-collection hybrid retrieval for chat applications.

``from braid import Braid`` is the way in. In a checkout the rooms ``core``, ``app`` and ``config`` are links to the
folders beside this one, so that every module has one name wherever Braid runs: ``braid.core…``.

In the examples of the docstrings ``data_dir`` is an empty folder, ``model`` an embedding model, and ``braid`` an open
`Braid` whose user 1 has dataset 1 with two documents, pump.md and valve.md. tests/test_examples.py makes these and
runs the examples.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from braid.app.factory import create_app, register_braid
    from braid.app.host import Brand, HostUser
    from braid.core.adding.add import AddProgress, AddReport, add_documents
    from braid.core.braid import Braid, IndexOptions
    from braid.core.chat.comparison import ThreeFields
    from braid.core.chat.conversation import Conversation
    from braid.core.chat.store import ConversationStore
    from braid.core.chat.turn_recorder import TurnRecorder
    from braid.core.chat.types import ChatRequest, Turn
    from braid.core.data_directory import DataDirectory
    from braid.core.errors import (
        BraidError,
        ClosedError,
        DegradedError,
        HybridRetrieverError,
        InvalidInputError,
        NotFoundError,
        NotOwnerError,
        OtherSiteError,
    )
    from braid.core.extras import MissingExtraError
    from braid.core.indexes.milvus.options import MilvusOptions
    from braid.core.ingest.ingest import ingest_bytes, ingest_paths
    from braid.core.ingest.plan import IngestOptions
    from braid.core.models.embeddings import EmbeddingOptions, named_model
    from braid.core.remote import RemoteBraid
    from braid.core.retriever_manager import RetrieverManager
    from braid.core.standalone.retriever import HybridRetriever
    from braid.core.standalone.scorer import Bm25Scorer
    from braid.core.standalone.searcher import HybridSearcher
    from braid.core.stock.named import (
        BasicRetrieverStrategy,
        ContextualCompressionRetrieverStrategy,
        HydeRetrieverStrategy,
        MultiQueryRetrieverStrategy,
    )
    from braid.core.types import ChunkInput, Dataset, DocumentInput, Filters, Hit, Passage, SearchResult

__version__ = "0.1.0"

__all__ = [
    "AddProgress",
    "AddReport",
    "BasicRetrieverStrategy",
    "Bm25Scorer",
    "Braid",
    "BraidError",
    "Brand",
    "ChatRequest",
    "ChunkInput",
    "ClosedError",
    "ContextualCompressionRetrieverStrategy",
    "Conversation",
    "ConversationStore",
    "DataDirectory",
    "Dataset",
    "DegradedError",
    "DocumentInput",
    "EmbeddingOptions",
    "Filters",
    "Hit",
    "HostUser",
    "HybridRetriever",
    "HybridRetrieverError",
    "HybridSearcher",
    "HydeRetrieverStrategy",
    "IndexOptions",
    "IngestOptions",
    "InvalidInputError",
    "MilvusOptions",
    "MissingExtraError",
    "MultiQueryRetrieverStrategy",
    "NotFoundError",
    "NotOwnerError",
    "OtherSiteError",
    "Passage",
    "RemoteBraid",
    "RetrieverManager",
    "SearchResult",
    "ThreeFields",
    "Turn",
    "TurnRecorder",
    "add_documents",
    "create_app",
    "ingest_bytes",
    "ingest_paths",
    "named_model",
    "register_braid",
]

_HOMES = {
    "braid.app.host": ("Brand", "HostUser"),
    "braid.app.factory": ("create_app", "register_braid"),
    "braid.core.braid": ("Braid", "IndexOptions"),
    "braid.core.chat.comparison": ("ThreeFields",),
    "braid.core.chat.conversation": ("Conversation",),
    "braid.core.chat.store": ("ConversationStore",),
    "braid.core.chat.turn_recorder": ("TurnRecorder",),
    "braid.core.chat.types": ("ChatRequest", "Turn"),
    "braid.core.data_directory": ("DataDirectory",),
    "braid.core.errors": (
        "BraidError",
        "ClosedError",
        "DegradedError",
        "HybridRetrieverError",
        "InvalidInputError",
        "NotFoundError",
        "NotOwnerError",
        "OtherSiteError",
    ),
    "braid.core.extras": ("MissingExtraError",),
    "braid.core.adding.add": ("AddProgress", "AddReport", "add_documents"),
    "braid.core.indexes.milvus.options": ("MilvusOptions",),
    "braid.core.ingest.ingest": ("ingest_bytes", "ingest_paths"),
    "braid.core.ingest.plan": ("IngestOptions",),
    "braid.core.models.embeddings": ("EmbeddingOptions", "named_model"),
    "braid.core.remote": ("RemoteBraid",),
    "braid.core.retriever_manager": ("RetrieverManager",),
    "braid.core.standalone.retriever": ("HybridRetriever",),
    "braid.core.standalone.scorer": ("Bm25Scorer",),
    "braid.core.standalone.searcher": ("HybridSearcher",),
    "braid.core.stock.named": (
        "BasicRetrieverStrategy",
        "ContextualCompressionRetrieverStrategy",
        "HydeRetrieverStrategy",
        "MultiQueryRetrieverStrategy",
    ),
    "braid.core.types": ("ChunkInput", "Dataset", "DocumentInput", "Filters", "Hit", "Passage", "SearchResult"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that ``import braid`` costs nothing."""
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = value = getattr(importlib.import_module(home), name)
            return value
    raise AttributeError(f"module 'braid' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
