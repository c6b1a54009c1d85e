"""Progress of single documents into both indexes, in SQL that reads only the documents asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from sqlalchemy import Connection, func, select

from braid.core.batches import batches
from braid.core.data_directory import DataDirectory
from braid.core.indexes.indexer import LONGEST_WAIT_S, WAIT_S, Indexer
from braid.core.indexes.leg_progress import RESTS
from braid.core.json_form import read_reason
from braid.core.ledger.change_log import StateNames
from braid.core.ledger.tables import ChunkRow, DocumentRow, EmbeddingRow, IndexStateRow
from braid.core.types import Leg

DOCUMENTS_PER_LOOK = 500
LEGS: tuple[Leg, ...] = ("bm25", "dense")
Stage = Literal["failed", "parsed", "keyword_ready", "embedding", "done"]


@dataclass(frozen=True, slots=True)
class DocumentProgress:
    """Progress of one document. ``embedded`` of ``chunks`` passages have a vector of the collection's model."""

    document_id: int
    chunks: int
    embedded: int
    bm25_ready: bool
    """The keyword index has all of its passages."""
    dense_ready: bool
    """The dense index has applied all of its changes, or all passages have vectors already; passages that the model
    refused are not in it."""
    failed: bool
    error: str

    @property
    def stage(self) -> Stage:
        """The progress in one word. ``embedding`` goes with ``embedded`` of ``chunks``."""
        if self.failed:
            return "failed"
        if self.dense_ready:
            return "done" if self.bm25_ready else "parsed"
        if self.embedded:
            return "embedding"
        return "keyword_ready" if self.bm25_ready else "parsed"


def document_progress(
    directory: DataDirectory, dataset_id: int, document_ids: Collection[int]
) -> dict[int, DocumentProgress]:
    """Return the progress of these documents of the dataset; those that are not in it are left out.

    Raises NotFoundError when there is no such dataset.
    """
    dataset = directory.ledger.dataset(dataset_id)
    columns = (DocumentRow.id, DocumentRow.state, DocumentRow.error, DocumentRow.chunks, DocumentRow.changed_seq)
    wanted = (DocumentRow.dataset_id == dataset_id, DocumentRow.id.in_(document_ids))
    with directory.ledger.database.read() as connection:
        documents = connection.execute(select(*columns).where(*wanted)).all()
        applied = _read_applied(connection, dataset.collection, directory.index_names)
        embedded = _count_embedded(
            connection, directory.fingerprint_of(dataset.collection), [row.id for row in documents]
        )
    return {
        row.id: DocumentProgress(
            document_id=row.id,
            chunks=row.chunks,
            embedded=embedded.get(row.id, 0),
            bm25_ready=row.changed_seq <= applied.get("bm25", -1),
            dense_ready=row.changed_seq <= applied.get("dense", -1) or 0 < row.chunks <= embedded.get(row.id, 0),
            failed=row.state == "failed",
            error=read_reason(row.error or ""),
        )
        for row in documents
    }


def wait_for_documents(
    directory: DataDirectory, indexer: Indexer, dataset_id: int, document_ids: Sequence[int], timeout_s: float
) -> bool:
    """Wait until both legs find these documents, whatever else they lack; False after ``timeout_s``.

    Raises NotFoundError when there is no such dataset, or no longer.
    """
    deadline = time.monotonic() + timeout_s
    collection = directory.ledger.dataset(dataset_id).collection

    def each_ready(part: Sequence[int]) -> bool:
        found = document_progress(directory, dataset_id, part).values()
        return all(each.failed or (each.bm25_ready and each.dense_ready) for each in found)

    def is_found() -> bool:  # vectors are stored, then given to the index
        legs = [indexer.leg_progress(leg, collection) for leg in LEGS]
        return indexer.has_stored_vectors(collection, own) and not any(leg.obstacle for leg in legs)

    own, parts = set(document_ids), batches(document_ids, DOCUMENTS_PER_LOOK)
    return all(_wait_until(partial(each_ready, part), deadline) for part in parts) and _wait_until(is_found, deadline)


def _wait_until(condition: Callable[[], bool], deadline: float) -> bool:
    looked = time.monotonic()
    while not condition():
        if (now := time.monotonic()) >= deadline:
            return False
        time.sleep(min(max(WAIT_S, RESTS * (now - looked)), LONGEST_WAIT_S, deadline - now))
        looked = time.monotonic()
    return True


def _read_applied(connection: Connection, collection: str, names: StateNames) -> dict[Leg, int]:
    """Return leg → the last change that its index has, without indexes that are being built."""
    statement = select(IndexStateRow).where(IndexStateRow.collection == collection, IndexStateRow.state != "rebuilding")
    applied = {row.leg: row.applied_seq for row in connection.execute(statement)}
    return {leg: applied[name] for leg, name in names.items() if name in applied}


def _count_embedded(connection: Connection, model: str, document_ids: Collection[int]) -> dict[int, int]:
    # The key of the table is enough: the vectors themselves are not read.
    statement = (
        select(ChunkRow.document_id, func.count(EmbeddingRow.chunk_id))
        .join(EmbeddingRow, (EmbeddingRow.chunk_id == ChunkRow.id) & (EmbeddingRow.model == model))
        .where(ChunkRow.document_id.in_(document_ids))
        .group_by(ChunkRow.document_id)
    )
    return {row[0]: row[1] for row in connection.execute(statement)}
