"""A thumb on the answer as a whole."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("thumb", sa.Text(), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("messages", "thumb")
