"""The parts that all searches share: the open indexes, the models that they may ask, and what these answered lately."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from braid.core.admission import Places
from braid.core.indexes.base import KeywordIndex, VectorIndex
from braid.core.indexes.indexer import Indexer
from braid.core.ledger.ledger import Ledger
from braid.core.lru import LeastRecentlyUsed
from braid.core.models.chat import ChatModels
from braid.core.models.embeddings import EmbeddingModel
from braid.core.models.prompts import Prompts
from braid.core.models.rerank import Rerankers
from braid.core.priority import SearchPriority
from braid.core.search.strategies import Configured
from braid.core.spans import carried
from braid.core.text.analyzer import Analyzer
from braid.core.types import Leg

MAX_ANSWERS = 1_000
"""Answers of the search model that are kept, so that a search is explained without asking again."""


class RecentAnswers:
    """Keeps up to ``size`` answers in memory, by asker, model and messages. Safe to use from several threads.

    By asker, so that an explanation does not say whether somebody else asked the same question.
    """

    def __init__(self, size: int = MAX_ANSWERS) -> None:
        self._answers: LeastRecentlyUsed[str, str] = LeastRecentlyUsed(size)

    def put(self, user_id: int | None, model: str, messages: Sequence[tuple[str, str]], text: str) -> None:
        """Remember an answer; an empty one means that the model gave none."""
        self._answers.put(_key(user_id, model, messages), text)

    def get(self, user_id: int | None, model: str, messages: Sequence[tuple[str, str]]) -> str | None:
        """Return the answer; None when it is not remembered."""
        return self._answers.get(_key(user_id, model, messages))


def _key(user_id: int | None, model: str, messages: Sequence[tuple[str, str]]) -> str:
    return hashlib.sha256(repr((user_id, model, list(messages))).encode("utf-8", "surrogatepass")).hexdigest()


SEARCH_THREADS = 64
"""Threads for searches, per leg. Most of them wait for their user's turn, see `braid.core.admission`."""

T = TypeVar("T")


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Threads(ThreadPoolExecutor):
    """Threads whose work belongs to the span of whoever submits it."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Let a thread call it."""
        return super().submit(carried(fn), *args, **kwargs)


class SearchThreads:
    """The threads of searches: one executor per leg, so that a store or model that hangs does not take the other's."""

    def __init__(self) -> None:
        self.places = Places(processors())
        """For work on the indexes in memory, of all searches."""
        self.start_over()

    def start_over(self) -> None:
        """Make new threads, in the child of a fork: it has none of its parent's."""
        self.places.start_over()
        legs: tuple[Leg, ...] = ("dense", "bm25")
        self.executors = {leg: _Threads(SEARCH_THREADS, f"braid-search-{leg}") for leg in legs}

    def close(self) -> None:
        """Wait for the searches that run."""
        for executor in self.executors.values():
            executor.shutdown(wait=True, cancel_futures=True)


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
    dense: VectorIndex
    bm25: KeywordIndex
    analyzer: Analyzer
    model_of: Callable[[str], EmbeddingModel]
    """The embedding model of a collection."""
    executors: Mapping[Leg, Executor]
    places: Places
    leg_timeout_s: float
    models: SearchModels
    """The models of searches that bring none."""
    configured: Configured = field(default_factory=dict)
    """Values of strategies' parameters for searches that bring none."""
    answers: RecentAnswers = field(default_factory=RecentAnswers)
    """Recent replies of search models, for `braid.core.search.explain`."""
    priority: SearchPriority = field(default_factory=SearchPriority)
