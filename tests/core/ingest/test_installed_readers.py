"""Readers of other packages: the one of docs/plugins.md, and ones that do everything wrong."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.formats import FORMATS, file_types, format_named, formats
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse import parse_here
from braid.core.ingest.parse_pool import ParsePool
from braid.core.ingest.plan import IngestOptions, file_type_of
from braid.core.ingest.readers import read_document
from tests.forked_children import in_earnest
from tests.plugins import package, section_of

CALENDAR = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Pump check\nLOCATION:Hall 7\nEND:VEVENT\nEND:VCALENDAR\n"
WRONG = """
import os
from braid.core.ingest.readers import ParsedDocument, Section

def raises(file):
    return {}[file.content]

def gives_text(file):
    return "text"

def gives_other_sections(file):
    return ParsedDocument("A title", "pdf", ("text",))

def lies(file):
    return ParsedDocument("A title", "pdf", (Section(repr(dict(os.environ))),), scanned=(1,))

def ends(file):
    raise SystemExit(3)

def dies(file):
    os.abort()
"""
POINTS = """
raises = wrong:raises
words = wrong:gives_text
others = wrong:gives_other_sections
lies = wrong:lies
ends = wrong:ends
dies = wrong:dies
lost = wrong:lost
gone = no_such_module:read
pdf = wrong:raises
htm = wrong:raises
Not.a-suffix = wrong:raises
"""


@pytest.fixture
def calendar() -> Iterator[None]:
    module, name, points = section_of("plugins.md", "A reader")
    with in_earnest(), package(name, module, "braid.readers", points):
        yield


@pytest.fixture
def wrong() -> Iterator[None]:
    with in_earnest(), package("wrong", WRONG, "braid.readers", POINTS):
        yield


def written(folder: Path, name: str, content: bytes = b"\x00\x01 bytes of any kind") -> Incoming:
    (folder / name).write_bytes(content)
    return Incoming.from_file(folder / name, name)


def pool_error(pool: ParsePool, incoming: Incoming) -> str:
    with pytest.raises(UnreadableDocumentError) as error:
        pool.parse(incoming, IngestOptions())
    return str(error.value)


@pytest.mark.usefixtures("calendar")
def test_a_file_is_read_by_another_package_in_the_process_that_parses(tmp_path: Path) -> None:
    incoming = written(tmp_path, "plant.CAL", CALENDAR)
    pool = ParsePool()
    try:
        document = pool.parse(incoming, IngestOptions())
        assert pool_error(pool, written(tmp_path, "b.cal")) == "b.cal is no calendar; export it again"
    finally:
        pool.close()
    assert (document.title, document.file_type) == ("plant", "cal")
    [chunk] = document.chunks
    assert chunk.heading_path == "Pump check"
    assert "LOCATION: Hall 7" in chunk.text
    assert parse_here(incoming, IngestOptions()).chunks == document.chunks


@pytest.mark.usefixtures("calendar")
def test_its_format_is_known_wherever_formats_are_named() -> None:
    assert file_types()[-1] == "cal"
    assert file_type_of("a/plant.cal") == "cal"
    form = format_named(".CAL")
    assert form is not None
    assert form.suffixes == (".cal",)


def test_without_the_package_the_format_is_unknown() -> None:
    assert formats() == FORMATS
    with pytest.raises(UnreadableDocumentError, match=r"has the type \.cal that is not known"):
        read_document("plant.cal", b"BEGIN:VCALENDAR", max_bytes=1000)


@pytest.mark.usefixtures("wrong")
def test_what_a_reader_gets_wrong_costs_its_own_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAID_SECRET_KEY", "not-for-readers")
    pool = ParsePool()
    try:
        told = {
            name: pool_error(pool, written(tmp_path, f"a.{name}"))
            for name in ("raises", "words", "others", "lost", "gone", "ends", "dies")
        }
        lies = pool.parse(written(tmp_path, "a.lies"), IngestOptions())
        text = pool.parse(written(tmp_path, "a.txt", b"all is well"), IngestOptions())
    finally:
        pool.close()
    assert told["raises"] == "a.raises cannot be read: the reader raises of wrong:raises failed: KeyError at wrong.py:6"
    returned = "cannot be read: the reader {} returned {}, not a ParsedDocument of Sections"
    assert told["words"] == f"a.words {returned.format('words of wrong:gives_text', 'str')}"
    assert told["others"] == f"a.others {returned.format('others of wrong:gives_other_sections', 'ParsedDocument')}"
    unloaded = "cannot be read here: the reader {} of {} cannot be loaded: "
    assert told["lost"].startswith(f"a.lost {unloaded.format('lost', 'wrong:lost')}AttributeError: ")
    assert told["gone"].startswith(f"a.gone {unloaded.format('gone', 'no_such_module:read')}ModuleNotFoundError: ")
    for name in ("ends", "dies"):
        assert told[name].startswith(f"a.{name} made the program that reads it crash"), told[name]
    assert lies.file_type == "lies"
    assert "PATH" in os.environ
    assert "not-for-readers" not in "".join(chunk.text for chunk in lies.chunks)
    assert text.chunks[0].text == "all is well"


@pytest.mark.usefixtures("wrong")
def test_the_names_of_braids_own_formats_cannot_be_taken(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert format_named("pdf") in FORMATS
    assert "reader 'pdf' of wrong:raises is left out: the name is taken" in caplog.text
    assert "reader 'htm' of wrong:raises is left out: the name is taken" in caplog.text
    assert "reader 'Not.a-suffix' of wrong:raises is left out: the name is not a suffix such as cal" in caplog.text
    assert read_document("a.htm", b"<p>still a page</p>", max_bytes=1000).file_type == "html"
