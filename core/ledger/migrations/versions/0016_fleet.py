"""The processes of a fleet, what each of them alone does, and what they say of the indexes."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "processes",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("works", sa.Boolean(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
    )
    op.create_table(
        "claims",
        sa.Column("what", sa.Text(), primary_key=True),
        sa.Column("process", sa.Text(), sa.ForeignKey("processes.name", ondelete="CASCADE"), nullable=False),
    )
    op.create_index("ix_claims_process", "claims", ["process"])
    op.add_column("jobs", sa.Column("process", sa.Text(), nullable=False, server_default=""))
    op.add_column("index_state", sa.Column("wanted", sa.Text(), nullable=False, server_default=""))
    op.add_column("index_state", sa.Column("report", sa.Text(), nullable=False, server_default=""))
