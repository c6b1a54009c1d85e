"""When conversations were deleted that can still be restored."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.add_column("conversations", sa.Column("deleted_at", sa.Double(), nullable=True))
