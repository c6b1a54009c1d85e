"""Confidence intervals by the bootstrap, which show how much a mean depends on the choice of queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 5_000
CONFIDENCE = 0.95

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds of its confidence interval."""

    mean: float
    low: float
    high: float


class Bootstrap:
    """Resampled queries, the same for every mean, so that differences are paired.

    Queries are drawn with replacement within each of the ``groups`` (one number per query, its set), so that every
    resample has as many queries of each set. Efron, "Bootstrap Methods: Another Look at the Jackknife", 1979;
    percentile method.
    """

    def __init__(self, groups: Sequence[int], *, resamples: int = RESAMPLES, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        members = np.asarray(groups)
        self._counts = np.zeros((resamples, len(members)), dtype=np.float64)
        for group in np.unique(members):
            columns = np.flatnonzero(members == group)
            drawn = random.multinomial(len(columns), np.full(len(columns), 1 / len(columns)), size=resamples)
            self._counts[:, columns] = drawn

    def interval(self, scores: Scores) -> Interval:
        """Return the mean of ``scores`` (queries,) with its 95 % interval."""
        means = self._counts @ scores / len(scores)
        tail = 100 * (1 - CONFIDENCE) / 2
        low, high = np.percentile(means, [tail, 100 - tail])
        return Interval(float(scores.mean()), float(low), float(high))
