"""``backup``, ``restore`` and ``db``: a data directory as one file, and back; the ledger's revision and upgrade."""

from __future__ import annotations

import shlex
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from braid.app.cli.common import ACTOR, BraidCommand, BraidGroup, current_settings, json_option, record, with_runner
from braid.app.cli.output import complain, format_date, plural, print_json, wants_json
from braid.app.cli.progress import Bars, Count
from braid.core.errors import BraidError

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.backup.archive import Progress
    from braid.core.backup.make import Sources
    from braid.core.backup.manifest import BackupManifest

EMPTY = 1
"""Exit status of `backup` for one without documents."""


@click.command(cls=BraidCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--with-keys", is_flag=True, help="Keep the keys and passwords of the settings; otherwise left out.")
@click.option("--verify", is_flag=True, help="Make none: check the backup FILE, every hash and the ledger in it.")
@json_option
@click.pass_context
def backup(context: click.Context, file: Path, with_keys: bool, verify: bool) -> None:
    """Write a backup into the new file FILE, while Braid runs or not. In a folder it is named by the time.

    Ends with 1 where it has no documents, so that a job deletes no earlier backup.
    """
    from braid.config.backup import sources_of
    from braid.core.backup.make import make_backup
    from braid.core.backup.verify import verify_backup

    if verify and with_keys:
        raise click.UsageError("--with-keys is for a new backup, and --verify makes none; leave one out.")
    with Bars() as bars:
        if verify:
            manifest = verify_backup(file, on_progress=_shower(bars))
        else:
            file = file / f"braid-{time.strftime('%Y%m%d-%H%M%S')}.zip" if file.is_dir() else file
            sources = sources_of(current_settings(), with_keys=with_keys)
            manifest = make_backup(sources, file, on_progress=_shower(bars))
            _record(sources, manifest, file)
    _report("The backup is whole" if verify else "Backup written", file, manifest)
    context.exit(0 if verify or manifest.documents else EMPTY)


@click.command(cls=BraidCommand)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@json_option
def restore(file: Path, folder: Path) -> None:
    """Restore the backup FILE into the new or empty data directory DIR, after checking it.

    A ledger of PostgreSQL goes into the empty database of the setting database_url.
    """
    from braid.config.backup import as_copy
    from braid.core.backup.manifest import LEDGER
    from braid.core.backup.restore import restore_backup

    with Bars() as bars:
        url = current_settings().database_url
        manifest = restore_backup(file, folder, database_url=url, settings=as_copy, on_progress=_shower(bars))
    _record_restored(manifest, file, url if manifest.database == "postgresql" else f"sqlite:///{folder / LEDGER}")
    _report(f"Restored into {folder}", file, manifest)
    if not wants_json():
        named = f"{_variable_for(url)} " if manifest.database == "postgresql" else ""
        click.echo(f"Start it: {named}BRAID_CONFIG={shlex.quote(str(folder / 'braid.toml'))} python -m app serve")
        click.echo("It is a site of its own: services of the site that was backed up are comments in its braid.toml.")


def _variable_for(url: str) -> str:
    """Return the variable that names a database; in place of a password, that which the shell has, or its refusal."""
    from sqlalchemy import make_url

    if make_url(url).password:
        return 'BRAID_DATABASE_URL="${BRAID_DATABASE_URL:?set it to the database that was restored}"'
    return f"BRAID_DATABASE_URL={shlex.quote(url)}"


def _record(sources: Sources, manifest: BackupManifest, file: Path) -> None:
    """Add the backup to the audit log, unless the ledger is of an earlier version and left as it is."""
    from sqlalchemy.exc import SQLAlchemyError

    from braid.core.ledger.ledger import Ledger
    from braid.core.ledger.schema import newest_revision

    if manifest.revision != newest_revision():
        return
    try:
        with closing(Ledger(sources.url)) as ledger:
            record(ledger, "backup.made", str(file.absolute()), "with keys" if manifest.with_keys else "")
    except (SQLAlchemyError, BraidError) as error:  # the backup is there all the same
        complain(f"warning: the backup is not in the audit log: {error}")


def _record_restored(manifest: BackupManifest, file: Path, url: str) -> None:
    """Add the restoring to the audit log of what was restored, which stays of its version."""
    from sqlalchemy.exc import SQLAlchemyError

    from braid.core.accounts.audit import add_entry
    from braid.core.ledger.database import make_engine

    engine, detail = make_engine(url), with_runner(f"the state of {format_date(manifest.made_at)}")
    try:
        with engine.execution_options(braid_write=True).begin() as connection:
            add_entry(connection, ACTOR, "backup.restored", str(file.absolute()), detail)
    except SQLAlchemyError as error:  # the ledger is restored all the same
        complain(f"warning: the restoring is not in the audit log: {error}")
    finally:
        engine.dispose()


def _shower(bars: Bars) -> Progress:
    return lambda what, done, total: bars.show({what: Count(done, total)})


def _report(what: str, file: Path, manifest: BackupManifest) -> None:
    from braid.core.backup.verify import lacks

    lacking = lacks(manifest)
    if wants_json():
        form = {"file": str(file.absolute()), "size_bytes": file.stat().st_size, "lacks": lacking}
        fields = ("made_at", "braid", "revision", "database", "with_keys", "uploads", "rows")
        print_json({**form, **{name: getattr(manifest, name) for name in fields}})
        return
    click.echo(
        f"{what}: {file} ({file.stat().st_size / 2**20:,.1f} MiB), the state of {format_date(manifest.made_at)}: "
        f"{plural(manifest.documents, 'document')}, {plural(manifest.rows.get('chunks', 0), 'passage')}, "
        f"{plural(manifest.rows.get('users', 0), 'user')}, {plural(manifest.uploads, 'waiting upload')}."
    )
    for lack in lacking:
        complain(f"warning: not in it: {lack}")


@click.group(cls=BraidGroup)
def db() -> None:
    """Show the ledger's revision, and upgrade it."""


@db.command("status")
@json_option
@click.pass_context
def status(context: click.Context) -> None:
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
    if wants_json():
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
def migrate(no_copy: bool) -> None:
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
    if wants_json():
        print_json({"from": before, "to": newest_revision(), "copy": made})
    elif before == newest_revision():
        click.echo(f"The ledger is of revision {before} already; nothing to do.")
    else:
        copy = f" The ledger as it was: {made}" if made else ""
        click.echo(f"Upgraded from {before} to {newest_revision()}.{copy}")


def _sources(settings: Settings) -> Sources:
    from braid.core.backup.make import Sources

    return Sources(settings.data_dir, settings.shared_dbs, settings.database_url)
