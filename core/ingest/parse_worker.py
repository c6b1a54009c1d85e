"""A process of `braid.core.ingest.parse_pool`: parses one file after another.

Requests arrive as frames of JSON on standard input, outcomes leave as frames on what was standard output; whatever a
library prints is discarded. Nothing is pickled on either side: a document that takes this process over can send the
server nothing but JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.parse import Incoming, parse_here
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers import FORMATS

LENGTH_BYTES = 8
MAX_FRAME_BYTES = 512 * 2**20
RETIRES_OVER_KIB = 512 * 1024
"""A process with a higher peak of memory ends, because it does not give the memory back."""


def send(stream: IO[bytes], message: Mapping[str, Any]) -> None:
    """Write one frame. Raises ValueError when it is longer than a frame may be."""
    body = json.dumps(message).encode()
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError("the frame is too long")
    stream.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read one frame; None at the end of the stream and for anything that is not a frame."""
    length = int.from_bytes(stream.read(LENGTH_BYTES), "big")
    if not 0 < length <= MAX_FRAME_BYTES:
        return None
    body = stream.read(length)
    if len(body) < length:
        return None
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def main(memory_bytes: int, nice: int, timeout_s: float) -> None:
    """Serve until standard input ends."""
    outcomes = os.fdopen(os.dup(1), "wb")
    _limit_process(memory_bytes, nice)
    send(outcomes, {"ready": True})
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    while request := receive(sys.stdin.buffer):
        _set_alarm(timeout_s)
        outcome = _handle(request)
        _set_alarm(0)
        try:
            send(outcomes, outcome)
        except ValueError:
            send(outcomes, {"too_much_text": True})
        if outcome.get("retires"):
            return


def _limit_process(memory_bytes: int, nice: int) -> None:
    """Import the readers while memory is not limited, then limit memory and priority."""
    for name in {form.reader for form in FORMATS}:
        importlib.import_module(f"braid.core.ingest.readers.{name}")
    # Ctrl-C in a terminal, and stopping a service, signals all processes; the server decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform == "win32":
        return
    import resource

    os.setpriority(os.PRIO_PROCESS, 0, nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _set_alarm(seconds: float) -> None:
    """End this process, even inside a library, in case the server is gone and cannot kill it. 0 cancels."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds and seconds + 5)


def _handle(request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        outcome = _parse(request)
    except UnreadableDocumentError as error:
        outcome = {"unreadable": str(error)}
    except MemoryError:
        return {"too_much_memory": True, "retires": True}
    except Exception as error:  # the edge of a process: a fault of a reader in one file must not stop the next
        place = traceback.extract_tb(error.__traceback__)[-1]
        outcome = {"fault": f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"}
    return {**outcome, "retires": _peak_kib() > RETIRES_OVER_KIB}


def _parse(request: Mapping[str, Any]) -> dict[str, Any]:
    options = IngestOptions(**request["options"])
    content = Path(request["path"]).read_bytes()
    document = parse_here(Incoming("-", request["filename"], content=content), options)
    fields: Callable[[Any], dict[str, Any]] = asdict
    return {
        "title": document.title,
        "file_type": document.file_type,
        "metadata": dict(document.metadata),
        "chunks": [fields(chunk) for chunk in document.chunks],
    }


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
