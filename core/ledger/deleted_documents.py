"""Documents that were deleted and can be restored.

Those that are deleted together wait in a dataset of their own, which is deleted from the beginning: as of any deleted
dataset nobody finds them, they count toward their owner's limit, and they go for good when it is old.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, Select, delete, exists, insert, select

from braid.core.batches import batches
from braid.core.errors import NotFoundError, Reason
from braid.core.ledger.document_batch import DOCUMENTS_PER_BATCH
from braid.core.ledger.document_writes import delete_documents, erase_deletions, move_documents, require_dataset
from braid.core.ledger.ledger import Check, Ledger
from braid.core.ledger.queries import document_of, is_part_of, select_documents, source_starts_with
from braid.core.ledger.tables import DatasetRow, DocumentRow
from braid.core.types import MAX_ID, PART, Document

MOST_DELETIONS = 1_000
"""Deletions of documents of one dataset that can be undone; of more the oldest can no longer be."""


@dataclass(frozen=True, slots=True)
class DeletedDocument:
    """A document that can be restored. ``deleted_at`` is seconds since the epoch."""

    id: int
    source: str
    title: str
    deleted_at: float


@dataclass(frozen=True, slots=True)
class Discarded:
    """How many documents were deleted, and the numbers of the deletions, by which they can be restored together."""

    documents: int
    deletions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Restored:
    """The documents that are back, and those that stay deleted, because another one has their source meanwhile."""

    documents: tuple[DeletedDocument, ...]
    taken: tuple[DeletedDocument, ...]


@dataclass(slots=True)
class DeletedDocuments:
    """Deletes documents so that they can be restored with their passages and vectors.

    >>> from braid.core.types import ChunkInput, DocumentInput
    >>> dataset = braid.ledger.add_dataset(1, "letters").id
    >>> put = braid.ledger.put_document(dataset, DocumentInput("a.md", "A", "md", (ChunkInput("Dear Ann"),)))
    >>> deleted = DeletedDocuments(braid.ledger)
    >>> deleted.discard(dataset, [put.document_id]).documents
    1
    >>> [each.source for each in deleted.of_dataset(dataset)]
    ['a.md']
    >>> [each.source for each in deleted.restore(dataset, [put.document_id]).documents]
    ['a.md']
    """

    ledger: Ledger

    def discard(self, dataset_id: int, document_ids: Sequence[int]) -> Discarded:
        """Delete these documents of a dataset as `Ledger.remove_documents` does, but so that they can be restored."""
        bin_ = _Bin()
        removed = self.ledger.remove_documents(dataset_id, document_ids, remove=bin_.take)
        return Discarded(removed, tuple(bin_.deletions))

    def discard_source(self, dataset_id: int, source: str, *, check: Check = lambda stored: None) -> bool:
        """Delete a document with all parts of its source as `Ledger.remove_document` does, but so that they can be
        restored. False when there is none.
        """
        return self.ledger.remove_document(dataset_id, source, check=check, remove=_Bin().take)

    def of_dataset(self, dataset_id: int, *, limit: int | None = None, offset: int = 0) -> list[DeletedDocument]:
        """Return documents of a dataset that can be restored, the ones deleted last first."""
        rows = self.ledger.database.fetch(_select(dataset_id).limit(limit).offset(offset))
        return [DeletedDocument(id_, source, title, at or 0.0) for id_, source, title, at, _ in rows]

    def of_source(self, dataset_id: int, source: str) -> list[DeletedDocument]:
        """Return what was deleted last of a source: the document, and the parts that were deleted with it."""
        with self.ledger.database.read() as connection:
            condition = is_part_of(source, connection.dialect.name)
            rows = connection.execute(_select(dataset_id, condition)).all()
        return [DeletedDocument(row[0], row[1], row[2], row[3] or 0.0) for row in rows if row[3] == rows[0][3]]

    def left_out(self, dataset_id: int, source_prefix: str) -> dict[str, Document]:
        """Return documents that can be restored by their sources, which begin with the prefix; of each source the one
        deleted last. A sync leaves them out for as long as their files have not changed.
        """
        statement = select_documents().join(DatasetRow, DatasetRow.id == DocumentRow.dataset_id)
        wanted = statement.where(DatasetRow.documents_of == dataset_id, source_starts_with(source_prefix))
        ordered = wanted.order_by(DatasetRow.id)
        return {row.source: document_of(row) for row in self.ledger.database.fetch(ordered)}

    def restore(
        self, dataset_id: int, document_ids: Sequence[int] = (), *, deletions: Collection[int] = ()
    ) -> Restored:
        """Give deleted documents back to their dataset, by ids or whole deletions; they are indexed again without being
        embedded again.

        One whose source another document has meanwhile stays deleted, with its parts. Raises NotFoundError for a
        dataset that is deleted, and when none of them can be restored any more.
        """
        with self.ledger.database.write() as connection:
            collection = require_dataset(connection, dataset_id)
            found = _found(connection, dataset_id, document_ids, deletions)
            present = _present(connection, dataset_id, [each.source for _, each in found])
            replaced = {each.source for _, each in found if each.source in present}
            back: dict[int, list[DeletedDocument]] = {}
            taken: list[DeletedDocument] = []
            for deletion, each in {each.id: (deletion, each) for deletion, each in found}.values():
                if each.source in present or each.source.partition(PART)[0] in replaced:
                    taken.append(each)
                else:
                    present.add(each.source)
                    back.setdefault(deletion, []).append(each)
            for deletion, documents in back.items():
                for ids in batches([each.id for each in documents], DOCUMENTS_PER_BATCH):
                    move_documents(connection, ids, of=deletion, to=dataset_id, collection=collection)
            _drop_empty(connection, dataset_id)
        return Restored(tuple(each for part in back.values() for each in part), tuple(taken))

    def erase(self, dataset_id: int, document_ids: Sequence[int]) -> int:
        """Delete documents for good that could have been restored, and return how many. Raises NotFoundError when none
        of them could.
        """
        with self.ledger.database.write() as connection:
            collection = require_dataset(connection, dataset_id)
            found = _found(connection, dataset_id, document_ids, ())
            for deletion, each in found:
                delete_documents(connection, deletion, collection, [each.id])
            _drop_empty(connection, dataset_id)
        return len(found)


@dataclass(slots=True)
class _Bin:
    """Takes deleted documents, and notes the deletions."""

    deletions: list[int] = field(default_factory=list)
    at: float = field(default_factory=time.time)
    """When they are deleted, seconds since the epoch: the same for all, however many batches they are."""

    def take(self, connection: Connection, dataset_id: int, collection: str, ids: Sequence[int]) -> None:
        """Take documents out of a dataset that the caller has locked; too old deletions of it go for good."""
        if not ids:
            return
        owner = select(DatasetRow.user_id).where(DatasetRow.id == dataset_id)
        row = {
            "user_id": connection.execute(owner).scalar_one(),
            "name": "deleted",
            "collection": collection,
            "created_at": self.at,
            "removed_at": self.at,
            "documents_of": dataset_id,
        }
        deletion = connection.execute(insert(DatasetRow).values(**row).returning(DatasetRow.id)).scalar_one()
        move_documents(connection, ids, of=dataset_id, to=deletion, collection=collection)
        self.deletions.append(deletion)
        oldest = select(DatasetRow.id).where(DatasetRow.documents_of == dataset_id).order_by(DatasetRow.id.desc())
        if (last := connection.execute(oldest.offset(MOST_DELETIONS).limit(1)).scalar()) is not None:
            erase_deletions(connection, (DatasetRow.documents_of == dataset_id) & (DatasetRow.id <= last))


def _select(dataset_id: int, *conditions: ColumnElement[bool]) -> Select[int, str, str, float | None, int]:
    columns = DocumentRow.id, DocumentRow.source, DocumentRow.title, DatasetRow.removed_at, DatasetRow.id
    rows = select(*columns).join(DatasetRow, DatasetRow.id == DocumentRow.dataset_id)
    newest_first = DatasetRow.id.desc(), DocumentRow.source, DocumentRow.id
    return rows.where(DatasetRow.documents_of == dataset_id, *conditions).order_by(*newest_first)


def _found(
    connection: Connection, dataset_id: int, document_ids: Sequence[int], deletions: Collection[int]
) -> list[tuple[int, DeletedDocument]]:
    """Return (deletion, document) of what can be restored, and lock it. Raises NotFoundError when nothing can be."""
    own = select(DatasetRow.id).where(DatasetRow.documents_of == dataset_id).order_by(DatasetRow.id)
    connection.execute(own.with_for_update()).all()
    found: list[tuple[int, DeletedDocument]] = []
    for column, values in ((DocumentRow.id, document_ids), (DatasetRow.id, deletions)):
        for ids in batches([value for value in values if 0 < value <= MAX_ID], DOCUMENTS_PER_BATCH):
            rows = connection.execute(_select(dataset_id, column.in_(ids)))
            found += [(row[4], DeletedDocument(row[0], row[1], row[2], row[3] or 0.0)) for row in rows]
    if not found:
        raise NotFoundError(Reason("dataset %(id)s has no such deleted document that can be restored", id=dataset_id))
    return found


def _present(connection: Connection, dataset_id: int, sources: Sequence[str]) -> set[str]:
    present: set[str] = set()
    for some in batches(sources, DOCUMENTS_PER_BATCH):
        named = DocumentRow.dataset_id == dataset_id, DocumentRow.source.in_(some)
        present |= set(connection.execute(select(DocumentRow.source).where(*named)).scalars())
    return present


def _drop_empty(connection: Connection, dataset_id: int) -> None:
    is_empty = ~exists().where(DocumentRow.dataset_id == DatasetRow.id)
    connection.execute(delete(DatasetRow).where(DatasetRow.documents_of == dataset_id, is_empty))
