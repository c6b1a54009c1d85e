"""``watch``: keeps a dataset in sync with a folder, or with what a loader of another package lists."""

from __future__ import annotations

import os
import signal
import time
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from braid.app.cli.common import BraidCommand, current_settings, json_option
from braid.app.cli.ingest import open_to_store
from braid.app.cli.output import complain, plural, print_json, wants_json
from braid.app.cli.progress import follow_indexing
from braid.app.opening import open_data_directory

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory
    from braid.core.folders.loader_sync import LoaderSync
    from braid.core.folders.plan import SyncPlan
    from braid.core.folders.sync import FolderSync, SyncReport
    from braid.core.folders.watch import FolderWatch, RegularWatch


@click.command(cls=BraidCommand, makes_site=True)
@click.argument("folder", metavar="FOLDER")
@click.option("--dataset", "dataset_id", metavar="ID", type=int, required=True, help="Dataset that stores the files.")
@click.option("--ignore", multiple=True, metavar="PATTERN", help="Leave out (gitignore syntax); repeatable.")
@click.option("--id-prefix", default="", metavar="PREFIX", help="Sources are PREFIX and the path within FOLDER.")
@click.option("--allow-empty", is_flag=True, help="Remove the documents even if the folder has no files at all.")
@click.option("--dry-run", is_flag=True, help="Print what would change, without changing anything.")
@click.option("--once", is_flag=True, help="Run one pass, then exit.")
@json_option
@click.pass_context
def watch(
    context: click.Context,
    folder: str,
    dataset_id: int,
    ignore: tuple[str, ...],
    id_prefix: str,
    allow_empty: bool,
    dry_run: bool,
    once: bool,
) -> None:
    """Keep a dataset in sync with a folder until Ctrl-C.

    Stores new and changed files, keeps the passages of moved ones, and removes documents whose file is gone. FOLDER may
    also be an address for an installed loader, such as wiki:team.
    """
    from braid.config.ingest import ingest_options
    from braid.core.braid import Braid
    from braid.core.folders.loader_sync import LoaderSync, find_loader
    from braid.core.folders.sync import FolderSync
    from braid.core.ingest.parse import parse_and_read

    settings = current_settings()
    options = ingest_options(settings, ignore=ignore, id_prefix=id_prefix)

    def sync_of(directory: DataDirectory) -> FolderSync | LoaderSync:
        kind = LoaderSync if find_loader(folder) and not os.path.isdir(folder) else FolderSync
        return kind(directory, dataset_id, folder, options, allow_empty, parse=parse_and_read)

    if dry_run:
        with open_data_directory(settings) as directory:
            _print_plan(sync_of(directory).plan())
        return
    with open_to_store(settings) as directory:
        sync = sync_of(directory)
        if once:
            report = sync.run()
            _print_report(report)
            indexed = not isinstance(directory, Braid) or follow_indexing(directory.indexer)
            context.exit(0 if indexed and not report.failures else 1)
        _follow(sync)


def _follow(sync: FolderSync | LoaderSync) -> None:
    from braid.core.folders.sync import FolderSync
    from braid.core.folders.watch import FolderWatch, RegularWatch

    watched = sync.folder if isinstance(sync, FolderSync) else sync.address
    with FolderWatch(watched) if isinstance(sync, FolderSync) else nullcontext(RegularWatch()) as folder:
        _stop_on_signals(folder)
        complain(f"watching {watched}; Ctrl-C stops")
        first = True

        def sync_once() -> None:
            nonlocal first
            report = sync.run(should_stop=lambda: folder.stopping)
            if first or report.changed:
                _print_report(report)
            first = False

        folder.follow(sync_once)
        complain("stopped; run the same command again to continue")


def _stop_on_signals(folder: FolderWatch | RegularWatch) -> None:
    """Stop after the current document at the first Ctrl-C, at once at the second."""

    def stop(number: int, _: object) -> None:
        folder.stop()
        signal.signal(number, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


def _print_plan(plan: SyncPlan) -> None:
    if wants_json():
        print_json(
            {
                "put": [file.source for file in plan.puts],
                "rename": [{"from": rename.source, "to": rename.file.source} for rename in plan.renames],
                "remove": list(plan.removals),
                "unchanged": plan.unchanged,
            }
        )
        return
    for file in plan.puts:
        click.echo(f"put     {file.source}")
    for rename in plan.renames:
        click.echo(f"rename  {rename.source} -> {rename.file.source}")
    for source in plan.removals:
        click.echo(f"remove  {source}")
    click.echo(f"{plural(len(plan.steps), 'change')}, {plan.unchanged:,} unchanged; nothing was changed.")


def _print_report(report: SyncReport) -> None:
    for source, reason in report.failures:
        complain(f"failed: {source}: {reason}")
    if wants_json():
        failures = [{"source": source, "reason": reason} for source, reason in report.failures]
        print_json({**asdict(report), "failures": failures})
        return
    click.echo(
        f"{time.strftime('%H:%M:%S')}  {report.put:,} stored, {report.renamed:,} renamed, {report.removed:,} removed, "
        f"{report.unchanged:,} unchanged, {len(report.failures):,} failed."
    )
