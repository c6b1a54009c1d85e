"""How well scanned pages are read: the share of characters that are wrong, on pages drawn from known text.

Pages in three languages, of 150 and 300 dots per inch, clean, askew, dirty, both, turned, and in two columns whose
lines are at different heights. The character error rate is the edit distance to the true text, without spaces in
Japanese, divided by the length of the true text.
"""

from __future__ import annotations

import argparse
import os
import re
import time
import unicodedata
from statistics import mean

import numpy as np

from benchmarks.common import EVAL, arguments, need, show
from braid.core.evaluation.beir import read_set
from braid.core.ingest.readers.paged.picture import readable
from braid.core.ingest.scans.program import LANGUAGES, find_tesseract, install_command
from braid.core.ingest.scans.reading import PageReading
from braid.core.ingest.scans.recognize import read_picture
from tests import scans

SETS = {"en": "scifact", "ja": "jsquad-valid", "ko": "ko-strategyqa-facts", "ko, manual": "gimphelp-ko"}
WAYS: dict[str, dict[str, float]] = {
    "clean": {},
    "3° askew": {"skew": 3.0},
    "noisy": {"noise": 0.08},
    "both": {"skew": -2.0, "noise": 0.08},
    "turned": {"turn": 90},
    "two columns": {"columns": 2},
}
LINES = 34
HANGUL = re.compile("[가-힣]")


def main() -> None:
    """Draw the pages, read them and compare."""
    args = arguments(__doc__ or "", add=_options)
    need(EVAL / SETS["en"])
    tesseract = find_tesseract()
    if tesseract is None:
        raise SystemExit(f"Tesseract is not installed: {install_command()}")
    rows = []
    for name in SETS:
        language = name[:2]
        for dpi in (150, 300):
            for way, how in WAYS.items():
                rates, sure, took_s = [], [], []
                for number, lines in enumerate(_pages(name, dpi, args.pages, int(how.get("columns", 1)))):
                    font = (scans.SERIF, scans.SANS)[number % 2]
                    picture = scans.page(lines, language, dpi=dpi, font=font, seed=number, **how)  # type: ignore[arg-type]
                    started = os.times()
                    before = time.perf_counter()
                    reading = read_picture(readable(picture, dpi), tesseract, languages=LANGUAGES, timeout_s=300)
                    ended = os.times()
                    took_s.append(
                        (ended.children_user - started.children_user + ended.user - started.user)
                        if args.cpu
                        else time.perf_counter() - before
                    )
                    rates.append(_error_rate("\n".join(lines), reading, language))
                    sure.append(reading.confidence)
                rows.append(
                    [name, dpi, way, f"{mean(rates):.2%}", f"{max(rates):.2%}", f"{mean(sure):.0%}", mean(took_s)]
                )
    columns = ["language", "dpi", "page", "wrong", "worst page", "confidence", "seconds"]
    tables = [[*row[:-1], f"{row[-1]:.1f}"] for row in rows]
    show({"rows": rows}, [("Character error rate", columns, tables)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pages", type=int, default=4, help="per language, resolution and way")
    parser.add_argument("--cpu", action="store_true", help="seconds of processor time instead of the clock's")


def _pages(name: str, dpi: int, count: int, columns: int) -> list[list[str]]:
    """Return the lines of pages. Of texts in Korean, paragraphs in another language are left out."""
    lines: list[str] = []
    for document in read_set(EVAL / SETS[name]).documents:
        text = document.text
        if name[:2] == "ko":
            text = " ".join(part for part in text.splitlines() if len(HANGUL.findall(part)) > len(part) / 3)
        lines += scans.lines_of(text, name[:2], dpi=dpi, columns=columns) if text else []
        if len(lines) >= count * LINES * columns:
            break
    return [lines[start : start + LINES * columns] for start in range(0, count * LINES * columns, LINES * columns)]


def _error_rate(wanted: str, reading: PageReading, language: str) -> float:
    true, read = _plain(wanted, language), _plain(reading.text, language)
    return _distance(true, read) / max(1, len(true))


def _plain(text: str, language: str) -> str:
    return ("" if language == "ja" else " ").join(unicodedata.normalize("NFKC", text).split())


def _distance(one: str, other: str) -> int:
    """Return the Levenshtein distance, a row of its table at a time."""
    letters = np.array([ord(each) for each in other])
    row = np.arange(len(other) + 1)
    for number, letter in enumerate(one, start=1):
        cheapest = np.minimum(row[1:] + 1, row[:-1] + (letters != ord(letter)))
        row = np.concatenate([[number], cheapest])
        steps = np.arange(len(row))
        row = np.minimum.accumulate(row - steps) + steps  # the cells to the left of each
    return int(row[-1])


if __name__ == "__main__":
    main()
