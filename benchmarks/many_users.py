"""Many users with small collections in a process that may open few files, as most do by default."""

from __future__ import annotations

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

USERS = 300
CHUNKS = 30
ROUNDS = 3
OPEN_FILES = 1024
INDEXING_TIMEOUT_S = 900


def main() -> None:
    """Run the child under the limit and print what it found."""
    if len(sys.argv) > 2 and sys.argv[1] == "--child":
        print(json.dumps(_child(Path(sys.argv[2]))))
        return
    args = arguments(f"{USERS} users with {CHUNKS} passages each, {OPEN_FILES} open files at most.")
    with scratch_folder(args.scratch) as scratch:
        command = [sys.executable, "-m", "benchmarks.many_users", "--child", str(scratch / "many-users")]
        child = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=_limit_open_files)
    if child.returncode:
        sys.exit(f"the child process ended with {child.returncode}")
    figures = json.loads(child.stdout)
    columns = ["round", "mode", "own passage found", "degraded", "p50 ms", "p95 ms", "RSS MB", "open files"]
    rows = [[row[column] for column in columns] for row in figures["rounds"]]
    show(figures, [(f"{USERS} users × {CHUNKS} passages, ulimit -n {OPEN_FILES}", columns, rows)], as_json=args.json)


def _limit_open_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))


def _child(data_dir: Path) -> dict[str, Any]:
    with Braid(data_dir, embedding_model=WordVectors()) as braid:
        started = time.perf_counter()
        datasets = _fill(braid)
        if not braid.indexer.wait(INDEXING_TIMEOUT_S):
            sys.exit(f"not indexed within {INDEXING_TIMEOUT_S} s: {braid.indexer.progress()}")
        indexing_s = time.perf_counter() - started
        note(f"indexed {USERS} × {CHUNKS} passages in {indexing_s:.0f} s")
        rounds = [
            _round(braid, datasets, number, mode) for number in range(1, ROUNDS + 1) for mode in ("hybrid", "semantic")
        ]
    return {"users": USERS, "chunks": CHUNKS, "indexing_s": indexing_s, "rounds": rounds}


def _fill(braid: Braid) -> dict[int, int]:
    """User id → dataset id."""
    datasets = {}
    for number in range(USERS):
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
