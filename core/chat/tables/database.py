"""The tables of a question in SQLite: in memory, and only to be read."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass

from braid.core.chat.tables.columns import Table

TIMEOUT_S = 2.0
"""Seconds that a statement may take."""
MAX_RESULT_ROWS = 50
MAX_SQL_CHARS = 4_000
MAX_TEXT_CHARS = 1_000_000
"""Longest text that a statement may make."""
_STEPS = 1_000
_FUNCTIONS = frozenset(
    (
        *(
            "count",
            "sum",
            "total",
            "avg",
            "min",
            "max",
            "abs",
            "round",
            "ceil",
            "floor",
            "row_number",
            "rank",
            "dense_rank",
        ),
        *("lower", "upper", "length", "substr", "substring", "trim", "ltrim", "rtrim", "instr", "like", "group_concat"),
        *("coalesce", "ifnull", "nullif", "iif", "date", "strftime", "julianday"),
    )
)


class QueryError(Exception):
    """The statement was refused, or failed."""


@dataclass(frozen=True, slots=True)
class StatementResult:
    """What a statement returned, and the tables that it read."""

    columns: tuple[str, ...]
    rows: tuple[tuple[float | int | str | None, ...], ...]
    tables: frozenset[str]
    is_whole: bool
    """False when there were more rows than are returned."""


class TableDatabase:
    """Tables under their names, each row with its number from 1 as ``rowid``."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        for table in tables:
            columns = ", ".join(
                f"{quoted(column.name)}" for column in table.columns
            )  # no type: values stay as they are
            self._connection.execute(f"CREATE TABLE {quoted(table.name)} ({columns})")
            marks = ", ".join("?" * len(table.columns))
            self._connection.executemany(f"INSERT INTO {quoted(table.name)} VALUES ({marks})", table.rows)
        self._read: set[str] = set()
        self._names = {table.name.casefold(): table.name for table in tables}
        self._limit()

    def ask(self, sql: str, *, max_rows: int = MAX_RESULT_ROWS) -> StatementResult:
        """Run one SELECT. Raises QueryError for anything else, and for one that fails or takes too long."""
        if len(sql) > MAX_SQL_CHARS:
            raise QueryError(f"the statement has more than {MAX_SQL_CHARS} characters")
        if not sql.lstrip().upper().startswith(("SELECT", "WITH")):
            raise QueryError("the statement is not a SELECT")
        self._read.clear()
        self._deadline = time.monotonic() + TIMEOUT_S
        try:
            cursor = self._connection.execute(sql)
            rows = cursor.fetchmany(max_rows + 1)
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            raise QueryError(str(error)) from error
        finally:
            self._deadline = 0.0
        columns = tuple(each[0] for each in cursor.description or ())
        cursor.close()
        if any(isinstance(value, bytes) for row in rows for value in row):
            raise QueryError("the statement returned bytes")
        return StatementResult(
            columns, tuple(map(tuple, rows[:max_rows])), frozenset(self._read), len(rows) <= max_rows
        )

    def _limit(self) -> None:
        """Refuse all but reading from here on."""
        connection = self._connection
        for category, limit in (
            (sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT_CHARS),
            (sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_CHARS * 4),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 5),
            (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100),
            (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500),
            (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
        ):
            connection.setlimit(category, limit)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        self._deadline = 0.0
        connection.set_progress_handler(self._is_late, _STEPS)
        connection.set_authorizer(self._allows)

    def _is_late(self) -> bool:
        return bool(self._deadline) and time.monotonic() > self._deadline

    def _allows(self, action: int, first: str | None, second: str | None, schema: str | None, _: str | None) -> int:
        if action == sqlite3.SQLITE_SELECT:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            name = self._names.get((first or "").casefold())
            if name is not None:
                self._read.add(name)
            return sqlite3.SQLITE_OK if name is not None or not first or schema is None else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str | float) -> str:
    """Return a value as SQL writes it."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value:.15g}"
