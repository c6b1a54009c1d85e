"""The dense index over real Chroma: embedded, and behind a `chroma run` server."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import chromadb
import numpy as np
import pytest
from braid.core.indexes.chroma.stores import ServerStore

from braid.core.errors import EmbeddingError, IndexUnavailableError, InvalidInputError
from braid.core.indexes.chroma.errors import StoreUnreachableError, translate_errors
from braid.core.indexes.dense import DenseIndex
from braid.core.ledger.change_log import IndexedChunk
from braid.core.vector import Vector

DIM = 8
VECTORS = np.random.default_rng(0).standard_normal((4000, DIM)).astype(np.float32)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
ROOT = Path(__file__).parents[3]


def chunk(
    number: int, *, vector: Vector | None = None, dataset: int = 1, document: int = 1, user: int | None = 7
) -> IndexedChunk:
    """The chunk ``c<number>`` with the vector of that number."""
    own = VECTORS[number] if vector is None else vector
    return IndexedChunk(f"c{number}", document, dataset, user, f"text {number}", own)


def chunks(numbers: range | list[int]) -> list[IndexedChunk]:
    return [chunk(number) for number in numbers]


def found(index: DenseIndex, collection: str, number: int) -> bool:
    """Whether a chunk is the nearest to its own vector."""
    return [hit.chunk_id for hit in index.search(collection, VECTORS[number], 1)] == [f"c{number}"]


# ---------------------------------------------------------------- a Chroma server


class Server:
    """A `chroma run` process that can be stopped and started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        chroma = Path(sys.executable).with_name("chroma")
        command = [str(chroma), "run", "--path", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        pytest.fail("the Chroma server did not start within 20 s")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def client_of(server: Server) -> Iterator[chromadb.ClientAPI]:
    """A client of some other program."""
    store = ServerStore(server.url)
    session = store.open()
    yield session.client
    store.close(session)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(params=["embedded", "server"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DenseIndex]:
    """An empty index; a test that asks for it runs on both."""
    url = request.getfixturevalue("server").url if request.param == "server" else ""
    opened = DenseIndex(tmp_path / "dense", url=url)
    yield opened
    for name in opened.collections():
        opened.drop(name)
    opened.close()


@pytest.fixture
def open_index(tmp_path: Path) -> Iterator[Callable[..., DenseIndex]]:
    """Opens the embedded index of the test, any number of times one after another."""
    opened: list[DenseIndex] = []

    def open_again(**options: int) -> DenseIndex:
        for earlier in opened:
            earlier.close()
        opened.append(DenseIndex(tmp_path / "dense", **options))
        return opened[-1]

    yield open_again
    for each in opened:
        each.close()


def store_of(index: DenseIndex, tmp_path: Path) -> Path:
    return tmp_path / "dense" / index.store_id


# ---------------------------------------------------------------- searching


def test_the_best_come_first_with_cosine_as_score(index: DenseIndex) -> None:
    index.apply("user_7", chunks(range(50)), [])

    hits = index.search("user_7", 3 * VECTORS[60], 10)

    cosines = VECTORS[:50] @ VECTORS[60]
    assert [hit.chunk_id for hit in hits] == [f"c{n}" for n in np.argsort(-cosines)[:10]]
    assert [hit.score for hit in hits] == pytest.approx(sorted(cosines, reverse=True)[:10], abs=1e-5)


def test_equal_scores_stand_in_the_order_of_ids(index: DenseIndex) -> None:
    index.apply("user_7", [chunk(n, vector=VECTORS[0]) for n in (3, 1, 2)], [])

    assert [hit.chunk_id for hit in index.search("user_7", VECTORS[0], 3)] == ["c1", "c2", "c3"]


def test_k_may_be_larger_than_the_collection(index: DenseIndex) -> None:
    index.apply("user_7", chunks(range(3)), [])

    assert len(index.search("user_7", VECTORS[0], 4000)) == 3


def test_nothing_is_found_where_nothing_is(index: DenseIndex) -> None:
    index.apply("user_7", chunks(range(3)), [])
    index.apply("user_7", [], ["c0", "c1", "c2"])

    assert index.search("user_7", VECTORS[0], 5) == []
    assert index.search("user_8", VECTORS[0], 5) == []
    assert (index.count("user_7"), index.count("user_8")) == (0, 0)
    assert list(index.ids("user_8")) == []
    assert index.check("user_7") == index.check("user_8") == ""
    assert index.collections() == ["user_7"]


def test_k_below_one_is_an_error(index: DenseIndex) -> None:
    with pytest.raises(InvalidInputError, match="k is 0"):
        index.search("user_7", VECTORS[0], 0)


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
    ],
)
def test_every_sensible_filter_is_understood(
    where: dict[str, object] | None, expected: str, open_index: Callable[..., DenseIndex]
) -> None:
    index = open_index()
    places = {"a": (1, 10), "b": (1, 11), "c": (2, 12), "d": (3, 13)}
    index.apply(
        "user_7",
        [IndexedChunk(key, document, dataset, 7, "", VECTORS[dataset]) for key, (dataset, document) in places.items()],
        [],
    )

    assert sorted(hit.chunk_id for hit in index.search("user_7", VECTORS[0], 10, where=where)) == list(expected)


@pytest.mark.parametrize(
    "where", [{"dataset_id": {}}, {"dataset_id": {"$near": 1}}, {"dataset_id": {"$in": 1}}, {"$and": "x"}, {"d": None}]
)
def test_a_senseless_filter_is_named(where: dict[str, object], open_index: Callable[..., DenseIndex]) -> None:
    with pytest.raises(InvalidInputError) as raised:
        open_index().search("user_7", VECTORS[0], 3, where=where)

    assert raised.value.field == "where"


# ---------------------------------------------------------------- applying


def test_a_chunk_put_again_replaces_the_first(index: DenseIndex) -> None:
    index.apply("shared_a", [chunk(1, dataset=-1, user=7)], [])
    index.apply("shared_a", [chunk(1, vector=VECTORS[2], dataset=-2, user=None)], [])

    assert index.count("shared_a") == 1
    assert index.search("shared_a", VECTORS[2], 1)[0].score == pytest.approx(1.0, abs=1e-5)
    assert index.search("shared_a", VECTORS[2], 1, where={"dataset_id": -1}) == []
    assert index.search("shared_a", VECTORS[2], 1, where={"user_id": 7}) == []  # no value is left over


def test_applying_twice_changes_nothing(index: DenseIndex) -> None:
    for _ in range(2):
        index.apply("user_7", chunks(range(20)), ["c30", "c31"])

    assert sorted(index.ids("user_7")) == sorted(f"c{n}" for n in range(20))
    assert all(found(index, "user_7", n) for n in range(20))


def test_in_one_call_the_last_version_wins_and_an_upsert_wins_over_a_delete(index: DenseIndex) -> None:
    index.apply("user_7", [chunk(1), chunk(2), chunk(1, vector=VECTORS[5])], ["c2"])

    assert sorted(index.ids("user_7")) == ["c1", "c2"]
    assert index.search("user_7", VECTORS[5], 1)[0].chunk_id == "c1"


def test_deletes_alone_make_no_collection(index: DenseIndex) -> None:
    index.apply("user_7", [], ["c1"])

    assert index.collections() == []


def test_many_chunks_in_one_call(open_index: Callable[..., DenseIndex]) -> None:
    index = open_index()
    vectors = np.random.default_rng(1).standard_normal((10_500, 2)).astype(np.float32)
    index.apply("user_7", [IndexedChunk(f"c{n}", 1, 1, 7, "", vector) for n, vector in enumerate(vectors)], [])

    assert index.count("user_7") == 10_500
    assert set(index.ids("user_7")) == {f"c{n}" for n in range(10_500)}
    index.apply("user_7", [], [f"c{n}" for n in range(100, 10_500)])
    assert sorted(index.ids("user_7")) == sorted(f"c{n}" for n in range(100))


def test_every_vector_of_real_texts_finds_itself(tmp_path: Path) -> None:
    """In a sparser graph one vector in 600 of these is linked from no other."""
    path = Path(__file__).resolve().parents[4] / "shared" / "eval" / "gimphelp-ja" / "vectors.npz"
    if not path.exists():
        pytest.skip("there is no ../shared/eval/gimphelp-ja")
    vectors = np.load(path)["V"].astype(np.float32)
    for round_ in range(8):
        folder, order = tmp_path / str(round_), np.random.default_rng(round_).permutation(len(vectors))
        with closing(DenseIndex(folder)) as index:
            for start in range(0, len(order), 250):
                batch = order[start : start + 250]
                index.apply("user_7", [IndexedChunk(f"c{n}", 1, 1, 7, "", vectors[n]) for n in batch], [])
        with closing(DenseIndex(folder)) as index:  # Chroma makes the graph anew from its log
            assert index.check("user_7") == ""


@pytest.mark.parametrize(
    "vector",
    [None, np.zeros(DIM, np.float32), np.full(DIM, np.nan, np.float32), VECTORS[:2], np.ones(DIM + 1, np.float32)],
    ids=["none", "zero", "nan", "matrix", "other dimension"],
)
def test_what_is_not_a_vector_of_the_collection_is_refused(vector: Vector | None, index: DenseIndex) -> None:
    index.apply("user_7", chunks(range(2)), [])
    bad = IndexedChunk("bad", 1, 1, 7, "", vector)

    with pytest.raises(EmbeddingError):
        index.apply("user_7", [*chunks(range(5, 10)), bad], ["c0"])
    if vector is not None:
        with pytest.raises(EmbeddingError):
            index.search("user_7", vector, 3)
    assert sorted(index.ids("user_7")) == ["c0", "c1"]  # nothing was done


def test_after_a_drop_another_dimension_is_welcome(index: DenseIndex) -> None:
    index.apply("user_7", chunks(range(3)), [])
    index.drop("user_7")
    index.drop("user_7")  # what is not there can be dropped

    assert index.collections() == []
    index.apply("user_7", [IndexedChunk("long", 1, 1, 7, "", np.ones(DIM + 1, np.float32))], [])
    assert list(index.ids("user_7")) == ["long"]


def test_collections_are_sorted_and_only_ours(index: DenseIndex, server: Server) -> None:
    for name in ("user_9", "shared_b", "user_10"):
        index.apply(name, chunks(range(1)), [])
    with client_of(server) as client:
        client.get_or_create_collection("of_another", embedding_function=None)

    assert index.collections() == ["shared_b", "user_10", "user_9"]


def test_no_text_is_stored(open_index: Callable[..., DenseIndex], tmp_path: Path) -> None:
    index = open_index()
    index.apply("user_7", [IndexedChunk("c1", 1, 2, 7, "a secret sentence", VECTORS[1])], [])

    assert all(b"secret" not in file.read_bytes() for file in (tmp_path / "dense").rglob("*") if file.is_file())


# ---------------------------------------------------------------- many collections


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path) -> None:
    DenseIndex(tmp_path / "dense").close()
    DenseIndex(tmp_path / "dense", url="http://127.0.0.1:9").close()

    assert not (tmp_path / "dense").exists()


def test_all_is_there_after_reopening_saved_or_not(open_index: Callable[..., DenseIndex]) -> None:
    index = open_index()
    for name, size in (("user_1", 1700), ("user_2", 40)):
        index.apply(name, chunks(range(size)), [])
    store_id = index.store_id

    index = open_index()

    assert all(found(index, "user_1", n) for n in (0, 999, 1000, 1001, 1699))
    assert all(found(index, "user_2", n) for n in range(40))
    assert index.check("user_1") == index.check("user_2") == ""
    assert index.store_id == store_id


def test_few_collections_are_open_at_a_time_and_none_is_lost(open_index: Callable[..., DenseIndex]) -> None:
    index = open_index(max_open_collections=3)
    numbers = range(10)
    for number in numbers:
        index.apply(f"user_{number}", [chunk(number)], [])

    for _ in range(2):
        assert all(found(index, f"user_{number}", number) for number in numbers)
        assert sum(link.endswith("data_level0.bin") for link in open_files()) <= 3


def test_asking_for_collections_that_do_not_exist_keeps_the_others_open(open_index: Callable[..., DenseIndex]) -> None:
    index = open_index(max_open_collections=3)
    index.apply("user_1", [chunk(1)], [])

    for number in range(10, 30):
        assert index.search(f"user_{number}", VECTORS[0], 3) == []
    assert sum(link.endswith("data_level0.bin") for link in open_files()) == 1


def open_files() -> list[str]:
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        path = Path("/proc/self/fd", descriptor)
        links.append(str(path.readlink()) if path.is_symlink() else "")
    return links


def test_searches_go_on_while_collections_are_opened_closed_and_written(open_index: Callable[..., DenseIndex]) -> None:
    index = open_index(max_open_collections=4)
    names = [f"user_{number}" for number in range(9)]
    for name in names:
        index.apply(name, chunks(range(30)), [])
    stop = threading.Event()

    def search(seed: int) -> int:
        rng, searches = random.Random(seed), 0
        while not stop.is_set():
            assert found(index, rng.choice(names), rng.randrange(30))
            searches += 1
        return searches

    with ThreadPoolExecutor(6) as pool:
        searching = [pool.submit(search, seed) for seed in range(6)]
        for number in range(30, 60):
            index.apply(names[number % 9], [chunk(number)], [f"c{number - 9}" if number > 38 else "c-none"])
            if number % 10 == 0:
                index.drop("user_of_nobody")
        stop.set()
        assert all(future.result() > 0 for future in searching)


MANY = """
import resource, sys
from pathlib import Path
import numpy as np
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from braid.core.indexes.dense import DenseIndex
from braid.core.ledger.change_log import IndexedChunk
vectors = np.random.default_rng(0).standard_normal((70, 384)).astype(np.float32)
index = DenseIndex(Path(sys.argv[1]))
def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // 1_000_000
for i in range(70):
    index.apply(f"user_{i}", [IndexedChunk(f"c{i}", 1, 1, 1, "", vectors[i])], [])
sizes = []
for _ in range(2):
    for i in range(70):
        assert index.search(f"user_{i}", vectors[i], 1)[0].chunk_id == f"c{i}", i
    sizes.append(rss())
print(*sizes)
"""


def test_more_collections_than_the_process_may_open_files_for(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MANY, str(tmp_path / "dense")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    first, second = map(int, done.stdout.split())
    assert second - first < 40  # MB; 70 collections take about 190
    assert done.stderr == ""  # no noise


# ---------------------------------------------------------------- a store that breaks


def remove_folder(store: Path) -> None:
    shutil.rmtree(store.parent)


def replace_database(store: Path) -> None:
    (store / "chroma.sqlite3").unlink()
    sqlite3.connect(store / "chroma.sqlite3").close()


def overwrite_database(store: Path) -> None:
    with (store / "chroma.sqlite3").open("r+b") as file:
        file.write(os.urandom(200_000))


def truncate_database(store: Path) -> None:
    os.truncate(store / "chroma.sqlite3", (store / "chroma.sqlite3").stat().st_size // 2)


def empty_database(store: Path) -> None:
    os.truncate(store / "chroma.sqlite3", 0)


@pytest.mark.parametrize(
    "damage", [remove_folder, replace_database, overwrite_database, truncate_database, empty_database]
)
def test_a_store_that_breaks_while_open_says_so_until_it_is_reset(
    damage: Callable[[Path], None], open_index: Callable[..., DenseIndex], tmp_path: Path
) -> None:
    index = open_index()
    for name in ("user_1", "user_2"):
        index.apply(name, chunks(range(20)), [])
    assert found(index, "user_1", 3)
    before = store_of(index, tmp_path)

    damage(before)

    for collection in ("user_1", "user_2", "user_of_nobody"):
        with pytest.raises(IndexUnavailableError):
            index.search(collection, VECTORS[0], 3)
    for call in (
        lambda: index.count("user_1"),
        lambda: list(index.ids("user_1")),
        lambda: index.apply("user_1", [chunk(1)], []),
        lambda: index.drop("user_1"),
        index.collections,
    ):
        with pytest.raises(IndexUnavailableError):
            call()
    assert "dense" in index.check("user_1")
    assert index.reset()
    assert_is_empty_and_works(index)
    assert index.store_id != before.name
    assert not before.exists()


@pytest.mark.parametrize("damage", [overwrite_database, truncate_database, empty_database])
def test_a_store_that_is_broken_when_opened_says_so_until_it_is_reset(
    damage: Callable[[Path], None], open_index: Callable[..., DenseIndex], tmp_path: Path
) -> None:
    index = open_index()
    index.apply("user_1", chunks(range(20)), [])
    index.close()
    damage(store_of(index, tmp_path))

    index = open_index()

    with pytest.raises(IndexUnavailableError, match="dense store"):
        index.search("user_1", VECTORS[0], 3)
    assert "dense store" in index.check("user_1")
    with pytest.raises(IndexUnavailableError):
        index.drop("user_1")
    assert index.reset()
    assert_is_empty_and_works(index)


@pytest.mark.parametrize("damage", [remove_folder, lambda store: (store / "chroma.sqlite3").unlink()])
def test_a_store_that_is_gone_when_opened_is_a_new_one(
    damage: Callable[[Path], None], open_index: Callable[..., DenseIndex], tmp_path: Path
) -> None:
    index = open_index()
    index.apply("user_1", chunks(range(20)), [])
    index.close()
    before = index.store_id
    damage(store_of(index, tmp_path))

    index = open_index()

    assert_is_empty_and_works(index)
    assert index.store_id != before


def assert_is_empty_and_works(index: DenseIndex) -> None:
    assert index.collections() == []
    assert index.search("user_1", VECTORS[3], 5) == []
    index.apply("user_1", chunks(range(10)), [])
    assert found(index, "user_1", 3)
    assert index.check("user_1") == ""


def test_stores_that_were_abandoned_are_deleted_at_the_next_start(
    open_index: Callable[..., DenseIndex], tmp_path: Path
) -> None:
    index = open_index()
    index.apply("user_1", chunks(range(3)), [])
    index.close()
    (tmp_path / "dense" / "store-0-00000000").mkdir()

    index = open_index()

    assert found(index, "user_1", 2)
    assert [path.name for path in (tmp_path / "dense").iterdir()] == [index.store_id]


def test_a_collection_that_vanishes_is_not_an_empty_one(
    index: DenseIndex, server: Server, open_index: Callable[..., DenseIndex]
) -> None:
    index.apply("user_7", chunks(range(3)), [])
    if index.crash_safe:
        with client_of(server) as client:
            client.delete_collection("user_7")
    else:  # as another program would
        with index._sessions.lend() as session:
            session.client.delete_collection("user_7")

    with pytest.raises(IndexUnavailableError):
        index.search("user_7", VECTORS[0], 3)
    assert "user_7" in index.check("user_7")
    index.drop("user_7")
    assert index.search("user_7", VECTORS[0], 3) == []


def test_a_collection_made_otherwise_is_refused(index: DenseIndex) -> None:
    with index._sessions.lend() as session:
        foreign = session.client.create_collection("user_7", embedding_function=None)  # Chroma's default space is l2
        foreign.upsert(ids=["x"], embeddings=VECTORS[:1])

    with pytest.raises(IndexUnavailableError, match="l2"):
        index.search("user_7", VECTORS[0], 3)
    with pytest.raises(IndexUnavailableError, match="l2"):
        index.apply("user_7", chunks(range(3)), [])
    assert "l2" in index.check("user_7")
    index.drop("user_7")
    index.apply("user_7", chunks(range(3)), [])
    assert found(index, "user_7", 1)


def test_a_closed_index_refuses(open_index: Callable[..., DenseIndex]) -> None:
    index = open_index()
    index.apply("user_1", chunks(range(3)), [])
    index.close()

    with pytest.raises(IndexUnavailableError, match="closed"):
        index.search("user_1", VECTORS[0], 3)


# ---------------------------------------------------------------- a collection that breaks


def segment_of(store: Path, collection: str) -> Path:
    """The folder of a collection's vector index."""
    statement = "SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection WHERE c.name = ? AND scope = ?"
    connection = sqlite3.connect(store / "chroma.sqlite3")
    (row,) = connection.execute(statement, (collection, "VECTOR")).fetchall()
    connection.close()
    return store / str(row[0])


def interrupt_saving(segment: Path) -> None:
    later = (segment / "index_metadata.pickle").stat().st_mtime_ns + 10_000_000
    os.utime(segment / "header.bin", ns=(later, later))


def cut_ids(segment: Path) -> None:
    os.truncate(segment / "index_metadata.pickle", 5000)


def empty_ids(segment: Path) -> None:
    os.truncate(segment / "index_metadata.pickle", 0)


def remove_index(segment: Path) -> None:
    shutil.rmtree(segment)


def keep_mtime(file: Path, change: Callable[[], object]) -> None:
    stat = file.stat()
    change()
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def grow_links(segment: Path) -> None:
    file = segment / "link_lists.bin"
    keep_mtime(file, lambda: os.truncate(file, 10 << 30))


def garble_links(segment: Path) -> None:
    file = segment / "link_lists.bin"
    content = bytearray(file.read_bytes())
    content[:4] = (123_456_789).to_bytes(4, "little")
    keep_mtime(file, lambda: file.write_bytes(content))


def cut_links(segment: Path) -> None:
    file = segment / "link_lists.bin"
    keep_mtime(file, lambda: os.truncate(file, file.stat().st_size - 70))


def cut_vectors(segment: Path) -> None:
    file = segment / "data_level0.bin"
    keep_mtime(file, lambda: os.truncate(file, file.stat().st_size - 100))


def garble_header(segment: Path) -> None:
    file = segment / "header.bin"
    keep_mtime(file, lambda: file.write_bytes(b"short"))


def lose_a_page(segment: Path) -> None:
    """Well-formed files in which the last hundred vectors are zero, as after a power failure."""
    file = segment / "data_level0.bin"
    links = 2 * 128 * 4 + 4
    entries = np.frombuffer(file.read_bytes(), np.uint8).reshape(-1, links + DIM * 4 + 8).copy()
    entries[-100:, links : links + DIM * 4] = 0
    keep_mtime(file, lambda: file.write_bytes(entries.tobytes()))


@pytest.mark.parametrize(
    "damage",
    [
        interrupt_saving,
        cut_ids,
        empty_ids,
        remove_index,
        grow_links,
        garble_links,
        cut_links,
        cut_vectors,
        garble_header,
    ],
)
def test_torn_files_are_noticed_before_chroma_loads_them_and_dropping_helps(
    damage: Callable[[Path], None], open_index: Callable[..., DenseIndex], tmp_path: Path
) -> None:
    index = open_index()
    index.apply("user_1", chunks(range(1100)), [])
    index.apply("user_2", chunks(range(5)), [])
    index.close()
    damage(segment_of(store_of(index, tmp_path), "user_1"))

    index = open_index()

    with pytest.raises(IndexUnavailableError, match="user_1 is damaged"):
        index.search("user_1", VECTORS[0], 3)
    assert "user_1 is damaged" in index.check("user_1")
    assert found(index, "user_2", 2)
    index.drop("user_1")
    assert index.count("user_1") == 0
    index.apply("user_1", chunks(range(20)), [])
    assert found(index, "user_1", 7)
    assert index.check("user_1") == ""


def test_vectors_that_are_lost_are_noticed(open_index: Callable[..., DenseIndex], tmp_path: Path) -> None:
    index = open_index()
    index.apply("user_1", chunks(range(1000)), [])
    index.close()
    lose_a_page(segment_of(store_of(index, tmp_path), "user_1"))

    assert "cannot be found by their vector" in open_index().check("user_1")


def test_equal_vectors_are_no_fault(open_index: Callable[..., DenseIndex]) -> None:
    index = open_index()
    index.apply("user_1", [chunk(number, vector=VECTORS[0]) for number in range(60)], [])

    assert index.check("user_1") == ""


def test_folders_of_dropped_collections_are_deleted_at_the_next_start(
    open_index: Callable[..., DenseIndex], tmp_path: Path
) -> None:
    index = open_index()
    for name in ("user_1", "user_2"):
        index.apply(name, chunks(range(3)), [])
    dropped = segment_of(store_of(index, tmp_path), "user_1")
    index.drop("user_1")

    index = open_index()

    assert found(index, "user_2", 1)
    assert not dropped.exists()


def test_an_emptied_collection_is_sound_and_can_be_filled_again(open_index: Callable[..., DenseIndex]) -> None:
    index = open_index()
    index.apply("user_1", chunks(range(600)), [])
    index.apply("user_1", [], [f"c{number}" for number in range(600)])  # saved while empty
    index = open_index()

    assert index.search("user_1", VECTORS[0], 3) == []
    assert index.check("user_1") == ""
    index.apply("user_1", chunks(range(20)), [])
    index = open_index()
    assert found(index, "user_1", 7)
    assert index.check("user_1") == ""


def test_an_index_mostly_of_deleted_chunks_is_to_be_rebuilt(open_index: Callable[..., DenseIndex]) -> None:
    index = open_index()
    index.apply("user_1", chunks(range(1600)), [])
    index.apply("user_1", [], [f"c{number}" for number in range(100, 1600)])
    index = open_index()

    assert found(index, "user_1", 7)
    assert "deleted chunks" in index.check("user_1")


# ---------------------------------------------------------------- kill -9

ADDING = """
import resource, sys
from pathlib import Path
import numpy as np
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
from braid.core.indexes.dense import DenseIndex
from tests.core.indexes.test_dense import VECTORS, chunks
index = DenseIndex(Path(sys.argv[1]))
start = int(sys.argv[2])
while True:
    for user in (1, 2, 3):
        index.apply(f"user_{user}", chunks(list(range(start, start + 200))), [])
        print(user, start, flush=True)
    start = (start + 200) % 3800
"""


def test_a_killed_process_loses_nothing_that_it_had_acknowledged(
    tmp_path: Path, open_index: Callable[..., DenseIndex]
) -> None:
    rng = random.Random(4)
    acknowledged: dict[str, set[int]] = {f"user_{user}": set() for user in (1, 2, 3)}
    for turn in range(4):
        for name, start in killed_after(rng.uniform(0.2, 1.2), tmp_path / "dense", start=turn * 1000):
            acknowledged[name].update(range(start, start + 200))
        index = open_index()
        for name, numbers in acknowledged.items():
            if index.check(name):
                index.drop(name)
                index.apply(name, chunks(sorted(numbers)), [])
            assert index.check(name) == ""
            assert {f"c{number}" for number in numbers} <= set(index.ids(name))
            assert all(found(index, name, number) for number in rng.sample(sorted(numbers), min(60, len(numbers))))
        index.close()
    assert all(acknowledged.values())


def killed_after(seconds: float, path: Path, *, start: int) -> list[tuple[str, int]]:
    """Let a process add chunks for a while, kill it, and tell what it had acknowledged."""
    command = [sys.executable, "-c", ADDING, str(path), str(start)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate(timeout=10)
    pairs = [line.split() for line in (*lines, *rest.splitlines(keepends=True)) if line.endswith("\n")]
    assert pairs
    return [(f"user_{user}", int(first)) for user, first in pairs]


# ---------------------------------------------------------------- the server


def test_a_server_that_is_down_is_named_and_no_reason_to_rebuild(tmp_path: Path) -> None:
    server = Server(tmp_path / "server")
    index = DenseIndex(tmp_path / "dense", url=server.url)
    with pytest.raises(IndexUnavailableError, match=server.url):
        index.search("user_7", VECTORS[0], 3)

    server.start()
    index.apply("user_7", chunks(range(10)), [])
    server.stop()
    for call in (lambda: index.search("user_7", VECTORS[0], 3), lambda: index.check("user_7"), index.collections):
        with pytest.raises(StoreUnreachableError):
            call()
    assert not index.reset()

    server.start()
    assert found(index, "user_7", 4)
    assert index.check("user_7") == ""
    server.stop()
    index.close()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://"])
def test_an_address_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="http://host:port"):
        DenseIndex(tmp_path, url=url)


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
        PanicException("index out of bounds"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_chroma_raises_is_told_with_its_cause(error: BaseException) -> None:
    with (
        pytest.raises(IndexUnavailableError, match="the dense index of user_7 .*" + str(error)),
        translate_errors("the dense index of user_7"),
    ):
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), TypeError("a bug"), EmbeddingError("ours")])
def test_what_is_not_chromas_passes(error: BaseException) -> None:
    with pytest.raises(type(error)), translate_errors("the dense index of user_7"):
        raise error
