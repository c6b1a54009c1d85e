"""Folders on the server that datasets are kept equal to."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "synced_folders",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("ignore", sa.JSON(), nullable=False),
        sa.Column("id_prefix", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_synced_folders_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_synced_folders_dataset_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_synced_folders")),
        sa.UniqueConstraint("dataset_id", "folder", name=op.f("uq_synced_folders_dataset_id_folder")),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("synced_folders")
