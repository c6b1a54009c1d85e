"""``eval`` and ``qrels``: measure search quality on judged sets, and make such sets of feedback."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from braid.app.cli.common import BraidCommand, BraidGroup, choose_user, current_settings, json_option
from braid.app.cli.options import RANKING_OPTIONS, add_options, query_options
from braid.app.cli.output import complain, plural, print_json, print_table
from braid.app.cli.progress import Bars, Count
from braid.app.opening import embedding_model_of, open_data_directory, rerankers_of
from braid.app.terminal import log_briefly
from braid.core.extras import require

if TYPE_CHECKING:
    from braid.core.evaluation.evaluation import EvaluationProgress, EvaluationReport

SCRATCH_FOLDER = "evaluation"  # in the data directory; kept, so that the next run only searches


@click.command("eval", cls=BraidCommand)
@click.argument("folders", nargs=-1, required=True, metavar="DIR…", type=click.Path(path_type=Path))
@add_options(*RANKING_OPTIONS)
@click.option("--each", is_flag=True, help="Search each set in its own collections, not all sets at once.")
@click.option("--plot", "plot_file", metavar="FILE", type=click.Path(path_type=Path), help="Plot to png, svg or pdf.")
@json_option
@click.pass_context
def eval_command(
    context: click.Context,
    /,
    folders: tuple[Path, ...],
    each: bool,
    plot_file: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Measure search quality and speed on judged sets.

    Each DIR has BEIR layout (corpus.jsonl, queries.jsonl, qrels.tsv). Its stored and embedded documents are kept in the
    data directory, so the next run only searches.
    """
    require("eval", "an evaluation", "ir_measures", *(["matplotlib"] if plot_file else []))
    from braid.config.models import models_of, prompts_of
    from braid.core.evaluation import evaluation

    settings = current_settings()
    options = query_options(settings, asked)
    options["parameters"] = {**settings.strategies.get(asked["strategy"], {}), **options["parameters"]}
    log_briefly(debug=settings.log_level == "DEBUG")
    with Bars() as bars:

        def show(progress: EvaluationProgress) -> None:
            bars.show({f"{progress.stage} {progress.name}".strip(): Count(progress.done, progress.total)})

        report = evaluation.evaluate(
            folders,
            scratch_dir=settings.data_dir / SCRATCH_FOLDER,
            embedding_model=embedding_model_of(settings),
            each=each,
            strategy=asked["strategy"],
            options=options,
            languages=settings.languages,
            on_progress=show,
            rerankers=rerankers_of(settings),
            models=models_of(settings),
            prompts=prompts_of(settings),
        )
    for reason in report.degraded:
        complain(f"degraded, the figures are too low: {reason}")
    if as_json:
        print_json(report.as_json())
    else:
        _print_report(report)
    if plot_file is not None:
        evaluation.plot(report, plot_file)
    context.exit(1 if report.degraded else 0)


def _print_report(report: EvaluationReport) -> None:
    names = list(report.all)
    sets = report.sets.items() if len(report.sets) == 1 else [*report.sets.items(), ("all", report.all)]
    rows = [(name, *(_format(measure, figures[measure]) for measure in names)) for name, figures in sets]
    print_table(("set", *names), rows, right=names)


def _format(measure: str, value: float) -> str:
    return f"{value:.1f}" if measure.endswith(("_ms", "_ms_search")) else f"{value:.3f}"


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
