"""What counts as an outage, and how often it is logged."""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from chromadb.errors import InternalError
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from braid.core.errors import ClosedError, IndexUnavailableError, LedgerDamagedError
from braid.core.ledger import outages
from braid.core.ledger.outages import is_outage, log_failure, outage_of, times_met
from tests.damage import damage_tables

logger = logging.getLogger(__name__)


def _error_of(engine: Engine, *statements: str) -> SQLAlchemyError:
    def run() -> None:
        with engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    with pytest.raises(SQLAlchemyError) as caught:
        run()
    engine.dispose()
    return caught.value


def _full(path: Path) -> SQLAlchemyError:
    blob = "INSERT INTO t VALUES (zeroblob(100000))"
    return _error_of(create_engine(f"sqlite:///{path}"), "PRAGMA max_page_count = 3", "CREATE TABLE t (b)", blob)


def _read_only(path: Path) -> SQLAlchemyError:
    sqlite3.connect(path).close()
    return _error_of(create_engine(f"sqlite:///file:{path}?mode=ro&uri=true"), "CREATE TABLE t (b)")


def _locked(path: Path) -> SQLAlchemyError:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    error = _error_of(create_engine(f"sqlite:///{path}", connect_args={"timeout": 0}), "CREATE TABLE t (b)")
    other.close()
    return error


def _no_folder(path: Path) -> SQLAlchemyError:
    return _error_of(create_engine(f"sqlite:///{path / 'not' / 'there'}"), "CREATE TABLE t (b)")


def _no_database(path: Path) -> SQLAlchemyError:
    path.write_bytes(b"no database" * 1000)
    return _error_of(create_engine(f"sqlite:///{path}"), "CREATE TABLE t (b)")


def _malformed(path: Path) -> SQLAlchemyError:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE t (b)")
    damage_tables(path, "t")
    return _error_of(create_engine(f"sqlite:///{path}"), "SELECT * FROM t")


@pytest.mark.parametrize(
    ("cause", "make"),
    [
        ("disk_full", _full),
        ("read_only", _read_only),
        ("database_locked", _locked),
        ("disk_failing", _no_folder),
        ("ledger_damaged", _no_database),
        ("ledger_damaged", _malformed),
    ],
)
def test_what_sqlite_says_is_told_apart(tmp_path: Path, cause: str, make: Callable[[Path], SQLAlchemyError]) -> None:
    found = outage_of(make(tmp_path / "ledger.db"))
    assert found is not None
    assert found.cause == cause
    assert found.reason
    assert found.text.count(";") == 1, "what is wrong; what to do"


@pytest.mark.parametrize(
    ("cause", "error"),
    [
        ("disk_full", OSError(errno.EDQUOT, "Disk quota exceeded")),
        ("read_only", OSError(errno.EROFS, "Read-only file system")),
        ("disk_full", ValueError("An IO error occurred: 'No space left on device (os error 28) at path \"/x\"'")),
        ("read_only", ValueError("Failed to acquire Lockfile: IoError(Os { code: 30, kind: ReadOnlyFilesystem })")),
        (
            "disk_full",
            InternalError("error returned from database: (code: 13) database or disk is full"),
        ),
        ("not_permitted", PermissionError(errno.EACCES, "Permission denied", "/data/originals")),
        ("not_permitted", PermissionError(errno.EPERM, "Operation not permitted")),
        ("not_permitted", ValueError("IoError 'Os { code: 13, kind: PermissionDenied }' while create directory")),
        ("not_permitted", InternalError("error (os error 13)")),
        ("disk_full", IndexUnavailableError("the copy cannot be used", inner="No space left on device (os error 28)")),
        ("ledger_damaged", LedgerDamagedError("row 7 missing from index ix")),
        ("connections_taken", PoolTimeoutError("QueuePool limit of size 10 overflow 20 reached")),
        ("closing", ClosedError("this Braid is closed")),
        ("closing", RuntimeError("cannot schedule new futures after shutdown")),
    ],
)
def test_so_is_what_the_system_and_braid_say(cause: str, error: Exception) -> None:
    found = outage_of(error)
    assert found is not None
    assert found.cause == cause


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        ("XX001", "ledger_damaged"),
        ("XX002", "ledger_damaged"),
        ("58P01", "ledger_damaged"),
        ("42501", "not_permitted"),
        ("58030", "disk_failing"),
    ],
)
def test_so_is_what_postgresql_says(postgres: Engine, state: str, cause: str) -> None:
    statement = f"DO $$ BEGIN RAISE EXCEPTION 'invalid page in block 7' USING ERRCODE = '{state}'; END $$"
    found = outage_of(_error_of(create_engine(postgres.url), statement))
    assert found is not None
    assert found.cause == cause
    assert "invalid page in block 7" in found.reason


def test_postgresql_says_that_nothing_may_be_written(postgres: Engine) -> None:
    url = postgres.url.update_query_dict({"options": "-cdefault_transaction_read_only=on"})
    found = outage_of(_error_of(create_engine(url), "CREATE TABLE t (n int)"))
    assert found is not None
    assert found.cause == "read_only"


@pytest.mark.parametrize(
    "error",
    [
        InternalError("database disk image is malformed"),  # of Chroma's own file, which is made again from the ledger
        sqlite3.DatabaseError("malformed"),
        ValueError("a sentence"),
        ProgrammingError("select", {}, Exception()),
        FileNotFoundError(2, "no"),
        OSError(),
    ],
)
def test_a_fault_of_the_code_is_no_outage(error: Exception) -> None:
    assert outage_of(error) is None


def test_an_error_made_from_an_outage_is_one() -> None:
    error = ValueError("not stored")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert is_outage(error)


def test_an_outage_is_logged_once_a_minute_without_its_traceback(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(outages, "monotonic", lambda: now[0])
    error = OSError(errno.ENOSPC, "No space left on device", "/secret/file")
    for _ in range(600):  # two minutes
        log_failure(logger, "a job", error)
        now[0] += 0.2
    log_failure(logger, "a job", OSError(errno.EROFS, "Read-only file system"))
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split(" in=")[0] for line in lines] == [
        "event=outage cause=disk_full times=1",
        "event=outage cause=disk_full times=300",
        "event=outage cause=read_only times=1",
    ]
    assert lines[0].endswith('in="a job" reason="No space left on device"')
    assert "/secret" not in caplog.text
    assert not any(record.exc_info for record in caplog.records)
    assert times_met()["disk_full"] == 600


def test_a_fault_keeps_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    log_failure(logger, "tidying", KeyError("x"))
    assert caplog.records[0].exc_info
    assert "event=failed in=tidying" in caplog.text


def test_an_error_that_is_its_own_cause_is_looked_at_once() -> None:
    error = ValueError("raised from itself")
    error.__cause__ = error
    assert outage_of(error) is None
