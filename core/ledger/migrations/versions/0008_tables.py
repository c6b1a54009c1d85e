"""All tables of the ledger, as of version 0.1. Its number is that of the last of the eight steps that led here."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = None

NEVER_REUSE_IDS = {"sqlite_autoincrement": True}


def upgrade() -> None:
    _users_and_datasets()
    _documents()
    _indexes()
    _conversations()
    _feedback()
    _credentials()
    _administration()
    _jobs()


def _users_and_datasets() -> None:
    op.create_table(
        "users",
        _integer("id", primary_key=True),
        _text("name", unique=True),
        _double("created_at"),
        _text("password_hash", server_default=""),
        sa.Column("is_admin", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("disabled", sa.Boolean(), nullable=False, server_default=sa.false()),
        _json("preferences", server_default="{}"),
        **NEVER_REUSE_IDS,
    )
    op.create_table("user_groups", _user(primary_key=True), _text("group_name", primary_key=True))
    op.create_table(
        "datasets",
        _integer("id", primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("users.id"), index=True),
        _text("name"),
        _text("collection", index=True),
        _integer("documents"),
        _integer("chunks"),
        _double("created_at"),
        _double("removed_at", nullable=True),
        **NEVER_REUSE_IDS,
    )


def _documents() -> None:
    op.create_table(
        "documents",
        _integer("id", primary_key=True),
        sa.Column("dataset_id", sa.Integer(), sa.ForeignKey("datasets.id"), nullable=False),
        _text("source"),
        _text("title"),
        _text("file_type"),
        _text("state"),
        _text("error"),
        _integer("chunks"),
        _integer("size_bytes"),
        _text("content_hash"),
        _double("date", nullable=True),
        _json("meta"),
        _double("created_at"),
        _double("updated_at"),
        _integer("changed_seq", server_default="0"),
        sa.UniqueConstraint("dataset_id", "source"),
        **NEVER_REUSE_IDS,
    )
    op.create_table(
        "chunks",
        _text("id", primary_key=True),
        _part_of("documents.id", "document_id"),
        _integer("dataset_id", index=True),
        _integer("position"),
        _text("text"),
        _text("heading_path"),
        _integer("page", nullable=True),
        _integer("page_end", nullable=True),
        _integer("line", nullable=True),
        _integer("line_end", nullable=True),
    )
    op.create_index(None, "chunks", ["document_id", "position"])
    op.create_table(
        "embeddings",
        sa.Column("chunk_id", sa.Text(), sa.ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
        _text("model", primary_key=True),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
    )


def _indexes() -> None:
    op.create_table(
        "changes",
        _integer("seq", primary_key=True),
        _text("collection"),
        _text("chunk_id"),
        **NEVER_REUSE_IDS,
    )
    op.create_index(None, "changes", ["collection", "seq"])
    op.create_table(
        "index_state",
        _text("leg", primary_key=True),
        _text("collection", primary_key=True),
        _text("version"),
        _integer("applied_seq"),
        _text("state"),
    )


def _conversations() -> None:
    op.create_table(
        "conversations",
        _integer("id", primary_key=True),
        _user(),
        _text("title"),
        _double("created_at"),
        _double("updated_at"),
        **NEVER_REUSE_IDS,
    )
    op.create_index(None, "conversations", ["user_id", "updated_at"])
    op.create_table(
        "messages",
        _integer("id", primary_key=True),
        _part_of("conversations.id", "conversation_id"),
        _integer("position"),
        _text("role"),
        _text("text"),
        _json("settings"),
        _double("created_at"),
        _text("thumb", server_default=""),
        sa.UniqueConstraint("conversation_id", "position"),
        **NEVER_REUSE_IDS,
    )
    op.create_table(
        "citations",
        _part_of("messages.id", "message_id", primary_key=True),
        _integer("number", primary_key=True),
        _text("chunk_id"),
        _integer("dataset_id"),
        _integer("document_id"),
        _text("source"),
        _text("title"),
        _text("heading_path"),
        _integer("page", nullable=True),
        _integer("line", nullable=True),
        _text("text"),
    )


def _feedback() -> None:
    op.create_table(
        "feedback",
        _integer("id", primary_key=True),
        _user(index=True),
        _text("kind"),
        _text("chunk_id"),
        _text("query"),
        _json("scope"),
        _json("ranking"),
        _double("created_at"),
        **NEVER_REUSE_IDS,
    )


def _credentials() -> None:
    op.create_table(
        "web_sessions",
        _integer("id", primary_key=True),
        _user(index=True),
        _text("token_hash", unique=True),
        _text("user_agent"),
        _double("created_at"),
        _double("seen_at"),
        **NEVER_REUSE_IDS,
    )
    op.create_table(
        "api_tokens",
        _integer("id", primary_key=True),
        _user(index=True),
        _text("name"),
        _text("token_hash", unique=True),
        _json("scopes"),
        _double("created_at"),
        _double("expires_at", nullable=True),
        _double("used_at", nullable=True),
        **NEVER_REUSE_IDS,
    )
    op.create_table("provider_keys", _user(primary_key=True), _text("provider", primary_key=True), _text("secret"))


def _administration() -> None:
    op.create_table(
        "audit_log",
        _integer("id", primary_key=True),
        _double("at"),
        _text("actor"),
        _text("action"),
        _text("target"),
        _text("detail"),
        **NEVER_REUSE_IDS,
    )
    op.create_table(
        "usage_counts",
        _text("day", primary_key=True),
        _user(primary_key=True),
        _text("kind", primary_key=True),
        _integer("count"),
    )
    op.create_table("app_settings", _text("name", primary_key=True), _text("value"))
    op.create_table(
        "idempotency_keys",
        _user(primary_key=True),
        _text("key", primary_key=True),
        _text("request_hash"),
        _integer("status"),
        _text("body"),
        _double("created_at"),
    )


def _jobs() -> None:
    op.create_table(
        "synced_folders",
        _integer("id", primary_key=True),
        _user(),
        sa.Column("dataset_id", sa.Integer(), sa.ForeignKey("datasets.id"), nullable=False),
        _text("folder"),
        _json("ignore"),
        _text("id_prefix"),
        _double("created_at"),
        sa.UniqueConstraint("dataset_id", "folder"),
        **NEVER_REUSE_IDS,
    )
    op.create_table(
        "jobs",
        _integer("id", primary_key=True),
        _user(),
        _text("kind"),
        _integer("dataset_id"),
        _text("title"),
        _json("payload"),
        _text("state"),
        _text("error"),
        _json("result"),
        _integer("done"),
        _integer("total"),
        _integer("attempts"),
        _double("created_at"),
        _double("started_at", nullable=True),
        _double("finished_at", nullable=True),
        **NEVER_REUSE_IDS,
    )
    op.create_index(None, "jobs", ["user_id", "id"])
    op.create_index(None, "jobs", ["state", "user_id", "id"])


def _integer(name: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), **{"nullable": False, **options})


def _text(name: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), **{"nullable": False, **options})


def _double(name: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.Double(), **{"nullable": False, **options})


def _json(name: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.JSON(), **{"nullable": False, **options})


def _part_of(parent: str, name: str, **options: Any) -> sa.Column[Any]:
    """Return a key to a row that this row is deleted with."""
    key = sa.ForeignKey(parent, ondelete="CASCADE")
    return sa.Column(name, sa.Integer(), key, **{"nullable": False, **options})


def _user(**options: Any) -> sa.Column[Any]:
    return _part_of("users.id", "user_id", **options)
