"""A pool of processes that parse files, limited in memory and time: a file that kills one does not kill the server."""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from braid.core.errors import BraidError, UnreadableDocumentError
from braid.core.ingest.parse import Incoming
from braid.core.ingest.parse_worker import receive, send
from braid.core.ingest.plan import IngestOptions
from braid.core.types import ChunkInput, DocumentInput

NICE = 10
FILES_PER_PROCESS = 200
"""Files after which a new process replaces the old one, because libraries leak memory."""
START_TIMEOUT_S = 60.0
_ROOT = Path(__file__).absolute().parents[3]
# Signals that stop a service go to all its processes, perhaps before this one has loaded anything: ignore them first.
_CODE = (
    "import signal, sys; [signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)]; "
    "sys.path.insert(0, sys.argv[1]); from braid.core.ingest.parse_worker import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))"
)

logger = logging.getLogger(__name__)


class ParserUnavailableError(BraidError):
    """Files cannot be read now: no process starts, or Braid is being closed. Nothing is wrong with the file."""


class ParsePool:
    """Parses files in other processes, one per calling thread. Idle processes are kept for the next file."""

    def __init__(self, *, memory_mb: int = 2048, timeout_s: float = 300.0) -> None:
        self._memory_mb = memory_mb
        self._timeout_s = timeout_s
        self._idle: list[_Process] = []
        self._busy: set[_Process] = set()
        self._lock = threading.Lock()
        self._closed = False

    def parse(self, incoming: Incoming, options: IngestOptions) -> DocumentInput:
        """Parse the file at ``incoming.path``, as `braid.core.ingest.parse.parse_here` does.

        Raises UnreadableDocumentError also when the process takes too long or too much memory, or crashes; and
        ParserUnavailableError.
        """
        process = self._take()
        try:
            outcome = process.parse(_request(incoming, options), self._timeout_s)
        finally:
            self._give_back(process)
        if outcome is None and self._closed:
            raise ParserUnavailableError("Braid is being closed; the file is read at the next start")
        if outcome is not None and "chunks" in outcome:
            return _document(incoming, outcome)
        if outcome is not None and "unreadable" in outcome:
            raise UnreadableDocumentError(str(outcome["unreadable"]))
        raise UnreadableDocumentError(f"{incoming.filename} {self._reason(process, outcome)}")

    def close(self) -> None:
        """End all processes, also in the middle of a file."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for process in self._busy:  # its own thread gives it back
                process.kill()
        for process in idle:
            process.end()

    def _take(self) -> _Process:
        with self._lock:
            if self._closed:
                raise ParserUnavailableError("Braid is being closed; the file is read at the next start")
            while self._idle:
                process = self._idle.pop()
                if process.is_alive():
                    break
                process.end()
            else:
                process = _Process(self._memory_mb, self._timeout_s)
            self._busy.add(process)
        return process

    def _give_back(self, process: _Process) -> None:
        with self._lock:
            self._busy.discard(process)
            if process.is_usable and not self._closed:
                self._idle.append(process)
                return
        process.end()

    def _reason(self, process: _Process, outcome: dict[str, Any] | None) -> str:
        """Say why there is no document, as a sentence that continues after the file's name."""
        if outcome is None and process.timed_out:
            return f"took more than {self._timeout_s:g} seconds to read; split it"
        if outcome is None:
            logger.warning("event=parser_died returncode=%s", process.returncode)
            how = f" ({_signal_name(process.returncode)})" if (process.returncode or 0) < 0 else ""
            return f"made the program that reads it crash{how}; split it, or save it in another format"
        if "too_much_memory" in outcome:
            return f"takes more than {self._memory_mb:,} MiB of memory to read; split it"
        if "too_much_text" in outcome:
            return "has too much text for one document; split it"
        logger.warning("event=parser_fault fault=%s", outcome.get("fault"))
        return "cannot be read: its form is not one that is known; save it again, or in another format"


class _Process:
    """One process that parses files, one at a time."""

    def __init__(self, memory_mb: int, timeout_s: float) -> None:
        self.is_usable = False
        self.timed_out = False
        self._files = 0
        arguments = (str(_ROOT), str(memory_mb * 2**20), str(NICE), str(timeout_s))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        if self._exchange(None, START_TIMEOUT_S) is None:
            self.end()
            raise ParserUnavailableError("the program that reads documents does not start; the server's log says why")

    @property
    def returncode(self) -> int | None:
        """The exit status; negative is the number of a signal, None while the process runs."""
        return self._process.returncode

    def is_alive(self) -> bool:
        """Return whether the process still runs."""
        return self._process.poll() is None

    def parse(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any] | None:
        """Send one file and wait for the outcome; None when the process died, or was killed after the timeout."""
        self.is_usable = False
        outcome = self._exchange(request, timeout_s)
        self._files += 1
        self.is_usable = outcome is not None and not outcome.get("retires") and self._files < FILES_PER_PROCESS
        return outcome

    def kill(self) -> None:
        """Kill the process; a thread that waits in `parse` gets None."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process if it runs, and release its pipes."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # flushing a request that nobody reads any more
                    stream.close()

    def _exchange(self, request: dict[str, Any] | None, timeout_s: float) -> dict[str, Any] | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(timeout_s, self._time_out)
        timer.daemon = True
        timer.start()
        try:
            if request is not None:
                send(self._process.stdin, request)
            return receive(self._process.stdout)
        except OSError:  # the process died
            return None
        finally:
            timer.cancel()

    def _time_out(self) -> None:
        self.timed_out = True
        self._process.kill()


def _request(incoming: Incoming, options: IngestOptions) -> dict[str, Any]:
    assert incoming.path is not None, "the process reads a file; content in memory is parsed here"
    sizes = ("max_file_bytes", "chunk_chars", "chunk_overlap_chars")
    return {
        "path": str(incoming.path.absolute()),
        "filename": incoming.filename,
        "options": {name: getattr(options, name) for name in sizes},
    }


def _document(incoming: Incoming, outcome: dict[str, Any]) -> DocumentInput:
    return DocumentInput(
        source=incoming.source,
        title=outcome["title"],
        file_type=outcome["file_type"],
        chunks=tuple(ChunkInput(**chunk) for chunk in outcome["chunks"]),
        content_hash=incoming.content_hash,
        size_bytes=incoming.size_bytes,
        date=incoming.date,
        metadata=outcome["metadata"],
    )


def _signal_name(returncode: int | None) -> str:
    try:
        return signal.Signals(-(returncode or 0)).name
    except ValueError:
        return f"signal {-(returncode or 0)}"
