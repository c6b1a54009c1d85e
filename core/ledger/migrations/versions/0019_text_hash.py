"""Hashes of passages' texts, by which copies are found without reading them."""

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

ROWS = 1_000

chunks = sa.table(
    "chunks", sa.column("id", sa.Text()), sa.column("text", sa.Text()), sa.column("text_hash", sa.BigInteger())
)
NEXT = sa.select(chunks.c.id, chunks.c.text).where(chunks.c.id > sa.bindparam("last")).order_by(chunks.c.id).limit(ROWS)
FILL = sa.update(chunks).where(chunks.c.id == sa.bindparam("chunk")).values(text_hash=sa.bindparam("hash"))


def text_hash(text: str) -> int:
    """Return what `braid.core.ledger.text_hash` returned when this was written."""
    digest = hashlib.blake2b(" ".join(text.split()).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def upgrade() -> None:
    op.add_column("chunks", sa.Column("text_hash", sa.BigInteger(), server_default="0", nullable=False))
    connection, last = op.get_bind(), ""
    while rows := connection.execute(NEXT, {"last": last}).all():
        connection.execute(FILL, [{"chunk": row.id, "hash": text_hash(row.text)} for row in rows])
        last = rows[-1].id
    op.create_index("ix_chunks_id_text_hash", "chunks", ["id", "text_hash"])
