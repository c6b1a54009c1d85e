"""Runs migrations on the connection that `braid.core.ledger.database` hands over."""

from alembic import context

from braid.core.ledger.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    transaction_per_migration=False,
)
context.run_migrations()
