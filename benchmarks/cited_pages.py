"""How many citations of PDF files can be marked on their pages, rightly, and how long a page takes to be shown.

A file of many pages (``--pages``) says how much memory the process needs that reads and draws it.

Made-up files in three languages, in one column and in two, with running heads and page numbers. A mark is right where
the characters under it are the passage's.
"""

from __future__ import annotations

import argparse
import io
import math
import random
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reportlab.lib.pagesizes import A4  # type: ignore[import-untyped]
from reportlab.lib.styles import ParagraphStyle  # type: ignore[import-untyped]
from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph  # type: ignore[import-untyped]

from benchmarks.common import EVAL, arguments, need, percentiles, scratch_folder, show
from braid.core.evaluation.beir import read_set
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse_pool import PagePicture, ParsePool
from braid.core.ingest.plan import IngestOptions
from braid.core.originals.pages import PagePictures
from braid.core.originals.placing import find_passage

FONTS = {"en": "Times-Roman", "ja": "HeiseiMin-W3", "ko": "HYSMyeongJo-Medium"}
SETS = {"en": ("scifact",), "ja": ("jsquad-valid",), "ko": ("ko-strategyqa-facts", "gimphelp-ko")}
CHARS_PER_CITATION = 2_500
"""Of a file's text, so that it has at least as many passages as are cited."""
LEFT_OUT = frozenset("\x02\ufffe\u00ad-\u2010\u2011|\ufffd")


def main() -> None:
    """Make the files, read them, and mark citations."""
    args = arguments(__doc__ or "", add=_options)
    dice = random.Random(7)
    rows, shown_ms, again_ms = [], [], []
    per_file = math.ceil(args.citations / 6)
    seen: set[tuple[Path, int | None]] = set()
    pool = ParsePool()
    with scratch_folder(args.scratch) as scratch:
        for language, columns in [(language, columns) for language in FONTS for columns in (1, 2)]:
            path = scratch / f"{language}-{columns}.pdf"
            path.write_bytes(_file(language, columns, chars=per_file * CHARS_PER_CITATION))
            document = pool.parse(Incoming.from_file(path, path.name), IngestOptions())
            chosen = dice.sample(document.chunks, min(len(document.chunks), per_file))
            counts = {"right": 0, "not placed": 0, "wrong": 0}
            pictures = PagePictures(scratch / "pages")
            for chunk in chosen:
                drawn, first_ms = _draw(pool, pictures, path, document.content_hash, chunk.page or 1)
                _, later_ms = _draw(pool, pictures, path, document.content_hash, chunk.page or 1)
                if (path, chunk.page) not in seen:
                    shown_ms.append(first_ms)
                seen.add((path, chunk.page))
                again_ms.append(later_ms)
                counts[_outcome(chunk.text, drawn, ends_here=chunk.page == (chunk.page_end or chunk.page))] += 1
            rows.append([language, columns, drawn.pages, len(chosen), *counts.values()])
        pool.close()
        memory = (
            "Memory",
            ["pages", "passages", "ms to read", "ms per page, worst of 20", "MiB"],
            [_long(scratch, args.pages)],
        )
    totals = [sum(row[at] for row in rows) for at in range(3, 7)]
    rows.append(["all", "", "", *totals])
    columns_shown = ["language", "columns", "pages", "citations", "right", "not placed", "wrong"]
    times = {"first": percentiles(shown_ms), "again": percentiles(again_ms)}
    timing = ("A page", ["time", *next(iter(times.values()))], [[name, *each.values()] for name, each in times.items()])
    shown = {"rows": rows, "times": times, "memory": memory[2]}
    show(shown, [("Marks", columns_shown, rows), timing, memory], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--citations", type=int, default=1000)
    parser.add_argument("--pages", type=int, default=2000)


def _long(scratch: Path, pages: int) -> list[object]:
    """Read a file of many pages and draw some of them; its process's memory is the most of any process so far."""
    path, pool = scratch / "long.pdf", ParsePool()
    canvas = Canvas(str(path))
    for number in range(1, pages + 1):
        text = canvas.beginText(50, 780)
        for line in range(50):
            text.textLine(
                f"Line {line} of page {number} tells of pump {number * 50 + line}, which nobody has ever seen."
            )
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    started = time.perf_counter()
    document = pool.parse(Incoming.from_file(path, path.name), IngestOptions())
    read_ms, pictures = (time.perf_counter() - started) * 1000, PagePictures(scratch / "long")
    some = {1, *range(max(1, pages // 20), pages + 1, max(1, pages // 20))}
    worst_ms = max(_draw(pool, pictures, path, document.content_hash, number)[1] for number in some)
    pool.close()
    most_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return [pages, len(document.chunks), round(read_ms), round(worst_ms), round(most_mb)]


def _file(language: str, columns: int, *, chars: int) -> bytes:
    texts, left = [], chars
    for name in SETS[language]:
        need(EVAL / name)
    for document in (each for name in SETS[language] for each in read_set(EVAL / name).documents):
        if left > 0:
            texts.append(document.text)
            left -= len(document.text)
    if language != "en":
        pdfmetrics.registerFont(UnicodeCIDFont(FONTS[language]))
    style = ParagraphStyle(
        "text",
        fontName=FONTS[language],
        fontSize=10,
        leading=14,
        spaceAfter=6,
        wordWrap=None if language == "en" else "CJK",
    )
    stream = io.BytesIO()
    width, height = A4
    each = (width - 100 - 20 * (columns - 1)) / columns
    frames = [Frame(50 + number * (each + 20), 60, each, height - 130) for number in range(columns)]

    def decorate(canvas: Any, document: Any) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(50, height - 40, "A running head of the journal")
        canvas.drawString(width / 2, 30, str(document.page))

    template = BaseDocTemplate(stream, pagesize=A4)
    template.addPageTemplates([PageTemplate(frames=frames, onPage=decorate)])
    template.build([Paragraph(_escaped(text), style) for text in texts])
    return stream.getvalue()


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _draw(
    pool: ParsePool, pictures: PagePictures, path: Path, content_hash: str, number: int
) -> tuple[PagePicture, float]:
    started = time.perf_counter()
    found = pictures.get(
        path,
        content_hash,
        number,
        lambda path, number: pool.draw_page(path, number, filename=path.name, timeout_s=10),
    )
    return found, (time.perf_counter() - started) * 1000


def _outcome(passage: str, drawn: PagePicture, *, ends_here: bool) -> str:
    found = find_passage(passage, drawn.text, in_part=not ends_here)
    if not found:
        return "not placed"
    marked, wanted = _letters(drawn.text, found), _plain(passage)
    is_right = marked == wanted if ends_here else bool(marked) and (marked in wanted or wanted.startswith(marked[:40]))
    return "right" if is_right else "wrong"


def _letters(text: str, ranges: Sequence[range]) -> str:
    return _plain("".join(text[each.start : each.stop] for each in ranges))


def _plain(text: str) -> str:
    return "".join(character for character in text if character not in LEFT_OUT and not character.isspace())


if __name__ == "__main__":
    main()
