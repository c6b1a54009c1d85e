"""Thirty-two clients at once, every ordinary operation mixed, nothing broken: `python -m tests.chaos.clients`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.chaos.oracle import Client, Figures
from tests.chaos.server import Server

CLIENTS = 32
QUIET_S = 10.0


class Ordinary(Client):
    """Beside documents: datasets, statistics, jobs and conversations that come and go."""

    def act(self) -> None:
        """One operation of any kind."""
        if self.dice.random() < 0.7:
            super().act()
            return
        try:
            self.dice.choice((self._dataset, self._conversation, self._look))()
        except httpx.HTTPError:
            time.sleep(0.2)  # counted, and the others go on

    def _dataset(self) -> None:
        made = self.ask("dataset", "POST", "/datasets", json={"name": f"{self.name} passing"}).json()["id"]
        self.ask("dataset rename", "PATCH", f"/datasets/{made}", json={"name": "renamed"})
        self.ask("dataset delete", "DELETE", f"/datasets/{made}")

    def _conversation(self) -> None:
        made = self.ask("conversation", "POST", "/conversations", json={"title": "passing"}).json()["id"]
        self.ask("conversation rename", "PATCH", f"/conversations/{made}", json={"title": "renamed"})
        self.ask("conversation export", "GET", f"/conversations/{made}/export")
        self.ask("conversation delete", "DELETE", f"/conversations/{made}")

    def _look(self) -> None:
        for path in ("/me", "/datasets", "/jobs", "/conversations", f"/datasets/{self.dataset}/statistics"):
            self.ask(f"get {path.partition(str(self.dataset))[0]}", "GET", path)


def main() -> None:
    """Quiet first, one client; then all. Exits with 1 when anything failed, was lost or is there twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="braid-clients-") as folder:
        server, figures = Server(Path(folder), CLIENTS), Figures()
        server.start()
        server.wait_ready()
        clients = [Ordinary(key, f"client{n}", figures, args.seed + n) for n, key in enumerate(server.keys)]
        for client in clients:
            client.connect(server.url)
            client.begin()
        _work(clients[:1], QUIET_S)
        quiet, figures.took = figures.took, {}
        _work(clients, args.seconds)
        busy = figures.took
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(Ordinary.check, clients))
        server.stop()
        said = server.doctor()
    print(f"{'operation':24}{'answered':>9}{'p95 ms':>9}{'quiet p95':>11}")
    for kind in sorted(busy):
        print(f"{kind:24}{len(busy[kind]):9}{_p95(busy[kind]):9.0f}{_p95(quiet.get(kind, [])):11.0f}")
    wrong = {"lost": figures.lost, "ghosts": figures.ghosts, "doubled": figures.doubled}
    wrong["the doctor found"] = [said] if said else []
    wrong["errors"] = [f"{times} × {what}" for what, times in figures.errors.most_common()]
    for name, what in wrong.items():
        print(f"{name}: {len(what)}", *what[:10], sep="\n    ")
    if any(wrong.values()):
        sys.exit(1)


def _work(clients: list[Ordinary], seconds: float) -> None:
    until = time.monotonic() + seconds

    def act(client: Ordinary) -> None:
        while time.monotonic() < until:
            client.act()

    threads = [threading.Thread(target=act, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _p95(seconds: list[float]) -> float:
    return 1000 * sorted(seconds)[int(0.95 * len(seconds))] if seconds else 0.0


if __name__ == "__main__":
    main()
