"""Users who wait for approval; removed datasets without their names."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("waiting", sa.Boolean(), nullable=False, server_default=sa.false()))
    datasets = sa.table("datasets", sa.column("name", sa.Text()), sa.column("removed_at", sa.Double()))
    op.execute(sa.update(datasets).where(datasets.c.removed_at.is_not(None)).values(name=""))
