"""``doctor`` and ``chroma-path``: compares the indexes with the ledger, and says where the copy in Chroma is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from braid.app.cli.common import BraidCommand, current_settings, json_option
from braid.app.cli.output import plural, print_json, print_table, wants_json
from braid.app.cli.progress import Bars, Count
from braid.app.opening import open_braid
from braid.core.errors import BraidError

if TYPE_CHECKING:
    from braid.core.doctor import Finding

DAMAGED, WAITING = 1, 4
"""Exit statuses of `doctor`."""


@click.command("chroma-path", cls=BraidCommand)
def chroma_path() -> None:
    """Print the folder of the copy in Chroma, for other programs.

    Read it while nothing of Braid is running on the data directory.
    """
    from braid.core.indexes.chroma.store import folder_of_copy

    click.echo(str(folder_of_copy(Path(current_settings().data_dir).absolute())))


@click.command(cls=BraidCommand)
@click.option("--repair", is_flag=True, help="Repair the differences; stored documents are never lost.")
@click.option(
    "--wait", type=click.FloatRange(0, 86_400), default=30, show_default=True, help="Seconds to wait for the indexes."
)
@click.option("--quiet", is_flag=True, help="Print damage alone, for cron.")
@json_option
@click.pass_context
def doctor(context: click.Context, repair: bool, wait: float, quiet: bool) -> None:
    """Read the ledger whole, compare it with both indexes, and report what differs.

    Warns of a data directory that others may enter.

    Works beside a running app. Ends with 1 when there is damage, and with 4 when there is only work left to do.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from braid.core.doctor import damaged
    from braid.core.indexes.chroma.store import bytes_of_copy
    from braid.core.ledger.outages import outage_of

    try:
        findings, left = _examine(repair=repair, wait=wait, quiet=quiet)
    except (BraidError, SQLAlchemyError) as error:
        outage = outage_of(error)
        if outage is None or outage.cause != "ledger_damaged":
            raise
        findings = left = [damaged(outage.reason)]  # too much to be opened
        if not wants_json():
            _print_findings(findings, quiet=quiet)
    copied = bytes_of_copy(Path(current_settings().data_dir).absolute())
    if wants_json():
        print_json({"findings": findings, "left": left, "chroma_bytes": copied})
    elif copied and not quiet:
        click.echo(f"The copy in Chroma takes {copied / 1e6:,.1f} MB.", err=True)
    is_damaged = any(not finding.waits for finding in left)
    context.exit(DAMAGED if is_damaged else WAITING if left else 0)


def _examine(*, repair: bool, wait: float, quiet: bool) -> tuple[list[Finding], list[Finding]]:
    """Return what was found, and what of it is left after the repair."""
    from braid.core import doctor as check

    with open_braid(current_settings()) as braid, Bars(quiet=quiet) as bars:

        def examine() -> list[Finding]:
            show = partial(_show, bars, "Collections")
            return check.examine(braid, wait_s=wait, on_progress=show)

        findings, exposure = examine(), braid.exposure()
        if exposure:
            bars.line(f"warning: {exposure}")
        if not wants_json():
            _print_findings(findings, quiet=quiet)
        left = findings
        if repair and any(finding.repair for finding in findings):
            if not quiet:
                bars.line("repairing …")
            check.repair(braid, findings, on_progress=partial(_show, bars, "Passages"))
            left = examine()
            if not wants_json() and not quiet:
                click.echo(f"After the repair, {plural(len(left), 'difference')} left.")
            if not wants_json() and left:
                _print_findings(left, quiet=quiet)
    return findings, left


def _show(bars: Bars, name: str, done: int, total: int) -> None:
    bars.show({name: Count(done, total)})


def _print_findings(findings: Sequence[Finding], *, quiet: bool) -> None:
    shown = [found for found in findings if not (quiet and found.waits)]
    if shown:
        rows = [(found.problem, found.leg or "", found.detail, _remedy(found)) for found in shown]
        print_table(("problem", "leg", "what differs", "repair"), rows)
    elif not quiet:
        click.echo("Ledger and indexes agree.")


def _remedy(found: Finding) -> str:
    return "(is being done)" if found.waits else found.repair or "(yours)"
