"""How Braid grows: 1,000 to 1,000,000 passages in four collections, each size in processes of its own.

One process stores and indexes, another opens the directory and searches, so that memory and start are those of a
server that is started again; a third puts passages that it and a reader beside it look for; a fourth makes every index
that answers again from the ledger. Texts are real, above 100,000 passages with changed words; vectors lie near a space
of 32 dimensions and cost nothing. ``--write`` puts tables and plots into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import multiprocessing
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.common import (
    ROOT,
    alive_s,
    arguments,
    folder_mb,
    markdown_table,
    note,
    percentiles,
    private_mb,
    resident_mb,
    scratch_folder,
    show,
    write_section,
)
from benchmarks.passages import LowRankVectors, many_texts, scale_passages, word_queries
from benchmarks.plots import panels
from braid.core.braid import Braid, IndexOptions
from braid.core.types import ChunkInput, DocumentInput, Filters, Mode

SIZES = (1_000, 10_000, 100_000, 1_000_000)
COLLECTIONS = 4
PASSAGES_PER_DOCUMENT = 10
DOCUMENTS_PER_PUT = 500
QUERIES = 200
WARM_UP = 10
K = 10
LEG_TIMEOUT_S = 60.0
SAY_EVERY_S = 60.0
SHARES = (50, 10, 1)
"""Percent of the documents that a filter selects, by their date, which is a number from 0 to 99."""
PUTS = 10
FOUND_TIMEOUT_S = 60.0
PARTS = ("p50", "p95")
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
RESULTS = ROOT / ".artifacts" / "benchmarks"
DOCS = ROOT / "docs" / "benchmarks"
COMMAND = "python -m benchmarks.growth --write"


def main() -> None:
    """Measure each size, or be the process that does so."""
    args = arguments(__doc__ or "", add=_options)
    if args.child:
        print(json.dumps(CHILDREN[args.child](args)))
        return
    if args.scratch is None and not {"build", "search"} <= set(args.parts):
        sys.exit("without the parts build and search there is nothing to show; name them in --parts, or give --scratch")
    figures = json.loads(args.results.read_text(encoding="utf-8")) if args.results else _measure(args)
    folder = DOCS if args.write else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "growth.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    _draw(figures["sizes"], folder / "growth.svg")
    tables = _tables(figures["sizes"])
    if args.write:
        shown = [f"{title}:\n\n{markdown_table(columns, rows)}" for title, columns, rows in tables]
        first, last = (f"{figures['sizes'][place]['passages']:,}" for place in (0, -1))
        parts = [f"![From {first} to {last} passages](benchmarks/growth.svg)", *shown]
        write_section(ROOT / "docs" / "benchmarks.md", COMMAND, "\n\n".join(parts))
        return
    show(figures, tables, as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="passages")
    parser.add_argument("--timeout", type=float, default=36_000, help="seconds to wait for the indexes of one size")
    parser.add_argument(
        "--parts", nargs="+", choices=CHILDREN, default=list(CHILDREN), help="these, and those in --scratch"
    )
    parser.add_argument(
        "--copy", choices=("texts", "vectors", "none"), default="texts", help="what is copied to Chroma"
    )
    parser.add_argument(
        "--again", nargs="+", choices=CHILDREN, default=[], help="parts to measure again with --scratch"
    )
    parser.add_argument("--write", action="store_true", help="write into docs/benchmarks.md")
    parser.add_argument("--results", type=Path, help="measure nothing: take the figures of this JSON file")
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    """Build, search and build again, each size; without ``--scratch`` its directory goes before the next one comes."""
    figures: dict[str, Any] = {"collections": COLLECTIONS, "queries": QUERIES, "sizes": []}
    with scratch_folder(args.scratch) as scratch:
        for size in args.sizes:
            folder = scratch / f"growth-{size}"
            note(f"{size:,} passages")
            found = {"passages": size}
            for part in CHILDREN:
                kept = folder.with_suffix(f".{part}.json")  # by an earlier run that was given --scratch
                if part not in args.parts and not kept.exists():
                    continue
                if part in args.again or not kept.exists():
                    if part == "build":
                        shutil.rmtree(folder, ignore_errors=True)
                    kept.write_text(json.dumps(_child(part, folder, size, args)), encoding="utf-8")
                found |= json.loads(kept.read_text())
            figures["sizes"].append(found)
            note(json.dumps(found))
            if args.scratch is None:
                shutil.rmtree(folder, ignore_errors=True)
    return figures


def _child(part: str, folder: Path, size: int, args: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.growth", "--child", part, "--folder", str(folder)]
    command += ["--sizes", str(size), "--timeout", str(args.timeout), "--copy", args.copy]
    child = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if child.returncode:
        sys.exit(f"{part} of {size:,} passages ended with {child.returncode}")
    figures: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return figures


# ---------------------------------------------------------------- in a process per size and part


def _build(args: argparse.Namespace) -> dict[str, Any]:
    """Store and index. Making up the texts is not counted."""
    size, spent = args.sizes[0], 0.0
    texts = many_texts([text for _, text in scale_passages(min(size, 100_000))], size)
    started, core_s = time.perf_counter(), time.process_time()
    with _opened(args.folder, args.copy) as braid:
        for number in range(COLLECTIONS):
            dataset = braid.registry.add(f"part {number}", f"shared_growth_{number}")
            braid.mirror_registry()
            for first in range(0, size // COLLECTIONS, DOCUMENTS_PER_PUT * PASSAGES_PER_DOCUMENT):
                count = min(DOCUMENTS_PER_PUT * PASSAGES_PER_DOCUMENT, size // COLLECTIONS - first)
                made, made_core = time.perf_counter(), time.thread_time()
                batch = list(itertools.islice(texts, count))
                spent += time.perf_counter() - made
                core_s += time.thread_time() - made_core
                braid.ledger.put_documents(dataset.id, _documents(batch, first))
        stored_s = time.perf_counter() - started - spent
        note(f"  stored in {stored_s:.1f} s")
        _wait_for_indexes(braid, args.timeout)
        return {
            "stored_s": stored_s,
            "built_s": time.perf_counter() - started - spent,
            "built_core_s": time.process_time() - core_s,
            "build_mb": resident_mb(),
        }


def _wait_for_indexes(braid: Braid, timeout_s: float) -> None:
    """Wait for every index that answers, and say how far they are once a minute."""
    started = said = time.monotonic()

    def say(done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said > SAY_EVERY_S:
            said = time.monotonic()
            note(f"  {done:,} of {total:,} changes applied after {said - started:.0f} s")

    if not braid.indexer.wait(timeout_s, on_progress=say):
        sys.exit(f"not indexed within {timeout_s:.0f} s; give more with --timeout")


def _rebuild(args: argparse.Namespace) -> dict[str, Any]:
    """Make every index that answers again from the ledger, which has the vectors."""
    shutil.rmtree(args.folder / "indexes")
    started, core_s = time.perf_counter(), time.process_time()
    with _opened(args.folder, args.copy) as braid:
        _wait_for_indexes(braid, args.timeout)
        _ask_until_whole(braid, word_queries([text for _, text in scale_passages(1_000)], 1)[0])
        return {"rebuilt_s": time.perf_counter() - started, "rebuilt_core_s": time.process_time() - core_s}


def _search(args: argparse.Namespace) -> dict[str, Any]:
    """Open the directory, and search it by each mode in turn, then with filters."""
    queries = word_queries([text for _, text in scale_passages(10_000)], QUERIES + WARM_UP)
    _import_all()
    before = resident_mb()
    started, core_s = time.perf_counter(), time.process_time()
    with _opened(args.folder, args.copy) as braid:
        opened_s = time.perf_counter() - started
        _ask_until_whole(braid, queries[0])
        whole_s, whole_core_s, alive = time.perf_counter() - started, time.process_time() - core_s, alive_s()
        ways: dict[str, dict[str, Any]] = {mode: {"mode": mode} for mode in MODES}
        ways |= {f"{share} %": {"filters": Filters(date_to=share - 0.5)} for share in SHARES}
        wall, core = _times(braid, ways, queries)
        return {
            "start_s": opened_s,
            "start_to_whole_s": whole_s,
            "start_to_whole_core_s": whole_core_s,
            "process_to_whole_s": alive,
            "ms": {name: percentiles(wall[name]) for name in MODES},
            "core_ms": {name: statistics.median(core[name]) for name in ways},
            "filtered_ms": {name: percentiles(wall[name]) for name in ways if name not in MODES},
            "rss_mb": resident_mb(),
            "rss_before_mb": before,
            **{f"{kind}_mb": mb for kind, mb in private_mb().items()},
            "disk_mb": folder_mb(args.folder),
        }


def _import_all() -> None:
    """Import what a directory and its first search import when they need it."""
    for name in ("faiss", "tantivy", "sqlalchemy.dialects.sqlite", "braid.core.retriever_manager"):
        importlib.import_module(name)


def _datasets(braid: Braid) -> list[int]:
    return [entry.id for entry in braid.registry.entries()]


def _ask_until_whole(braid: Braid, query: str) -> None:
    """Search until every part answers."""
    datasets = _datasets(braid)
    while braid.search(query, user_id=None, dataset_ids=datasets, k=K).degraded:
        time.sleep(0.01)


def _times(
    braid: Braid, ways: Mapping[str, Mapping[str, Any]], queries: Sequence[str]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Milliseconds by way, of the clock and of the process's processors: each query in each way in turn, so that noise
    hits all. The first queries are not counted.
    """
    datasets = _datasets(braid)
    wall: dict[str, list[float]] = {name: [] for name in ways}
    core: dict[str, list[float]] = {name: [] for name in ways}
    for query, (name, options) in itertools.product(queries, ways.items()):
        started, used = time.perf_counter(), time.process_time()
        result = braid.search(query, user_id=None, dataset_ids=datasets, k=K, **options)
        wall[name].append(1000 * (time.perf_counter() - started))
        core[name].append(1000 * (time.process_time() - used))
        if result.degraded:
            sys.exit(f"{name}: the search was incomplete: {result.degraded[0].reason}")
    return {name: of[WARM_UP:] for name, of in wall.items()}, {name: of[WARM_UP:] for name, of in core.items()}


def _fresh(args: argparse.Namespace) -> dict[str, Any]:
    """Put passages with a word of their own, and look for each here and in a process that only reads."""
    queries = word_queries([text for _, text in scale_passages(10_000)], QUERIES + WARM_UP)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with _opened(args.folder, args.copy) as braid:
        _ask_until_whole(braid, queries[0])
        reader = context.Process(target=_read, args=(args.folder, args.copy, queries, theirs), daemon=True)
        reader.start()
        figures: dict[str, Any] = ours.recv()
        dataset, found = _datasets(braid)[0], dict[str, list[float]](writer=[], reader=[])
        for number in range(PUTS):
            word = "zy" + "".join(chr(ord("a") + int(digit)) for digit in str(time.time_ns()))  # one token
            ours.send(word)
            ours.recv()  # it looks by now
            started = time.time()
            braid.ledger.put_documents(dataset, [DocumentInput(f"new {number}", "", "txt", (ChunkInput(word),))])
            braid.wake()
            found["writer"].append(_found_at(braid, word) - started)
            found["reader"].append(ours.recv() - started)
        ours.close()
        reader.join(FOUND_TIMEOUT_S)
    return {**figures, **{f"found_by_{who}_s": statistics.median(seconds) for who, seconds in found.items()}}


def _read(folder: Path, copy: str, queries: Sequence[str], pipe: Connection) -> None:
    """Search beside the process that writes, tell what that takes, and then when each word that comes was found."""
    _import_all()
    started = time.perf_counter()
    with _opened(folder, copy) as braid:
        _ask_until_whole(braid, queries[0])
        whole_s = time.perf_counter() - started
        wall, core = _times(braid, {"hybrid": {}}, queries)
        figures = {
            "reader_to_whole_s": whole_s,
            "reader_ms": percentiles(wall["hybrid"]),
            "reader_core_ms": statistics.median(core["hybrid"]),
        }
        pipe.send({**figures, **{f"reader_{kind}_mb": mb for kind, mb in private_mb().items()}})
        for word in _words(pipe):
            pipe.send("looking")
            pipe.send(_found_at(braid, word))


def _words(pipe: Connection) -> Iterator[str]:
    while True:
        try:
            yield pipe.recv()
        except EOFError:
            return


def _found_at(braid: Braid, word: str) -> float:
    """The time at which a keyword search finds the word."""
    datasets, end = _datasets(braid), time.monotonic() + FOUND_TIMEOUT_S
    while not braid.search(word, user_id=None, dataset_ids=datasets, mode="keyword", k=K).hits:
        if time.monotonic() > end:
            sys.exit(f"{word} was not found within {FOUND_TIMEOUT_S:.0f} s")
        time.sleep(0.005)
    return time.time()


def _opened(folder: Path, copy: str) -> Braid:
    options = IndexOptions(leg_timeout_s=LEG_TIMEOUT_S, chroma_copy=copy)  # type: ignore[arg-type]  # one of its choices
    return Braid(folder, embedding_model=LowRankVectors(), index_options=options)


def _documents(texts: Sequence[str], first: int) -> list[DocumentInput]:
    return [
        DocumentInput(
            f"{first + start}.txt",
            "",
            "txt",
            tuple(map(ChunkInput, texts[start : start + PASSAGES_PER_DOCUMENT])),
            date=float((first + start) // PASSAGES_PER_DOCUMENT % 100),
        )
        for start in range(0, len(texts), PASSAGES_PER_DOCUMENT)
    ]


CHILDREN: Mapping[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "build": _build,
    "search": _search,
    "fresh": _fresh,
    "rebuild": _rebuild,
}


# ---------------------------------------------------------------- showing


def _tables(sizes: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str], list[list[Any]]]]:
    columns = ["passages", *(f"{mode} {part} ms" for mode in MODES for part in PARTS)]
    times = [[one["passages"], *(one["ms"][mode][part] for mode in MODES for part in PARTS)] for one in sizes]
    by_size = dict(zip((one["passages"] for one in sizes), times, strict=True))
    if 10_000 in by_size and 1_000_000 in by_size:
        pairs = zip(by_size[10_000][1:], by_size[1_000_000][1:], strict=True)
        times.append(["1,000,000 : 10,000", *(large / small for small, large in pairs)])
    costs = {
        "stored s": "stored_s",
        "indexed s": "built_s",
        "… of a core": "built_core_s",
        "made again s": "rebuilt_s",
        "start s": "start_s",
        "first whole answer s": "start_to_whole_s",
        "… of a core, first answer": "start_to_whole_core_s",
        "with imports s": "process_to_whole_s",
        "memory after the build MB": "build_mb",
        "memory after searches MB": "rss_mb",
        "its own MB": "own_mb",
        "disk MB": "disk_mb",
    }
    readers = {
        "opened to first answer s": "reader_to_whole_s",
        "memory of its own MB": "reader_own_mb",
        "pages that it alone maps MB": "reader_mapped_mb",
        "hybrid core ms": "reader_core_ms",
        "found by the writer s": "found_by_writer_s",
        "found by a reader s": "found_by_reader_s",
    }
    rows = [[one["passages"], *(one.get(key, "not measured") for key in costs.values())] for one in sizes]
    tables = [
        (f"Passages in {COLLECTIONS} collections, all searched, {QUERIES} queries", columns, times),
        ("From nothing to complete indexes, then a new process", ["passages", *costs], rows),
    ]
    if any("core_ms" in one for one in sizes):
        names = [*MODES, *(f"{share} %" for share in SHARES)]
        rows = [[one["passages"], *(one["core_ms"][name] for name in names)] for one in sizes if "core_ms" in one]
        shown = [f"{name} core ms" for name in names]
        tables.append(("Processor time of a search, the last ones hybrid with a filter", ["passages", *shown], rows))
        rows = [
            [one["passages"], *(one["filtered_ms"][name][part] for name in names[len(MODES) :] for part in PARTS)]
            for one in sizes
            if "core_ms" in one
        ]
        shown = [f"{name} {part} ms" for name in names[len(MODES) :] for part in PARTS]
        tables.append(("Hybrid search with a filter that selects a part", ["passages", *shown], rows))
    if any("found_by_reader_s" in one for one in sizes):
        rows = [[one["passages"], *(one.get(key, "not measured") for key in readers.values())] for one in sizes]
        tables.append(("A process that reads, and passages put meanwhile", ["passages", *readers], rows))
    return tables


def _draw(sizes: Sequence[Mapping[str, Any]], path: Path) -> None:
    at = [one["passages"] for one in sizes]
    with panels(path, ("p50 and p95, ms", "memory and disk, MB", "build, s", "start, s"), columns=2) as axes:
        for mode, colour in zip(MODES, ("#1f77b4", "#2ca02c", "#d62728"), strict=True):
            axes[0].plot(at, [one["ms"][mode]["p50"] for one in sizes], "o-", color=colour, label=mode)
            axes[0].plot(at, [one["ms"][mode]["p95"] for one in sizes], "o:", color=colour)
        axes[1].plot(at, [one["rss_mb"] for one in sizes], "o-", label="memory after searches")
        axes[1].plot(at, [one["disk_mb"] for one in sizes], "o-", label="disk")
        axes[2].plot(at, [one["stored_s"] for one in sizes], "o-", label="stored")
        axes[2].plot(at, [one["built_s"] for one in sizes], "o-", label="indexed")
        again = [one for one in sizes if "rebuilt_s" in one]
        again_at, again_s = [one["passages"] for one in again], [one["rebuilt_s"] for one in again]
        axes[2].plot(again_at, again_s, "o-", label="made again from the ledger")
        axes[3].plot(at, [one["start_s"] for one in sizes], "o-", label="opened")
        axes[3].plot(at, [one["start_to_whole_s"] for one in sizes], "o-", label="first whole answer")
        for one in axes:
            one.set_xscale("log")
            one.set_yscale("log")
            one.legend(fontsize=7)


if __name__ == "__main__":
    main()
