"""Second factors of users; users and groups that an identity provider keeps."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.create_table(
        "second_factors",
        _user(),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.Column("used_step", sa.Integer(), nullable=False),
        sa.Column("recovery_hash", sa.JSON(), nullable=False),
    )
    op.create_table(
        "provisioned_users",
        _user(),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("removed", sa.Boolean(), nullable=False),
    )
    op.create_table(
        "provisioned_groups",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False, unique=True),
        sa.Column("external_id", sa.Text(), nullable=False),
        sqlite_autoincrement=True,
    )


def _user() -> sa.Column[int]:
    user = sa.ForeignKey("users.id", ondelete="CASCADE")
    return sa.Column("user_id", sa.Integer(), user, primary_key=True)
