"""Datasets that belong to a conversation: the files that were added to it."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("conversation_id", sa.Integer(), nullable=True))
    op.create_index(None, "datasets", ["conversation_id"])
