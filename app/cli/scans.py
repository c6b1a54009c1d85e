"""``scans``: how many scanned pages wait to be read by a machine, and has them read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from braid.app.cli.common import BraidGroup, choose_user, current_settings, json_option, record
from braid.app.cli.output import complain, plural, print_json, wants_json
from braid.app.opening import open_data_directory
from braid.core.errors import Reason

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.background.scan_jobs import ScanJobs
    from braid.core.data_directory import DataDirectory


@click.group(cls=BraidGroup)
def scans() -> None:
    """Count the scanned pages that wait to be read by a machine, and have them read."""


@scans.command("status")
@json_option
def status() -> None:
    """Say how many pages wait, of how many documents, and what for."""
    settings = current_settings()
    with open_data_directory(settings) as directory:
        jobs = _scan_jobs(directory, settings)
        pages, documents = jobs.store.waiting()
        remedy = jobs.remedy
    if wants_json():
        print_json({"pages": pages, "documents": documents, "remedy": remedy})
        return
    click.echo(f"{plural(pages, 'scanned page')} of {plural(documents, 'document')} wait to be read")
    if remedy:
        click.echo(f"Not read here: {remedy}")


@scans.command("read")
@click.option("--user", "user_name", metavar="NAME", help="Whose jobs they are (default: the only user).")
@json_option
@click.pass_context
def read(context: click.Context, user_name: str | None) -> None:
    """Queue the reading of all pages that wait. The running app reads them, or the next one that starts.

    Ends with 1 where nothing can be read, because Tesseract is not installed or a setting says so.
    """
    settings = current_settings()
    with open_data_directory(settings) as directory:
        jobs = _scan_jobs(directory, settings)
        if remedy := jobs.remedy:
            complain(Reason("scanned pages are not read here: %(command)s", command=remedy))
            context.exit(1)
        queued, without_file = jobs.queue_waiting(choose_user(directory.ledger, user_name).id)
        if queued:
            record(directory.ledger, "scans.queued", f"{queued} documents")
    if wants_json():
        print_json({"queued": queued, "without_file": without_file})
        return
    click.echo(f"{plural(queued, 'document')} queued")
    if without_file:
        click.echo(f"The files of {plural(without_file, 'document')} are not kept; add them again")


def _scan_jobs(directory: DataDirectory, settings: Settings) -> ScanJobs:
    from braid.config.ingest import ingest_options
    from braid.core.background.scan_jobs import ScanJobs, ScanRules
    from braid.core.ingest.parse_pool import ParsePool
    from braid.core.ingest.spool import Spool
    from braid.core.jobs.store import JobStore
    from braid.core.originals.store import Originals

    jobs = JobStore(directory.ledger)
    return ScanJobs(
        directory=directory,
        jobs=jobs,
        add=jobs.add,
        spool=Spool.of(directory),
        originals=Originals(directory),
        pool=ParsePool(),
        options=ingest_options(settings),
        rules=ScanRules(settings.scan_languages, settings.scan_pages_per_minute),
        keeps_files=settings.keep_originals,
        rest=lambda: None,
    )
