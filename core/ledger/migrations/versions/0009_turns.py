"""Turns that are stored while they run, variants, pinned conversations, and the words of messages, to find them."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from braid.core.text.normalization import normalize

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

BATCH = 500
MESSAGES = sa.table(
    "messages",
    sa.column("id", sa.Integer()),
    sa.column("conversation_id", sa.Integer()),
    sa.column("role", sa.Text()),
    sa.column("text", sa.Text()),
    sa.column("settings", sa.JSON()),
    sa.column("state", sa.Text()),
)
TEXTS = sa.table(
    "message_texts",
    sa.column("message_id", sa.Integer()),
    sa.column("conversation_id", sa.Integer()),
    sa.column("folded", sa.Text()),
)


def upgrade() -> None:
    _conversations()
    _messages()
    _message_texts()


def _conversations() -> None:
    op.add_column("conversations", _column("pinned", sa.Boolean(), sa.false()))
    op.drop_index("ix_conversations_user_id_updated_at", "conversations")
    op.create_index(None, "conversations", ["user_id", "pinned", "updated_at"])


def _messages() -> None:
    op.add_column("messages", sa.Column("parent_id", sa.Integer(), nullable=True))
    op.add_column("messages", _column("chosen", sa.Boolean(), sa.true()))
    op.add_column("messages", _column("state", sa.Text(), "complete"))
    running = sa.text("state = 'running'")
    op.create_index(None, "messages", ["state"], sqlite_where=running, postgresql_where=running)
    op.execute(
        "UPDATE messages SET parent_id = (SELECT before.id FROM messages AS before WHERE"
        " before.conversation_id = messages.conversation_id AND before.position = messages.position - 1)"
    )
    stopped = MESSAGES.c.settings["stopped"].as_boolean()
    op.execute(MESSAGES.update().where(MESSAGES.c.role == "assistant", stopped).values(state="stopped"))


def _message_texts() -> None:
    op.create_table(
        "message_texts",
        _part_of("messages.id", "message_id", primary_key=True),
        _part_of("conversations.id", "conversation_id", index=True),
        sa.Column("folded", sa.Text(), nullable=False),
    )
    for rows in _batches(op.get_bind()):
        texts = [
            {"message_id": row.id, "conversation_id": row.conversation_id, "folded": normalize(row.text).casefold()}
            for row in rows
        ]
        op.get_bind().execute(sa.insert(TEXTS), texts)


def _batches(connection: sa.Connection) -> Iterator[list[Any]]:
    """Yield the messages some at a time; a long history does not fit into memory."""
    last = 0
    columns = (MESSAGES.c.id, MESSAGES.c.conversation_id, MESSAGES.c.text)
    while rows := connection.execute(
        sa.select(*columns).where(MESSAGES.c.id > last).order_by(MESSAGES.c.id).limit(BATCH)
    ).all():
        yield list(rows)
        last = rows[-1].id


def _column(name: str, kind: Any, default: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, server_default=default)


def _part_of(parent: str, name: str, **options: Any) -> sa.Column[Any]:
    """Return a key to a row that this row is deleted with."""
    return sa.Column(name, sa.Integer(), sa.ForeignKey(parent, ondelete="CASCADE"), nullable=False, **options)
