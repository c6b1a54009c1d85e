"""An indexer with nothing to do asks the database one question per poll, and notices what changes all the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.indexes import indexer
from braid.core.indexes.answers import Bm25Statistics
from braid.core.ledger.change_log import ChangeLog
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, ByHand, add_notes, catch_up, document, eventually

LEGS = {"bm25", "dense"}
ALL = {*LEGS, "chroma"}
NEVER_S = 1e6


class Looks:
    """Polls by hand: at each poll every index's follower looks at all collections if anything may have changed."""

    def __init__(self, braid: Braid, *, anyway_s: float = NEVER_S) -> None:
        self.finished = 0
        """How often a look found that the work is done."""
        log = ChangeLog(braid.ledger.database)
        self._looks = {
            name: indexer._Look(follower, log, braid.mirror_registry, anyway_s=anyway_s)
            for name, follower in braid.indexer.followers.items()
        }

    def poll(self, woken: Set[str] = frozenset()) -> set[str]:
        """Return the names of the indexes whose followers have looked."""
        looked = {name for name, look in self._looks.items() if look.is_needed(name in woken)}
        for name in sorted(looked, key=lambda name: name == "chroma"):  # which takes what the dense leg has embedded
            look, is_busy = self._looks[name], True
            while is_busy:
                is_busy = look.work(threading.Event())
                self.finished += look.has_finished
                look.done()
        return looked

    def settle(self) -> None:
        """Poll until nobody looks any more."""
        for _ in range(10):
            if not self.poll():
                self.finished = 0
                return
        pytest.fail("the indexer never comes to rest")


@pytest.fixture
def braid(tmp_path: Path) -> Iterator[ByHand]:
    """Has indexed one passage."""
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as opened:
        put(opened, add_notes(opened.ledger), "The cat sat on the mat")
        catch_up(opened, "bm25", "dense", "chroma")
        yield opened


@pytest.fixture
def looks(braid: ByHand) -> Looks:
    made = Looks(braid)
    made.settle()
    return made


def put(directory: DataDirectory, dataset: int, text: str) -> None:
    directory.ledger.put_document(dataset, document(text, text))


def test_what_another_process_writes_is_noticed(braid: ByHand, looks: Looks) -> None:
    with DataDirectory(braid.data_dir, embedding_model=HashEmbeddings()) as other:
        put(other, 1, "Dogs bark at night")
        assert looks.poll() == ALL
    assert braid.search("bark", user_id=1).hits[0].passage.text == "Dogs bark at night"
    looks.settle()


def test_a_look_that_finds_nothing_to_do_does_not_end_any_work(braid: ByHand, looks: Looks) -> None:
    """At its end what all indexes have applied is pruned, which costs a look at the whole log."""
    braid.ledger.add_user("bob")
    assert looks.poll() == ALL
    assert looks.finished == 0
    looks.settle()
    put(braid, 1, "Dogs bark at night")
    looks.poll()
    assert looks.finished == len(ALL)


def test_where_a_look_takes_long_the_next_one_comes_later() -> None:
    assert [indexer._poll_s("bm25", took_s) for took_s in (0.0, 0.25, 60.0)] == [indexer.POLL_S, 1.0, 2.0]
    assert indexer._poll_s("chroma", 60.0) == indexer.COPY_POLL_S


def test_a_change_of_the_registry_is_noticed(braid: ByHand, looks: Looks) -> None:
    added = braid.registry.add("Guide", "shared_guide")
    assert looks.poll() == ALL
    looks.settle()
    braid.registry.update(added.id, embedding_model="openai:text-embedding-3-small")
    assert looks.poll() == ALL


def test_who_is_woken_looks(looks: Looks) -> None:
    assert looks.poll() == set()
    assert looks.poll({"bm25"}) == {"bm25"}


def test_a_collection_that_fails_is_tried_again(tmp_path: Path) -> None:
    model = HashEmbeddings()
    model.failing = True
    with ByHand(tmp_path, embedding_model=model) as braid:
        put(braid, add_notes(braid.ledger), "The cat sat on the mat")
        looks = Looks(braid)
        for _ in range(5):
            looks.poll()
        assert looks.poll() == {"dense"}, "there is something to be tried, now or later"
        model.failing = False
        eventually(lambda: not looks.poll())
        assert braid.search("cat", user_id=1, mode="semantic").hits


def test_a_look_is_made_now_and_then_without_a_sign(braid: ByHand) -> None:
    looks = Looks(braid, anyway_s=0.0)
    for _ in range(5):
        looks.poll()
    assert looks.poll() == ALL


def test_nothing_but_a_sign_ends_a_pause_between_two_polls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL_S", "WATCH_S", "COPY_POLL_S", "LONGEST_POLL_S"):
        monkeypatch.setattr(indexer, name, NEVER_S)
    looked: set[str] = set()

    def noted(name: str, work: Callable[[threading.Event], bool]) -> Callable[[threading.Event], bool]:
        return lambda stopping: looked.add(name) or work(stopping)  # type: ignore[func-returns-value]

    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        for name, follower in braid.indexer.followers.items():
            follower.work = noted(name, follower.work)  # type: ignore[method-assign]
        put(braid, add_notes(braid.ledger), "The cat sat on the mat")
        braid.wake()
        eventually(lambda: looked >= LEGS)
        assert "chroma" not in looked  # nobody waits for the copy
        assert braid.indexer.wait(WAIT_S)
        braid.indexer.wait(0.0, ("chroma",))
        eventually(lambda: "chroma" in looked)
        for name in ALL:
            looked.clear()
            braid.indexer.suspect(name, "user_1")
            eventually(lambda name=name: name in looked)  # type: ignore[misc]


def test_a_wake_up_is_not_lost_where_the_database_fails(braid: ByHand) -> None:
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


def test_a_suspicion_that_comes_while_an_index_looks_at_its_files_is_kept(
    braid: ByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower, doubts = braid.indexer.followers["dense"], list[bool]()
    mend = follower.index.mend

    def mend_slowly(collection: str, *, doubt: bool, **told: Any) -> None:
        mend(collection, doubt=doubt, **told)
        if not doubts:
            follower.suspect(collection)  # by a search that failed meanwhile
        doubts.append(doubt)

    monkeypatch.setattr(follower.index, "mend", mend_slowly)
    for _ in range(3):
        follower.work(threading.Event())
    assert doubts == [False, True, False]


def test_an_index_that_is_filled_while_it_is_counted_is_not_called_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset_id = add_notes(braid.ledger)
        braid.ledger.put_document(dataset_id, document("a.md", "The cat sat on the mat"))
        index, indexed = braid.manager._context.bm25, threading.Event()
        count = index.statistics

        def count_and_index(*args: Any, **options: Any) -> Bm25Statistics:
            found = count(*args, **options)
            if not indexed.is_set():
                indexed.set()
                catch_up(braid)
            return found

        monkeypatch.setattr(index, "statistics", count_and_index)
        found = braid.search("cat", user_id=1, dataset_ids=[dataset_id], mode="keyword")
    assert [hit.passage.source for hit in found.hits] == ["a.md"]
    assert [part.reason for part in found.degraded] == ["1 passages of user_1 are not in the bm25 index yet"]
