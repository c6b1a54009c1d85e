"""Every job is about a dataset."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("DELETE FROM jobs WHERE dataset_id IS NULL")
    with op.batch_alter_table("jobs", table_kwargs={"sqlite_autoincrement": True}) as batch_op:
        batch_op.alter_column("dataset_id", existing_type=sa.Integer(), nullable=False)


def downgrade() -> None:
    with op.batch_alter_table("jobs", table_kwargs={"sqlite_autoincrement": True}) as batch_op:
        batch_op.alter_column("dataset_id", existing_type=sa.Integer(), nullable=True)
