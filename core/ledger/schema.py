"""The schema of the ledger's database: the revision that it has, the one that this code needs, and the way there."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from braid.core.errors import InvalidInputError
from braid.core.extras import quietly
from braid.core.ledger.outages import words_of
from braid.core.version import version

if TYPE_CHECKING:
    from alembic.config import Config

VERSION_TABLE = "alembic_version"
MIGRATIONS = Path(__file__).parent / "migrations"
UNRELEASED = {"0008": "24fc887", "0019": "2358e43c"}
"""Migrations, each with the last commit that upgrades what no release had before it."""
UNFINISHED = "moving"
"""In place of the revision while `braid.core.backup.move` fills the tables: nobody else is to open them."""
MIGRATION_LOCK = 0x42524149  # any constant that other users of the same PostgreSQL server do not take

Upgrading = Callable[[Engine, str], AbstractContextManager[None]]
"""Surrounds the migrations of a database that has tables; called with its engine and revision. It may refuse by
raising, and copy the database first."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A step of the schema: its revision, and what it changes."""

    revision: str
    title: str


def known_migrations() -> tuple[Migration, ...]:
    """Return the migrations that this code has, the first one first."""
    files = sorted((MIGRATIONS / "versions").glob("[0-9]*.py"))
    return tuple(Migration(path.name.partition("_")[0], _title(path)) for path in files)


def newest_revision() -> str:
    """Return the revision that a database is upgraded to, with which its file's name begins."""
    return max(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def current_revision(connection: Connection) -> str | None:
    """Return the revision of a database; None when it has no tables of Braid."""
    if not connection.dialect.has_table(connection, VERSION_TABLE):
        return None
    return connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar_one_or_none()


def pending_migrations(current: str | None) -> tuple[Migration, ...]:
    """Return what is still to be run on a database of this revision."""
    return tuple(step for step in known_migrations() if current is None or step.revision > current)


def without_copy(_engine: Engine, _current: str) -> AbstractContextManager[None]:
    """Upgrade at once, without a copy."""
    return nullcontext()


def bring_up_to_date(engine: Engine, upgrading: Upgrading = without_copy) -> None:
    """Create the tables, or run the migrations that are missing, all or none.

    Raises InvalidInputError when the tables are of a revision that this code does not know, or a migration fails.
    """
    with engine.connect() as connection:
        current = current_revision(connection)
    if current == newest_revision():
        return
    if current is None:
        _migrate(engine)
        return
    require_known(current, f"the database at {engine.url.render_as_string(hide_password=True)}")
    with upgrading(engine, current):
        _migrate(engine)


def require_known(revision: str, where: str) -> None:
    """Raise InvalidInputError for a revision that this code cannot upgrade; ``where`` names the database or backup."""
    known = [step.revision for step in known_migrations()]
    if revision in known:
        return
    if revision == UNFINISHED:
        raise InvalidInputError(
            f"{where} is being filled by a move that has not ended; run the same `python -m app move` again, which "
            "goes on where it was"
        )
    remedy = (
        f"which a newer Braid wrote: this one (braid {version()}) knows {known[0]} to {known[-1]}; install the newer "
        "version again, or restore a backup from before the update"
    )
    commit = next((commit for first, commit in UNRELEASED.items() if revision < first), None)
    if commit is not None:
        remedy = (
            "which no release had; run `python -m app serve` on it once with the code of commit "
            f"{commit}, which upgrades it, or begin with another data directory"
        )
    raise InvalidInputError(f"{where} has the tables of revision {revision}, {remedy}; nothing was changed")


def create_tables(connection: Connection, revision: str) -> None:
    """Create the tables of a revision in an empty database, in the connection's transaction."""
    with quietly("alembic"):
        from alembic import command

        command.upgrade(alembic_config(connection), revision)


def _migrate(engine: Engine) -> None:
    """Run what is missing in one transaction. Another process may have done it meanwhile."""
    with quietly("alembic"):
        from alembic import command  # here, because it takes a sixth of a second to load

    with engine.execution_options(braid_write=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
        current = current_revision(connection)
        config = alembic_config(connection)
        if current is None:
            with quietly("alembic"):
                command.upgrade(config, "head")
            return
        for step in pending_migrations(current):
            try:
                with quietly("alembic"):
                    command.upgrade(config, step.revision)
            except SQLAlchemyError as error:
                reason = words_of(error)
                raise InvalidInputError(
                    f"the migration {step.revision} ({step.title}) of {engine.url.render_as_string(hide_password=True)}"
                    f" failed: {reason}; nothing was changed, the tables are still of revision {current}"
                ) from error


def alembic_config(connection: Connection | None = None) -> Config:
    """Return Alembic's configuration for the migrations, run on the given connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    attributes: dict[str, Any] = config.attributes
    attributes["connection"] = connection
    return config


def _title(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return said.partition("\n")[0].rstrip(".")
