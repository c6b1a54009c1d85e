"""Calls to Chroma in a process of its own: begun when it is needed, killed when it hangs, ended when it is idle."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import asdict
from pathlib import Path
from typing import Any

from braid.core.errors import IndexUnavailableError, StoreUnreachableError
from braid.core.files.claim import Claim
from braid.core.forks import tell_of_forks
from braid.core.indexes.chroma.errors import WriteFailedError
from braid.core.processes.child import VARIABLES, Child, start

CALL_TIMEOUT_S = 120.0
MOST_WRITTEN = 256
"""Collections that a process writes to before another takes its place: Chroma keeps each of them in memory, 3 MB."""
ALSO = frozenset({"HOME", "USERPROFILE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"})
"""Variables that the process gets beside those of any other."""


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
        self._arguments = [str(path), url, json.dumps(asdict(claim)) if claim else ""]
        self._idle_s = idle_s
        self._longest_s = longest_s
        self._process: Child | None = None
        self._touched: set[str] = set()
        self._last_call = 0.0
        self._closed = False
        self._caller = ThreadPoolExecutor(1, "braid-chroma")  # all but `close` happens in its thread
        tell_of_forks(self)

    def after_fork(self, *, in_child: bool) -> None:
        """Leave the process to the parent: in the child nobody calls it."""
        if in_child and self._process is not None:
            self._process.let_go()

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
        answer = process.ask(call, self._longest_s)
        if answer is not None:
            return answer["answer"]
        self._end()
        if process.timed_out:
            raise StoreUnreachableError(f"the Chroma store gave no answer within {self._longest_s:g} s")
        if self._closed:
            raise StoreUnreachableError("the Chroma store is closed")
        raise IndexUnavailableError("the Chroma store ended unexpectedly; it is opened again")

    def _begin(self) -> Child:
        try:
            process = start("braid.core.indexes.chroma.worker", *self._arguments, variables=VARIABLES | ALSO)
        except OSError as error:
            raise StoreUnreachableError(f"the process of the Chroma store cannot be started: {error}") from error
        self._process = Child(process, trusted=True)
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        self._touched.clear()
        if process is not None:
            process.end(patience_s=2.0)  # its input ends, so that it ends by itself
