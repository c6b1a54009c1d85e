"""Attempts in a moving window, counted by many threads at once."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from limits import parse
from limits.strategies import MovingWindowRateLimiter
from sqlalchemy import Connection, delete, func, select

from braid.app import rate_windows as windows
from braid.app.rate_windows import SharedWindows, Windows
from braid.core.accounts import attempt_windows
from braid.core.accounts.attempt_windows import AttemptWindows
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.prepared import Value
from braid.core.ledger.tables import AttemptWindowRow
from tests.databases import on_both_databases
from tests.worlds import WAIT_S

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


def test_thirty_two_attempts_at_once_are_all_counted_time_after_time() -> None:
    limiter, limit = MovingWindowRateLimiter(Windows()), parse("10/minute")
    together = threading.Barrier(THREADS)

    def take(_: int) -> int:
        taken = 0
        for user in range(200):
            together.wait(WAIT_S)
            taken += limiter.hit(limit, str(user))
        return taken

    was = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            assert sum(pool.map(take, range(THREADS))) == 200 * 10
    finally:
        sys.setswitchinterval(was)


def in_memory(_: Ledger) -> Windows:
    return Windows()


def in_the_ledger(ledger: Ledger) -> Windows:
    return SharedWindows(AttemptWindows(ledger))


@on_both_databases
@pytest.mark.parametrize("make", [in_memory, in_the_ledger])
def test_attempts_leave_the_window_and_can_be_given_back(ledger: Ledger, make: Callable[[Ledger], Windows]) -> None:
    storage = make(ledger)
    assert [storage.acquire_entry("key", 2, 3600) for _ in range(3)] == [True, True, False]
    storage.give_back("key")
    assert storage.get_moving_window("key", 2, 3600)[1] == 1
    assert storage.acquire_entry("key", 2, 3600)
    assert not storage.acquire_entry("key", 2, 3600, 3)
    at, count = storage.get_moving_window("key", 2, 3600)
    assert count == 2
    assert 0 <= time.time() - at < 60
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


@on_both_databases
def test_processes_take_together_what_there_is_for_one(ledger: Ledger) -> None:
    processes = [MovingWindowRateLimiter(in_the_ledger(ledger)) for _ in range(4)]
    limit, together = parse("30/hour"), threading.Barrier(4)

    def take(limiter: MovingWindowRateLimiter) -> int:
        together.wait()
        return sum(limiter.hit(limit, "user", str(each % 2)) for each in range(40))

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take, processes)) == 2 * 30
    assert [processes[0].get_window_stats(limit, "user", str(each)).remaining for each in range(2)] == [0, 0]


@pytest.mark.parametrize("shared_ledger", ["postgresql"], indirect=True)
def test_a_sweep_neither_waits_for_who_counts_nor_takes_their_window_away(
    ledger: Ledger,
) -> None:
    attempts = AttemptWindows(ledger, sweep_every=3)
    for key in ("over", "counted in"):
        attempts.take(key, limit=1, window_s=-1)
    with ThreadPoolExecutor(1) as other_process, ledger.database.write() as connection:
        counted_in = select(AttemptWindowRow).where(AttemptWindowRow.key == attempt_windows._hashed("counted in"))
        connection.execute(counted_in.with_for_update()).one()
        assert other_process.submit(attempts.take, "new", limit=1, window_s=60).result(WAIT_S)
        assert connection.execute(select(func.count()).select_from(AttemptWindowRow)).scalar_one() == 2


@pytest.mark.parametrize("shared_ledger", ["postgresql"], indirect=True)
def test_a_window_that_is_swept_at_the_same_time_is_counted_anew(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts, add = AttemptWindows(ledger), attempt_windows.execute

    def add_between(connection: Connection, statement: str, **parameters: Value) -> None:
        """Meet the row of another process at the first time, which a sweep deletes at once."""
        monkeypatch.setattr(attempt_windows, "execute", add)
        with ThreadPoolExecutor(1) as other_process:
            other_process.submit(write, lambda other: add(other, statement, **parameters)).result(WAIT_S)
            add(connection, statement, **parameters)
            assert other_process.submit(write, sweep).result(WAIT_S) == 1

    def write(act: Callable[[Connection], int | None]) -> int | None:
        with ledger.database.write() as other:
            return act(other)

    def sweep(other: Connection) -> int:
        return other.execute(delete(AttemptWindowRow)).rowcount

    monkeypatch.setattr(attempt_windows, "execute", add_between)
    assert attempts.take("key", limit=1, window_s=60)
    assert not attempts.take("key", limit=1, window_s=60)


def test_the_ledger_keeps_no_names_and_forgets_windows_that_are_over(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = AttemptWindows(ledger, sweep_every=8)
    for number in range(7):
        attempts.take(f"ann-{number}", limit=10, window_s=-1)
    attempts.take("login/ann/192.0.2.1", limit=10, window_s=60)
    with ledger.database.read() as connection:
        [row] = connection.execute(select(AttemptWindowRow.key, AttemptWindowRow.attempts)).all()
    assert "ann" not in row.key
    assert len(row.attempts) == 8
