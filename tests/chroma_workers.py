"""Processes that have Chroma open, forked from one that has loaded it: loading takes longer than most tests.

They differ from those of `braid.core.indexes.chroma.process` in nothing but their beginning, parent and priority.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import pytest

from braid.core.indexes.chroma.process import ALSO, ChromaProcess
from braid.core.processes.child import VARIABLES, Child, allowed

ROOT = Path(__file__).parent.parent
BEGIN = ChromaProcess._begin
"""How workers begin in earnest."""
MOST_BYTES = 1 << 16
"""Of what is asked of the nursery."""


class Forked:
    """A forked process, with what Braid uses of `subprocess.Popen`."""

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout

    def kill(self) -> None:
        """End it at once."""
        if self._is_there():
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> None:
        """Return when it has ended; raise `subprocess.TimeoutExpired` after ``timeout`` seconds."""
        try:
            ended = os.pidfd_open(self.pid)  # readable when the process has ended
        except ProcessLookupError:
            return
        try:
            if not select.select([ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("chroma", timeout or 0.0)
        finally:
            os.close(ended)

    def _is_there(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


class Nursery:
    """The process that has loaded Chroma; it begins when the first worker is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ours: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Forked:
        """Fork a worker with the arguments of `braid.core.indexes.chroma.worker.main`."""
        asked, stdin = os.pipe()
        stdout, answered = os.pipe()
        with self._lock:
            self._ours = self._ours or self._start()
            socket.send_fds(self._ours, [json.dumps([arguments, dict(environment)]).encode()], [asked, answered])
            pid = int(self._ours.recv(MOST_BYTES))
        os.close(asked)
        os.close(answered)
        return Forked(pid, os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"))

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-m", __name__, str(number)]
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


@contextmanager
def forked_workers() -> Iterator[None]:
    """Have all workers that begin until the end of the block be forked."""

    def begin(self: ChromaProcess) -> Child:
        forked = nursery.begin(self._arguments, allowed(VARIABLES | ALSO))
        self._process = Child(forked, trusted=True)  # type: ignore[arg-type]
        return self._process

    with closing(Nursery()) as nursery, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChromaProcess, "_begin", begin)
        yield


def main(number: int) -> None:
    """Fork a worker for each message, until the tests have ended."""
    import chromadb  # noqa: F401  # what takes long

    import braid.core.indexes.chroma.store  # noqa: F401

    assert len(os.listdir("/proc/self/task")) == 1, "a thread would be missing in what is forked"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for what has ended
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    with socket.socket(fileno=number) as theirs:
        while True:
            message, files, _, _ = socket.recv_fds(theirs, MOST_BYTES, 2)
            if not message:
                return
            pid = os.fork()
            if pid == 0:
                theirs.close()
                _work(*json.loads(message), *files)
            for each in files:
                os.close(each)
            theirs.send(str(pid).encode())


def _work(arguments: list[str], environment: dict[str, str], stdin: int, stdout: int) -> None:
    from braid.core.indexes.chroma.worker import main as work

    try:
        os.setpgid(0, 0)
        os.nice = lambda increment: 0  # tests wait for it: beside busy neighbours it would have a tenth of a processor
        os.environ.clear()
        os.environ.update(environment)
        for file, place in ((stdin, 0), (stdout, 1)):
            os.dup2(file, place)
            os.close(file)
        work(*arguments)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
