"""Reading in a process of its own: what a file does there, the server survives. Real files, real processes."""

from __future__ import annotations

import gc
import io
import os
import signal
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from braid.core.data_directory import DataDirectory
from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.exports.dataset_export import export_dataset
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse import parse_here
from braid.core.ingest.parse_pool import ParsePool, ParseProcess, ParserUnavailableError, ParseStoppedError
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers.office import converted
from braid.core.processes import frames
from braid.core.types import ChunkInput, DocumentInput
from tests import samples
from tests.fakes import HashEmbeddings
from tests.forked_children import in_earnest
from tests.worlds import AT_LAST_S, WAIT_S, add_notes, processor_s

OPTIONS = IngestOptions()
SLOW = b"a,b\n" + b"1,2\n" * 1_000_000


@pytest.fixture(scope="module", autouse=True)
def as_in_a_server() -> Iterator[None]:
    """The processes begin as they do there."""
    with in_earnest():
        yield


@pytest.fixture(scope="module")
def pool(as_in_a_server: None) -> Iterator[ParsePool]:
    opened = ParsePool(memory_mb=400, timeout_s=AT_LAST_S)
    yield opened
    opened.close()


def parse(
    pool: ParsePool,
    folder: Path,
    filename: str,
    content: bytes,
    options: IngestOptions = OPTIONS,
    timeout_s: float | None = None,
) -> DocumentInput:
    path = folder / "0123"
    path.write_bytes(content)
    incoming = Incoming(f"files/{filename}", filename, 5.0, "hash", len(content), path)
    return pool.parse(incoming, options, timeout_s=timeout_s)


@contextmanager
def when_it_reads(process: int, act: Callable[[], object]) -> Iterator[None]:
    """Call ``act`` when the process has worked for 0.05 s on what is given to it inside."""
    before, over = processor_s(process), threading.Event()

    def watch() -> None:
        while processor_s(process) < before + 0.05:
            if over.wait(0.01):
                return
        act()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def processes(pool: ParsePool) -> list[int]:
    return [process._process.pid for process in (*pool._idle, *pool._busy)]


def export_of(folder: Path, *texts: str) -> Path:
    """An exported dataset of one document."""
    path = folder / f"{len(texts[0])}.zip"
    with DataDirectory(folder / path.stem, embedding_model=HashEmbeddings()) as directory, path.open("wb") as file:
        dataset = add_notes(directory.ledger)
        directory.ledger.put_document(dataset, DocumentInput("a.txt", "A", "txt", tuple(map(ChunkInput, texts))))
        export_dataset(directory, dataset, file)
    return path


def test_a_document_is_what_it_would_be_here(pool: ParsePool, tmp_path: Path) -> None:
    for filename, content in (
        ("manual.docx", samples.docx_manual()),
        ("library.pdf", samples.pdf([[samples.JAPANESE[:40]], [samples.ENGLISH]], title="図書館")),
        ("notes.md", f"# Lending\n\n{samples.KOREAN}\n".encode()),
        ("code.py", b'"""Half a pair: \\ud800."""\n\ndef lend():\n    return 10\n'),
    ):
        here = Incoming(f"files/{filename}", filename, 5.0, "hash", len(content), content=content)
        assert parse(pool, tmp_path, filename, content) == parse_here(here, OPTIONS)


def test_one_process_reads_one_file_after_another(pool: ParsePool, tmp_path: Path) -> None:
    parse(pool, tmp_path, "a.md", b"# A\n\nfirst")
    before = processes(pool)
    parse(pool, tmp_path, "b.md", b"# B\n\nsecond")
    assert processes(pool) == before
    assert len(before) == 1


def test_a_large_server_has_the_same_parser(pool: ParsePool, tmp_path: Path) -> None:
    """The memory of the process that starts it is not its own."""
    ballast = bytearray(os.urandom(1024)) * 900_000
    parse(pool, tmp_path, "a.md", b"# A\n\nfirst")
    assert len(processes(pool)) == 1
    del ballast


def test_it_gives_way_to_the_server(pool: ParsePool, tmp_path: Path) -> None:
    parse(pool, tmp_path, "a.md", b"text")
    [process] = processes(pool)
    assert os.getpriority(os.PRIO_PROCESS, process) >= min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)
    assert os.getsid(process) == os.getsid(0), "in a session of its own its low priority would mean nothing"


def test_sizes_are_those_of_the_options(pool: ParsePool, tmp_path: Path) -> None:
    options = IngestOptions(chunk_chars=200, chunk_overlap_chars=0)
    document = parse(pool, tmp_path, "a.txt", (samples.ENGLISH * 10).encode(), options)
    assert len(document.chunks) > 5
    assert max(len(chunk.text) for chunk in document.chunks) <= 200
    with pytest.raises(UnreadableDocumentError, match="at most 100 are read"):
        parse(pool, tmp_path, "a.txt", b"x" * 101, IngestOptions(max_file_bytes=100))


def test_a_reader_that_kept_the_network_is_logged_once_by_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ask = ParseProcess.ask

    def told(process: ParseProcess, *given: Any) -> Any:
        return {**(ask(process, *given) or {}), "office_has_network": True}

    own = ParsePool()
    try:
        parse(own, tmp_path, "a.md", b"text")
        assert not caplog.messages
        monkeypatch.setattr(ParseProcess, "ask", told)
        for name in ("b.md", "c.md"):
            parse(own, tmp_path, name, b"text")
        assert [each for each in caplog.messages if "office_has_network" in each] == [converted.NETWORK_KEPT]
    finally:
        own.close()


def _bomb() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"\0" * 300_000_000)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("filename", "made", "reason"),
    [
        (
            "bomb.docx",
            _bomb,
            "bomb.docx is not unpacked because a part of it unpacks to more than 200 times",
        ),
        ("cut.pdf", lambda: samples.pdf([["text"]])[:-200], "its end is missing"),
        ("photo.pdf", lambda: samples.PNG, "photo.pdf is a PNG image"),
        ("report.pdf", samples.docx_manual, "rename it to report.docx"),
        (
            "drawing.svg",
            lambda: b"<svg><script>alert(1)</script></svg>",
            "drawing.svg has the type .svg that is not known",
        ),
        ("empty.txt", lambda: b"", "empty.txt is empty"),
        ("old.doc", lambda: samples.OLE_HEADER, r"save it as \.docx"),
    ],
)
def test_what_cannot_be_read_says_why(
    pool: ParsePool, tmp_path: Path, filename: str, made: Callable[[], bytes], reason: str
) -> None:
    with pytest.raises(UnreadableDocumentError, match=reason):
        parse(pool, tmp_path, filename, made())


def test_scripts_of_pages_are_not_text(pool: ParsePool, tmp_path: Path) -> None:
    page = b"<h1>Fees</h1><script>steal()</script><p onclick='steal()'>Two euros.</p><svg><script>x</script></svg>"
    [chunk] = parse(pool, tmp_path, "page.html", page).chunks
    assert chunk.text == "Two euros."


def test_macros_are_left_out(pool: ParsePool, tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(samples.docx_manual())) as plain, zipfile.ZipFile(stream, "w") as macro:
        for entry in plain.infolist():
            content = plain.read(entry)
            if entry.filename == "[Content_Types].xml":
                content = content.replace(
                    b"wordprocessingml.document.main", b"ms-word.document.macroEnabled.main"
                ).replace(b"application/vnd.openxmlformats-officedocument.ms-word", b"application/vnd.ms-word")
            macro.writestr(entry, content)
        macro.writestr("word/vbaProject.bin", b"Sub AutoOpen() Shell evil End Sub")
    document = parse(pool, tmp_path, "manual.docm", stream.getvalue())
    assert any("ten books" in chunk.text for chunk in document.chunks)
    assert not any("evil" in chunk.text for chunk in document.chunks)


def test_too_much_memory_ends_the_process_and_names_the_limit(pool: ParsePool, tmp_path: Path) -> None:
    table = b"a,b\n" + b"1,2\n" * 2_000_000
    with pytest.raises(UnreadableDocumentError, match="takes more than 400 MiB of memory to read; split it"):
        parse(pool, tmp_path, "big.csv", table)
    assert parse(pool, tmp_path, "next.md", b"# Next\n\ntext").title == "Next"


def test_too_much_time_is_named_and_the_next_file_is_read(pool: ParsePool, tmp_path: Path) -> None:
    hasty = ParsePool(timeout_s=0.1)
    too_long = r"slow\.csv took more than 0\.1 seconds to read; split it"
    started = time.monotonic()
    try:
        with pytest.raises(UnreadableDocumentError, match=too_long):
            parse(hasty, tmp_path, "slow.csv", SLOW)
    finally:
        hasty.close()
    with pytest.raises(UnreadableDocumentError, match=too_long):
        parse(pool, tmp_path, "slow.csv", SLOW, timeout_s=0.1)
    assert time.monotonic() - started < WAIT_S
    assert parse(pool, tmp_path, "next.md", b"text").title == "next"


def test_a_crash_is_named_and_the_next_file_is_read(pool: ParsePool, tmp_path: Path) -> None:
    parse(pool, tmp_path, "a.md", b"text")
    [process] = processes(pool)
    with (
        pytest.raises(UnreadableDocumentError, match=r"made the program that reads it crash \(SIGSEGV\)"),
        when_it_reads(process, partial(os.kill, process, signal.SIGSEGV)),
    ):
        parse(pool, tmp_path, "slow.csv", SLOW)
    assert parse(pool, tmp_path, "next.md", b"text").title == "next"


def test_a_process_that_died_while_idle_costs_no_document(pool: ParsePool, tmp_path: Path) -> None:
    parse(pool, tmp_path, "a.md", b"text")
    [process] = processes(pool)
    os.kill(process, signal.SIGKILL)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)  # it has ended, and its end has not been noticed
    assert parse(pool, tmp_path, "b.md", b"text").title == "b"


def test_closing_ends_the_processes_and_blames_no_document(tmp_path: Path) -> None:
    closing = ParsePool()
    parse(closing, tmp_path, "a.md", b"text")
    [process] = processes(closing)
    with pytest.raises(ParserUnavailableError, match="is being closed"), when_it_reads(process, closing.close):
        parse(closing, tmp_path, "slow.csv", SLOW)
    with pytest.raises(ParserUnavailableError):
        parse(closing, tmp_path, "b.md", b"text")
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_an_answer_that_is_too_long_is_named_and_the_next_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process runs with a lower limit, set before it begins."""
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys\nsys.path.insert(0, {str(Path(frames.__file__).absolute().parents[3])!r})\n"
        "import braid.core.processes.frames as frames\nframes.MAX_FRAME_BYTES = 20_000\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    low = ParsePool(timeout_s=AT_LAST_S)
    try:
        with pytest.raises(UnreadableDocumentError, match=r"long\.txt has too much text for one document; split it"):
            parse(low, tmp_path, "long.txt", b"Many words. " * 3_000)
        assert parse(low, tmp_path, "next.md", b"# Next\n\ntext").title == "Next"
        first, second = export_of(tmp_path, "short"), export_of(tmp_path, "Many words. " * 1_660)
        with low.read_export(first, max_bytes=10**6) as export:
            assert [part.document.chunks[0].text for part in export.parts] == ["short"]
        with (
            pytest.raises(UnreadableDocumentError, match="has too much text"),
            low.read_export(second, max_bytes=10**6) as export,
        ):
            list(export.parts)
        assert parse(low, tmp_path, "next.md", b"# Next\n\ntext").title == "Next"
    finally:
        low.close()


def test_a_frame_that_is_too_long_is_neither_sent_nor_read(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    frames.send(stream, {"text": "x" * 100})
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 100)
    assert frames.receive(io.BytesIO(stream.getvalue())) is None
    refused = io.BytesIO()
    with pytest.raises(ValueError, match="too long"):
        frames.send(refused, {"text": "x" * 100})
    assert refused.getvalue() == b"", "what follows is not taken for the rest of it"


def test_what_is_not_wanted_any_more_is_killed_and_the_next_file_is_read(pool: ParsePool, tmp_path: Path) -> None:
    parse(pool, tmp_path, "a.md", b"text")
    [process] = processes(pool)
    is_cancelled = threading.Event()
    started = time.monotonic()
    with (
        pytest.raises(ParseStoppedError),
        pool.stopping(is_cancelled.is_set),
        when_it_reads(process, is_cancelled.set),
    ):
        parse(pool, tmp_path, "slow.csv", SLOW)
    assert time.monotonic() - started < WAIT_S
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert parse(pool, tmp_path, "next.md", b"text").title == "next"


def test_the_process_has_no_keys(pool: ParsePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "BRAID_SUMMARY_MODEL_API_KEY", "BRAID_DATABASE_URL"):
        monkeypatch.setenv(name, "secret")
    fresh = ParsePool()
    try:
        parse(fresh, tmp_path, "a.md", b"text")
        [process] = processes(fresh)
        environment = Path(f"/proc/{process}/environ").read_bytes()
        assert b"PATH=" in environment
        assert b"secret" not in environment
        assert b"BRAID_" not in environment
    finally:
        fresh.close()


def test_a_pool_that_nobody_closes_leaves_no_process(tmp_path: Path) -> None:
    forgotten = ParsePool()
    parse(forgotten, tmp_path, "a.md", b"text")
    [process] = processes(forgotten)
    del forgotten
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
