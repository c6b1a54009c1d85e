"""A pool of processes that parse files, limited in memory and time: a file that kills one does not kill the server."""

from __future__ import annotations

import base64
import logging
import signal
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from braid.core.errors import (
    BraidError,
    InvalidInputError,
    ReaderFaultError,
    ReadingInterruptedError,
    Reason,
    ScannedDocumentError,
    UnreadableDocumentError,
)
from braid.core.forks import tell_of_forks
from braid.core.ingest.exports.export_form import ExportedPart, Manifest, OpenExport
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.scans.program import Tesseract
from braid.core.ingest.scans.reading import PageReading
from braid.core.processes.child import Child, IsStopped, never, start
from braid.core.types import ChunkInput, DocumentInput

REQUESTS_PER_PROCESS = 200
"""Files after which a process is replaced by a new one, because libraries leak memory."""
TIMEOUT_S = 60.0
NOT_STARTED = Reason("the program that reads documents does not start; the server's log says why")

logger = logging.getLogger(__name__)


class ParserUnavailableError(BraidError):
    """Files cannot be read now: no process starts, all are busy, or Braid is being closed. The file is not at fault."""


class ParseStoppedError(BraidError):
    """The file is no longer wanted: its job was cancelled. The process that parsed it is killed."""


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as `braid.core.ingest.readers.paged.page_picture.draw_page` describes it, of a file of ``pages`` pages."""

    picture: bytes
    """PNG."""
    pages: int
    width: int
    height: int
    text: str
    boxes: Sequence[Sequence[int]]


START_TIMEOUT_S = 60.0

Outcome = dict[str, Any]


class ParseProcess(Child):
    """Reads one file after another. Raises OSError when it cannot be started."""

    def __init__(self, memory_mb: int) -> None:
        super().__init__(start("braid.core.ingest.parse_worker", str(memory_mb * 2**20)))
        self.requests = 0
        self.is_usable = self.receive(START_TIMEOUT_S) is not None
        """Whether the last request was answered to the end, so that the next one can be sent."""

    def ask(self, request: object, timeout_s: float, is_stopped: IsStopped = never) -> Outcome | None:
        """Send a request, a dictionary, and wait for the first frame of the answer; None as by `receive`."""
        assert isinstance(request, dict)
        self.is_usable = False
        self.requests += 1
        return super().ask({**request, "timeout_s": timeout_s}, timeout_s, is_stopped)

    def go_on(self) -> None:
        """Tell a process that waits that what it made was taken; one that died is noticed by `receive`."""
        self.tell({"go_on": True})


class ParsePool:
    """Parses files in other processes, one per calling thread. Idle processes are kept for the next file."""

    def __init__(self, *, memory_mb: int = 2048, timeout_s: float = TIMEOUT_S) -> None:
        self._memory_mb = memory_mb
        self._timeout_s = timeout_s
        self._idle: list[ParseProcess] = []
        self._busy: set[ParseProcess] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._told_network = False
        self._of_thread = threading.local()
        weakref.finalize(self, _end, self._idle)  # for a pool that nobody closes
        tell_of_forks(self)

    def after_fork(self, *, in_child: bool) -> None:
        """Begin without a process in the child: those there are the parent's."""
        if in_child:
            for process in (*self._idle, *self._busy):
                process.let_go()
            self._idle.clear()
            self._busy = set()
            self._lock = threading.Lock()

    @contextmanager
    def stopping(self, is_stopped: IsStopped) -> Iterator[None]:
        """Ask ``is_stopped()`` twice per second while this thread waits for a process, and kill it when it says so."""
        self._of_thread.is_stopped = is_stopped
        try:
            yield
        finally:
            self._of_thread.is_stopped = never

    def parse(self, incoming: Incoming, options: IngestOptions, *, timeout_s: float | None = None) -> DocumentInput:
        """Parse the file at ``incoming.path``, as `braid.core.ingest.parse.parse_here` does.

        ``timeout_s`` is at most the pool's own limit. Raises UnreadableDocumentError also when the process takes too
        long or too much memory, or crashes; ParserUnavailableError; and ParseStoppedError.
        """
        timeout_s = min(self._timeout_s, timeout_s or self._timeout_s)
        with self._process() as process:
            outcome = process.ask(_request(incoming, options), timeout_s, self._is_stopped)
            self._settle(process, outcome)
        if outcome is not None and "chunks" in outcome:
            self._log(outcome)
            return _document(incoming, outcome)
        if outcome is not None and "scanned" in outcome:
            raise ScannedDocumentError(str(outcome["unreadable"]), pages=int(outcome["scanned"]))
        if outcome is not None and "unreadable" in outcome:
            raise UnreadableDocumentError(str(outcome["unreadable"]))
        raise UnreadableDocumentError(self._reason(incoming.filename, process, outcome, timeout_s))

    def read_scan(
        self, path: Path, number: int, *, tesseract: Tesseract, languages: Sequence[str], timeout_s: float
    ) -> PageReading:
        """Read a scanned page, counted from 1. Raises as `parse` does; ReadingInterruptedError where the process, or
        Tesseract, was killed.
        """
        request = {
            **{"path": str(path.absolute()), "scan": number, "languages": list(languages)},
            **{"program": tesseract.path, "installed": sorted(tesseract.installed)},
        }
        with self._process() as process:
            outcome = process.ask(request, timeout_s, self._is_stopped)
            self._settle(process, outcome)
        if outcome is not None and "reading" in outcome:
            return PageReading.from_json(outcome["reading"])
        if outcome is not None and "unreadable" in outcome:
            error = ReadingInterruptedError if outcome.get("interrupted") else UnreadableDocumentError
            raise error(str(outcome["unreadable"]))
        was_killed = outcome is None and (process.timed_out or process.returncode == -signal.SIGKILL)
        error = ReadingInterruptedError if was_killed else UnreadableDocumentError
        raise error(self._reason(path.name, process, outcome, timeout_s))

    def draw_page(self, path: Path, number: int, *, filename: str, timeout_s: float, turn: int = 0) -> PagePicture:
        """Draw a page of a PDF or image file, counted from 1, turned clockwise by ``turn`` degrees. ``filename`` is
        for errors. Raises as `parse` does.
        """
        request = {"path": str(path.absolute()), "page": number, "turn": turn}
        with self._process() as process:
            outcome = process.ask(request, timeout_s, self._is_stopped)
            self._settle(process, outcome)
        if outcome is not None and "picture" in outcome:
            fields = {**outcome, "picture": base64.b64decode(outcome["picture"])}
            return PagePicture(**{name: fields[name] for name in PagePicture.__slots__})
        if outcome is not None and "unreadable" in outcome:
            raise UnreadableDocumentError(str(outcome["unreadable"]))
        raise UnreadableDocumentError(self._reason(filename, process, outcome, timeout_s))

    def read_manifest(self, path: Path, *, max_bytes: int) -> Manifest:
        """Read the manifest of an exported dataset, after a check of the sizes in it. Raises as `read_export`."""
        with self._process() as process:
            manifest = self._manifest(process, {"manifest": str(path.absolute()), "max_bytes": max_bytes})
            process.is_usable = True
            return manifest

    @contextmanager
    def read_export(self, path: Path, *, max_bytes: int, originals_to: Path | None = None) -> Iterator[OpenExport]:
        """Read an exported dataset: see `braid.core.ingest.exports.export_form.ReadExport`. Each document has the time
        that a file has. Raises ParserUnavailableError and ParseStoppedError, too.
        """
        with self._process() as process:
            to = None if originals_to is None else str(originals_to.absolute())
            request = {"export": str(path.absolute()), "max_bytes": max_bytes, "originals_to": to}
            manifest = self._manifest(process, request)
            yield OpenExport(manifest, self._parts(process))

    def close(self) -> None:
        """End all processes, also in the middle of a file."""
        with self._lock:
            self._closed = True
            for process in self._busy:  # its own thread gives it back
                process.kill()
        _end(self._idle)

    # ------------------------------------------------------------ processes

    @contextmanager
    def _process(self) -> Iterator[ParseProcess]:
        process = self._take()
        try:
            yield process
        finally:
            self._give_back(process)

    def _take(self) -> ParseProcess:
        with self._lock:
            self._require_open()
            while self._idle:
                process = self._idle.pop()
                if process.is_alive():
                    self._busy.add(process)
                    return process
                process.end()
        try:
            process = ParseProcess(self._memory_mb)  # takes a second: others take and give back meanwhile
        except OSError as error:
            logger.error("event=parser_not_started reason=%r", f"{error.strerror}: {error.filename}")
            raise ParserUnavailableError(NOT_STARTED) from error
        with self._lock:
            self._busy.add(process)
            is_started = process.is_usable and not self._closed
        if not is_started:
            self._give_back(process)
            self._require_open()
            raise ParserUnavailableError(NOT_STARTED)
        return process

    def _give_back(self, process: ParseProcess) -> None:
        with self._lock:
            self._busy.discard(process)
            if process.is_usable and process.requests < REQUESTS_PER_PROCESS and not self._closed:
                self._idle.append(process)
                return
        process.end()

    def _require_open(self) -> None:
        if self._closed:
            raise ParserUnavailableError(Reason("Braid is being closed; the file is read at the next start"))

    # ------------------------------------------------------------ answers

    @property
    def _is_stopped(self) -> IsStopped:
        found: IsStopped = getattr(self._of_thread, "is_stopped", never)
        return found

    def _settle(self, process: ParseProcess, outcome: Outcome | None) -> None:
        """Keep a process that answered for the next file. Raises where nothing can be said about the file."""
        ended = process.timed_out or process.stopped
        process.is_usable = outcome is not None and not outcome.get("retires") and not ended
        if outcome is None:
            process.end()  # so that its exit status is known
            self._require_open()
            if process.stopped:
                raise ParseStoppedError("it was cancelled while it was read")

    def _log(self, outcome: Outcome) -> None:
        """Log what readers have warned of, and once that LibreOffice ran with the network."""
        for line in outcome.get("warnings", ()):
            logger.warning("%s", line)
        if outcome.get("office_has_network") and not self._told_network:
            self._told_network = True
            logger.warning("event=office_has_network remedy=user_namespaces")

    def _manifest(self, process: ParseProcess, request: Outcome) -> Manifest:
        outcome = process.ask(request, self._timeout_s, self._is_stopped)
        self._require_valid(process, outcome, "manifest")
        return Manifest.model_validate((outcome or {})["manifest"])

    def _parts(self, process: ParseProcess) -> Iterator[ExportedPart]:
        while True:
            outcome = process.receive(self._timeout_s, self._is_stopped)
            if outcome is not None and "end" in outcome:
                self._settle(process, outcome)
                return
            self._require_valid(process, outcome, "document")
            yield _part(outcome or {})
            if outcome is not None and outcome["original"] == "there":
                process.go_on()

    def _require_valid(self, process: ParseProcess, outcome: Outcome | None, key: str) -> None:
        """Raise InvalidInputError, with the field ``file``, for a file that is no export.

        A process that died or took too long says nothing about the documents that are stored already: after the
        manifest that is an UnreadableDocumentError, and the import can be tried again.
        """
        if outcome is not None and key in outcome:
            return
        self._settle(process, outcome)
        if outcome is not None and "invalid" in outcome:
            raise InvalidInputError(str(outcome["invalid"]), field="file")
        reason = self._reason("the export", process, outcome, self._timeout_s)
        raise InvalidInputError(reason, field="file") if key == "manifest" else UnreadableDocumentError(reason)

    def _reason(self, name: str, process: ParseProcess, outcome: Outcome | None, timeout_s: float) -> str:
        """Say why there is no document of the file with this name."""
        if outcome is None and process.timed_out:
            return Reason(
                "%(name)s took more than %(seconds)s seconds to read; split it",
                name=name,
                seconds=format(timeout_s, "g"),
            )
        if outcome is None:
            logger.warning("event=parser_died returncode=%s", process.returncode)
            if (process.returncode or 0) < 0:
                return Reason(
                    "%(name)s made the program that reads it crash (%(signal)s); split it, or save it in another "
                    "format",
                    name=name,
                    signal=_signal_name(process.returncode),
                )
            return Reason(
                "%(name)s made the program that reads it crash; split it, or save it in another format", name=name
            )
        if "too_much_memory" in outcome:
            return Reason(
                "%(name)s takes more than %(most)s MiB of memory to read; split it",
                name=name,
                most=format(self._memory_mb, ","),
            )
        if "too_much_text" in outcome:
            return Reason("%(name)s has too much text for one document; split it", name=name)
        fault = str(outcome.get("fault"))
        logger.warning("event=parser_fault fault=%s", fault)
        return str(ReaderFaultError(name, fault=fault))


def _end(processes: list[ParseProcess]) -> None:
    while processes:
        processes.pop().end()


def _request(incoming: Incoming, options: IngestOptions) -> Outcome:
    assert incoming.path is not None, "the process reads a file; spool content in memory first"
    sizes = ("max_file_bytes", "chunk_chars", "chunk_overlap_chars")
    return {
        "path": str(incoming.path.absolute()),
        "filename": incoming.filename,
        "options": {name: getattr(options, name) for name in sizes},
        "scans": None if incoming.scans is None else [[page, each.to_json()] for page, each in incoming.scans.items()],
    }


def _document(incoming: Incoming, outcome: Outcome) -> DocumentInput:
    return DocumentInput(
        source=incoming.source,
        title=outcome["title"],
        file_type=outcome["file_type"],
        chunks=_chunks(outcome),
        content_hash=incoming.content_hash,
        size_bytes=incoming.size_bytes,
        date=incoming.date,
        metadata=outcome["metadata"],
    )


def _part(outcome: Outcome) -> ExportedPart:
    fields: Mapping[str, Any] = outcome["document"]
    document = DocumentInput(**{**fields, "chunks": _chunks(fields)})
    if outcome["rows"] is None:
        return ExportedPart(document, None, outcome["original"])
    rows = np.frombuffer(base64.b64decode(outcome["rows"]), dtype="<f4")
    return ExportedPart(document, rows.reshape(len(document.chunks), -1), outcome["original"])


def _chunks(fields: Mapping[str, Any]) -> tuple[ChunkInput, ...]:
    return tuple(ChunkInput(**chunk) for chunk in fields["chunks"])


def _signal_name(returncode: int | None) -> str:
    try:
        return signal.Signals(-(returncode or 0)).name
    except ValueError:
        return f"signal {-(returncode or 0)}"
