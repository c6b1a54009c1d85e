"""Processes that have Chroma open or read files, forked from one that has loaded what they need.

Loading takes longer than most tests. They differ from those of `braid.core.processes.child` in nothing but their
beginning, parent and priority.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest

from braid.core.indexes.chroma import process as chroma_process
from braid.core.ingest import parse_pool
from braid.core.processes.child import VARIABLES, allowed, start

ROOT = Path(__file__).parent.parent
STARTED_BY = {
    "braid.core.indexes.chroma.worker": chroma_process,
    "braid.core.ingest.parse_worker": parse_pool,
}
"""What is forked, by the module that starts it."""
MOST_BYTES = 1 << 16
"""Of what is asked of the nursery."""
STATUS_BYTES = 4


class Forked:
    """A forked process, with what Braid uses of `subprocess.Popen`."""

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes], ended: int) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._ended = ended  # where its status can be read when it has ended
        self._lock = threading.Lock()
        self._returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status; negative is the number of a signal, None while it runs."""
        with self._lock:
            if self._returncode is None and select.select([self._ended], [], [], 0)[0]:
                status = os.read(self._ended, STATUS_BYTES)
                self._returncode = os.waitstatus_to_exitcode(int.from_bytes(status, "big")) if status else -1
                os.close(self._ended)
            return self._returncode

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> None:
        """Return when it has ended; raise `subprocess.TimeoutExpired` after ``timeout`` seconds."""
        if self.poll() is None and not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("forked", timeout or 0.0)
        self.poll()


class Nursery:
    """The process that has loaded what a module needs; it begins when the first child is asked for."""

    def __init__(self, module: str) -> None:
        self.children: list[Forked] = []
        self._module = module
        self._lock = threading.Lock()
        self._ours: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Forked:
        """Fork a process with the arguments of the module's ``main``."""
        asked, stdin = os.pipe()
        stdout, answered = os.pipe()
        ended, status = os.pipe()
        with self._lock:
            self._ours = self._ours or self._start()
            message = json.dumps([arguments, dict(environment)]).encode()
            socket.send_fds(self._ours, [message], [asked, answered, status])
            pid = int(self._ours.recv(MOST_BYTES))
            forked = Forked(pid, os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), ended)
            self.children = [*(each for each in self.children if each.poll() is None), forked]
        for each in (asked, answered, status):
            os.close(each)
        return forked

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-m", __name__, self._module, str(number)]
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, pass_fds=[number], stdin=subprocess.DEVNULL
            )
        return ours

    def close(self) -> None:
        """End it."""
        if self._ours is not None and self._process is not None:
            self._ours.close()
            self._process.wait()


NURSERIES = {module: Nursery(module) for module in STARTED_BY}


def running(module: str) -> set[int]:
    """Return the numbers of the processes of ``module`` that were forked and have not ended."""
    return {each.pid for each in NURSERIES[module].children if each.poll() is None}


@contextmanager
def forked_children() -> Iterator[None]:
    """Have the processes of `STARTED_BY` that begin until the end of the block be forked."""

    def begin(module: str, *arguments: str, variables: frozenset[str] = VARIABLES) -> Forked:
        return NURSERIES[module].begin(arguments, allowed(variables))

    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for module, starter in STARTED_BY.items():
            stack.enter_context(closing(NURSERIES[module]))
            patch.setattr(starter, "start", begin)
        yield


@contextmanager
def in_earnest() -> Iterator[None]:
    """Have them begin as they do in a server."""
    with pytest.MonkeyPatch.context() as patch:
        for starter in STARTED_BY.values():
            patch.setattr(starter, "start", start)
        yield


def load(module: str) -> None:
    """Import what takes long."""
    if module == "braid.core.indexes.chroma.worker":
        importlib.import_module("chromadb")
        importlib.import_module("braid.core.indexes.chroma.store")
    else:
        importlib.import_module(module)._import_readers()


def main(module: str, number: int) -> None:
    """Fork a process for each message, until the tests have ended."""
    load(module)
    assert len(os.listdir("/proc/self/task")) == 1, "a thread would be missing in what is forked"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait for what is forked
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    with socket.socket(fileno=number) as theirs:
        while True:
            message, files, _, _ = socket.recv_fds(theirs, MOST_BYTES, 3)
            if not message:
                return
            if os.fork() == 0:
                _keep(theirs, module, *json.loads(message), *files)
            for each in files:
                os.close(each)


def _keep(theirs: socket.socket, module: str, arguments: list[str], environment: dict[str, str], *files: int) -> None:
    """Fork it, tell its number, and its status when it has ended."""
    *streams, status = files
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        theirs.close()
        os.close(status)
        _work(module, arguments, environment, *streams)
    theirs.send(str(pid).encode())
    theirs.close()
    for each in streams:
        os.close(each)
    os.write(status, os.waitpid(pid, 0)[1].to_bytes(STATUS_BYTES, "big"))
    os._exit(0)


def _work(module: str, arguments: list[str], environment: dict[str, str], stdin: int, stdout: int) -> None:
    worker = importlib.import_module(module)
    try:
        os.setpgid(0, 0)
        os.nice = lambda increment: 0  # tests wait for it: beside busy neighbours it would have a tenth of a processor
        os.environ.clear()
        os.environ.update(environment)
        for file, place in ((stdin, 0), (stdout, 1)):
            os.dup2(file, place)
            os.close(file)
        worker.main(*arguments)
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
