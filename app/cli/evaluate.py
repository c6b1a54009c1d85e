"""``eval``: measures search quality and speed on judged sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from braid.app.cli.common import BraidCommand, current_settings, json_option
from braid.app.cli.options import RANKING_OPTIONS, add_options, query_options
from braid.app.cli.output import complain, print_json, print_table
from braid.app.cli.progress import Bars, Count
from braid.app.opening import embedding_model_of, rerankers_of
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
