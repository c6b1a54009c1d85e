"""The copy of the vectors in real Chroma: in a folder, and behind a `chroma run` server."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import chromadb
import numpy as np
import pytest

from braid.core.errors import EmbeddingError, IndexUnavailableError, InvalidInputError, StoreUnreachableError
from braid.core.indexes.chroma.copy import ChromaCopy
from braid.core.indexes.chroma.errors import translate_errors
from braid.core.indexes.chroma.store import stores_in
from braid.core.ledger.change_log import IndexedChunk
from braid.core.vector import Vector
from tests.core.indexes.chroma.damages import (
    remove_folder,
    replace_database,
    truncate_database,
)
from tests.core.indexes.chroma.servers import Server
from tests.modes import mostly_long

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

DIM = 8
VECTORS = np.random.default_rng(0).standard_normal((4000, DIM)).astype(np.float32)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)


def chunk(
    number: int, *, vector: Vector | None = None, dataset: int = 1, document: int = 1, user: int | None = 7
) -> IndexedChunk:
    """The chunk ``c<number>`` with the vector of that number."""
    own = VECTORS[number] if vector is None else vector
    return IndexedChunk(f"c{number}", document, dataset, user, f"text {number}", own)


def chunks(numbers: range | list[int]) -> list[IndexedChunk]:
    return [chunk(number) for number in numbers]


@contextmanager
def as_others_read(folder: Path) -> Iterator[ClientAPI]:
    """Chroma's own client for a folder of stores, as another program opens it when no process of Braid has it open."""
    client = chromadb.PersistentClient(stores_in(folder)[-1])
    try:
        yield client
    finally:
        client.close()


@contextmanager
def reading(copy: ChromaCopy) -> Iterator[ClientAPI]:
    """Chroma's own client for a copy in a folder or on a server."""
    if copy._url:
        yield chromadb.HttpClient("127.0.0.1", int(copy._url.rpartition(":")[2]))
        return
    copy._process.end()
    with as_others_read(copy._path) as client:
        yield client


def nearest(client: ClientAPI, collection: str, vector: Vector, k: int = 1) -> dict[str, float]:
    """The ids of the ``k`` chunks that Chroma finds nearest, with their cosines."""
    answer = client.get_collection(collection, embedding_function=None).query(query_embeddings=vector, n_results=k)
    assert answer["distances"] is not None
    return {chunk_id: 1.0 - far for chunk_id, far in zip(answer["ids"][0], answer["distances"][0], strict=True)}


def found(copy: ChromaCopy, collection: str, *numbers: int) -> bool:
    """Whether each chunk is the nearest to its own vector."""
    with reading(copy) as client:
        return all(list(nearest(client, collection, VECTORS[number])) == [f"c{number}"] for number in numbers)


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


# ---------------------------------------------------------------- reading


def test_other_programs_find_the_best_by_cosine(copy: ChromaCopy) -> None:
    copy.apply("user_7", chunks(range(50)), [])

    with reading(copy) as client:
        hits = nearest(client, "user_7", 3 * VECTORS[60], 10)

    cosines = VECTORS[:50] @ VECTORS[60]
    assert list(hits) == [f"c{n}" for n in np.argsort(-cosines)[:10]]
    assert list(hits.values()) == pytest.approx(sorted(cosines, reverse=True)[:10], abs=1e-5)


def test_nothing_is_there_where_nothing_is(copy: ChromaCopy) -> None:
    copy.apply("user_7", chunks(range(3)), [])
    copy.apply("user_7", [], ["c0", "c1", "c2"])

    assert (copy.count("user_7"), copy.count("user_8")) == (0, 0)
    assert list(copy.ids("user_7")) == list(copy.ids("user_8")) == []
    assert copy.check("user_7") == copy.check("user_8") == ""
    assert copy.collections() == ["user_7"]
    copy.apply("user_7", chunks(range(20)), [])
    assert found(copy, "user_7", 7)


# ---------------------------------------------------------------- applying


def test_a_chunk_put_again_replaces_the_first(copy: ChromaCopy) -> None:
    copy.apply("shared_a", [chunk(1, dataset=-1, user=7)], [])
    copy.apply("shared_a", [chunk(1, vector=VECTORS[2], dataset=-2, user=None)], [])

    assert copy.count("shared_a") == 1
    with reading(copy) as client:
        assert nearest(client, "shared_a", VECTORS[2]) == {"c1": pytest.approx(1.0, abs=1e-5)}
        metadata = client.get_collection("shared_a", embedding_function=None).get()["metadatas"]
    assert metadata == [{"dataset_id": -2, "document_id": 1}], "no value is left over"


def test_applying_twice_changes_nothing(copy: ChromaCopy) -> None:
    for _ in range(2):
        copy.apply("user_7", chunks(range(20)), ["c30", "c31"])

    assert sorted(copy.ids("user_7")) == sorted(f"c{n}" for n in range(20))
    assert found(copy, "user_7", *range(20))


def test_in_one_call_the_last_version_wins_and_an_upsert_wins_over_a_delete(copy: ChromaCopy) -> None:
    copy.apply("user_7", [chunk(1), chunk(2), chunk(1, vector=VECTORS[5])], ["c2"])

    assert sorted(copy.ids("user_7")) == ["c1", "c2"]
    with reading(copy) as client:
        assert list(nearest(client, "user_7", VECTORS[5])) == ["c1"]


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
    with reading(shared_copy) as client:
        for query in queries:
            best = {f"c{n}" for n in np.argsort(-(vectors @ query))[:10]}
            found += len(best & nearest(client, "user_real", query, 10).keys())

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

    assert found(copy, "user_1", 0, 999, 1000, 1001, 1699)
    assert found(copy, "user_2", *range(40))
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
            copy.count("user_1")
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
        assert copy.count("user_1") == 0
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
        copy.count("user_7")
    assert "user_7" in copy.check("user_7")
    copy.drop("user_7")
    assert copy.count("user_7") == 0


def test_a_collection_of_another_program_is_refused_and_not_listed(copy: ChromaCopy, server: Server) -> None:
    if not copy.crash_safe:
        pytest.skip("nobody else has the folder open")
    client = chromadb.HttpClient("127.0.0.1", server.port)
    foreign = client.create_collection("user_7", embedding_function=None)  # Chroma's default space is l2
    foreign.upsert(ids=["x"], embeddings=VECTORS[:1])

    assert copy.collections() == []
    with pytest.raises(IndexUnavailableError, match="l2"):
        copy.count("user_7")
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
            copy.count("user_7")

        server.start()
        copy.apply("user_7", chunks(range(10)), [])
        server.stop()
        for call in (
            lambda: copy.count("user_7"),
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
