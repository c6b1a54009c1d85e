"""The change log: whoever follows it, from wherever, ends with what stands in the ledger."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from braid.core.ledger.change_log import ChangeLog, IndexState
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, DocumentInput
from tests import worlds
from tests.worlds import WAIT_S, add_notes

if TYPE_CHECKING:
    from braid.core.ledger.change_log import IndexedChunk


@pytest.fixture
def log(ledger: Ledger) -> ChangeLog:
    return ChangeLog(ledger.database)


@pytest.fixture
def dataset(ledger: Ledger) -> int:
    return add_notes(ledger)


def document(source: str, *texts: str) -> DocumentInput:
    return worlds.document(source, *texts, title="T")


def texts(log: ChangeLog, collection: str) -> list[str]:
    return sorted(chunk.text for batch in log.all_chunks(collection, 3) for chunk in batch)


# ---------------------------------------------------------------- completeness

COLLECTIONS = ("user_1", "shared_a", "shared_b")
Contents = dict[str, "IndexedChunk"]


def contents(log: ChangeLog, collection: str) -> Contents:
    return {chunk.id: chunk for batch in log.all_chunks(collection, 1000) for chunk in batch}


class Followers(RuleBasedStateMachine):
    """Writes at random; at any time an index may take a copy, and later follow the log from there."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.ledger = ledger
        self.log = ChangeLog(ledger.database)
        user = ledger.user_named("ann") or ledger.add_user("ann")
        for dataset in ledger.all_datasets():
            ledger.remove_dataset(dataset.id)
        self.datasets = [ledger.add_dataset(user.id, "notes").id, self._new_shared_id()]
        ledger.register_shared(self.datasets[1], "Guide", "shared_a")
        self.copies: list[tuple[str, int, Contents]] = []

    def _new_shared_id(self) -> int:
        return min(self.ledger.retired_shared_ids(), default=0) - 1

    datasets_numbers = st.integers(0, 1)
    sources = st.sampled_from("ab")
    passages = st.lists(st.sampled_from(["one", "two", "three", "four"]), max_size=4)

    @rule(number=datasets_numbers, source=sources, given=passages)
    def put(self, number: int, source: str, given: list[str]) -> None:
        self.ledger.put_document(self.datasets[number], document(source, *given))

    @rule(number=datasets_numbers, source=sources)
    def put_failed(self, number: int, source: str) -> None:
        self.ledger.put_failed(self.datasets[number], source, title="T", file_type="md", error="broken")

    @rule(number=datasets_numbers, source=sources)
    def remove(self, number: int, source: str) -> None:
        self.ledger.remove_document(self.datasets[number], source)

    @rule()
    def remove_personal(self) -> None:
        self.ledger.remove_dataset(self.datasets[0])
        self.datasets[0] = self.ledger.add_dataset(self.ledger.users()[0].id, "notes").id

    @rule(collection=st.sampled_from(["shared_a", "shared_b"]))
    def move_shared(self, collection: str) -> None:
        self.ledger.register_shared(self.datasets[1], "Guide", collection)

    @rule(collection=st.sampled_from(COLLECTIONS))
    def copy(self, collection: str) -> None:
        head = self.log.heads().get(collection, 0)
        self.copies.append((collection, head, contents(self.log, collection)))

    @rule(collection=st.sampled_from(COLLECTIONS))
    def prune(self, collection: str) -> None:
        """As the indexer does when every index has come as far as the slowest copy."""
        seqs = [seq for name, seq, _ in self.copies if name == collection]
        if seqs:
            self.log.prune(collection, min(seqs))

    @rule()
    def look(self) -> None:
        self.teardown()

    def teardown(self) -> None:
        """What holds at any time."""
        self.followers_end_with_the_ledger()
        self.counters_are_right()

    def followers_end_with_the_ledger(self) -> None:
        for collection, seq, copied in self.copies:
            followed = dict(copied)
            changed = [change.chunk_id for change in self.log.after(collection, seq, 10_000)]
            for chunk_id in changed:
                followed.pop(chunk_id, None)
            followed.update({chunk.id: chunk for chunk in self.log.chunks(collection, changed)})
            assert followed == contents(self.log, collection)
            assert self.log.pending(collection, seq) == len(changed)

    def counters_are_right(self) -> None:
        for dataset in self.ledger.all_datasets():
            documents = self.ledger.documents(dataset.id)
            passages = [p for d in documents for p in self.ledger.document_passages(d.id, [dataset.id])]
            assert (dataset.documents, dataset.chunks) == (len(documents), len(passages))
            assert sum(d.chunks for d in documents) == len(passages)


def test_every_follower_ends_with_the_ledger(ledger: Ledger) -> None:
    run_state_machine_as_test(
        lambda: Followers(ledger),  # type: ignore[arg-type]  # any callable will do
        settings=settings(
            max_examples=15,
            stateful_step_count=15,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_writer_that_commits_late_is_not_skipped(
    ledger: Ledger, log: ChangeLog, dataset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first writer has its sequence number, then the second writes, and only then the first commits."""
    monkeypatch.setattr("braid.core.ledger.document_batch.DOCUMENTS_PER_BATCH", 1)
    other = ledger.add_dataset(1, "other").id
    wrote, commit, second_done = threading.Event(), threading.Event(), threading.Event()

    def documents_with_a_pause() -> Iterator[DocumentInput]:
        yield document("a", "first")
        wrote.set()
        assert commit.wait(WAIT_S)

    def second() -> None:
        ledger.put_document(other, document("a", "second"))
        second_done.set()

    with ThreadPoolExecutor(2) as pool:
        pool.submit(lambda: ledger.put_documents(dataset, documents_with_a_pause()))
        assert wrote.wait(WAIT_S)
        pool.submit(second)
        second_done.wait(0.3)  # it may have to wait for the first
        early = log.after("user_1", 0, 100)
        commit.set()
    late = log.after("user_1", early[-1].seq if early else 0, 100)
    assert {change.chunk_id for change in [*early, *late]} == log.chunk_ids("user_1")
    assert len(log.chunk_ids("user_1")) == 2


def test_a_follower_beside_many_writers_misses_nothing(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    datasets = [dataset, *(ledger.add_dataset(1, f"more {n}").id for n in range(3))]
    stop = threading.Event()

    def write(dataset_id: int) -> None:
        for step in range(12):
            ledger.put_document(dataset_id, document(f"{step % 5}", *(f"{step} {n}" for n in range(step % 4))))

    def follow() -> list[int]:
        seen: list[int] = []
        while True:
            last_round = stop.is_set()
            seen += [change.seq for change in log.after("user_1", seen[-1] if seen else 0, 7)]
            if last_round and not log.pending("user_1", seen[-1]):
                return seen

    with ThreadPoolExecutor(5) as pool:
        following = pool.submit(follow)
        list(pool.map(write, datasets))
        stop.set()
        seen = following.result(timeout=WAIT_S)
    assert seen == [change.seq for change in log.after("user_1", 0, 10_000)]


# ---------------------------------------------------------------- the log


def test_heads_of_all_collections(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    assert log.heads() == {"user_1": 0}
    ledger.put_document(dataset, document("a", "one", "two"))
    ledger.register_shared(-1, "Guide", "shared_a")
    assert log.heads() == {"user_1": 2, "shared_a": 0}
    ledger.remove_dataset(dataset)
    assert log.heads() == {"user_1": 4, "shared_a": 0}


def test_an_unchanged_document_leaves_no_trace(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "one", "two"))
    head = log.heads()["user_1"]
    ledger.put_document(dataset, document("a", "two", "one"))  # moved, but the same to an index
    assert log.heads()["user_1"] == head


def test_pruning_keeps_the_last_change(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, document("a", *"abcde"))
    assert (log.first_seqs(), log.pending("user_1", 2)) == ({"user_1": 1}, 3)
    log.prune("user_1", 3)
    assert [change.seq for change in log.after("user_1", 0, 100)] == [3, 4, 5]
    log.prune("user_1", 5)
    assert log.heads() == {"user_1": 5}
    assert [change.seq for change in log.after("user_1", 0, 100)] == [5]
    ledger.remove_document(dataset, "a")
    assert [change.seq for change in log.after("user_1", 5, 100)] == [6, 7, 8, 9, 10]


def test_a_limit_takes_the_oldest(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, document("a", *"abcde"))
    assert [change.seq for change in log.after("user_1", 1, 2)] == [2, 3]


# ---------------------------------------------------------------- what a chunk is now


def test_what_an_index_is_given(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    chunks = (ChunkInput("text", "A > B"), ChunkInput("plain"))
    document_id = ledger.put_document(dataset, DocumentInput("a", "Title", "md", chunks)).document_id
    first, second = (p.chunk_id for p in ledger.document_passages(document_id, [dataset]))
    ledger.store_embeddings("m", [first], np.array([[0.6, 0.8]], dtype=np.float32))
    given = {chunk.id: chunk for chunk in log.chunks("user_1", [first, second, "unknown"], "m")}
    assert {c.text for c in given.values()} == {"Title A > B text", "Title plain"}
    assert {(c.dataset_id, c.document_id, c.user_id) for c in given.values()} == {(dataset, document_id, 1)}
    vector = given[first].vector
    assert vector is not None
    assert vector.dtype == np.float32
    assert vector.tolist() == pytest.approx([0.6, 0.8])
    assert given[second].vector is None
    assert [c.vector for c in log.chunks("user_1", [first])] == [None]
    assert [c.vector for c in log.chunks("user_1", [first], "other")] == [None]
    assert log.chunks("shared_a", [first]) == []


def test_a_title_or_heading_that_is_missing_leaves_no_gap(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, DocumentInput("a", "", "md", (ChunkInput("text"), ChunkInput("more", "H"))))
    assert texts(log, "user_1") == ["H more", "text"]


def test_all_chunks_come_once_whatever_the_batch(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, document("a", *"abcdefg"))
    ledger.register_shared(-1, "Guide", "shared_a")
    ledger.put_document(-1, document("a", "shared"))
    for batch in (1, 3, 7, 8):
        sizes = [len(chunks) for chunks in log.all_chunks("user_1", batch)]
        assert sum(sizes) == 7
        assert max(sizes) <= batch
    assert log.chunk_count("user_1") == len(log.chunk_ids("user_1")) == 7
    assert texts(log, "shared_a") == ["T shared"]
    assert texts(log, "unknown") == []
    assert log.chunk_count("unknown") == 0


def test_vectors_of_other_models_are_forgotten_in_one_collection(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.register_shared(-1, "Guide", "shared_a")
    for dataset_id in (dataset, -1):
        ledger.put_document(dataset_id, document("a", "one", "two"))
    mine, shared = sorted(log.chunk_ids("user_1")), sorted(log.chunk_ids("shared_a"))
    vectors = np.ones((2, 2), dtype=np.float32)
    for model in ("old", "new"):
        ledger.store_embeddings(model, mine, vectors)
        ledger.store_embeddings(model, shared, vectors)
    log.forget_other_models("user_1", "new")
    assert [log.embedded_count("user_1", model) for model in ("old", "new")] == [0, 2]
    assert log.embedded_ids("user_1", "new") == set(mine)
    assert [log.embedded_count("shared_a", model) for model in ("old", "new")] == [2, 2]


# ---------------------------------------------------------------- vectors in bulk


def test_all_vectors_of_a_collection_under_one_model(
    ledger: Ledger, log: ChangeLog, dataset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braid.core.ledger.change_log.VECTORS_PER_BATCH", 2)
    ledger.register_shared(-1, "Guide", "shared_a")
    gone = ledger.add_dataset(1, "gone").id
    for dataset_id in (dataset, -1, gone):
        ledger.put_document(dataset_id, document("a", "one", "two", "three", "bare"))
    places = {}
    for dataset_id in (dataset, -1, gone):
        document_id = ledger.documents(dataset_id)[0].id
        for passage in ledger.document_passages(document_id, [dataset_id])[:3]:
            places[passage.chunk_id] = (document_id, dataset_id, [float(dataset_id), float(passage.position)])
    ids = list(places)
    ledger.store_embeddings("m", ids, np.array([places[chunk_id][2] for chunk_id in ids], dtype=np.float32))
    ledger.store_embeddings("other", ids, np.zeros((len(ids), 5), dtype=np.float32))
    ledger.remove_dataset(gone)
    batches = list(log.vectors_of("user_1", "m"))
    assert [len(batch.chunk_ids) for batch in batches] == [2, 1]
    assert {batch.vectors.dtype for batch in batches} == {np.dtype(np.float32)}
    found = {
        chunk_id: (document_id, dataset_id, vector.tolist())
        for batch in batches
        for chunk_id, document_id, dataset_id, vector in zip(
            batch.chunk_ids, batch.document_ids, batch.dataset_ids, batch.vectors, strict=True
        )
    }
    assert found == {chunk_id: place for chunk_id, place in places.items() if place[1] == dataset}
    assert list(log.vectors_of("user_1", "unknown")) == []


def test_vectors_of_some_chunks(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "one", "two", "bare"))
    first, second, bare = (p.chunk_id for p in ledger.document_passages(1, [dataset]))
    ledger.store_embeddings("m", [first, second], np.array([[0.6, 0.8], [1, 0]], dtype=np.float32))
    ids, vectors = log.vectors("m", [second, bare, first, "unknown"])
    assert dict(zip(ids, vectors.tolist(), strict=True)) == {first: pytest.approx([0.6, 0.8]), second: [1.0, 0.0]}
    assert vectors.dtype == np.float32
    for none in (log.vectors("other", [first]), log.vectors("m", [])):
        assert (none[0], none[1].size) == ([], 0)


# ---------------------------------------------------------------- states


def test_index_states_are_kept_by_leg_and_collection(log: ChangeLog) -> None:
    assert log.states("bm25") == {}
    log.set_state("bm25", "user_1", IndexState("v1", 5, "ready"))
    log.set_state("dense", "user_1", IndexState("m", 2, "writing"))
    log.set_state("bm25", "user_1", IndexState("v2", 0, "rebuilding"))
    assert log.states("bm25") == {"user_1": IndexState("v2", 0, "rebuilding")}
    assert log.states("dense") == {"user_1": IndexState("m", 2, "writing")}


def test_states_are_set_from_two_threads_at_once(log: ChangeLog) -> None:
    """The doctor asks for a rebuild while the indexer sees the collection for the first time."""

    def set_it(number: int) -> Callable[[], None]:
        return lambda: log.set_state("bm25", f"user_{number // 2}", IndexState("v", number, "ready"))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(set_it(number)) for number in range(20)]:
            done.result(timeout=WAIT_S)
    assert len(log.states("bm25")) == 10
