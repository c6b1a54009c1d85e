"""Blocks of vectors, one byte per component: scanned as a whole, or where a selection is.

The scan is approximate, since a component is rounded to one of 255 values; its best rows are scored again with the
exact vectors by `braid.core.indexes.dense`. On 100,000 vectors of 384 dimensions a scan takes 1.7 ms on one core, and
0.95 of the exact best ten are among its own best ten, all of them among its best hundred.

All but small blocks are scanned in two stages: product quantization (Jégou, Douze and Schmid, "Product quantization for
nearest neighbor search", 2011) with two bits per component picks some of the rows, which alone are scored by their
bytes. Of the exact best fifty of 100,000 vectors in four blocks 0.999 are found, in 0.4 of the time.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from braid.core.extras import quietly
from braid.core.vector import Vector

ID_BYTES = 32
SAMPLE = 100
"""Rows in a sample."""
SAMPLED_ROWS = 2**14
"""Rows among which a sample of what is selected is looked for first."""
FIRST = 1_000
"""Rows that tell how many are selected."""
WIDE_SHARE = 0.25
READ_AHEAD = 1.5
"""Rows that are looked at for each one wanted where all are selected."""
MOST_TABLE = 16
"""Bytes of a table of wanted numbers for each number that is looked up."""
BYTES_PER_ROW = ID_BYTES + 8 + 8
"""Bytes of a row beside its components, which take a byte each."""
COARSE_ROWS = 2**12
"""Rows from which on a block is scanned in two stages."""
COARSE_OF, COARSE_EACH = 50, 1
"""The first stage picks one row of so many, and so many more for each row that is wanted."""
COARSE_PART = 8
"""Most rows that the first stage picks, as a part of the block; where more are needed, the bytes are scanned."""
TRIED, TRIED_BEST, LEAST_FOUND = 50, 100, 0.98
"""Rows that are searched for in both ways before a block is scanned in two stages, the best rows of each that are
compared, and the least share of them that two stages have to find."""
TRAINING_ROWS, TRAINING_ROUNDS = 2**11, 8
"""Rows that the first stage is trained on, and how often; 2**14 and 25 take five times as long and find no more."""
ADDED_ROWS = 2**14
"""Rows that are added to the first stage at a time."""
ROUNDING = 2.0
"""Units by which two scores of a scan may be in the wrong order; as many units of the probe come to it. In blocks that
were not merged the errors of real vectors have a standard deviation of 0.2 units, and of 15,000 none was more than
0.93. In a block of 400 merged ones those of random vectors have 0.48, and the largest was 3.6; of 2,000 hits none was
missed."""
ROUNDED = 2.5
"""Units by which two components may differ that were rounded, some more than once, as those of merged blocks are."""
ALIGNED = 64
"""Bytes of which the place of the ids in a file is a multiple."""
_MIDDLE = 128
_LARGEST = 127

_importing = threading.Lock()

Rows = NDArray[np.int64]


class Selection(NamedTuple):
    """The part of a collection to search: chunks of these datasets and these documents; None is all."""

    dataset_ids: Collection[int] | None = None
    document_ids: Collection[int] | NDArray[np.int64] | None = None


EVERYTHING = Selection()


class Probe(NamedTuple):
    """A query as every block is scanned for it: the vector (dim,) float32, the same rounded (1, dim), and how many
    times larger that one is.
    """

    vector: Vector
    rounded: Vector
    scale: float

    @classmethod
    def of(cls, vector: Vector) -> Self:
        """Round the vector, as faiss does with a query, too."""
        scale = _LARGEST / max(float(np.abs(vector).max()), 1e-6)
        return cls(vector, np.rint(vector * scale)[None, :], scale)


class Found(NamedTuple):
    """Rows of a block, best first: their numbers (n,) and approximate scores (n,) float32; and the first rows that are
    selected, which are a random sample: blocks are sorted by ids, and these are hashes.
    """

    block: VectorBlock
    rows: Rows
    scores: Vector
    sample: Rows

    @property
    def ids(self) -> NDArray[np.bytes_]:
        """The ids (n,) of the rows."""
        return self.block.ids[self.rows]


def best(found: Sequence[Found], k: int, margin: float = 0.0) -> list[Found]:
    """Return of several scans what is among the ``k`` best rows of all, and rows whose score is that of the last one,
    or less by up to the ``margin``.
    """
    scores = np.concatenate([part.scores for part in found]) if found else ()
    if len(scores) <= k:
        return list(found)
    least = np.partition(scores, len(scores) - k)[len(scores) - k] - np.float32(margin)
    part_of = np.repeat(np.arange(len(found)), [len(part.scores) for part in found])
    counts = np.bincount(part_of[scores >= least], minlength=len(found)).tolist()
    return [
        Found(part.block, part.rows[:n], part.scores[:n], part.sample) for part, n in zip(found, counts, strict=True)
    ]


def spread(found: Sequence[Found], probe: Probe) -> float:
    """Return the standard deviation of the scores of a sample of all that is selected: the rows with the lowest ids.

    0.0 where there are not two.
    """
    parts = [part for part in found if len(part.sample)]
    if not parts:
        return 0.0
    beginnings = [part.block.ids[part.sample].view(">u8")[:: ID_BYTES // 8] for part in parts]
    part_of = np.repeat(np.arange(len(parts)), [len(part.sample) for part in parts])
    lowest = np.argsort(np.concatenate(beginnings).astype(np.uint64))[:SAMPLE]
    counts = np.bincount(part_of[lowest], minlength=len(parts)).tolist()
    codes = np.concatenate([part.block.codes[part.sample[:n]] for part, n in zip(parts, counts, strict=True)])
    scales = np.repeat([part.block.scale for part in parts], counts)
    scores = (_components(codes) @ probe.vector) / scales
    return float(np.std(scores)) if len(scores) > 1 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class VectorBlock:
    """Vectors with their chunks' ids, which are sorted; never changed, only replaced."""

    ids: NDArray[np.bytes_]
    dataset_ids: NDArray[np.int64]
    document_ids: NDArray[np.int64]
    scale: float
    """Components times ``scale``, rounded, are the stored ones."""
    index: Any  # a faiss.IndexScalarQuantizer; faiss has no types
    codes: NDArray[np.uint8]
    """The stored components (n, dim): the memory of ``index``, not to be kept beyond the block."""
    alive: NDArray[np.bool_] | None = None
    """Rows that were not deleted; None where none was."""
    file: str = ""
    """Name of the file with the rows, which the system keeps in memory where it has room; empty before `write`."""
    gone: str = ""
    """Name of the file that says which rows were deleted."""
    two_stage: Any = None
    """A faiss.IndexRefine over a coarse index and ``index``; None for a block that is scanned by its bytes."""
    coarse: str = ""
    """Name of the file with the coarse index, an empty one where two stages find less; empty before `write_coarse`."""

    @classmethod
    def make(
        cls,
        ids: NDArray[np.bytes_],
        dataset_ids: NDArray[np.int64],
        document_ids: NDArray[np.int64],
        vectors: Vector,
    ) -> Self:
        """Round ``vectors`` (n, dim) of unit length and sort all by id. There must be one row or more."""
        scale = _LARGEST / max(float(vectors.max()), -float(vectors.min()), 1e-6)
        codes = (np.rint(vectors * scale) + _MIDDLE).astype(np.uint8)
        return cls._of_codes(ids, dataset_ids, document_ids, scale, codes)

    @classmethod
    def _of_codes(
        cls,
        ids: NDArray[np.bytes_],
        dataset_ids: NDArray[np.int64],
        document_ids: NDArray[np.int64],
        scale: float,
        codes: NDArray[np.uint8],
    ) -> Self:
        faiss = _faiss()
        order = np.argsort(ids)
        kind, metric = faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
        index = faiss.IndexScalarQuantizer(codes.shape[1], kind, metric)
        index.add_sa_codes(np.ascontiguousarray(codes[order]))
        return cls(ids[order], dataset_ids[order], document_ids[order], scale, index, _codes_of(index))

    def __len__(self) -> int:
        """Count the rows, those that were deleted included."""
        return len(self.ids)

    @property
    def dimension(self) -> int:
        """Components of a vector."""
        return int(self.codes.shape[1])

    @property
    def deleted(self) -> int:
        """Count the rows that were deleted."""
        return 0 if self.alive is None else len(self) - int(np.count_nonzero(self.alive))

    # ------------------------------------------------------------ searching

    def nearest(self, probe: Probe, k: int, selection: Selection, *, sample: int = SAMPLE) -> Found:
        """Return the ``k`` selected rows with the largest approximate product with the probe's vector, best first, and
        ``sample`` random ones.
        """
        if self.alive is None and selection.dataset_ids is None and selection.document_ids is None:
            return Found(self, *self._scan(probe, k), np.arange(min(sample, len(self))))
        selected = self._mask(selection, slice(FIRST))
        share = np.count_nonzero(selected) / len(selected)
        if share >= WIDE_SHARE:  # leaving rows out of a scan costs more than scanning them
            n = min(len(self), math.ceil(READ_AHEAD * k / share))
            rows, scores = self._scan(probe, n)
            kept = self._mask(selection, rows)
            if n == len(self) or int(np.count_nonzero(kept)) >= k:
                return Found(self, rows[kept][:k], scores[kept][:k], _first(selected, sample))
        mask = self._mask(selection, slice(None))
        if not mask.any():
            return Found(self, np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.int64))
        return Found(self, *self._scan(probe, k, mask), _first(mask, sample))

    def _mask(self, selection: Selection, rows: Rows | slice) -> NDArray[np.bool_]:
        """Return which of these rows are selected."""
        mask = self.alive[rows] if self.alive is not None else None
        for column, wanted in ((self.dataset_ids, selection.dataset_ids), (self.document_ids, selection.document_ids)):
            if wanted is not None:
                among = are_among(column[rows], _numbers(wanted))
                mask = among if mask is None else mask & among
        return np.ones(len(self), np.bool_)[rows] if mask is None else mask

    def _scan(self, probe: Probe, k: int, mask: NDArray[np.bool_] | None = None) -> tuple[Rows, Vector]:
        faiss = _faiss()
        faiss.omp_set_num_threads(1)  # holds for this thread: searches are parallel already
        k = min(k, len(self))
        picked = len(self) // COARSE_OF + COARSE_EACH * k
        if mask is None and self.two_stage is not None and picked <= len(self) // COARSE_PART:
            scores, rows = self.two_stage.search(probe.rounded, k, params=_picking(picked / k))
            if rows[0, -1] < 0:  # the first stage tells nothing apart
                scores, rows = self.index.search(probe.rounded, k)
        elif mask is None:
            scores, rows = self.index.search(probe.rounded, k)
        else:
            bits = np.packbits(mask, bitorder="little")
            selector = faiss.IDSelectorBitmap(len(mask), faiss.swig_ptr(bits))
            scores, rows = self.index.search(probe.rounded, k, params=faiss.SearchParameters(sel=selector))
            found = rows[0] >= 0
            scores, rows = scores[:, found], rows[:, found]
        return rows[0], scores[0] / np.float32(self.scale * probe.scale)

    # ------------------------------------------------------------ changing

    def rows_of(self, ids: NDArray[np.bytes_]) -> Rows:
        """Return the rows of those of the ids that are in the block and were not deleted."""
        at = np.minimum(np.searchsorted(self.ids, ids), len(self) - 1)
        rows: Rows = at[self.ids[at] == ids]
        return rows if self.alive is None else rows[self.alive[rows]]

    def holds(self, other: VectorBlock) -> NDArray[np.bool_]:
        """Return which rows of another block of the same dimension are here, too: of the same dataset and document,
        with vectors that are the same but for rounding.
        """
        rows = np.minimum(np.searchsorted(self.ids, other.ids), len(self) - 1)
        columns = ("ids", "dataset_ids", "document_ids")
        equal: NDArray[np.bool_] = np.all(
            [getattr(self, name)[rows] == getattr(other, name) for name in columns], axis=0
        )
        equal &= self.alive is None or self.alive[rows]
        at = np.flatnonzero(equal)
        here, there = _components(self.codes[rows[at]]) / self.scale, _components(other.codes[at]) / other.scale
        equal[at] = np.abs(here - there).max(axis=1, initial=0.0) <= ROUNDED / min(self.scale, other.scale)
        return equal

    def without(self, ids: NDArray[np.bytes_]) -> VectorBlock | None:
        """Return the block without these ids: itself where it has none of them, None where nothing is left."""
        rows = self.rows_of(ids)
        if not len(rows):
            return self
        alive = np.ones(len(self), np.bool_) if self.alive is None else self.alive.copy()
        alive[rows] = False
        left = int(alive.sum())
        if not left:
            return None
        smaller = replace(self, alive=alive, gone="")
        return smaller if left > len(self) // 2 else merged([smaller])

    def write(self, path: Path) -> None:
        """Write the rows to a file for `read`. Raises OSError."""
        _write_index(self.index, path)
        with path.open("ab") as file:
            file.write(bytes(-file.tell() % ALIGNED))
            for column in (self.ids, self.dataset_ids, self.document_ids):
                file.write(np.ascontiguousarray(column).data)

    @property
    def is_large(self) -> bool:
        """Whether the block is to be scanned in two stages."""
        return len(self) >= COARSE_ROWS and self.dimension % 2 == 0

    def write_coarse(self, path: Path) -> None:
        """Train the first stage of a scan, and write it to a file for `with_coarse`: an empty one where two stages
        would find less than the bytes do, as among forms, which differ little from each other. Raises OSError.
        """
        faiss = _faiss()
        faiss.omp_set_num_threads(1)
        coarse = faiss.IndexPQFastScan(self.dimension, self.dimension // 2, 4, faiss.METRIC_INNER_PRODUCT)
        coarse.pq.cp.niter = TRAINING_ROUNDS
        coarse.train(_components(self.codes[:TRAINING_ROWS]))  # a random sample, since rows are sorted by hashes
        for start in range(0, len(self), ADDED_ROWS):
            coarse.add(_components(self.codes[start : start + ADDED_ROWS]))
        if replace(self, two_stage=faiss.IndexRefine(coarse, self.index))._finds_enough():
            _write_index(coarse, path)
        else:
            path.write_bytes(b"")

    def _finds_enough(self) -> bool:
        """Return whether two stages find what the bytes do for rows of the block as queries, but for a few."""
        plain, step = replace(self, two_stage=None), max(1, len(self) // TRIED)
        found = []
        for code in self.codes[::step][:TRIED]:
            probe = Probe.of(_components(code))
            wanted, scores = plain._scan(probe, TRIED_BEST)[1], self._scan(probe, TRIED_BEST)[1]
            found.append(np.count_nonzero(scores >= wanted[-1]) / len(wanted))  # of equal ones any
        return float(np.mean(found)) >= LEAST_FOUND

    def with_coarse(self, path: Path) -> Self:
        """Return the block with the first stage of a scan, which faiss cannot map and reads into memory: 96 bytes
        per row with the default model. Raises OSError.
        """
        faiss = _faiss()
        if path.stat().st_size == 0:
            return replace(self, two_stage=None, coarse=path.name)
        coarse = _read_index(path)
        if (coarse.ntotal, coarse.d) != self.codes.shape:
            raise OSError(f"{path.name} has other rows than {self.file}")
        return replace(self, two_stage=faiss.IndexRefine(coarse, self.index), coarse=path.name)

    @classmethod
    def read(cls, path: Path, rows: int, scale: float) -> Self:
        """Map the rows of a file; what is mapped stays when the file is deleted. Raises OSError."""
        start = path.stat().st_size - rows * BYTES_PER_ROW
        columns = np.memmap(path, np.uint8, "r", offset=start).view(np.ndarray)
        ids, dataset_ids, document_ids = np.split(columns, [rows * ID_BYTES, rows * (ID_BYTES + 8)])
        index = _read_index(path)
        return cls(
            ids.view(f"S{ID_BYTES}"),
            dataset_ids.view("<i8"),
            document_ids.view("<i8"),
            scale,
            index,
            _codes_of(index),
            file=path.name,
        )

    def living_ids(self) -> NDArray[np.bytes_]:
        """Return the ids of the rows that were not deleted."""
        return self.ids if self.alive is None else self.ids[self.alive]


@cache
def _faiss() -> Any:  # it has no types
    """Import faiss at its first use, since it takes a while, without the six lines that it logs.

    Threads that come while it is imported wait: what is in ``sys.modules`` is not complete before.
    """
    with _importing, quietly("faiss"):
        import faiss
    return faiss


@lru_cache
def _picking(times: float) -> Any:
    """Return the parameters of a scan whose first stage picks ``times`` as many rows as are wanted."""
    return _faiss().IndexRefineSearchParameters(k_factor=times)


def _write_index(index: Any, path: Path) -> None:
    try:
        _faiss().write_index(index, str(path))
    except RuntimeError as error:  # faiss has no other error, and names its own source code in this one
        raise OSError(f"vectors cannot be written to {path.parent}; is the disk full?") from error


def _read_index(path: Path) -> Any:
    """Map an index; of one that faiss cannot map, the contents are read."""
    faiss = _faiss()
    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        path.stat()  # FileNotFoundError where it was deleted meanwhile
        raise OSError(f"{path.name} has no vectors") from error


def _components(codes: NDArray[np.uint8]) -> Vector:
    """Return stored components (n, dim) as float32."""
    return codes.astype(np.float32) - _MIDDLE


def _codes_of(index: Any) -> NDArray[np.uint8]:
    """Return the index's codes (n, dim) without a copy."""
    view: NDArray[np.uint8] = _faiss().rev_swig_ptr(index.codes.data(), index.ntotal * index.d)
    return view.reshape(index.ntotal, index.d)


def merged(blocks: Sequence[VectorBlock]) -> VectorBlock:
    """Return one block of the rows of all that were not deleted; there must be one or more."""
    scale = min(block.scale for block in blocks)

    def living(block: VectorBlock, column: NDArray[Any]) -> NDArray[Any]:
        return column if block.alive is None else column[block.alive]

    def codes(block: VectorBlock) -> NDArray[np.uint8]:
        kept: NDArray[np.uint8] = living(block, block.codes)
        if block.scale == scale:
            return kept
        rescaled = _components(kept) * np.float32(scale / block.scale)
        rounded: NDArray[np.uint8] = (np.rint(rescaled) + _MIDDLE).astype(np.uint8)
        return rounded

    return VectorBlock._of_codes(
        np.concatenate([living(block, block.ids) for block in blocks]),
        np.concatenate([living(block, block.dataset_ids) for block in blocks]),
        np.concatenate([living(block, block.document_ids) for block in blocks]),
        scale,
        np.concatenate([codes(block) for block in blocks]),
    )


def _first(mask: NDArray[np.bool_], n: int) -> Rows:
    """Return the first ``n`` rows of the mask; of a large one, most of the time without looking at all of it."""
    rows = np.flatnonzero(mask[:SAMPLED_ROWS])
    return (rows if len(rows) >= n else np.flatnonzero(mask))[:n]


def are_among(numbers: Rows, wanted: Rows) -> NDArray[np.bool_]:
    """Return which of the numbers are wanted; by a table where these are near each other, which takes a tenth."""
    if not len(wanted):
        return np.zeros(len(numbers), np.bool_)
    low, high = int(wanted.min()), int(wanted.max())
    if high - low > MOST_TABLE * (len(numbers) + len(wanted)):
        found: NDArray[np.bool_] = np.isin(numbers, wanted)
        return found
    table = np.zeros(high - low + 3, np.bool_)  # the first and the last place are for all numbers outside
    table[wanted - (low - 1)] = True
    return table.take(numbers - (low - 1), mode="clip")


def _numbers(ids: Collection[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return ids if isinstance(ids, np.ndarray) else np.fromiter(ids, np.int64, len(ids))
