"""What the processes of a site have in common: counted attempts, and work that one of them does for all."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "attempt_windows",
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("attempts", sa.LargeBinary(), nullable=False),
        sa.Column("ends_at", sa.Double(), nullable=False),
    )
    op.create_table(
        "shared_work",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
    )
