"""Jobs and answers of a fleet: each has one process, and what a dead one left is taken up by the others."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from braid.core.chat.store import ConversationStore
from braid.core.chat.turns.turn_store import TurnStore
from braid.core.chat.types import ChatRequest
from braid.core.datasets.registry import Registry
from braid.core.jobs import runner
from braid.core.jobs.store import Job, JobStore, NewJob
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.listener import Listener
from braid.core.ledger.member import Member
from tests.worlds import eventually

JOBS = 30


@pytest.fixture(scope="module")
def ledgers(new_postgres_url: Callable[[], str]) -> Iterator[list[Ledger]]:
    """The ledger as three processes have it open."""
    url = new_postgres_url()
    opened = [Ledger(url) for _ in range(3)]
    opened[0].add_user("ann")
    yield opened
    for ledger in opened:
        ledger.close()


@pytest.fixture
def members(ledgers: list[Ledger]) -> list[Member]:
    with ledgers[0].database.write() as connection:
        connection.execute(text("DELETE FROM processes"))
        connection.execute(text("DELETE FROM jobs"))
    members = [Member(ledger.database) for ledger in ledgers]
    for ledger, member in zip(ledgers, members, strict=True):
        ledger.database.process_name = lambda member=member: member.name  # type: ignore[misc]
        assert member.name
    return members


def bury(others: list[Member], dead: str) -> None:
    """As when the heart of that one has long been still."""
    with others[0]._database.write() as connection:
        connection.execute(text("UPDATE processes SET seen_at = 0 WHERE name = :name"), {"name": dead})
    others[0].beat()
    assert (dead,) not in others[0]._database.rows("SELECT name FROM processes")


def test_each_job_is_started_once_however_many_look(ledgers: list[Ledger], members: list[Member]) -> None:
    stores = [JobStore(ledger) for ledger in ledgers]
    stores[0].add(1, [NewJob("upload", f"{number}", 7) for number in range(JOBS)])
    ready, started = threading.Barrier(6), list[int]()

    def start(number: int) -> None:
        store = stores[number % 3]
        ready.wait()
        while len(started) < JOBS:
            if job := store.claim(0):
                started.append(job.id)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(start, range(6)))

    assert sorted(started) == sorted({job.id for job in stores[0].all(limit=100)})
    assert {job.attempts for job in stores[0].all(limit=100)} == {1}


def test_a_job_is_run_by_a_process_that_is_woken_for_it_also_while_it_looks(
    ledgers: list[Ledger], members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    queued, running = JobStore(ledgers[0]), JobStore(ledgers[1])
    claim, done = running.claim, list[str]()

    def claim_and_miss_one(*args: Any, **options: Any) -> Job | None:
        found = claim(*args, **options)
        if found is None and not done:
            queued.add(1, [NewJob("upload", "while it looks", 7)])
            eventually(lambda: runs._wakes)
        return found

    monkeypatch.setattr(running, "claim", claim_and_miss_one)
    runs = runner.JobRunner(
        running,
        {"upload": lambda job, progress: done.append(job.title) or {}},  # type: ignore[func-returns-value]
        workers=1,
        is_woken=lambda: listener.is_connected,
        pauses=runner.Pauses(slow_poll_s=600.0),
    )
    listener = Listener(ledgers[1].database.engine, lambda said: runs.wake() if said else None)
    listener.start()
    try:
        eventually(lambda: listener.is_connected)
        runs.start()
        eventually(lambda: done == ["while it looks"])
        queued.add(1, [NewJob("upload", "while it waits", 7)])
        eventually(lambda: done[1:] == ["while it waits"])
    finally:
        listener.stop()
        runs.close()


def test_of_the_same_job_one_is_open_whoever_queues_it(ledgers: list[Ledger], members: list[Member]) -> None:
    dataset = ledgers[0].add_dataset(1, "synced").id
    stores = [JobStore(ledger) for ledger in ledgers]
    ready = threading.Barrier(6)

    def folder_of(job: NewJob | Job) -> int:
        return int(job.payload["folder_id"])

    def new(folder_id: int) -> NewJob:
        return NewJob("sync", "/srv/guide", dataset, {"folder_id": folder_id})

    def queue(number: int) -> list[Job]:
        ready.wait()
        return stores[number % 3].add(1, [new(7)], same=folder_of)

    with ThreadPoolExecutor(6) as pool:
        [[only]] = [added for added in pool.map(queue, range(6)) if added]

    [other] = stores[1].add(1, [new(7), new(8)], same=folder_of)
    assert other.payload == {"folder_id": 8}
    running = stores[2].claim(0)
    assert running is not None
    assert running.id == only.id
    assert stores[0].add(1, [new(7)], same=folder_of) == []
    stores[2].finish(running, {})
    assert stores[0].add(1, [new(7)], same=folder_of)


def test_the_jobs_of_the_dead_alone_are_queued_again_their_results_not_stored(
    ledgers: list[Ledger], members: list[Member]
) -> None:
    stores = [JobStore(ledger) for ledger in ledgers]
    stores[0].add(1, [NewJob("upload", "of the dead", 7), NewJob("upload", "of the living", 7)])
    late, running = stores[0].claim(0), stores[1].claim(0)
    assert late is not None
    assert running is not None
    assert stores[2].requeue() == 0, "all live"

    bury(members[1:], members[0].name)

    assert stores[2].requeue() == 1
    assert stores[1].is_running(running)
    again = stores[2].claim(0)
    assert again is not None
    assert (again.id, again.attempts) == (late.id, 2)
    stores[0].finish(late, {"chunks": 1})
    stores[0].hand_over(late)
    assert not stores[0].progress(late, 1, 2)
    assert stores[2].is_running(again)
    stores[2].finish(again, {"chunks": 2})
    assert stores[0].get(1, late.id).result == {"chunks": 2}


def test_answers_of_the_dead_are_interrupted_and_those_of_the_living_are_not(
    ledgers: list[Ledger], members: list[Member], tmp_path: Path
) -> None:
    registry = Registry(tmp_path / "shared_dbs.json", retired_ids=ledgers[0].retired_shared_ids)
    conversations = ConversationStore(ledgers[0], registry)
    turns = [TurnStore(ledger) for ledger in ledgers]
    ids = [conversations.create(1).id for _ in range(2)]
    begun = [turns[number].begin(ids[number], ChatRequest(1, "Where?")) for number in range(2)]
    assert turns[2].interrupt_abandoned() == 0, "both live"
    outside = conversations.create(1).id
    ledgers[2].database.process_name = lambda: f"{os.getppid()}-of-before"  # type: ignore[method-assign]
    TurnStore(ledgers[2]).begin(outside, ChatRequest(1, "Who?"))
    ledgers[2].database.process_name = lambda: members[2].name  # type: ignore[method-assign]
    assert turns[2].interrupt_abandoned() == 1, "a process of that number lives here, and is another one"

    bury(members[1:], members[0].name)

    assert turns[2].interrupt_abandoned() == 1
    states = [conversations.messages(1, ids[n], ids=[begun[n].answer_id])[0].state for n in range(2)]
    assert states == ["interrupted", "running"]
    mine = conversations.messages(1, ids[1], ids=[begun[1].answer_id])[0].settings
    assert [store.is_written_here(mine) for store in turns] == [False, True, False]
