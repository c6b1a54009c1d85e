"""Blocks of vectors in memory: what a scan finds, scored again with the exact vectors, is what numpy finds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from braid.core.indexes.dense import MIN_CANDIDATES
from braid.core.indexes.vector_block import EVERYTHING, ID_BYTES, Found, Probe, Selection, VectorBlock, best, merged
from braid.core.vector import Vector
from tests.worlds import WAIT_S

DIM = 64
ROOT = Path(__file__).resolve().parents[3]
EVAL = ROOT.parent / "shared" / "eval"
AT_ONCE = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from tests.core.indexes.test_vector_block import block_of, unit

vectors, together = unit(5), Barrier(4)

def make(_: int) -> int:
    together.wait()
    return len(block_of(vectors))

with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(make, range(4))) == [5] * 4
"""
SETS = ["scifact", "cosqa-dev", "jsquad-valid", "gimphelp-ja", "gimphelp-ko", "ko-strategyqa-facts", "mtrag-mini"]


def unit(count: int, dimension: int = DIM, *, seed: int = 0, spread: float = 1.0) -> Vector:
    """Random vectors; a small spread makes them alike, as those of real texts are."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal(dimension) + spread * rng.standard_normal((count, dimension))
    normal: Vector = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return normal


def names(numbers: Collection[int]) -> np.ndarray[tuple[int], np.dtype[np.bytes_]]:
    return np.array([f"{number:08d}" for number in numbers], dtype=f"S{ID_BYTES}")


def block_of(vectors: Vector, *, first: int = 0) -> VectorBlock:
    """Vector n is of chunk ``first + n``, in dataset n % 10 and document n // 4."""
    numbers = np.arange(len(vectors))
    return VectorBlock.make(names(numbers + first), numbers % 10, numbers // 4, vectors)


def numbers_in(found: Found) -> list[int]:
    return [int(name) for name in found.ids]


def nearest(vectors: Vector, query: Vector, k: int, among: Collection[int] | None = None) -> list[int]:
    """The same by numpy."""
    rows = np.arange(len(vectors)) if among is None else np.array(sorted(among), dtype=np.int64)
    return [int(row) for row in rows[np.argsort(-(vectors[rows] @ query), kind="stable")[:k]]]


def rescored(block: VectorBlock, vectors: Vector, query: Vector, k: int, selection: Selection) -> list[int]:
    """What `DenseIndex` makes of a scan."""
    candidates = numbers_in(block.nearest(Probe.of(query), max(MIN_CANDIDATES, 2 * k), selection))
    return sorted(candidates, key=lambda number: (-float(vectors[number] @ query), number))[:k]


def assert_exact(
    block: VectorBlock, vectors: Vector, selection: Selection = EVERYTHING, among: Collection[int] | None = None
) -> None:
    for query in unit(20, vectors.shape[1], seed=99):
        assert rescored(block, vectors, query, 10, selection) == nearest(vectors, query, 10, among)


# ---------------------------------------------------------------- exactness


@pytest.mark.parametrize("spread", [1.0, 0.3], ids=["spread out", "alike"])
def test_random_vectors_are_found_exactly(spread: float) -> None:
    vectors = unit(9000, spread=spread)
    assert_exact(block_of(vectors), vectors)


@pytest.mark.parametrize("name", SETS)
def test_the_best_of_real_vectors_are_the_exact_ones(name: str) -> None:
    path = EVAL / name / "vectors.npz"
    if not path.exists():
        pytest.skip(f"there is no ../shared/eval/{name}")
    with np.load(path) as stored:
        vectors, queries = stored["V"].astype(np.float32), stored["QV"].astype(np.float32)[:100]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    block = block_of(vectors)
    for query in queries:
        exact = np.sort(vectors @ query)[::-1][:50]
        found = rescored(block, vectors, query, 50, EVERYTHING)
        assert [float(vectors[n] @ query) for n in found] == pytest.approx(exact.tolist(), abs=1e-6)
    for number in range(0, len(vectors), 7):  # a passage finds itself, or one that is its equal
        (best,) = rescored(block, vectors, vectors[number], 1, EVERYTHING)
        assert float(vectors[best] @ vectors[number]) == pytest.approx(1.0, abs=1e-5)


def test_two_stages_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.indexes.vector_block.COARSE_OF", 5)
    monkeypatch.setattr("braid.core.indexes.vector_block.COARSE_PART", 4)
    monkeypatch.setattr("braid.core.indexes.vector_block.ADDED_ROWS", 5_000)
    vectors = unit(20_000, spread=0.5)
    whole = block_of(vectors)
    whole.write_coarse(tmp_path / "coarse")
    staged = whole.with_coarse(tmp_path / "coarse")
    assert staged.two_stage.base_index.ntotal == 20_000
    deleted = names(range(0, 20_000, 3))
    for one, two in ((whole, staged), (whole.without(deleted), staged.without(deleted))):
        assert one is not None
        assert two is not None
        for selection in (EVERYTHING, Selection({1, 2, 3, 4, 5}), Selection({7})):
            for query in unit(10, seed=99):
                expected = one.nearest(Probe.of(query), 20, selection)
                found = two.nearest(Probe.of(query), 20, selection)
                assert numbers_in(found) == numbers_in(expected)
                assert found.scores.tolist() == expected.scores.tolist()
    monkeypatch.setattr(staged.two_stage, "search", None)  # far more than it picks are wanted
    assert len(staged.nearest(Probe.of(vectors[0]), 2_000, EVERYTHING).ids) == 2_000


def test_where_two_stages_would_find_less_the_bytes_are_scanned(tmp_path: Path) -> None:
    """Thousands of forms that differ a little look alike to the first stage."""
    forms = unit(10, seed=5)[np.arange(20_000) % 10] + 0.02 * unit(20_000, seed=6)
    block = block_of((forms / np.linalg.norm(forms, axis=1, keepdims=True)).astype(np.float32))
    block.write_coarse(tmp_path / "coarse")
    tried = block.with_coarse(tmp_path / "coarse")
    assert (tried.two_stage, tried.coarse) == (None, "coarse")


def test_a_query_that_tells_nothing_apart_has_rows_all_the_same(tmp_path: Path) -> None:
    block = block_of(unit(20_000, spread=0.5))
    block.write_coarse(tmp_path / "coarse")
    found = block.with_coarse(tmp_path / "coarse").nearest(
        Probe.of(np.zeros(block.dimension, np.float32)), 20, EVERYTHING
    )
    assert min(found.rows) >= 0


def test_a_first_stage_of_other_rows_is_refused(tmp_path: Path) -> None:
    block_of(unit(700)).write_coarse(tmp_path / "coarse")
    with pytest.raises(OSError, match="coarse has other rows"):
        block_of(unit(701)).with_coarse(tmp_path / "coarse")
    (tmp_path / "coarse").write_bytes(b"IxPq")
    with pytest.raises(OSError, match="coarse has no vectors"):
        block_of(unit(700)).with_coarse(tmp_path / "coarse")


def test_scores_are_nearly_the_products_and_best_first() -> None:
    vectors = unit(500)
    query = unit(1, seed=5)[0]
    found = block_of(vectors).nearest(Probe.of(query), 50, EVERYTHING)
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)
    assert found.scores == pytest.approx(vectors[numbers_in(found)] @ query, abs=0.02)


def test_a_query_need_not_have_unit_length() -> None:
    vectors, query = unit(500), unit(1, seed=5)[0]
    block = block_of(vectors)
    one, other = block.nearest(Probe.of(query), 20, EVERYTHING), block.nearest(Probe.of(query * 1000), 20, EVERYTHING)
    assert numbers_in(one) == numbers_in(other)
    assert other.scores == pytest.approx(one.scores * 1000, rel=1e-4)


def test_k_may_be_larger_than_the_block() -> None:
    vectors = unit(7)
    assert sorted(numbers_in(block_of(vectors).nearest(Probe.of(vectors[0]), 4000, EVERYTHING))) == list(range(7))


def test_one_vector_alone() -> None:
    vectors = unit(1)
    block = block_of(vectors)
    assert numbers_in(block.nearest(Probe.of(vectors[0]), 10, EVERYTHING)) == [0]
    assert (len(block), block.dimension, block.living_ids().tolist()) == (1, DIM, [b"00000000"])


def test_rows_given_in_any_order_are_named_rightly() -> None:
    vectors, order = unit(300), np.random.default_rng(1).permutation(300)
    block = VectorBlock.make(names(order), order % 10, order // 4, vectors[order])
    assert block.living_ids().tolist() == names(range(300)).tolist()
    assert_exact(block, vectors)
    assert_exact(block, vectors, Selection({3}), [n for n in range(300) if n % 10 == 3])


# ---------------------------------------------------------------- selections


@pytest.mark.parametrize(
    ("datasets", "documents"),
    [
        ({3}, None),
        ({0, 1, 2, 3, 4, 5, 6, 7}, None),
        (range(10), None),
        (None, range(2000)),
        (None, range(100, 110)),
        ({2, 4}, range(1000, 2000)),
        ({1}, {0}),
    ],
    ids=["a tenth", "most", "all", "some documents", "few documents", "both", "one row"],
)
@pytest.mark.parametrize("size", [9000, 50_000], ids=["small", "large"])
def test_a_selection_is_searched_as_exactly_as_the_whole(
    datasets: Collection[int] | None, documents: Collection[int] | None, size: int
) -> None:
    vectors = unit(size, 16)
    among = [
        n
        for n in range(size)
        if (datasets is None or n % 10 in datasets) and (documents is None or n // 4 in documents)
    ]
    assert_exact(block_of(vectors), vectors, Selection(datasets, documents), among)


@pytest.mark.parametrize("far", [2_000_000_000_000, -5], ids=["far apart", "near each other"])
def test_documents_with_any_numbers_are_selected(far: int) -> None:
    vectors = unit(2000, 16)
    numbers = np.where(np.arange(2000) % 2 == 0, np.arange(2000), far)
    block = VectorBlock.make(names(range(2000)), np.ones(2000, np.int64), numbers, vectors)
    assert_exact(block, vectors, Selection(None, {far, 4}), [4, *range(1, 2000, 2)])
    assert_exact(block, vectors, Selection(None, np.array([0, 2, 1998, 3000])), [0, 2, 1998])


def test_a_wide_selection_of_what_is_far_from_the_query_is_found_all_the_same() -> None:
    """The rows near the query are all of another dataset, so that a deeper scan of everything finds none."""
    query = unit(1, seed=3)[0]
    vectors = unit(20_000)
    near = vectors @ query > np.quantile(vectors @ query, 0.5)
    block = VectorBlock.make(names(range(20_000)), near.astype(np.int64), np.arange(20_000), vectors)
    found = rescored(block, vectors, query, 10, Selection({0}))
    exact = nearest(vectors, query, 10, np.flatnonzero(~near))
    assert not near[found].any()  # hundreds are equally near within the rounding, so that not all are the same ones
    assert vectors[found] @ query == pytest.approx(vectors[exact] @ query, abs=0.005)


@pytest.mark.parametrize("selection", [Selection(()), Selection({99}), Selection(None, ()), Selection({1}, {10**9})])
def test_where_nothing_is_selected_nothing_is_found(selection: Selection) -> None:
    vectors = unit(100)
    found = block_of(vectors).nearest(Probe.of(vectors[0]), 5, selection)
    assert (found.ids.tolist(), found.scores.tolist()) == ([], [])


# ---------------------------------------------------------------- deletes


@pytest.mark.parametrize("kept", [0.9, 0.6, 0.3, 0.01])
def test_what_is_deleted_is_not_found(kept: float) -> None:
    vectors = unit(6000)
    stays = np.random.default_rng(2).random(6000) < kept
    block = block_of(vectors).without(names(np.flatnonzero(~stays)))
    assert block is not None
    left = np.flatnonzero(stays)
    assert block.living_ids().tolist() == names(left).tolist()
    assert len(block) <= 2 * len(left) + 1, "the memory of the deleted ones is given back"
    assert_exact(block, vectors, EVERYTHING, left)
    assert_exact(block, vectors, Selection({1, 2}), [n for n in left if n % 10 in (1, 2)])


def test_deleting_leaves_the_block_as_it_was_for_others() -> None:
    vectors = unit(10)
    before = block_of(vectors)
    after = before.without(names([3]))
    assert numbers_in(before.nearest(Probe.of(vectors[3]), 1, EVERYTHING)) == [3]
    assert after is not None
    assert 3 not in numbers_in(after.nearest(Probe.of(vectors[3]), 10, EVERYTHING))


def test_deleting_twice_and_what_is_not_there_and_everything() -> None:
    vectors = unit(10)
    block = block_of(vectors)
    assert block.without(names([50, 7_000_000])) is block
    assert block.without(names([])) is block
    less = block.without(names([3, 3, 50]))
    assert less is not None
    assert less.without(names([3])) is less
    assert less.rows_of(names([3, 4])).tolist() == [4]
    assert less.without(names(range(10))) is None


def test_rows_are_held_that_are_the_same_but_for_rounding() -> None:
    vectors, others, peaks = unit(100), unit(100, seed=9), np.eye(DIM, dtype=np.float32)
    block = merged([block_of(vectors), block_of(peaks, first=100)]).without(names([3]))
    assert block is not None
    assert block.scale < block_of(vectors).scale, "components were rounded twice"
    assert block.holds(block_of(vectors)).tolist() == [n != 3 for n in range(100)]
    assert not block.holds(block_of(vectors, first=500)).any()
    assert not block.holds(block_of(others)).any()
    assert not block.holds(replace(block_of(vectors), dataset_ids=np.full(100, 77))).any()
    assert not block.holds(replace(block_of(vectors), document_ids=np.full(100, 77))).any()


def test_the_best_rows_of_all_scans_are_kept_and_those_within_a_margin() -> None:
    vectors = unit(400)
    probe = Probe.of(vectors[0])
    found = [
        block_of(part, first=200 * n).nearest(probe, 100, EVERYTHING) for n, part in enumerate(np.split(vectors, 2))
    ]
    scores = np.sort(np.concatenate([part.scores for part in found]))[::-1]
    for margin, least in ((0.0, scores[9]), (0.05, scores[9] - 0.05), (9.0, -9.0)):
        kept = np.concatenate([part.scores for part in best(found, 10, margin)])
        assert np.sort(kept)[::-1].tolist() == scores[scores >= least].tolist()


# ---------------------------------------------------------------- merges


def test_blocks_of_different_scales_are_one_after_a_merge() -> None:
    vectors = unit(4000)
    vectors[3000:] = 0.01  # all components alike: a larger scale, and a smaller one with a single large component
    vectors[3000:, 0] = np.linspace(0.5, 1.0, 1000)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    parts = [block_of(vectors[:2900]), block_of(vectors[2900:3000], first=2900), block_of(vectors[3000:], first=3000)]
    assert len({part.scale for part in parts}) == 3
    one = merged(parts)
    assert one.living_ids().tolist() == names(range(4000)).tolist()
    assert one.scale == min(part.scale for part in parts)
    for query in unit(20, seed=99):
        scores = [float(vectors[n] @ query) for n in rescored(one, vectors, query, 10, EVERYTHING)]
        assert scores == pytest.approx(sorted((vectors @ query).tolist(), reverse=True)[:10], abs=1e-5)


def test_many_merges_cost_no_exactness() -> None:
    vectors = unit(3000, spread=0.5)
    block = block_of(vectors[:10])
    for start in range(10, 3000, 130):
        block = merged([block, block_of(vectors[start : start + 130], first=start)])
    assert len(block) == 3000
    assert_exact(block, vectors)


def test_a_merge_leaves_out_what_was_deleted() -> None:
    vectors = unit(200)
    one, other = block_of(vectors[:100]).without(names([5])), block_of(vectors[100:], first=100).without(names([150]))
    assert one is not None
    assert other is not None
    both = merged([one, other])
    assert (len(both), both.alive) == (198, None)
    assert_exact(both, vectors, EVERYTHING, set(range(200)) - {5, 150})


def test_threads_that_make_the_first_blocks_of_a_process_wait_for_the_library() -> None:
    done = subprocess.run([sys.executable, "-c", AT_ONCE], cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
