"""``move``: a data directory to another database, with its indexes to Milvus or not, and back."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from braid.app.cli.common import BraidCommand, current_settings, json_option, record
from braid.app.cli.output import complain, plural, print_json, print_table, wants_json
from braid.app.cli.progress import Bars, Count, follow_indexing
from braid.app.opening import milvus_of, open_braid
from braid.core.errors import BraidError

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.backup.destinations import Destination
    from braid.core.backup.move import Moved

NOT_FILLED = 1
"""Exit status when the ledger is moved, and Milvus does not have all of it."""


@click.command(cls=BraidCommand)
@click.option("--to", required=True, metavar="URL|DIR", help="An empty database, or a new folder for ledger and files.")
@click.option("--files", metavar="DIR", type=click.Path(path_type=Path), help="With a database: copy the files here.")
@click.option("--milvus", metavar="URL", default="", help="Fill this Milvus server, which has nothing of Braid's yet.")
@json_option
@click.pass_context
def move(context: click.Context, to: str, files: Path | None, milvus: str) -> None:
    """Copy the data directory to another place, and compare both. Run it again after a kill: it goes on.

    The old place stays as it is. Nothing is embedded: the ledger has the vectors.
    """
    from braid.core.backup.destinations import destination_of, shown
    from braid.core.backup.make import Sources
    from braid.core.backup.move import move as move_directory
    from braid.core.ledger.ledger import Ledger

    settings = current_settings()
    source = Sources(settings.data_dir, settings.shared_dbs, settings.database_url)
    destination = destination_of(to, files)
    there = _settings_there(settings, destination, milvus)
    _require_room_in_milvus(settings, there)
    with Bars() as bars:
        moved = move_directory(
            source, destination, on_progress=lambda what, done, total: bars.show({what: Count(done, total)})
        )
    with closing(Ledger(destination.url)) as ledger:
        record(ledger, "directory.moved", moved.to, f"from {shown(source.url)}")
    changed = _changed(settings, there)
    if wants_json():
        print_json(
            {"to": moved.to, "tables": moved.tables, "files": moved.files, "went_on": moved.went_on, "set": changed}
        )
    else:
        _report(source.url, moved, changed)
    if milvus and not _fill(there):
        context.exit(NOT_FILLED)


def _settings_there(settings: Settings, to: Destination, milvus: str) -> Settings:
    """Return the settings that the app has in the new place."""
    from braid.core.backup.manifest import LEDGER, SHARED_DBS

    if milvus:
        settings = replace(settings, index_engine="")
    if to.folder is not None:
        is_own = to.url == f"sqlite:///{to.folder / LEDGER}"
        settings = replace(settings, data_dir=to.folder, shared_dbs=to.folder / SHARED_DBS)
        if is_own:
            return replace(settings, database_url="", milvus_url=milvus)
    return replace(settings, database_url=to.url, milvus_url=milvus or settings.milvus_url)


def _changed(settings: Settings, there: Settings) -> Mapping[str, str]:
    """Return the settings that differ there, without a password."""
    from braid.core.backup.destinations import shown

    names = ("data_dir", "shared_dbs", "database_url", "index_engine", "milvus_url")
    values = {name: str(getattr(there, name)) for name in names if getattr(there, name) != getattr(settings, name)}
    return {name: shown(value) if name == "database_url" and value else value for name, value in values.items()}


def _require_room_in_milvus(settings: Settings, there: Settings) -> None:
    """Raise BraidError where the server does not answer, or has indexes that are not this directory's."""
    options = milvus_of(there)
    if options is None or options == milvus_of(settings):
        return
    from braid.core.backup.manifest import BackupError
    from braid.core.indexes.milvus.server import MilvusServer

    with closing(MilvusServer(options)) as server:
        stores = [*server.stores("keyword"), *server.stores("dense")]
    if stores:
        raise BackupError(
            f"Milvus at {options.where} has indexes of Braid's already, such as {stores[0]}; name another database in "
            "the setting milvus_database, or drop them; nothing was changed"
        )


def _report(source: str, moved: Moved, changed: Mapping[str, str]) -> None:
    from braid.core.backup.destinations import shown

    rows = [(name, f"{each.rows:,}", each.hash) for name, each in moved.tables.items()]
    print_table(("table", "rows", "hash, the same in both"), rows, right=["rows"])
    total = sum(each.rows for each in moved.tables.values())
    went_on = ", going on where the last run was" if moved.went_on else ""
    click.echo(
        f"Moved to {moved.to}{went_on}: {plural(total, 'row')} and {plural(moved.files, 'file')}, compared and equal."
    )
    click.echo("Set in braid.toml or the environment, then start the app:")
    for name, value in changed.items():
        click.echo(f'  {name} = "{value}"')
    click.echo(f"{shown(source)} is as it was. Delete it when you are content: whoever opens it sees its old state.")


def _fill(there: Settings) -> bool:
    """Write the indexes to Milvus, and compare them with the ledger; return whether they are equal."""
    from braid.core import doctor

    try:
        with open_braid(there, must_own=True) as braid:
            whole = follow_indexing(braid.indexer)
            left = [found for found in doctor.examine(braid) if found.leg] if whole else []
            passages = sum(braid.bm25.count(name) for name in braid.bm25.collections()) if whole else 0
    except BraidError as error:
        complain(f"warning: Milvus is not filled: {error}; the app does it when it starts")
        return False
    for found in left:
        complain(f"warning: {found.detail}")
    if whole and not left:
        complain(f"Milvus has {plural(passages, 'passage')}, as the ledger has")
    return whole and not left
