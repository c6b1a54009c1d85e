"""``audit`` and ``retention``: what was done by whom, and how long things are kept."""

from __future__ import annotations

import json

import click

from braid.app.cli.common import BraidCommand, current_settings, json_option, record
from braid.app.cli.options import Moment
from braid.app.cli.output import format_date, print_list
from braid.app.opening import open_data_directory

SHOWN_ENTRIES = 100


@click.command("audit", cls=BraidCommand)
@click.option("--text", default="", help="Only entries with this in the actor, action, target or detail.")
@click.option("--action", default="", help="Only this action, or all that begin so: user, user.added, token …")
@click.option("--since", type=Moment(), help="Only entries of this time or later.")
@click.option("--until", type=Moment(end_of_day=True), help="Only entries of this time or earlier.")
@click.option("--lines", is_flag=True, help="Print all, the oldest first, one JSON object in each line.")
@json_option
def audit(text: str, action: str, since: float | None, until: float | None, lines: bool) -> None:
    """Show the audit log, the newest entry first: acts, sign-ins, failures, tokens, exports."""
    from braid.core.accounts.audit import AuditFilter, AuditLog
    from braid.core.json_form import to_json

    wanted = AuditFilter(text, action, since, until)
    with open_data_directory(current_settings()) as directory:
        log = AuditLog(directory.ledger)
        if lines:
            record(directory.ledger, "audit.exported", action or text or "all")
            for entry in log.all(wanted):
                click.echo(json.dumps(to_json(entry), ensure_ascii=False))
            return
        entries = log.entries(wanted, limit=SHOWN_ENTRIES)
    rows = [(format_date(each.at), each.actor, each.action, each.target, each.detail) for each in entries]
    print_list(entries, ("time", "who", "action", "target", "detail"), rows)


@click.command("retention", cls=BraidCommand)
@click.option("--delete", "deletes", is_flag=True, help="Delete it now; the app does so every hour.")
@json_option
def retention(deletes: bool) -> None:
    """Show how much is older than the days in the settings, and would be deleted."""
    from braid.config.retention import retention_days
    from braid.core.background.retention import KEPT, Retention

    settings = current_settings()
    with open_data_directory(settings) as directory:
        kept = Retention(directory, retention_days(settings))
        counts = kept.apply() if deletes else kept.preview()
        if deletes:
            told = ", ".join(f"{counts[kind]} {kind}" for kind in KEPT)
            record(directory.ledger, "retention.applied", told)
    verb = "deleted" if deletes else "to delete"
    rows = [(kind.replace("_", " "), kept.days.of(kind) or "for ever", counts[kind]) for kind in KEPT]
    print_list(
        {kind: {"days": kept.days.of(kind), "count": counts[kind]} for kind in KEPT},
        ("what", "days", verb),
        rows,
        right=("days", verb),
    )
