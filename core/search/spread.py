"""The spread of a query's cosines, which tells how much a difference between two of them means.

Models differ in it, and collections too: among manual pages of one program all passages are near each other, and a
cosine that is 0.02 higher says less than among abstracts of all sciences.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from braid.core.ledger.ledger import Ledger
from braid.core.lru import LeastRecentlyUsed
from braid.core.vector import Vector

SAMPLE = 100
"""Passages in a sample. nDCG@10 over seven sets is the same with 64, 100, 256 and all of them (±0.001)."""
REMEMBERED = 64
"""Samples that are kept in memory; 150 kB each with 384 dimensions."""
FRESH_S = 60.0
"""Seconds after which a sample is drawn again; it may be a little out of date, since a spread changes slowly."""


class VectorSamples:
    """Draws random passages of a selection from the ledger and remembers their vectors for a minute."""

    def __init__(self, ledger: Ledger, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._ledger = ledger
        self._clock = clock
        self._samples: LeastRecentlyUsed[object, NDArray[np.float32]] = LeastRecentlyUsed(REMEMBERED)

    def spread(self, vector: Vector, model: str, dataset_ids: frozenset[int], chunks: int) -> float:
        """Return the standard deviation of the cosine between ``vector`` (dim,) and a passage of these datasets.

        ``chunks`` is how many there are. 0.0 where fewer than two have a vector under the model.
        """
        sample = self._sample(model, dataset_ids, min(chunks, SAMPLE))
        return float(np.std(sample @ vector)) if len(sample) > 1 else 0.0

    def _sample(self, model: str, dataset_ids: frozenset[int], wanted: int) -> NDArray[np.float32]:
        key = (model, dataset_ids, wanted, int(self._clock() / FRESH_S))
        sample = self._samples.get(key)
        if sample is None:
            found = list(self._ledger.sample_embeddings(model, dataset_ids, SAMPLE).values())
            sample = np.stack(found) if found else np.empty((0, 0), dtype=np.float32)
            if len(sample) >= wanted:  # else passages are still being embedded
                self._samples.put(key, sample)
        return sample
