"""Assistants, which are shared as datasets are."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "assistants",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.Integer(), sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("name", "description", "sign", "color")),
        sa.Column("instruction", sa.Text(), nullable=False),
        sa.Column("shows_instruction", sa.Boolean(), nullable=False),
        sa.Column("dataset_ids", sa.JSON(), nullable=False),
        sa.Column("strategy", sa.Text(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("questions", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("shares", table_kwargs={"sqlite_autoincrement": True}) as shares:
        shares.alter_column("dataset_id", existing_type=sa.Integer(), nullable=True)
        shares.add_column(sa.Column("assistant_id", sa.Integer(), nullable=True))
        shares.create_foreign_key("fk_shares_assistant_id", "assistants", ["assistant_id"], ["id"], ondelete="CASCADE")
        shares.create_index("ix_shares_assistant_id", ["assistant_id"])
