"""Whether the lines of a page run from top to bottom, from the white between its letters: it is wider between lines
than within them. How sure a machine is of the letters does not tell, as each stands upright in either direction.
"""

from __future__ import annotations

import numpy as np
from PIL import Image

from braid.core.ingest.scans.columns import Ink, PictureBox, columns_of
from braid.core.ingest.scans.skew import ink_of

_SCALE = 2
"""Pixels of the picture per pixel that is looked at: 150 dots per inch."""
_WIDEST = 22
"""White between lines, in widths of a stroke; what is wider is between paragraphs, or columns."""
_BEST_STROKE = 3.0
"""Pixels of a stroke."""
_LEAST_RUNS = 200
"""Runs of white in each direction by which it is known."""
_WIDER = 1.25
"""How much wider the white from left to right is than from top to bottom where lines run downwards."""


def runs_downwards(picture: Image.Image) -> bool:
    """Return whether the lines run from top to bottom; a page with little on it is taken to run from left to right."""
    ink = ink_of(picture.convert("L").reduce(_SCALE))
    widest = _WIDEST * _stroke(ink)
    across, down = _white(ink, widest), _white(ink.T, widest)
    return across > 0 and down > 0 and across > _WIDER * down


def reading_scale(picture: Image.Image) -> float:
    """Return how much smaller, 1 or less, letters from top to bottom are read best: large ones are read badly."""
    stroke = _SCALE * _stroke(ink_of(picture.convert("L").reduce(_SCALE)))
    return min(1.0, _BEST_STROKE / stroke) if stroke else 1.0


def tiers_of(picture: Image.Image) -> list[PictureBox]:
    """Return the parts of a page, whose lines run downwards, in reading order: its tiers from top to bottom."""
    turned = columns_of(picture.transpose(Image.Transpose.ROTATE_90))
    return [PictureBox(picture.width - box.bottom, box.left, picture.width - box.top, box.right) for box in turned]


def _stroke(ink: Ink) -> float:
    """Return the width of a stroke in pixels: the usual length of the runs of ink that cross one; 0 without ink."""
    usual = []
    for rows in (ink, ink.T):
        edges = np.diff(np.pad(rows, ((0, 0), (1, 1))).astype(np.int8), axis=1)
        lengths = np.nonzero(edges == -1)[1] - np.nonzero(edges == 1)[1]
        usual.append(float(np.median(lengths)) if len(lengths) else 0.0)
    return min(usual)


def _white(ink: Ink, widest: float) -> float:
    """Return the mean length of the runs of white between ink in the rows of a picture, each counted by its length; 0
    where there are few.
    """
    rows, columns = np.nonzero(ink)
    lengths = np.diff(columns)[np.diff(rows) == 0] - 1
    lengths = lengths[(lengths > 0) & (lengths <= widest)]
    return float(np.square(lengths).sum() / lengths.sum()) if len(lengths) >= _LEAST_RUNS else 0.0
