"""The ledger's database: connection settings, transactions, migrations."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence, Sized
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, TypeVarTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Delete,
    Double,
    Engine,
    ExceptionContext,
    PoolProxiedConnection,
    Row,
    Select,
    Update,
    cast,
    create_engine,
    event,
    func,
    literal,
    make_url,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from braid.core import spans
from braid.core.admission import Admission
from braid.core.errors import InvalidInputError
from braid.core.extras import require
from braid.core.forks import Use, tell_of_forks
from braid.core.json_form import read_json, stored_json
from braid.core.ledger.live_copy import lacks_newest, mark_in_use, take_back
from braid.core.ledger.outages import log_outage, name_permission, outage_of, remedy_for, words_of
from braid.core.ledger.prepared import Value, parameters_for, text_for
from braid.core.ledger.schema import Upgrading, bring_up_to_date, without_copy
from braid.core.metadata.values import storable as storable

if TYPE_CHECKING:  # numpy takes an eighth of a second to load, which commands that read no vector need not wait for
    import numpy as np
    from numpy.typing import NDArray

SQLITE_BUSY_TIMEOUT_S = 30
CONNECTIONS = 30
"""Connections that a process opens at most."""
KEPT_CONNECTIONS = 10
"""Connections that stay open when nobody uses them."""
POOL_TIMEOUT_S = 10
"""How long a thread waits for a connection when all are in use."""
IDLE_IN_TRANSACTION_S = 30
"""Longest time between two statements of a transaction in PostgreSQL."""
WAL_KEPT_BYTES = 4 * 2**20
"""Size to which SQLite cuts ``ledger.db-wal`` when it begins again, which it does from 1,000 pages (4 MB) on unless
somebody reads. Without a limit the file stays as large as it ever was."""
FORK_PATIENCE_S = 5.0
"""Longest time that a fork waits for running transactions."""
DATA_VERSION_BITS = 32
"""Bits of SQLite's number of commits that a connection has seen."""
ROWS_PER_STATEMENT = 1000  # far below SQLite's limit of 32,766 variables
CHANNEL = "braid"
"""PostgreSQL's channel by which processes of a fleet wake each other, see `braid.core.ledger.listener`."""
News = Literal["changes", "jobs"]
"""Kinds of news: changes for the indexes, and jobs."""
NOTIFY = f"SELECT pg_notify('{CHANNEL}', %(news)s)"
NEWS = "braid_news"
"""Key, in the ``info`` of a connection, of the news of the running transaction, see `tell`."""
NUMBERS_PER_ROW = 16
"""Numbers that take the memory of a remembered row."""


LACKS_NEWEST = (
    "%s was copied while Braid ran, without the file ledger.db-wal beside it: the newest changes are missing. Copy "
    "both, or restore a backup made by `python -m app backup`. A copy by SQLite's own .backup is complete"
)

Column = TypeVar("Column")
Columns = TypeVarTuple("Columns")

logger = logging.getLogger(__name__)


MOST_ANSWERS = 1_000
MOST_ROWS = 100_000
"""Rows remembered in all; an answer with more than a tenth of them is not."""

Rows = tuple[tuple[object, ...], ...]
Answer = TypeVar("Answer", bound=Sized)


class Remembered:
    """Remembers the rows of up to 1,000 reads while ``version`` returns the same number; none while it returns None."""

    def __init__(self, version: Callable[[], int | None]) -> None:
        self._version = version
        self._known: int | None = None
        self._answers: dict[Hashable, Any] = {}
        self._rows = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], Answer], *, per_row: int = 1) -> Answer:
        """Return what ``read`` returned for the key since the last commit, or what it returns now. ``per_row`` elements
        of the answer take the memory of a row.
        """
        version = self._version()  # before the read: a commit in between makes the answer an old one
        if version is None:
            return read()
        with self._lock:
            if version != self._known or len(self._answers) >= MOST_ANSWERS or self._rows >= MOST_ROWS:
                self._known, self._answers, self._rows = version, {}, 0
            answers = self._answers
        if key in answers:
            known: Answer = answers[key]
            return known
        answer = read()
        rows = len(answer) // per_row
        if rows <= MOST_ROWS // 10:
            with self._lock:
                if answers is self._answers:
                    answers[key] = answer
                    self._rows += rows
        return answer


class Database:
    """A database at the newest schema, with short read and write transactions.

    ``upgrading`` surrounds the migrations where it has tables already. ``connections`` are open at most. Raises
    InvalidInputError when the URL is not one, nothing answers there, or the tables are of a version of Braid that this
    one cannot upgrade.
    """

    def __init__(self, url: str, *, upgrading: Upgrading = without_copy, connections: int = CONNECTIONS) -> None:
        self.engine = make_engine(url, connections=connections)
        self._file = file_of(self.engine)
        self.lacks_newest = self._file is not None and lacks_newest(self._file)
        """Whether the file was copied while it was in use, without its newest changes."""
        self._owned = False
        self.damage = ""
        """The words that said first that the database is damaged, kept as long as it is open; empty if none did."""
        event.listen(self.engine, "handle_error", lambda context: self.note(context.sqlalchemy_exception))
        self.process_name: Callable[[], str] = lambda: ""
        """Returns the name of this process in a fleet, see `braid.core.ledger.member`; nothing outside of one."""
        self.serves_fleet = self.engine.dialect.name == "postgresql"
        """Whether there may be processes of a fleet, which `notify` wakes."""
        if self.lacks_newest:
            logger.warning("event=copied_ledger %s", LACKS_NEWEST % self._file)
        try:
            bring_up_to_date(self.engine, upgrading)
        except SQLAlchemyError as error:
            reason = words_of(error)
            if self._file is not None and (remedy := remedy_for(self._file, error)):
                reason = f"{reason}: {remedy}"
            self.engine.dispose()
            raise InvalidInputError(f"the database at {_without_password(url)} cannot be opened: {reason}") from error
        except BaseException:
            self.engine.dispose()
            raise
        self._connect_arguments = self.engine.dialect.create_connect_args(self.engine.url)
        self._writer = self.engine.execution_options(braid_write=True)
        self._watchers = 0
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        """Make what belongs to one process."""
        self._use = Use()
        self._watching = threading.Lock()
        self._watcher: sqlite3.Connection | None = None
        self._remembered = Remembered(self.version)
        self._turns = Admission(1)
        self._of_thread = threading.local()

    @property
    def _running(self) -> Connection | None:
        """The transaction of `write` that this thread is in."""
        running: Connection | None = getattr(self._of_thread, "connection", None)
        return running

    @property
    def is_changing(self) -> bool:
        """Whether this thread is in a transaction of `write`: what it reads may be rolled back."""
        return self._running is not None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the database; within `write`, what that has written so far."""
        if (running := self._running) is not None:
            yield running
            return
        with self._use, self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that is committed at the end, or rolled back when the block raises.

        A block within another one of the same thread is part of it: committed with it, and rolled back alone when it
        raises. So whoever surrounds several changes by a block has all of them or none.

        In SQLite the threads of this process write in the order in which they come: SQLite would have them try again
        every 100 ms, and under load some for half a minute.
        """
        if (running := self._running) is not None:
            with running.begin_nested():
                yield running
            return
        is_sqlite = self.engine.dialect.name == "sqlite"
        turn = self._turns.hold(None, SQLITE_BUSY_TIMEOUT_S) if is_sqlite else nullcontext()
        news: set[News] = set()
        with self._use, turn, self._writer.connect() as connection:
            with connection.begin():
                connection.info[NEWS] = news
                self._of_thread.connection = connection
                try:
                    yield connection
                finally:
                    self._of_thread.connection = None
            if news and self.serves_fleet:  # by the same connection: all others may be in use
                with suppress(SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error):
                    _notify(connection.connection, news)

    def fetch(self, statement: Select[*Columns]) -> Sequence[Row[*Columns]]:
        """Return the rows of one statement that SQLAlchemy builds."""
        with self.read() as connection:
            return connection.execute(statement).all()

    def values(self, statement: Select[Column]) -> Sequence[Column]:
        """Return the one column of a statement's rows."""
        with self.read() as connection:
            return connection.execute(statement).scalars().all()

    def value(self, statement: Select[Column]) -> Column:
        """Return the one value of a statement that has one, such as a count."""
        with self.read() as connection:
            return connection.execute(statement).scalar_one()

    def find(self, statement: Select[Column]) -> Column | None:
        """Return the value of a statement for one row at most; None where there is no row, or NULL in it."""
        with self.read() as connection:
            return connection.execute(statement).scalar()

    def row(self, statement: Select[*Columns]) -> Row[*Columns] | None:
        """Return the first row of a statement; None where there is none."""
        with self.read() as connection:
            return connection.execute(statement).first()

    def change(self, statement: Update | Delete) -> int:
        """Execute one statement that changes rows, as a transaction or a part of that of `write`; return how many."""
        with self.write() as connection:
            return connection.execute(statement).rowcount

    def rows(self, statement: str, **parameters: Value) -> list[Any]:
        """Return the rows of one statement of `braid.core.ledger.prepared`, as tuples, of one state of the database.

        It costs 10 µs more than the driver, a transaction of `read` 60 and a statement that SQLAlchemy builds 600.
        """
        return self._rows(*self._in_dialect(statement, parameters))

    def remembered_rows(self, statement: str, **parameters: Value) -> tuple[Any, ...]:
        """Return the rows of one statement, which SQLite is asked again only after somebody has committed."""
        return self.remembered(tuple, statement, **parameters)

    def remembered_numbers(self, statement: str, **parameters: Value) -> NDArray[np.int64]:
        """Return the one column of a statement's rows (n,), remembered like `remembered_rows`; not to be changed."""
        return self.remembered(_numbers, statement, NUMBERS_PER_ROW, **parameters)

    def remembered(
        self, make: Callable[[list[Any]], Answer], statement: str, per_row: int = 1, /, **parameters: Value
    ) -> Answer:
        """Return what ``make`` makes of the rows of one statement, remembered like `remembered_rows`; not to be
        changed. ``per_row`` elements of it take the memory of a row.

        Within `write` it is what that has written so far, which nobody else is to see.
        """
        text, values = self._in_dialect(statement, parameters)

        def read() -> Answer:
            return make(self._rows(text, values))

        if self._running is not None:
            return read()
        return self._remembered.get((make, text, *values.values()), read, per_row=per_row)

    def batches(self, statement: str, size: int, **parameters: Value) -> Iterator[list[Any]]:
        """Yield the rows of one statement, ``size`` at a time, as one state of the database has them.

        No more than a batch is in memory. Until the last one is taken, the state is kept: take them quickly.
        """
        with self.read() as connection:
            text, values = self._in_dialect(statement, parameters)
            found = connection.exec_driver_sql(text, values, execution_options={"stream_results": True})
            while rows := found.fetchmany(size):
                yield [tuple(row) for row in rows]

    def _in_dialect(self, statement: str, parameters: Mapping[str, Value]) -> tuple[str, dict[str, Any]]:
        dialect = self.engine.dialect.name
        return text_for(dialect, statement), parameters_for(dialect, parameters)

    def _rows(self, text: str, values: dict[str, Any]) -> list[Any]:
        if (running := self._running) is not None:
            return [tuple(row) for row in running.exec_driver_sql(text, values)]
        driver = self.engine.dialect.loaded_dbapi
        try:
            with self._use, spans.statement(text), closing(self.engine.raw_connection()) as pooled, _autocommit(pooled):
                cursor = pooled.cursor()
                cursor.execute(text, values)
                return list(cursor.fetchall())
        except driver.Error as error:
            if self._file is not None:
                name_permission(self._file, error)
            named = DBAPIError.instance(text, None, error, driver.Error, hide_parameters=True)
            self.note(named)
            raise named from error

    def note(self, error: BaseException | None) -> None:
        """Remember an error which says that the database is damaged, wherever it was met: the next one may be far."""
        found = outage_of(error) if error is not None and not self.damage else None
        if found is not None and found.cause == "ledger_damaged":
            self.damage = found.reason
            log_outage(logger, found, "the ledger")

    def watch(self) -> Callable[[], bool]:
        """Return a function that says whether any process may have committed something since its last call.

        The first answer is True, and on other databases than SQLite each is.
        """
        last: int | None = None

        def changed() -> bool:
            nonlocal last
            before, last = last, self.version()
            return last is None or before != last

        return changed

    def version(self) -> int | None:
        """Return a number that is another one after each commit of any process; asking costs 5 µs.

        None where nothing says so: on other databases than SQLite, and while SQLite does not answer.
        """
        file = self.engine.url.database
        if (
            self.engine.dialect.name != "sqlite"
            or not file
            or "memory" in str(self.engine.url.query)
            or ":memory:" in file
        ):
            return None
        with self._watching, suppress(sqlite3.Error):
            if self._watcher is None:
                self._watcher = self._connect_watcher()
                self._watchers += 1  # SQLite counts for each connection, from the same number on
            number: int = self._watcher.execute("PRAGMA data_version").fetchone()[0]
            return self._watchers << DATA_VERSION_BITS | number
        return None

    def is_read_only(self) -> bool:
        """Return whether PostgreSQL takes no changes now, like a standby. A file may not take any, either: try it."""
        return self.engine.dialect.name == "postgresql" and self._rows("SHOW transaction_read_only", {}) == [("on",)]

    def notify(self, news: News) -> None:
        """Wake the processes of a fleet that work: there is something new, which is committed already. They look anyway
        soon, so that nothing fails with the message.

        In the transaction itself, it would have those of all processes commit one after another. Nothing is sent where
        there is no fleet.
        """
        if (running := self._running) is not None:
            tell(running, news)
        elif self.serves_fleet:
            with suppress(SQLAlchemyError):
                self._rows(NOTIFY, {"news": news})

    def _connect_watcher(self) -> sqlite3.Connection:
        """Open the file that the engine opens, also where the URL names it in SQLite's own way."""
        (file,), options = self._connect_arguments
        is_uri = bool(options.get("uri"))
        return sqlite3.connect(str(file), isolation_level=None, check_same_thread=False, uri=is_uri)

    def mark_in_use(self) -> None:
        """Let a copy of the file be known as one, see `braid.core.ledger.live_copy`. For the owner of the directory."""
        self._owned = True
        if self._file is not None:
            mark_in_use(self._file, self)

    def close(self) -> None:
        """Close all connections, one that a thread uses now as soon as it gives the connection back."""
        with self._watching:
            self._stop_watching()
        pool = self.engine.pool
        self.engine.dispose()
        event.listen(pool, "checkin", lambda _connection, record: record.invalidate())
        pool.dispose()  # what came back meanwhile
        if self._file is not None and (self._owned or not self.lacks_newest):
            take_back(self._file)

    def _stop_watching(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def before_fork(self) -> None:
        """Close all connections, once nobody uses them: SQLite's would damage the database in the child, and those to
        a server would be used by two processes.
        """
        self._use.stop(FORK_PATIENCE_S)
        self._watching.acquire()
        self._stop_watching()
        self.engine.dispose()

    def after_fork(self, *, in_child: bool) -> None:
        """Connect again when somebody asks."""
        if in_child:
            self._begin()
        else:
            self._watching.release()
            self._use.go_on()


def _numbers(rows: list[Any]) -> NDArray[np.int64]:
    import numpy as np

    return np.array([row[0] for row in rows], dtype=np.int64)


def clock(connection: Connection) -> ColumnElement[float]:
    """Return the time in seconds since the epoch: by the clock of the server, which all machines have in common."""
    if connection.dialect.name == "postgresql":
        return cast(func.extract("epoch", func.clock_timestamp()), Double)
    return literal(time.time())


def take_time(connection: Connection) -> None:
    """Let this transaction be without a statement for as long as it needs: PostgreSQL would end it, see
    `IDLE_IN_TRANSACTION_S`.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")


def tell(connection: Connection, news: News) -> None:
    """Wake the processes of a fleet that work, see `Database.notify`, once this transaction of `write` is committed."""
    connection.info[NEWS].add(news)


def execute(connection: Connection, statement: str, **parameters: Value) -> CursorResult[Any]:
    """Run a statement of `braid.core.ledger.prepared` in a transaction."""
    dialect = connection.dialect.name
    return connection.exec_driver_sql(text_for(dialect, statement), parameters_for(dialect, parameters))


def execute_each(connection: Connection, statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run a statement of `braid.core.ledger.prepared`, whose parameters are single values, once for each row."""
    if rows:
        connection.exec_driver_sql(text_for(connection.dialect.name, statement), list(rows))


def make_engine(url: str, *, connections: int = CONNECTIONS) -> Engine:
    """Return an engine for a ledger, which is not connected yet. Raises InvalidInputError for a URL that is not one."""
    try:
        return _make_engine(url, connections)
    except NoSuchModuleError as error:
        raise InvalidInputError(
            f"database_url {_without_password(url)!r} is of a kind of database that Braid does not use; give "
            "sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME"
        ) from error
    except (ArgumentError, ModuleNotFoundError) as error:
        raise InvalidInputError(f"database_url {_without_password(url)!r} cannot be used: {error}") from error


def file_of(engine: Engine) -> Path | None:
    """Return the file of a SQLite database; None for another one, one in memory, or a URI of SQLite's own."""
    file = engine.url.database
    if engine.dialect.name != "sqlite" or not file or ":memory:" in file or file.startswith("file:"):
        return None
    return Path(file)


def _make_engine(url: str, connections: int = CONNECTIONS) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise NoSuchModuleError(f"no ledger is kept in {parsed.get_backend_name()}")
    kept = min(connections, KEPT_CONNECTIONS)
    pool: dict[str, Any] = {"pool_size": kept, "max_overflow": connections - kept, "pool_timeout": POOL_TIMEOUT_S}
    if parsed.get_backend_name() != "sqlite":
        if parsed.get_driver_name() == "psycopg":
            require("postgresql", "a ledger in PostgreSQL", "psycopg")
        engine = create_engine(
            parsed,
            hide_parameters=True,
            json_serializer=stored_json,
            json_deserializer=read_json,
            pool_pre_ping=True,
            pool_use_lifo=True,
            **pool,
        )
        if engine.dialect.name == "postgresql":
            event.listen(engine, "connect", _configure_postgresql)
        return engine
    if parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        parsed,
        hide_parameters=True,  # an error that is logged must not quote documents
        json_serializer=stored_json,
        json_deserializer=read_json,
        connect_args={"timeout": SQLITE_BUSY_TIMEOUT_S},
        pool_use_lifo=True,  # the last one used has pages and statements in memory
        **pool,
    )
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", _name_permission)
    return engine


def _notify(pooled: PoolProxiedConnection, news: Collection[News]) -> None:
    with spans.statement(NOTIFY), _autocommit(pooled):
        for each in sorted(news):
            pooled.cursor().execute(NOTIFY, {"news": each})


@contextmanager
def _autocommit(pooled: PoolProxiedConnection) -> Iterator[None]:
    """Spare a single statement the BEGIN and ROLLBACK around it, which SQLite's connections send themselves."""
    connection: Any = pooled.driver_connection
    if isinstance(connection, sqlite3.Connection):
        yield
        return
    try:
        connection.autocommit = True
        yield
        connection.autocommit = False
    except BaseException:
        pooled.invalidate()
        raise


def _configure_postgresql(connection: Any, _record: object) -> None:
    """Have the server end a transaction whose process is suspended or cut off: others wait for what it has locked.

    Statements are planned for their values: a plan for any values reads all documents for each passage of an answer, a
    hundred times as long as planning takes.
    """
    with closing(connection.cursor()) as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_IN_TRANSACTION_S}s'")
        cursor.execute("SET plan_cache_mode = force_custom_plan")
    connection.commit()


def _configure_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # `_begin_sqlite` sends BEGIN
    for pragma in (
        "journal_mode=WAL",
        f"journal_size_limit={WAL_KEPT_BYTES}",
        "foreign_keys=ON",
        "synchronous=FULL",
        "cache_size=-20000",
        "cell_size_check=ON",  # a damaged page is told from a sound one when it is read, and not written any further
    ):
        connection.execute(f"PRAGMA {pragma}")


def _name_permission(context: ExceptionContext) -> None:
    if context.engine is not None and (file := file_of(context.engine)):
        name_permission(file, context.original_exception)


def _begin_sqlite(connection: Connection) -> None:
    # A write takes the lock at once: a read that turns into a write fails with "database is locked".
    immediate = connection.get_execution_options().get("braid_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "(not a URL)"
