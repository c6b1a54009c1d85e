"""Work that one process does for all: two processes over one ledger."""

from __future__ import annotations

import pytest

from braid.core.background.shared_work import INTERRUPTED, SharedWork
from braid.core.ledger.ledger import Ledger
from tests.databases import on_both_databases
from tests.worlds import eventually


@on_both_databases
def test_one_works_and_all_see_how_far_it_is(ledger: Ledger) -> None:
    one, other = SharedWork(ledger, "backup"), SharedWork(ledger, "backup")
    assert other.read() == ({}, False)
    assert one.begin(done=0, error="")
    assert not other.begin()
    assert not one.begin()
    one.show(done=3)
    assert other.read() == ({"done": 3, "error": ""}, True)
    assert SharedWork(ledger, "checkup").begin()
    one.end(error="the disk is full")
    assert other.read() == ({"done": 3, "error": "the disk is full"}, False)
    assert other.begin(error="")


def test_who_died_at_work_is_replaced_and_changes_nothing_any_more(ledger: Ledger) -> None:
    dead, next_one = SharedWork(ledger, "backup"), SharedWork(ledger, "backup", dead_s=-1.0)
    assert dead.begin(done=1, error="")
    assert next_one.read() == ({"done": 1, "error": INTERRUPTED}, False)
    assert next_one.begin(done=0, error="")
    dead.show(done=9)
    dead.end(error="late")
    assert dead.read() == ({"done": 0, "error": ""}, True)


def test_who_lives_is_seen(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    work = SharedWork(ledger, "backup", beat_s=0.01)
    beats: list[None] = []
    monkeypatch.setattr(work, "show", lambda: beats.append(None))
    work.begin()
    eventually(lambda: len(beats) > 2)
    work.end()
