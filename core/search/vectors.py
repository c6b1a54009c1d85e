"""The vectors of a search: each text is embedded once per model, in batches, with a deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from braid.core.admission import let_go
from braid.core.errors import EmbeddingError, Reason
from braid.core.models.embeddings import EmbeddingModel, embed_passages, embed_queries
from braid.core.search.calls import PATIENCE_S, Deadline
from braid.core.search.context import SearchContext
from braid.core.search.state import SearchMemory, SearchTrace, VectorKey
from braid.core.search.strategies.base import QueryVariant, Vectors
from braid.core.vector import Vector

MAX_EMBEDDED_CHARS = 2_000
"""Characters of a query that are embedded; models read about 512 tokens, and more only costs time."""


class Batch(NamedTuple):
    """Texts that a model embeds in the background, or in the thread that collects them, in its user's turn."""

    model: EmbeddingModel
    keys: Sequence[VectorKey]
    job: Future[Vector] | Callable[[], Vector]


@dataclass(frozen=True, slots=True)
class VectorMaker:
    """Embeds the texts of a search; a model that fails or is slow is reported in the trace.

    A model that computes in this process would take the processors from others' searches if it did so in the
    background: it waits for the turn of ``user_id``.
    """

    context: SearchContext
    trace: SearchTrace
    memory: SearchMemory
    user_id: int | None

    def start(self, variants: Sequence[QueryVariant], models: Iterable[EmbeddingModel]) -> list[Batch]:
        """Start embedding the variants' new texts, in up to two batches per model: queries and passages."""
        wanted = [variant for variant in variants if "dense" in variant.legs and variant.vectors is None]
        batches: list[Batch] = []
        for model in {model.fingerprint: model for model in models}.values():
            keys = dict.fromkeys(vector_key(model.fingerprint, variant) for variant in wanted)
            new = [key for key in keys if key not in self.memory.vectors]
            batches += self._batches(model, new)
        return batches

    def _batches(self, model: EmbeddingModel, keys: Sequence[VectorKey]) -> list[Batch]:
        queries, passages = [k for k in keys if not k.is_passage], [k for k in keys if k.is_passage]
        batches = []
        for embed, batch in ((embed_queries, queries), (embed_passages, passages)):
            if batch:
                self.trace.embeddings += len(batch)
                texts = [key.text for key in batch]
                batches.append(Batch(model, batch, self._job(partial(embed, model, texts), model)))
        return batches

    def _job(self, embed: Callable[[], Vector], model: EmbeddingModel) -> Future[Vector] | Callable[[], Vector]:
        is_here = getattr(model, "computes_here", False)
        return partial(self._in_turn, embed) if is_here else self.context.executors["dense"].submit(embed)

    def _in_turn(self, embed: Callable[[], Vector]) -> Vector:
        with self.context.places.hold(self.user_id, self.context.leg_timeout_s):
            return embed()

    def collect(self, batches: Sequence[Batch]) -> None:
        """Wait for the batches and remember their vectors."""
        deadline = Deadline(self.context.leg_timeout_s)
        for model, keys, job in batches:
            self.memory.vectors.update(dict.fromkeys(keys))
            try:
                vectors = _vectors_of(job, deadline)
                self.memory.vectors.update(zip(keys, vectors, strict=True))
            except EmbeddingError as error:
                self.trace.report_missing("dense", "", str(error))
            except FutureTimeoutError:
                self.trace.report_missing("dense", "", self._late(model.fingerprint))

    def vector(self, variant: QueryVariant, fingerprint: str) -> Vector | None:
        """Return the variant's vector under a model; None when it could not be embedded."""
        if variant.vectors is not None:
            return variant.vectors.get(fingerprint)
        return self.memory.vectors.get(vector_key(fingerprint, variant))

    def embed_passages(self, models: Mapping[str, EmbeddingModel], texts: Mapping[str, Sequence[str]]) -> Vectors:
        """Embed texts; texts and vectors are by fingerprint. One batch per model, in parallel; one that fails is left
        out, which is reported.
        """
        vectors: dict[str, Vector] = {}
        jobs = {
            fingerprint: self._job(partial(embed_passages, models[fingerprint], of_model), models[fingerprint])
            for fingerprint, of_model in texts.items()
            if of_model
        }
        for fingerprint, job in jobs.items():
            self.trace.embeddings += len(texts[fingerprint])
            try:
                vectors[fingerprint] = _vectors_of(job, Deadline(self.context.leg_timeout_s))
            except EmbeddingError as error:
                self.trace.report_missing("dense", "", str(error))
            except FutureTimeoutError:
                late = Reason(
                    "the embedding model %(model)s took longer than %(seconds)s s for %(count)s sentences",
                    model=fingerprint,
                    seconds=format(self.context.leg_timeout_s, "g"),
                    count=len(texts[fingerprint]),
                )
                self.trace.report_missing("dense", "", late)
        return vectors

    def _late(self, fingerprint: str) -> str:
        return Reason(
            "the embedding model %(model)s took longer than %(seconds)s s",
            model=fingerprint,
            seconds=format(self.context.leg_timeout_s, "g"),
        )


def _vectors_of(job: Future[Vector] | Callable[[], Vector], deadline: Deadline) -> Vector:
    """Return what the job makes. Raises EmbeddingError, and TimeoutError where the background takes too long."""
    if not isinstance(job, Future):
        return job()
    if wait([job], min(PATIENCE_S, deadline.left_s)).not_done:
        let_go()  # another computer embeds, or a slow model
    return deadline.result(job)


def vector_key(fingerprint: str, variant: QueryVariant) -> VectorKey:
    """Return the key of the text that the dense leg embeds for the variant."""
    if variant.passage:
        return VectorKey(fingerprint, variant.passage, True)
    return VectorKey(fingerprint, variant.text[:MAX_EMBEDDED_CHARS], False)
