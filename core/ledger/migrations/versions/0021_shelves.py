"""Archived conversations, and labels of conversations."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.add_column("conversations", sa.Column("archived", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("conversations", sa.Column("label", sa.Text(), server_default="", nullable=False))
