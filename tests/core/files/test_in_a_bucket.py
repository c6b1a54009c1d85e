"""Uploads and the files of documents in a bucket: what one machine stores, the others read; nothing else is kept."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from braid.core.backup.make import Sources, make_backup
from braid.core.backup.restore import restore_backup
from braid.core.data_directory import DataDirectory
from braid.core.errors import FilesUnavailableError, NotFoundError
from braid.core.files.bucket import Bucket
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.ingest import ingest_bytes
from braid.core.ingest.spool import Spool
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger.database import Database
from braid.core.originals.store import Originals
from braid.core.types import Document
from tests.fakes import HashEmbeddings
from tests.worlds import older_than

PUMP = b"The pump runs at 12 bar."
TANK = b"The tank holds 40 litres."


class Machine:
    """A process on a machine of its own: its data directory is its own, ledger and bucket are those of all."""

    def __init__(self, folder: Path, name: str, files_url: str, database_url: str = "") -> None:
        self.directory = DataDirectory(
            folder / name,
            database_url=database_url or f"sqlite:///{folder / 'ledger.db'}",
            files_url=files_url,
            embedding_model=HashEmbeddings(),
        )
        self.spool = Spool.of(self.directory)
        self.originals = Originals(self.directory)

    @property
    def bucket(self) -> Bucket:
        assert self.directory.bucket is not None
        return self.directory.bucket

    def store(self, source: str, content: bytes) -> Document:
        """Store and keep a document in the first dataset."""
        path = self.directory.data_dir / "incoming"
        path.write_bytes(content)
        stored = ingest_bytes(self.directory, 1, source, content)
        self.originals.keep(int(stored.document_id or 0), Incoming.from_file(path, source))
        return self.document(source)

    def document(self, source: str) -> Document:
        found = self.directory.ledger.document(1, source)
        assert found is not None
        return found

    def files(self) -> list[str]:
        """What the data directory has of files that belong to all."""
        folders = (self.directory.data_dir / name for name in ("uploads", "originals"))
        return [path.name for folder in folders for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def machines(tmp_path: Path, files_url: str) -> Iterator[tuple[Machine, Machine]]:
    one, other = (Machine(tmp_path, name, files_url) for name in ("one", "other"))
    ann = one.directory.ledger.add_user("ann")
    one.directory.ledger.add_dataset(ann.id, "notes")
    yield one, other
    for each in (one, other):
        each.directory.close()


def test_an_upload_at_one_machine_is_read_at_another(machines: tuple[Machine, Machine]) -> None:
    one, other = machines
    kept = one.spool.save(io.BytesIO(PUMP), max_bytes=100)
    assert kept.size_bytes == len(PUMP)
    for machine in machines:
        assert machine.spool.path(kept.name).read_bytes() == PUMP
    exported = other.spool.write(lambda file: file.write(TANK))
    assert one.spool.path(exported.name).read_bytes() == TANK
    assert one.spool.sweep({kept.name}, older_than(0)) == 1
    assert one.spool.path(kept.name)
    other.spool.remove(kept.name)
    assert list(one.bucket.below("uploads/")) == []
    assert [machine.files() for machine in machines] == [[], []]
    with pytest.raises(NotFoundError, match="not there any more"):
        one.spool.path(exported.name)


def test_files_of_documents_are_kept_once_and_go_with_the_last(machines: tuple[Machine, Machine]) -> None:
    one, other = machines
    pump = one.store("pump.txt", PUMP)
    copy = other.store("copy.txt", PUMP)
    tank = other.store("tank.txt", TANK)
    key = f"originals/{pump.content_hash[:2]}/{pump.content_hash}"
    assert len(list(one.bucket.below("originals/"))) == 2
    for machine in machines:
        for document, content in ((pump, PUMP), (copy, PUMP), (tank, TANK)):
            found = machine.originals.find(document)
            assert found is not None
            assert found.read_bytes() == content
        assert list(machine.originals.damaged()) == []
        assert machine.originals.count() == (2, len(PUMP) + len(TANK))
    one.directory.ledger.remove_document(1, "pump.txt")
    assert other.originals.sweep(older_than(0)) == 0
    one.directory.ledger.remove_document(1, "copy.txt")
    assert other.originals.sweep(older_than(3600)) == 0, "somebody may be storing it now"
    assert other.originals.sweep(older_than(-1)) == 1
    assert one.bucket.find(key) is None
    assert one.originals.find(pump) is None
    assert [machine.files() for machine in machines] == [[], []]


def test_who_reads_many_files_leaves_no_copies(machines: tuple[Machine, Machine], tmp_path: Path) -> None:
    one, other = machines
    for source, content in (("pump.txt", PUMP), ("tank.txt", TANK)):
        document = one.store(source, content)
        place = other.originals.place(document, to=tmp_path / "copy")
        assert place == tmp_path / "copy"
        assert place.read_bytes() == content
    assert not list(other.directory.data_dir.glob("fetched/*"))
    one.bucket.remove(f"originals/{document.content_hash[:2]}/{document.content_hash}")
    gone = other.originals.place(document, to=tmp_path / "copy")
    assert gone is not None
    assert not gone.exists()


def test_what_is_gone_or_damaged_there_is_said(machines: tuple[Machine, Machine]) -> None:
    one, other = machines
    for source, content in (("pump.txt", PUMP), ("tank.txt", TANK)):
        one.store(source, content)
    [pump, tank] = sorted(dict(one.bucket.below("originals/")), key=lambda key: key.rpartition("/")[2] != _hash(one))
    one.bucket.remove(pump)
    other.bucket.add(_file(other, b"cut"), tank)
    said = list(other.originals.damaged())
    assert sum("is not there any more" in line for line in said) == 1
    assert sum("has 3 bytes, and had 25" in line for line in said) == 1


def _hash(machine: Machine) -> str:
    return machine.document("pump.txt").content_hash


def _file(machine: Machine, content: bytes) -> Path:
    path = machine.directory.data_dir / "cut"
    path.write_bytes(content)
    return path


def test_an_outage_is_no_missing_file(machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = machines
    kept, document = one.spool.save(io.BytesIO(PUMP), max_bytes=100), one.store("pump.txt", PUMP)
    for machine in machines:
        monkeypatch.setattr(machine.bucket, "_root", "no-such-bucket/files")
    for ask in (
        lambda: other.spool.path(kept.name),
        lambda: other.spool.save(io.BytesIO(TANK), max_bytes=100),
        lambda: other.originals.find(document),
        lambda: list(other.originals.damaged()),
        lambda: other.originals.sweep(older_than(0)),
        lambda: one.store("tank.txt", TANK),
    ):
        with pytest.raises(FilesUnavailableError):
            ask()
    other.spool.remove(kept.name)  # `sweep` will
    assert [machine.files() for machine in machines] == [[], []]


def test_files_of_before_there_was_a_bucket_are_brought_in(tmp_path: Path, files_url: str) -> None:
    before = Machine(tmp_path, "one", "")
    ann = before.directory.ledger.add_user("ann")
    before.directory.ledger.add_dataset(ann.id, "notes")
    pump = before.store("pump.txt", PUMP)
    waiting = before.spool.save(io.BytesIO(TANK), max_bytes=100).name
    before.directory.close()
    one, other = (Machine(tmp_path, name, files_url) for name in ("one", "other"))
    found = one.originals.find(pump)
    assert found is not None
    assert one.spool.path(waiting).read_bytes() == TANK
    with one.spool.temporary(b"being read") as path:
        assert (one.spool.bring_in({waiting}), one.originals.bring_in()) == (1, 1)
        assert path.read_bytes() == b"being read"
    assert one.files() == [waiting], "a job may be reading it"
    assert one.spool.bring_in({waiting}) == 0, "it is there already"
    for machine in (one, other):
        assert machine.spool.path(waiting).read_bytes() == TANK
        kept = machine.originals.find(pump)
        assert kept is not None
        assert kept.read_bytes() == PUMP
    one.spool.remove(waiting)
    assert one.files() == []
    for machine in (one, other):
        machine.directory.close()


def test_a_file_that_another_process_moves_meanwhile_is_passed_over(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = machines
    document = one.store("pump.txt", PUMP)
    left = one.directory.data_dir / "originals" / document.content_hash[:2] / document.content_hash
    left.parent.mkdir(parents=True)
    left.write_bytes(PUMP)
    waiting = "a" * 32
    (one.directory.data_dir / "uploads" / waiting).write_bytes(TANK)
    add = Bucket.add

    def add_moved(bucket: Bucket, path: Path, key: str, *, keep: bool = False) -> None:
        path.unlink()
        add(bucket, path, key, keep=keep)

    monkeypatch.setattr(Bucket, "add", add_moved)
    assert (one.spool.bring_in({waiting}), one.originals.bring_in()) == (0, 0)
    assert one.files() == []


def test_a_slow_transfer_keeps_its_lock(
    tmp_path: Path, files_url: str, new_postgres_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_postgres_url()
    Database(url).close()  # makes the tables, which takes longer
    machine, limits = Machine(tmp_path, "one", files_url, url), list[str]()

    def limited(act: Callable[..., None]) -> Callable[..., None]:
        """The method of a bucket, noting how long PostgreSQL lets the transaction be idle that it is called in."""

        def act_within(*args: object, **options: object) -> None:
            act(*args, **options)
            with machine.directory.ledger.database.write() as connection:
                limits.append(connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar_one())

        return act_within

    with machine.directory:
        ann = machine.directory.ledger.add_user("ann")
        machine.directory.ledger.add_dataset(ann.id, "notes")
        for name in ("add", "remove"):
            monkeypatch.setattr(Bucket, name, limited(getattr(Bucket, name)))
        machine.store("pump.txt", PUMP)
        assert machine.originals.count() == (1, len(PUMP))
        machine.directory.ledger.remove_document(1, "pump.txt")
        assert machine.originals.sweep(older_than(-1)) == 1
    assert limits == ["0", "0"], "however long the store takes"


def test_a_backup_has_them_and_a_restored_directory_gives_them_back(
    machines: tuple[Machine, Machine], tmp_path: Path, files_url: str
) -> None:
    one, other = machines
    one.store("pump.txt", PUMP)
    waiting = one.spool.save(io.BytesIO(TANK), max_bytes=100).name
    JobStore(one.directory.ledger).add(1, [NewJob("upload", "tank.txt", 1, {"file": waiting})])
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    sources = Sources(other.directory.data_dir, tmp_path / "none.json", url, files_url=files_url)
    manifest = make_backup(sources, tmp_path / "backup.zip")
    assert (manifest.originals, manifest.uploads, manifest.missing) == (1, 1, ())
    with zipfile.ZipFile(tmp_path / "backup.zip") as archive:
        assert archive.read(f"uploads/{waiting}") == TANK
    without = make_backup(replace(sources, with_files=False), tmp_path / "before-a-migration.zip")
    assert (without.originals, without.uploads, without.missing) == (0, 0, ())
    restore_backup(tmp_path / "backup.zip", tmp_path / "restored" / "one")
    new = DataDirectory(
        tmp_path / "restored" / "one", files_url=f"{files_url}-restored", embedding_model=HashEmbeddings()
    )
    with new:
        assert Spool.of(new).bring_in({waiting}) == 1
        assert Originals(new).bring_in() == 1
        assert new.bucket is not None
        assert {key.partition("/")[0] for key, _ in new.bucket.below("")} == {"originals", "site_id", "uploads"}
