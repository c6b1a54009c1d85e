"""The change log, the indexes' side of the ledger: changes, chunks as they are now, and states of indexes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import and_, delete, func, select

from braid.core.batches import batches
from braid.core.ledger import prepared
from braid.core.ledger.database import Database, execute, tell
from braid.core.ledger.document_writes import lock_datasets
from braid.core.ledger.tables import ChangeRow, ChunkRow, DatasetRow, EmbeddingRow
from braid.core.types import Leg, indexed_text

if TYPE_CHECKING:  # see `braid.core.ledger.database`
    import numpy as np
    from numpy.typing import NDArray

    from braid.core.vector import Vector

VECTORS_PER_BATCH = 4096
State = Literal["ready", "writing", "rebuilding"]
StateName = str
"""The name under which the ledger keeps how far an index is: ``bm25``, ``dense`` or ``chroma``, and another one for
each other place where a leg's index may be.
"""
StateNames = Mapping[Leg, StateName]
"""The names of the legs' indexes, see `braid.core.data_directory.DataDirectory.index_names`."""
LOCAL: StateNames = {"bm25": "bm25", "dense": "dense"}
IN_MILVUS: StateNames = {"bm25": "milvus_bm25", "dense": "milvus_dense"}
ENGINE = "engine_"
"""Beginning of the name of vectors in an engine of another package."""


def engine_state(choice: str) -> StateName:
    """Return the name of the vectors in an engine of another package, ``NAME`` or ``NAME:ADDRESS``. Another address is
    another place; it may have a password, so that the name has its digest.
    """
    name, _, address = choice.partition(":")
    return ENGINE + name + (f"_{sha256(address.encode()).hexdigest()[:12]}" if address else "")


@dataclass(frozen=True, slots=True)
class IndexState:
    """State of one leg's index of one collection: the last change applied, and the version it was built with."""

    version: str
    applied_seq: int
    state: State


@dataclass(frozen=True, slots=True)
class Change:
    """One step of the log: chunk ``chunk_id`` came, went or moved."""

    seq: int
    chunk_id: str


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk as indexes receive it. ``text`` is title, heading path and passage, joined by spaces.

    File type, source and date stay in the ledger: filters on them are resolved to document ids there, so that
    an index never holds a stale copy.
    """

    id: str
    document_id: int
    dataset_id: int
    user_id: int | None
    text: str
    vector: Vector | None = None
    """(dim,) float32 of unit length; None for the BM25 leg."""


@dataclass(frozen=True, slots=True)
class VectorBatch:
    """Vectors of some chunks of a collection, with the document and dataset of each."""

    chunk_ids: tuple[str, ...]
    document_ids: NDArray[np.int64]
    dataset_ids: NDArray[np.int64]
    vectors: Vector
    """(n, dim) float32 of unit length."""


class ChangeLog:
    """Reads the log, and reads and writes the states of the indexes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def watch(self) -> Callable[[], bool]:
        """Return a function that says whether anything may have changed since its last call; see `Database.watch`."""
        return self._database.watch()

    def heads(self, collections: Collection[str] | None = None) -> dict[str, int]:
        """Return the last sequence number per collection that has datasets, 0 when its log is empty."""
        if collections is None:
            return dict(self._database.rows(prepared.HEADS))
        return dict(self._database.remembered(dict, prepared.HEADS_OF_COLLECTIONS, collections=collections))

    def first_seqs(self) -> dict[str, int]:
        """Return the oldest sequence number per collection that has datasets, 0 when its log is empty."""
        return dict(self._database.rows(prepared.FIRST_SEQS))

    def after(self, collection: str, seq: int, limit: int) -> list[Change]:
        """Return up to ``limit`` changes of a collection after ``seq``, oldest first."""
        rows = self._database.rows(prepared.CHANGES, collection=collection, seq=seq, limit=limit)
        return [Change(*row) for row in rows]

    def pending(self, collection: str, seq: int, *, dataset_ids: Collection[int] | None = None) -> int:
        """Count the changes of a collection after ``seq``; with ``dataset_ids`` the chunks of these that changed."""
        if dataset_ids is None:
            return self._number(prepared.PENDING, collection=collection, seq=seq)
        after = (ChangeRow.collection == collection, ChangeRow.seq > seq)
        changed = select(ChangeRow.chunk_id).where(*after)
        statement = select(func.count()).where(ChunkRow.dataset_id.in_(dataset_ids), ChunkRow.id.in_(changed))
        return int(self._database.value(statement))

    def lacking(
        self, collection: str, seq: int, *, dataset_ids: Collection[int], model: str = "", most: int
    ) -> int | None:
        """Count the chunks of these datasets that came or changed after ``seq``; with a model, those without a vector
        under it. None where there are some, and more than ``most`` changes are to be looked at to count them.
        """
        if seq and not self._number(prepared.HAS_CHANGED, seq=seq, datasets=dataset_ids):
            return 0
        if self._number(prepared.PENDING_AT_MOST, collection=collection, seq=seq, limit=most + 1) > most:
            return None
        return self._number(prepared.LACKING, collection=collection, seq=seq, model=model, datasets=dataset_ids)

    def chunks_of(self, dataset_ids: Collection[int]) -> int:
        """Return the number of chunks in these datasets, from their counters."""
        return self._number(prepared.CHUNKS_OF_DATASETS, datasets=dataset_ids)

    def unembedded_changes(self, collection: str, seq: int, model: str, limit: int) -> list[str]:
        """Return ids of chunks that changed after ``seq`` and have no vector under the model, in the order in which
        they are to be embedded: those of small documents first.
        """
        rows = self._database.rows(
            prepared.UNEMBEDDED_CHANGES, collection=collection, seq=seq, model=model, limit=limit
        )
        return [row[0] for row in rows]

    def _number(self, statement: str, **parameters: prepared.Value) -> int:
        [(number,)] = self._database.rows(statement, **parameters)
        return int(number)

    def prune(self, collection: str, seq: int) -> None:
        """Delete the changes before ``seq``, which every index has applied.

        The change ``seq`` stays, so that the log still has its last sequence number.
        """
        self._database.change(delete(ChangeRow).where(ChangeRow.collection == collection, ChangeRow.seq < seq))

    # ------------------------------------------------------------ chunks

    def chunks(self, collection: str, chunk_ids: Sequence[str], model: str = "") -> list[IndexedChunk]:
        """Read these chunks as they are now, without those that are gone; with vectors if a model is named."""
        rows = self._database.rows(prepared.CHUNKS, collection=collection, ids=chunk_ids, model=model)
        return [_indexed_chunk(row) for row in rows]

    def all_chunks(self, collection: str, batch: int, model: str = "") -> Iterator[list[IndexedChunk]]:
        """Yield every chunk of the collection in batches by id; those deleted meanwhile are left out."""
        ids = sorted(self.chunk_ids(collection))
        for part in batches(ids, batch):
            chunks = self.chunks(collection, part, model)
            if chunks:
                yield sorted(chunks, key=lambda chunk: chunk.id)

    def unembedded_chunks(self, collection: str, batch: int, model: str) -> Iterator[list[IndexedChunk]]:
        """Yield, in batches by id, every chunk of the collection that has no vector under the model."""
        ids = sorted(self.chunk_ids(collection) - self.embedded_ids(collection, model))
        for part in batches(ids, batch):
            chunks = self.chunks(collection, part, model)
            if chunks:
                yield sorted(chunks, key=lambda chunk: chunk.id)

    def chunk_ids(self, collection: str) -> set[str]:
        """Return the ids of every chunk of the collection."""
        return {row[0] for row in self._database.rows(prepared.CHUNK_IDS, collection=collection)}

    def chunk_count(self, collection: str) -> int:
        """Return the number of chunks in the collection, from the datasets' counters."""
        return self._number(prepared.CHUNK_COUNT, collection=collection)

    def embedded_ids(self, collection: str, model: str) -> set[str]:
        """Return the ids of the collection's chunks that have a vector under the model."""
        rows = self._database.rows(prepared.EMBEDDED_IDS, collection=collection, model=model)
        return {row[0] for row in rows}

    def embedded_count(self, collection: str, model: str) -> int:
        """Count the chunks of the collection that have a vector under the model."""
        return self._number(prepared.EMBEDDED_COUNT, collection=collection, model=model)

    def unembedded_count(
        self,
        collection: str,
        model: str,
        *,
        dataset_ids: Collection[int],
        document_ids: Collection[int] | None,
        limit: int,
    ) -> int:
        """Count the chunks without a vector under the model, up to ``limit``: of these datasets of the collection, and
        of these documents unless they are None.
        """
        return self._number(
            prepared.UNEMBEDDED_COUNT,
            collection=collection,
            model=model,
            datasets=dataset_ids,
            documents=document_ids or (),
            any_document=int(document_ids is None),
            limit=limit,
        )

    def vectors_of(self, collection: str, model: str) -> Generator[VectorBatch]:
        """Yield every vector of the collection under the model, as one state of the ledger has them, in no order.

        100,000 of 384 dimensions take 0.9 s of one core. The state is kept until the last batch is taken.
        """
        import numpy as np

        parameters = {"collection": collection, "model": model}
        for rows in self._database.batches(prepared.VECTORS_OF_COLLECTION, VECTORS_PER_BATCH, **parameters):
            chunk_ids, document_ids, dataset_ids, vectors = zip(*rows, strict=True)
            yield VectorBatch(chunk_ids, np.array(document_ids), np.array(dataset_ids), _matrix(vectors))

    def vectors(self, model: str, chunk_ids: Collection[str]) -> tuple[list[str], Vector]:
        """Return those of the ids that have a vector under the model, and these vectors (n, dim) float32."""
        rows = self._database.rows(prepared.VECTORS, model=model, ids=chunk_ids)
        found, stored = zip(*rows, strict=True) if rows else ((), ())
        return list(found), _matrix(stored)

    def dimension(self, collection: str, model: str) -> int | None:
        """Return the dimension of the collection's vectors under the model; None when it has none."""
        found = self._database.rows(prepared.BYTES_OF_A_VECTOR, collection=collection, model=model)
        return int(found[0][0]) // 4 if found else None

    def forget_other_models(self, collection: str, model: str) -> None:
        """Delete the collection's vectors of every model but this one."""
        ids = (
            select(ChunkRow.id).join(DatasetRow, DatasetRow.id == ChunkRow.dataset_id).where(*in_collection(collection))
        )
        with self._database.write() as connection:
            lock_datasets(connection, and_(*in_collection(collection)))
            connection.execute(delete(EmbeddingRow).where(EmbeddingRow.model != model, EmbeddingRow.chunk_id.in_(ids)))

    # ------------------------------------------------------------ states

    def states(self, leg: str) -> dict[str, IndexState]:
        """Return the states of one leg's indexes by collection; ``chroma`` is the copy of the vectors."""
        return {row[0]: IndexState(*row[1:]) for row in self._database.rows(prepared.STATES, leg=leg)}

    def state_of(self, leg: str, collection: str) -> IndexState | None:
        """Return the state of one index; None when it has none yet."""
        rows = self._database.rows(prepared.STATES_OF_COLLECTIONS, leg=leg, collections=[collection])
        return IndexState(*rows[0][1:]) if rows else None

    def state_names(self) -> set[StateName]:
        """Return the names of all indexes of which there is a state, also of those that nobody follows any more."""
        return {row[0] for row in self._database.rows(prepared.STATE_NAMES)}

    def set_state(self, leg: str, collection: str, state: IndexState) -> None:
        """Record how far an index has followed the log."""
        with self._database.write() as connection:
            execute(connection, prepared.SET_STATE, leg=leg, collection=collection, **asdict(state))

    # ------------------------------------------------------------ what processes tell each other of the indexes

    def want(self, leg: str, collection: str, wanted: str) -> None:
        """Ask the index's follower, in whichever process, to ``inspect`` or to ``rebuild`` it."""
        with self._database.write() as connection:
            execute(connection, prepared.WANT, leg=leg, collection=collection, wanted=wanted)
            tell(connection, "changes")

    def wanted(self, leg: str) -> list[tuple[str, str]]:
        """Return what processes want of the leg's indexes: their collection, ``inspect`` or ``rebuild``."""
        return [tuple(row) for row in self._database.rows(prepared.WANTED, leg=leg)]

    def heard(self, leg: str, collection: str, wanted: str) -> None:
        """Take back a wish that is being fulfilled."""
        with self._database.write() as connection:
            execute(connection, prepared.HEARD, leg=leg, collection=collection, wanted=wanted)

    def reports(self, leg: str) -> dict[str, str]:
        """Return what was last said of the leg's indexes, by collection: JSON, or nothing."""
        return {row[1]: row[6] for row in self._database.rows(prepared.SHARED_STATES, legs=[leg])}

    def say(self, leg: str, collection: str, report: str) -> None:
        """Replace what is said of an index that has a state."""
        with self._database.write() as connection:
            execute(connection, prepared.REPORT, leg=leg, collection=collection, report=report)


def _matrix(vectors: Sequence[bytes]) -> Vector:
    """Return stored vectors as (n, dim) float32; (0, 0) for none."""
    import numpy as np

    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1 if vectors else 0)


def in_collection(collection: str) -> tuple[Any, ...]:
    """Return the conditions of the datasets in a collection."""
    return (DatasetRow.collection == collection, DatasetRow.removed_at.is_(None))


def _indexed_chunk(row: tuple[Any, ...]) -> IndexedChunk:
    import numpy as np

    chunk_id, document_id, dataset_id, user_id, title, heading_path, text, vector = row
    return IndexedChunk(
        id=chunk_id,
        document_id=document_id,
        dataset_id=dataset_id,
        user_id=user_id,
        text=indexed_text(title, heading_path, text),
        vector=None if vector is None else np.frombuffer(vector, dtype="<f4"),
    )
