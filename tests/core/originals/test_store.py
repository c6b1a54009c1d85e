"""Original files: kept once per content, found by their own documents alone, gone with the last of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from braid.core.data_directory import DataDirectory
from braid.core.folders.store import NewSyncedFolder, SyncedFolders
from braid.core.folders.sync import FolderSync
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse import parse_here
from braid.core.ingest.plan import IngestOptions
from braid.core.originals.store import Originals
from braid.core.types import ChunkInput, Document, DocumentInput
from tests.fakes import HashEmbeddings
from tests.worlds import older_than

CONTENT = b"%PDF of the pump"


@pytest.fixture
def tmp_path(open_folder: Path) -> Path:
    """No folder of the system's own, as those below ``/dev`` are."""
    return open_folder


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[DataDirectory]:
    with DataDirectory(tmp_path / "data", embedding_model=HashEmbeddings()) as opened:
        opened.ledger.add_user("ann")
        opened.ledger.add_dataset(1, "notes")
        yield opened


@pytest.fixture
def originals(directory: DataDirectory) -> Originals:
    return Originals(directory)


def put(directory: DataDirectory, source: str, content: bytes, *, dataset_id: int = 1) -> Document:
    content_hash = hashlib.sha256(content).hexdigest()
    directory.ledger.put_document(
        dataset_id,
        DocumentInput(source, source, "pdf", (ChunkInput(source),), content_hash=content_hash, size_bytes=len(content)),
    )
    found = directory.ledger.document(dataset_id, source)
    assert found is not None
    return found


def keep(originals: Originals, tmp_path: Path, document: Document, content: bytes = CONTENT) -> None:
    path = tmp_path / "spooled"
    path.write_bytes(content)
    originals.keep(document.id, Incoming.from_file(path, document.source))
    path.unlink()  # as the job does


def files(directory: DataDirectory) -> list[Path]:
    return [path for path in (directory.data_dir / "originals").rglob("*") if path.is_file()]


def test_a_content_is_kept_once_and_found_by_each_of_its_documents(
    directory: DataDirectory, originals: Originals, tmp_path: Path
) -> None:
    documents = [put(directory, f"{name}.pdf", CONTENT) for name in ("a", "b")]
    for document in documents:
        keep(originals, tmp_path, document)
    found = [originals.find(document) for document in documents]
    assert [path.read_bytes() for path in found if path] == [CONTENT] * 2
    assert originals.ids_with_file(documents) == {each.id for each in documents}
    assert originals.count() == (1, len(CONTENT))
    assert len(files(directory)) == 1


def test_contents_whose_file_somebody_deleted_are_counted(
    directory: DataDirectory, originals: Originals, tmp_path: Path
) -> None:
    assert originals.missing() == 0
    for name in ("a", "b", "c"):
        keep(originals, tmp_path, put(directory, f"{name}.pdf", name.encode()), name.encode())
    keep(originals, tmp_path, put(directory, "also-a.pdf", b"a"), b"a")
    assert originals.missing() == 0
    for path in files(directory)[:2]:
        path.unlink()
    assert originals.missing() == 2
    for name in ("a", "also-a", "b", "c"):
        directory.ledger.remove_document(1, f"{name}.pdf")
    assert originals.missing() == 0, "nobody misses them"


def test_a_document_that_only_claims_a_hash_has_no_file(
    directory: DataDirectory, originals: Originals, tmp_path: Path
) -> None:
    keep(originals, tmp_path, put(directory, "a.pdf", CONTENT))
    claimed = put(directory, "imported.pdf", CONTENT)
    assert originals.find(claimed) is None
    assert originals.ids_with_file([claimed]) == set()


def test_a_document_that_has_other_bytes_by_now_gets_no_file(
    directory: DataDirectory, originals: Originals, tmp_path: Path
) -> None:
    newer = put(directory, "a.pdf", b"newer")
    keep(originals, tmp_path, newer, CONTENT)
    assert originals.find(newer) is None


def test_a_document_that_was_written_again_from_a_text_loses_its_file(
    directory: DataDirectory, originals: Originals, tmp_path: Path
) -> None:
    keep(originals, tmp_path, put(directory, "a.pdf", CONTENT))
    written = put(directory, "a.pdf", b"a text")
    assert originals.find(written) is None
    assert originals.sweep(older_than(0)) == 1
    assert files(directory) == []


def test_a_file_goes_with_the_last_document_that_has_it(
    directory: DataDirectory, originals: Originals, tmp_path: Path
) -> None:
    for name in ("a.pdf", "b.pdf"):
        keep(originals, tmp_path, put(directory, name, CONTENT))
    directory.ledger.remove_document(1, "a.pdf")
    assert originals.sweep(older_than(0)) == 0
    content_hash = hashlib.sha256(CONTENT).hexdigest()
    assert originals.known({content_hash, "0" * 64}) == {content_hash}
    directory.ledger.remove_dataset(1)
    assert originals.known({content_hash}) == set()
    assert originals.sweep(older_than(3600)) == 0, "it may belong to a document that is not stored yet"
    assert originals.sweep(older_than(0)) == 1
    assert files(directory) == []


def test_a_file_that_is_kept_again_while_it_is_swept_stays(
    directory: DataDirectory, originals: Originals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(originals, tmp_path, put(directory, "a.pdf", CONTENT))
    directory.ledger.remove_document(1, "a.pdf")
    rename, again = os.rename, put(directory, "b.pdf", CONTENT)

    def keep_then_rename(path: Path, to: Path) -> None:
        keep(originals, tmp_path, again)
        rename(path, to)

    monkeypatch.setattr(os, "rename", keep_then_rename)
    assert originals.sweep(older_than(0)) == 0
    assert originals.find(again) is not None


def test_a_sweep_reads_the_list_of_files_once(directory: DataDirectory, originals: Originals, tmp_path: Path) -> None:
    for content in (b"one", b"two", b"three"):
        keep(originals, tmp_path, put(directory, f"{content!r}.pdf", content), content)
    directory.ledger.remove_dataset(1)
    with patch.object(Originals, "_hashes", autospec=True, side_effect=Originals._hashes) as read:
        assert originals.sweep(older_than(0)) == 3
    assert read.call_count == 1


def test_a_page_of_documents_reads_the_list_of_folders_once(directory: DataDirectory, originals: Originals) -> None:
    documents = [put(directory, f"{name}.pdf", CONTENT) for name in ("a", "b", "c")]
    with patch.object(SyncedFolders, "all", autospec=True, side_effect=SyncedFolders.all) as read:
        assert originals.ids_with_file(documents) == set()
    assert read.call_count == 1


def test_what_is_missing_or_damaged_is_said(directory: DataDirectory, originals: Originals, tmp_path: Path) -> None:
    contents = sorted((b"one", b"second", b"the last"), key=lambda content: hashlib.sha256(content).digest())
    for content in contents:
        keep(originals, tmp_path, put(directory, f"{content!r}.pdf", content), content)
    assert list(originals.damaged()) == []
    first, second, _ = sorted(files(directory))
    first.unlink()
    second.write_bytes(b"other")
    assert [said.partition("… ")[2] for said in originals.damaged()] == [
        "is not there any more",
        f"has 5 bytes, and had {len(contents[1])}",
    ]


@pytest.mark.parametrize("prefix", ["", "wiki/"])
def test_a_file_of_a_synced_folder_is_read_where_it_is(
    directory: DataDirectory, originals: Originals, tmp_path: Path, prefix: str
) -> None:
    folder = tmp_path / "wiki"
    folder.mkdir()
    (folder / "tank.md").write_text("The tank holds 40 litres.")
    added = SyncedFolders(directory).add(1, NewSyncedFolder(1, str(folder), id_prefix=prefix))
    sync = FolderSync(directory, 1, str(folder), options=added.options(IngestOptions()), parse=parse_here)
    assert sync.run().put == 1
    [document] = directory.ledger.documents(1)
    assert originals.find(document) == folder / "tank.md"
    assert originals.ids_with_file([document]) == {document.id}
    (folder / "tank.md").write_text("The tank holds 50 litres, as of today.")
    assert originals.find(document) is None, "it is not what the passages were read from"


def test_a_link_out_of_a_synced_folder_is_not_followed(
    directory: DataDirectory, originals: Originals, tmp_path: Path
) -> None:
    folder, secret = tmp_path / "wiki", tmp_path / "secret.md"
    folder.mkdir()
    secret.write_text("Nobody's business.")
    (folder / "tank.md").symlink_to(secret)
    SyncedFolders(directory).add(1, NewSyncedFolder(1, str(folder), id_prefix="wiki/"))
    stat = secret.stat()
    directory.ledger.put_document(
        1,
        DocumentInput("wiki/tank.md", "Tank", "md", (ChunkInput("x"),), size_bytes=stat.st_size, date=stat.st_mtime),
    )
    [document] = directory.ledger.documents(1)
    assert originals.find(document) is None
