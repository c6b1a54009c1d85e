"""Calls to Chroma in a process of its own: begun when it is needed, killed when it hangs, ended when it is idle."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import asdict
from pathlib import Path
from typing import Any

from braid.core.errors import IndexUnavailableError, StoreUnreachableError
from braid.core.files.claim import Claim
from braid.core.forks import let_go, tell_of_forks
from braid.core.indexes.chroma.errors import WriteFailedError
from braid.core.indexes.chroma.worker import receive, send

CALL_TIMEOUT_S = 120.0
MOST_WRITTEN = 256
"""Collections that a process writes to before another takes its place: Chroma keeps each of them in memory, 3 MB."""
_ROOT = Path(__file__).absolute().parents[4]
_CODE = (
    "import signal, sys; [signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)]; "
    "sys.path.insert(0, sys.argv[1]); from braid.core.indexes.chroma.worker import main; main(*sys.argv[2:5])"
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

    ``idle_s`` after its last call the process is ended by `end_if_idle`; it is killed when it takes longer than
    ``longest_s`` for a call.
    """

    def __init__(
        self,
        path: Path,
        url: str = "",
        *,
        claim: Claim | None = None,
        idle_s: float = 30.0,
        longest_s: float = CALL_TIMEOUT_S,
    ) -> None:
        self._arguments = [str(_ROOT), str(path), url, json.dumps(asdict(claim)) if claim else ""]
        self._idle_s = idle_s
        self._longest_s = longest_s
        self._process: subprocess.Popen[bytes] | None = None
        self._touched: set[str] = set()
        self._last_call = 0.0
        self._closed = False
        self._caller = ThreadPoolExecutor(1, "braid-chroma")  # all but `close` happens in its thread
        tell_of_forks(self)

    def before_fork(self) -> None:
        """Do nothing."""

    def after_fork(self, *, in_child: bool) -> None:
        """Leave the process to the parent: in the child nobody calls it."""
        if in_child and self._process is not None:
            let_go(self._process.stdin, self._process.stdout)

    def call(self, method: str, collection: str, *arguments: object, timeout_s: float | None = None) -> Any:
        """Return what the store's method returns for the collection and the arguments.

        Raises IndexUnavailableError, also when the process dies, and StoreUnreachableError when there is no answer
        after ``timeout_s``, ``longest_s`` unless given, waiting for other calls included; the call goes on.
        """
        return self._result(self._answer, (method, (collection, *arguments)), {collection}, timeout_s=timeout_s)

    def names(self) -> list[str]:
        """Return the names of the collections. Raises IndexUnavailableError."""
        names: list[str] = self._result(self._answer, ("collections", ()), set[str]())
        return names

    def end(self) -> None:
        """End the process, once the running call has its answer; the next call begins another one."""
        self._result(self._end)

    def end_if_idle(self) -> None:
        """End the process if nothing has been asked of it for a while."""
        if self._is_idle():
            self._result(self._end_if_idle)

    def close(self) -> None:
        """End the process at once; further calls are refused."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()  # the call that is running, if any, fails: what it wrote is written again
        self._caller.shutdown(wait=True, cancel_futures=True)
        self._end()

    def _result(self, function: Callable[..., Any], *arguments: object, timeout_s: float | None = None) -> Any:
        timeout_s = self._longest_s if timeout_s is None else timeout_s
        try:
            calling = self._caller.submit(function, *arguments)
            try:
                return calling.result(timeout_s)
            except FutureTimeoutError:
                calling.cancel()
                raise StoreUnreachableError(f"the Chroma store gave no answer within {timeout_s:g} s") from None
        except (RuntimeError, CancelledError):
            if not self._closed:
                raise
            raise StoreUnreachableError("the Chroma store is closed") from None

    def _is_idle(self) -> bool:
        return self._process is not None and time.monotonic() - self._last_call > self._idle_s

    def _end_if_idle(self) -> None:
        if self._is_idle():  # and has not been asked meanwhile
            self._end()

    def _answer(self, call: tuple[str, tuple[object, ...]], collections: set[str]) -> Any:
        if len(self._touched | collections) > MOST_WRITTEN:
            self._end()
        self._touched |= collections
        try:
            answer = self._ask(call)
        finally:
            self._last_call = time.monotonic()
        if isinstance(answer, WriteFailedError):
            self._end()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _ask(self, call: tuple[str, tuple[object, ...]]) -> Any:
        process = self._process or self._begin()
        if self._closed:  # while it began, so that `close` did not see it
            process.kill()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(self._longest_s, process.kill)
        late.daemon = True
        late.start()
        try:
            send(process.stdin, call)
            return receive(process.stdout)
        except (OSError, EOFError):
            self._end()
            if not late.is_alive():
                raise StoreUnreachableError(f"the Chroma store gave no answer within {self._longest_s:g} s") from None
            if self._closed:
                raise StoreUnreachableError("the Chroma store is closed") from None
            raise IndexUnavailableError("the Chroma store ended unexpectedly; it is opened again") from None
        finally:
            late.cancel()

    def _begin(self) -> subprocess.Popen[bytes]:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _CODE, *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={name: value for name, value in os.environ.items() if name.upper() in _VARIABLES},
                process_group=0,  # no session of its own: Linux compares priorities within one
            )
        except OSError as error:
            raise StoreUnreachableError(f"the process of the Chroma store cannot be started: {error}") from error
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
