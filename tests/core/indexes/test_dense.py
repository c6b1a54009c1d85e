"""The dense index over a real ledger: exact search in memory, and in Chroma what does not fit."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest

from braid.core.braid import Braid, IndexOptions
from braid.core.errors import BraidError, EmbeddingError, IndexUnavailableError, InvalidInputError
from braid.core.indexes import vector_memory
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.chroma.copy import ChromaCopy
from braid.core.indexes.dense import MIN_CANDIDATES, DenseIndex
from braid.core.indexes.vector_block import EVERYTHING, Found, Selection, VectorBlock
from braid.core.indexes.vector_memory import Loaded
from braid.core.ledger.change_log import ChangeLog, IndexedChunk, VectorBatch
from braid.core.ledger.ledger import Ledger
from braid.core.vector import Vector
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, add_notes, catch_up, document, eventually

DIM = 8
LARGE = 1024
"""Components of vectors of which a thousand fill a megabyte."""
MODEL = HashEmbeddings(DIM, fingerprint="fake:first")
OTHER = HashEmbeddings(DIM, fingerprint="fake:other")


def unit(count: int, dimension: int = DIM, *, seed: int = 0) -> Vector:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    normal: Vector = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normal


VECTORS = unit(4000)


class Shelf:
    """Collections in a ledger, whose chunks have the vectors that the test says; and the dense index over them."""

    def __init__(self, folder: Path) -> None:
        self.ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
        self.changes = ChangeLog(self.ledger.database)
        self.copy = ChromaCopy(folder / "dense")
        self.model = MODEL
        known = {model.fingerprint: model for model in (MODEL, OTHER)}
        self.models = AnsweringModels(lambda _: self.model, known.__getitem__)
        self._opened: list[DenseIndex] = []
        self._users: dict[str, int] = {}

    def open(self, changes: ChangeLog | None = None, **options: Any) -> DenseIndex:
        """Open the index, as a process does that has just begun."""
        self._opened.append(DenseIndex(changes or self.changes, self.models, self.copy, **options))
        return self._opened[-1]

    def dataset(self, user: str = "ann") -> int:
        """Add a dataset to the user's collection: ``user_1`` for the first user."""
        if user not in self._users:
            self._users[user] = self.ledger.add_user(user).id
        number = len(self.ledger.datasets(self._users[user]))
        return self.ledger.add_dataset(self._users[user], f"notes {number}").id

    def put(self, dataset: int, source: str, vectors: Vector, *, model: HashEmbeddings | None = None) -> list[str]:
        """Store a document of one chunk per vector; return the chunks' ids."""
        texts = [f"{source} {number}" for number in range(len(vectors))]
        put = self.ledger.put_document(dataset, document(source, *texts))
        passages = self.ledger.document_passages(put.document_id, [dataset])
        ids = [passage.chunk_id for passage in sorted(passages, key=lambda passage: passage.position)]
        self.embed(ids, vectors, model)
        return ids

    def embed(self, ids: Sequence[str], vectors: Vector, model: HashEmbeddings | None = None) -> None:
        self.ledger.store_embeddings((model or self.model).fingerprint, list(ids), vectors)

    def indexed(self, ids: Collection[str], collection: str = "user_1") -> list[IndexedChunk]:
        return self.changes.chunks(collection, list(ids), self.model.fingerprint)

    def apply(self, index: DenseIndex, ids: Collection[str], collection: str = "user_1") -> None:
        """Let the index follow: those of the chunks that are gone are deleted."""
        present = self.indexed(ids, collection)
        index.apply(collection, present, sorted(set(ids) - {chunk.id for chunk in present}))

    def close(self) -> None:
        for index in self._opened:
            index.close()
        self.copy.close()
        self.ledger.close()


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    opened = Shelf(tmp_path)
    yield opened
    opened.close()


def found(index: DenseIndex, vector: Vector, k: int = 1, collection: str = "user_1", **options: Any) -> list[str]:
    return [hit.chunk_id for hit in index.search(collection, vector, k, **options)]


# ---------------------------------------------------------------- searching


def test_the_best_come_first_with_cosine_as_score(shelf: Shelf) -> None:
    ids, query = shelf.put(shelf.dataset(), "a", VECTORS[:50]), VECTORS[60]

    hits = shelf.open().search("user_1", query, 10)

    cosines = VECTORS[:50] @ query
    assert [hit.chunk_id for hit in hits] == [ids[n] for n in np.argsort(-cosines)[:10]]
    assert [hit.score for hit in hits] == pytest.approx(sorted(cosines, reverse=True)[:10], abs=1e-6)


def test_a_vector_that_the_ledger_has_is_found_at_once(shelf: Shelf) -> None:
    """Nothing is applied, nothing is checked: also after a process was killed."""
    ids = shelf.put(shelf.dataset(), "a", VECTORS[:300])
    index = shelf.open()
    assert [found(index, VECTORS[n]) for n in range(300)] == [[each] for each in ids]
    assert sorted(index.ids("user_1")) == sorted(ids)
    assert index.count("user_1") == 300


def test_equal_scores_stand_in_the_order_of_ids(shelf: Shelf) -> None:
    ids = shelf.put(shelf.dataset(), "a", np.stack([VECTORS[0]] * 40))

    assert found(shelf.open(), VECTORS[0], 40) == sorted(ids)
    assert found(shelf.open(), VECTORS[0], 3) == sorted(ids)[:3]


def test_k_may_be_larger_than_the_collection(shelf: Shelf) -> None:
    shelf.put(shelf.dataset(), "a", VECTORS[:3])

    assert len(found(shelf.open(), VECTORS[0], 4000)) == 3


def test_more_hits_than_are_usually_scored_again_are_exact_too(shelf: Shelf) -> None:
    ids = shelf.put(shelf.dataset(), "a", VECTORS)
    best = np.argsort(-(VECTORS @ VECTORS[7]), kind="stable")[: 3 * MIN_CANDIDATES]

    hits = shelf.open().search("user_1", VECTORS[7], 3 * MIN_CANDIDATES)

    assert [hit.score for hit in hits] == pytest.approx((VECTORS[best] @ VECTORS[7]).tolist(), abs=1e-6)
    assert {hit.chunk_id for hit in hits} == {ids[n] for n in best}


def test_nothing_is_found_where_nothing_is(shelf: Shelf) -> None:
    dataset, index = shelf.dataset(), shelf.open()
    ids = shelf.put(dataset, "a", VECTORS[:3])
    assert len(found(index, VECTORS[0], 5)) == 3
    shelf.ledger.remove_document(dataset, "a")
    shelf.apply(index, ids)

    assert found(index, VECTORS[0], 5) == []
    assert found(index, VECTORS[0], 5, "user_8") == []
    assert (index.count("user_1"), index.count("user_8")) == (0, 0)
    assert list(index.ids("user_8")) == []
    assert index.check("user_1") == index.check("user_8") == ""
    assert index.dimension("user_8") is None


def test_k_below_one_is_an_error(shelf: Shelf) -> None:
    with pytest.raises(InvalidInputError, match="k is 0"):
        shelf.open().search("user_1", VECTORS[0], 0)


@pytest.mark.parametrize(
    ("datasets", "documents", "expected"),
    [
        (None, None, "abcd"),
        ({1}, None, "ab"),
        ((1, 2), None, "abc"),
        (frozenset({2}), None, "c"),
        ((), None, ""),
        (range(2, 9), None, "cd"),
        ({1}, {2}, "b"),
        ({1}, {1, 2, 3, 4}, "ab"),
        (None, {2, 4}, "bd"),
        (None, (), ""),
        ({3}, {1}, ""),
        ({99}, None, ""),
    ],
)
def test_a_selection_is_what_is_searched(
    datasets: Collection[int] | None, documents: Collection[int] | None, expected: str, shelf: Shelf
) -> None:
    first, second, third = shelf.dataset(), shelf.dataset(), shelf.dataset()
    places = {"a": first, "b": first, "c": second, "d": third}  # documents 1 to 4
    names = {shelf.put(place, key, VECTORS[n : n + 1])[0]: key for n, (key, place) in enumerate(places.items())}

    hits = found(shelf.open(), VECTORS[0], 10, selection=Selection(datasets, documents))

    assert sorted(names[hit] for hit in hits) == list(expected)


def test_several_collections_are_searched_at_once(shelf: Shelf) -> None:
    ids = {f"user_{n + 1}": shelf.put(shelf.dataset(name), name, unit(300, seed=n)) for n, name in enumerate("abc")}
    vectors = {f"user_{n + 1}": unit(300, seed=n) for n in range(3)}
    query, index = VECTORS[5], shelf.open()
    everything = sorted(
        (
            (-float(vector @ query), chunk_id)
            for name in ids
            for vector, chunk_id in zip(vectors[name], ids[name], strict=True)
        )
    )
    where = {name: Selection() for name in (*ids, "user_9")}

    each = index.search_all(where, query, 10).hits
    pooled = index.search_all(where, query, 10, pooled=True).hits

    assert set(each) == set(pooled) == set(where)
    for name in ids:
        assert each[name] == index.search(name, query, 10)
    hits = [hit for of_one in pooled.values() if not isinstance(of_one, BraidError) for hit in of_one]
    assert sorted((-hit.score, hit.chunk_id) for hit in hits)[:10] == [
        (pytest.approx(score, abs=1e-6), chunk_id) for score, chunk_id in everything[:10]
    ]
    assert each["user_9"] == pooled["user_9"] == []


@contextmanager
def scanned_by(monkeypatch: pytest.MonkeyPatch, *, meet: threading.Barrier | None = None) -> Iterator[list[str]]:
    """The threads that scan collections; with ``meet``, two of them scan at the same time, or the test fails."""
    threads: list[str] = []
    nearest = Loaded.nearest

    def observed(self: Loaded, *args: Any, **kwargs: Any) -> Found:
        threads.append(threading.current_thread().name)
        if meet is not None:
            meet.wait(WAIT_S)
        return nearest(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(vector_memory, "ROWS_TO_SHARE", 500)
        patch.setattr(Loaded, "nearest", observed)
        yield threads


def test_a_second_thread_helps_to_scan_many_rows(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    for n, name in enumerate("abcd"):
        shelf.put(shelf.dataset(name), name, unit(300, seed=n))
    index, query, where = shelf.open(), VECTORS[5], {f"user_{n}": EVERYTHING for n in range(1, 5)}
    alone = index.search_all(where, query, 10, pooled=True)
    with scanned_by(monkeypatch, meet=threading.Barrier(2)) as threads:
        assert index.search_all(where, query, 10, pooled=True) == alone
    assert len(threads) == 4
    assert len(set(threads)) == 2
    with scanned_by(monkeypatch) as threads:
        index.search_all(dict(list(where.items())[:1]), query, 10)
    assert threads == [threading.current_thread().name], "few rows, in one collection"


def test_a_scan_is_not_helped_where_no_processor_is_free(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    for n, name in enumerate("abc"):
        shelf.put(shelf.dataset(name), name, unit(300, seed=n))
    asked = threading.Event()

    def processor() -> AbstractContextManager[bool]:
        asked.set()
        return nullcontext(False)

    index, query, where = shelf.open(processor=processor), VECTORS[5], {f"user_{n}": EVERYTHING for n in range(1, 4)}
    alone = index.search_all(where, query, 10)
    with scanned_by(monkeypatch) as threads:
        for _ in range(3):
            assert index.search_all(where, query, 10) == alone
        index.close()
    assert threads == [threading.current_thread().name] * 9
    assert asked.is_set()


def test_a_search_of_more_than_fits_into_memory_lets_go_of_what_it_has_scanned(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each collection fills half of the memory."""
    names = [f"owner-{n}" for n in range(12)]
    for n, name in enumerate(names):
        shelf.put(shelf.dataset(name), name, unit(500, LARGE, seed=n))
    index, where = shelf.open(memory_mb=1), {f"user_{n + 1}": EVERYTHING for n in range(len(names))}
    living, most = WeakSet[Any](), 0
    made = VectorBlock._of_codes

    def observed(*args: Any) -> VectorBlock:
        nonlocal most
        block = made(*args)
        living.add(block.index)
        most = max(most, len(living))
        return block

    monkeypatch.setattr(VectorBlock, "_of_codes", observed)
    answers = index.search_all(where, unit(1, LARGE)[0], 3).hits
    assert all(not isinstance(hits, BraidError) and len(hits) == 3 for hits in answers.values())
    assert 1 < most <= 5


def test_what_fails_in_the_second_thread_is_raised(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    for n, name in enumerate("ab"):
        shelf.put(shelf.dataset(name), name, unit(300, seed=n))
    index, query, where = shelf.open(), VECTORS[5], {"user_1": EVERYTHING, "user_2": EVERYTHING}
    index.search_all(where, query, 10)
    meet, nearest = threading.Barrier(2), Loaded.nearest

    def broken(self: Loaded, *args: Any, **kwargs: Any) -> Found:
        meet.wait(WAIT_S)
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError("no room for the scan")
        return nearest(self, *args, **kwargs)

    monkeypatch.setattr(vector_memory, "ROWS_TO_SHARE", 500)
    monkeypatch.setattr(Loaded, "nearest", broken)
    with pytest.raises(MemoryError, match="no room"):
        index.search_all(where, query, 10)


def test_the_answer_tells_how_far_the_cosines_of_a_sample_spread(shelf: Shelf) -> None:
    ids = {
        name: dict(zip(shelf.put(shelf.dataset(name), name, unit(300, seed=n)), unit(300, seed=n), strict=True))
        for n, name in enumerate("ab")
    }
    index, query = shelf.open(), VECTORS[5]
    everything = {**ids["a"], **ids["b"]}
    for names, chosen in ((["user_1"], ids["a"]), (["user_1", "user_2"], everything)):
        sample = [float(chosen[chunk_id] @ query) for chunk_id in sorted(chosen)[:100]]
        where = dict.fromkeys(names, EVERYTHING)
        assert index.search_all(where, query, 5).spread == pytest.approx(float(np.std(sample)), abs=0.005)
    assert index.search_all({"user_9": EVERYTHING}, query, 5).spread == 0.0


def test_the_dimension_is_that_of_the_vectors(shelf: Shelf) -> None:
    shelf.put(shelf.dataset(), "a", VECTORS[:5])
    assert shelf.open().dimension("user_1") == DIM


@pytest.mark.parametrize("vector", [VECTORS[:2], np.ones(DIM + 1, np.float32)], ids=["matrix", "another dimension"])
def test_what_is_not_a_vector_of_the_collection_is_refused(vector: Vector, shelf: Shelf) -> None:
    shelf.put(shelf.dataset(), "a", VECTORS[:2])
    with pytest.raises(EmbeddingError, match="user_1 has vectors of 8 dimensions"):
        shelf.open().search("user_1", vector, 3)


# ---------------------------------------------------------------- following


def test_a_chunk_put_again_replaces_the_first(shelf: Shelf) -> None:
    dataset, index = shelf.dataset(), shelf.open()
    (chunk_id,) = shelf.put(dataset, "a", VECTORS[1:2])
    assert found(index, VECTORS[1]) == [chunk_id]
    shelf.embed([chunk_id], VECTORS[2:3])
    shelf.apply(index, [chunk_id])

    assert index.count("user_1") == 1
    assert index.search("user_1", VECTORS[2], 1)[0].score == pytest.approx(1.0, abs=1e-6)


def test_a_chunk_that_moves_to_another_dataset_is_found_there_alone(shelf: Shelf) -> None:
    first, index = shelf.dataset(), shelf.open()
    (chunk_id,) = shelf.put(first, "a", VECTORS[1:2])
    assert found(index, VECTORS[1]) == [chunk_id]
    index.apply("user_1", [IndexedChunk(chunk_id, 9, 77, 1, "", VECTORS[1])], [])

    assert found(index, VECTORS[1], selection=Selection({first})) == []
    assert found(index, VECTORS[1], selection=Selection({77}, {9})) == [chunk_id]


def test_applying_twice_changes_nothing(shelf: Shelf) -> None:
    dataset, index = shelf.dataset(), shelf.open()
    found(index, VECTORS[0])
    ids = shelf.put(dataset, "a", VECTORS[:20])
    for _ in range(2):
        shelf.apply(index, [*ids, "c30", "c31"])

    assert sorted(index.ids("user_1")) == sorted(ids)
    assert [found(index, VECTORS[n]) for n in range(20)] == [[each] for each in ids]


def test_in_one_call_the_last_version_wins_and_an_upsert_wins_over_a_delete(shelf: Shelf) -> None:
    dataset, index = shelf.dataset(), shelf.open()
    one, two = shelf.put(dataset, "a", VECTORS[1:3])
    first, second = shelf.indexed([one])[0], shelf.indexed([two])[0]
    found(index, VECTORS[0])
    shelf.embed([one], VECTORS[5:6])
    index.apply("user_1", [first, second, shelf.indexed([one])[0]], [two])

    assert sorted(index.ids("user_1")) == sorted([one, two])
    assert found(index, VECTORS[5]) == [one]


def test_deletes_of_what_is_not_there_do_nothing(shelf: Shelf) -> None:
    index = shelf.open()
    index.apply("user_1", [], ["c1"])

    assert index.collections() == []


def test_many_small_changes_are_all_there_in_the_end(shelf: Shelf) -> None:
    """Blocks are merged as they grow, and shrink as their rows go."""
    dataset, index, dice = shelf.dataset(), shelf.open(), random.Random(1)
    found(index, VECTORS[0])
    expected: dict[str, int] = {}
    for turn, start in enumerate(range(0, 3000, 60)):
        ids = shelf.put(dataset, f"{turn}", VECTORS[start : start + 60])
        expected |= dict(zip(ids, range(start, start + 60), strict=True))
        gone = dice.sample(sorted(expected), 20)
        index.apply("user_1", shelf.indexed(ids), gone)
        for chunk_id in set(gone) - set(ids):
            del expected[chunk_id]

    assert sorted(index.ids("user_1")) == sorted(expected)
    numbers = np.array(sorted(expected.values()))
    names = {number: chunk_id for chunk_id, number in expected.items()}
    for query in unit(10, seed=4):
        exact = numbers[np.argsort(-(VECTORS[numbers] @ query), kind="stable")[:10]]
        assert found(index, query, 10) == [names[int(number)] for number in exact]
    assert index.size_bytes <= 2 * len(expected) * (48 + DIM)


def test_what_was_forgotten_is_loaded_again(shelf: Shelf) -> None:
    ids, index = shelf.put(shelf.dataset(), "a", VECTORS[:3]), shelf.open()
    for _ in range(2):
        assert sorted(found(index, VECTORS[0], 9)) == sorted(ids)
        assert index.collections() == ["user_1"]
        index.drop("user_1")
        index.drop("user_1")
        assert index.collections() == []
        assert index.size_bytes == 0
    assert not index.reset()


def test_vectors_of_another_size_take_the_place_of_all(shelf: Shelf) -> None:
    """As after embedding everything again with a model that has changed behind its name."""
    ids, index = shelf.put(shelf.dataset(), "a", VECTORS[:3]), shelf.open()
    found(index, VECTORS[0])
    longer = unit(3, DIM + 1)
    shelf.embed(ids, longer)
    shelf.apply(index, ids)

    assert found(index, longer[1]) == [ids[1]]
    assert index.dimension("user_1") == DIM + 1


# ---------------------------------------------------------------- memory


def test_collections_that_were_not_used_for_longest_give_way_and_no_result_is_lost(shelf: Shelf) -> None:
    vectors = {f"user_{n + 1}": unit(300, LARGE, seed=n) for n in range(8)}
    ids = {name: shelf.put(shelf.dataset(name), "a", of_one) for name, of_one in vectors.items()}
    index = shelf.open(memory_mb=1)

    for _ in range(2):
        for name, of_one in vectors.items():
            assert [found(index, of_one[n], collection=name) for n in (0, 299)] == [[ids[name][0]], [ids[name][299]]]
            assert name in index.collections()
            assert index.size_bytes <= 2**20
    assert index.collections() == ["user_6", "user_7", "user_8"]
    found(index, vectors["user_6"][0], collection="user_6")
    found(index, vectors["user_1"][0], collection="user_1")
    assert index.collections() == ["user_1", "user_6", "user_8"]


def test_what_is_asked_for_and_does_not_exist_makes_none_give_way(shelf: Shelf) -> None:
    vectors = unit(900, LARGE)
    shelf.put(shelf.dataset(), "a", vectors)
    index = shelf.open(memory_mb=1)
    found(index, vectors[0])
    for number in range(10, 30):
        assert found(index, vectors[0], collection=f"user_{number}") == []
    assert "user_1" in index.collections()


def test_in_exact_mode_a_collection_is_searched_in_memory_whatever_its_size(shelf: Shelf) -> None:
    vectors = unit(1200, LARGE)
    ids, index = shelf.put(shelf.dataset(), "a", vectors), shelf.open(memory_mb=1, mode="exact")

    assert found(index, vectors[700]) == [ids[700]]
    assert index.size_bytes > 2**20
    assert not _asks_chroma(index)


def test_a_collection_that_is_too_large_is_searched_in_chroma_until_it_fits_again(shelf: Shelf) -> None:
    dataset, vectors = shelf.dataset(), unit(1200, LARGE)
    kept, index = shelf.put(dataset, "kept", vectors[:600]), shelf.open(memory_mb=1)
    assert found(index, vectors[3]) == [kept[3]]
    more = shelf.put(dataset, "more", vectors[600:])
    shelf.copy.apply("user_1", shelf.indexed([*kept, *more]), [])
    shelf.apply(index, more)

    assert _asks_chroma(index)
    assert index.size_bytes == 0
    for query, expected in ((vectors[3], kept[3]), (vectors[900], more[300])):
        hits = _patient(index, query)
        assert (hits[0].chunk_id, hits[0].score) == (expected, pytest.approx(1.0, abs=1e-4))
    assert sorted(index.ids("user_1")) == sorted([*kept, *more])
    assert index.count("user_1") == 1200
    document_ids = {chunk.document_id for chunk in shelf.indexed(more[:1])}
    assert {hit.chunk_id for hit in _patient(index, vectors[3], Selection({dataset}, document_ids))} <= set(more)
    assert _patient(index, vectors[3], Selection({99})) == []

    shelf.ledger.remove_document(dataset, "more")
    shelf.apply(index, more)

    assert found(index, vectors[3]) == [kept[3]]
    assert not _asks_chroma(index)
    assert sorted(index.ids("user_1")) == sorted(kept)


def _asks_chroma(index: DenseIndex, collection: str = "user_1", dimension: int = LARGE) -> bool:
    answer = index.search_all({collection: EVERYTHING}, unit(1, dimension)[0], 5, timeout_s=60)
    return collection in answer.from_chroma


def _patient(index: DenseIndex, query: Vector, selection: Selection = EVERYTHING) -> list[Any]:
    """Search with the time that a process needs to begin."""
    answer = index.search_all({"user_1": selection}, query, 5, timeout_s=60).hits["user_1"]
    assert not isinstance(answer, BraidError), answer
    return answer


def test_with_chroma_as_the_place_of_search_nothing_is_loaded(shelf: Shelf) -> None:
    ids, index = shelf.put(shelf.dataset(), "a", VECTORS[:20]), shelf.open(mode="chroma")
    assert _patient(index, VECTORS[3]) == []
    shelf.copy.apply("user_1", shelf.indexed(ids), [])

    assert _patient(index, VECTORS[3])[0].chunk_id == ids[3]
    assert _asks_chroma(index, dimension=DIM)
    assert _asks_chroma(index, "user_9", dimension=DIM)
    assert (index.collections(), index.size_bytes) == ([], 0)


# ---------------------------------------------------------------- loading


class SlowLog(ChangeLog):
    """Has the vectors of a collection only once it is allowed to."""

    def __init__(self, shelf: Shelf, slow: str) -> None:
        super().__init__(shelf.ledger.database)
        self.go_on = threading.Event()
        self.asked = 0
        self._slow = slow

    def vectors_of(self, collection: str, model: str) -> Iterator[VectorBatch]:
        if collection == self._slow:
            self.asked += 1
            self.go_on.wait(WAIT_S)
        return super().vectors_of(collection, model)


def test_a_collection_that_is_still_being_loaded_is_named_while_others_answer(shelf: Shelf) -> None:
    slow, quick = (shelf.put(shelf.dataset(name), "a", VECTORS[:5]) for name in ("ann", "ben"))
    log = SlowLog(shelf, "user_1")
    index = shelf.open(log)
    where = {"user_1": Selection(), "user_2": Selection()}

    answers = index.search_all(where, VECTORS[2], 1, timeout_s=0.2).hits

    assert isinstance(answers["user_1"], IndexUnavailableError)
    assert "the vectors of user_1 are being loaded" in str(answers["user_1"])
    assert isinstance(answers["user_2"], IndexUnavailableError)  # nothing is left of the time
    assert found(index, VECTORS[2], collection="user_2") == [quick[2]]
    log.go_on.set()
    assert eventually(lambda: "user_1" in index.collections())
    assert found(index, VECTORS[2]) == [slow[2]]


def test_many_searches_load_a_collection_once(shelf: Shelf) -> None:
    ids, log = shelf.put(shelf.dataset(), "a", VECTORS[:50]), SlowLog(shelf, "user_1")
    index = shelf.open(log)
    with ThreadPoolExecutor(12) as pool:
        searches = [pool.submit(found, index, VECTORS[n]) for n in range(12)]
        assert eventually(lambda: log.asked)
        log.go_on.set()
        assert [search.result() for search in searches] == [[each] for each in ids[:12]]
    assert log.asked == 1


def test_searches_that_wait_for_one_collection_keep_no_other_waiting(shelf: Shelf) -> None:
    ids, log = shelf.put(shelf.dataset(), "a", VECTORS[:5]), SlowLog(shelf, "user_1")
    index = shelf.open(log)
    with ThreadPoolExecutor(4) as pool:
        searches = [pool.submit(found, index, VECTORS[0]) for _ in range(4)]
        try:
            assert eventually(lambda: log.asked)
            assert index.search("user_2", VECTORS[0], 3, timeout_s=20.0) == []
        finally:
            log.go_on.set()
        assert [search.result() for search in searches] == [[ids[0]]] * 4


def test_a_change_while_its_collection_is_loaded_is_not_lost(shelf: Shelf) -> None:
    """What is read may be older than the change, which is then applied to nothing."""
    dataset = shelf.dataset()
    old = shelf.put(dataset, "old", VECTORS[:5])

    class Held(SlowLog):
        def vectors_of(self, collection: str, model: str) -> Iterator[VectorBatch]:
            read = list(ChangeLog.vectors_of(self, collection, model))
            self.asked += 1
            self.go_on.wait(WAIT_S)
            return iter(read)

    log = Held(shelf, "user_1")
    index = shelf.open(log)
    with ThreadPoolExecutor(2) as pool:
        search = pool.submit(found, index, VECTORS[0])
        assert eventually(lambda: log.asked)
        new = shelf.put(dataset, "new", VECTORS[5:8])
        shelf.ledger.remove_document(dataset, "old")
        following = pool.submit(shelf.apply, index, [*old, *new])
        log.go_on.set()
        search.result()
        following.result()
    assert sorted(index.ids("user_1")) == sorted(new)


def test_searches_go_on_while_collections_are_loaded_forgotten_and_changed(shelf: Shelf) -> None:
    datasets = {f"user_{n + 1}": shelf.dataset(f"u{n}") for n in range(4)}
    vectors = {name: unit(300, LARGE, seed=n) for n, name in enumerate(datasets)}
    ids = {name: shelf.put(dataset, "a", vectors[name][:150]) for name, dataset in datasets.items()}
    index, stop = shelf.open(memory_mb=1), threading.Event()

    def search(seed: int) -> int:
        dice, searches = random.Random(seed), 0
        while not stop.is_set():
            name = dice.choice(sorted(datasets))
            number = dice.randrange(len(ids[name]))
            assert found(index, vectors[name][number], collection=name) == [ids[name][number]]
            searches += 1
        return searches

    with ThreadPoolExecutor(4) as pool:
        searching = [pool.submit(search, seed) for seed in range(4)]
        try:
            for turn in range(10):
                for name, dataset in datasets.items():
                    start = 150 + 15 * turn
                    new = shelf.put(dataset, f"{turn}", vectors[name][start : start + 15])
                    shelf.apply(index, new, name)
                    ids[name] = [*ids[name], *new]  # from now on it must be found
                    if turn % 3 == 0:
                        index.drop(name)
        finally:
            stop.set()
        assert all(future.result() > 0 for future in searching)


def test_a_closed_index_refuses(shelf: Shelf) -> None:
    shelf.put(shelf.dataset(), "a", VECTORS[:3])
    index = shelf.open()
    found(index, VECTORS[0])
    index.close()

    with pytest.raises(IndexUnavailableError, match="closed"):
        index.search("user_1", VECTORS[0], 3)


# ---------------------------------------------------------------- a change of model


def test_the_vectors_of_the_last_model_answer_until_the_others_are_complete(shelf: Shelf) -> None:
    ids, index = shelf.put(shelf.dataset(), "a", VECTORS[:20]), shelf.open()
    shelf.models.begin("user_1", MODEL)
    assert found(index, VECTORS[3], model=MODEL.fingerprint) == [ids[3]]
    shelf.model = OTHER
    shelf.embed(ids[:10], VECTORS[100:110])
    index.apply("user_1", shelf.indexed(ids[:10]), [])

    assert found(index, VECTORS[3], model=MODEL.fingerprint) == [ids[3]]
    assert found(shelf.open(), VECTORS[3], model=MODEL.fingerprint) == [ids[3]]
    assert index.count("user_1") == 20

    shelf.embed(ids[10:], VECTORS[110:120])
    assert shelf.models.keep("user_1", OTHER.fingerprint)
    shelf.changes.forget_other_models("user_1", OTHER.fingerprint)
    assert found(index, VECTORS[3], model=MODEL.fingerprint) == [ids[3]], "a search that had begun before"
    assert found(index, VECTORS[103], model=OTHER.fingerprint) == [ids[3]]
    assert index.search("user_1", VECTORS[103], 1)[0].score == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(IndexUnavailableError, match="the embedding model of user_1 has just changed"):
        found(index, VECTORS[3], model=MODEL.fingerprint)


def test_vectors_that_are_deleted_while_they_are_read_are_not_taken_for_none(shelf: Shelf) -> None:
    ids, log = shelf.put(shelf.dataset(), "a", VECTORS[:5]), SlowLog(shelf, "user_1")
    shelf.models.begin("user_1", MODEL)
    index = shelf.open(log)
    with ThreadPoolExecutor(1) as pool:
        search = pool.submit(found, index, VECTORS[0])
        assert eventually(lambda: log.asked)
        shelf.embed(ids, VECTORS[10:15], OTHER)
        shelf.model = OTHER
        assert shelf.models.keep("user_1", OTHER.fingerprint)
        shelf.changes.forget_other_models("user_1", OTHER.fingerprint)
        log.go_on.set()
        with pytest.raises(IndexUnavailableError, match="has just changed"):
            search.result()
    assert found(index, VECTORS[12]) == [ids[2]]


def test_a_query_is_not_compared_with_vectors_of_another_model(shelf: Shelf) -> None:
    shelf.put(shelf.dataset(), "a", VECTORS[:20])
    with pytest.raises(IndexUnavailableError, match="the embedding model of user_1 has just changed"):
        found(shelf.open(), VECTORS[3], model=OTHER.fingerprint)


def test_a_model_that_cannot_be_loaded_any_more_does_not_answer(shelf: Shelf) -> None:
    def load(fingerprint: str) -> HashEmbeddings:
        raise InvalidInputError(f"{fingerprint!r} is not a model")

    models = AnsweringModels(lambda _: shelf.model, load)
    assert models.keep("user_1", MODEL.fingerprint)  # the one that is wanted needs no loading
    assert not models.keep("user_1", "gone:model")
    assert models.answering("user_1") is MODEL
    models.begin("user_1", MODEL)
    shelf.model = OTHER
    assert models.answering("user_1") is MODEL
    assert (models.answering_version("user_1"), models.wanted_version("user_1")) == ("fake:first", "fake:other")
    assert models.answering("user_2") is OTHER


# ---------------------------------------------------------------- in a search


@pytest.fixture
def open_braid(tmp_path: Path) -> Iterator[Callable[..., Braid]]:
    opened: list[Braid] = []

    def open_one(**options: Any) -> Braid:
        opened.append(Braid(tmp_path, embedding_model=HashEmbeddings(), index_options=IndexOptions(**options)))
        return opened[-1]

    yield open_one
    for braid in opened:
        braid.close()


def test_a_search_says_that_vectors_are_being_loaded(
    open_braid: Callable[..., Braid], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_braid() as braid:
        braid.ledger.put_document(add_notes(braid.ledger), document("a", "The cat sat on the mat"))
        catch_up(braid)
    go_on, read = threading.Event(), ChangeLog.vectors_of

    def read_later(log: ChangeLog, collection: str, model: str) -> Iterator[VectorBatch]:
        go_on.wait(WAIT_S)
        return read(log, collection, model)

    monkeypatch.setattr(ChangeLog, "vectors_of", read_later)
    braid = open_braid(leg_timeout_s=0.5)
    try:
        result = braid.search("cat", user_id=1)
        assert [hit.passage.text for hit in result.hits] == ["The cat sat on the mat"]
        (missing,) = result.degraded
        assert (missing.leg, missing.collection) == ("dense", "user_1")
        assert "are being loaded" in missing.reason
    finally:
        go_on.set()
    assert eventually(lambda: not braid.search("cat", user_id=1, mode="semantic").degraded)
    assert braid.search("cat", user_id=1, mode="semantic").hits


@pytest.mark.parametrize("dense_search", ["exact", "chroma"])
def test_what_is_found_does_not_depend_on_where_it_is_searched(
    open_braid: Callable[..., Braid], dense_search: str
) -> None:
    texts = [f"number {n} of many words {n % 7}" for n in range(40)]
    braid = open_braid(dense_search=dense_search, leg_timeout_s=60)
    first = add_notes(braid.ledger)
    second = braid.ledger.add_dataset(1, "more").id
    braid.ledger.put_document(first, document("a", *texts[:20]))
    braid.ledger.put_document(second, document("b", *texts[20:], file_type="txt"))
    catch_up(braid, "bm25", "dense", "chroma")

    for options in ({}, {"dataset_ids": [second]}):
        result = braid.search(texts[30], user_id=1, mode="semantic", k=5, **options)
        assert (result.hits[0].passage.text, result.degraded) == (texts[30], ())
        assert result.hits[0].score == pytest.approx(1.0, abs=1e-4)
    assert braid.search(texts[3], user_id=1, mode="semantic", dataset_ids=[second], k=40).hits
    assert not {
        hit.passage.dataset_id
        for hit in braid.search(texts[3], user_id=1, mode="semantic", dataset_ids=[second], k=40).hits
    } - {second}
