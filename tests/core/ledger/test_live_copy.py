"""A ledger that was copied while it was in use, without its WAL file, is noticed; nothing else is taken for one."""

from __future__ import annotations

import os
import shutil
import signal
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
from tests.fakes import HashEmbeddings

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


def test_a_copy_of_a_live_ledger_without_its_wal_is_noticed_until_an_owner_has_closed_it(
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
    with opened(copy) as there:
        assert there.ledger.database.lacks_newest
    assert not looks_copied(copy / "ledger.db")


def test_what_is_whole_is_not_taken_for_a_copy(braid: Braid, tmp_path: Path) -> None:
    ledger = braid.data_dir / "ledger.db"
    assert not looks_copied(ledger), "with its WAL beside it"
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
import os, sys
from braid.core.braid import Braid
from tests.fakes import HashEmbeddings
braid = Braid(sys.argv[1], embedding_model=HashEmbeddings())
braid.ledger.add_user("ann")
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("end", ["killed", "not closed"])
def test_neither_a_kill_nor_a_program_that_closes_nothing_makes_it_look_copied(end: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LEFT_OPEN, str(tmp_path / "data"), end]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60, check=False)
    assert done.returncode == (-signal.SIGKILL if end == "killed" else 0)
    ledger = tmp_path / "data" / "ledger.db"
    assert not looks_copied(ledger)
    with DataDirectory(tmp_path / "data", embedding_model=HashEmbeddings()) as there:
        assert [user.name for user in there.ledger.users()] == ["ann"]
    assert not looks_copied(ledger), "the one who mended it after the kill was the last to close it"
