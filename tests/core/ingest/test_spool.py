"""The spool, and names from outside."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest

from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ingest.spool import MAX_SOURCE_CHARS, Spool, upload_source
from tests.worlds import older_than


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "uploads"


@pytest.fixture
def spool(folder: Path) -> Spool:
    return Spool(folder)


def test_a_stream_is_kept_whole_for_us_alone(spool: Spool) -> None:
    content = bytes(range(256)) * 10_000
    kept = spool.save(io.BytesIO(content), max_bytes=len(content))
    path = spool.path(kept.name)
    assert path.read_bytes() == content
    assert kept.size_bytes == len(content)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_one_byte_too_many_is_refused_with_the_limit_and_leaves_nothing(spool: Spool, folder: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"a\.pdf has more than 3,000,000 bytes, which is the limit; split it"):
        spool.save(io.BytesIO(b"x" * 3_000_001), max_bytes=3_000_000, called="a.pdf")
    assert list(folder.iterdir()) == []


def test_endless_streams_are_read_no_further_than_the_limit(spool: Spool) -> None:
    class Endless:
        given = 0

        def read(self, size: int) -> bytes:
            self.given += size
            return b"x" * size

    stream = Endless()
    with pytest.raises(InvalidInputError):
        spool.save(stream, max_bytes=5_000_000)
    assert stream.given <= 5_000_001


def test_a_stream_that_breaks_leaves_nothing(spool: Spool, folder: Path) -> None:
    class Broken:
        def read(self, size: int) -> bytes:
            if any(folder.iterdir()):
                raise ConnectionResetError("the browser has gone")
            return b"x"

    with pytest.raises(ConnectionResetError):
        spool.save(Broken(), max_bytes=100)
    assert list(folder.iterdir()) == []


def test_leftovers_without_a_job_are_swept(spool: Spool, folder: Path) -> None:
    kept, lost = (spool.save(io.BytesIO(b"x"), max_bytes=9) for _ in range(2))
    (folder / f"{'0' * 32}.part").write_bytes(b"half")
    assert spool.sweep({kept.name}, older_than(60)) == 0
    assert spool.sweep({kept.name}, older_than(0)) == 2
    assert spool.path(kept.name).exists()
    with pytest.raises(NotFoundError, match="not there any more"):
        spool.path(lost.name)


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "x" * 32, "/etc/passwd", "0" * 31])
def test_only_names_of_the_spool_are_looked_up(spool: Spool, folder: Path, name: str) -> None:
    (folder.parent / "secret").write_text("secret")
    spool.remove(name)
    with pytest.raises(NotFoundError):
        spool.path(name)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("folder/a.pdf", "folder/a.pdf"),
        ("../../etc/passwd", "etc/passwd"),
        ("a/../../b.md", "a/b.md"),
        ("/etc/shadow", "etc/shadow"),
        ("C:\\Users\\ann\\notes.txt", "Users/ann/notes.txt"),
        ("C:notes.txt", "notes.txt"),
        ("\\\\server\\share\\a.md", "server/share/a.md"),
        ("a\x00b\n\x1b[31m.md", "ab[31m.md"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("./notes//./a.md", "notes/a.md"),
        ("資料/か\u3099.pdf", "資料/が.pdf"),
        ("%2e%2e%2fa.md", "%2e%2e%2fa.md"),
        ("...", "..."),
        ("half a pair \ud800.md", "half a pair .md"),
    ],
)
def test_names_lead_nowhere_else(name: str, source: str) -> None:
    assert upload_source(name) == source


@pytest.mark.parametrize("name", ["", "  ", "..", "/", "../..", "C:", "C:\\", "\x00"])
def test_names_of_which_nothing_is_left_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="is empty; rename the file"):
        upload_source(name)


def test_over_long_names_are_refused_with_the_limit() -> None:
    assert len(upload_source("a" * MAX_SOURCE_CHARS)) == MAX_SOURCE_CHARS
    with pytest.raises(InvalidInputError, match="has 1,001 characters; at most 1,000 are allowed"):
        upload_source("a" * (MAX_SOURCE_CHARS + 1))
