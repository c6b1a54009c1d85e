"""The type of vectors: (dim,) or (n, dim) float32. At the bottom of core, so that only its users load numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
