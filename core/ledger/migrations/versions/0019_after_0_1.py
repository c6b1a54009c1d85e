"""What came after version 0.1 at first.

Its number is that of the last of the eleven steps that led here.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from braid.core.metadata.values import index_rows
from braid.core.text.normalization import normalize

revision = "0019"
down_revision = "0008"

ROWS = 500
"""Rows that are read at a time: those of a large ledger do not fit into memory."""
ORDERED_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
CHUNKS = sa.table(
    "chunks", sa.column("id", sa.Text()), sa.column("text", sa.Text()), sa.column("text_hash", sa.BigInteger())
)
DOCUMENTS = sa.table(
    "documents", sa.column("id", sa.Integer()), sa.column("dataset_id", sa.Integer()), sa.column("meta", sa.JSON())
)
MESSAGES = sa.table(
    "messages",
    sa.column("id", sa.Integer()),
    sa.column("conversation_id", sa.Integer()),
    sa.column("role", sa.Text()),
    sa.column("text", sa.Text()),
    sa.column("settings", sa.JSON()),
    sa.column("state", sa.Text()),
)


def upgrade() -> None:
    _conversations()
    _messages()
    _message_texts()
    _datasets()
    _metadata()
    _files_and_scans()
    _text_hashes()
    _processes()
    _add("users", "waiting", sa.Boolean(), sa.false())


def _conversations() -> None:
    _add("conversations", "pinned", sa.Boolean(), sa.false())
    op.drop_index("ix_conversations_user_id_updated_at", "conversations")
    op.create_index(None, "conversations", ["user_id", "pinned", "updated_at"])


def _messages() -> None:
    op.add_column("messages", sa.Column("parent_id", sa.Integer(), nullable=True))
    _add("messages", "chosen", sa.Boolean(), sa.true())
    _add("messages", "state", sa.Text(), "complete")
    running = sa.text("state = 'running'")
    op.create_index(None, "messages", ["state"], sqlite_where=running, postgresql_where=running)
    op.execute(
        "UPDATE messages SET parent_id = (SELECT before.id FROM messages AS before WHERE"
        " before.conversation_id = messages.conversation_id AND before.position = messages.position - 1)"
    )
    stopped = MESSAGES.c.settings["stopped"].as_boolean()
    op.execute(MESSAGES.update().where(MESSAGES.c.role == "assistant", stopped).values(state="stopped"))


def _message_texts() -> None:
    texts = op.create_table(
        "message_texts",
        _part_of("messages.id", "message_id", primary_key=True),
        _part_of("conversations.id", "conversation_id", index=True),
        _column("folded", sa.Text()),
    )
    for rows in _batches(MESSAGES, MESSAGES.c.conversation_id, MESSAGES.c.text):
        folded = [
            {"message_id": row.id, "conversation_id": row.conversation_id, "folded": normalize(row.text).casefold()}
            for row in rows
        ]
        op.get_bind().execute(sa.insert(texts), folded)


def _datasets() -> None:
    """Files of conversations; removed datasets without their names."""
    op.add_column("datasets", sa.Column("conversation_id", sa.Integer(), nullable=True))
    op.create_index(None, "datasets", ["conversation_id"])
    datasets = sa.table("datasets", sa.column("name", sa.Text()), sa.column("removed_at", sa.Double()))
    op.execute(sa.update(datasets).where(datasets.c.removed_at.is_not(None)).values(name=""))


def _metadata() -> None:
    """The values of documents' metadata, where filters look for them."""
    table = op.create_table(
        "document_metadata",
        _part_of("documents.id", "document_id", primary_key=True),
        _column("key", sa.Text(), primary_key=True),
        _column("position", sa.Integer(), primary_key=True, autoincrement=False),
        _column("dataset_id", sa.Integer()),
        _column("kind", sa.Text()),
        sa.Column("text", ORDERED_TEXT, nullable=True),
        sa.Column("number", sa.Double(), nullable=True),
        sqlite_with_rowid=False,
    )
    for documents in _batches(DOCUMENTS, DOCUMENTS.c.dataset_id, DOCUMENTS.c.meta):
        rows = [
            {"document_id": document.id, "dataset_id": document.dataset_id, **row._asdict()}
            for document in documents
            for row in index_rows(document.meta)
        ]
        if rows:
            op.get_bind().execute(sa.insert(table), rows)
    columns = ["dataset_id", "key", "kind", "number", "text"]
    op.create_index("ix_document_metadata_values", "document_metadata", columns)


def _files_and_scans() -> None:
    """The files that documents were read from; what a machine read on scanned pages, and how sure it is."""
    op.create_table(
        "originals",
        _part_of("documents.id", "document_id", primary_key=True),
        _column("content_hash", sa.Text(), index=True),
        _column("size_bytes", sa.Integer()),
    )
    op.create_table(
        "scans",
        _part_of("documents.id", "document_id", primary_key=True),
        _column("page", sa.Integer(), primary_key=True),
        _column("content_hash", sa.Text()),
        _column("reading", sa.LargeBinary()),
    )
    _add("chunks", "chunk_kind", sa.Text(), "")
    op.add_column("chunks", sa.Column("confidence", sa.Double(), nullable=True))


def _text_hashes() -> None:
    """Hashes of passages' texts, by which copies are found without reading them."""
    _add("chunks", "text_hash", sa.BigInteger(), "0")
    fill = sa.update(CHUNKS).where(CHUNKS.c.id == sa.bindparam("chunk")).values(text_hash=sa.bindparam("hash"))
    for rows in _batches(CHUNKS, CHUNKS.c.text):
        op.get_bind().execute(fill, [{"chunk": row.id, "hash": text_hash(row.text)} for row in rows])
    op.create_index("ix_chunks_id_text_hash", "chunks", ["id", "text_hash"])


def text_hash(text: str) -> int:
    """Return what `braid.core.ledger.document_batch.text_hash` returned when this was written."""
    digest = hashlib.blake2b(" ".join(text.split()).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _processes() -> None:
    """The processes of a fleet, what each of them alone does, and what those of a site have in common."""
    op.create_table(
        "processes",
        _column("name", sa.Text(), primary_key=True),
        _column("host", sa.Text()),
        _column("works", sa.Boolean()),
        _column("started_at", sa.Double()),
        _column("seen_at", sa.Double()),
    )
    process = sa.ForeignKey("processes.name", ondelete="CASCADE")
    op.create_table(
        "claims",
        _column("what", sa.Text(), primary_key=True),
        sa.Column("process", sa.Text(), process, nullable=False, index=True),
    )
    _add("jobs", "process", sa.Text(), "")
    _add("index_state", "wanted", sa.Text(), "")
    _add("index_state", "report", sa.Text(), "")
    op.create_table(
        "attempt_windows",
        _column("key", sa.Text(), primary_key=True),
        _column("attempts", sa.LargeBinary()),
        _column("ends_at", sa.Double()),
    )
    op.create_table(
        "shared_work",
        _column("name", sa.Text(), primary_key=True),
        _column("worker", sa.Text()),
        _column("state", sa.JSON()),
        _column("seen_at", sa.Double()),
    )
    op.create_table(
        "shared_list",
        _column("id", sa.Integer(), primary_key=True, autoincrement=False),
        _column("text", sa.Text()),
        _column("version", sa.Integer()),
    )


def _batches(table: sa.TableClause, *columns: sa.ColumnElement[Any]) -> Iterator[list[Any]]:
    """Yield the rows with their ids in the order of these, some at a time."""
    statement = sa.select(table.c.id, *columns).order_by(table.c.id).limit(ROWS)
    rows = op.get_bind().execute(statement).all()
    while rows:
        yield list(rows)
        rows = op.get_bind().execute(statement.where(table.c.id > rows[-1].id)).all()


def _add(table: str, name: str, kind: Any, default: Any) -> None:
    op.add_column(table, _column(name, kind, server_default=default))


def _column(name: str, kind: Any, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, **options)


def _part_of(parent: str, name: str, **options: Any) -> sa.Column[Any]:
    """Return a key to a row that this row is deleted with."""
    key = sa.ForeignKey(parent, ondelete="CASCADE")
    return sa.Column(name, sa.Integer(), key, **{"nullable": False, **options})
