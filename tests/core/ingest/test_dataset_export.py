"""Export and import: the same search results on the other side, and nothing wrong gets in."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ingest.exports.dataset_export import export_dataset
from braid.core.ingest.exports.dataset_import import ImportReport, KeepOriginals, import_dataset
from braid.core.ingest.exports.export_file import read_export, read_manifest
from braid.core.ingest.exports.export_form import DOCUMENTS, EMBEDDINGS, MANIFEST, ORIGINALS, Manifest
from braid.core.ingest.incoming import Incoming
from braid.core.originals.store import Originals
from braid.core.types import ChunkInput, DocumentInput, SearchResult
from tests.fakes import HashEmbeddings
from tests.worlds import catch_up

LIMIT = 10_000_000
TEXTS = {
    "fees.md": ("two euros a day", "lending stops when a book is late", "two euros a day"),
    "図書館.txt": ("図書館の利用案内です", "貸出は一人につき十冊まで"),
    "도서관.txt": ("도서관 이용 안내입니다",),
}


@pytest.fixture
def other(tmp_path: Path) -> Iterator[tuple[Braid, HashEmbeddings]]:
    """Another installation with the same model."""
    model = HashEmbeddings()
    with Braid(tmp_path / "other", embedding_model=model) as opened:
        opened.ledger.add_dataset(opened.ledger.add_user("bob").id, "imported")
        yield opened, model


def fill(braid: Braid) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "Library")
    for number, (source, texts) in enumerate(TEXTS.items()):
        chunks = tuple(ChunkInput(text, "Lending > Fees", page=1, line_end=3) for text in texts)
        braid.ledger.put_document(
            dataset.id, DocumentInput(source, f"Title {number}", "md", chunks, "ab" * 32, 9, 1.5, {"author": "Ann"})
        )
    braid.ledger.put_failed(dataset.id, "scan.pdf", title="scan", file_type="pdf", error="no text")
    catch_up(braid)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    with Braid(tmp_path_factory.mktemp("library"), embedding_model=HashEmbeddings()) as braid:
        fill(braid)
        yield braid


@pytest.fixture(scope="module")
def archive(library: Braid) -> bytes:
    file = io.BytesIO()
    manifest = export_dataset(library, 1, file)
    assert (manifest.name, manifest.documents, manifest.chunks) == ("Library", 3, 6)
    return file.getvalue()


@pytest.fixture
def exported(archive: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "library.zip"
    path.write_bytes(archive)
    return path


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataDirectory]:
    """Where wrong files are tried on; without indexes."""
    with DataDirectory(tmp_path_factory.mktemp("target"), embedding_model=HashEmbeddings()) as opened:
        opened.ledger.add_dataset(opened.ledger.add_user("bob").id, "imported")
        yield opened


def found(result: SearchResult) -> list[tuple[Any, ...]]:
    assert not result.degraded
    return [
        (h.passage.source, h.passage.title, h.passage.text, h.passage.heading_path, h.passage.page, h.passage.line_end,
         h.passage.date, h.passage.metadata, round(h.score, 9), [(s.leg, s.rank, round(s.score, 5)) for s in h.legs])
        for h in result.hits
    ]  # fmt: skip


def test_an_imported_dataset_is_found_as_the_exported_one_and_embeds_nothing(
    library: Braid, exported: Path, other: tuple[Braid, HashEmbeddings]
) -> None:
    target, model = other
    steps: list[tuple[int, int]] = []
    report = import_dataset(
        target, 1, exported, read=read_export, max_bytes=LIMIT, progress=lambda *step: steps.append(step)
    )
    assert (report.documents, report.chunks, report.embedded) == (3, 6, 6)
    assert steps == [(1, 3), (2, 3), (3, 3)]
    catch_up(target)
    assert model.documents_embedded == 1  # the first passage, to try the model
    for query in ("two euros", "図書館の案内", "도서관", "lending"):
        for mode in ("hybrid", "semantic", "keyword"):
            before, after = (
                b.manager.search(query, user_id=1, dataset_ids=[1], mode=mode, k=6) for b in (library, target)
            )
            assert found(after) == found(before)
            assert before.hits


def test_doing_it_twice_changes_nothing(exported: Path, target: DataDirectory) -> None:
    dataset_id = target.ledger.add_dataset(1, "twice").id
    first = import_dataset(target, dataset_id, exported, read=read_export, max_bytes=LIMIT)
    documents = target.ledger.documents(dataset_id)
    assert import_dataset(target, dataset_id, exported, read=read_export, max_bytes=LIMIT) == first
    assert target.ledger.documents(dataset_id) == documents
    assert target.ledger.dataset(dataset_id).chunks == 6


@pytest.mark.parametrize("texts", [("two euros",), ("lending stops", "two euros a day", "when a book is late")])
def test_vectors_of_other_passages_are_not_used(exported: Path, target: DataDirectory, texts: tuple[str, ...]) -> None:
    """The document is there already, of the same file, which was split in another way."""
    dataset_id = target.ledger.add_dataset(1, f"split {len(texts)}").id
    passages = tuple(ChunkInput(text) for text in texts)
    target.ledger.put_document(dataset_id, DocumentInput("fees.md", "Title 0", "md", passages, "ab" * 32, 9, 1.5))
    report = import_dataset(target, dataset_id, exported, read=read_export, max_bytes=LIMIT)
    assert (report.documents, report.embedded) == (3, 3)
    assert target.ledger.dataset(dataset_id).chunks == len(texts) + 3


@pytest.mark.parametrize(
    "model",
    [HashEmbeddings(fingerprint="fake:another"), HashEmbeddings(32)],
    ids=["another model", "a model that is another under the same name"],
)
def test_vectors_of_another_model_are_not_used(exported: Path, tmp_path: Path, model: HashEmbeddings) -> None:
    with Braid(tmp_path / "third", embedding_model=model) as target:
        target.ledger.add_dataset(target.ledger.add_user("bob").id, "imported")
        assert import_dataset(target, 1, exported, read=read_export, max_bytes=LIMIT).embedded == 0
        catch_up(target)
        assert model.documents_embedded >= 6
        assert target.manager.search("two euros", user_id=1, dataset_ids=[1], mode="semantic").hits


def test_an_empty_dataset_and_one_without_vectors(tmp_path: Path, target: DataDirectory) -> None:
    with DataDirectory(tmp_path / "plain") as braid:
        braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "Plain")
        for count in (0, 1):
            with (tmp_path / "plain.zip").open("wb") as file:
                manifest = export_dataset(braid, 1, file)
            assert (manifest.documents, manifest.model) == (count, None)
            report = import_dataset(target, 1, tmp_path / "plain.zip", read=read_export, max_bytes=LIMIT)
            assert (report.documents, report.embedded) == (count, 0)
            braid.ledger.put_document(1, DocumentInput("a.md", "A", "md", (ChunkInput("text"),)))
        with pytest.raises(NotFoundError):
            export_dataset(braid, 99, io.BytesIO())


def rewrite(path: Path, change: Callable[[dict[str, bytes]], None], *, stored: bool = False) -> Path:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def manifest(**values: Any) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        parts[MANIFEST] = json.dumps({**json.loads(parts[MANIFEST]), **values}).encode()

    return change


def first_document(**values: Any) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        first, rest = parts[DOCUMENTS].split(b"\n", 1)
        parts[DOCUMENTS] = json.dumps({**json.loads(first), **values}).encode() + b"\n" + rest

    return change


def vectors(rows: Any) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        stream = io.BytesIO()
        np.save(stream, rows, allow_pickle=True)
        parts[EMBEDDINGS] = stream.getvalue()

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda parts: parts.pop(MANIFEST), "it must have manifest.json"),
        (lambda parts: parts.update({"../evil": b""}), "and nothing else"),
        (lambda parts: parts.pop(EMBEDDINGS), "go together, and one is missing"),
        (lambda parts: parts.update({MANIFEST: b"{"}), "manifest.json: it: Invalid JSON"),
        (manifest(version=2), "it is of version 2, and this Braid reads version 1"),
        (manifest(format="zip"), "manifest.json: format"),
        (manifest(documents=2), "has more in it than manifest.json says"),
        (manifest(documents=4), "has less in it than manifest.json says"),
        (manifest(chunks=7), "must hold 7 × 64 numbers"),
        (manifest(chunks=-1), "manifest.json: chunks"),
        (manifest(extra=1), "manifest.json: extra"),
        (manifest(exported_at=float("nan")), "manifest.json: "),
        (lambda parts: parts.update({DOCUMENTS: b"[]\n"}), r"line 1 of documents\.jsonl"),
        (lambda parts: parts.update({DOCUMENTS: b"\xff\n"}), r"line 1 of documents\.jsonl"),
        (first_document(source=""), r"line 1 of documents\.jsonl: source"),
        (first_document(chunks=[]), r"line 1 of documents\.jsonl: chunks"),
        (first_document(chunks=[{"text": 1}]), r"line 1 of documents\.jsonl: chunks\.0\.text"),
        (first_document(chunks=[{"text": "\t" * 20_001}]), r"line 1 of documents\.jsonl: chunks\.0\.text"),
        (first_document(chunks=[{"text": "a", "heading_path": "x" * 20_001}]), r"chunks\.0\.heading_path"),
        (first_document(content_hash="x"), r"line 1 of documents\.jsonl: content_hash"),
        (first_document(dataset_id=7), r"line 1 of documents\.jsonl: dataset_id"),
        (vectors(np.zeros((6, 32), "<f4")), "must hold 6 × 64 numbers"),
        (vectors(np.ones((6, 64), "<f4")), "vectors that are not of length 1"),
        (vectors(np.full((6, 64), np.nan, "<f4")), "vectors that are not of length 1"),
        (vectors(np.zeros((6, 64), "<f8")), "of type float32"),
        (vectors(np.array([[{}] * 64] * 6)), "of type float32"),
        (lambda parts: parts.update({EMBEDDINGS: parts[EMBEDDINGS][:-4]}), "ends early"),
        (lambda parts: parts.update({EMBEDDINGS: b"no numbers"}), r"is not a \.npy file"),
        (lambda parts: parts.update({DOCUMENTS: b" " * 9_000_000}), "unpacks to more than 200 times its size"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_named(
    exported: Path, target: DataDirectory, change: Callable[[dict[str, bytes]], None], reason: str
) -> None:
    with pytest.raises(InvalidInputError, match=reason) as caught:
        import_dataset(target, 1, rewrite(exported, change), read=read_export, max_bytes=LIMIT)
    assert caught.value.field == "file"


# ---------------------------------------------------------------- originals


@pytest.fixture
def with_originals(tmp_path: Path) -> Iterator[tuple[DataDirectory, Path]]:
    """A dataset of three documents whose files are kept, two of them the same, and its export."""
    with DataDirectory(tmp_path / "kept") as braid:
        dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "Kept").id
        for source, content in (("a.md", b"# A"), ("copy of a.md", b"# A"), ("b.md", b"# Bee")):
            (tmp_path / source).write_bytes(content)
            incoming = Incoming.from_file(tmp_path / source, source)
            chunks, digest = (ChunkInput(source),), incoming.content_hash
            put = braid.ledger.put_document(dataset, DocumentInput(source, source, "md", chunks, content_hash=digest))
            Originals(braid).keep(put.document_id, incoming)
        yield braid, tmp_path / "kept.zip"


def export_kept(braid: DataDirectory, path: Path) -> Manifest:
    with path.open("wb") as file:
        return export_dataset(braid, 1, file, originals=Originals(braid).place)


def import_kept(target: DataDirectory, path: Path, *, max_bytes: int = LIMIT) -> tuple[ImportReport, dict[str, bytes]]:
    """Import into a new dataset; returns the report, and the originals that are there afterwards."""
    dataset = target.ledger.add_dataset(1, "copy").id
    originals, unpacked = Originals(target), path.with_suffix(".unpacked")
    keep = KeepOriginals(originals.keep, unpacked, max_bytes)
    report = import_dataset(target, dataset, path, read=read_export, max_bytes=LIMIT, originals=keep)
    assert not unpacked.exists()
    files = {each.source: originals.find(each) for each in target.ledger.documents(dataset)}
    return report, {source: file.read_bytes() for source, file in files.items() if file is not None}


def test_originals_go_along_once_per_content_and_are_kept(
    with_originals: tuple[DataDirectory, Path], target: DataDirectory
) -> None:
    braid, path = with_originals
    assert export_kept(braid, path).originals == 3
    with zipfile.ZipFile(path) as archive:
        assert len([name for name in archive.namelist() if name.startswith(ORIGINALS)]) == 2
    report, found = import_kept(target, path)
    assert (report.originals, report.originals_not_kept) == (3, {})
    assert found == {"a.md": b"# A", "copy of a.md": b"# A", "b.md": b"# Bee"}


def test_an_original_that_is_gone_or_was_changed_is_counted_by_both_sides(
    with_originals: tuple[DataDirectory, Path], target: DataDirectory
) -> None:
    braid, path = with_originals
    gone, changed, _ = (Originals(braid).find(each) for each in braid.ledger.documents(1))
    assert gone is not None
    assert changed is not None
    gone.unlink()
    changed.write_bytes(b"# Bug")
    manifest = export_kept(braid, path)
    assert (manifest.documents, manifest.originals, manifest.lost_originals) == (3, 0, 3)
    report, found = import_kept(target, path)
    assert (report.documents, report.originals, report.originals_not_kept, found) == (3, 0, {"missing": 3}, {})


def test_what_an_archive_has_lost_costs_that_original_alone(
    with_originals: tuple[DataDirectory, Path], target: DataDirectory
) -> None:
    braid, path = with_originals
    export_kept(braid, path)
    a, bee = (ORIGINALS + hashlib.sha256(content).hexdigest() for content in (b"# A", b"# Bee"))
    report, found = import_kept(target, rewrite(path, lambda parts: parts.pop(a)))
    assert (report.originals_not_kept, found) == ({"missing": 2}, {"b.md": b"# Bee"})
    export_kept(braid, path)
    report, found = import_kept(target, rewrite(path, lambda parts: parts.update({bee: b"# another file"})))
    assert (report.originals_not_kept, sorted(found)) == ({"damaged": 1}, ["a.md", "copy of a.md"])
    export_kept(braid, path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"# Bee", b"# Bug"))  # its checksum is no longer right
    report, found = import_kept(target, path)
    assert (report.documents, report.originals_not_kept, sorted(found)) == (3, {"damaged": 1}, ["a.md", "copy of a.md"])


def test_originals_are_kept_only_as_the_settings_say(
    with_originals: tuple[DataDirectory, Path], target: DataDirectory
) -> None:
    braid, path = with_originals
    export_kept(braid, path)
    report, found = import_kept(target, path, max_bytes=4)
    assert (report.originals, report.originals_not_kept, "b.md" in found) == (2, {"too_large": 1}, False)
    report = import_dataset(target, 1, path, read=read_export, max_bytes=LIMIT)
    assert (report.originals, report.originals_not_kept) == (0, {"off": 3})
    with path.open("wb") as file:
        assert export_dataset(braid, 1, file).originals == 0
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if name.startswith(ORIGINALS)]
        assert b"original" not in archive.read(MANIFEST) + archive.read(DOCUMENTS), "earlier versions read it"


def test_sizes_are_checked_before_anything_is_read(exported: Path) -> None:
    assert read_manifest(exported, max_bytes=LIMIT).name == "Library"
    with pytest.raises(InvalidInputError, match="unpacks to more than 1,000 bytes, which is the limit"):
        read_manifest(exported, max_bytes=1_000)


def test_a_document_of_countless_passages_is_refused_before_it_takes_all_memory(
    exported: Path, target: DataDirectory
) -> None:
    many = b'{"source":"a","title":"\\"[{,","chunks":[' + b'{"text":"a"},' * 1_000_001
    crowded = rewrite(exported, lambda parts: parts.update({DOCUMENTS: many}), stored=True)
    with pytest.raises(InvalidInputError, match="has more than 2,000,000 values"):
        import_dataset(target, 1, crowded, read=read_export, max_bytes=10 * LIMIT)


def test_signs_within_texts_are_no_values(exported: Path, target: DataDirectory) -> None:
    change = first_document(chunks=[{"text": '{["\\",' * 3_000}])
    with (
        patch("braid.core.ingest.exports.export_file.MAX_LINE_VALUES", 60),
        pytest.raises(InvalidInputError, match="has less in it than"),
    ):
        import_dataset(target, 1, rewrite(exported, change), read=read_export, max_bytes=LIMIT)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip at all"])
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InvalidInputError, match="it is damaged, or no zip archive"):
        read_manifest(tmp_path / "a.zip", max_bytes=LIMIT)


def test_a_file_that_was_cut_or_changed_is_damaged(exported: Path, target: DataDirectory) -> None:
    content = bytearray(exported.read_bytes())
    content[len(content) // 3] ^= 0xFF
    exported.write_bytes(content)
    with pytest.raises(InvalidInputError, match="it is damaged"):
        import_dataset(target, 1, exported, read=read_export, max_bytes=LIMIT)
