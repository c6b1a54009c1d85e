"""Apps that users connect by OAuth; tokens that are limited to some datasets."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "oauth_clients",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("redirect_uris", sa.JSON(), nullable=False),
        sa.Column("auth_method", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
    )
    op.create_table(
        "oauth_grants",
        sa.Column("id", sa.Integer(), primary_key=True),
        _parent("user_id", sa.Integer(), "users.id"),
        _parent("client_id", sa.Text(), "oauth_clients.id"),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("redirect_uri", "resource", "challenge")),
        *(sa.Column(name, sa.JSON(), nullable=False) for name in ("scopes", "dataset_ids")),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("code_hash", sa.Text(), nullable=False, unique=True),
        sa.Column("family_hash", sa.Text(), nullable=True, unique=True),
        sa.Column("refresh_hash", sa.Text(), nullable=True),
        sqlite_autoincrement=True,
    )
    op.add_column("api_tokens", sa.Column("grant_id", sa.Integer(), nullable=True))
    op.create_index(None, "api_tokens", ["grant_id"])
    op.add_column("api_tokens", sa.Column("dataset_ids", sa.JSON(), nullable=True))


def _parent(name: str, kind: sa.Integer | sa.Text, parent: str) -> sa.Column[Any]:
    return sa.Column(name, kind, sa.ForeignKey(parent, ondelete="CASCADE"), nullable=False, index=True)
