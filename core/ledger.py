"""The ledger: users, datasets, documents, chunks and their embeddings, in SQL.

Every change of a chunk leaves a row in the change log in the same transaction; `core.change_log` is the side of
the ledger that the indexes read.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    RowMapping,
    Select,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from core.database import Database
from core.errors import InvalidInputError, NotFoundError
from core.indexes import Vector
from core.tables import (
    ChangeRow,
    ChunkRow,
    DatasetRow,
    DocumentRow,
    EmbeddingRow,
    UserGroupRow,
    UserRow,
)
from core.types import ChunkInput, Dataset, Document, DocumentInput, Filters, Passage

MAX_NAME_CHARS = 200
ROWS_PER_STATEMENT = 1000  # far below SQLite's 32,766 variables


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who owns datasets."""

    id: int
    name: str
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PutResult:
    """What a put did: chunks added, kept with their id and embedding, and removed."""

    document_id: int
    added: int = 0
    kept: int = 0
    removed: int = 0
    unchanged: bool = False


class Ledger:
    """The stored truth. Safe to use from several threads and processes at once."""

    def __init__(self, url: str) -> None:
        self.database = Database(url)

    def close(self) -> None:
        """Give all connections back."""
        self.database.close()

    # ------------------------------------------------------------ users

    def add_user(self, name: str, groups: Iterable[str] = ()) -> User:
        """Add a user. Raises InvalidInputError when the name is empty, too long or taken."""
        name = _name(name, "user")
        groups = frozenset(groups)
        with self.database.write() as connection:
            try:
                user_id = connection.execute(
                    insert(UserRow).values(name=name, created_at=time.time()).returning(UserRow.id)
                ).scalar_one()
            except IntegrityError:
                raise InvalidInputError(
                    f"a user named {name!r} exists already; choose another name", field="name"
                ) from None
            if groups:
                connection.execute(
                    insert(UserGroupRow), [{"user_id": user_id, "group_name": g} for g in sorted(groups)]
                )
        return User(user_id, name, groups)

    def users(self) -> list[User]:
        """All users by id."""
        with self.database.read() as connection:
            rows = connection.execute(select(UserRow.id, UserRow.name).order_by(UserRow.id)).all()
            memberships = connection.execute(select(UserGroupRow.user_id, UserGroupRow.group_name)).all()
        groups: dict[int, set[str]] = {}
        for user_id, group in memberships:
            groups.setdefault(user_id, set()).add(group)
        return [User(row.id, row.name, frozenset(groups.get(row.id, ()))) for row in rows]

    def user(self, user_id: int) -> User | None:
        """The user with this id."""
        with self.database.read() as connection:
            name = connection.execute(select(UserRow.name).where(UserRow.id == user_id)).scalar_one_or_none()
            if name is None:
                return None
            groups = connection.execute(select(UserGroupRow.group_name).where(UserGroupRow.user_id == user_id))
            return User(user_id, name, frozenset(groups.scalars()))

    def user_named(self, name: str) -> User | None:
        """The user with this name."""
        with self.database.read() as connection:
            user_id = connection.execute(select(UserRow.id).where(UserRow.name == name)).scalar_one_or_none()
        return None if user_id is None else self.user(user_id)

    # ------------------------------------------------------------ datasets

    def add_dataset(self, user_id: int, name: str) -> Dataset:
        """Add a personal dataset. Raises NotFoundError when there is no such user."""
        name = _name(name, "dataset")
        if self.user(user_id) is None:
            raise NotFoundError(f"there is no user {user_id}; add one first")
        collection = personal_collection(user_id)
        with self.database.write() as connection:
            dataset_id = connection.execute(
                insert(DatasetRow)
                .values(user_id=user_id, name=name, collection=collection, created_at=time.time())
                .returning(DatasetRow.id)
            ).scalar_one()
        return Dataset(dataset_id, name, collection, user_id)

    def rename_dataset(self, dataset_id: int, name: str) -> Dataset:
        """Give a personal dataset another name."""
        with self.database.write() as connection:
            _require_dataset(connection, dataset_id)
            connection.execute(
                update(DatasetRow).where(DatasetRow.id == dataset_id).values(name=_name(name, "dataset"))
            )
        return self.dataset(dataset_id)

    def datasets(self, user_id: int) -> list[Dataset]:
        """A user's personal datasets by id."""
        return self._datasets(DatasetRow.user_id == user_id)

    def dataset(self, dataset_id: int) -> Dataset:
        """One dataset, personal or the mirror of a shared one. Raises NotFoundError."""
        found = self._datasets(DatasetRow.id == dataset_id)
        if not found:
            raise NotFoundError(f"there is no dataset {dataset_id}")
        return found[0]

    def datasets_in(self, collections: Collection[str]) -> list[Dataset]:
        """All datasets that live in these collections, with their counts."""
        return self._datasets(DatasetRow.collection.in_(collections))

    def all_datasets(self) -> list[Dataset]:
        """All datasets that are not removed."""
        return self._datasets(literal(True))

    def register_shared(self, dataset_id: int, name: str, collection: str) -> None:
        """Mirror a shared dataset; one that changed its collection moves there with its chunks."""
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
                    _log_dataset(connection, dataset_id, row.collection)
                    _log_dataset(connection, dataset_id, collection)
                connection.execute(
                    update(DatasetRow).where(DatasetRow.id == dataset_id).values(name=name, collection=collection)
                )

    def retired_shared_ids(self) -> frozenset[int]:
        """Ids of removed shared datasets; they are never given again."""
        with self.database.read() as connection:
            rows = connection.execute(
                select(DatasetRow.id).where(DatasetRow.id < 0, DatasetRow.removed_at.is_not(None))
            )
            return frozenset(rows.scalars())

    def remove_dataset(self, dataset_id: int) -> None:
        """Delete a dataset with its documents at once; the indexes follow. Raises NotFoundError."""
        with self.database.write() as connection:
            collection = _require_dataset(connection, dataset_id)
            _log_dataset(connection, dataset_id, collection)
            connection.execute(delete(DocumentRow).where(DocumentRow.dataset_id == dataset_id))
            connection.execute(
                update(DatasetRow)
                .where(DatasetRow.id == dataset_id)
                .values(removed_at=time.time(), documents=0, chunks=0)
            )

    def _datasets(self, condition: ColumnElement[bool]) -> list[Dataset]:
        statement = (
            select(
                DatasetRow.id,
                DatasetRow.name,
                DatasetRow.collection,
                DatasetRow.user_id,
                DatasetRow.documents,
                DatasetRow.chunks,
            )
            .where(condition, DatasetRow.removed_at.is_(None))
            .order_by(DatasetRow.id)
        )
        with self.database.read() as connection:
            return [Dataset(**row._mapping) for row in connection.execute(statement)]

    # ------------------------------------------------------------ documents

    def put_document(self, dataset_id: int, document: DocumentInput) -> PutResult:
        """Store a document, or replace the one with the same source, in one transaction.

        Chunks whose text, title and heading path are as before keep their id and embedding. An equal
        ``content_hash`` means nothing to do. Raises NotFoundError when there is no such dataset.
        """
        return self.put_documents(dataset_id, [document])[0]

    def put_documents(self, dataset_id: int, documents: Iterable[DocumentInput]) -> list[PutResult]:
        """`put_document` for several in one transaction, which takes a third of the time; all are stored or none."""
        with self.database.write() as connection:
            collection = _require_dataset(connection, dataset_id)
            return [_put(connection, dataset_id, collection, document) for document in documents]

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
    ) -> int:
        """Record a source that cannot be read, with the reason. Returns the document id.

        Chunks stored from an earlier, readable version stay searchable: nothing already stored is lost.
        """
        with self.database.write() as connection:
            _require_dataset(connection, dataset_id)
            old = _find_document(connection, dataset_id, source)
            failed = DocumentInput(source, title, file_type, (), content_hash, size_bytes)
            values = _document_values(failed, state="failed", error=error, chunks=old.chunks if old else 0)
            if old is not None and old.chunks:
                values = {k: values[k] for k in ("state", "error", "content_hash", "updated_at")}
            return _save_document(connection, dataset_id, old, values)

    def documents(
        self,
        dataset_id: int,
        *,
        source_prefix: str = "",
        state: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Document]:
        """Documents of a dataset by source."""
        statement = _select_documents().where(DocumentRow.dataset_id == dataset_id)
        if source_prefix:
            statement = statement.where(DocumentRow.source.startswith(_text(source_prefix), autoescape=True))
        if state is not None:
            statement = statement.where(DocumentRow.state == state)
        statement = statement.order_by(DocumentRow.source).limit(limit).offset(offset)
        with self.database.read() as connection:
            return [Document(**row._mapping) for row in connection.execute(statement)]

    def document(self, dataset_id: int, source: str) -> Document | None:
        """The document with this source in this dataset."""
        condition = (DocumentRow.dataset_id == dataset_id, DocumentRow.source == _text(source))
        with self.database.read() as connection:
            row = connection.execute(_select_documents().where(*condition)).one_or_none()
        return None if row is None else Document(**row._mapping)

    def remove_document(self, dataset_id: int, source: str) -> bool:
        """Delete a document at once; the indexes follow. False when there is none."""
        with self.database.write() as connection:
            collection = _require_dataset(connection, dataset_id)
            old = _find_document(connection, dataset_id, source)
            if old is None:
                return False
            chunk_ids = connection.execute(select(ChunkRow.id).where(ChunkRow.document_id == old.id)).scalars().all()
            _log(connection, collection, chunk_ids)
            connection.execute(delete(DocumentRow).where(DocumentRow.id == old.id))
            _count(connection, dataset_id, documents=-1, chunks=-len(chunk_ids))
            return True

    def store_embeddings(self, model: str, chunk_ids: Sequence[str], vectors: Vector) -> None:
        """Keep vectors (n, dim) float32 of unit length under the model's fingerprint.

        Chunks that were deleted meanwhile are left out.
        """
        with self.database.write() as connection:
            for start in range(0, len(chunk_ids), ROWS_PER_STATEMENT):
                batch = list(chunk_ids[start : start + ROWS_PER_STATEMENT])
                existing = set(connection.execute(select(ChunkRow.id).where(ChunkRow.id.in_(batch))).scalars())
                connection.execute(
                    delete(EmbeddingRow).where(EmbeddingRow.chunk_id.in_(batch), EmbeddingRow.model == model)
                )
                rows = [
                    {"chunk_id": chunk_id, "model": model, "vector": vector.astype("<f4").tobytes()}
                    for chunk_id, vector in zip(batch, vectors[start : start + len(batch)], strict=True)
                    if chunk_id in existing
                ]
                if rows:
                    connection.execute(insert(EmbeddingRow), rows)

    # ------------------------------------------------------------ reading under a scope

    def passages(
        self, chunk_ids: Collection[str], dataset_ids: Collection[int], filters: Filters | None = None
    ) -> dict[str, Passage]:
        """The passages with these ids that the scope allows and the filters select: the one way out of an index."""
        if not chunk_ids or not dataset_ids:
            return {}
        statement = _select_passages(filters).where(ChunkRow.id.in_(bindparam("ids", expanding=True)))
        found: dict[str, Passage] = {}
        ids = list(chunk_ids)
        with self.database.read() as connection:
            for start in range(0, len(ids), ROWS_PER_STATEMENT):
                parameters = {"ids": ids[start : start + ROWS_PER_STATEMENT], "datasets": list(dataset_ids)}
                for row in connection.execute(statement, parameters).mappings():
                    found[row["chunk_id"]] = _passage(row)
        return found

    def visible(
        self, chunk_ids: Sequence[str], dataset_ids: Collection[int], filters: Filters | None = None
    ) -> set[str]:
        """Those of the ids that the scope allows and the filters select."""
        statement = (
            select(ChunkRow.id)
            .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
            .where(
                ChunkRow.id.in_(bindparam("ids", expanding=True)),
                ChunkRow.dataset_id.in_(bindparam("datasets", expanding=True)),
                *_conditions(filters),
            )
        )
        found: set[str] = set()
        with self.database.read() as connection:
            for start in range(0, len(chunk_ids), ROWS_PER_STATEMENT):
                ids = chunk_ids[start : start + ROWS_PER_STATEMENT]
                found.update(connection.execute(statement, {"ids": ids, "datasets": list(dataset_ids)}).scalars())
        return found

    def document_passages(
        self, document_id: int, dataset_ids: Collection[int], *, limit: int | None = None, offset: int = 0
    ) -> list[Passage]:
        """A document's passages in order, if the scope allows the document."""
        statement = _select_passages(None).where(ChunkRow.document_id == document_id)
        statement = statement.order_by(ChunkRow.position).limit(limit).offset(offset)
        with self.database.read() as connection:
            rows = connection.execute(statement, {"datasets": list(dataset_ids)}).mappings()
            return [_passage(row) for row in rows]

    def matching_documents(
        self, dataset_ids: Collection[int], filters: Filters, *, limit: int
    ) -> tuple[list[int], int]:
        """Ids of up to ``limit`` documents that the filters select, and the number of their chunks."""
        conditions = (DocumentRow.dataset_id.in_(dataset_ids), DocumentRow.chunks > 0, *_conditions(filters))
        with self.database.read() as connection:
            ids = connection.execute(select(DocumentRow.id).where(*conditions).limit(limit)).scalars().all()
            chunks = connection.execute(select(func.sum(DocumentRow.chunks)).where(*conditions)).scalar()
        return list(ids), int(chunks or 0)

    def embeddings(self, model: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        """Stored vectors (dim,) float32 of these chunks under this model."""
        found: dict[str, Vector] = {}
        ids = list(chunk_ids)
        with self.database.read() as connection:
            for start in range(0, len(ids), ROWS_PER_STATEMENT):
                rows = connection.execute(
                    select(EmbeddingRow.chunk_id, EmbeddingRow.vector).where(
                        EmbeddingRow.chunk_id.in_(ids[start : start + ROWS_PER_STATEMENT]),
                        EmbeddingRow.model == model,
                    )
                )
                found.update({row.chunk_id: np.frombuffer(row.vector, dtype="<f4") for row in rows})
        return found


def personal_collection(user_id: int) -> str:
    """The collection of a user's personal datasets."""
    return f"user_{user_id}"


def chunk_id(document_id: int, title: str, chunk: ChunkInput, occurrence: int) -> str:
    """Stable while what is indexed of the chunk is: 32 hexadecimal digits.

    ``occurrence`` counts equal passages of one document from 0.
    """
    parts = (str(document_id), title, chunk.heading_path, chunk.text, str(occurrence))
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]


# ---------------------------------------------------------------- writing


def _require_dataset(connection: Connection, dataset_id: int) -> str:
    """The dataset's collection, its row locked for this transaction. Raises NotFoundError."""
    statement = select(DatasetRow.collection).where(DatasetRow.id == dataset_id, DatasetRow.removed_at.is_(None))
    collection = connection.execute(statement.with_for_update()).scalar_one_or_none()
    if collection is None:
        raise NotFoundError(f"there is no dataset {dataset_id}")
    return collection


def _put(connection: Connection, dataset_id: int, collection: str, document: DocumentInput) -> PutResult:
    old = _find_document(connection, dataset_id, document.source)
    if old is not None and _is_same(old, document):
        return PutResult(old.id, kept=old.chunks, unchanged=True)
    values = _document_values(document, state="ready", error="", chunks=len(document.chunks))
    document_id = _save_document(connection, dataset_id, old, values)
    return _replace_chunks(connection, dataset_id, collection, document_id, document)


def _find_document(connection: Connection, dataset_id: int, source: str) -> Row[Any] | None:
    return connection.execute(
        _select_documents().where(DocumentRow.dataset_id == dataset_id, DocumentRow.source == _text(source))
    ).one_or_none()


def _is_same(old: Row[Any], document: DocumentInput) -> bool:
    return (
        bool(document.content_hash)
        and old.state == "ready"
        and old.content_hash == document.content_hash
        and old.title == _text(document.title)
    )


def _document_values(document: DocumentInput, *, state: str, error: str, chunks: int) -> dict[str, Any]:
    if not document.source.strip():
        raise InvalidInputError("the document's source is empty; give its path or URL", field="source")
    return {
        "source": _text(document.source),
        "title": _text(document.title),
        "file_type": document.file_type,
        "state": state,
        "error": _text(error),
        "chunks": chunks,
        "size_bytes": document.size_bytes,
        "content_hash": document.content_hash,
        "date": document.date,
        "meta": {_text(key): _text(value) for key, value in document.metadata.items()},
        "updated_at": time.time(),
    }


def _save_document(connection: Connection, dataset_id: int, old: Row[Any] | None, values: Mapping[str, Any]) -> int:
    if old is not None:
        connection.execute(update(DocumentRow).where(DocumentRow.id == old.id).values(**values))
        return int(old.id)
    row = {**values, "dataset_id": dataset_id, "created_at": values["updated_at"]}
    _count(connection, dataset_id, documents=1, chunks=0)
    return connection.execute(insert(DocumentRow).values(**row).returning(DocumentRow.id)).scalar_one()


def _replace_chunks(
    connection: Connection, dataset_id: int, collection: str, document_id: int, document: DocumentInput
) -> PutResult:
    rows = {row["id"]: row for row in _chunk_rows(dataset_id, document_id, document)}
    before = set(connection.execute(select(ChunkRow.id).where(ChunkRow.document_id == document_id)).scalars())
    removed = sorted(before - rows.keys())
    added = [row for key, row in rows.items() if key not in before]
    kept = [row for key, row in rows.items() if key in before]
    for start in range(0, len(removed), ROWS_PER_STATEMENT):
        connection.execute(delete(ChunkRow).where(ChunkRow.id.in_(removed[start : start + ROWS_PER_STATEMENT])))
    if added:
        connection.execute(insert(ChunkRow), added)
    if kept:
        moved = [{"key" if k == "id" else k: v for k, v in row.items() if k in MOVING} for row in kept]
        connection.execute(update(ChunkRow).where(ChunkRow.id == bindparam("key")), moved)
    _log(connection, collection, [*removed, *(row["id"] for row in added)])
    _count(connection, dataset_id, documents=0, chunks=len(added) - len(removed))
    return PutResult(document_id, len(added), len(kept), len(removed))


MOVING = ("id", "position", "page", "page_end", "line", "line_end")


def _chunk_rows(dataset_id: int, document_id: int, document: DocumentInput) -> Iterable[dict[str, Any]]:
    seen: Counter[str] = Counter()
    title = _text(document.title)
    for position, given in enumerate(document.chunks):
        chunk = ChunkInput(
            _text(given.text),
            _text(given.heading_path),
            given.page,
            given.page_end,
            given.line,
            given.line_end,
        )
        first_id = chunk_id(document_id, title, chunk, 0)
        occurrence = seen[first_id]
        seen[first_id] += 1
        yield {
            "id": first_id if occurrence == 0 else chunk_id(document_id, title, chunk, occurrence),
            "document_id": document_id,
            "dataset_id": dataset_id,
            "position": position,
            "text": chunk.text,
            "heading_path": chunk.heading_path,
            "page": chunk.page,
            "page_end": chunk.page_end,
            "line": chunk.line,
            "line_end": chunk.line_end,
        }


def _lock_log(connection: Connection) -> None:
    # Sequence numbers must become visible in their order, or an index would skip a late one. SQLite has one
    # writer at a time anyway.
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE changes IN SHARE ROW EXCLUSIVE MODE")


def _log(connection: Connection, collection: str, chunk_ids: Sequence[str]) -> None:
    if chunk_ids:
        _lock_log(connection)
        connection.execute(insert(ChangeRow), [{"collection": collection, "chunk_id": key} for key in chunk_ids])


def _log_dataset(connection: Connection, dataset_id: int, collection: str) -> None:
    _lock_log(connection)
    chunks = select(literal(collection), ChunkRow.id).where(ChunkRow.dataset_id == dataset_id)
    connection.execute(insert(ChangeRow).from_select(["collection", "chunk_id"], chunks))


def _count(connection: Connection, dataset_id: int, *, documents: int, chunks: int) -> None:
    connection.execute(
        update(DatasetRow)
        .where(DatasetRow.id == dataset_id)
        .values(documents=DatasetRow.documents + documents, chunks=DatasetRow.chunks + chunks)
    )


# ---------------------------------------------------------------- reading


def _select_documents() -> Select[*tuple[Any, ...]]:
    statement: Select[*tuple[Any, ...]] = select(
        DocumentRow.id,
        DocumentRow.dataset_id,
        DocumentRow.source,
        DocumentRow.title,
        DocumentRow.file_type,
        DocumentRow.state,
        DocumentRow.error,
        DocumentRow.chunks,
        DocumentRow.size_bytes,
        DocumentRow.content_hash,
        DocumentRow.date,
        DocumentRow.updated_at,
    )
    return statement


def _select_passages(filters: Filters | None) -> Select[*tuple[Any, ...]]:
    statement: Select[*tuple[Any, ...]] = (
        select(
            ChunkRow.id.label("chunk_id"),
            ChunkRow.document_id,
            ChunkRow.dataset_id,
            DatasetRow.collection,
            DocumentRow.source,
            DocumentRow.title,
            DocumentRow.file_type,
            ChunkRow.heading_path,
            ChunkRow.text,
            ChunkRow.position,
            ChunkRow.page,
            ChunkRow.page_end,
            ChunkRow.line,
            ChunkRow.line_end,
            DocumentRow.date,
            DocumentRow.meta.label("metadata"),
        )
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .join(DatasetRow, DatasetRow.id == ChunkRow.dataset_id)
        .where(
            ChunkRow.dataset_id.in_(bindparam("datasets", expanding=True)),
            DatasetRow.removed_at.is_(None),
            *_conditions(filters),
        )
    )
    return statement


def _conditions(filters: Filters | None) -> list[ColumnElement[bool]]:
    if not filters:
        return []
    conditions: list[ColumnElement[bool]] = []
    if filters.file_types:
        conditions.append(DocumentRow.file_type.in_(sorted(filters.file_types)))
    if filters.source_prefix:
        conditions.append(DocumentRow.source.startswith(_text(filters.source_prefix), autoescape=True))
    if filters.date_from is not None:
        conditions.append(DocumentRow.date >= filters.date_from)
    if filters.date_to is not None:
        conditions.append(DocumentRow.date <= filters.date_to)
    return conditions


def _passage(row: RowMapping) -> Passage:
    return Passage(**row)


def _name(name: str, what: str) -> str:
    name = _text(name).strip()
    if not name or len(name) > MAX_NAME_CHARS:
        raise InvalidInputError(
            f"the {what}'s name {name[:40]!r} must have 1 to {MAX_NAME_CHARS} characters", field="name"
        )
    return name


def _text(text: str) -> str:
    """Text that every database can store: no NUL, no lone surrogates."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
