"""Rerankers: a model that reads query and passage together puts the fused candidates into a better order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any, Protocol

from braid.core import extras
from braid.core.errors import InvalidInputError, ModelError, Reason
from braid.core.forks import tell_of_forks
from braid.core.models.failures import MODEL_CALLS
from braid.core.models.onnx_model import OnnxModel
from braid.core.models.reasons import loggable, safe_reason
from braid.core.models.rerank_http import ConnectedReranker, HttpReranker, RerankServer, checked_scores
from braid.core.types import RERANKER_FORMS, RERANKERS, Hit, Query, indexed_text

LOCAL_PACKAGE = "sentence-transformers"
THREADS = 4


class Reranker(Protocol):
    """Scores how well passages answer a query."""

    @property
    def name(self) -> str:
        """``provider:model``."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score per text, higher is better. Raises ModelError."""


class LocalReranker:
    """A reranker that computes in this process; what it raises, and scores that are none, are told as ModelError."""

    def __init__(self, name: str) -> None:
        self.name = name

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Score the texts, several at once."""
        try:
            scores = [float(score) for score in self._computed(query, texts)]
        except ModelError:
            raise
        except Exception as error:  # the edge to a model: any of them raises its own family
            raise ModelError(
                Reason("the reranker %(model)s failed: %(error)s", model=self.name, error=_reason(error))
            ) from error
        return checked_scores(self.name, scores, len(texts))

    def _computed(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        raise NotImplementedError


class CrossEncoderReranker(LocalReranker):
    """A cross-encoder in this process, by its name or folder; scores are what the model gives, often logits."""

    def __init__(self, model: str) -> None:
        super().__init__(f"local:{model}")
        self._model = model
        self._lock = threading.Lock()
        self._encoder: Any = None

    def _computed(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        scores: Sequence[float] = self._get_model().predict([(query, text) for text in texts])
        return scores

    def _get_model(self) -> Any:  # the package need not be installed
        with self._lock:
            if self._encoder is None:
                try:
                    from sentence_transformers import CrossEncoder
                except ImportError as error:
                    raise _missing(self.name, LOCAL_PACKAGE, error) from error
                self._encoder = CrossEncoder(self._model)
            return self._encoder


class OnnxReranker(LocalReranker):
    """A cross-encoder in onnxruntime, from a folder with ``tokenizer.json`` and ``model.onnx``; scores are logits."""

    def __init__(self, folder: str) -> None:
        super().__init__(f"onnx:{folder}")
        self._model = OnnxModel(folder)

    def _computed(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return self._model.scores(query, texts)


class InstalledReranker(LocalReranker):
    """A reranker of another package, made at its first use, by the entry point that its name begins with."""

    def __init__(self, name: str, point: EntryPoint) -> None:
        super().__init__(name)
        self._point = point
        self._made: Any = None
        self._lock = threading.Lock()

    def _computed(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        with self._lock:
            self._made = self._made or self._point.load()(self.name.partition(":")[2])
        scores: Sequence[float] = self._made.scores(query, texts)
        return scores


def reranker_named(name: str, *, base_url: str = "", api_key: str = "", timeout_s: float = 10.0) -> Reranker | None:
    """Return the reranker of a ``provider:model`` string, None for an empty one. Loads nothing yet.

    Raises InvalidInputError for a string of another form.
    """
    if not name:
        return None
    provider, _, model = name.partition(":")
    point = extras.installed(extras.RERANKERS).get(provider) if provider not in RERANKERS else None
    if (provider not in RERANKERS and point is None) or not model:
        raise InvalidInputError(f"reranker is {name!r}; write one of {RERANKER_FORMS}", field="reranker")
    if point is not None:
        return InstalledReranker(name, point)
    if provider == "local":
        return CrossEncoderReranker(model)
    if provider == "onnx":
        return OnnxReranker(model)
    return HttpReranker(provider, model, base_url=base_url, api_key=api_key, timeout_s=timeout_s)


class Rerankers:
    """The rerankers of an open data directory, each loaded once, at its first use, and asked with a deadline.

    ``timeout_s``, in seconds, includes loading; a model that is still loading by then goes on loading, for the next
    search. ``counts`` is as of `ChatModel`.
    """

    def __init__(self, *, base_url: str = "", api_key: str = "", timeout_s: float = 10.0, counts: bool = True) -> None:
        self._arguments: dict[str, Any] = {"base_url": base_url, "api_key": api_key, "timeout_s": timeout_s}
        self._timeout_s = timeout_s
        self._counts = counts
        self._now: Callable[[], RerankServer | None] = lambda: None
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        """Make what belongs to one process."""
        self._made: dict[str, tuple[RerankServer | None, Reranker | None]] = {}
        self._were_chosen: set[str] = set()
        self._configured: set[str] = set()
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(THREADS, "braid-rerank")

    def after_fork(self, *, in_child: bool) -> None:
        """Start over in the child: the threads, and what a model has of them, are the parent's."""
        if in_child:
            self._begin()

    def use(self, chosen: Callable[[], RerankServer | None]) -> None:
        """Have searches ask the server that ``chosen`` returns then for the reranker of its name."""
        self._now = chosen

    def in_force(self, configured: str) -> str:
        """Return the name of the chosen reranker; without one, that of the ``configured`` one, empty for none."""
        self._configured.add(configured)
        server = self._chosen()
        return configured if server is None else server.name

    def _chosen(self) -> RerankServer | None:
        server = self._now()
        if server is not None:
            self._were_chosen.add(server.name)
        return server

    def named(self, name: str) -> Reranker | None:
        """Return the reranker of a ``provider:model`` string, the same object as long as its server is; see
        `reranker_named`. Raises ModelError for one that was chosen and is no more: what its server was to read goes to
        no other one that has a model of this name.
        """
        server = self._chosen()
        if server is not None and server.name != name:
            server = None
        if server is None and name in self._were_chosen and name not in self._configured:
            raise ModelError(Reason("the reranker %(model)s is no longer used here; search again", model=name))
        with self._lock:
            of, reranker = self._made.get(name, (None, None))
            if name not in self._made or of != server:
                reranker = (
                    ConnectedReranker(server, self._timeout_s) if server else reranker_named(name, **self._arguments)
                )
                self._made[name] = server, reranker
            return reranker

    def rerank(self, query: Query, hits: Sequence[Hit]) -> list[Hit]:
        """Sort the hits by the scores of the query's reranker, which are added to them; equal scores keep their order.

        Raises ModelError when the reranker fails or takes longer than the deadline.
        """
        if not query.reranker or not hits:
            return list(hits)
        texts = [indexed_text(hit.passage.title, hit.passage.heading_path, hit.passage.text) for hit in hits]
        scores = self.scores_of(query.reranker, query.text, texts)
        scored = [replace(hit, rerank_score=score) for hit, score in zip(hits, scores, strict=True)]
        order = sorted(range(len(scored)), key=lambda index: -scores[index])
        return [scored[index] for index in order]

    def scores_of(self, name: str, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return what the reranker of a ``provider:model`` string gives, a score per text, within the deadline.

        Raises ModelError as `rerank` does, and InvalidInputError for no such string.
        """
        reranker = self.named(name)
        if reranker is None:
            raise InvalidInputError(f"no reranker is named; write one of {RERANKER_FORMS}", field="reranker")
        future = self._executor.submit(reranker.scores, query, texts)
        try:
            scores = future.result(self._timeout_s)
        except FutureTimeoutError:
            future.cancel()
            raise self._failed(
                reranker,
                ModelError(
                    Reason(
                        "the reranker %(model)s took longer than %(seconds)s s",
                        model=reranker.name,
                        seconds=format(self._timeout_s, "g"),
                    )
                ),
            ) from None
        except ModelError as error:
            self._failed(reranker, error)
            raise
        if self._counts:
            MODEL_CALLS.answered("reranker", reranker.name)
        return scores

    def _failed(self, reranker: Reranker, error: ModelError) -> ModelError:
        if self._counts:
            MODEL_CALLS.failed("reranker", reranker.name, loggable(error))
        return error

    def close(self) -> None:
        """Start no more calls. A running call ends by itself, and nobody waits for it."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def reaches_min_score(query: Query, hit: Hit) -> bool:
    """Return whether the hit may be shown. With a reranker its score counts, and no other score takes its place when it
    failed.
    """
    score = hit.rerank_score if query.reranker else hit.score
    return query.min_score is None or score is None or score >= query.min_score


def _missing(name: str, package: str, error: ImportError) -> ModelError:
    return ModelError(f"the reranker {name} needs a package: pip install {package} ({error})")


def _reason(error: Exception, secret: str = "") -> str:
    """Describe the error by type and message, in one line and without the key."""
    status, body = getattr(error, "status_code", None), getattr(error, "body", None)
    said = f"{status} {body}" if status is not None or body is not None else ""
    return safe_reason(error, (secret,), said=said)
