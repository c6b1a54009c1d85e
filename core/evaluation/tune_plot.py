"""The figure of a tuning: nDCG@10 over the share of the dense leg."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from braid.core.errors import InvalidInputError
from braid.core.evaluation.tuning import TuningReport
from braid.core.types import Fusion


def plot(report: TuningReport, path: Path) -> None:
    """Lines with their confidence intervals, as the file's suffix says: png, svg or pdf. Raises InvalidInputError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    labels = {"rrf": "rrf, by dense_weight", "weighted": "weighted, by alpha"}
    for fusion in get_args(Fusion):
        line = sorted((o for o in report.outcomes if o.config.fusion == fusion), key=lambda o: o.config.dense_weight)
        shares = [outcome.config.dense_weight for outcome in line]
        axes.plot(shares, [outcome.ndcg.mean for outcome in line], marker="o", label=labels[fusion])
        axes.fill_between(
            shares, [outcome.ndcg.low for outcome in line], [outcome.ndcg.high for outcome in line], alpha=0.15
        )
    for name, outcome, marker in (("default", report.default, "s"), ("best", report.best, "*")):
        axes.plot(outcome.config.dense_weight, outcome.ndcg.mean, marker, markersize=12, color="black", label=name)
    axes.set_xlabel("share of the dense leg (0: keywords, 1: meaning)")
    axes.set_ylabel(f"nDCG@10, {report.queries} queries")
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path)
    except (ValueError, OSError) as error:
        raise InvalidInputError(
            f"the plot {path} cannot be written: {error}; name a .png, .svg or .pdf file"
        ) from error
