"""What part of a program a passage of source code is; passages that are stored already have none."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("chunks", sa.Column("chunk_kind", sa.Text(), nullable=False, server_default=""))
