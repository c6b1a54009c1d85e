"""Bells and pauses: news that comes between a look and the wait for it is not missed."""

from __future__ import annotations

from braid.core.chat.turns.bell import Bell, Pause, waited
from tests.worlds import WAIT_S


def test_a_bell_wakes_each_who_waits_once() -> None:
    bell, woken = Bell(), list[str]()
    bell.when_rung(0, lambda: woken.append("one"))
    bell.when_rung(0, lambda: woken.append("two"))
    call_off = bell.when_rung(0, lambda: woken.append("three"))
    call_off()
    bell.ring()
    bell.ring()
    assert woken == ["one", "two"]


def test_who_comes_after_the_news_is_woken_at_once() -> None:
    bell, woken = Bell(), list[str]()
    seen = bell.rung
    bell.ring()
    bell.when_rung(seen, lambda: woken.append("late"))()
    assert woken == ["late"]
    Pause(WAIT_S, bell, seen).wait()  # returns: a test that hangs is ended


def test_steps_come_without_their_pauses() -> None:
    bell = Bell()
    bell.ring()
    assert list(waited(iter(["a", Pause(WAIT_S, bell), "b"]))) == ["a", "b"]
