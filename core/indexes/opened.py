"""The open indexes of a data directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from braid.core.indexes.answering_models import AnsweringModels
    from braid.core.indexes.base import KeywordIndex, VectorIndex
    from braid.core.indexes.chroma.copy import ChromaCopy
    from braid.core.indexes.indexer import Indexer


@dataclass(frozen=True, slots=True)
class Engines:
    """Both legs, and the models that answer."""

    bm25: KeywordIndex
    dense: VectorIndex
    models: AnsweringModels

    def followed_by(self, indexer: Indexer, chroma: ChromaCopy | None) -> Indexes:
        """Return the indexes with who knows how far they are."""
        return Indexes(self.bm25, self.dense, chroma, indexer)


@dataclass(frozen=True, slots=True)
class Indexes:
    """Both legs, the copy in Chroma, and the indexer."""

    bm25: KeywordIndex
    dense: VectorIndex
    chroma: ChromaCopy | None
    """None where chromadb is not installed, Milvus has the vectors, or another process follows the ledger."""
    indexer: Indexer
