"""Braid beside other libraries: ``make bench-peers``, or ``python -m benchmarks.peers --quick`` for a trial.

Results are kept in .artifacts/benchmarks after every setting; ``--write`` puts them into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, SETS, note, scratch_folder, write_section
from benchmarks.peers.measure import Plan, describe, measure_quality, measure_setting
from benchmarks.peers.plots import draw
from benchmarks.peers.process import TITLES
from benchmarks.peers.report import page

RESULTS = ROOT / ".artifacts" / "benchmarks"
DOCS = ROOT / "docs" / "benchmarks"
FULL = Plan(
    peers=tuple(TITLES),
    sizes=(10_000, 100_000),
    collections=(1, 4, 16),
    sets=SETS,
    rounds=5,
    queries=30,
    judged_queries=150,
    cap_s=60.0,
    build_cap_s=3600.0,
)
QUICK = replace(
    FULL,
    sizes=(10_000,),
    collections=(4,),
    sets=("gimphelp-ko",),
    rounds=2,
    queries=9,
    judged_queries=20,
    cap_s=6.0,
    build_cap_s=600.0,
)


def main() -> None:
    """Measure, or read what was measured, and write tables and plots."""
    args = _arguments()
    if args.results:
        results = json.loads(args.results.read_text(encoding="utf-8"))
    else:
        with scratch_folder(args.scratch) as scratch:
            results = _measure(_plan(args), scratch)
    if args.write:
        _publish(results, DOCS)
        write_section(ROOT / "docs" / "benchmarks.md", "make bench-peers", page(results, plot="benchmarks/peers.svg"))
    else:
        _publish(results, RESULTS)
        text = page(results, plot="peers.svg")
        (RESULTS / "peers.md").write_text(text + "\n", encoding="utf-8")
        print(text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 passages, 4 collections, few queries")
    parser.add_argument("--write", action="store_true", help="write into docs/benchmarks.md")
    parser.add_argument("--results", type=Path, help="measure nothing: take the figures of this JSON file")
    parser.add_argument("--peers", nargs="+", choices=TITLES, help="these only; ratios need braid")
    parser.add_argument("--sizes", nargs="+", type=int, help="passages")
    parser.add_argument("--collections", nargs="+", type=int)
    parser.add_argument("--sets", nargs="*", choices=SETS, help="judged sets; none after the option: no quality")
    parser.add_argument("--queries", type=int, help="per cell and round, a multiple of 3")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--cap", type=float, help="seconds for the queries of a cell")
    parser.add_argument("--scratch", type=Path, help="where the peers store; removed at the end of each setting")
    args = parser.parse_args()
    if args.quick and args.write:
        parser.error("--quick is a trial: its figures are not written into docs/benchmarks.md")
    return args


def _plan(args: argparse.Namespace) -> Plan:
    fields = {"cap_s": args.cap, "queries": args.queries, "rounds": args.rounds}
    fields |= {name: getattr(args, name) for name in ("peers", "sizes", "collections", "sets")}
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    return replace(QUICK if args.quick else FULL, **{name: value for name, value in given.items() if value is not None})


def _measure(plan: Plan, scratch: Path) -> dict[str, Any]:
    results: dict[str, Any] = {
        "plan": asdict(plan),
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "python": platform.python_version(),
            "date": time.strftime("%Y-%m-%d"),
        },
        "peers": describe(plan.peers, scratch),
        "settings": [],
        "quality": [],
    }
    for size in plan.sizes:
        for collections in plan.collections:
            results["settings"].append(measure_setting(plan, scratch, size=size, collections=collections))
            _keep(results)
    for name in plan.sets:
        results["quality"].append(measure_quality(plan, scratch, name))
        _keep(results)
    return results


def _keep(results: dict[str, Any]) -> None:
    """Save what there is, so that a run that is stopped is not lost."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "peers.json").write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")


def _publish(results: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    draw(results, folder / "peers.svg")
    note(f"{os.path.relpath(folder)}: peers.json, peers.svg")


if __name__ == "__main__":
    main()
