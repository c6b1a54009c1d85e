"""Datasets and conversations that their owners share, and requests for access."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "shares",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("dataset_id", sa.Integer(), sa.ForeignKey("datasets.id"), nullable=False, index=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=True, index=True),
        sa.Column("group_name", sa.Text(), nullable=True, index=True),
        sa.Column("may_write", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "access_requests",
        sa.Column("dataset_id", sa.Integer(), sa.ForeignKey("datasets.id"), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True),
        sa.Column("declined", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
    )
    op.create_table(
        "conversation_links",
        sa.Column(
            "conversation_id", sa.Integer(), sa.ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("token", sa.Text(), nullable=False, unique=True),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
    )
