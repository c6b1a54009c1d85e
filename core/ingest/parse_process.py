"""One process that parses, running `braid.core.ingest.parse_worker`: how it is started, asked, watched and killed."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from braid.core.forks import let_go
from braid.core.ingest.frames import receive, send

NICE = 10
"""Niceness of the process, on top of the niceness of the server."""
START_TIMEOUT_S = 60.0
LOOK_EVERY_S = 0.5
"""Seconds between two looks whether the work is still wanted."""
ENVIRONMENT = frozenset(
    {
        *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH"),
        *("PYTHONHOME", "PYTHONPATH", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
    }
)
"""The variables that the process gets. The server's settings and the keys of its models are not among them."""
_ROOT = Path(__file__).absolute().parents[3]
# Signals that stop a service go to all its processes, perhaps before this one has loaded anything: ignore them first.
_CODE = (
    "import signal, sys; [signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)]; "
    "sys.path.insert(0, sys.argv[1]); from braid.core.ingest.parse_worker import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]))"
)

Outcome = dict[str, Any]
IsStopped = Callable[[], bool]

logger = logging.getLogger(__name__)


def never() -> bool:
    """The work is always wanted."""
    return False


class ParseProcess:
    """Answers one request at a time, each with one frame or more."""

    def __init__(self, memory_mb: int) -> None:
        self.is_usable = False
        """Whether the last request was answered to the end, so that the next one can be sent."""
        self.timed_out = False
        self.stopped = False
        self.requests = 0
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, str(_ROOT), str(memory_mb * 2**20), str(NICE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if name.upper() in ENVIRONMENT},
            process_group=0,  # no session of its own: Linux compares priorities within one
        )
        self.is_usable = self.receive(START_TIMEOUT_S) is not None

    @property
    def returncode(self) -> int | None:
        """The exit status; negative is the number of a signal, None while the process runs."""
        return self._process.returncode

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def ask(self, request: Outcome, timeout_s: float, is_stopped: IsStopped = never) -> Outcome | None:
        """Send a request and wait for the first frame of the answer; None as by `receive`."""
        self.is_usable = False
        self.requests += 1
        assert self._process.stdin is not None
        with self._watched(timeout_s, is_stopped):
            try:
                send(self._process.stdin, {**request, "timeout_s": timeout_s})
            except OSError:  # the process died
                return None
            return self._read()

    def receive(self, timeout_s: float, is_stopped: IsStopped = never) -> Outcome | None:
        """Wait for the next frame. None when the process died or was killed: after the timeout, which sets
        ``timed_out``, or because ``is_stopped()``, which sets ``stopped``.
        """
        with self._watched(timeout_s, is_stopped):
            return self._read()

    def go_on(self) -> None:
        """Tell a process that waits that what it made was taken; one that died is noticed by `receive`."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            send(self._process.stdin, {"go_on": True})

    def kill(self) -> None:
        """Kill the process; a thread that waits for a frame gets None."""
        self._process.kill()

    def let_go(self) -> None:
        """Leave the process to the parent, in the child of a fork."""
        let_go(self._process.stdin, self._process.stdout)

    def end(self) -> None:
        """Kill the process if it runs, and release its pipes."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # flushing a request that nobody reads any more
                    stream.close()

    def _read(self) -> Outcome | None:
        assert self._process.stdout is not None
        try:
            return receive(self._process.stdout)
        except OSError:  # the process died
            return None

    @contextmanager
    def _watched(self, timeout_s: float, is_stopped: IsStopped) -> Iterator[None]:
        answered = threading.Event()
        arguments = (answered, time.monotonic() + timeout_s, is_stopped)
        threading.Thread(target=self._watch, args=arguments, name="braid-parse-watch", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                answered.set()

    def _watch(self, answered: threading.Event, deadline: float, is_stopped: IsStopped) -> None:
        while not answered.wait(min(LOOK_EVERY_S, max(0.0, deadline - time.monotonic()))):
            timed_out = time.monotonic() >= deadline
            if not timed_out and not is_stopped():
                continue
            with self._lock:
                if not answered.is_set():  # by now the process may be at work on another file
                    self.timed_out, self.stopped = timed_out, not timed_out
                    self._process.kill()
            return
