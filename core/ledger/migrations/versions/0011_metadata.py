"""The values of documents' metadata, where filters look for them."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from braid.core.metadata.values import index_rows

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

BATCH = 500
ORDERED_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
DOCUMENTS = sa.table(
    "documents", sa.column("id", sa.Integer()), sa.column("dataset_id", sa.Integer()), sa.column("meta", sa.JSON())
)


def upgrade() -> None:
    table = op.create_table(
        "document_metadata",
        sa.Column("document_id", sa.Integer(), sa.ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", ORDERED_TEXT, nullable=True),
        sa.Column("number", sa.Double(), nullable=True),
        sqlite_with_rowid=False,
    )
    for documents in _batches(op.get_bind()):
        rows = [
            {"document_id": document.id, "dataset_id": document.dataset_id, **row._asdict()}
            for document in documents
            for row in index_rows(document.meta)
        ]
        if rows:
            op.get_bind().execute(sa.insert(table), rows)
    columns = ["dataset_id", "key", "kind", "number", "text"]
    op.create_index("ix_document_metadata_values", "document_metadata", columns)


def _batches(connection: sa.Connection) -> Iterator[list[Any]]:
    """Yield the documents some at a time; those of a large ledger do not fit into memory."""
    last = 0
    columns = (DOCUMENTS.c.id, DOCUMENTS.c.dataset_id, DOCUMENTS.c.meta)
    while documents := connection.execute(
        sa.select(*columns).where(DOCUMENTS.c.id > last).order_by(DOCUMENTS.c.id).limit(BATCH)
    ).all():
        yield list(documents)
        last = documents[-1].id
