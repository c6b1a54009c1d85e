"""The upgrade of a ledger that an earlier version made: who does it, with a copy first, all or nothing."""

from __future__ import annotations

import shutil
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from braid.core.accounts.audit import AuditLog
from braid.core.backup.manifest import BackupError
from braid.core.backup.record import last_backup
from braid.core.backup.restore import restore_backup
from braid.core.backup.upgrade import copies
from braid.core.backup.verify import verify_backup
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotOwnerError
from braid.core.ledger.owners.owner import OwnerLock
from braid.core.ledger.schema import create_tables, current_revision, known_migrations, newest_revision
from tests.command_line import CommandLine
from tests.fakes import HashEmbeddings

ARCHIVE = Path(__file__).parents[2] / "data" / "directory-0.1.tar.gz"
EARLIEST = "0008"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A data directory that version 0.1 made, with its ledger in SQLite."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "directory-0.1").rename(tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "indexes")
    return tmp_path / "data"


def revision(ledger: Path) -> str:
    with closing(sqlite3.connect(ledger)) as database:
        return str(database.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def upgrade(data_dir: Path, **options: bool) -> None:
    DataDirectory(data_dir, embedding_model=HashEmbeddings(), **options).close()


def block(ledger: Path) -> None:
    """Put a table in the way of the last migrations, so that they fail."""
    with closing(sqlite3.connect(ledger)) as database:
        database.execute("CREATE TABLE document_metadata (blocked INTEGER)")
        database.commit()


def test_an_upgrade_keeps_the_ledger_as_it_was(old: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = revision(old / "ledger.db")
    upgrade(old)
    assert (before, revision(old / "ledger.db")) == (EARLIEST, newest_revision())
    (copy,) = copies(old)
    assert f"event=upgraded from={EARLIEST} to={newest_revision()} copy={copy}" in caplog.text
    assert verify_backup(copy).revision == EARLIEST
    assert last_backup(old) is None, "it is on the same disk"
    restored = restore_backup(copy, tmp_path / "as before")
    assert revision(tmp_path / "as before" / "ledger.db") == EARLIEST
    assert restored.rows["messages"] == 6
    upgrade(old)
    assert copies(old) == [copy], "nothing is left to do"


def test_a_copy_is_made_of_postgresql_too(new_postgres_url: Callable[[], str], tmp_path: Path) -> None:
    url = new_postgres_url()
    engine = create_engine(url)
    with engine.begin() as connection:
        create_tables(connection, EARLIEST)
        connection.exec_driver_sql("INSERT INTO users (name, created_at) VALUES ('ann', 0)")
    DataDirectory(tmp_path / "data", database_url=url, embedding_model=HashEmbeddings()).close()
    (copy,) = copies(tmp_path / "data")
    assert (verify_backup(copy).revision, verify_backup(copy).rows["users"]) == (EARLIEST, 1)
    elsewhere = new_postgres_url()
    restore_backup(copy, tmp_path / "elsewhere", database_url=elsewhere)
    with DataDirectory(tmp_path / "elsewhere", database_url=elsewhere, embedding_model=HashEmbeddings()) as there:
        assert [user.name for user in there.ledger.users()] == ["ann"]
        assert there.ledger.add_user("ben").id == 2
    with engine.connect() as connection:
        assert current_revision(connection) == newest_revision()
    engine.dispose()


def test_a_failed_migration_is_named_and_changes_nothing(old: Path) -> None:
    block(old / "ledger.db")
    for _ in range(2):
        with pytest.raises(InvalidInputError) as caught:
            upgrade(old)
        message = str(caught.value)
        assert "the migration 0019 (What came after version 0.1 at first) of" in message
        assert "table document_metadata already exists; nothing was changed" in message
        assert f"still of revision {EARLIEST}" in message
        assert revision(old / "ledger.db") == EARLIEST
    assert len(copies(old)) == 1, "attempts do not fill the disk"
    with closing(sqlite3.connect(old / "ledger.db")) as database:
        assert not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'message_texts'").fetchall()
        database.execute("DROP TABLE document_metadata")
        database.commit()
    upgrade(old)
    assert revision(old / "ledger.db") == newest_revision()


def test_nothing_is_upgraded_that_cannot_be_copied_or_is_in_use(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("braid.core.backup.make.LEAST_ROOM", 2**60)
        with pytest.raises(BackupError, match=r"not upgraded, since it cannot be copied first: .*--no-copy"):
            upgrade(old)
    lock = OwnerLock(old)
    lock.acquire()
    with pytest.raises(NotOwnerError, match="open with an earlier version; stop it before"):
        upgrade(old)
    lock.release()
    with pytest.raises(InvalidInputError, match=rf"revision {EARLIEST}, and this braid .* needs .*db migrate"):
        upgrade(old, migrate=False)
    assert revision(old / "ledger.db") == EARLIEST
    assert copies(old) == []


# ---------------------------------------------------------------- the command line


def test_only_migrate_upgrades_and_status_says_what_it_would_do(old: Path) -> None:
    run = CommandLine(old.parent)
    assert "run `python -m app db migrate`" in run("user", "list", status=2).stderr
    assert revision(old / "ledger.db") == EARLIEST
    said = run("db", "status", status=1).stdout
    assert f"Revision     {EARLIEST}; braid " in said
    assert "0019  What came after version 0.1 at first" in said
    assert "Last backup  none is recorded" in said
    run("backup", old.parent / "backup.zip")
    form = run.json("db", "migrate")
    assert (form["from"], form["to"]) == (EARLIEST, newest_revision())
    now = run.json("db", "status")
    assert (now["revision"], now["pending"], now["copies"]) == (newest_revision(), [], [form["copy"]])
    assert now["last_backup"]["file"] == str(old.parent / "backup.zip")
    with DataDirectory(old, embedding_model=HashEmbeddings()) as there:
        (act,) = [each for each in AuditLog(there.ledger).entries() if each.action == "database.upgraded"]
        assert (act.actor, act.target) == ("command line", f"{EARLIEST} to {newest_revision()}")
    assert "nothing to do" in run("db", "migrate").stdout
    assert "ann" in run("user", "list").stdout


def test_migrate_without_a_copy(old: Path) -> None:
    run = CommandLine(old.parent)
    assert run("db", "migrate", "--no-copy").stdout == f"Upgraded from {EARLIEST} to {newest_revision()}.\n"
    assert copies(old) == []


def test_a_ledger_that_is_not_there_or_newer_is_not_touched(old: Path, tmp_path: Path) -> None:
    run = CommandLine(tmp_path / "nowhere")
    for command in ("status", "migrate"):
        assert "there is no ledger at" in run("db", command, status=2).stderr
    assert not (tmp_path / "nowhere").exists()
    with closing(sqlite3.connect(old / "ledger.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = '0099'")
        database.commit()
    for command in ("status", "migrate"):
        told = CommandLine(old.parent)("db", command, status=2).stderr
        assert "revision 0099, which a newer Braid wrote" in told
    assert revision(old / "ledger.db") == "0099"


def test_the_docs_say_what_each_migration_changes() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")
    for step in known_migrations():
        assert f"| {step.revision} |" in page, step
