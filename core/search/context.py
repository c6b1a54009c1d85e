"""The parts that all searches share: the open indexes, and the models that they may ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field

from braid.core.indexes.bm25 import Bm25Index
from braid.core.indexes.dense import DenseIndex
from braid.core.indexes.indexer import Indexer
from braid.core.ledger.ledger import Ledger
from braid.core.models.answer_cache import RecentAnswers
from braid.core.models.chat import ChatModels
from braid.core.models.embeddings import EmbeddingModel
from braid.core.models.prompts import Prompts
from braid.core.models.rerank import Rerankers
from braid.core.priority import SearchPriority
from braid.core.text.analyzer import Analyzer
from braid.core.types import Leg


@dataclass(frozen=True, slots=True)
class SearchModels:
    """The chat models, rerankers and prompts of a search; a request may bring its own."""

    chat: ChatModels = field(default_factory=ChatModels)
    prompts: Prompts = field(default_factory=Prompts)
    rerankers: Rerankers = field(default_factory=Rerankers)


@dataclass(frozen=True, slots=True)
class SearchContext:
    """The parts of an open data directory that every search uses."""

    ledger: Ledger
    indexer: Indexer
    dense: DenseIndex
    bm25: Bm25Index
    analyzer: Analyzer
    model_of: Callable[[str], EmbeddingModel]
    """The embedding model of a collection."""
    executors: Mapping[Leg, Executor]
    """One per leg, so that a store or model that hangs does not take the other leg's threads."""
    leg_timeout_s: float
    models: SearchModels
    """The models of searches that bring none."""
    answers: RecentAnswers = field(default_factory=RecentAnswers)
    """Recent replies of search models, for `braid.core.search.explain`."""
    priority: SearchPriority = field(default_factory=SearchPriority)
