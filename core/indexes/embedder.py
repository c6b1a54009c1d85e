"""Vectors for chunks that have none: a few at a time, kept in the ledger, refusals told from outages."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from braid.core.errors import EmbeddingError
from braid.core.ledger.change_log import ChangeLog, IndexedChunk
from braid.core.ledger.ledger import Ledger
from braid.core.models.embeddings import EmbeddingModel, embed_passages
from braid.core.priority import SearchPriority
from braid.core.types import Vector

CHUNKS_PER_EMBEDDING = 8
"""Stopping waits for one batch."""
CHUNKS_BESIDE_SEARCHES = 2
"""While somebody searches: a query that wants the processor waits for one batch, too."""
LONGEST_WAIT_S = 0.5
REFUSALS = 3
"""So often a model may refuse a chunk, while it takes others, before the chunk is left out."""
PROBE = "braid"

logger = logging.getLogger(__name__)


class ChunkEmbedder:
    """Embeds for the dense leg. Used by its thread alone."""

    def __init__(self, ledger: Ledger, changes: ChangeLog, priority: SearchPriority) -> None:
        self._ledger = ledger
        self._priority = priority
        self._changes = changes
        self._refusals: Counter[str] = Counter()
        self._left_out: dict[str, int] = {}

    def leading(
        self, collection: str, model: EmbeddingModel, chunks: Sequence[IndexedChunk]
    ) -> tuple[list[IndexedChunk], int]:
        """The leading chunks with vectors, and how many chunks that covers: up to 8 that had none are embedded.

        Raises EmbeddingError when the model fails, or refuses a chunk that it may still take later; the vectors it
        gave are kept. A chunk refused three times, while the model takes others, is left out.
        """
        bare = [position for position, chunk in enumerate(chunks) if chunk.vector is None]
        if bare:
            self._priority.wait_for_searches(LONGEST_WAIT_S)
        size = CHUNKS_BESIDE_SEARCHES if self._priority.busy else CHUNKS_PER_EMBEDDING
        covered = bare[size] if len(bare) > size else len(chunks)
        vectors, refused = _embed({chunks[p].id: chunks[p].text for p in bare[:size]}, model)
        if vectors:
            self._ledger.store_embeddings(model.fingerprint, list(vectors), np.stack(list(vectors.values())))
        if refused:
            self._note(collection, refused)
        complete = [replace(c, vector=vectors.get(c.id) if c.vector is None else c.vector) for c in chunks[:covered]]
        return [chunk for chunk in complete if chunk.vector is not None], covered

    def left_out(self, collection: str, model: EmbeddingModel) -> int:
        """Chunks of a collection that were passed over and so have no vector. Counted once, and while there are any."""
        if self._left_out.get(collection, 1):
            embedded = self._changes.embedded_count(collection, model.fingerprint)
            self._left_out[collection] = max(0, self._changes.chunk_count(collection) - embedded)
        return self._left_out[collection]

    def _note(self, collection: str, refused: Mapping[str, EmbeddingError]) -> None:
        self._refusals.update(refused.keys())
        for chunk_id, error in refused.items():
            if self._refusals[chunk_id] < REFUSALS:
                raise error
            logger.warning("chunk %s is left out of the dense index: %s", chunk_id, error)
        self._left_out.pop(collection, None)


def _embed(texts: Mapping[str, str], model: EmbeddingModel) -> tuple[dict[str, Vector], dict[str, EmbeddingError]]:
    """Vectors, and refusals of single texts. Raises EmbeddingError when it is not the texts, but the model."""
    if not texts:
        return {}, {}
    try:
        return dict(zip(texts, embed_passages(model, list(texts.values())), strict=True)), {}
    except EmbeddingError:
        embed_passages(model, [PROBE])
    vectors: dict[str, Vector] = {}
    refused: dict[str, EmbeddingError] = {}
    for chunk_id, text in texts.items():
        try:
            vectors[chunk_id] = embed_passages(model, [text])[0]
        except EmbeddingError as error:
            refused[chunk_id] = error
    return vectors, refused
