"""Asks tables in a process of its own, which knows nothing of the server and is killed when it takes too long."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from braid.core.processes.child import Child, start

TIMEOUT_S = 8.0
"""Seconds for reading the tables and answering, and again for a model's statement."""
WAIT_S = 3.0
MAX_PROCESSES = 2
_VARIABLES = frozenset({"SYSTEMROOT", "LD_LIBRARY_PATH"})
_FREE = threading.BoundedSemaphore(MAX_PROCESSES)

logger = logging.getLogger(__name__)

Json = dict[str, Any]


class TableProcess(Child):
    """One question to the tables of some documents. An answer is None where the process failed or took too long."""

    def open(self, question: str, documents: Sequence[Mapping[str, Any]]) -> Json | None:
        """Read the tables and try the grammar: ``answer``, or None there and the tables' ``schema``."""
        return self._ask({"question": question, "documents": list(documents)})

    def run(self, sql: str, where: str) -> Json | None:
        """Run a statement: ``answer``, or ``refused`` with the reason."""
        return self._ask({"sql": sql, "where": where})

    def _ask(self, request: Json) -> Json | None:
        try:
            answer: Json | None = self.ask(request, TIMEOUT_S)
        except ValueError:  # the request is too long
            answer = None
        if answer is None:
            logger.warning("event=tables_died returncode=%s", self.returncode)
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
            yield process
        finally:
            if process is not None:
                process.end()
    finally:
        _FREE.release()


def _start() -> TableProcess | None:
    try:
        return TableProcess(
            start("braid.core.chat.tables.worker", variables=_VARIABLES, flags=("-I", "-S"), quiet=True)
        )
    except OSError as error:  # no memory, no more processes or files: the question is answered as any other
        logger.warning('event=tables_not_started reason="%s"', error.strerror or error)
        return None
