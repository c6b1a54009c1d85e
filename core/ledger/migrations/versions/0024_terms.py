"""Abbreviations that documents introduce, and glossaries of datasets."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table(
        "terms",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("dataset_id", sa.Integer(), sa.ForeignKey("datasets.id", ondelete="CASCADE"), nullable=False),
        sa.Column("document_id", sa.Integer(), sa.ForeignKey("documents.id", ondelete="CASCADE"), nullable=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("short", "long", "short_head", "long_head")),
    )
    op.create_index(None, "terms", ["document_id"])
    op.create_index("ix_terms_short", "terms", ["dataset_id", "short_head"])
    op.create_index("ix_terms_long", "terms", ["dataset_id", "long_head"])
