"""Admission: users in turn, bounds, and places that are let go; by hand-driven clocks and events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from braid.core.admission import LEASE_S, QUANTUM_S, RECENTLY_S, Admission, Places, Stay, give_way, let_go
from braid.core.errors import TooManyError
from tests.worlds import WAIT_S, eventually


class Asking:
    """Asks an admission, and notes who is admitted in which order."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.came: list[str] = []
        self.stays: dict[str, Stay] = {}

    def ask(self, *names: str) -> None:
        """Ask once for each name; its letter is the user."""
        for name in names:
            self.stays[name] = self.admission.ask(name[0], lambda name=name: self.came.append(name))  # type: ignore[misc]

    def leave(self, name: str) -> list[str]:
        """End one, and return who came then."""
        before = len(self.came)
        self.admission.leave(self.stays[name])
        return self.came[before:]


class Clock:
    """A clock that stands still until it is moved on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def ended(thread: threading.Thread) -> bool:
    thread.join(WAIT_S)
    return not thread.is_alive()


# ---------------------------------------------------------------- whose turn it is


def test_users_come_in_turn_however_many_requests_one_has() -> None:
    asking = Asking(Admission(1))
    asking.ask("a1", "a2", "a3", "a4", "b1", "b2", "c1")
    assert asking.came == ["a1"]
    order = [asking.leave(name) for name in ("a1", "b1", "a2", "c1", "b2", "a3", "a4")]
    assert order == [["b1"], ["a2"], ["c1"], ["b2"], ["a3"], ["a4"], []]


def test_who_has_nothing_yet_comes_before_those_who_have_but_not_twice_in_a_row() -> None:
    asking = Asking(Admission(2))
    asking.ask("a1", "b1", *(f"a{n}" for n in range(2, 5)), *(f"b{n}" for n in range(2, 5)))
    asking.ask("c1", "d1")
    assert asking.leave("a1") == ["c1"]
    assert asking.leave("c1") == ["a2"], "after one that is new one of the others"
    assert asking.leave("b1") == ["d1"]


def test_a_user_has_a_share_of_the_places_and_of_the_queue() -> None:
    asking = Asking(Admission(3, of_one=2, waiting_of_one=2))
    asking.ask("a1", "a2", "a3", "a4")
    assert asking.came == ["a1", "a2"], "a place is left although two requests wait"
    with pytest.raises(TooManyError, match="4 of your requests are being answered; wait for one"):
        asking.ask("a5")
    asking.ask("b1")
    assert asking.came == ["a1", "a2", "b1"]
    asking.admission.leave(asking.stays["a3"])  # one that waits goes away
    assert asking.leave("a1") == ["a4"]


def test_what_goes_on_is_not_refused_however_many_wait() -> None:
    admission = Admission(1, waiting_of_one=1)
    first, second = (admission.ask("a", bool) for _ in range(2))
    with pytest.raises(TooManyError):
        admission.ask("a", bool)
    came: list[str] = []
    admission.ask("a", lambda: came.append("again"), goes_on=True)
    admission.leave(first)
    admission.leave(second)
    assert came == ["again"]


def test_nothing_is_kept_of_users_who_are_gone() -> None:
    admission = Admission(2, of_one=1, waiting_of_one=1)
    for user in range(1_000):
        stays = [admission.ask(user, bool) for _ in range(2)]
        with pytest.raises(TooManyError):
            admission.ask(user, bool)
        for stay in stays:
            admission.leave(stay)
            admission.leave(stay)  # once more changes nothing
    kept = (admission._held, admission._count, admission._waiting, admission._new, admission._turn)
    assert not any(kept)


def test_a_thread_that_has_waited_too_long_goes_on_without_a_place() -> None:
    admission = Admission(1)
    with admission.hold("a", WAIT_S) as has_first:
        with admission.hold("b", 0.01) as has_second:
            assert (has_first, has_second) == (True, False)
        assert not admission._waiting
    with admission.hold("b", 0.0) as is_there:
        assert is_there


def test_nobody_in_particular_takes_turns_as_a_user_does() -> None:
    admission = Admission(1)
    with admission.hold(None, 0.0) as is_there:
        assert is_there
    asking = Asking(admission)
    with admission.hold("a", 0.0):
        asking.stays["nobody"] = admission.ask(None, lambda: asking.came.append("nobody"))
        assert not asking.came
    assert asking.came == ["nobody"]


def test_an_error_gives_the_place_back() -> None:
    admission = Admission(1)
    for _ in range(2):
        with suppress(ValueError), admission.hold("a", 0.0) as is_there:
            assert is_there
            raise ValueError


# ---------------------------------------------------------------- places of processors


def test_while_several_users_are_about_each_leaves_a_place_to_the_others() -> None:
    clock = Clock()
    places = Places(2, clock=clock)
    alone = Asking(places)
    alone.ask("a1", "a2", "a3")
    assert alone.came == ["a1", "a2"], "one alone has all processors"
    alone.ask("b1")
    assert alone.leave("a1") == ["b1"]
    assert alone.leave("b1") == [], "the place is free for whoever comes"
    clock.now += RECENTLY_S
    assert alone.leave("a2") == ["a3"]


def test_a_place_is_free_after_its_time_where_its_thread_waits_alone() -> None:
    clock = Clock()
    places = Places(1, clock=clock)
    compute, has_computed, wait = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        with places.hold("a", WAIT_S):
            has_computed.set()
            assert compute.wait(WAIT_S)
            has_computed.clear()
            end = time.thread_time() + LEASE_S / 10
            while time.thread_time() < end:
                pass
            has_computed.set()
            assert wait.wait(WAIT_S)

    holder = in_thread(hold)
    assert has_computed.wait(WAIT_S)
    asking = Asking(places)
    has_computed.clear()
    compute.set()
    assert has_computed.wait(WAIT_S)
    clock.now += LEASE_S
    asking.ask("b1")
    assert asking.came == [], "it has computed"
    clock.now += LEASE_S
    asking.ask("c1")
    assert asking.came == ["b1"], "it has done nothing since"
    wait.set()
    assert ended(holder)
    assert asking.came == ["b1"], "what was taken back is not given twice"
    assert asking.leave("b1") == ["c1"]


def test_a_long_request_gives_way_between_its_stages_and_a_short_one_does_not() -> None:
    clock = Clock()
    places = Places(1, clock=clock)
    order: list[str] = []

    def other() -> None:
        with places.hold("b", WAIT_S):
            order.append("b")

    with places.hold("a", WAIT_S):
        thread = in_thread(other)
        eventually(lambda: "b" in places._waiting)
        with places.hold("a", WAIT_S):
            order.append("a, in its first moments")
        clock.now += QUANTUM_S
        give_way()
        order.append("a, again")
        assert ended(thread)
        own = Asking(places)
        own.ask("a1")
        clock.now += QUANTUM_S
        give_way()
        assert own.came == [], "to one's own requests one does not give way"
        places.leave(own.stays["a1"])
    assert order == ["a, in its first moments", "b", "a, again"]
    assert not places._held


def test_a_place_is_let_go_for_a_wait_and_taken_again_for_the_next_stage() -> None:
    places = Places(1)
    let_go()  # without a place it does nothing
    with places.hold("a", WAIT_S):
        let_go()
        with places.hold_if_free() as is_free:
            assert is_free
        with places.hold("a", WAIT_S) as is_held:
            assert is_held
        with places.hold_if_free() as is_free:
            assert not is_free, "the outer block goes on with it"
    with places.hold_if_free() as is_free:
        assert is_free


def test_a_place_that_is_free_is_taken_without_waiting_unless_somebody_waits() -> None:
    places = Places(2)
    asking = Asking(places)
    with places.hold_if_free() as first, places.hold_if_free() as second, places.hold_if_free() as third:
        assert (first, second, third) == (True, True, False)
        asking.ask("a1")
        assert asking.came == []
    assert asking.came == ["a1"]


def test_the_child_of_a_fork_begins_with_all_places() -> None:
    places = Places(1)
    with places.hold("a", WAIT_S):
        places.start_over()
        with places.hold_if_free() as is_free:
            assert is_free
    assert not places._held
    assert not places._count
