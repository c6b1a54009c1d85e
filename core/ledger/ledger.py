"""The ledger: users, datasets, documents, chunks and their embeddings, in SQL.

Every change of a chunk writes a row of the change log in the same transaction; indexes read that log through
`braid.core.ledger.change_log`.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from braid.core.batches import batches
from braid.core.errors import InvalidInputError, NotFoundError, Reason, internal
from braid.core.ledger import prepared
from braid.core.ledger.database import CONNECTIONS, Database, storable
from braid.core.ledger.document_batch import DOCUMENTS_PER_BATCH, named_as_parts, put, put_all
from braid.core.ledger.document_writes import (
    PutResult,
    delete_dataset,
    delete_documents,
    document_values,
    find_document,
    log_dataset,
    refresh,
    require_dataset,
    save_document,
    store_vectors,
    supersede_uploads,
    unread_uploads,
    write_metadata,
)
from braid.core.ledger.queries import (
    PassageRow,
    document_of,
    filtered,
    is_part_of,
    read_in_part,
    select_documents,
    source_starts_with,
)
from braid.core.ledger.quota import require_dataset_room, require_document_room
from braid.core.ledger.schema import Upgrading, without_copy
from braid.core.ledger.tables import (
    DatasetRow,
    DocumentRow,
    ShareRow,
    UserGroupRow,
    UserRow,
)
from braid.core.metadata.where import parse_where, vain_keys
from braid.core.text.terms import Term
from braid.core.types import MAX_NAME_CHARS, PART, Dataset, Document, DocumentInput, Filters, Passage, Scope

if TYPE_CHECKING:  # see `braid.core.ledger.database`
    import numpy as np
    from numpy.typing import NDArray

    from braid.core.vector import Vector

NO_LIMIT = 2**62
MAX_TERMS = 500
"""Terms that are read for one query."""
_INVISIBLE = ("Cc", "Cs", "Zl", "Zp")
Check = Callable[[Document | None], None]
"""Called in a write's transaction with the stored document; the write is undone when it raises."""
Remove = Callable[[Connection, int, str, Sequence[int]], None]
"""Takes documents, by ids, out of a dataset and its collection in a write's transaction: for good, or so that they can
be restored.
"""
REMOVED_USER = "\x1fremoved "
"""Prefix of a deleted user's name; the row stays so that the id is never used again."""


@dataclass(frozen=True, slots=True)
class User:
    """A user, who owns datasets."""

    id: int
    name: str
    groups: frozenset[str] = frozenset()


@dataclass
class Noticed:
    """Belongs to one open ledger; whoever notices something sets it, and takes it back when it is well again."""

    secret_key_replaced: bool = False
    """Whether the site began with another secret than it had; until the next start."""
    clock_jumped: bool = False
    """Whether the clock is not believed, so that nothing is deleted by age."""
    missing_originals: int | None = None
    """Contents that documents were read from and whose file is gone; None before the first count."""

    def ill(self) -> Iterator[str]:
        """Yield a sentence per thing that is not as it should be, without names."""
        if self.missing_originals:
            yield f"the original files of {self.missing_originals:,} documents are missing"
        if self.secret_key_replaced:
            yield "the secret of the site was replaced"
        if self.clock_jumped:
            yield "the clock has jumped"


class Ledger:
    """The stored truth. Safe to use from several threads and processes at once.

    ``upgrading`` surrounds the migrations of a database that an earlier version made; ``connections`` to it are open
    at most.
    """

    def __init__(self, url: str, *, upgrading: Upgrading = without_copy, connections: int = CONNECTIONS) -> None:
        self.database = Database(url, upgrading=upgrading, connections=connections)
        self.noticed = Noticed()

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    # ------------------------------------------------------------ users

    def add_user(self, name: str, groups: Iterable[str] = ()) -> User:
        """Add a user. Raises InvalidInputError when the name is empty, too long or taken."""
        name = checked_name(name, "user")
        groups = frozenset(map(storable, groups))
        with self.database.write() as connection:
            try:
                user_id = connection.execute(
                    insert(UserRow).values(name=name, created_at=time.time()).returning(UserRow.id)
                ).scalar_one()
            except IntegrityError:
                raise InvalidInputError(
                    internal("a user named %(name)s exists already; choose another name", name=repr(name)),
                    field="name",
                ) from None
            if groups:
                connection.execute(
                    insert(UserGroupRow), [{"user_id": user_id, "group_name": g} for g in sorted(groups)]
                )
        return User(user_id, name, groups)

    def users(self) -> list[User]:
        """Return all users by id."""
        with self.database.read() as connection:
            rows = connection.execute(_users().order_by(UserRow.id)).all()
            memberships = connection.execute(select(UserGroupRow.user_id, UserGroupRow.group_name)).all()
        groups: dict[int, set[str]] = {}
        for user_id, group in memberships:
            groups.setdefault(user_id, set()).add(group)
        return [User(row.id, row.name, frozenset(groups.get(row.id, ()))) for row in rows]

    def user(self, user_id: int) -> User | None:
        """Return the user with this id; None when there is none."""
        rows = self.database.remembered_rows(prepared.USER, user_id=user_id)
        if not rows or rows[0][0].startswith(REMOVED_USER):
            return None
        return User(user_id, rows[0][0], frozenset(group for _, group in rows if group is not None))

    def user_named(self, name: str) -> User | None:
        """Return the user with this name; None when there is none."""
        rows = self.database.rows(prepared.USER_NAMED, name=storable(name))
        return self.user(rows[0][0]) if rows else None

    # ------------------------------------------------------------ datasets

    def add_dataset(self, user_id: int, name: str, *, most: int | None = None) -> Dataset:
        """Add a personal dataset. Raises NotFoundError when there is no such user.

        Raises InvalidInputError, too, when the user has ``most`` already, however many are added at once.
        """
        name = checked_name(name, "dataset")
        if self.user(user_id) is None:
            raise NotFoundError(f"there is no user {user_id}; add one first")
        collection = personal_collection(user_id)
        with self.database.write() as connection:
            require_dataset_room(connection, user_id, most)
            dataset_id = connection.execute(
                insert(DatasetRow)
                .values(user_id=user_id, name=name, collection=collection, created_at=time.time())
                .returning(DatasetRow.id)
            ).scalar_one()
        return Dataset(dataset_id, name, collection, user_id)

    def rename_dataset(self, dataset_id: int, name: str) -> Dataset:
        """Rename a personal dataset. Raises NotFoundError."""
        with self.database.write() as connection:
            require_dataset(connection, dataset_id)
            connection.execute(
                update(DatasetRow).where(DatasetRow.id == dataset_id).values(name=checked_name(name, "dataset"))
            )
        return self.dataset(dataset_id)

    def datasets(self, user_id: int) -> list[Dataset]:
        """Return a user's personal datasets by id, without those of conversations."""
        return list(self.database.remembered(_datasets, prepared.DATASETS_OF_USER, user_id=user_id))

    def attached_datasets(self, user_id: int) -> list[Dataset]:
        """Return the datasets with the files of a user's conversations, by id, without those of deleted ones."""
        return list(self.database.remembered(_datasets, prepared.ATTACHED_DATASETS, user_id=user_id))

    def datasets_shared_with(self, user_id: int) -> list[Dataset]:
        """Return the personal datasets of others that are shared with a user, or with a group of theirs, by id."""
        return list(self.database.remembered(_datasets, prepared.SHARED_WITH_USER, user_id=user_id))

    def datasets_shared_with_group(self, group: str) -> list[Dataset]:
        """Return the personal datasets that are shared with a group, by id."""
        shared = set(self.database.values(select(ShareRow.dataset_id).where(ShareRow.group_name == storable(group))))
        return [found for found in self.all_datasets() if found.id in shared and not found.shared]

    def ids_opened_for_changes(self, user_id: int) -> frozenset[int]:
        """Return the ids of the datasets whose documents others let a user change, as far as the user may read them."""
        rows = self.database.remembered_rows(prepared.CHANGED_BY_USER, user_id=user_id)
        return frozenset(row[0] for row in rows)

    def dataset(self, dataset_id: int) -> Dataset:
        """Return one dataset, personal or the mirror of a shared one. Raises NotFoundError."""
        found = _datasets(self.database.rows(prepared.DATASET, dataset_id=dataset_id))
        if not found:
            raise NotFoundError(Reason("there is no dataset %(id)s", id=dataset_id))
        return found[0]

    def datasets_in(self, collections: Collection[str]) -> list[Dataset]:
        """Return all datasets of these collections, with their counts."""
        return list(self.database.remembered(_datasets, prepared.DATASETS_IN_COLLECTIONS, collections=collections))

    def datasets_of(self, scope: Scope) -> list[Dataset]:
        """Return the datasets of a scope, with their counts."""
        found, ids = self.datasets_in([each.collection for each in scope.collections]), scope.dataset_ids
        return [each for each in found if each.id in ids]

    def all_datasets(self) -> list[Dataset]:
        """Return all datasets that are not removed."""
        return _datasets(self.database.rows(prepared.ALL_DATASETS))

    def mirrored(self) -> dict[int, tuple[str, str]]:
        """Return name and collection, as `register_shared` left them, of all shared datasets by id."""
        rows = self.database.rows(prepared.MIRRORED)
        return {dataset_id: (name, collection) for dataset_id, name, collection in rows}

    def register_shared(self, dataset_id: int, name: str, collection: str) -> None:
        """Mirror a shared dataset; one that changed its collection moves there with its chunks."""
        try:
            self._mirror_shared(dataset_id, name, collection)
        except IntegrityError:  # another process has just added it
            self._mirror_shared(dataset_id, name, collection)

    def _mirror_shared(self, dataset_id: int, name: str, collection: str) -> None:
        with self.database.write() as connection:
            row = connection.execute(
                select(DatasetRow.name, DatasetRow.collection).where(DatasetRow.id == dataset_id).with_for_update()
            ).one_or_none()
            if row is None:
                connection.execute(
                    insert(DatasetRow).values(
                        id=dataset_id, user_id=None, name=name, collection=collection, created_at=time.time()
                    )
                )
            elif (row.name, row.collection) != (name, collection):
                if row.collection != collection:
                    log_dataset(connection, dataset_id, row.collection)
                    log_dataset(connection, dataset_id, collection)
                connection.execute(
                    update(DatasetRow).where(DatasetRow.id == dataset_id).values(name=name, collection=collection)
                )

    def retired_shared_ids(self) -> frozenset[int]:
        """Return the ids of removed shared datasets, which are never used again."""
        return frozenset(row[0] for row in self.database.rows(prepared.RETIRED))

    def shared_ids(self) -> frozenset[int]:
        """Return the ids of all shared datasets that there ever were, removed or not, listed or not."""
        return frozenset(self.database.values(select(DatasetRow.id).where(DatasetRow.id < 0)))

    def remove_dataset(self, dataset_id: int) -> None:
        """Delete a dataset with its documents and its name; the indexes follow. Raises NotFoundError."""
        with self.database.write() as connection:
            delete_dataset(connection, dataset_id)

    # ------------------------------------------------------------ documents

    def put_document(
        self,
        dataset_id: int,
        document: DocumentInput,
        *,
        check: Check = lambda stored: None,
        by_job: int | None = None,
        most: int | None = None,
    ) -> PutResult:
        """Store a document, or replace the one with the same source, in one transaction.

        Chunks whose text, title and heading path are as before keep their id and embedding. With an equal
        ``content_hash`` and title only date and metadata are updated. Uploads of this source that are still to be
        read are superseded: all, or those accepted before the job ``by_job``. Raises NotFoundError when there is no
        such dataset, JobCancelledError, what ``check`` raises, and InvalidInputError for a new document when the
        dataset's owner has ``most`` already.
        """
        with self.database.write() as connection:
            collection = require_dataset(connection, dataset_id)
            supersede_uploads(connection, dataset_id, document.source, by_job=by_job)
            stored = find_document(connection, dataset_id, document.source)
            check(stored)
            if stored is None:
                require_document_room(connection, dataset_id, most)
            return put(connection, dataset_id, collection, document)

    def put_reading(self, dataset_id: int, document: DocumentInput) -> PutResult | None:
        """Store a fuller reading of the bytes that a document has, and supersede nothing.

        None where no document has this source and ``content_hash`` any more. Raises NotFoundError when there is no
        such dataset.
        """
        with self.database.write() as connection:
            collection = require_dataset(connection, dataset_id)
            stored = find_document(connection, dataset_id, document.source)
            if stored is None or stored.content_hash != document.content_hash:
                return None
            refresh(connection, stored.id, content_hash="")  # so that its passages are written again
            return put(connection, dataset_id, collection, document)

    def fail_reading(self, document: Document, error: str, *, metadata: Mapping[str, Any]) -> bool:
        """Record that nothing can be read of the bytes that a document without passages has, and supersede nothing.

        False where no such document has these bytes any more. Raises NotFoundError when there is no such dataset.
        """
        with self.database.write() as connection:
            require_dataset(connection, document.dataset_id)
            stored = find_document(connection, document.dataset_id, document.source)
            if stored is None or stored.content_hash != document.content_hash or stored.chunks:
                return False
            failed = DocumentInput(
                document.source,
                document.title,
                document.file_type,
                (),
                document.content_hash,
                document.size_bytes,
                date=document.date,
                metadata=metadata,
            )
            values = document_values(failed, state="failed", error=error, chunks=0)
            document_id = save_document(connection, document.dataset_id, stored, values)
            write_metadata(connection, document.dataset_id, {document_id: values["meta"]}, stored=[document_id])
            return True

    def put_documents(
        self, dataset_id: int, documents: Iterable[DocumentInput], *, pieces: Collection[int] = ()
    ) -> list[PutResult]:
        """Store several documents in one transaction, all or none, in a tenth of the time of single ones.

        Those at the places ``pieces``, counted from 0, replace nothing: they become further parts of their sources.
        """
        with self.database.write() as connection:
            collection = require_dataset(connection, dataset_id)
            if pieces:
                documents = named_as_parts(connection, dataset_id, list(documents), pieces)
            return list(put_all(connection, dataset_id, collection, documents))

    def rename_document(self, dataset_id: int, source: str, document: DocumentInput) -> PutResult:
        """Replace the document stored under ``source`` by one with another source, in one transaction.

        Chunks whose text, title and heading path are as before keep their id and embedding. Raises NotFoundError when
        nothing is stored under ``source``, and InvalidInputError when the new one is taken.
        """
        with self.database.write() as connection:
            collection = require_dataset(connection, dataset_id)
            old = find_document(connection, dataset_id, source)
            if old is None:
                raise NotFoundError(f"dataset {dataset_id} has no document with the source {source!r}")
            if find_document(connection, dataset_id, document.source) is not None:
                message = f"dataset {dataset_id} has a document with the source {document.source!r}; remove it first"
                raise InvalidInputError(message, field="source")
            for overtaken in (source, document.source):
                supersede_uploads(connection, dataset_id, overtaken)
            refresh(connection, old.id, source=storable(document.source))
            return put(connection, dataset_id, collection, document)

    def supersede_uploads(self, dataset_id: int, source: str, *, by_job: int | None = None) -> bool:
        """End uploads of this source as `put_document` does. False when there are none, which costs one read."""
        if not self.database.rows(prepared.UNREAD_UPLOADS, **unread_uploads(dataset_id, source, before=by_job)):
            return False
        with self.database.write() as connection:
            supersede_uploads(connection, dataset_id, source, by_job=by_job)
        return True

    def set_date(self, document_id: int, date: float) -> None:
        """Change a document's date alone. Raises NotFoundError when there is no such document."""
        with self.database.write() as connection:
            found = connection.execute(select(DocumentRow.id).where(DocumentRow.id == document_id)).one_or_none()
            if found is None:
                raise NotFoundError(f"there is no document {document_id}")
            refresh(connection, document_id, date=date)

    def put_failed(
        self,
        dataset_id: int,
        source: str,
        *,
        title: str,
        file_type: str,
        error: str,
        size_bytes: int = 0,
        content_hash: str = "",
        metadata: Mapping[str, Any] | None = None,
        by_job: int | None = None,
        most: int | None = None,
    ) -> int:
        """Record a source that cannot be read, with the reason and what is known of it, and return the document id.

        Chunks of an earlier, readable version stay searchable. Uploads are superseded, and ``most`` is
        the limit, as by `put_document`.
        """
        with self.database.write() as connection:
            require_dataset(connection, dataset_id)
            supersede_uploads(connection, dataset_id, source, by_job=by_job)
            old = find_document(connection, dataset_id, source)
            if old is None:
                require_document_room(connection, dataset_id, most)
            failed = DocumentInput(source, title, file_type, (), content_hash, size_bytes, metadata=metadata or {})
            values = document_values(failed, state="failed", error=error, chunks=old.chunks if old else 0)
            if old is not None and old.chunks:
                values = {k: values[k] for k in ("state", "error", "content_hash", "updated_at")}
                return save_document(connection, dataset_id, old, values)
            document_id = save_document(connection, dataset_id, old, values)
            write_metadata(connection, dataset_id, {document_id: values["meta"]}, stored=[document_id] if old else [])
            return document_id

    def documents(
        self,
        dataset_id: int,
        *,
        source_prefix: str = "",
        state: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Document]:
        """Return documents of a dataset by source.

        ``state`` is ``ready``, ``failed``, or ``incomplete`` for those of which something was not read.
        """
        statement = select_documents().where(DocumentRow.dataset_id == dataset_id)
        if source_prefix:
            statement = statement.where(source_starts_with(source_prefix))
        if state == "incomplete":
            statement = statement.where(read_in_part())
        elif state is not None:
            statement = statement.where(DocumentRow.state == state)
        statement = statement.order_by(DocumentRow.source).limit(limit).offset(offset)
        return [document_of(row) for row in self.database.fetch(statement)]

    def document(self, dataset_id: int, source: str) -> Document | None:
        """Return the document with this source in this dataset; None when there is none."""
        if source != storable(source):
            return None
        rows = self.database.rows(prepared.DOCUMENT, dataset_id=dataset_id, source=source)
        return document_of(rows[0]) if rows else None

    def last_document_at(self, dataset_ids: Sequence[int]) -> float:
        """Return when a readable document of these datasets was last stored, in seconds since the epoch; 0 for none."""
        stored = select(func.coalesce(func.max(DocumentRow.updated_at), 0.0)).where(DocumentRow.chunks > 0)
        return self.database.value(stored.where(DocumentRow.dataset_id.in_(dataset_ids)))

    def parts_of(self, dataset_id: int, source: str) -> dict[int, int]:
        """Return the ids of the documents that are further parts of a source, by their numbers, which begin with 2."""
        if source != storable(source):
            return {}
        statement = prepared.PARTS_OF.format(
            c=' COLLATE "C"' if self.database.engine.dialect.name == "postgresql" else ""
        )
        prefix = f"{source}{PART}"
        rows = self.database.rows(statement, dataset_id=dataset_id, first=f"{prefix}1", end=f"{prefix}:")
        numbered = ((found.removeprefix(prefix), document_id) for document_id, found in rows)
        return dict(sorted((int(number), document_id) for number, document_id in numbered if number.isdecimal()))

    def document_with_id(self, document_id: int, dataset_ids: Collection[int]) -> Document | None:
        """Return the document with this id, if it is in one of these datasets."""
        found = self.documents_with_ids([document_id], dataset_ids)
        return found[0] if found else None

    def documents_with_ids(self, document_ids: Collection[int], dataset_ids: Collection[int]) -> list[Document]:
        """Return those of the documents that are in one of these datasets, by source."""
        rows = self.database.rows(prepared.DOCUMENTS_WITH_IDS, ids=document_ids, datasets=dataset_ids)
        return sorted(map(document_of, rows), key=lambda document: document.source)

    def remove_document(
        self,
        dataset_id: int,
        source: str,
        *,
        check: Check = lambda stored: None,
        remove: Remove = delete_documents,
    ) -> bool:
        """Delete a document with all parts of its source; the indexes follow, and uploads of its source that are still
        to be read are superseded.

        False when there is none. Raises what ``check`` raises.
        """
        with self.database.write() as connection:
            collection = require_dataset(connection, dataset_id)
            old = find_document(connection, dataset_id, source)
            check(old)
            if source != storable(source):
                return False
            own = (DocumentRow.dataset_id == dataset_id, is_part_of(source, connection.dialect.name))
            rows = connection.execute(select(DocumentRow.id, DocumentRow.source).where(*own)).all()
            found = [row.id for row in rows if row.source == source or row.source.rpartition(PART)[2].isdecimal()]
            if not found:
                return False
            supersede_uploads(connection, dataset_id, source)
            for ids in batches(found, DOCUMENTS_PER_BATCH):
                remove(connection, dataset_id, collection, ids)
            return True

    def remove_documents(
        self, dataset_id: int, document_ids: Sequence[int], *, remove: Remove = delete_documents
    ) -> int:
        """Delete these documents of a dataset, and nothing else, as `remove_document` does; return how many there were.

        They go in transactions of 500.
        """
        removed = 0
        for ids in batches(document_ids, DOCUMENTS_PER_BATCH):
            with self.database.write() as connection:
                collection = require_dataset(connection, dataset_id)
                named = (DocumentRow.dataset_id == dataset_id, DocumentRow.id.in_(ids))
                found = connection.execute(select(DocumentRow.id, DocumentRow.source).where(*named)).all()
                for row in found:
                    supersede_uploads(connection, dataset_id, row.source)
                remove(connection, dataset_id, collection, [row.id for row in found])
                removed += len(found)
        return removed

    def store_embeddings(self, model: str, chunk_ids: Sequence[str], vectors: Vector) -> None:
        """Store vectors (n, dim) float32 of unit length under the model's fingerprint.

        Chunks that were deleted meanwhile are left out.
        """
        with self.database.write() as connection:
            store_vectors(connection, model, chunk_ids, vectors)

    # ------------------------------------------------------------ reading under a scope

    def passage_rows(
        self,
        chunk_ids: Collection[str],
        dataset_ids: Collection[int],
        filters: Filters | None = None,
    ) -> dict[str, PassageRow]:
        """Return the passages with these ids that the scope allows and the filters select, by id.

        Every hit of an index is read through here, by one statement.
        """
        if not chunk_ids or not dataset_ids:
            return {}
        statement, parameters = self._selection(prepared.PASSAGES, chunk_ids, dataset_ids, filters)
        return {row[0]: PassageRow._make(row) for row in self.database.rows(statement, **parameters)}

    def having_hashes(self, chunk_ids: Collection[str], hashes: Collection[int]) -> list[str]:
        """Return those of the ids whose texts have one of the hashes. No scope is applied: `passage_rows` does."""
        if not chunk_ids or not hashes:
            return []
        rows = self.database.rows(prepared.HAVING_HASHES, ids=_storable(chunk_ids), hashes=hashes)
        return [row[0] for row in rows]

    def passages(
        self, chunk_ids: Collection[str], dataset_ids: Collection[int], filters: Filters | None = None
    ) -> dict[str, Passage]:
        """Return what `passage_rows` returns, as passages."""
        rows = self.passage_rows(chunk_ids, dataset_ids, filters)
        return {chunk_id: row.passage() for chunk_id, row in rows.items()}

    def visible(
        self, chunk_ids: Collection[str], dataset_ids: Collection[int], filters: Filters | None = None
    ) -> set[str]:
        """Return those of the ids that the scope allows and the filters select."""
        if not chunk_ids or not dataset_ids:
            return set()
        statement, parameters = self._selection(prepared.VISIBLE, chunk_ids, dataset_ids, filters)
        return {row[0] for row in self.database.rows(statement, **parameters)}

    def document_passages(
        self, document_id: int, dataset_ids: Collection[int], *, limit: int | None = None, offset: int = 0
    ) -> list[Passage]:
        """Return a document's passages in order, if the scope allows the document."""
        rows = self.database.rows(
            prepared.PASSAGES_OF_DOCUMENT,
            document_id=document_id,
            datasets=dataset_ids,
            limit=NO_LIMIT if limit is None else limit,
            offset=offset,
        )
        return [PassageRow._make(row).passage() for row in rows]

    def headings(self, document_id: int, dataset_ids: Collection[int], *, limit: int) -> list[tuple[str, int]]:
        """Return (heading path, position of its first passage) in order, if the scope allows the document."""
        rows = self.database.rows(
            prepared.HEADINGS_OF_DOCUMENT, document_id=document_id, datasets=dataset_ids, limit=limit
        )
        return [(str(path), int(position)) for path, position in rows]

    def require_filterable(
        self, dataset_ids: Collection[int], filters: Filters, *, whole_documents: bool = False
    ) -> None:
        """Raise InvalidInputError for a filter by a fact of Braid's, such as ``page``, that can select nothing (see
        `vain_keys`), where no document of these datasets has metadata of its own under the key.
        """
        vain = vain_keys(parse_where(filters.metadata), whole_documents=whole_documents)
        if not vain or not dataset_ids:
            return
        if unknown := self.absent_keys(dataset_ids, vain):
            raise InvalidInputError(f"in the filters, {vain[unknown[0]]}", field="filters.metadata")

    def absent_keys(self, dataset_ids: Collection[int], keys: Collection[str]) -> list[str]:
        """Return those of the keys that no metadata of these datasets' documents has."""
        rows = self.database.rows(prepared.KEYS_THERE, datasets=sorted(dataset_ids), keys=sorted(keys))
        return sorted({*keys} - {row[0] for row in rows})

    def matching_documents(
        self,
        dataset_ids: Collection[int],
        filters: Filters,
        *,
        limit: int | None = None,
        whole_documents: bool = False,
    ) -> tuple[NDArray[np.int64], int]:
        """Return up to ``limit`` ids of documents of which the filters select something, and how many chunks they
        select in all. With ``whole_documents``, filters on passages are not applied, but for kinds.
        """
        of_passages = bool(filters.chunk_kinds) if whole_documents else filters.of_passages
        found = prepared.DOCUMENTS_OF_PASSAGES if of_passages else prepared.MATCHING_DOCUMENTS
        counted = prepared.COUNT_OF_PASSAGES if of_passages else prepared.CHUNKS_OF_MATCHING
        documents, selection = filtered(found, filters, "all", of_passages=not whole_documents)
        of_chunks, _ = filtered(counted, filters, "all", of_passages=not whole_documents)
        ids = self.database.remembered_numbers(
            f"{documents} LIMIT :limit", limit=NO_LIMIT if limit is None else limit, datasets=dataset_ids, **selection
        )
        [(chunks,)] = self.database.remembered_rows(of_chunks, datasets=dataset_ids, **selection)
        return ids, int(chunks)

    def terms(self, dataset_ids: Collection[int], heads: Collection[str]) -> list[Term]:
        """Return terms of these datasets, of documents and glossaries, one of whose forms begins with one of these
        heads; the first 500.
        """
        if not dataset_ids or not heads:
            return []
        having = [row[0] for row in self.database.remembered_rows(prepared.DATASETS_WITH_TERMS, datasets=dataset_ids)]
        if not having:
            return []
        rows = self.database.rows(prepared.TERMS_BY_HEAD, datasets=having, heads=heads, limit=MAX_TERMS)
        return [Term(short, long, bool(of_glossary)) for short, long, of_glossary in rows]

    def matching_passages(self, dataset_ids: Collection[int], filters: Filters) -> frozenset[str]:
        """Return the ids of all chunks that the filters select."""
        statement, selection = filtered(prepared.MATCHING_PASSAGES, filters, "all")
        return frozenset(row[0] for row in self.database.rows(statement, datasets=dataset_ids, **selection))

    def embeddings(self, model: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        """Return the stored vectors (dim,) float32 of these chunks under this model."""
        import numpy as np

        rows = self.database.rows(prepared.VECTORS, model=model, ids=chunk_ids)
        return {chunk_id: np.frombuffer(vector, dtype="<f4") for chunk_id, vector in rows}

    def models_of_vectors(self, chunk_ids: Collection[str]) -> dict[str, set[str]]:
        """Return the fingerprints of the models under which these chunks have a vector; those without are left out."""
        models: dict[str, set[str]] = {}
        for chunk_id, model in self.database.rows(prepared.MODELS_OF_VECTORS, ids=chunk_ids):
            models.setdefault(chunk_id, set()).add(model)
        return models

    def _selection(
        self, statement: str, chunk_ids: Collection[str], dataset_ids: Collection[int], filters: Filters | None
    ) -> tuple[str, dict[str, prepared.Value]]:
        statement, parameters = filtered(statement, filters, "each")
        return statement, {"ids": _storable(chunk_ids), "datasets": dataset_ids, **parameters}


def _storable(chunk_ids: Collection[str]) -> Collection[str]:
    if "".join(chunk_ids).isalnum():  # as Braid's own are
        return chunk_ids
    return [storable(chunk_id) for chunk_id in chunk_ids]


def _users() -> Select[int, str]:
    return select(UserRow.id, UserRow.name).where(~UserRow.name.startswith(REMOVED_USER))


def personal_collection(user_id: int) -> str:
    """Return the collection of a user's personal datasets."""
    return f"user_{user_id}"


def checked_name(name: str, what: str) -> str:
    """Return the name of a ``user`` or ``dataset`` as it is stored. Raises InvalidInputError."""
    name = storable(name).strip()
    if not name or len(name) > MAX_NAME_CHARS:
        raise InvalidInputError(
            internal(
                "the %(what)s's name %(name)s must have 1 to %(most)s characters",
                what=what,
                name=repr(name[:40]),
                most=MAX_NAME_CHARS,
            ),
            field="name",
        )
    if what == "dataset" and any(unicodedata.category(character) in _INVISIBLE for character in name):
        raise InvalidInputError(
            f"the {what}'s name {name[:40]!r} has a line break or another control character; leave it out", field="name"
        )
    return name


def _datasets(rows: Iterable[tuple[Any, ...]]) -> list[Dataset]:
    return [
        Dataset(row[0], row[1], row[2], row[3], documents=row[4], chunks=row[5], conversation_id=row[6]) for row in rows
    ]
