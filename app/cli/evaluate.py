"""``eval``, ``tune`` and ``qrels``: measure search quality on judged sets, choose by it, and make sets of feedback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from braid.app.cli.common import BraidCommand, BraidGroup, choose_user, current_settings, json_option
from braid.app.cli.options import RANKING_OPTIONS, add_options, query_options
from braid.app.cli.output import complain, plural, print_json, print_table, wants_json
from braid.app.cli.progress import Bars, Count
from braid.app.opening import embedding_model_of, open_data_directory, rerankers_of
from braid.app.terminal import log_briefly
from braid.core.extras import require

if TYPE_CHECKING:
    from braid.core.evaluation.bootstrap import Interval
    from braid.core.evaluation.evaluation import EvaluationProgress, EvaluationReport
    from braid.core.evaluation.tuning import TuningReport

_PATH: click.ParamType[Path] = click.Path(path_type=Path)
SCRATCH_FOLDER = "evaluation"  # in the data directory; kept, so that the next run only searches

_on_judged_sets = add_options(
    click.argument("folders", nargs=-1, required=True, metavar="DIR…", type=_PATH),
    click.option("--each", is_flag=True, help="Search each set in its own collections, not all sets at once."),
    click.option("--plot", "plot_file", metavar="FILE", type=_PATH, help="Plot to png, svg or pdf."),
    json_option,
    click.pass_context,
)


def _shown_in(bars: Bars) -> Callable[[EvaluationProgress], None]:
    """Return what shows the stages of an evaluation as bars."""

    def show(progress: EvaluationProgress) -> None:
        bars.show({f"{progress.stage} {progress.name}".strip(): Count(progress.done, progress.total)})

    return show


@click.command("eval", cls=BraidCommand)
@add_options(*RANKING_OPTIONS)
@_on_judged_sets
def eval_command(
    context: click.Context,
    /,
    folders: tuple[Path, ...],
    each: bool,
    plot_file: Path | None,
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
        report = evaluation.evaluate(
            folders,
            scratch_dir=settings.data_dir / SCRATCH_FOLDER,
            embedding_model=embedding_model_of(settings),
            each=each,
            strategy=asked["strategy"],
            options=options,
            languages=settings.languages,
            on_progress=_shown_in(bars),
            rerankers=rerankers_of(settings),
            models=models_of(settings),
            prompts=prompts_of(settings),
        )
    for reason in report.degraded:
        complain(f"degraded, the figures are too low: {reason}")
    if wants_json():
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


@click.command(cls=BraidCommand)
@_on_judged_sets
def tune(context: click.Context, /, folders: tuple[Path, ...], each: bool, plot_file: Path | None) -> None:
    """Find the fusion and weights that suit judged questions, and propose them.

    Each DIR has BEIR layout, as for eval; qrels export writes one from your feedback. The current settings are the
    default that other configurations are compared with. Nothing is changed.
    """
    require("eval", "tuning", "ir_measures", *(["matplotlib"] if plot_file else []))
    from braid.core.evaluation import tuning

    settings = current_settings()
    log_briefly(debug=settings.log_level == "DEBUG")
    weights = {"rrf": settings.dense_weight, "weighted": settings.alpha, "auto": tuning.AUTO.dense_weight}
    with Bars() as bars:
        report = tuning.tune(
            folders,
            scratch_dir=settings.data_dir / SCRATCH_FOLDER,
            embedding_model=embedding_model_of(settings),
            default=tuning.Config(settings.fusion, weights[settings.fusion]),
            each=each,
            languages=settings.languages,
            on_progress=_shown_in(bars),
        )
    for reason in report.degraded:
        complain(f"degraded, the figures are unusable: {reason}")
    if plot_file is not None:
        tuning.plot(report, plot_file)
    if wants_json():
        print_json(report.as_json())
    else:
        _print_tuning(report)
    context.exit(1 if report.degraded else 0)


def _print_tuning(report: TuningReport) -> None:
    rows = [(str(o.config), *_interval_text(o.ndcg), _difference_text(o.difference)) for o in report.outcomes]
    print_table(("configuration", "nDCG@10", "95 %", "against the default"), rows, right=("nDCG@10",))
    if len(report.sets) > 1:
        sets = [(name, f"{of['default']:.3f}", f"{of['best']:.3f}") for name, of in report.sets.items()]
        print_table(("set", "default", "best"), sets, right=("default", "best"))
    click.echo(f"Default: {report.default.config}. Best: {report.best.config}. {report.queries} queries.")
    mean, bounds = _interval_text(report.expected)
    click.echo(
        f"Chosen by the other queries (cross-validation): {mean} ({bounds}), "
        f"{_difference_text(report.expected_difference)} against the default."
    )
    if report.proposal:
        click.echo(f"Proposed for braid.toml:\n\n{report.proposal}\n")
    else:
        click.echo("Keep the default: no other configuration is better beyond chance.")


def _interval_text(interval: Interval) -> tuple[str, str]:
    return f"{interval.mean:.3f}", f"{interval.low:.3f}–{interval.high:.3f}"


def _difference_text(interval: Interval) -> str:
    return f"{interval.mean:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"


@click.group(cls=BraidGroup)
def qrels() -> None:
    """Export feedback as judged questions."""


@qrels.command("export")
@click.option("--user", metavar="NAME|ID", help="Owner of the feedback; optional if there is only one user.")
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), required=True, help="New folder to write.")
@json_option
def export(user: str | None, out: Path) -> None:
    """Write a user's thumbs and clicks as a folder in BEIR layout, for eval and tune.

    Contains nobody else's feedback. Deleted passages are left out and counted.
    """
    from braid.core.evaluation.feedback_export import export_qrels

    with open_data_directory(current_settings()) as directory:
        report = export_qrels(directory, choose_user(directory.ledger, user).id, out)
    if wants_json():
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
