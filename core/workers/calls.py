"""What the owner of the indexes lets other processes call: everything that they may ask, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

from braid.core.indexes.base import LegIndex
from braid.core.indexes.opened import Indexes
from braid.core.models.embeddings import EmbeddingModel, raw_vectors
from braid.core.priority import SearchPriority
from braid.core.vector import Vector
from braid.core.workers.endpoint import Calls

OpenedWith = Mapping[str, str]
"""The options that decide what a search finds, in words: all processes should have the same."""


def calls_of(
    indexes: Indexes, priority: SearchPriority, model_named: Callable[[str], EmbeddingModel], opened_with: OpenedWith
) -> Calls:
    """Return the calls; ``model_named`` returns the model with a fingerprint. Searches count in ``priority``."""

    def embed(fingerprint: str, texts: list[str], of_queries: bool) -> Vector:
        return raw_vectors(model_named(fingerprint), texts, of_queries=of_queries)

    def answering(collection: str) -> str:
        return indexes.answering_model(collection).fingerprint

    def first(work: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(work)
        def before_work_in_the_background(*arguments: Any, **options: Any) -> Any:
            with priority.search():
                return work(*arguments, **options)

        return before_work_in_the_background

    searching: dict[str, Callable[..., Any]] = {
        "bm25.search": indexes.bm25.search,
        "bm25.statistics": indexes.bm25.statistics,
        "bm25.containing": indexes.bm25.containing,
        "dense.search": indexes.dense.search,
        "dense.search_all": indexes.dense.search_all,
        "models.embed": embed,
    }
    return {
        **{name: first(work) for name, work in searching.items()},
        "models.answering": answering,
        "opened_with": lambda: dict(opened_with),
        "dense.dimension": indexes.dense.dimension,
        **{f"indexer.{work.__name__}": work for work in _of_the_indexer(indexes)},
        **{
            f"{name}.{work.__name__}": work
            for name, index in _all(indexes).items()
            for work in (index.count, index.check, index.collections, index.drop)
        },
        **{f"{name}.ids": partial(_ids, index) for name, index in _all(indexes).items()},
    }


def _all(indexes: Indexes) -> dict[str, LegIndex]:
    legs: dict[str, LegIndex] = {"bm25": indexes.bm25, "dense": indexes.dense}
    return legs if indexes.chroma is None else {**legs, "chroma": indexes.chroma}


def _ids(index: LegIndex, collection: str) -> list[str]:
    return list(index.ids(collection))


def _of_the_indexer(indexes: Indexes) -> tuple[Callable[..., Any], ...]:
    indexer = indexes.indexer
    return (
        indexer.states,
        indexer.progress,
        indexer.leg_progress,
        indexer.copy_progress,
        indexer.wait,
        indexer.wake,
        indexer.suspect,
        indexer.rebuild,
    )
