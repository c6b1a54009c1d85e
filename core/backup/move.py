"""Moves a data directory: nobody writes to it meanwhile, and nobody opens the new place before both are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, delete, literal, select, tuple_
from sqlalchemy.exc import SQLAlchemyError

from braid.core.backup.archive import Progress
from braid.core.backup.destinations import Destination, open_destination, require_empty, require_no_member, shown
from braid.core.backup.make import Sources, opened, revision_of
from braid.core.backup.manifest import SHARED_DBS, BackupError
from braid.core.backup.move_notes import Copied, MoveIdentity, begin, copied, end, note_copied
from braid.core.backup.moved_files import compare_files, copy_files, files_of
from braid.core.backup.rows import (
    Digest,
    count_rows,
    digest_of,
    last_ids,
    parts_of,
    set_last_ids,
    tables,
    write_rows,
)
from braid.core.datasets.shared_list import ListFile
from braid.core.ledger.database import LACKS_NEWEST, file_of, take_time
from braid.core.ledger.live_copy import take_back
from braid.core.ledger.outages import words_of
from braid.core.ledger.owners.owner import alone
from braid.core.ledger.schema import current_revision, newest_revision
from braid.core.ledger.tables import SharedListRow

LOCK_PATIENCE = "30s"


@dataclass(frozen=True, slots=True)
class Moved:
    """The outcome of a move: what was copied, and found equal in both places."""

    to: str
    """The database, without its password."""
    tables: Mapping[str, Digest]
    files: int
    went_on: bool
    """Whether an earlier run had begun it."""


def move(source: Sources, to: Destination, *, on_progress: Progress = lambda what, done, total: None) -> Moved:
    """Copy the ledger, and with a folder the files, into an empty place; then compare both.

    The source is not changed, and nobody writes to it meanwhile. What is copied is committed batch by batch: after a
    kill or an outage the same call goes on where the last one was. Until all is compared nobody can open the new place.
    Raises NotOwnerError while a process has the data directory open, and BackupError.
    """
    source = replace(source, data_dir=source.data_dir.resolve())
    with _alone(source), opened(source) as reader, _closed(open_destination(source, to)) as target:
        try:
            with _unwritten(reader) as reading:
                return _move(source, reading, target, to, on_progress)
        except SQLAlchemyError as error:
            raise BackupError(
                f"the move to {to.shown} was interrupted: {words_of(error)}; run it again to go on where it was"
            ) from error


def _move(source: Sources, reading: Connection, target: Engine, to: Destination, on_progress: Progress) -> Moved:
    has_list = reading.execute(select(SharedListRow.id)).first() is not None
    files = [] if to.folder is None else files_of(source, has_list=has_list)
    went_on = _begin(source, target, to)
    _copy_tables(reading, target, on_progress)
    if to.folder is not None:
        copy_files(files, to.folder, lambda done: on_progress("copying the files", done, len(files)))
    digests = _compare(reading, target, on_progress)
    if to.folder is not None:
        compare_files(files, to.folder, lambda done: on_progress("comparing the files", done, len(files)))
    _finish(target, last_ids(reading), to)
    return Moved(to.shown, digests, len(files), went_on)


def _finish(target: Engine, given: Mapping[str, int], to: Destination) -> None:
    """Carry the last ids over, and let the destination be opened."""
    with target.execution_options(braid_write=True).begin() as writing:
        set_last_ids(writing, given)
        if to.folder is not None and target.dialect.name == "sqlite":
            _back_into_a_file(writing, to.folder / SHARED_DBS)
        if last_ids(writing) != given:
            raise BackupError(f"the last ids at {to.shown} are not those of the source; run the move again")
        end(writing)
    if target.dialect.name == "postgresql":
        with target.connect() as connection:  # PostgreSQL plans without it as if the tables were empty
            connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("ANALYZE")


def _back_into_a_file(writing: Connection, path: Path) -> None:
    """Take the list of shared datasets out of the ledger, where no fleet will be: administrators edit the file."""
    text = writing.execute(select(SharedListRow.text)).scalar()
    if text is not None:
        with ListFile(path).alone() as write:
            write(text.encode())
        writing.execute(delete(SharedListRow))


def _begin(source: Sources, target: Engine, to: Destination) -> bool:
    """Note the move in the destination; return whether it was begun before."""
    where = f"{shown(source.url)} with the files in {source.data_dir}"
    noted = MoveIdentity(where, "" if to.folder is None else str(to.folder.resolve()), newest_revision())
    if to.folder is not None and not _is_begun(target):
        file = file_of(target)
        require_empty(to.folder, ledger=file is not None and file.parent == to.folder)
    return begin(target, noted)


def _is_begun(target: Engine) -> bool:
    file = file_of(target)
    if file is not None and not file.is_file():
        return False
    try:
        with target.connect() as connection:
            return current_revision(connection) is not None
    except SQLAlchemyError:  # `begin` says why
        return False


def _require_newest(source: Sources) -> None:
    """Raise BackupError for tables of an earlier revision, and the errors of `revision_of` for others."""
    _, revision = revision_of(source)
    if revision != newest_revision():
        raise BackupError(
            f"the ledger has the tables of revision {revision}, and only {newest_revision()} is moved; run "
            "`python -m app db migrate` first, which copies it before; nothing was changed"
        )


def _copy_tables(reading: Connection, target: Engine, on_progress: Progress) -> None:
    counts = count_rows(reading)
    done, total = 0, sum(counts.values())
    for table in tables():
        for rows in _copy_table(reading, target, table):
            on_progress("copying rows", done + rows, total)
        done += counts[table.name]
    on_progress("copying rows", total, total)


def _copy_table(reading: Connection, target: Engine, table: Table) -> Iterator[int]:
    """Copy the rows after those that are copied already, in the order of the primary key; yield how many are copied.

    Each batch is committed with the note of where the next one begins.
    """
    with target.connect() as connection:
        rows, after = copied(connection, table.name)
    keys = list(table.primary_key.columns)
    statement = select(table).order_by(*keys)
    if after:
        last = [literal(value, key.type) for key, value in zip(keys, after, strict=True)]
        statement = statement.where(tuple_(*keys) > tuple_(*last))
    with closing(parts_of(reading, statement)) as parts:
        for part in parts:
            rows += len(part)
            after = tuple(getattr(part[-1], key.name) for key in keys)
            with target.execution_options(braid_write=True).begin() as writing:
                write_rows(writing, table, part)
                note_copied(writing, table.name, Copied(rows, after))
            yield rows


def _compare(reading: Connection, target: Engine, on_progress: Progress) -> dict[str, Digest]:
    """Return the digest of each table. Raises BackupError where the destination has another one."""
    found: dict[str, Digest] = {}
    with target.connect() as there:
        for number, table in enumerate(tables()):
            on_progress("comparing the tables", number, len(tables()))
            here, copy = digest_of(reading, table), digest_of(there, table)
            if here != copy:
                raise BackupError(
                    f"the table {table.name} has {here.rows} rows with hash {here.hash}, and its copy {copy.rows} with "
                    f"{copy.hash}: the source was written to since the move was begun, or the copy; move to an empty "
                    "place"
                )
            found[table.name] = here
        on_progress("comparing the tables", len(tables()), len(tables()))
    return found


# ---------------------------------------------------------------- nobody else


@contextmanager
def _alone(source: Sources) -> Iterator[None]:
    """Keep others from opening the data directory with its indexes."""
    if not source.data_dir.is_dir():
        raise BackupError(f"there is no data directory {source.data_dir}; name it with --data-dir")
    if source.is_live_copy:
        raise BackupError(LACKS_NEWEST % source.url.removeprefix("sqlite:///"))
    _require_newest(source)
    with alone(source.data_dir, "; stop it first, so that nothing is written while it is moved"):
        yield


@contextmanager
def _unwritten(reader: Engine) -> Iterator[Connection]:
    """Yield a connection to the source that keeps every process from writing to it."""
    with reader.execution_options(braid_write=True).connect() as reading:
        if reading.dialect.name == "postgresql":
            names = ", ".join(f'"{table.name}"' for table in tables())
            reading.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_PATIENCE}'")
            reading.exec_driver_sql(f"LOCK TABLE {names} IN SHARE MODE")
        require_no_member(reading)  # from now on none can join
        take_time(reading)  # while the copy is written and compared
        yield reading
        reading.rollback()


@contextmanager
def _closed(target: Engine) -> Iterator[Engine]:
    file = file_of(target)
    try:
        yield target
    finally:
        target.dispose()
        if file is not None:
            take_back(file)
