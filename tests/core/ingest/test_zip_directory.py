"""Archives that list more files than anybody needs are refused before their list is loaded."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from braid.core.errors import InvalidInputError, UnreadableDocumentError
from braid.core.ingest.exports.export_file import read_manifest
from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.zip_directory import BYTES_PER_ENTRY, TooManyEntriesError, require_few_entries

MILLION = 1_000_000


def end(entries: int, size_bytes: int, *, comment: bytes = b"") -> bytes:
    """The record that ends an archive."""
    return struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, entries, entries, size_bytes, 0, len(comment)) + comment


def end64(entries: int, size_bytes: int, *, at: int = 0) -> bytes:
    """The records of zip64, of which the first stands ``at`` there, and the one that ends the archive."""
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, entries, entries, size_bytes, 0)
    return record + struct.pack("<4sLQL", b"PK\6\7", 0, at, 1) + end(0xFFFF, 0xFFFFFFFF)


def zipped(count: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(count):
            archive.writestr(f"a-{number}.txt", b"")
    return stream.getvalue()


def refused(content: bytes, most: int = 100) -> str:
    with pytest.raises(TooManyEntriesError) as caught:
        require_few_entries(io.BytesIO(content), most)
    return str(caught.value)


def test_the_number_is_told_from_the_end_alone() -> None:
    assert refused(end64(MILLION, 46 * MILLION)) == "a zip archive of 1,000,000 files, more than 100"
    assert refused(end(60_000, 0)) == "a zip archive of 60,000 files, more than 100"
    assert refused(b"x" * 70_000 + end(101, 0, comment=b"a comment")) == "a zip archive of 101 files, more than 100"


def test_a_number_that_is_a_lie_does_not_help() -> None:
    assert "takes 46,000,000 bytes" in refused(end(1, 46 * MILLION))
    assert "takes 46,000,000 bytes" in refused(end64(1, 46 * MILLION))
    elsewhere = end64(MILLION, 0)[:56] + end64(1, 100, at=0)
    assert "1,000,000" in refused(elsewhere), "the record that the locator names, and the one before it"
    assert "65,535" in refused(b"y" * 56 + end64(1, 100)[56:]), "without a record of zip64, the other one holds"


@pytest.mark.parametrize("count", [0, 1, 100])
def test_archives_with_few_files_pass(count: int) -> None:
    require_few_entries(io.BytesIO(zipped(count)), 100)


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"no archive", b"PK\5\6 cut off", bytes(100_000)])
def test_what_is_no_archive_is_left_to_who_opens_it(content: bytes) -> None:
    require_few_entries(io.BytesIO(content), 100)


def test_zip64_as_it_is_written_passes() -> None:
    entry = zipped(1)
    at = entry.rindex(b"PK\5\6")
    content = entry[:at] + end64(1, 60, at=at)
    require_few_entries(io.BytesIO(content), 100)
    assert BYTES_PER_ENTRY < 60 * 100


def crowded() -> bytes:
    """An archive with 600,000 entries, which says that it has one."""
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 0, 20, 0, 0, 0, 0, 0x21, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    return b"PK\3\4" + entry * 600_000 + end(1, len(entry) * 600_000)


def peak_of(act: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_import_and_a_document_are_refused_without_loading_the_list(tmp_path: Path) -> None:
    content, path = crowded(), tmp_path / "export.zip"
    path.write_bytes(content)

    def opened() -> None:
        with pytest.raises(
            InvalidInputError, match=r"can be imported: a zip archive whose list of files takes 28,200,000 bytes"
        ):
            read_manifest(path, max_bytes=10**9)

    def read() -> None:
        with pytest.raises(UnreadableDocumentError, match=r"list of files .* split it into smaller files"):
            read_document("big.docx", content, max_bytes=10**8)

    assert peak_of(opened) < 2**20
    assert peak_of(read) < 2**21
