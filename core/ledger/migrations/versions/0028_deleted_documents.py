"""Deleted documents that can be restored: they wait in a deleted dataset, which names the one that they were in."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.add_column("datasets", sa.Column("documents_of", sa.Integer(), nullable=True))
    op.create_index("ix_datasets_documents_of", "datasets", ["documents_of"])
