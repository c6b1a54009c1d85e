"""A process of `braid.core.ingest.parse_pool`: parses one file after another.

Requests arrive as frames of JSON on standard input, outcomes leave as frames on what was standard output; whatever a
library prints is discarded.
"""

from __future__ import annotations

import base64
import gc
import importlib
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from braid.core.errors import (
    InvalidInputError,
    ReaderFaultError,
    ReadingInterruptedError,
    ScannedDocumentError,
    UnreadableDocumentError,
    fault_of,
)
from braid.core.ingest.formats import FORMATS
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse import parse_here
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.scans.program import Tesseract
from braid.core.ingest.scans.reading import PageReading
from braid.core.processes.frames import receive, send
from braid.core.processes.limits import limit

RETIRES_OVER_KIB = 512 * 1024
"""A process with a higher peak of memory ends, because it does not give the memory back."""
NICE = 10
"""Niceness of the process, on top of the niceness of the server."""

Outcome = dict[str, Any]
_fields: Callable[[Any], Outcome] = asdict


class _Warnings(logging.Handler):
    """Keeps the first lines that Braid's readers warn with while a file is read."""

    MOST = 20

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        if len(self.lines) < self.MOST:
            self.lines.append(record.getMessage())


_warnings = _Warnings()


def main(memory_bytes: str) -> None:
    """Serve until standard input ends."""
    outcomes = os.fdopen(os.dup(1), "wb")
    _import_readers()  # while memory is not limited
    limit(nice=NICE, memory_bytes=int(memory_bytes))
    logging.getLogger("braid").addHandler(_warnings)
    send(outcomes, {"ready": True})
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    while request := receive(sys.stdin.buffer):
        _set_alarm(request["timeout_s"])
        for outcome in _handle(request):
            _set_alarm(0)  # the server may be busy with the outcome before
            try:
                send(outcomes, outcome)
            except ValueError:  # what would follow belongs to this file: the process ends with it
                outcome = {"too_much_text": True, "retires": True}
                send(outcomes, outcome)
            if outcome.get("retires"):
                return
            if outcome.get("original") == "there" and receive(sys.stdin.buffer) is None:
                return  # it waits until the server has taken the file, so that one at a time is unpacked
            _set_alarm(request["timeout_s"])
        _set_alarm(0)


def _import_readers() -> None:
    gc.disable()  # nothing of what is loaded is garbage
    for name in {form.reader for form in FORMATS}:
        with suppress(ModuleNotFoundError):  # `read_document` names what is missing
            importlib.import_module(f"braid.core.ingest.readers.{name}")
    gc.freeze()
    gc.enable()


def _set_alarm(seconds: float) -> None:
    """End this process, even inside a library, in case the server is gone and cannot kill it. 0 cancels."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds and seconds + 5)


def _handle(request: Mapping[str, Any]) -> Iterator[Outcome]:
    """The outcomes of a request: one, or for an export one per document."""
    try:
        if "export" in request or "manifest" in request:
            yield from _read_export(request)
        elif "page" in request:
            yield {**_draw_page(request), "retires": _retires()}
        elif "scan" in request:
            yield {"reading": _read_scan(request), "retires": _retires()}
        else:
            yield {**_parse(request), "retires": _retires()}
    except ScannedDocumentError as error:
        yield {"unreadable": str(error), "scanned": error.pages, "retires": _retires()}
    except ReadingInterruptedError as error:
        yield {"unreadable": str(error), "interrupted": True, "retires": _retires()}
    except ReaderFaultError as error:
        yield {"fault": error.fault, "retires": _retires()}
    except UnreadableDocumentError as error:
        yield {"unreadable": str(error), "retires": _retires()}
    except InvalidInputError as error:
        yield {"invalid": str(error), "retires": _retires()}
    except MemoryError:
        yield {"too_much_memory": True, "retires": True}
    except Exception as error:  # the edge of a process: a fault of a reader in one file must not stop the next
        yield {"fault": fault_of(error), "retires": _retires()}


def _parse(request: Mapping[str, Any]) -> Outcome:
    options = IngestOptions(**request["options"])
    content = Path(request["path"]).read_bytes()
    given = request.get("scans")
    scans = None if given is None else {page: PageReading.from_json(each) for page, each in given}
    document = parse_here(Incoming("-", request["filename"], content=content, scans=scans), options)
    return {
        **_told(),
        "title": document.title,
        "file_type": document.file_type,
        "metadata": dict(document.metadata),
        "chunks": [_fields(chunk) for chunk in document.chunks],
    }


def _told() -> Outcome:
    """Return what the server's log is to say: what readers have warned of, and of a program that one has started. This
    process has no log.
    """
    converted = sys.modules.get("braid.core.ingest.readers.office.converted")
    has_network = converted is not None and converted.keeps_network()
    warnings, _warnings.lines = _warnings.lines, []
    return {"warnings": warnings} | ({"office_has_network": True} if has_network else {})


def _draw_page(request: Mapping[str, Any]) -> Outcome:
    from braid.core.ingest.readers.paged.page_picture import draw_page

    drawn = draw_page(Path(request["path"]).read_bytes(), request["page"], request.get("turn", 0))
    return {**drawn, "picture": base64.b64encode(drawn["picture"]).decode()}


def _read_scan(request: Mapping[str, Any]) -> Outcome:
    from braid.core.ingest.readers.paged.page_picture import page_for_reading
    from braid.core.ingest.scans.recognize import read_picture

    picture = page_for_reading(Path(request["path"]).read_bytes(), request["scan"])
    tesseract = Tesseract(request["program"], frozenset(request["installed"]))
    languages, timeout_s = request["languages"], request["timeout_s"]
    return read_picture(picture, tesseract, languages=languages, timeout_s=timeout_s).to_json()


def _read_export(request: Mapping[str, Any]) -> Iterator[Outcome]:
    from braid.core.ingest.exports.export_file import read_export, read_manifest

    if "manifest" in request:
        yield {"manifest": read_manifest(Path(request["manifest"]), max_bytes=request["max_bytes"]).model_dump()}
        return
    to = request["originals_to"] and Path(request["originals_to"])
    with read_export(Path(request["export"]), max_bytes=request["max_bytes"], originals_to=to) as export:
        yield {"manifest": export.manifest.model_dump()}
        for part in export.parts:
            rows = None if part.rows is None else base64.b64encode(part.rows.tobytes()).decode()
            document = {**_fields(part.document), "metadata": dict(part.document.metadata)}
            yield {"document": document, "rows": rows, "original": part.original}
    yield {"end": True, "retires": _retires()}


def _retires() -> bool:
    return _peak_kib() > RETIRES_OVER_KIB


def _peak_kib() -> int:
    if sys.platform == "win32":
        return 0
    status = Path("/proc/self/status")
    if status.exists():  # Linux, where getrusage starts from the peak of the parent process
        found = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)
        return int(found[1]) if found else 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak
