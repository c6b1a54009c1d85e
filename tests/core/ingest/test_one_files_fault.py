"""A fault of one file is its own: it is named, with a plain sentence and a line in the log, and the others go on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from braid.core.data_directory import DataDirectory
from braid.core.errors import ReaderFaultError
from braid.core.folders.sync import FolderSync
from braid.core.ingest.ingest import ingest_bytes, ingest_paths
from braid.core.ingest.parse import parse_and_read
from braid.core.ingest.readers import read_document, table
from braid.core.ingest.readers.document import ParsedDocument, SourceFile
from tests.worlds import add_notes

SENTENCE = "b.csv cannot be read: its form is not one that is known; save it again, or in another format"


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[DataDirectory]:
    with DataDirectory(tmp_path / "data") as opened:
        add_notes(opened.ledger)
        yield opened


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of tables fails in a way that nobody foresees."""

    def read(file: SourceFile) -> ParsedDocument:
        raise TypeError("secret words of the file")

    monkeypatch.setattr(table, "read", read)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    for name, content in (("a.txt", "The tide table."), ("b.csv", "a,b\n1,2\n"), ("c.txt", "The crane log.")):
        (made / name).write_text(content)
    return made


@pytest.mark.usefixtures("faulty")
def test_a_folder(directory: DataDirectory, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="braid.core.ingest.readers"):
        report = ingest_paths(directory, 1, [folder])
    assert (report.put, report.failed) == (2, 1)
    assert [reason for _, reason in report.failures] == [SENTENCE]
    [failed] = directory.ledger.documents(1, state="failed")
    assert failed.error == SENTENCE
    [line] = [record.getMessage() for record in caplog.records if "parser_fault" in record.getMessage()]
    assert line.startswith("event=parser_fault fault=TypeError at test_one_files_fault.py:")
    assert "secret" not in caplog.text


@pytest.mark.usefixtures("faulty")
def test_bytes(directory: DataDirectory) -> None:
    assert ingest_bytes(directory, 1, "b.csv", b"a,b\n1,2\n").reason == SENTENCE


@pytest.mark.usefixtures("faulty")
def test_a_folder_in_sync(directory: DataDirectory, folder: Path) -> None:
    sync = FolderSync(directory, 1, str(folder), parse=parse_and_read)
    report = sync.run()
    assert report.put == 2
    assert [reason for _, reason in sync.unreadable()] == [SENTENCE]


@pytest.mark.usefixtures("faulty")
def test_an_attachment_of_a_mail(caplog: pytest.LogCaptureFixture) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "List"
    message.set_content("The list is attached.")
    message.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="b.csv")
    with caplog.at_level(logging.WARNING, logger="braid.core.ingest.readers"):
        parsed = read_document("a.eml", message.as_bytes(), max_bytes=10**6)
    assert "The list is attached." in parsed.sections[0].text
    assert parsed.metadata["attachments_unread"] == SENTENCE
    assert "event=attachment_fault fault=TypeError" in caplog.text


@pytest.mark.usefixtures("faulty")
def test_the_error_of_the_library() -> None:
    with pytest.raises(ReaderFaultError, match=r"^b\.csv cannot be read") as told:
        read_document("b.csv", b"a,b\n", max_bytes=100)
    assert isinstance(told.value.__cause__, TypeError)


def test_what_is_read_after_the_reader_may_fail_as_well(
    directory: DataDirectory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chunk_sections(parsed: ParsedDocument, **sizes: int) -> tuple[()]:
        if parsed.file_type == "csv":
            raise IndexError
        raise MemoryError

    monkeypatch.setattr("braid.core.ingest.parse.chunk_sections", chunk_sections)
    report = ingest_paths(directory, 1, [folder])
    assert [reason for _, reason in report.failures] == [
        "a.txt takes more memory than there is; split it",
        SENTENCE,
        "c.txt takes more memory than there is; split it",
    ]
