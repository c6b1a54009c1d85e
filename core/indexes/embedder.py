"""The embedder: vectors for chunks that have none, a few at a time, stored in the ledger."""

from __future__ import annotations

import ctypes
import logging
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from braid.core.errors import EmbeddingError
from braid.core.ledger.change_log import ChangeLog, IndexedChunk
from braid.core.ledger.ledger import Ledger
from braid.core.models.embeddings import EmbeddingModel, embed_passages
from braid.core.priority import SearchPriority
from braid.core.vector import Vector

CHUNKS_PER_EMBEDDING = 16
"""Texts in a call to the model, unless it has a ``batch_size``; stopping waits for one."""
CHUNKS_BESIDE_SEARCHES = 2
"""Texts in the first call while searches run: a search waits until the call has ended. After one that takes less than
`BESIDE_SEARCHES_S`, the next call has twice as many."""
BESIDE_SEARCHES_S = 0.02
SLICE_S = 0.25
"""Time after which the vectors that are ready are stored and found."""
LONGEST_WAIT_S = 0.5
REFUSALS = 3
"""Refusals after which a chunk is left out, if the model takes others."""
PROBE = "braid"

logger = logging.getLogger(__name__)


class ChunkEmbedder:
    """Embeds chunks for the dense leg. Used only by its thread."""

    def __init__(self, ledger: Ledger, changes: ChangeLog, priority: SearchPriority) -> None:
        self._ledger = ledger
        self._priority = priority
        self._changes = changes
        self._refusals: Counter[str] = Counter()
        self._left_out: dict[str, int] = {}
        self.turns: dict[str, frozenset[tuple[int, int]]] = {}
        """Datasets and documents of each collection whose vectors are stored before the index is given them."""
        self._beside = 0
        """Texts in the next call beside searches; 0 to start over."""

    def leading(
        self, collection: str, model: EmbeddingModel, chunks: Sequence[IndexedChunk]
    ) -> tuple[list[IndexedChunk], int]:
        """Return the leading chunks with vectors, and how many chunks that covers: what can be embedded in 0.25 s.

        Raises EmbeddingError when the model fails, or refuses a chunk that it may take later; vectors that it returned
        are stored. A chunk that is refused three times, while the model takes others, is left out.
        """
        bare = [position for position, chunk in enumerate(chunks) if chunk.vector is None]
        texts = {chunks[position].id: chunks[position].text for position in bare}
        self._begin_turn(collection, [chunks[position] for position in bare])
        vectors, refused, done = self._embed_for_a_while(collection, model, texts)
        if refused:
            self._count_refusals(collection, refused)
        covered = bare[done] if done < len(bare) else len(chunks)
        complete = [replace(c, vector=vectors.get(c.id) if c.vector is None else c.vector) for c in chunks[:covered]]
        return [chunk for chunk in complete if chunk.vector is not None], covered

    def some(
        self, collection: str, model: EmbeddingModel, chunks: Sequence[IndexedChunk]
    ) -> tuple[list[IndexedChunk], int]:
        """Embed what can be embedded in 0.25 s of chunks without vectors; return the first ones, with their vectors,
        and how many were tried. What the model refuses is left to `leading`.
        """
        texts = {chunk.id: chunk.text for chunk in chunks}
        self._begin_turn(collection, chunks)
        vectors, _, done = self._embed_for_a_while(collection, model, texts)
        return [replace(chunk, vector=vectors[chunk.id]) for chunk in chunks if chunk.id in vectors], done

    def _begin_turn(self, collection: str, chunks: Sequence[IndexedChunk]) -> None:
        documents = {(chunk.dataset_id, chunk.document_id) for chunk in chunks}
        self.turns[collection] = self.turns.get(collection, frozenset()) | documents

    def _embed_for_a_while(
        self, collection: str, model: EmbeddingModel, texts: Mapping[str, str]
    ) -> tuple[dict[str, Vector], dict[str, EmbeddingError], int]:
        """Embed leading texts, by chunk id, and store the vectors; return them, the refusals, and how many texts were
        tried.
        """
        vectors: dict[str, Vector] = {}
        refused: dict[str, EmbeddingError] = {}
        ids, done = list(texts), 0
        known = self._changes.dimension(collection, model.fingerprint) if texts else None
        until = time.monotonic() + SLICE_S
        try:
            while done < len(ids) and (not done or time.monotonic() < until):  # one call is made, however late it is
                size = self._next_size(model)
                began = time.monotonic()
                made, refused_now = _embed({key: texts[key] for key in ids[done : done + size]}, model)
                self._beside *= 2 if time.monotonic() - began < BESIDE_SEARCHES_S else 0
                made, of_other_size = _of_one_size(made, collection, model, known)
                known = known or next((vector.size for vector in made.values()), None)
                vectors |= made
                refused |= refused_now | of_other_size
                done = min(len(ids), done + size)
        except EmbeddingError:
            if not vectors:  # those before it are indexed first, and the next call raises
                raise
        finally:
            if vectors:
                self._ledger.store_embeddings(model.fingerprint, list(vectors), np.stack(list(vectors.values())))
        return vectors, refused, done

    def _next_size(self, model: EmbeddingModel) -> int:
        """Return how many texts the next call has. A model in this process waits for searches and yields to them."""
        most = int(getattr(model, "batch_size", CHUNKS_PER_EMBEDDING))
        if getattr(model, "is_remote", False):
            return most
        self._priority.wait_for_searches(LONGEST_WAIT_S)
        self._beside = min(most, self._beside or CHUNKS_BESIDE_SEARCHES) if self._priority.busy else 0
        return self._beside or most

    def left_out(self, collection: str, model: EmbeddingModel) -> int:
        """Count the collection's chunks without a vector, after all were covered; counted again while there are any."""
        if self._left_out.get(collection, 1):
            embedded = self._changes.embedded_count(collection, model.fingerprint)
            self._left_out[collection] = max(0, self._changes.chunk_count(collection) - embedded)
        return self._left_out[collection]

    def _count_refusals(self, collection: str, refused: Mapping[str, EmbeddingError]) -> None:
        self._refusals.update(refused.keys())
        for chunk_id, error in refused.items():
            if self._refusals[chunk_id] < REFUSALS:
                raise error
            logger.warning("chunk %s is left out of the dense index: %s", chunk_id, error)
        self._left_out.pop(collection, None)


def give_back_memory() -> None:
    """Return to the system what was freed, some milliseconds of work; elsewhere than with glibc nothing is done."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None:
        trim(0)


def _embed(texts: Mapping[str, str], model: EmbeddingModel) -> tuple[dict[str, Vector], dict[str, EmbeddingError]]:
    """Return vectors, and refusals of single texts. Raises EmbeddingError when the model itself fails."""
    if not texts:
        return {}, {}
    try:
        return dict(zip(texts, embed_passages(model, list(texts.values())), strict=True)), {}
    except EmbeddingError:
        embed_passages(model, [PROBE])  # raises in an outage; otherwise some of the texts were refused
    vectors: dict[str, Vector] = {}
    refused: dict[str, EmbeddingError] = {}
    for chunk_id, text in texts.items():
        try:
            vectors[chunk_id] = embed_passages(model, [text])[0]
        except EmbeddingError as error:
            refused[chunk_id] = error
    return vectors, refused


def _of_one_size(
    vectors: Mapping[str, Vector], collection: str, model: EmbeddingModel, known: int | None
) -> tuple[dict[str, Vector], dict[str, EmbeddingError]]:
    """Return the vectors that have the size of the collection's, by default that of most, and a refusal for each other.

    Raises EmbeddingError when the model gives vectors of another size altogether.
    """
    sizes = Counter(vector.size for vector in vectors.values())
    if not sizes or set(sizes) == {known or next(iter(sizes))}:
        return dict(vectors), {}
    wanted = known or sizes.most_common(1)[0][0]
    if wanted not in sizes and (size := embed_passages(model, [PROBE])[0].size) != wanted:
        raise EmbeddingError(
            f"the embedding model {model.fingerprint} gives vectors of {size} dimensions, but those of {collection} "
            f"have {wanted}; embed all datasets of {collection} again"
        )
    fitting = {key: vector for key, vector in vectors.items() if vector.size == wanted}
    others = {key: vector.size for key, vector in vectors.items() if vector.size != wanted}
    said = "its vector has {} dimensions, and those of {} have {}"
    return fitting, {key: EmbeddingError(said.format(size, collection, wanted)) for key, size in others.items()}
