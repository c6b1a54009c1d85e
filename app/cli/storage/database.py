"""``db``: which revision the ledger has, and its upgrade."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from braid.app.cli.common import BraidGroup, current_settings, json_option, record
from braid.app.cli.output import complain, format_date, plural, print_json

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.backup.make import Sources


@click.group(cls=BraidGroup)
def db() -> None:
    """Show the ledger's revision, and upgrade it."""


@db.command("status")
@json_option
@click.pass_context
def status(context: click.Context, as_json: bool) -> None:
    """Say whether the ledger is as this version needs it; status 1 when it has to be upgraded. Nothing is changed."""
    from braid.core.backup.make import revision_of
    from braid.core.backup.record import last_backup
    from braid.core.backup.upgrade import copies
    from braid.core.ledger.database import LACKS_NEWEST
    from braid.core.ledger.schema import newest_revision, pending_migrations
    from braid.core.version import version

    settings = current_settings()
    sources = _sources(settings)
    if sources.is_live_copy:
        complain(f"warning: {LACKS_NEWEST % sources.url.removeprefix('sqlite:///')}")
    where, current = revision_of(sources)
    pending, last = pending_migrations(current), last_backup(settings.data_dir)
    kept = [str(path) for path in copies(settings.data_dir)]
    if as_json:
        form = {"database": where, "revision": current, "newest": newest_revision(), "braid": version()}
        print_json({**form, "pending": pending, "last_backup": last, "copies": kept})
    else:
        click.echo(f"Database     {where}")
        click.echo(f"Revision     {current}; braid {version()} needs {newest_revision()}")
        click.echo(f"Last backup  {f'{format_date(last.at)}, {last.file}' if last else 'none is recorded'}")
        for path in kept:
            click.echo(f"Copy         {path}")
        if pending:
            click.echo(f"To be run by `python -m app db migrate`: {plural(len(pending), 'migration')}")
        for step in pending:
            click.echo(f"  {step.revision}  {step.title}")
    context.exit(1 if pending else 0)


@db.command("migrate")
@click.option("--no-copy", is_flag=True, help="Upgrade without a copy of the ledger; only with a backup of your own.")
@json_option
def migrate(no_copy: bool, as_json: bool) -> None:
    """Upgrade the ledger, after a copy into the folder backups of the data directory. All is done, or nothing."""
    from braid.core.backup.make import revision_of
    from braid.core.backup.upgrade import copies, upgrading
    from braid.core.ledger.ledger import Ledger
    from braid.core.ledger.schema import newest_revision

    settings = current_settings()
    sources = _sources(settings)
    _, before = revision_of(sources)
    already = set(copies(settings.data_dir))
    surround = upgrading(settings.data_dir, settings.shared_dbs, copy=not no_copy)
    with closing(Ledger(sources.url, upgrading=surround)) as ledger:
        if before != newest_revision():
            record(ledger, "database.upgraded", f"{before} to {newest_revision()}")
    made = next((str(path) for path in copies(settings.data_dir) if path not in already), "")
    if as_json:
        print_json({"from": before, "to": newest_revision(), "copy": made})
    elif before == newest_revision():
        click.echo(f"The ledger is of revision {before} already; nothing to do.")
    else:
        copy = f" The ledger as it was: {made}" if made else ""
        click.echo(f"Upgraded from {before} to {newest_revision()}.{copy}")


def _sources(settings: Settings) -> Sources:
    from braid.core.backup.make import Sources

    return Sources(settings.data_dir, settings.shared_dbs, settings.database_url)
