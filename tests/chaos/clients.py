"""Thirty-two clients at once, every ordinary operation mixed, nothing broken: `python -m tests.chaos.clients`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from braid.core.accounts.accounts import Accounts
from braid.core.data_directory import DataDirectory
from tests.chaos.oracle import Figures
from tests.chaos.ordinary import Ordinary
from tests.chaos.server import PASSWORD, Server

CLIENTS = 32
QUIET_S = 30.0


def main() -> None:
    """Quiet first, one client; then all. Exits with 1 when anything failed, was lost or is there twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="braid-clients-") as folder:
        server, figures = Server(Path(folder), CLIENTS), Figures()
        names = _give_passwords(server)
        try:
            server.start()
            server.wait_ready()
            clients = [Ordinary(key, f"client{n}", figures, args.seed + n) for n, key in enumerate(server.keys)]
            for client, name in zip(clients, names, strict=True):
                client.connect(server.url)
                client.begin()
                client.sign_in(name, server.url)
            quiet = _work(clients[:1], QUIET_S)
            busy = _work(clients, args.seconds)
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(Ordinary.check, clients))
            server.stop()
        finally:
            server.kill()
        said = server.doctor()
    _print(busy, quiet)
    wrong = {"lost": figures.lost, "ghosts": figures.ghosts, "doubled": figures.doubled}
    wrong["the doctor found"] = [said] if said else []
    wrong["errors"] = [f"{times} × {what}" for what, times in figures.errors.most_common()]
    for name, what in wrong.items():
        print(f"{name}: {len(what)}", *what[:10], sep="\n    ")
    if any(wrong.values()):
        sys.exit(1)


def _give_passwords(server: Server) -> list[str]:
    """The names of the server's users, in the order of their keys."""
    with DataDirectory(server.data_dir) as directory:
        accounts = Accounts(directory.ledger)
        for account in accounts.all():
            accounts.set_password(account.id, PASSWORD, revoke_tokens=False)
        return [account.name for account in sorted(accounts.all(), key=lambda account: account.id)]


def _work(clients: list[Ordinary], seconds: float) -> dict[str, list[float]]:
    """Seconds of each answer by kind of operation."""
    until = time.monotonic() + seconds

    def act(client: Ordinary) -> None:
        while time.monotonic() < until:
            client.act()

    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(act, clients))  # raises what they raise
    figures = clients[0].figures
    took, figures.took = figures.took, {}
    return took


def _print(busy: dict[str, list[float]], quiet: dict[str, list[float]]) -> None:
    print(f"{'operation':22}{'answered':>9}{'p95 ms':>9}{'quiet p95':>11}")
    for kind in sorted(busy):
        alone = f"{_p95(quiet[kind]):.0f}" if kind in quiet else "-"
        print(f"{kind:22}{len(busy[kind]):9}{_p95(busy[kind]):9.0f}{alone:>11}")
    print(f"{'together':22}{sum(map(len, busy.values())):9}")


def _p95(seconds: list[float]) -> float:
    return 1000 * sorted(seconds)[int(0.95 * len(seconds))]


if __name__ == "__main__":
    main()
