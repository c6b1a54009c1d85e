"""What SQL may do: read the tables of the question, for a moment."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from braid.core.chat.tables import database
from braid.core.chat.tables.calculate import statement_of
from braid.core.chat.tables.columns import typed
from braid.core.chat.tables.database import QueryError, TableDatabase
from braid.core.chat.tables.process import table_process
from braid.core.chat.tables.rebuild import TablePassage, tables_of
from braid.core.chat.tables.work import _tables

ROWS = "Name | Pay\n" + "\n".join(f"P{n} | {n} EUR" for n in range(60))


@pytest.fixture(scope="module")
def tables() -> TableDatabase:
    [raw] = tables_of([TablePassage(ROWS, "Staff")], "xlsx")
    table = typed(raw, "Staff")
    assert table is not None
    return TableDatabase([table])


def test_a_select_is_answered(tables: TableDatabase) -> None:
    answer = tables.ask('WITH best AS (SELECT * FROM "Staff" ORDER BY "Pay" DESC LIMIT 2) SELECT SUM("Pay") FROM best;')
    assert answer.rows == ((59 + 58,),)
    assert answer.tables == {"Staff"}


def test_a_poisoned_table_leaves_the_others_to_be_asked() -> None:
    raw = [("rowid | oid | Sum\n" + "\n".join(f"{n}a | x{n} | {10**18}兆" for n in range(3)), "sqlite_stat1")]
    found = _tables([{"pieces": raw, "file_type": "xlsx", "title": "sqlite_stat1"}])
    answer = TableDatabase(found).ask(f'SELECT COUNT(*) FROM "{found[0].name}"')
    assert answer.rows == ((3,),)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM Staff",
        "WITH x AS (SELECT 1) DELETE FROM Staff",
        "SELECT 1; DELETE FROM Staff",
        "ATTACH DATABASE '{file}' AS other",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('{file}')",
        "SELECT readfile('{file}')",
        "SELECT writefile('{file}', 'x')",
        "SELECT randomblob(1000000000)",
        "SELECT printf('%.*c', 1000000000, 'x')",
        "SELECT replace(replace(hex('x'), '7', Name), '8', Name) FROM Staff",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n",
        "VACUUM INTO '{file}'",
        "PRAGMA writable_schema = ON",
        "EXPLAIN SELECT 1",
        "CREATE TABLE t (a)",
        "SELECT '" + "x" * 5_000 + "'",
        "",
    ],
)
def test_anything_else_is_refused(tables: TableDatabase, tmp_path: Path, sql: str) -> None:
    file = tmp_path / "file"
    with pytest.raises(QueryError):
        tables.ask(sql.replace("{file}", str(file)))
    assert not file.exists()
    assert tables.ask("SELECT COUNT(*) FROM Staff").rows == ((60,),)


def test_a_statement_that_takes_too_long_is_ended(tables: TableDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "TIMEOUT_S", 0.05)
    began = time.thread_time()
    with pytest.raises(QueryError, match="interrupted"):
        tables.ask("SELECT COUNT(*) FROM Staff a, Staff b, Staff c, Staff d, Staff e, Staff f")
    assert time.thread_time() - began < 5


def test_a_process_that_does_not_answer_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.chat.tables.process.TIMEOUT_S", 0.01)
    with table_process() as process:
        assert process is not None
        assert (
            process.open("How many?", [{"title": "t", "file_type": "csv", "pieces": [[ROWS, "", None, None]]}]) is None
        )


def test_without_a_process_there_is_no_calculation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.processes.child.sys.executable", "/nowhere/python")
    with table_process() as process:
        assert process is None


@pytest.mark.parametrize(
    ("reply", "statement"),
    [
        ('{"sql": "SELECT 1", "where": "a = 1"}', ("SELECT 1", "a = 1")),
        ('```json\n{"sql": "SELECT 1"}\n```', ("SELECT 1", "")),
        ("NONE", None),
        ("SELECT 1", None),
        ('Here you are: {"sql": "SELECT 1"}', None),
        ('{"sql": ["SELECT 1"]}', None),
        ('["SELECT 1"]', None),
        ("[" * 100_000, None),
    ],
)
def test_a_models_reply_is_json_with_a_statement_or_nothing(reply: str, statement: tuple[str, str] | None) -> None:
    assert statement_of(reply) == statement
