"""What the plots of the benchmarks share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def panels(path: Path, titles: Sequence[str], *, columns: int) -> Iterator[list[Any]]:
    """A figure with one axes per title, written as SVG at the end; the same figures give the same file."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    rows = -(-len(titles) // columns)
    figure = Figure(figsize=(5.2 * columns, 3.6 * rows), layout="constrained")
    FigureCanvasSVG(figure)
    axes = [figure.add_subplot(rows, columns, number) for number in range(1, len(titles) + 1)]
    for one, title in zip(axes, titles, strict=True):
        one.set_title(title, fontsize=10)
        one.grid(visible=True, alpha=0.3)
        one.set_axisbelow(True)
        one.tick_params(labelsize=8)
    yield axes
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "braid"}):
        figure.savefig(path, metadata={"Date": None})
