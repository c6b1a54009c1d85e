"""A Milvus server for tests and benchmarks: Milvus Lite in a process of its own, spoken to like any other server."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.worlds import eventually

CONNECT_S = 10


def flush(url: str) -> None:
    """Have the server index what it has: Milvus Lite reads the rest row by row."""
    from pymilvus import MilvusClient

    with closing(MilvusClient(url)) as client:
        for name in client.list_collections():
            client.flush(name)


class MilvusLite:
    """A server with its data in ``folder``, which it keeps over `stop` and `start`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server, and wait until it listens."""
        self._folder.mkdir(parents=True, exist_ok=True)
        program = str(Path(sys.executable).with_name("milvus-lite"))
        where = ["--data-dir", str(self._folder), "--host", "127.0.0.1", "--port", str(self.port)]
        with open(self._folder.parent / "milvus.log", "ab") as log:
            self._process = subprocess.Popen([program, "server", *where], stdout=log, stderr=log)
        eventually(self._listens, pause_s=0.05)

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "Milvus Lite did not start; its log is beside its folder"
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", self.port), timeout=1)):
            return True
        return False

    def stop(self) -> None:
        """End the server as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stores(self) -> list[str]:
        """The names of Milvus's collections."""
        with closing(self._client()) as client:
            return sorted(client.list_collections())

    def clear(self) -> None:
        """Delete everything that it has."""
        with closing(self._client()) as client:
            for name in client.list_collections():
                client.drop_collection(name)

    def _client(self) -> Any:
        from pymilvus import MilvusClient, MilvusException

        made: list[Any] = []

        def connects() -> bool:  # a server that listens may not answer yet on a busy machine
            with suppress(MilvusException):
                made.append(MilvusClient(self.url, timeout=CONNECT_S))
            return bool(made)

        eventually(connects)
        return made[0]


@contextmanager
def milvus_lite(folder: Path) -> Iterator[MilvusLite]:
    """A running server, which is stopped at the end."""
    server = MilvusLite(folder / "milvus")
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
