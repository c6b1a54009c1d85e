"""Waiting for a processor, and for collections of which one does not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.indexes.bm25 import Bm25Index, Bm25Statistics
from braid.core.search.waiting import Places
from tests.worlds import WAIT_S, document, eventually


class Holder:
    """A thread that holds a place until it is let go."""

    def __init__(self, places: Places, name: str, came: list[str], *, longest_s: float = WAIT_S) -> None:
        self.leave = threading.Event()
        self._work = (places, name, came, longest_s)
        self.thread = threading.Thread(target=self._hold)
        self.thread.start()

    def _hold(self) -> None:
        places, name, came, longest_s = self._work
        with places.hold(longest_s):
            came.append(name)
            assert self.leave.wait(WAIT_S)

    def end(self) -> None:
        self.leave.set()
        self.thread.join(WAIT_S)
        assert not self.thread.is_alive()


@pytest.fixture
def came() -> list[str]:
    """Who got a place, in order."""
    return []


def test_threads_get_places_in_the_order_in_which_they_come(came: list[str]) -> None:
    places, holders = Places(2, lease_s=WAIT_S), []
    for number in range(6):
        holders.append(Holder(places, str(number), came))
        expected = min(number + 1, 2)
        eventually(lambda wanted=expected: len(came) == wanted)
        eventually(lambda waiting=number + 1 - expected: len(places._waiting) == waiting)
    for number, holder in enumerate(holders):
        assert came == [str(each) for each in range(min(number + 2, 6))], "two at a time, never more"
        holder.end()
        eventually(lambda wanted=number: len(came) == min(wanted + 3, 6))
    assert came == ["0", "1", "2", "3", "4", "5"]


def test_a_thread_that_hangs_does_not_keep_its_place(came: list[str]) -> None:
    places = Places(1, lease_s=0.05)
    hanging = Holder(places, "hanging", came)
    eventually(lambda: came == ["hanging"])
    started = time.monotonic()
    Holder(places, "next", came).end()
    assert came == ["hanging", "next"]
    assert time.monotonic() - started < WAIT_S
    hanging.end()
    Holder(places, "last", came).end()  # what was given back late is not there twice
    assert len(places._held) == 0


def test_after_its_time_a_thread_goes_on_without_a_place(came: list[str]) -> None:
    places = Places(1, lease_s=WAIT_S)
    first = Holder(places, "first", came)
    eventually(lambda: came == ["first"])
    impatient = Holder(places, "impatient", came, longest_s=0.05)
    eventually(lambda: came == ["first", "impatient"])
    impatient.end()
    assert len(places._held) == 1
    first.end()


def test_a_collection_that_does_not_answer_is_named_and_the_others_are_searched(
    braid: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = braid.ledger.add_user("ann")
    own = braid.ledger.add_dataset(user.id, "own").id
    braid.ledger.put_document(own, document("a.md", "the pump"))
    guide = braid.registry.add("Guide", "shared_guide").id
    braid.mirror_registry()
    braid.ledger.put_document(guide, document("b.md", "the pump of the guide"))
    assert braid.indexer.wait(WAIT_S, ["bm25"])
    hung, count = threading.Event(), Bm25Index.statistics

    def hang(self: Bm25Index, collection: str, terms: Collection[str], **options: Any) -> Bm25Statistics:
        if collection == "shared_guide":
            hung.wait(WAIT_S)
        return count(self, collection, terms, **options)

    monkeypatch.setattr(Bm25Index, "statistics", hang)
    context = braid.manager._context
    object.__setattr__(context, "leg_timeout_s", 1.0)
    try:
        result = braid.search("pump", user_id=user.id, dataset_ids=[own, guide], mode="keyword")
        assert [hit.passage.source for hit in result.hits] == ["a.md"]
        assert [(part.leg, part.collection) for part in result.degraded] == [("bm25", "shared_guide")]
        assert "no answer within 1 s" in result.degraded[0].reason
    finally:
        hung.set()
    object.__setattr__(context, "leg_timeout_s", WAIT_S)
    whole = braid.search("pump", user_id=user.id, dataset_ids=[own, guide], mode="keyword")
    assert ({hit.passage.source for hit in whole.hits}, whole.degraded) == ({"a.md", "b.md"}, ())


def test_a_place_is_held_without_waiting_where_one_is_free(came: list[str]) -> None:
    places = Places(2, lease_s=WAIT_S)
    first = Holder(places, "first", came)
    eventually(lambda: came == ["first"])
    with places.hold_if_free() as is_free:
        assert is_free
        with places.hold_if_free() as is_free_too:
            assert not is_free_too
        second = Holder(places, "second", came)
        eventually(lambda: len(places._waiting) == 1)
        first.end()
        eventually(lambda: came == ["first", "second"])
        with places.hold_if_free() as is_free_too:
            assert not is_free_too
    third = Holder(places, "third", came)
    eventually(lambda: came == ["first", "second", "third"])
    for holder in (second, third):
        holder.end()
    with places.hold_if_free() as is_free:
        assert is_free
