"""``qrels``: exports feedback as judged questions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from braid.app.cli.common import BraidGroup, choose_user, current_settings, json_option
from braid.app.cli.output import complain, plural, print_json
from braid.app.opening import open_data_directory


@click.group(cls=BraidGroup)
def qrels() -> None:
    """Export feedback as judged questions."""


@qrels.command("export")
@click.option("--user", metavar="NAME|ID", help="Owner of the feedback; optional if there is only one user.")
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), required=True, help="New folder to write.")
@json_option
def export(user: str | None, out: Path, as_json: bool) -> None:
    """Write a user's thumbs and clicks as a folder in BEIR layout, for eval and tune.

    Contains nobody else's feedback. Deleted passages are left out and counted.
    """
    from braid.core.evaluation.feedback_export import export_qrels

    with open_data_directory(current_settings()) as directory:
        report = export_qrels(directory, choose_user(directory.ledger, user).id, out)
    if as_json:
        print_json({**asdict(report), "folder": str(report.folder)})
        return
    click.echo(
        f"Wrote {plural(report.queries, 'question')} with {plural(report.judgements, 'judgement')} on "
        f"{plural(report.passages, 'passage')} to {report.folder}."
    )
    if report.deleted:
        complain(f"left out: {plural(report.deleted, 'judgement')} of deleted passages")
    if report.left_out_queries:
        complain(f"left out: {plural(report.left_out_queries, 'question')} without a good passage")
