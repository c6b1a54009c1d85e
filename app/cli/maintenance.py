"""``serve`` and ``doctor``: runs the app, and compares its indexes with the ledger."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from braid.app.cli.common import BraidCommand, current_settings, json_option
from braid.app.cli.output import complain, plural, print_json, print_table
from braid.app.opening import open_braid

if TYPE_CHECKING:
    from braid.core.doctor import Finding


@click.command(cls=BraidCommand)
@click.option("--host", help="Address to listen on (setting host).")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on (setting port).")
def serve(host: str | None, port: int | None) -> None:
    """Run the app on one port until Ctrl-C."""
    # Loading makes only objects that stay, so collecting them wastes 0.2 s; `server._run` turns the collector on again.
    gc.disable()

    from braid.app import server

    server.serve(current_settings(host=host, port=port))
    server.leave()


@click.command(cls=BraidCommand)
@click.option("--repair", is_flag=True, help="Repair the differences; stored documents are never lost.")
@json_option
@click.pass_context
def doctor(context: click.Context, repair: bool, as_json: bool) -> None:
    """Compare the ledger with both indexes, report differences, and warn of a data directory that others may enter."""
    from braid.core import doctor as check

    with open_braid(current_settings(), must_own=True) as braid:
        findings, exposure = check.examine(braid), braid.exposure()
        if exposure:
            complain(f"warning: {exposure}")
        if not as_json:
            _print_findings(findings)
        left: Sequence[Finding] = findings
        if repair and findings:
            complain("repairing …")
            check.repair(braid, findings)
            left = check.examine(braid)
            if not as_json:
                click.echo(f"After the repair, {plural(len(left), 'difference')} left.")
                if left:
                    _print_findings(left)
    if as_json:
        print_json({"findings": findings, "left": left})
    context.exit(1 if left else 0)


def _print_findings(findings: Sequence[Finding]) -> None:
    if not findings:
        click.echo("Ledger and indexes agree.")
        return
    rows = [(found.problem, found.leg or "", found.detail, found.repair or "(yours)") for found in findings]
    print_table(("problem", "leg", "what differs", "repair"), rows)
