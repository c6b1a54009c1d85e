"""Draw where the time of a hybrid query goes: ``docs/hybrid-query.svg``, a flame graph of one thread.

20,000 real passages in four collections, random unit vectors, no embedding. py-spy samples the running process.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks.common import ROOT, RandomVectors, arguments, note, percentiles, scratch_folder, show
from benchmarks.passages import scale_passages, word_queries
from benchmarks.speed import fill
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory

PASSAGES = 20_000
SECONDS = 15
RATE = 400


def main() -> None:
    """Fill, search, sample and draw; print the share of the functions that a query goes through."""
    args = arguments(__doc__ or "", add=_options)
    passages = scale_passages(PASSAGES)
    queries = word_queries([text for _, text in passages], 200)
    with scratch_folder(args.scratch) as scratch:
        with DataDirectory(scratch / "flame", embedding_model=RandomVectors()) as directory:
            datasets = [dataset.id for dataset in fill(directory, passages)]
        with Braid(scratch / "flame", embedding_model=RandomVectors()) as braid:
            braid.indexer.wait(600, ["bm25", "dense", "chroma"])
            _search(braid, queries, datasets, 3)
            raw = scratch / "flame.txt"
            milliseconds = _sampled(braid, queries, datasets, ["--format", "raw", "--output", str(raw)])
            shares = _shares(raw.read_text().splitlines())
            _sampled(braid, queries, datasets, ["--format", "flamegraph", "--output", str(args.picture)])
    drawn = args.picture.read_text(encoding="utf-8")
    args.picture.write_text(re.sub("[^<>]*py-spy record[^<>]*", "Hybrid searches", drawn), encoding="utf-8")
    times = percentiles(milliseconds)
    title = f"{len(milliseconds)} searches beside the sampling: p50 {times['p50']:.1f} ms, p95 {times['p95']:.1f} ms"
    show({"ms": times, "shares": dict(shares)}, [(title, ["function", "% of samples"], shares)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "hybrid-query.svg")


def _sampled(braid: Braid, queries: list[str], datasets: list[int], options: list[str]) -> list[float]:
    """Search while py-spy looks; returns milliseconds per search."""
    command = [str(Path(sys.executable).with_name("py-spy")), "record", "--pid", str(os.getpid())]
    command += ["--duration", str(SECONDS), "--rate", str(RATE), "--nonblocking", "--threads", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sampler:
        milliseconds = _search(braid, queries, datasets, SECONDS)
        if sampler.wait(60):
            sys.exit("py-spy failed; may it look at a process of this user? (sysctl kernel.yama.ptrace_scope)")
    return milliseconds


def _search(braid: Braid, queries: list[str], datasets: list[int], seconds: float) -> list[float]:
    note(f"searching for {seconds:g} s")
    milliseconds, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        started = time.perf_counter()
        result = braid.manager.search(queries[len(milliseconds) % len(queries)], user_id=1, dataset_ids=datasets, k=10)
        milliseconds.append(1000 * (time.perf_counter() - started))
        assert not result.degraded, result.degraded
    return milliseconds


def _shares(stacks: list[str]) -> list[tuple[str, float]]:
    """The 25 functions of Braid in which a search spends most, callees included."""
    counts, total = Counter[str](), 0
    for line in stacks:
        stack, _, number = line.rpartition(" ")
        if "RetrieverManager.search" not in stack:
            continue
        total += int(number)
        counts.update(dict.fromkeys({_function(frame) for frame in stack.split(";") if "braid/" in frame}, int(number)))
    return [(name, 100 * count / total) for name, count in counts.most_common(25)]


def _function(frame: str) -> str:
    name, _, place = frame.partition(" (")
    return f"{name} ({place.partition('braid/')[2].partition(':')[0]})"


if __name__ == "__main__":
    main()
