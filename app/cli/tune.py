"""``tune``: finds the fusion and weights that suit judged questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from braid.app.cli.common import BraidCommand, current_settings, json_option
from braid.app.cli.evaluate import SCRATCH_FOLDER
from braid.app.cli.output import complain, print_json, print_table
from braid.app.cli.progress import Bars, Count
from braid.app.opening import embedding_model_of
from braid.app.terminal import log_briefly
from braid.core.extras import require

if TYPE_CHECKING:
    from braid.core.evaluation.bootstrap import Interval
    from braid.core.evaluation.evaluation import EvaluationProgress
    from braid.core.evaluation.tuning import TuningReport


@click.command(cls=BraidCommand)
@click.argument("folders", nargs=-1, required=True, metavar="DIR…", type=click.Path(path_type=Path))
@click.option("--each", is_flag=True, help="Search each set in its own collections, not all sets at once.")
@click.option("--plot", "plot_file", metavar="FILE", type=click.Path(path_type=Path), help="Plot to png, svg or pdf.")
@json_option
@click.pass_context
def tune(
    context: click.Context, /, folders: tuple[Path, ...], each: bool, plot_file: Path | None, as_json: bool
) -> None:
    """Find the fusion and weights that suit judged questions, and propose them.

    Each DIR has BEIR layout, as for eval; qrels export writes one from your feedback. The current settings are the
    default that other configurations are compared with. Nothing is changed.
    """
    require("eval", "tuning", "ir_measures", *(["matplotlib"] if plot_file else []))
    from braid.core.evaluation import tuning
    from braid.core.evaluation.tuning import plot

    settings = current_settings()
    log_briefly(debug=settings.log_level == "DEBUG")
    weights = {"rrf": settings.dense_weight, "weighted": settings.alpha, "auto": tuning.AUTO.dense_weight}
    with Bars() as bars:

        def show(progress: EvaluationProgress) -> None:
            bars.show({f"{progress.stage} {progress.name}".strip(): Count(progress.done, progress.total)})

        report = tuning.tune(
            folders,
            scratch_dir=settings.data_dir / SCRATCH_FOLDER,
            embedding_model=embedding_model_of(settings),
            default=tuning.Config(settings.fusion, weights[settings.fusion]),
            each=each,
            languages=settings.languages,
            on_progress=show,
        )
    for reason in report.degraded:
        complain(f"degraded, the figures are unusable: {reason}")
    if plot_file is not None:
        plot(report, plot_file)
    if as_json:
        print_json(report.as_json())
    else:
        _print_report(report)
    context.exit(1 if report.degraded else 0)


def _print_report(report: TuningReport) -> None:
    rows = [(str(o.config), *_format(o.ndcg), _format_difference(o.difference)) for o in report.outcomes]
    print_table(("configuration", "nDCG@10", "95 %", "against the default"), rows, right=("nDCG@10",))
    if len(report.sets) > 1:
        sets = [(name, f"{of['default']:.3f}", f"{of['best']:.3f}") for name, of in report.sets.items()]
        print_table(("set", "default", "best"), sets, right=("default", "best"))
    click.echo(f"Default: {report.default.config}. Best: {report.best.config}. {report.queries} queries.")
    mean, bounds = _format(report.expected)
    click.echo(
        f"Chosen by the other queries (cross-validation): {mean} ({bounds}), "
        f"{_format_difference(report.expected_difference)} against the default."
    )
    if report.proposal:
        click.echo(f"Proposed for braid.toml:\n\n{report.proposal}\n")
    else:
        click.echo("Keep the default: no other configuration is better beyond chance.")


def _format(interval: Interval) -> tuple[str, str]:
    return f"{interval.mean:.3f}", f"{interval.low:.3f}–{interval.high:.3f}"


def _format_difference(interval: Interval) -> str:
    return f"{interval.mean:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"
