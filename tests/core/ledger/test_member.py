"""Members of a fleet over one PostgreSQL: what one claims is its own as long as its heart beats."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from braid.core.ledger.database import IDLE_IN_TRANSACTION_S, Database, execute
from braid.core.ledger.member import LEASE_S, Living, Member, seconds_since_boot


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def database(new_postgres_url: Callable[[], str]) -> Iterator[Database]:
    opened = Database(new_postgres_url())
    yield opened
    opened.close()


@pytest.fixture
def new_member(database: Database) -> Callable[..., Member]:
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM processes")
    return lambda works=True, clock=seconds_since_boot: Member(database, works=works, clock=clock)


def be_silent(*members: Member, seconds: float = 2 * LEASE_S) -> None:
    """Let their last heartbeats, by the clock of the database, be so long ago."""
    with members[0]._database.write() as connection:
        connection.execute(
            text("UPDATE processes SET seen_at = seen_at - :seconds WHERE name = ANY(:names)"),
            {"seconds": seconds, "names": [each.name for each in members]},
        )


def test_what_many_claim_at_once_is_taken_once(new_member: Callable[..., Member]) -> None:
    members = [new_member() for _ in range(3)]
    wanted = [f"index:user_{number}" for number in range(40)]
    ready = threading.Barrier(len(members))

    def claim(member: Member) -> set[str]:
        assert member.name
        ready.wait()
        for each in wanted:
            member.claim([each])
        return set(member.held(""))

    with ThreadPoolExecutor(len(members)) as pool:
        held = list(pool.map(claim, members))

    assert set().union(*held) == set(wanted)
    assert sum(map(len, held)) == len(wanted)
    assert members[0].claims() == {what: each.name for each in members for what in each.held("")}


def test_a_claim_is_taken_over_when_the_heartbeat_stops_and_not_before(new_member: Callable[..., Member]) -> None:
    clock = Clock()
    first, second = new_member(clock=clock), new_member()
    first.claim(["tidy"])
    second.claim(["tidy"])
    assert first.holder("tidy") == first.name != second.name
    assert not second.holder("tidy")

    be_silent(first, seconds=LEASE_S / 10)
    second.beat()
    assert first.claims() == {"tidy": first.name}

    be_silent(first, seconds=LEASE_S)
    second.beat()
    assert first.claims() == {}
    second.claim(["tidy"])
    assert second.holder("tidy") == second.name
    clock.now += LEASE_S
    assert not first.holder("tidy"), "it cannot be sure without a heartbeat"


def test_one_that_was_declared_dead_joins_again_under_another_name(new_member: Callable[..., Member]) -> None:
    suspended, other = new_member(), new_member()
    suspended.claim(["tidy"])
    before = suspended.name
    assert other.name
    be_silent(suspended)
    other.beat()
    assert other.claims() == {}
    other.claim(["tidy"])

    assert not suspended.beat()

    assert suspended.name != before
    assert not suspended.holder("tidy")
    assert not suspended.is_held("tidy", before)
    assert other.is_held("tidy", other.name)
    suspended.claim(["folders"])
    assert suspended.holder("folders")


def test_a_claim_under_a_name_that_was_buried_takes_nothing(new_member: Callable[..., Member]) -> None:
    suspended, other = new_member(), new_member()
    assert suspended.name
    with other._database.write() as connection:
        connection.exec_driver_sql("DELETE FROM processes WHERE name = %(name)s", {"name": suspended.name})

    suspended.claim(["tidy"])

    assert not suspended.holder("tidy")
    other.claim(["tidy"])
    assert other.holder("tidy")


def test_one_that_leaves_or_releases_frees_it_at_once(new_member: Callable[..., Member]) -> None:
    first, second = new_member(), new_member()
    first.claim(["folders", "tidy"])
    first.release(["folders"])
    second.claim(["folders", "tidy"])
    assert set(second.held("")) == {"folders"}

    first.leave()
    second.claim(["tidy"])

    assert set(second.held("")) == {"folders", "tidy"}
    assert second.living() == Living(1, 1)


def test_after_an_outage_for_all_nobody_is_buried_who_comes_back(new_member: Callable[..., Member]) -> None:
    clock = Clock()
    first, second = new_member(clock=clock), new_member(clock=clock)
    first.claim(["tidy"])
    assert second.name
    be_silent(first, second)  # as while the database was away
    clock.now += 2 * LEASE_S

    assert second.beat(), "and buries nobody: it was cut off, too"
    assert first.beat()

    assert first.holder("tidy")


def test_one_whose_heartbeat_was_late_is_told_so(
    new_member: Callable[..., Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the lease ended while the database was asked: who looked meanwhile let go of all that it had."""
    clock = Clock()
    member = new_member(clock=clock)
    assert member.beat()
    assert not member.lapsed
    clock.now += 2 * LEASE_S
    assert member.beat()
    assert member.lapsed
    assert member.beat()
    assert not member.lapsed

    def late(*given: Any, **values: Any) -> Any:
        clock.now += LEASE_S / 2
        return execute(*given, **values)

    monkeypatch.setattr("braid.core.ledger.member.execute", late)
    clock.now += LEASE_S * 0.6
    assert member.beat()
    assert member.lapsed


def test_the_living_are_counted(new_member: Callable[..., Member]) -> None:
    members = [new_member(), new_member(works=False)]
    assert all(member.name for member in members)

    assert members[0].living() == Living(2, 1)
    be_silent(members[0])
    members[1].beat()
    assert members[1].living() == Living(1, 0)


def test_a_dead_one_that_holds_a_lock_stops_nobodys_heart(
    new_member: Callable[..., Member], database: Database
) -> None:
    """It was suspended within a transaction: its row cannot be deleted until the server has ended that."""
    dead, living = new_member(), new_member()
    dead.claim(["tidy"])
    assert living.name
    with database.engine.connect() as suspended:
        suspended.exec_driver_sql("SELECT 1 FROM claims WHERE what = 'tidy' FOR SHARE")
        with database.write() as connection:
            connection.execute(text("UPDATE processes SET seen_at = 0 WHERE name = :name"), {"name": dead.name})
        confirmed = living._confirmed
        with pytest.raises(OperationalError, match="lock timeout"):
            living.beat()
        assert living._confirmed > confirmed
        assert living.is_sure
    assert living.beat()
    assert living.claims() == {}


def test_a_transaction_that_nobody_ends_is_ended_by_the_server(database: Database) -> None:
    with database.engine.connect() as connection:
        [(limit,)] = connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout")
    assert limit == f"{IDLE_IN_TRANSACTION_S}s"


def test_a_claim_whose_answer_was_lost_is_found_again(new_member: Callable[..., Member], database: Database) -> None:
    member = new_member()
    member.claim(["tidy"])
    member._held.clear()
    member.claim(["tidy"])
    assert member.holder("tidy") == member.name
