"""Sources of chunks, one per leg: the ledger's chunks in the form that the leg's index takes; and the rebuild of an
index from its source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.base import LegIndex
from braid.core.indexes.embedder import ChunkEmbedder
from braid.core.indexes.embedding_order import EmbeddingOrder
from braid.core.ledger.change_log import ChangeLog, IndexedChunk

CHUNKS_PER_READ = 2000
"""Chunks read at a time for a rebuild with vectors."""
TEXTS_PER_READ = 8192
"""Chunks read at a time for a rebuild of a keyword index, whose every commit takes some 50 ms."""


class ChunkSource(Protocol):
    """A leg's chunks for its follower, made ready for the index. Methods may raise EmbeddingError."""

    changes_per_read: int
    """How many changes of a collection are applied at a time."""

    def version(self, collection: str) -> str:
        """Return the analyzer version or model fingerprint that the collection's index must have."""

    def count(self, collection: str) -> int:
        """Count the chunks that a complete index of the collection has."""

    def to_read(self, collection: str) -> int:
        """Count the chunks that `read_all` will read: those of a complete index, unless a source has some already."""
        return self.count(collection)

    def read(self, collection: str, chunk_ids: Sequence[str]) -> list[IndexedChunk]:
        """Read these chunks as they are now; those that are gone are left out."""

    def read_all(self, collection: str) -> Iterator[list[IndexedChunk]]:
        """Read every chunk that a rebuild has to index, in batches that are not empty."""

    def prepare(self, collection: str, chunks: Sequence[IndexedChunk]) -> tuple[list[IndexedChunk], int]:
        """Return the leading chunks that can be indexed, and how many of ``chunks`` that covers: at least one.

        The rest is for the next call.
        """

    def ahead(self, collection: str, applied_seq: int) -> list[IndexedChunk]:
        """Return chunks to index before the log comes to them, with their vectors; none when it is the log's turn, as
        it always is unless a source chooses an order.
        """
        return []

    def waiting(self, collection: str, pending: int) -> int:
        """Return how many of the log's ``pending`` changes a search still misses: all, unless chunks were indexed
        ahead; at least one of any.
        """
        return pending

    def left_out(self, collection: str) -> int:
        """Count the chunks that were covered but could not be indexed: none, unless the source can refuse a chunk."""
        return 0

    def applied(self, collection: str) -> None:
        """Take note that the index has what was made ready."""
        return None  # nothing, unless a source stores what it makes ready

    def storing(self, collection: str) -> Collection[tuple[int, int]]:
        """Return datasets and documents of which something may have been stored since then; any thread may ask."""
        return ()

    def complete(self, collection: str, version: str) -> None:
        """Clean up after a rebuild with this version, before it is recorded as complete; harmless when repeated."""
        return None  # nothing, unless a source keeps something until then


class Bm25Source(ChunkSource):
    """Chunks of the BM25 leg: indexed as they are, under the analyzer's version."""

    changes_per_read = TEXTS_PER_READ

    def __init__(self, changes: ChangeLog, version: str) -> None:
        self._changes = changes
        self._version = version

    def version(self, collection: str) -> str:
        """Return the version of the analyzer and of the fields, whatever the collection."""
        return self._version

    def count(self, collection: str) -> int:
        """Count the collection's chunks."""
        return self._changes.chunk_count(collection)

    def read(self, collection: str, chunk_ids: Sequence[str]) -> list[IndexedChunk]:
        """Read these chunks as they are now."""
        return self._changes.chunks(collection, chunk_ids)

    def read_all(self, collection: str) -> Iterator[list[IndexedChunk]]:
        """Read every chunk of the collection, in batches."""
        return self._changes.all_chunks(collection, TEXTS_PER_READ)

    def prepare(self, collection: str, chunks: Sequence[IndexedChunk]) -> tuple[list[IndexedChunk], int]:
        """Return all chunks: text needs no preparation."""
        return list(chunks), len(chunks)


class DenseSource:
    """Chunks of the dense leg: with vectors of the collection's model, embedded where they have none."""

    changes_per_read = 512

    def __init__(self, changes: ChangeLog, embedder: ChunkEmbedder, models: AnsweringModels) -> None:
        self._changes = changes
        self._embedder = embedder
        self._models = models
        self._orders: dict[str, EmbeddingOrder] = {}

    def version(self, collection: str) -> str:
        """Return the fingerprint of the collection's model."""
        return self._models.wanted_version(collection)

    def count(self, collection: str) -> int:
        """Count the collection's chunks that have a vector."""
        return self._changes.embedded_count(collection, self.version(collection))

    def to_read(self, collection: str) -> int:
        """Count the collection's chunks that have no vector."""
        return max(0, self._changes.chunk_count(collection) - self.count(collection))

    def read(self, collection: str, chunk_ids: Sequence[str]) -> list[IndexedChunk]:
        """Read these chunks as they are now, with the vectors that are stored."""
        return self._changes.chunks(collection, chunk_ids, self.version(collection))

    def read_all(self, collection: str) -> Iterator[list[IndexedChunk]]:
        """Read every chunk of the collection that has no vector, in batches."""
        return self._changes.unembedded_chunks(collection, CHUNKS_PER_READ, self.version(collection))

    def prepare(self, collection: str, chunks: Sequence[IndexedChunk]) -> tuple[list[IndexedChunk], int]:
        """Return the leading chunks with their vectors; a few that had none are embedded per call."""
        model = self._models.wanted(collection)
        self._models.begin(collection, model)
        ready, covered = self._embedder.leading(collection, model, chunks)
        if order := self._orders.get(collection):
            order.passed({chunk.id for chunk in chunks[:covered]})
        return ready, covered

    def ahead(self, collection: str, applied_seq: int) -> list[IndexedChunk]:
        """Return chunks of small documents, which are embedded now."""
        order = self._orders.setdefault(collection, EmbeddingOrder(self._changes, collection))
        model = self._models.wanted(collection)
        ids = order.next_turn(applied_seq, model.fingerprint)
        there = {chunk.id: chunk for chunk in self.read(collection, ids)} if ids else {}
        bare = [there[chunk_id] for chunk_id in ids if chunk_id in there and there[chunk_id].vector is None]
        if not bare:
            order.done(len(ids), set(ids))
            return []
        self._models.begin(collection, model)
        embedded, tried = self._embedder.some(collection, model, bare)
        last = ids.index(bare[tried - 1].id) + 1 if tried else 0
        refused = {chunk.id for chunk in bare[:tried]} - {chunk.id for chunk in embedded}
        order.done(last, set(ids[:last]) - refused)
        return embedded

    def waiting(self, collection: str, pending: int) -> int:
        """Return the pending changes without those that were embedded ahead."""
        order = self._orders.get(collection)
        if order and not pending:  # the log has come to all of them, also to those that were deleted meanwhile
            del self._orders[collection]
            return 0
        return max(min(1, pending), pending - len(order.ahead)) if order else pending

    def left_out(self, collection: str) -> int:
        """Count the chunks that the model refused."""
        return self._embedder.left_out(collection, self._models.wanted(collection))

    def applied(self, collection: str) -> None:
        """Take note that the index has the vectors that were stored."""
        self._embedder.turns.pop(collection, None)

    def storing(self, collection: str) -> Collection[tuple[int, int]]:
        """Return datasets and documents whose vectors may have been stored since then."""
        return self._embedder.turns.get(collection, ())

    def complete(self, collection: str, version: str) -> None:
        """Let the model of this fingerprint answer, and delete the vectors of others."""
        self._models.keep(collection, version)
        self._changes.forget_other_models(collection, version)


class StoredDenseSource(DenseSource):
    """Chunks of a dense leg whose index is elsewhere than in the ledger: a rebuild takes all of them."""

    def to_read(self, collection: str) -> int:
        """Count the collection's chunks."""
        return self._changes.chunk_count(collection)

    def read_all(self, collection: str) -> Iterator[list[IndexedChunk]]:
        """Read every chunk of the collection, in batches, with the vectors that are stored."""
        return self._changes.all_chunks(collection, CHUNKS_PER_READ, self.version(collection))


WITH_TEXTS = " with texts"
"""Follows the model's fingerprint in the version of a copy that has texts."""


class CopySource(ChunkSource):
    """Chunks of the copy in Chroma: those that have a vector of the model that answers."""

    changes_per_read = 512

    def __init__(self, changes: ChangeLog, models: AnsweringModels, *, texts: bool) -> None:
        self._changes = changes
        self._models = models
        self._contents = WITH_TEXTS if texts else ""

    def version(self, collection: str) -> str:
        """Return the fingerprint of the model that answers for the collection, and whether texts are copied."""
        return self._model(collection) + self._contents

    def _model(self, collection: str) -> str:
        return self._models.answering_version(collection)

    def count(self, collection: str) -> int:
        """Count the collection's chunks that have a vector."""
        return self._changes.embedded_count(collection, self._model(collection))

    def read(self, collection: str, chunk_ids: Sequence[str]) -> list[IndexedChunk]:
        """Read these chunks as they are now, with the vectors that are stored."""
        return self._changes.chunks(collection, chunk_ids, self._model(collection))

    def read_all(self, collection: str) -> Iterator[list[IndexedChunk]]:
        """Read every chunk of the collection, in batches."""
        return self._changes.all_chunks(collection, CHUNKS_PER_READ, self._model(collection))

    def prepare(self, collection: str, chunks: Sequence[IndexedChunk]) -> tuple[list[IndexedChunk], int]:
        """Return the chunks that have a vector; the model has refused the others."""
        return [chunk for chunk in chunks if chunk.vector is not None], len(chunks)


class Rebuild:
    """Fills the emptied index of a collection with every chunk that the ledger has, as of ``head`` or later.

    ``pending`` is the number of chunks to go, ``version`` the analyzer version or model fingerprint that the index
    will have.
    """

    def __init__(self, collection: str, index: LegIndex, source: ChunkSource, *, head: int, pending: int) -> None:
        self.head = head
        self.pending = pending
        self.version = source.version(collection)
        self.begun = False
        self._collection = collection
        self._index = index
        self._source = source
        self._batches: Iterator[list[IndexedChunk]] = iter(())
        self._rest: Sequence[IndexedChunk] = ()

    def step(self) -> int:
        """Index the next chunks and return how many that covers; 0 when all are indexed.

        The index must be empty at the first step. A rebuild whose step raises cannot be continued.
        """
        if not self.begun:
            self.begun = True
            self._batches = self._source.read_all(self._collection)
        if not self._rest:
            self._rest = next(self._batches, ())
        if not self._rest:
            return 0
        ready, covered = self._source.prepare(self._collection, self._rest)
        self._index.apply(self._collection, ready, ())
        self._source.applied(self._collection)
        self._rest = self._rest[covered:]
        self.pending = max(0, self.pending - covered)
        return covered
