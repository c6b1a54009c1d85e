"""The copy of the vectors in real Chroma: in a folder, and behind a `chroma run` server."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import chromadb
import numpy as np
import pytest

from braid.core.errors import EmbeddingError, IndexUnavailableError, InvalidInputError
from braid.core.indexes.chroma.copy import ChromaCopy
from braid.core.indexes.chroma.errors import StoreUnreachableError, translate_errors
from braid.core.indexes.chroma.filters import selection_filter
from braid.core.ledger.change_log import IndexedChunk
from braid.core.types import ScoredChunk
from braid.core.vector import Vector
from tests.core.indexes.chroma.damages import (
    remove_folder,
    replace_database,
    truncate_database,
)
from tests.core.indexes.chroma.servers import Server
from tests.modes import mostly_long

DIM = 8
VECTORS = np.random.default_rng(0).standard_normal((4000, DIM)).astype(np.float32)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
TIMEOUT_S = 60.0


def chunk(
    number: int, *, vector: Vector | None = None, dataset: int = 1, document: int = 1, user: int | None = 7
) -> IndexedChunk:
    """The chunk ``c<number>`` with the vector of that number."""
    own = VECTORS[number] if vector is None else vector
    return IndexedChunk(f"c{number}", document, dataset, user, f"text {number}", own)


def chunks(numbers: range | list[int]) -> list[IndexedChunk]:
    return [chunk(number) for number in numbers]


def search(
    copy: ChromaCopy, collection: str, vector: Vector, k: int, where: Mapping[str, object] | None = None
) -> list[ScoredChunk]:
    return copy.search(collection, vector, k, where=where, timeout_s=TIMEOUT_S)


def found(copy: ChromaCopy, collection: str, number: int) -> bool:
    """Whether a chunk is the nearest to its own vector."""
    return [hit.chunk_id for hit in search(copy, collection, VECTORS[number], 1)] == [f"c{number}"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module", params=["folder", "server"])
def shared_copy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaCopy]:
    """One copy for many tests: a process takes a second to begin."""
    url = request.getfixturevalue("server").url if request.param == "server" else ""
    with closing(ChromaCopy(tmp_path_factory.mktemp("copy"), url=url)) as opened:
        yield opened


@pytest.fixture
def copy(shared_copy: ChromaCopy) -> ChromaCopy:
    """An empty copy; a test that asks for it runs on both."""
    for name in shared_copy.collections():
        shared_copy.drop(name)
    return shared_copy


@pytest.fixture
def open_copy(tmp_path: Path) -> Iterator[Callable[[], ChromaCopy]]:
    """Opens the copy in the test's folder, any number of times one after another."""
    opened: list[ChromaCopy] = []

    def open_again() -> ChromaCopy:
        for earlier in opened:
            earlier.close()
        opened.append(ChromaCopy(tmp_path / "dense"))
        return opened[-1]

    yield open_again
    for each in opened:
        each.close()


# ---------------------------------------------------------------- searching


def test_the_best_come_first_with_cosine_as_score(copy: ChromaCopy) -> None:
    copy.apply("user_7", chunks(range(50)), [])

    hits = search(copy, "user_7", 3 * VECTORS[60], 10)

    cosines = VECTORS[:50] @ VECTORS[60]
    assert [hit.chunk_id for hit in hits] == [f"c{n}" for n in np.argsort(-cosines)[:10]]
    assert [hit.score for hit in hits] == pytest.approx(sorted(cosines, reverse=True)[:10], abs=1e-5)


def test_equal_scores_stand_in_the_order_of_ids(copy: ChromaCopy) -> None:
    copy.apply("user_7", [chunk(n, vector=VECTORS[0]) for n in (3, 1, 2)], [])

    assert [hit.chunk_id for hit in search(copy, "user_7", VECTORS[0], 3)] == ["c1", "c2", "c3"]


def test_k_may_be_larger_than_the_collection(copy: ChromaCopy) -> None:
    copy.apply("user_7", chunks(range(3)), [])

    assert len(search(copy, "user_7", VECTORS[0], 4000)) == 3


def test_nothing_is_found_where_nothing_is(copy: ChromaCopy) -> None:
    copy.apply("user_7", chunks(range(3)), [])
    copy.apply("user_7", [], ["c0", "c1", "c2"])

    assert search(copy, "user_7", VECTORS[0], 5) == []
    assert search(copy, "user_8", VECTORS[0], 5) == []
    assert (copy.count("user_7"), copy.count("user_8")) == (0, 0)
    assert list(copy.ids("user_8")) == []
    assert copy.check("user_7") == copy.check("user_8") == ""
    assert copy.collections() == ["user_7"]
    copy.apply("user_7", chunks(range(20)), [])
    assert found(copy, "user_7", 7)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, "abcd"),
        ({}, "abcd"),
        ({"dataset_id": 1}, "ab"),
        ({"dataset_id": {"$in": [1, 2]}}, "abc"),
        ({"dataset_id": {"$in": (2,)}}, "c"),
        ({"dataset_id": {"$in": []}}, ""),
        ({"dataset_id": {"$nin": []}}, "abcd"),
        ({"dataset_id": {"$nin": [1]}}, "cd"),
        ({"dataset_id": 1, "document_id": 11}, "b"),
        ({"dataset_id": {"$gte": 2, "$lt": 3}}, "c"),
        ({"$and": [{"dataset_id": 1}]}, "ab"),
        ({"$and": []}, "abcd"),
        ({"$and": [{"user_id": 7}, {"dataset_id": {"$in": [1]}}]}, "ab"),
        ({"$and": [{"user_id": 7}, {"dataset_id": {"$in": []}}]}, ""),
        ({"$or": [{"dataset_id": 2}]}, "c"),
        ({"$or": []}, ""),
        ({"$or": [{"dataset_id": {"$in": []}}, {"dataset_id": 3}]}, "d"),
        ({"$or": [{"dataset_id": {"$nin": []}}, {"dataset_id": 3}]}, "abcd"),
        ({"user_id": 9}, ""),
        (selection_filter(None, None), "abcd"),
        (selection_filter({1, 3}, None), "abd"),
        (selection_filter({1, 3}, {11, 12, 13}), "bd"),
        (selection_filter(None, {12}), "c"),
        (selection_filter((), None), ""),
        (selection_filter({1}, ()), ""),
    ],
)
def test_every_sensible_filter_is_understood(
    where: dict[str, object] | None, expected: str, shared_copy: ChromaCopy
) -> None:
    places = {"a": (1, 10), "b": (1, 11), "c": (2, 12), "d": (3, 13)}
    if shared_copy.count("user_filters") != len(places):
        shared_copy.apply(
            "user_filters",
            [IndexedChunk(name, place, dataset, 7, "", VECTORS[dataset]) for name, (dataset, place) in places.items()],
            [],
        )

    assert sorted(hit.chunk_id for hit in search(shared_copy, "user_filters", VECTORS[0], 10, where)) == list(expected)


@pytest.mark.parametrize(
    "where", [{"dataset_id": {}}, {"dataset_id": {"$near": 1}}, {"dataset_id": {"$in": 1}}, {"$and": "x"}, {"d": None}]
)
def test_a_senseless_filter_is_named(where: dict[str, object], shared_copy: ChromaCopy) -> None:
    shared_copy.apply("user_7", chunks(range(1)), [])
    with pytest.raises(InvalidInputError) as raised:
        search(shared_copy, "user_7", VECTORS[0], 3, where)

    assert raised.value.field == "where"


# ---------------------------------------------------------------- applying


def test_a_chunk_put_again_replaces_the_first(copy: ChromaCopy) -> None:
    copy.apply("shared_a", [chunk(1, dataset=-1, user=7)], [])
    copy.apply("shared_a", [chunk(1, vector=VECTORS[2], dataset=-2, user=None)], [])

    assert copy.count("shared_a") == 1
    assert search(copy, "shared_a", VECTORS[2], 1)[0].score == pytest.approx(1.0, abs=1e-5)
    assert search(copy, "shared_a", VECTORS[2], 1, {"dataset_id": -1}) == []
    assert search(copy, "shared_a", VECTORS[2], 1, {"user_id": 7}) == []  # no value is left over


def test_applying_twice_changes_nothing(copy: ChromaCopy) -> None:
    for _ in range(2):
        copy.apply("user_7", chunks(range(20)), ["c30", "c31"])

    assert sorted(copy.ids("user_7")) == sorted(f"c{n}" for n in range(20))
    assert all(found(copy, "user_7", n) for n in range(20))


def test_in_one_call_the_last_version_wins_and_an_upsert_wins_over_a_delete(copy: ChromaCopy) -> None:
    copy.apply("user_7", [chunk(1), chunk(2), chunk(1, vector=VECTORS[5])], ["c2"])

    assert sorted(copy.ids("user_7")) == ["c1", "c2"]
    assert search(copy, "user_7", VECTORS[5], 1)[0].chunk_id == "c1"


def test_deletes_alone_make_no_collection(copy: ChromaCopy) -> None:
    copy.apply("user_7", [], ["c1"])

    assert copy.collections() == []


def test_a_chunk_without_a_vector_is_left_out(copy: ChromaCopy) -> None:
    copy.apply("user_7", [chunk(1), IndexedChunk("bare", 1, 1, 7, "", None)], [])

    assert list(copy.ids("user_7")) == ["c1"]


def test_many_chunks_in_one_call(copy: ChromaCopy) -> None:
    vectors = np.random.default_rng(1).standard_normal((10_500, 2)).astype(np.float32)
    copy.apply("user_7", [IndexedChunk(f"c{n}", 1, 1, 7, "", vector) for n, vector in enumerate(vectors)], [])

    assert copy.count("user_7") == 10_500
    assert set(copy.ids("user_7")) == {f"c{n}" for n in range(10_500)}
    copy.apply("user_7", [], [f"c{n}" for n in range(100, 10_500)])
    assert sorted(copy.ids("user_7")) == sorted(f"c{n}" for n in range(100))


@pytest.mark.parametrize("vector", [VECTORS[0][:5], np.ones(DIM + 1, np.float32)])
def test_a_vector_of_another_dimension_is_refused(vector: Vector, copy: ChromaCopy) -> None:
    copy.apply("user_7", chunks(range(2)), [])

    with pytest.raises(IndexUnavailableError, match="the Chroma collection user_7"):
        copy.apply("user_7", [IndexedChunk("bad", 1, 1, 7, "", vector)], [])
    with pytest.raises(IndexUnavailableError, match="the Chroma collection user_7"):
        search(copy, "user_7", vector, 3)
    assert sorted(copy.ids("user_7")) == ["c0", "c1"]


def test_after_a_drop_another_dimension_is_welcome(copy: ChromaCopy) -> None:
    copy.apply("user_7", chunks(range(3)), [])
    copy.drop("user_7")
    copy.drop("user_7")  # what is not there can be dropped

    assert copy.collections() == []
    copy.apply("user_7", [IndexedChunk("long", 1, 1, 7, "", np.ones(DIM + 1, np.float32))], [])
    assert list(copy.ids("user_7")) == ["long"]


def test_most_of_the_nearest_real_vectors_are_found(shared_copy: ChromaCopy) -> None:
    """Chroma's graph is approximate, and passages on one subject are near each other."""
    path = Path(__file__).resolve().parents[5] / "shared" / "eval" / "gimphelp-ja" / "vectors.npz"
    if not path.exists():
        pytest.skip("there is no ../shared/eval/gimphelp-ja")
    with np.load(path) as stored:
        vectors, queries = stored["V"].astype(np.float32), stored["QV"].astype(np.float32)[:100]
    shared_copy.apply("user_real", [IndexedChunk(f"c{n}", 1, 1, 7, "", vector) for n, vector in enumerate(vectors)], [])

    found = 0
    for query in queries:
        best = {f"c{n}" for n in np.argsort(-(vectors @ query))[:10]}
        found += len(best & {hit.chunk_id for hit in search(shared_copy, "user_real", query, 10)})

    assert found / (10 * len(queries)) > 0.95


# ---------------------------------------------------------------- the store


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path) -> None:
    ChromaCopy(tmp_path / "dense").close()
    ChromaCopy(tmp_path / "dense", url="http://127.0.0.1:9").close()

    assert not (tmp_path / "dense").exists()


def test_all_is_there_after_reopening(open_copy: Callable[[], ChromaCopy], tmp_path: Path) -> None:
    copy = open_copy()
    for name, size in (("user_1", 1700), ("user_2", 40)):
        copy.apply(name, chunks(range(size)), [])
    copy.apply("user_3", [IndexedChunk("c1", 1, 2, 7, "a secret sentence", VECTORS[1])], [])

    copy = open_copy()

    assert all(found(copy, "user_1", n) for n in (0, 999, 1000, 1001, 1699))
    assert all(found(copy, "user_2", n) for n in range(40))
    assert copy.check("user_1") == copy.check("user_2") == ""
    assert copy.collections() == ["user_1", "user_2", "user_3"]
    assert len(list((tmp_path / "dense").glob("store-*"))) == 1


@pytest.mark.parametrize("texts", [True, False])
def test_texts_are_copied_unless_they_are_left_out(tmp_path: Path, texts: bool) -> None:
    with closing(ChromaCopy(tmp_path / "dense", texts=texts)) as copy:
        copy.apply("user_3", [IndexedChunk("c1", 1, 2, 7, "a secret sentence", VECTORS[1])], [])
    files = [file for file in (tmp_path / "dense").rglob("*") if file.is_file()]
    assert any(b"secret" in file.read_bytes() for file in files) == texts


def test_a_reset_begins_with_an_empty_store_and_the_old_one_goes(
    open_copy: Callable[[], ChromaCopy], tmp_path: Path
) -> None:
    copy = open_copy()
    copy.apply("user_1", chunks(range(3)), [])
    (before,) = (tmp_path / "dense").glob("store-*")
    assert copy.reset()

    assert copy.collections() == []
    copy.apply("user_1", chunks(range(5, 10)), [])
    assert sorted(copy.ids("user_1")) == [f"c{n}" for n in range(5, 10)]
    assert not before.exists()
    assert len(list((tmp_path / "dense").glob("store-*"))) == 1


@pytest.mark.parametrize("damage", mostly_long([replace_database, remove_folder]))
def test_files_that_go_while_they_are_open_are_missed(
    damage: Callable[[Path], None], open_copy: Callable[[], ChromaCopy], tmp_path: Path
) -> None:
    """Chroma would go on with what nobody else can see any more."""
    copy = open_copy()
    copy.apply("user_1", chunks(range(20)), [])
    damage(next((tmp_path / "dense").glob("store-*")))

    for _ in range(2):
        with pytest.raises(IndexUnavailableError, match="deleted or replaced"):
            search(copy, "user_1", VECTORS[3], 5)
    with pytest.raises(IndexUnavailableError, match="deleted or replaced"):
        copy.apply("user_1", chunks(range(20)), [])
    assert "deleted or replaced" in copy.check("user_1")
    assert copy.reset()
    copy.apply("user_1", chunks(range(10)), [])
    assert found(copy, "user_1", 3)


@pytest.mark.parametrize("damage", mostly_long([truncate_database, replace_database]))
def test_a_store_that_breaks_while_it_is_closed_works_after_a_reset(
    damage: Callable[[Path], None], open_copy: Callable[[], ChromaCopy], tmp_path: Path
) -> None:
    copy = open_copy()
    copy.apply("user_1", chunks(range(20)), [])
    copy.close()
    damage(next((tmp_path / "dense").glob("store-*")))

    copy = open_copy()

    try:
        assert search(copy, "user_1", VECTORS[3], 5) == []
        assert copy.collections() == []
    except IndexUnavailableError:
        pass
    assert copy.reset()
    assert copy.collections() == []
    copy.apply("user_1", chunks(range(10)), [])
    assert found(copy, "user_1", 3)
    assert copy.check("user_1") == ""


def test_a_collection_that_vanishes_is_not_an_empty_one(copy: ChromaCopy, server: Server) -> None:
    copy.apply("user_7", chunks(range(3)), [])
    if not copy.crash_safe:
        pytest.skip("nobody else has the folder open")
    chromadb.HttpClient("127.0.0.1", server.port).delete_collection("user_7")

    with pytest.raises(IndexUnavailableError):
        search(copy, "user_7", VECTORS[0], 3)
    assert "user_7" in copy.check("user_7")
    copy.drop("user_7")
    assert search(copy, "user_7", VECTORS[0], 3) == []


def test_a_collection_of_another_program_is_refused_and_not_listed(copy: ChromaCopy, server: Server) -> None:
    if not copy.crash_safe:
        pytest.skip("nobody else has the folder open")
    client = chromadb.HttpClient("127.0.0.1", server.port)
    foreign = client.create_collection("user_7", embedding_function=None)  # Chroma's default space is l2
    foreign.upsert(ids=["x"], embeddings=VECTORS[:1])

    assert copy.collections() == []
    with pytest.raises(IndexUnavailableError, match="l2"):
        search(copy, "user_7", VECTORS[0], 3)
    with pytest.raises(IndexUnavailableError, match="l2"):
        copy.apply("user_7", chunks(range(3)), [])
    assert "l2" in copy.check("user_7")
    copy.drop("user_7")
    copy.apply("user_7", chunks(range(3)), [])
    assert found(copy, "user_7", 1)


# ---------------------------------------------------------------- the server


def test_a_server_that_is_down_is_named_and_no_reason_to_begin_again(tmp_path: Path) -> None:
    server = Server(tmp_path / "server")
    with closing(ChromaCopy(tmp_path / "dense", url=server.url)) as copy:
        with pytest.raises(StoreUnreachableError, match=server.url):
            search(copy, "user_7", VECTORS[0], 3)

        server.start()
        copy.apply("user_7", chunks(range(10)), [])
        server.stop()
        for call in (
            lambda: search(copy, "user_7", VECTORS[0], 3),
            lambda: copy.check("user_7"),
            copy.collections,
        ):
            with pytest.raises(StoreUnreachableError):
                call()
        assert not copy.reset()

        server.start()
        assert found(copy, "user_7", 4)
        assert copy.check("user_7") == ""
        server.stop()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://"])
def test_an_address_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="http://host:port"):
        ChromaCopy(tmp_path, url=url)


# ---------------------------------------------------------------- what Chroma raises


class PanicException(BaseException):
    """As pyo3 raises it, which does not export its class."""


@pytest.mark.parametrize(
    "error",
    [
        chromadb.errors.InternalError("Error finding id"),
        ValueError("expected"),
        OSError("disk"),
        sqlite3.DatabaseError("malformed"),
        Exception("502"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_chroma_raises_is_told_with_its_cause(error: BaseException) -> None:
    with (
        pytest.raises(IndexUnavailableError, match="the Chroma collection user_7 .*" + str(error)),
        translate_errors("the Chroma collection user_7"),
    ):
        raise error


def test_what_a_crash_of_chroma_says_is_for_the_log() -> None:
    with pytest.raises(IndexUnavailableError) as caught, translate_errors("the Chroma collection user_7"):
        raise PanicException("index out of bounds")
    assert str(caught.value) == "the Chroma collection user_7 is damaged; it is being checked"
    copied = pickle.loads(pickle.dumps(caught.value))
    assert copied.inner == "index out of bounds"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), TypeError("a bug"), EmbeddingError("ours")])
def test_what_is_not_chromas_passes(error: BaseException) -> None:
    with pytest.raises(type(error)), translate_errors("the Chroma collection user_7"):
        raise error
