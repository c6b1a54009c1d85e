"""What a program gives a `HybridSearcher`: embedders that are awaited, and stores that have the chunks' vectors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from langchain_core.embeddings import Embeddings

from braid.core.errors import EmbeddingError, ValidationError
from braid.core.models.embeddings import EmbeddingModel, named_model
from braid.core.standalone.scorer import IndexedScore
from braid.core.vector import Vector

DOCUMENTS = ("embed_documents", "aembed_documents", "embed")
QUERIES = ("embed_query", "aembed_query", "embed")
"""Methods that embed texts, and a query; ``embed`` takes several texts."""


class AsyncEmbedder(Protocol):
    """Embeds texts in coroutines, by methods of the names of `Embeddings`."""

    async def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text."""

    async def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""


class VectorStore(Protocol):
    """Has the vectors of the chunks. LangChain's stores, which find by the query's text, are taken, too."""

    def search(self, vector: list[float], k: int) -> Iterable[IndexedScore]:
        """Return the nearest chunks by their index, best first; may be a coroutine."""


Embedder = str | Embeddings | EmbeddingModel | AsyncEmbedder


def is_awaited(embedder: object) -> bool:
    """Return whether the embedder's methods are coroutines, or it has others than `Embeddings`."""
    if embedder is None or isinstance(embedder, str):
        return False
    methods = [getattr(embedder, name, None) for name in ("embed_documents", "embed_query")]
    has_both = all(callable(method) for method in methods)
    return any(map(inspect.iscoroutinefunction, methods)) or (not has_both and _method(embedder, DOCUMENTS) is not None)


async def awaited_model(embedder: object, query: str, texts: Sequence[str]) -> EmbeddingModel:
    """Return a model that has the vectors of these texts and of the query already. Raises EmbeddingError."""
    given: dict[str, Any] = {}
    if texts:
        vectors = list(await _call(embedder, DOCUMENTS, list(texts)))
        if len(vectors) != len(texts):
            raise EmbeddingError(f"{type(embedder).__name__} gave {len(vectors)} vectors for {len(texts)} texts")
        given = dict(zip(texts, vectors, strict=True))
    name, _ = _method(embedder, QUERIES) or ("", None)
    found = await _call(embedder, QUERIES, [query] if name == "embed" else query)
    of_query = found[0] if name == "embed" else found
    return named_model(_Given(given, of_query), type(embedder).__name__)


class _Given(Embeddings):
    def __init__(self, vectors: Mapping[str, Any], of_query: Any) -> None:
        self._vectors, self._of_query = vectors, of_query

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        found: list[float] = self._of_query
        return found


def checked_store(store: object) -> Any:
    """Return a store that can be searched. Raises ValidationError."""
    if not any(callable(getattr(store, name, None)) for name in ("similarity_search_with_score", "search")):
        raise ValidationError(
            f"store is a {type(store).__name__}; give one with search(vector, k), which gives pairs of a chunk's index "
            "and its score, or a vector store of LangChain",
            field="store",
        )
    return store


async def nearest_in(store: Any, vector: Vector | None, query: str, texts: Sequence[str], k: int) -> list[IndexedScore]:
    """Return what the store finds, by the chunks' indexes. Raises EmbeddingError when it fails."""
    if hasattr(store, "similarity_search_with_score"):  # LangChain's, whose scores may be distances
        found = await _guarded(store, store.similarity_search_with_score, query, k=k)
        places = {text: index for index, text in reversed(list(enumerate(texts)))}
        ranked = [places[each.page_content] for each, _ in found if each.page_content in places]
        return [(index, 1.0 / rank) for rank, index in enumerate(ranked, 1)]
    pairs = await _guarded(store, store.search, [] if vector is None else vector.tolist(), k)
    return [(int(index), float(score)) for index, score in pairs]


def _method(of: object, names: Sequence[str]) -> tuple[str, Any] | None:
    return next(((name, found) for name in names if callable(found := getattr(of, name, None))), None)


async def _call(embedder: object, names: Sequence[str], given: object) -> Any:
    found = _method(embedder, names)
    if found is None:
        raise EmbeddingError(f"{type(embedder).__name__} has none of {', '.join(names)}")
    return await _guarded(embedder, found[1], given)


async def _guarded(of: object, act: Any, *arguments: Any, **named: Any) -> Any:
    """Await a coroutine, or call in a thread. Raises EmbeddingError for whatever the program's own code raises."""
    try:
        if inspect.iscoroutinefunction(act):
            return await act(*arguments, **named)
        answer = await asyncio.to_thread(act, *arguments, **named)
        return await answer if inspect.isawaitable(answer) else answer
    except Exception as error:  # the edge to a program's own class
        raise EmbeddingError(f"{type(of).__name__} failed: {type(error).__name__}: {error}") from error
