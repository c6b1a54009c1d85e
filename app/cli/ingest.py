"""``ingest`` and ``documents``: stores files in a dataset; lists and removes its documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from braid.app.cli.common import BraidCommand, BraidGroup, current_settings, json_option, record
from braid.app.cli.options import FileTypes, Moment
from braid.app.cli.output import complain, format_date, plural, print_json, print_list, print_result, wants_json
from braid.app.cli.progress import FileProgress, follow_indexing
from braid.app.opening import open_braid, open_data_directory
from braid.core.errors import NotOwnerError

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.data_directory import DataDirectory
    from braid.core.ingest.ingest import IngestReport
    from braid.core.ingest.plan import IngestOptions
    from braid.core.types import Document

GIVEN_FOLDER = ""  # value of --relative without a BASE


@click.command(cls=BraidCommand, makes_site=True)
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--dataset", "dataset_id", metavar="ID", type=int, required=True, help="Dataset that stores the files.")
@click.option("--ignore", multiple=True, metavar="PATTERN", help="Leave out (gitignore syntax); repeatable.")
@click.option("--since", type=Moment(), help="Only files modified at this time or later.")
@click.option("--id-prefix", default="", metavar="PREFIX", help="Put before every source.")
@click.option(
    "--relative",
    is_flag=False,
    flag_value=GIVEN_FOLDER,
    metavar="[BASE]",
    help="Sources relative to BASE, or to the given folder; otherwise they are absolute paths.",
)
@click.option("--file-type", "file_types", type=FileTypes(), default=frozenset(), help="Only these formats.")
@json_option
@click.pass_context
def ingest(
    context: click.Context,
    paths: tuple[str, ...],
    dataset_id: int,
    ignore: tuple[str, ...],
    since: float | None,
    id_prefix: str,
    relative: str | None,
    file_types: frozenset[str],
) -> None:
    """Store files, folders and globs in a dataset.

    Leaves out hidden files and what .gitignore and .braidignore exclude, unless they are named. Skips unchanged files.
    Beside a running app this command stores the files and the app indexes them.
    """
    from braid.config.ingest import ingest_options
    from braid.core.braid import Braid

    if not paths:
        hint = " (write --relative=BASE, or put --relative last)" if relative else ""
        raise click.UsageError(f"Missing argument 'PATH…'{hint}.", context)
    settings = current_settings()
    options = ingest_options(
        settings,
        ignore=ignore,
        since=since,
        file_types=file_types,
        id_prefix=id_prefix,
        relative=relative is not None,
        relative_to=relative or "",
    )
    with open_to_store(settings) as directory:
        report = _store(directory, dataset_id, paths, options)
        try:
            if not wants_json():
                click.echo(_summary(report))
            indexed = isinstance(directory, Braid) and follow_indexing(directory.indexer)
        except KeyboardInterrupt:
            complain("everything is stored; indexing and embedding continue at the next start")
            raise
        left_to_owner = not isinstance(directory, Braid)
    if wants_json():
        print_json({**_plain_report(report), "indexed": indexed})
    elif left_to_owner and report.put:
        complain("stored; the process that owns the indexes adds them within seconds")
    context.exit(0 if not report.failed and (indexed or left_to_owner) else 1)


@contextmanager
def open_to_store(settings: Settings) -> Iterator[DataDirectory]:
    """Open the data directory with its indexes, or without them if another process has them open."""
    directory: DataDirectory
    try:
        directory = open_braid(settings, must_own=True)
    except NotOwnerError as error:
        complain(f"note: {error.owner} has the indexes of this data directory open")
        directory = open_data_directory(settings)
    with directory:
        yield directory


def _store(directory: DataDirectory, dataset_id: int, paths: Sequence[str], options: IngestOptions) -> IngestReport:
    from braid.core.ingest.ingest import ingest_paths

    stored = FileProgress()
    try:
        with stored:
            return ingest_paths(directory, dataset_id, paths, options=options, on_progress=stored.show_file)
    except KeyboardInterrupt:
        complain(
            f"{stored.done} of {stored.total} files are done; run the same command again to continue with the others"
        )
        raise


def _summary(report: IngestReport) -> str:
    """Return ``3 files stored (12 new passages), 1 unchanged, 1 failed, 2 left out (1 hidden, 1 ignored).``"""
    parts = [
        f"{plural(report.put, 'file')} stored ({plural(report.chunks, 'new passage')})",
        f"{report.unchanged:,} unchanged",
        f"{report.failed:,} failed",
    ]
    if report.skipped:
        reasons = ", ".join(f"{count:,} {why}" for why, count in sorted(report.skips.items()))
        parts.append(f"{report.skipped:,} left out ({reasons})")
    return ", ".join(parts) + "."


def _plain_report(report: IngestReport) -> dict[str, object]:
    failures = [{"source": source, "reason": reason} for source, reason in report.failures]
    return {**asdict(report), "failures": failures}


# ---------------------------------------------------------------- documents


@click.group(cls=BraidGroup)
def documents() -> None:
    """List and remove the documents of a dataset."""


@documents.command("list")
@click.option("--dataset", "dataset_id", metavar="ID", type=int, required=True, help="Dataset of the documents.")
@json_option
def list_documents(dataset_id: int) -> None:
    """List documents with their state and, if they failed, the reason."""
    with open_data_directory(current_settings()) as directory:
        directory.dataset(dataset_id)
        found = directory.ledger.documents(dataset_id)
    rows = [
        (
            document.source,
            document.title,
            document.file_type,
            document.chunks,
            format_date(document.date),
            state(document),
        )
        for document in found
    ]
    print_list(found, ("source", "title", "type", "passages", "date", "state"), rows, right=("passages",))


def state(document: Document) -> str:
    """Return ``ready``, or ``failed`` with the reason."""
    return document.state if not document.error else f"{document.state}: {document.error}"


@documents.command("remove")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option("--dataset", "dataset_id", metavar="ID", type=int, required=True, help="Dataset of the documents.")
@click.option("--prefix", is_flag=True, help="Remove every document whose source starts with SOURCE.")
@click.option("--permanently", is_flag=True, help="So that they cannot be restored.")
@json_option
@click.pass_context
def remove_documents(
    context: click.Context, sources: tuple[str, ...], dataset_id: int, prefix: bool, permanently: bool
) -> None:
    """Remove the documents with these sources. No later search finds them; they can be restored for some days."""
    from braid.core.ingest.plan import source_name
    from braid.core.ledger.deleted_documents import DeletedDocuments

    removed: list[str] = []
    missing: list[str] = []
    with open_data_directory(current_settings()) as directory:
        found, ledger = directory.dataset(dataset_id), directory.ledger
        deleted = DeletedDocuments(ledger)
        remove = ledger.remove_document if permanently else deleted.discard_source
        remove_all = ledger.remove_documents if permanently else deleted.discard
        for given in sources:
            source = source_name(given)
            if prefix:
                stored = ledger.documents(dataset_id, source_prefix=source)
                remove_all(dataset_id, [document.id for document in stored])
                gone = [document.source for document in stored]
            else:
                gone = [source] if remove(dataset_id, source) else []
            removed.extend(gone)
            if not gone:
                missing.append(given)
        if removed:
            record(ledger, "documents.removed", f"{found.id} {found.name}", plural(len(removed), "document"))
    for given in missing:
        what = "whose source starts with" if prefix else "with the source"
        complain(f"error: dataset {dataset_id} has no document {what} {given!r}")
    print_result({"removed": removed, "missing": missing}, f"Removed {plural(len(removed), 'document')}.")
    context.exit(1 if missing else 0)


@documents.command("removed")
@click.option("--dataset", "dataset_id", metavar="ID", type=int, required=True, help="Dataset of the documents.")
@json_option
def list_removed(dataset_id: int) -> None:
    """List the removed documents that can be restored, those that were removed last first."""
    from braid.core.ledger.deleted_documents import DeletedDocuments

    with open_data_directory(current_settings()) as directory:
        found = DeletedDocuments(directory.ledger).of_dataset(directory.dataset(dataset_id).id)
    rows = [(each.source, each.title, format_date(each.deleted_at)) for each in found]
    print_list(found, ("source", "title", "removed"), rows)


@documents.command("restore")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option("--dataset", "dataset_id", metavar="ID", type=int, required=True, help="Dataset of the documents.")
@json_option
@click.pass_context
def restore_documents(context: click.Context, sources: tuple[str, ...], dataset_id: int) -> None:
    """Restore removed documents with these sources, and with their parts."""
    from braid.core.ingest.plan import source_name
    from braid.core.ledger.deleted_documents import DeletedDocuments

    restored: list[str] = []
    missing: list[str] = []
    with open_data_directory(current_settings()) as directory:
        found, deleted = directory.dataset(dataset_id), DeletedDocuments(directory.ledger)
        for given in sources:
            ids = [each.id for each in deleted.of_source(dataset_id, source_name(given))]
            back = deleted.restore(dataset_id, ids) if ids else None
            if back is None:
                complain(f"error: dataset {dataset_id} has no removed document {given!r} that can be restored")
            elif not back.documents:
                complain(f"error: another document is stored as {given!r} meanwhile; remove it first")
            if back is None or not back.documents:
                missing.append(given)
            else:
                restored += [each.source for each in back.documents]
        if restored:
            told = plural(len(restored), "document")
            record(directory.ledger, "documents.restored", f"{found.id} {found.name}", told)
            directory.wake()
    told = f"Restored {plural(len(restored), 'document')}."
    print_result({"restored": restored, "missing": missing}, told)
    context.exit(1 if missing else 0)
