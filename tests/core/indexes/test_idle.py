"""An indexer with nothing to do asks the database one question per poll, and notices what changes all the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Set
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.indexes import indexer
from braid.core.ledger.change_log import ChangeLog
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S

LEGS = {"bm25", "dense"}
ALL = {*LEGS, "chroma"}


class Looks:
    """Counts the looks of each index's follower at all collections."""

    def __init__(self, braid: Braid) -> None:
        self.of: dict[str, int] = {}
        self._pause_s = 2.2 * max(indexer.POLL_S, indexer.COPY_POLL_S)
        for leg, follower in braid.indexer.followers.items():
            follower.work = self._counting(leg, follower.work)  # type: ignore[method-assign]

    def _counting(self, leg: str, work: Callable[[threading.Event], bool]) -> Callable[[threading.Event], bool]:
        def counted(stopping: threading.Event) -> bool:
            self.of[leg] = self.of.get(leg, 0) + 1
            return work(stopping)

        return counted

    def settle(self) -> None:
        """Wait until there was no look for two polls, then begin to count."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            self.of.clear()
            time.sleep(self._pause_s)
            if not self.of:
                return
        pytest.fail("the indexer never comes to rest")

    def seen(self, names: Set[str] = frozenset(ALL)) -> bool:
        """Whether these have looked again."""
        deadline = time.monotonic() + WAIT_S
        while not self.of.keys() >= names and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.of.keys() >= names


@pytest.fixture
def braid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Braid]:
    """A Braid that has indexed one passage, and never looks again without a sign."""
    monkeypatch.setattr(indexer, "LOOK_ANYWAY_S", 1e9)
    monkeypatch.setattr(indexer, "COPY_POLL_S", indexer.POLL_S)
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as opened:
        dataset = opened.ledger.add_dataset(opened.ledger.add_user("ann").id, "notes").id
        put(opened, dataset, "The cat sat on the mat")
        assert opened.indexer.wait(WAIT_S, ("bm25", "dense", "chroma"))
        yield opened


@pytest.fixture
def looks(braid: Braid) -> Looks:
    counted = Looks(braid)
    counted.settle()
    return counted


def put(directory: DataDirectory, dataset: int, text: str) -> None:
    directory.ledger.put_document(dataset, DocumentInput(text, "", "txt", (ChunkInput(text),)))


def test_what_another_process_writes_is_noticed(braid: Braid, looks: Looks) -> None:
    with DataDirectory(braid.data_dir, embedding_model=HashEmbeddings()) as other:
        put(other, 1, "Dogs bark at night")
        assert looks.seen()
    assert braid.indexer.wait(WAIT_S)
    assert braid.search("bark", user_id=1).hits[0].passage.text == "Dogs bark at night"
    looks.settle()


def test_a_look_that_finds_nothing_prunes_nothing(braid: Braid, looks: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
    pruned = list[str]()
    monkeypatch.setattr(ChangeLog, "first_seqs", lambda self: pruned.append("all collections") or {})
    braid.ledger.add_user("bob")
    assert looks.seen()
    looks.settle()
    assert pruned == []


def test_where_a_look_takes_long_the_next_one_comes_later() -> None:
    assert [indexer._poll_s("bm25", took_s) for took_s in (0.0, 0.25, 60.0)] == [indexer.POLL_S, 1.0, 2.0]
    assert indexer._poll_s("chroma", 60.0) == indexer.COPY_POLL_S


def test_a_change_of_the_registry_is_noticed(braid: Braid, looks: Looks) -> None:
    added = braid.registry.add("Guide", "shared_guide")
    assert looks.seen()
    looks.settle()
    braid.registry.update(added.id, embedding_model="openai:text-embedding-3-small")
    assert looks.seen()


def test_a_suspected_index_is_looked_at(braid: Braid, looks: Looks) -> None:
    braid.indexer.suspect("dense", "user_1")
    braid.indexer.suspect("bm25", "user_1")
    braid.indexer.suspect("chroma", "user_1")
    assert looks.seen()


def test_a_collection_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "LOOK_ANYWAY_S", 1e9)
    model = HashEmbeddings()
    model.failing = True
    with Braid(tmp_path, embedding_model=model) as braid:
        put(braid, braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id, "The cat sat on the mat")
        assert not braid.indexer.wait(2.0)
        model.failing = False
        assert braid.indexer.wait(WAIT_S)


def test_a_look_is_made_now_and_then_without_a_sign(
    braid: Braid, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "LOOK_ANYWAY_S", 0.0)
    for name in ALL:
        braid.indexer.suspect(name, "user_1")  # the look that reads the shorter time
    deadline = time.monotonic() + WAIT_S
    while min(looks.of.get(name, 0) for name in ALL) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert min(looks.of.get(name, 0) for name in ALL) >= 3


def test_a_wake_up_ends_the_pause_between_two_polls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "COPY_POLL_S", indexer.POLL_S)
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id
        put(braid, dataset, "The cat sat on the mat")
        assert braid.indexer.wait(WAIT_S)
        looks = Looks(braid)
        looks.settle()
        monkeypatch.setattr(indexer, "POLL_S", 1e6)
        monkeypatch.setattr(indexer, "COPY_POLL_S", 1e6)
        monkeypatch.setattr(indexer, "LOOK_ANYWAY_S", 1e6)
        for name in ALL:
            braid.indexer.suspect(name, "user_1")  # from the next pause on, nothing but a wake-up ends it
        assert looks.seen()
        looks.settle()
        looks.of.clear()
        put(braid, dataset, "Dogs bark at night")
        time.sleep(1)
        assert not looks.of
        braid.wake()
        assert looks.seen(LEGS)
        assert "chroma" not in looks.of  # nobody waits for the copy
        braid.indexer.wait(0.0, ("chroma",))
        assert looks.seen()


def test_a_wake_up_is_not_lost_where_the_database_fails(braid: Braid) -> None:
    outages = [OperationalError("select", {}, Exception("gone"))]

    def changed() -> bool:
        if outages:
            raise outages.pop()
        return False

    class Changes:
        def watch(self) -> Callable[[], bool]:
            return changed

    look = indexer._Look(braid.indexer.followers["bm25"], Changes(), lambda: 1)  # type: ignore[arg-type]
    with pytest.raises(OperationalError):
        look.is_needed(True)
    assert look.is_needed(False)
    look.done()
    assert not look.is_needed(False)
    outages.append(OperationalError("select", {}, Exception("gone")))
    with pytest.raises(OperationalError):
        look.is_needed(True)
    assert look.is_needed(False)
