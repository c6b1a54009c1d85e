"""500 files and a long PDF are uploaded to a running server, while somebody else searches: how much slower is that?"""

from __future__ import annotations

import argparse
import io
import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.queues import Queue
from typing import Any

import httpx
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from benchmarks.common import arguments, note, percentiles, scratch_folder, show
from braid.core.priority import lower_thread_priority
from tests.served import Served

FILES = 500
PAGES = 10_000
SEARCH_EVERY_S = 0.2
QUIET_S = 20.0
TARGET_RATIO = 2.0
QUERIES = (
    "how are rankings fused",
    "データセットを削除するとどうなりますか",
    "파일을 읽을 수 없을 때",
    "keyword search",
)
WORDS = ("library", "lends", "ten", "books", "each", "reader", "two", "weeks", "nobody", "reserved", "renewed", "once")


def main() -> None:
    """Measure quiet, under load, and say the ratio."""
    args = arguments("Uploads beside searches.", add=_options)
    given = {"MAX_FILE_MB": 200, "EMBEDDING_THREADS": args.embedding_threads, "JOB_WORKERS": args.job_workers}
    with scratch_folder(args.scratch) as scratch, Served(scratch / "data", **given) as served:
        dataset_id = served.new_dataset("Load")
        _until(lambda: is_indexed(served), 300)
        figures = _measure(served, dataset_id, args)
    phases = ("quiet", "uploading and reading", "embedding")
    columns = ["phase", "searches", "p50 ms", "p95 ms", "p95 : quiet", "page p50 ms", "page p95 ms"]
    rows = [[phase, *(figures[phase][column] for column in columns[1:])] for phase in phases]
    title = f"{args.files} files and a PDF of {args.pages:,} pages; target: p95 at most {TARGET_RATIO:g} times quiet"
    show(figures, [(title, columns, rows)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--embedding-threads", type=int, default=0, help="the setting embedding_threads")
    parser.add_argument("--job-workers", type=int, default=0, help="the setting job_workers")
    parser.add_argument("--embedding-s", type=float, default=30.0, help="how long to look while it only embeds")


def _measure(served: Served, dataset_id: int, args: argparse.Namespace) -> dict[str, Any]:
    note("making the PDF")
    pdf = _long_pdf(args.pages)
    with _searcher(served) as searcher:
        note("searching in quiet")
        quiet = searcher.figures_while(lambda: time.sleep(QUIET_S))
        started = time.monotonic()
        note("uploading")
        busy = searcher.figures_while(lambda: _upload(served, dataset_id, pdf, args.files))
        read_s = time.monotonic() - started
        note(f"all read after {read_s:.0f} s; embedding goes on")
        embedding = searcher.figures_while(lambda: time.sleep(args.embedding_s))
    found = {"quiet": quiet, "uploading and reading": busy, "embedding": embedding, "read_s": read_s}
    for phase in (quiet, busy, embedding):
        phase["p95 : quiet"] = phase["p95 ms"] / quiet["p95 ms"]
    return found


# ---------------------------------------------------------------- the load


def _upload(served: Served, dataset_id: int, pdf: bytes, files: int) -> None:
    headers = served.headers()

    def send(number: int) -> int:
        content = pdf if number < 0 else f"# Note {number}\n\n{_text(number, 150)}".encode()
        name = "long.pdf" if number < 0 else f"notes/{number}.md"
        return served.upload(dataset_id, name, content, headers).status_code

    # Browsers elsewhere would send these: what sending costs is not the server's.
    with ThreadPoolExecutor(3, initializer=lower_thread_priority) as threads:
        refused = [status for status in threads.map(send, range(-1, files)) if status != 202]
    if refused:
        note(f"{len(refused)} uploads were refused")
    states = list(served.wait_read(dataset_id, timeout_s=1800).values())
    note(f"{states.count('ready')} documents read, {states.count('failed')} failed")


def _text(number: int, words: int) -> str:
    return " ".join(f"{WORDS[(number * 7 + i * i) % len(WORDS)]}{'' if i % 9 else number}" for i in range(words))


def _long_pdf(pages: int) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, pageCompression=0)
    for number in range(1, pages + 1):
        canvas.drawString(50, 800, f"Page {number}")
        canvas.drawString(50, 780, _text(number, 12))
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


# ---------------------------------------------------------------- the searches


class _Searcher:
    """Somebody who searches all the time, in a process of their own: uploading keeps this one busy."""

    def __init__(self, measured: Queue[tuple[str, float]]) -> None:
        self._measured = measured

    def figures_while(self, work: Callable[[], None]) -> dict[str, Any]:
        """What was measured while the work lasted."""
        self._taken()
        work()
        times = self._taken()
        searches = percentiles([ms for path, ms in times if path == "/search"])
        pages = percentiles([ms for path, ms in times if path != "/search"])
        return {
            "searches": sum(path == "/search" for path, _ in times),
            "p50 ms": searches["p50"],
            "p95 ms": searches["p95"],
            "page p50 ms": pages["p50"],
            "page p95 ms": pages["p95"],
        }

    def _taken(self) -> list[tuple[str, float]]:
        taken = []
        while not self._measured.empty():
            taken.append(self._measured.get())
        return taken


@contextmanager
def _searcher(served: Served) -> Iterator[_Searcher]:
    spawn = multiprocessing.get_context("spawn")
    measured = spawn.Queue()
    process = spawn.Process(
        target=_search, args=(str(served.client.base_url), dict(served.client.cookies), measured), daemon=True
    )
    process.start()
    _until(lambda: not measured.empty(), 60)
    yield _Searcher(measured)
    process.terminate()
    process.join()


def _search(base_url: str, cookies: dict[str, str], measured: Queue[tuple[str, float]]) -> None:
    """A search, with other words each time, and a page without one, several times a second."""
    with httpx.Client(base_url=base_url, cookies=cookies, timeout=60) as client:
        for number in itertools.count():
            query = f"{QUERIES[number % len(QUERIES)]} {number}"
            measured.put(("/search", _timed(client, "/search", {"q": query, "d": "-1", "mode": "hybrid"})))
            measured.put(("/datasets", _timed(client, "/datasets", {})))
            time.sleep(SEARCH_EVERY_S)


def _timed(client: httpx.Client, path: str, query: dict[str, str]) -> float:
    started = time.perf_counter()
    client.get(path, params=query).raise_for_status()
    return 1000 * (time.perf_counter() - started)


def is_indexed(served: Served) -> bool:
    """Whether no dataset of the signed-in user waits for an index."""
    return 'data-busy="1"' not in served.client.get("/datasets/live").text


def _until(condition: Callable[[], bool], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.5)


if __name__ == "__main__":
    main()
