"""What a machine read on scanned pages, and how sure it is of a passage."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "scans",
        sa.Column("document_id", sa.Integer(), sa.ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("page", sa.Integer(), primary_key=True),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("reading", sa.LargeBinary(), nullable=False),
    )
    op.add_column("chunks", sa.Column("confidence", sa.Double(), nullable=True))
