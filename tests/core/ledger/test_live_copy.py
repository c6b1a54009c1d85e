"""A ledger that was copied while it was in use, without its WAL file, is noticed; nothing else is taken for one."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from braid.core.backup.make import Sources, make_backup
from braid.core.backup.restore import restore_backup
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.ledger.database import Database
from tests.command_line import invoke
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S

ROOT = Path(__file__).parents[3]


def opened(folder: Path) -> Braid:
    return Braid(folder, embedding_model=HashEmbeddings())


def looks_copied(ledger: Path) -> bool:
    """What the next one who opens it finds; it is copied first, so that looking changes nothing."""
    looked_at = ledger.with_name("looked-at")
    shutil.rmtree(looked_at, ignore_errors=True)
    looked_at.mkdir()
    for path in ledger.parent.glob(f"{ledger.name}*"):
        shutil.copyfile(path, looked_at / path.name)
    database = Database(f"sqlite:///{looked_at / ledger.name}")
    database.close()
    return database.lacks_newest


@pytest.fixture
def braid(tmp_path: Path) -> Iterator[Braid]:
    with opened(tmp_path / "data") as made:
        made.ledger.add_user("ann")
        yield made


def test_a_copy_of_a_live_ledger_without_its_wal_is_noticed(
    braid: Braid, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copyfile(braid.data_dir / "ledger.db", copy / "ledger.db")
    assert looks_copied(copy / "ledger.db")
    for _ in range(2):
        caplog.clear()
        with DataDirectory(copy, embedding_model=HashEmbeddings()) as there:
            assert there.ledger.database.lacks_newest
        assert "the newest changes are missing" in caplog.text
        assert str(copy / "ledger.db") in caplog.text
    asked = invoke(tmp_path, "db", "status", "--data-dir", copy)
    assert asked.exit_code == 0
    assert "the newest changes are missing" in asked.stderr
    with opened(copy) as there:
        assert there.ledger.database.lacks_newest
    assert not looks_copied(copy / "ledger.db")


def test_what_is_whole_is_not_taken_for_a_copy(braid: Braid, tmp_path: Path) -> None:
    ledger = braid.data_dir / "ledger.db"
    assert not looks_copied(ledger), "with its WAL beside it"
    for name in ("backed up after a kill", "opened after a kill"):
        (tmp_path / name).mkdir()
        for path in (ledger, ledger.with_name("ledger.db-wal")):  # what a kill leaves
            shutil.copyfile(path, tmp_path / name / path.name)
    killed = Sources(tmp_path / "backed up after a kill", tmp_path / "shared_dbs.json")
    assert make_backup(killed, tmp_path / "of-killed.zip").rows["users"] == 1
    assert not looks_copied(killed.data_dir / "ledger.db"), "the backup was the last to close it"
    with DataDirectory(tmp_path / "opened after a kill", embedding_model=HashEmbeddings()) as there:
        assert [user.name for user in there.ledger.users()] == ["ann"]
    assert not looks_copied(tmp_path / "opened after a kill" / "ledger.db")
    make_backup(Sources(braid.data_dir, tmp_path / "shared_dbs.json"), tmp_path / "backup.zip")
    restore_backup(tmp_path / "backup.zip", tmp_path / "restored")
    assert not looks_copied(tmp_path / "restored" / "ledger.db")
    with DataDirectory(braid.data_dir, embedding_model=HashEmbeddings()):
        pass
    with closing(sqlite3.connect(ledger)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,), "another one who closes it is not the last"
    braid.close()
    assert not looks_copied(ledger), "closed"
    with DataDirectory(braid.data_dir, embedding_model=HashEmbeddings()):
        pass
    assert not looks_copied(ledger)


LEFT_OPEN = """
import sys
from braid.core.ledger.ledger import Ledger
ledger = Ledger(sys.argv[1])
ledger.database.mark_in_use()
ledger.add_user("ann")
"""


def test_a_program_that_closes_nothing_leaves_no_ledger_that_looks_copied(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LEFT_OPEN, f"sqlite:///{tmp_path / 'data' / 'ledger.db'}"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=WAIT_S, check=True)
    assert not looks_copied(tmp_path / "data" / "ledger.db")
    with DataDirectory(tmp_path / "data", embedding_model=HashEmbeddings()) as there:
        assert [user.name for user in there.ledger.users()] == ["ann"]
