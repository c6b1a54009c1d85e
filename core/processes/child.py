"""One process that runs a module of Braid: how it is started, asked, watched and killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from braid.core.forks import let_go
from braid.core.processes.frames import receive, send

LOOK_EVERY_S = 0.5
"""Seconds between two looks whether the work is still wanted."""
VARIABLES = frozenset(
    {
        *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH"),
        *("PYTHONHOME", "PYTHONPATH", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
    }
)
"""The variables that a process gets. The server's settings and the keys of its models are not among them."""
_ROOT = Path(__file__).absolute().parents[3]
# Signals that stop a service go to all its processes, perhaps before this one has loaded anything: ignore them first.
_CODE = (
    "import importlib, signal, sys; [signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)]; "
    "sys.path.insert(0, sys.argv[1]); importlib.import_module(sys.argv[2]).main(*sys.argv[3:])"
)

IsStopped = Callable[[], bool]


def never() -> bool:
    """The work is always wanted."""
    return False


def allowed(variables: frozenset[str] = VARIABLES) -> dict[str, str]:
    """Return those of this process's variables that are named."""
    return {name: value for name, value in os.environ.items() if name.upper() in variables}


def start(
    module: str,
    *arguments: str,
    variables: frozenset[str] = VARIABLES,
    flags: tuple[str, ...] = (),
    quiet: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a process that calls ``main`` of the module, with pipes to its input and output.

    ``flags`` are the interpreter's; with ``quiet`` what it writes to standard error is discarded. Raises OSError.
    """
    return subprocess.Popen(
        [sys.executable, *flags, "-c", _CODE, str(_ROOT), module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        env=allowed(variables),
        process_group=0,  # no session of its own: Linux compares priorities within one
    )


class Child:
    """Answers one request at a time, each with one frame or more. With ``trusted`` it has read nothing of strangers."""

    def __init__(self, process: subprocess.Popen[bytes], *, trusted: bool = False) -> None:
        self.timed_out = False
        self.stopped = False
        self._process = process
        self._trusted = trusted
        self._lock = threading.Lock()

    @property
    def returncode(self) -> int | None:
        """The exit status; negative is the number of a signal, None while the process runs."""
        return self._process.poll()

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self.returncode is None

    def ask(self, request: object, timeout_s: float, is_stopped: IsStopped = never) -> Any | None:
        """Send a request and wait for the first frame of the answer; None as by `receive`.

        Raises ValueError when the request is too long.
        """
        with self._watched(timeout_s, is_stopped):
            return self._read() if self.tell(request) else None

    def tell(self, message: object) -> bool:
        """Send what has no answer. False when the process died."""
        assert self._process.stdin is not None
        try:
            send(self._process.stdin, message, trusted=self._trusted)
        except OSError:
            return False
        return True

    def receive(self, timeout_s: float, is_stopped: IsStopped = never) -> Any | None:
        """Wait for the next frame. None when the process died or was killed: after the timeout, which sets
        ``timed_out``, or because ``is_stopped()``, which sets ``stopped``.
        """
        with self._watched(timeout_s, is_stopped):
            return self._read()

    def kill(self) -> None:
        """Kill the process; a thread that waits for a frame gets None."""
        self._process.kill()

    def let_go(self) -> None:
        """Leave the process to the parent, in the child of a fork."""
        let_go(self._process.stdin, self._process.stdout)

    def end(self, patience_s: float = 0.0) -> None:
        """Kill the process, or with ``patience_s`` close its input first and wait so long; release its pipes."""
        if not patience_s:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):  # flushing a request that nobody reads any more
                    stream.close()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self) -> Any | None:
        assert self._process.stdout is not None
        try:
            return receive(self._process.stdout, trusted=self._trusted)
        except OSError:  # the process died
            return None

    @contextmanager
    def _watched(self, timeout_s: float, is_stopped: IsStopped) -> Iterator[None]:
        answered = threading.Event()
        arguments = (answered, time.monotonic() + timeout_s, is_stopped)
        threading.Thread(target=self._watch, args=arguments, name="braid-watch", daemon=True).start()
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
                if not answered.is_set():  # by now the process may be at work on another request
                    self.timed_out, self.stopped = timed_out, not timed_out
                    self._process.kill()
            return
