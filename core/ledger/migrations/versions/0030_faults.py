"""What users say of answers that they rate down: what is wrong, and a comment."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    for name in ("fault", "comment"):
        op.add_column("messages", sa.Column(name, sa.Text(), nullable=False, server_default=""))
