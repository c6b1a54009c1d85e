"""What tests fork processes from: a process that has loaded what they need, without threads.

``python -m tests.nursery MODULE FOLDER SOCKET`` is begun by `tests.forked_children`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import time
from contextlib import ExitStack, suppress
from types import ModuleType

PYTHON = "python"
OF_SERVERS = (
    *("braid.app.server", "braid.app.cli.root", "braid.app.mcp.server", "braid.core.indexes.dense", "faiss"),
    *("braid.core.langchain", "braid.core.retriever_manager", "braid.core.stock.named", "braid.core.indexes.fleet"),
    *("braid.core.ingest.readers.markdown", "alembic.command", "truststore", "httpcore2"),
    *("openai.resources.chat", "openai.resources.embeddings", "langchain_openai", "langchain.embeddings"),
    *("langgraph.graph.state", "anyio._backends._asyncio", "uvicorn.lifespan.on", "uvicorn.loops.uvloop"),
    *("uvicorn.protocols.websockets.websockets_sansio_impl", "numpy.ma"),
)
"""What servers and commands load sooner or later."""
STATUS: list[object] = []
"""The exit status of the program that was run; empty while it runs."""
FOR_GOOD = ExitStack()
"""What apps do in less time, from the moment of loading to the end of the process."""
READERS: list[int] = []
"""Where processes that read files are asked for, if a server is to have them forked, too."""
JOIN = b"join"
"""Says that another one will ask, at the socket that comes with it."""
STREAMS = 3
STOPPING = (signal.SIGINT, signal.SIGTERM)
MOST_BYTES = 1 << 16
"""Longest message to a nursery, in bytes."""
STATUS_BYTES = 4


def load(module: str, folder: str) -> None:
    """Import what takes long. In ``folder`` is what apps have compiled."""
    if module == "braid.core.indexes.chroma.worker":
        importlib.import_module("chromadb")
        importlib.import_module("braid.core.indexes.chroma.store")
    elif module == PYTHON:
        import httpx
        from jinja2 import FileSystemBytecodeCache

        from tests.cheap import certificates_are_read_once, password_hashes_are_cheap
        from tests.compiled import compiled_once

        for each in (*OF_SERVERS, "tests.forked_children"):
            importlib.import_module(each)
        _have_servers_take_their_time()
        FOR_GOOD.enter_context(password_hashes_are_cheap())
        FOR_GOOD.enter_context(certificates_are_read_once())
        FOR_GOOD.enter_context(compiled_once(FileSystemBytecodeCache(folder)))
        httpx.Client().close()  # reads the certificates
    else:
        importlib.import_module(module)._import_readers()


def _have_servers_take_their_time() -> None:
    """Have servers not give way to neighbours, and wait for their work when they end: else it is as if killed."""
    from braid.app import prefork, server
    from braid.core import priority
    from tests.worlds import AT_LAST_S

    priority.BACKGROUND_NICE = 0
    server.OVERDUE_S = int(AT_LAST_S)
    prefork.STOP_S = AT_LAST_S


def main(module: str, folder: str, number: int) -> list[str]:
    """Fork a process for each message, until the tests have ended. In one of `PYTHON` return its arguments."""
    atexit.register(_leave)  # which comes after what is registered from now on
    gc.disable()
    load(module, folder)
    gc.freeze()  # what is loaded stays
    gc.enable()
    assert len(os.listdir("/proc/self/task")) == 1, "a thread would be missing in what is forked"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait for what is forked
    for number_of_signal in STOPPING:
        signal.signal(number_of_signal, signal.SIG_IGN)
    asking = [socket.socket(fileno=number)]
    while True:
        theirs = select.select(asking, [], [])[0][0]
        message, files, _, _ = socket.recv_fds(theirs, MOST_BYTES, 5)
        if message == JOIN:
            asking += [socket.socket(fileno=each) for each in files]
            continue
        if message and os.fork() == 0:
            arguments: list[str]
            arguments, *surroundings = json.loads(message)
            _keep(theirs, asking, files, *surroundings)
            if module == PYTHON:
                return arguments
            _work(module, arguments)
        for each in files:
            os.close(each)
        if not message:
            if theirs is asking[0]:  # the tests have ended, if not all that they began
                return []
            asking.remove(theirs)
            theirs.close()


def _keep(
    theirs: socket.socket, asking: list[socket.socket], files: list[int], environment: dict[str, str], folder: str
) -> None:
    """Fork it and return there. Here, tell its number, and its status when it has ended."""
    status, *readers = files[STREAMS:]
    del files[STREAMS:]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # until it heeds them
    pid = os.fork()
    os.setpgid(pid, pid)  # whichever comes first
    if pid == 0:
        for each in asking:
            each.close()
        os.close(status)
        READERS.extend(readers)
        for place, file in enumerate(files):
            os.dup2(file, place)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        return
    theirs.send(str(pid).encode())
    for each in asking:
        each.close()
    for file in (*files, *readers):
        os.close(file)
    with suppress(BrokenPipeError):  # nobody asks any more
        os.write(status, os.waitpid(pid, 0)[1].to_bytes(STATUS_BYTES, "big"))
    os._exit(0)


def _work(module: str, arguments: list[str]) -> None:
    os.nice = lambda increment: 0  # tests wait for it: beside busy neighbours it would have a tenth of a processor
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    importlib.import_module(module).main(*arguments)
    os._exit(0)


def run(option: str, what: str, *arguments: str) -> None:
    """Do what the interpreter does with these arguments."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        errors = "backslashreplace" if name == "stderr" else None
        setattr(sys, name, open(number, mode, -1, "utf-8", errors, closefd=False))  # noqa: SIM115 - for good
    sys.argv = ["-c", *arguments]
    sys.path[0] = "" if option == "-c" else os.getcwd()
    sys.path[1:1] = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    sys.modules["__main__"] = program = ModuleType("__main__")
    if READERS:
        importlib.import_module("tests.forked_children").take_readers_from(*READERS)
    try:
        if option == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            assert option == "-c"
            exec(what, program.__dict__)
    except SystemExit as ended:
        STATUS.append(0 if ended.code is None else ended.code)
        raise
    STATUS.append(0)


def _leave() -> None:
    """End at once, for an orderly end frees a million objects first; where there is an error it is told."""
    if STATUS and isinstance(STATUS[0], int):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(STATUS[0] & 0xFF)


if __name__ == "__main__":
    if command := main(sys.argv[1], sys.argv[2], int(sys.argv[3])):
        run(*command)
