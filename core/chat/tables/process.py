"""Asks tables in a process of its own, which knows nothing of the server and is killed when it takes too long."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from braid.core.ingest.frames import receive, send

TIMEOUT_S = 8.0
"""Seconds for reading the tables and answering, and again for a model's statement."""
WAIT_S = 3.0
MAX_PROCESSES = 2
_ROOT = Path(__file__).absolute().parents[4]
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from braid.core.chat.tables.worker import main; main()"
_FREE = threading.BoundedSemaphore(MAX_PROCESSES)

logger = logging.getLogger(__name__)

Json = dict[str, Any]


class TableProcess:
    """One question to the tables of some documents. An answer is None where the process failed or took too long."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def open(self, question: str, documents: Sequence[Mapping[str, Any]]) -> Json | None:
        """Read the tables and try the grammar: ``answer``, or None there and the tables' ``schema``."""
        return self._ask({"question": question, "documents": list(documents)})

    def run(self, sql: str, where: str) -> Json | None:
        """Run a statement: ``answer``, or ``refused`` with the reason."""
        return self._ask({"sql": sql, "where": where})

    def _ask(self, request: Json) -> Json | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Timer(TIMEOUT_S, self._process.kill)
        late.start()
        try:
            send(self._process.stdin, request)
            answer = receive(self._process.stdout)
        except (OSError, ValueError):  # it died, or the request is too long
            answer = None
        finally:
            late.cancel()
        if answer is None:
            logger.warning("event=tables_died returncode=%s", self._process.poll())
        return answer


@contextmanager
def table_process() -> Iterator[TableProcess | None]:
    """Start a process for one question, and end it; None where none starts, or the others are busy for long."""
    if not _FREE.acquire(timeout=WAIT_S):
        logger.warning("event=tables_busy")
        yield None
        return
    try:
        process = _start()
        try:
            yield TableProcess(process) if process else None
        finally:
            if process is not None:
                _end(process)
    finally:
        _FREE.release()


def _start() -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _CODE, str(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ},
        )
    except OSError as error:  # no memory, no more processes or files: the question is answered as any other
        logger.warning('event=tables_not_started reason="%s"', error.strerror or error)
        return None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # flushing a request that nobody reads any more
                stream.close()
