"""Processes that have Chroma open or read files, servers and commands, forked from one that has loaded what they need.

Loading takes longer than most tests. Those that have Chroma open or read files differ from those of
`braid.core.processes.child` in nothing but their beginning, parent and priority. Servers and commands differ from those
that people start in their beginning and parent, in their end, which frees nothing and is given any time, in the seed of
sets, which all have, in the locale, which is UTF-8, in OpenBLAS, which has one thread, in their threads' priority,
in the children that read files, and in what `tests.cheap` and `tests.compiled` do. Where a test is about one of these,
or about what is loaded, it starts them `in_earnest`.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from braid.core.indexes.chroma import process as chroma_process
from braid.core.ingest import parse_pool
from braid.core.processes.child import VARIABLES, allowed, start
from tests.nursery import JOIN, MOST_BYTES, PYTHON, STATUS_BYTES

ROOT = Path(__file__).parent.parent
READER = "braid.core.ingest.parse_worker"
STARTED_BY = {"braid.core.indexes.chroma.worker": chroma_process, READER: parse_pool}
"""What is forked, by the module that starts it."""
NOT_HEEDED = ("executable", "pass_fds", "shell", "gid", "gids", "uid", "umask")
"""Options of `subprocess.Popen` that cannot be followed. A process has a group of its own in place of a session, and
heeds Ctrl-C without a ``preexec_fn`` for that.
"""
ASKING = """#!{python} -SE
import json, os, socket, sys
ended, status = os.pipe()
nursery = socket.socket(fileno={number})
socket.send_fds(nursery, [json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()], [0, 1, 2, status])
nursery.recv(64)
os.close(status)
sys.exit(os.waitstatus_to_exitcode(int.from_bytes(os.read(ended, 64), "big")))
"""


class Forked(subprocess.Popen[Any]):
    """A process that is forked from the one of a nursery, in a process group of its own; for all else as it is begun,
    told and waited for, what it is derived from.
    """

    def __init__(self, nursery: Nursery, arguments: Sequence[str], *, readers: bool = False, **options: Any) -> None:
        self._nursery, self._lock, self._readers = nursery, threading.Lock(), readers
        super().__init__(arguments, **options)

    def _execute_child(self, *arguments: Any) -> None:
        given = signature(super()._execute_child).bind(*arguments).arguments  # type: ignore[misc]
        environment = os.environ if given["env"] is None else given["env"]
        if unknown := [name for name in NOT_HEEDED if given[name] not in (None, (), False, -1)]:
            raise ValueError(f"a forked process does not heed {', '.join(unknown)}; start it in earnest")
        message = [*map(str, given["args"])], dict(environment), str(given["cwd"] or Path.cwd())
        ends = [given[each] for each in ("p2cread", "c2pwrite", "errwrite")]
        streams = [number if each < 0 else each for number, each in enumerate(ends)]
        with NURSERIES[READER].joined() if self._readers else nullcontext(()) as more:
            self.pid, self._ended = self._nursery.begin(message, streams, more)
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(given[each] for each in pipes))  # type: ignore[attr-defined]

    def __del__(self) -> None:
        super().__del__()
        if self.returncode is not None:
            os.close(self._ended)

    def _internal_poll(self, **_: object) -> int | None:
        with self._lock:
            if self.returncode is None and select.select([self._ended], [], [], 0)[0]:
                status = os.read(self._ended, STATUS_BYTES)
                self.returncode = os.waitstatus_to_exitcode(int.from_bytes(status, "big")) if status else -1
            return self.returncode

    def _wait(self, timeout: float | None) -> int | None:
        if self.poll() is None and not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self.poll()


class Nursery:
    """The process that has loaded what a module needs; it begins when the first child is asked for."""

    def __init__(self, module: str) -> None:
        self.children: list[Forked] = []
        self.folder = ""
        self._module = module
        self._lock = threading.Lock()
        self._ours: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def fork(self, arguments: Sequence[str], **options: Any) -> Forked:
        """Begin a process with these arguments and the options of `subprocess.Popen`."""
        forked = Forked(self, arguments, **options)
        with self._lock:
            self.children = [*(each for each in self.children if each.poll() is None), forked]
        return forked

    def begin(self, message: object, streams: Sequence[int], more: Sequence[int] = ()) -> tuple[int, int]:
        """Fork a process; return its number, and where its status can be read when it has ended."""
        ended, status = os.pipe()
        with self._lock:
            ours = self._begun()
            socket.send_fds(ours, [json.dumps(message).encode()], [*streams, status, *more])
            pid = int(ours.recv(MOST_BYTES))
        os.close(status)
        return pid, ended

    @contextmanager
    def lent(self) -> Iterator[int]:
        """Lend its socket, for as long as nothing else is begun."""
        with self._lock:
            yield self._begun().fileno()

    @contextmanager
    def joined(self) -> Iterator[Sequence[int]]:
        """Make a socket at which another process may ask."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            with self._lock:
                socket.send_fds(self._begun(), [JOIN], [theirs.fileno()])
            yield [ours.fileno()]

    def join(self, number: int) -> None:
        """Ask at this socket."""
        self._ours = socket.socket(fileno=number)

    def _begun(self) -> socket.socket:
        self._ours = self._ours or self._start()
        return self._ours

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-m", "tests.nursery", self._module, self.folder, str(number)]
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, pass_fds=[number], stdin=subprocess.DEVNULL
            )
        return ours

    def close(self) -> None:
        """End it."""
        if self._ours is not None and self._process is not None:
            self._ours.close()
            self._process.wait()


NURSERIES = {module: Nursery(module) for module in (*STARTED_BY, PYTHON)}


def running(module: str) -> set[int]:
    """Return the numbers of the processes of ``module`` that were forked and have not ended."""
    return {each.pid for each in NURSERIES[module].children if each.poll() is None}


class Python:
    """How tests begin processes of the interpreter."""

    is_forked = False


def python(*arguments: str, readers: bool = False, **options: Any) -> subprocess.Popen[Any]:
    """Begin ``python -m …`` or ``python -c …``, with options of `subprocess.Popen`; forked where processes are.

    With ``readers`` what reads files for it is forked then, too.
    """
    if Python.is_forked:
        return NURSERIES[PYTHON].fork(arguments, readers=readers, **options)
    return subprocess.Popen([sys.executable, *arguments], **options)


@contextmanager
def python_for_programs(program: Path) -> Iterator[Sequence[int]]:
    """Write an executable that does what `python` does, for programs that are begun with these files open."""
    with NURSERIES[PYTHON].lent() if Python.is_forked else nullcontext() as number:
        text = ASKING.format(python=sys.executable, number=number)
        program.write_text(text if number else f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        program.chmod(0o755)
        yield [number] if number else []


def ran_python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Begin it, and return what it has written when it has ended."""
    from tests.worlds import WAIT_S  # which loads more than what is forked needs

    pipe = subprocess.PIPE
    with python(*arguments, stdout=pipe, stderr=pipe, text=True, **options) as process:
        try:
            out, err = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def _begin(module: str, *arguments: str, variables: frozenset[str] = VARIABLES) -> Forked:
    pipe = subprocess.PIPE
    return NURSERIES[module].fork(arguments, env=allowed(variables), stdin=pipe, stdout=pipe)


def take_readers_from(number: int) -> None:
    """Have the processes that read files for this one, and for none that is forked from it, be asked for there."""
    NURSERIES[READER].join(number)
    parse_pool.start = _begin  # type: ignore[assignment]
    os.register_at_fork(after_in_child=lambda: setattr(parse_pool, "start", start))


@contextmanager
def forked_children() -> Iterator[None]:
    """Have the processes of `STARTED_BY` and of `python` that begin until the end of the block be forked."""

    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        folder = stack.enter_context(TemporaryDirectory(prefix="braid-"))
        for nursery in NURSERIES.values():
            nursery.folder = folder
            stack.enter_context(closing(nursery))
        for starter in STARTED_BY.values():
            patch.setattr(starter, "start", _begin)
        patch.setattr(Python, "is_forked", True)
        yield


@contextmanager
def in_earnest() -> Iterator[None]:
    """Have them begin as they do in a server."""
    with pytest.MonkeyPatch.context() as patch:
        for starter in STARTED_BY.values():
            patch.setattr(starter, "start", start)
        patch.setattr(Python, "is_forked", False)
        yield
