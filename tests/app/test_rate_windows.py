"""Attempts in a moving window, counted by many threads at once."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from limits import parse
from limits.strategies import MovingWindowRateLimiter

from braid.app import rate_windows as windows
from braid.app.rate_windows import Windows

THREADS = 32


def test_thirty_two_threads_take_exactly_what_there_is() -> None:
    limiter, limit = MovingWindowRateLimiter(Windows()), parse("1000/hour")
    together = threading.Barrier(THREADS)

    def take(number: int) -> int:
        together.wait()
        return sum(limiter.hit(limit, "user", str(each % 4)) for each in range(200))

    before = threading.active_count()
    with ThreadPoolExecutor(THREADS) as pool:
        taken = sum(pool.map(take, range(THREADS)))
    assert taken == 4 * 1000
    assert [limiter.get_window_stats(limit, "user", str(each)).remaining for each in range(4)] == [0] * 4
    assert threading.active_count() <= before + 1, "no timers"


def test_thirty_two_attempts_at_once_are_all_counted_after_a_pause_too() -> None:
    limiter, limit = MovingWindowRateLimiter(Windows()), parse("10/minute")
    together = threading.Barrier(THREADS)

    def take(_: int) -> int:
        taken = 0
        for user in range(200):
            time.sleep(0.015)  # the timer that the library's own storage starts has ended, and all start another
            together.wait(10)
            taken += limiter.hit(limit, str(user))
        return taken

    was = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            assert sum(pool.map(take, range(THREADS))) == 200 * 10
    finally:
        sys.setswitchinterval(was)


def test_attempts_leave_the_window_and_can_be_given_back() -> None:
    storage = Windows()
    assert [storage.acquire_entry("key", 2, 3600) for _ in range(3)] == [True, True, False]
    storage.give_back("key")
    assert storage.get_moving_window("key", 2, 3600)[1] == 1
    assert storage.acquire_entry("key", 2, 3600)
    assert not storage.acquire_entry("key", 2, 3600, 3)
    storage.clear("key")
    assert storage.get_moving_window("key", 2, 3600)[1] == 0
    storage.give_back("key")  # nothing to give back
    assert storage.acquire_entry("brief", 1, 0)
    assert storage.reset() >= 1


def test_keys_whose_windows_are_over_are_forgotten() -> None:
    storage = Windows()
    for number in range(3 * windows.SWEEP_EVERY):
        storage.acquire_entry(f"stranger {number}", 10, -1)
    assert storage.reset() < 2 * windows.SWEEP_EVERY
