"""The open indexes of a data directory: in this process, or through the one that owns them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from braid.core.models.embeddings import EmbeddingModel

if TYPE_CHECKING:
    from braid.core.indexes.base import KeywordIndex, VectorIndex
    from braid.core.indexes.chroma.copy import ChromaCopy
    from braid.core.indexes.indexer import Indexer


@dataclass(frozen=True, slots=True)
class Indexes:
    """Both legs, the copy in Chroma, the indexer, and the models of their vectors."""

    bm25: KeywordIndex
    dense: VectorIndex
    chroma: ChromaCopy | None
    """None where chromadb is not installed, or Milvus has the vectors."""
    indexer: Indexer
    answering_model: Callable[[str], EmbeddingModel]
    """The embedding model whose vectors searches of a collection use. Raises EmbeddingError."""
