"""Many users with small collections in a process that may open few files, as most do by default, and then rests."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.common import WordVectors, arguments, note, percentiles, resident_mb, scratch_folder, show
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput

CHUNKS = 30
ROUNDS = 3
OPEN_FILES = 1024
REST_S = 180.0
INDEXING_TIMEOUT_S = 3600


def main() -> None:
    """Run the child under the limit and print what it found."""
    if len(sys.argv) > 4 and sys.argv[1] == "--child":
        print(json.dumps(_child(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
        return
    args = arguments(f"Users with {CHUNKS} passages each, {OPEN_FILES} open files at most.", add=_options)
    with scratch_folder(args.scratch) as scratch:
        folder = str(scratch / f"many-users-{args.users}")
        command = [sys.executable, "-m", "benchmarks.many_users", "--child", folder, str(args.users), str(args.rounds)]
        child = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=_limit_open_files)
    if child.returncode:
        sys.exit(f"the child process ended with {child.returncode}")
    figures = json.loads(child.stdout)
    columns = ["round", "mode", "own passage found", "degraded", "p50 ms", "p95 ms", "RSS MB", "open files"]
    rows = [[row[column] for column in columns] for row in figures["rounds"]]
    title = f"{args.users} users × {CHUNKS} passages, ulimit -n {OPEN_FILES}; indexed in {figures['indexing_s']:.0f} s"
    resting = ("At rest", list(figures["rest"]), [list(figures["rest"].values())])
    show(figures, [(title, columns, rows), resting], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--users", type=int, default=300)
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"searches of each user, by each mode (default {ROUNDS})"
    )


def _limit_open_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))


def _child(data_dir: Path, users: int, rounds: int) -> dict[str, Any]:
    with Braid(data_dir, embedding_model=WordVectors()) as braid:
        started = time.perf_counter()
        datasets = _fill(braid, users)
        if not braid.indexer.wait(INDEXING_TIMEOUT_S):
            sys.exit(f"not indexed within {INDEXING_TIMEOUT_S} s: {braid.indexer.progress()}")
        indexing_s = time.perf_counter() - started
        note(f"indexed {users} × {CHUNKS} passages in {indexing_s:.0f} s")
        found = []
        for number, mode in itertools.product(range(1, rounds + 1), ("hybrid", "semantic")):
            found.append(_round(braid, datasets, number, mode))
            note(json.dumps(found[-1]))
        rest = _rest(braid)
    return {"users": users, "chunks": CHUNKS, "indexing_s": indexing_s, "rounds": found, "rest": rest}


def _rest(braid: Braid) -> dict[str, Any]:
    """What the process holds when the copy in Chroma is written and nobody has searched for 3 minutes."""
    note("rest")
    started = time.perf_counter()
    is_copied = braid.indexer.wait(INDEXING_TIMEOUT_S, ["chroma"])
    copied_s = time.perf_counter() - started
    time.sleep(REST_S)
    began, used = time.perf_counter(), time.process_time()
    time.sleep(30)
    share = 100 * (time.process_time() - used) / (time.perf_counter() - began)
    return {
        "copied to Chroma after s": copied_s if is_copied else f"not within {INDEXING_TIMEOUT_S}",
        "RSS MB": resident_mb(),
        "threads": len(os.listdir("/proc/self/task")),
        "open files": len(os.listdir("/proc/self/fd")),
        "% of a core": round(share, 2),
    }


def _fill(braid: Braid, users: int) -> dict[int, int]:
    """User id → dataset id."""
    datasets = {}
    for number in range(users):
        user = braid.ledger.user_named(f"user {number}") or braid.ledger.add_user(f"user {number}")
        owned = braid.ledger.datasets(user.id) or [braid.ledger.add_dataset(user.id, "notes")]
        chunks = tuple(ChunkInput(_passage(user.id, position)) for position in range(CHUNKS))
        braid.ledger.put_document(owned[0].id, DocumentInput("notes.txt", "notes", "txt", chunks))
        datasets[user.id] = owned[0].id
    return datasets


def _passage(user_id: int, position: int) -> str:
    return (
        f"note {position} of colleague {user_id} says marker{user_id}x{position} and word{position * 7} word{user_id}"
    )


def _round(braid: Braid, datasets: dict[int, int], number: int, mode: str) -> dict[str, Any]:
    """Every user asks for one own passage, another one each round."""
    found = degraded = 0
    milliseconds = []
    position = (7 * number) % CHUNKS
    for user_id in datasets:
        result = braid.manager.search(_passage(user_id, position), user_id=user_id, mode=mode, k=5)
        own = result.hits and result.hits[0].passage.text == _passage(user_id, position)
        found += bool(own) and all(hit.passage.dataset_id == datasets[user_id] for hit in result.hits)
        degraded += bool(result.degraded)
        milliseconds.append(result.timings_ms["total"])
    times = percentiles(milliseconds)
    return {
        "round": number,
        "mode": mode,
        "own passage found": f"{found}/{len(datasets)}",
        "degraded": degraded,
        "p50 ms": times["p50"],
        "p95 ms": times["p95"],
        "RSS MB": resident_mb(),
        "open files": len(os.listdir("/proc/self/fd")),
    }


if __name__ == "__main__":
    main()
