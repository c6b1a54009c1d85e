"""The parts that all searches share: the open indexes, the models that they may ask, and what these answered lately."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
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


class ModelThreads(Executor):
    """Up to ``most`` threads for calls of models in other processes. Neither `shutdown` nor the end of the process
    waits for a call: a server that hangs is waited for by searches, and only as long as these may take.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads = 0
        self._closed = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Let a thread call it. Raises RuntimeError after `shutdown`."""
        with self._lock:
            if self._closed:
                raise RuntimeError("these threads have been shut down")
            future = Future[T]()
            self._calls.put((future, partial(carried(fn), *args, **kwargs)))
            if not self._idle.acquire(blocking=False) and self._threads < self._most:
                self._threads += 1
                threading.Thread(target=self._work, name=f"{self._name}_{self._threads}", daemon=True).start()
        return future

    def _work(self) -> None:
        while (given := self._calls.get()) is not None:
            future, call = given
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # raised where the result is asked for
                    future.set_exception(error)
            del given, future, call
            self._idle.release()

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:
        """Begin no call any more; those that run end by themselves."""
        with self._lock:
            self._closed = True
            with suppress(Empty):
                while given := self._calls.get_nowait():
                    given[0].cancel()
            for _ in range(self._threads):
                self._calls.put(None)


class SearchThreads:
    """The threads of searches: one executor per leg, so that a store or model that hangs does not take the other's."""

    def __init__(self) -> None:
        self.places = Places(processors())
        """For work on the indexes in memory, of all searches."""
        self.start_over()

    def start_over(self) -> None:
        """Make new threads, in the child of a fork: it has none of its parent's."""
        self.places.start_over()
        self.executors: dict[Leg, Executor] = {
            "dense": ModelThreads(SEARCH_THREADS, "braid-search-dense"),
            "bm25": _Threads(SEARCH_THREADS, "braid-search-bm25"),
        }

    def close(self) -> None:
        """Wait for the searches that run in the indexes, but not for models."""
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
