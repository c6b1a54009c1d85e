"""Calls to Chroma in a process of its own: begun when it is needed, killed when it hangs, ended when it is idle."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from braid.core.errors import IndexUnavailableError
from braid.core.indexes.chroma.worker import receive, send

CALL_TIMEOUT_S = 120.0
MOST_WRITTEN = 256
"""Collections that a process writes to before another takes its place: Chroma keeps each of them in memory, 3 MB."""
_ROOT = Path(__file__).absolute().parents[4]
_CODE = (
    "import signal, sys; [signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)]; "
    "sys.path.insert(0, sys.argv[1]); from braid.core.indexes.chroma.worker import main; main(*sys.argv[2:4])"
)
_VARIABLES = frozenset(
    {
        *("PATH", "HOME", "USERPROFILE", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT"),
        *("LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUTF8", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"),
    }
)
"""The variables that the process gets. The server's settings and the keys of its models are not among them."""


class ChromaProcess:
    """Runs `braid.core.indexes.chroma.worker` while it is needed; calls are made one after the other, from any thread.

    ``idle_s`` after its last call the process is ended by `end_if_idle`.
    """

    def __init__(self, path: Path, url: str = "", *, idle_s: float = 30.0) -> None:
        self._arguments = [str(_ROOT), str(path), url]
        self._idle_s = idle_s
        self._process: subprocess.Popen[bytes] | None = None
        self._touched: set[str] = set()
        self._last_call = 0.0
        self._lock = threading.Lock()
        self._closed = False

    def call(self, method: str, collection: str, *arguments: object, timeout_s: float = CALL_TIMEOUT_S) -> Any:
        """Return what the store's method returns for the collection and the arguments.

        Raises IndexUnavailableError, also when the process dies or does not answer within ``timeout_s``, waiting for
        other calls included; it is then killed.
        """
        deadline = time.monotonic() + timeout_s
        if not self._lock.acquire(timeout=timeout_s):
            raise IndexUnavailableError(f"the Chroma store gave no answer within {timeout_s:g} s")
        try:
            if self._closed:
                raise IndexUnavailableError("the Chroma store is closed")
            if collection not in self._touched and len(self._touched) >= MOST_WRITTEN:
                self._end()
            answer = self._ask((method, (collection, *arguments)), deadline - time.monotonic())
            self._touched.add(collection)
        finally:
            self._last_call = time.monotonic()
            self._lock.release()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def names(self) -> list[str]:
        """Return the names of the collections. Raises IndexUnavailableError."""
        with self._lock:
            answer = self._ask(("collections", ()), CALL_TIMEOUT_S)
        if isinstance(answer, Exception):
            raise answer
        names: list[str] = answer
        return names

    def end(self) -> None:
        """End the process, once the running call has its answer; the next call begins another one."""
        with self._lock:
            self._end()

    def end_if_idle(self) -> None:
        """End the process if nothing has been asked of it for a while."""
        if self._process is not None and time.monotonic() - self._last_call > self._idle_s:
            self.end()

    def close(self) -> None:
        """End the process at once; further calls are refused."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()  # the call that is running, if any, fails: the copy is then written again
        with self._lock:
            self._end()

    def _ask(self, call: tuple[str, tuple[object, ...]], timeout_s: float) -> Any:
        process = self._process or self._begin()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(max(0.01, timeout_s), process.kill)
        late.daemon = True
        late.start()
        try:
            send(process.stdin, call)
            return receive(process.stdout)
        except (OSError, EOFError):
            self._end()
            reason = f"gave no answer within {timeout_s:.0f} s" if not late.is_alive() else "ended unexpectedly"
            raise IndexUnavailableError(f"the Chroma store {reason}; it is opened again") from None
        finally:
            late.cancel()

    def _begin(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if name.upper() in _VARIABLES},
            start_new_session=True,
        )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        self._touched.clear()
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            process.wait(2.0)  # its input has ended, so that it ends by itself
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
