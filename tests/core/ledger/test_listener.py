"""A listener hears what others say, also after its connection was cut, and has one connection or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import event

from braid.core.data_directory import DataDirectory
from braid.core.datasets.shared_list import ListInLedger
from braid.core.ledger import database as ledger_database
from braid.core.ledger.database import Database, tell
from braid.core.ledger.listener import Listener
from tests.fakes import HashEmbeddings
from tests.worlds import eventually

LISTENING = "SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN braid' AND application_name = 'listens'"


@pytest.fixture(scope="module")
def database(new_postgres_url: Callable[[], str]) -> Iterator[Database]:
    opened = Database(f"{new_postgres_url()}&application_name=listens")
    yield opened
    opened.close()


def test_it_hears_what_is_said_and_connects_again_and_never_has_two_connections(
    database: Database,
) -> None:
    heard: list[str] = []
    listening = Listener(database.engine, heard.append, first_pause_s=0.01)
    listening.start()
    for _ in range(3):
        eventually(lambda: heard == [""])  # what was said before the connection was there may concern it
        assert listening.is_connected
        database.notify("jobs")
        eventually(lambda: heard == ["", "jobs"])
        database.notify("changes")
        eventually(lambda: heard == ["", "jobs", "changes"])
        [(pid,)] = database.rows(LISTENING)
        heard.clear()
        database.rows(f"SELECT pg_terminate_backend({pid})")
    eventually(lambda: heard == [""])
    listening.stop()
    assert not listening.is_connected
    eventually(lambda: not database.rows(LISTENING))


def test_a_transaction_tells_after_its_commit_and_only_in_a_fleet(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    heard: list[str] = []
    listening = Listener(database.engine, heard.append)
    listening.start()
    eventually(lambda: heard == [""])
    taken: list[object] = []
    event.listen(database.engine, "checkout", lambda *given: taken.append(given))
    with database.write() as connection:
        tell(connection, "jobs")
    assert len(taken) == 1
    eventually(lambda: heard == ["", "jobs"])
    url = database.engine.url.render_as_string(hide_password=False)
    with DataDirectory(tmp_path / "local", database_url=url, embedding_model=HashEmbeddings()) as local:
        assert not local.ledger.database.serves_fleet
        with local.ledger.database.write() as connection:
            tell(connection, "jobs")
        local.wake()
        ListInLedger(database).take_over(tmp_path / "nowhere.json", has_shared=False)
    with DataDirectory(tmp_path / "local", database_url=url, embedding_model=HashEmbeddings()) as beside:
        beside.wake()
    eventually(lambda: heard == ["", "jobs", "changes"])
    listening.stop()
    monkeypatch.setattr(ledger_database, "NOTIFY", "SELECT no_such_function(%(news)s)")
    for _ in range(2):  # what was stored is stored, and the next connection is whole
        with database.write() as connection:
            tell(connection, "jobs")
        assert database.rows("SELECT 1") == [(1,)]


def test_an_outage_is_outlived_and_named(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    listening = Listener(database.engine, heard.append, first_pause_s=0.01)
    where = database.engine.dialect.create_connect_args
    is_away = [([], {"host": "127.0.0.1", "port": 1})] * 3
    monkeypatch.setattr(
        database.engine.dialect, "create_connect_args", lambda url: is_away.pop() if is_away else where(url)
    )
    listening.start()
    try:
        eventually(lambda: heard == [""])
    finally:
        listening.stop()
    assert not is_away
    assert not [record for record in caplog.records if record.exc_info], "an outage is no fault"


def test_without_postgresql_nothing_listens(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    listening = Listener(database.engine, lambda said: pytest.fail(said))
    listening.start()
    database.notify("jobs")
    assert not listening.is_connected
    listening.stop()
    database.close()
