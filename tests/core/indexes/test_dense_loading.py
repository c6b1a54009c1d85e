"""What is loaded of the vectors, what gives way, and changes of the model meanwhile."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from braid.core.errors import IndexUnavailableError, InvalidInputError
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.vector_block import EVERYTHING, Selection
from braid.core.ledger.change_log import ChangeLog, VectorBatch
from tests.core.indexes.vector_shelf import LARGE, MODEL, OTHER, VECTORS, Shelf, found, unit
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, eventually


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    opened = Shelf(tmp_path)
    yield opened
    opened.close()


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


def test_a_collection_that_is_too_large_is_searched_in_files(shelf: Shelf) -> None:
    first, second, vectors = shelf.dataset(), shelf.dataset(), unit(2400, LARGE)
    ids = [*shelf.put(first, "a", vectors[:1200]), *shelf.put(second, "b", vectors[1200:])]
    index = shelf.open(memory_mb=1)

    for number in (0, 700, 1200, 2399):
        (hit,) = index.search("user_1", vectors[number], 1)
        assert (hit.chunk_id, hit.score) == (ids[number], pytest.approx(1.0, abs=1e-6))
    cosines = vectors @ vectors[5]
    assert found(index, vectors[5], 20) == [ids[n] for n in np.argsort(-cosines)[:20]]
    assert set(found(index, vectors[5], 20, selection=Selection({second}))) <= set(ids[1200:])
    document_ids = {chunk.document_id for chunk in shelf.indexed(ids[1200:1201])}
    assert set(found(index, vectors[5], 20, selection=Selection(None, document_ids))) <= set(ids[1200:])
    assert found(index, vectors[5], selection=Selection({99})) == []
    assert sorted(index.ids("user_1")) == sorted(ids)
    assert index.size_bytes <= 2**20 // 16
    assert list(shelf.folder.iterdir()) == [], "the files have no names"


def test_a_collection_grows_into_files_and_its_changes_are_found(shelf: Shelf) -> None:
    dataset, vectors = shelf.dataset(), unit(3000, LARGE)
    ids = shelf.put(dataset, "kept", vectors[:600])
    index = shelf.open(memory_mb=1)
    assert found(index, vectors[3]) == [ids[3]]
    assert index.size_bytes > 2**19
    for start in range(600, 3000, 100):
        new = shelf.put(dataset, f"{start}", vectors[start : start + 100])
        shelf.apply(index, new)
        ids += new
        assert found(index, vectors[start + 50]) == [ids[start + 50]]
        assert index.size_bytes <= 2**20
    assert index.size_bytes <= 2**20 // 16
    assert index.count("user_1") == 3000

    shelf.embed(ids[:1], vectors[2999:])
    shelf.apply(index, ids[:1])
    assert found(index, vectors[2999], 2) == sorted([ids[0], ids[2999]])
    for start in range(600, 3000, 100):
        shelf.ledger.remove_document(dataset, f"{start}")
    shelf.apply(index, ids)
    assert sorted(index.ids("user_1")) == sorted(ids[:600])
    assert found(index, vectors[3]) == [ids[3]]
    assert found(index, vectors[2999]) == [ids[0]]


def test_what_is_in_files_is_what_is_in_memory(shelf: Shelf) -> None:
    """The spread, too, which is of the first rows by id, wherever they are."""
    dataset, vectors = shelf.dataset(), unit(9000, 256)
    shelf.put(dataset, "a", vectors)
    small, large = (
        shelf.open(memory_mb=mb).search_all({"user_1": EVERYTHING}, vectors[8], 50, timeout_s=WAIT_S) for mb in (1, 100)
    )
    assert small.hits == large.hits
    assert small.spread == pytest.approx(large.spread, abs=1e-3)


def test_a_folder_that_cannot_be_written_is_named(shelf: Shelf) -> None:
    dataset, vectors = shelf.dataset(), unit(1500, LARGE)
    ids = shelf.put(dataset, "a", vectors[:600])
    shelf.folder.write_text("no folder")
    index = shelf.open(memory_mb=1)
    assert found(index, vectors[3]) == [ids[3]]
    more = shelf.put(dataset, "b", vectors[600:])
    shelf.apply(index, more)
    with pytest.raises(IndexUnavailableError, match="vectors that need more than dense_memory_mb need files: "):
        found(index, vectors[3])
    shelf.folder.unlink()
    assert found(index, vectors[900]) == [more[300]]


def test_files_that_a_killed_process_has_left_are_deleted(shelf: Shelf) -> None:
    shelf.folder.mkdir()
    (shelf.folder / "tmp123").write_bytes(b"half of a file")
    vectors = unit(1500, LARGE)
    ids, index = shelf.put(shelf.dataset(), "a", vectors), shelf.open(memory_mb=1)
    assert found(index, vectors[3]) == [ids[3]]
    assert list(shelf.folder.iterdir()) == []


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
