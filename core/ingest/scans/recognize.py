"""Reads a picture of a page with Tesseract: how it is turned, how askew it is, and its words. Runs in a process that
parses alone.
"""

from __future__ import annotations

import csv
import ctypes
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from braid.core.errors import ReadingInterruptedError, UnreadableDocumentError
from braid.core.ingest.scans.program import ORIENTATION, Tesseract
from braid.core.ingest.scans.reading import PageReading, Word

DPI = 300
SURE = 0.8
"""A reading of at least this confidence is taken without a look at others."""
LEAST_WORD = 15
"""Percent. What is less sure is a speck or the edge of a picture."""
LEAST_PAGE = 0.4
"""A page that is read with less confidence has no text: it is a drawing or a photograph."""
_COLUMNS, _ONE_COLUMN, _BLOCK, _VERTICAL_BLOCK, _ORIENTATION_ONLY = 3, 4, 6, 5, 0
"""Tesseract's modes of page segmentation."""
LEAST_TURN = 2.0
"""Least confidence with which a page is taken to be turned, as Tesseract counts it; sure ones have 10 and more."""
STEEPEST = 8.0
"""Degrees that a page may be askew."""
GAP, MOST_BROKEN = 1.2, 0.1
"""Widest gap between words in heights of a line, and share of lines that may begin after a narrower one."""
_SCRIPTS = {"Latin": "eng", "Japanese": "jpn", "Han": "jpn", "Hangul": "kor", "Korean": "kor"}
_OTHERS = frozenset({"jpn", "jpn_vert", "kor", "kor_vert", "chi_sim", "chi_tra"})
"""Languages that are not written in Latin letters; each is tried alone."""
_PR_SET_PDEATHSIG = 1
_KEPT = ("PATH", "TESSDATA_PREFIX", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class _Attempt(NamedTuple):
    languages: str
    mode: int


def read_picture(
    picture: Image.Image, tesseract: Tesseract, *, languages: Sequence[str], timeout_s: float
) -> PageReading:
    """Return the words on a picture in grey, of about 300 dots per inch.

    Raises UnreadableDocumentError when that takes longer than ``timeout_s`` seconds, or the program fails.
    """
    read = _Reader(tesseract, time.monotonic() + timeout_s)
    turn, script = read.orientation(picture)
    upright = picture.rotate(-turn, expand=True) if turn else picture
    skew = _skew(upright)
    straight = upright.rotate(skew, Image.Resampling.BICUBIC, fillcolor=255) if skew else upright
    attempts = _attempts(tesseract, languages, script)
    best = PageReading((), *upright.size, turn=turn, skew=skew)
    for attempt in attempts:
        words = read.words(straight, attempt)
        found = PageReading(words, *upright.size, turn=turn, skew=skew, languages=attempt.languages)
        best = max(best, found, key=_worth)
        if _is_sure(best):
            break
    if best.confidence < LEAST_PAGE:
        return PageReading((), *upright.size, turn=turn)
    return best


def _is_sure(reading: PageReading) -> bool:
    return reading.confidence >= SURE and not _is_scattered(reading)


def _is_scattered(reading: PageReading) -> bool:
    """Return whether gaps between words were taken for gaps between columns: many lines begin where another ends."""
    lines: dict[int, list[Word]] = {}
    for word in reading.words:
        lines.setdefault(word.line, []).append(word)
    boxes = [
        (
            min(word.left for word in line),
            min(word.top for word in line),
            max(word.right for word in line),
            max(word.bottom for word in line),
        )
        for line in lines.values()
    ]
    broken = sum(any(_goes_on(before, after) for before in boxes) for after in boxes)
    return broken > MOST_BROKEN * len(boxes)


def _goes_on(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether one line stands so close after another, at its height, that they are one."""
    height = min(before[3] - before[1], after[3] - after[1])
    is_beside = min(before[3], after[3]) - max(before[1], after[1]) > height / 2
    return is_beside and 0 <= after[0] - before[2] < GAP * height


def _worth(reading: PageReading) -> float:
    """Order readings: much text that is sure. What is less sure than not counts against it."""
    letters = sum(len(word.text) * (word.confidence - 50) for word in reading.words)
    return letters / 2 if _is_scattered(reading) else letters


def _attempts(tesseract: Tesseract, languages: Sequence[str], script: str) -> list[_Attempt]:
    """Return the languages and modes to try, the likeliest first."""
    latin = "+".join(each for each in languages if each not in _OTHERS)
    groups = [group for group in (latin, *(each for each in languages if each in _OTHERS)) if group]
    likely = _SCRIPTS.get(script, "")
    groups.sort(key=lambda group: likely not in group.split("+"))
    first = groups[0]
    attempts = [_Attempt(first, _COLUMNS), _Attempt(first, _ONE_COLUMN), _Attempt(first, _BLOCK)]
    if vertical := tesseract.vertical(first):
        attempts.append(_Attempt(vertical, _VERTICAL_BLOCK))
    attempts += [_Attempt(group, _COLUMNS) for group in groups[1:]]
    return attempts


class _Reader:
    """Calls Tesseract, in all no longer than until ``deadline`` by the monotonic clock."""

    def __init__(self, tesseract: Tesseract, deadline: float) -> None:
        self._tesseract = tesseract
        self._deadline = deadline

    def orientation(self, picture: Image.Image) -> tuple[int, str]:
        """Return by how many degrees, clockwise, the page is to be turned, and its script; 0 and nothing if unknown."""
        if ORIENTATION not in self._tesseract.installed:
            return 0, ""
        said = self._run(picture, "-l", ORIENTATION, "--psm", str(_ORIENTATION_ONLY), must=False)
        facts = dict(re.findall(r"^([^:\n]+): (.+)$", said, re.MULTILINE))
        sure = float(facts.get("Orientation confidence", 0))
        turn = int(facts.get("Rotate", 0)) % 360 if sure >= LEAST_TURN else 0
        return turn, facts.get("Script", "").strip()

    def words(self, picture: Image.Image, attempt: _Attempt) -> tuple[Word, ...]:
        """Return the words on the picture in reading order."""
        mode = ("--psm", str(attempt.mode), "-c", "tessedit_create_tsv=1")
        table = self._run(picture, "-l", attempt.languages, *mode)
        return tuple(_words(csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE)))

    def _run(self, picture: Image.Image, *arguments: str, must: bool = True) -> str:
        left_s = self._deadline - time.monotonic()
        try:
            done = subprocess.run(
                [self._tesseract.path, "stdin", "stdout", "--dpi", str(DPI), *arguments],
                input=_portable(picture),
                capture_output=True,
                timeout=max(left_s, 0.1),
                env={"OMP_THREAD_LIMIT": "1", **{name: os.environ[name] for name in _KEPT if name in os.environ}},
                preexec_fn=_die_with_parent if _libc else None,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UnreadableDocumentError("the page takes too long to be read by machine") from error
        if done.returncode == -signal.SIGKILL:
            raise ReadingInterruptedError("Tesseract was killed while it read the page")
        if done.returncode and must:
            raise UnreadableDocumentError("Tesseract cannot read the page")
        return done.stdout.decode("utf-8", "replace")


def _words(rows: Iterator[Mapping[str, str]]) -> Iterator[Word]:
    for row in rows:
        text = (row.get("text") or "").strip()
        confidence = float(row.get("conf") or -1)
        if row.get("level") != "5" or not text or confidence < LEAST_WORD:
            continue
        left, top, width, height = (int(row[name]) for name in ("left", "top", "width", "height"))
        block, paragraph, line = (int(row[name]) for name in ("block_num", "par_num", "line_num"))
        of_paragraph = block * 1000 + paragraph
        box = (left, top, left + width, top + height)
        yield Word(text, *box, round(confidence), of_paragraph * 1000 + line, of_paragraph)


def _portable(picture: Image.Image) -> bytes:
    """Return the picture in grey as a file that takes no time to write."""
    stream = io.BytesIO()
    picture.convert("L").save(stream, "PPM")
    return stream.getvalue()


def _die_with_parent() -> None:  # pragma: no cover - runs between fork and exec
    """End with the process that parses, which is killed when it takes too long or its job is cancelled."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _skew(picture: Image.Image) -> float:
    """Return by how many degrees the lines are askew, clockwise: the angle at which rows of pixels differ most.

    Projection profiles, after W. Postl, "Detection of linear oblique structures and skew scan in digitized documents",
    1986.
    """
    small = picture.convert("L")
    small.thumbnail((1000, 1000), Image.Resampling.BOX)
    ink = 255 - np.asarray(small, dtype=np.float32)
    if ink.std() < 4:
        return 0.0
    dark = Image.fromarray(np.where(ink > ink.mean() + ink.std(), 255, 0).astype(np.uint8))
    coarse = max(np.arange(-STEEPEST, STEEPEST + 0.5, 1.0), key=lambda angle: _contrast(dark, angle))
    fine = max(np.arange(coarse - 1, coarse + 1.05, 0.1), key=lambda angle: _contrast(dark, angle))
    gain = _contrast(dark, fine) / max(_contrast(dark, 0.0), 1.0)
    return round(float(fine), 1) if abs(fine) >= 0.3 and gain > 1.05 else 0.0


def _contrast(dark: Image.Image, angle: float) -> float:
    """Return how much rows of the picture differ when it is turned by so many degrees against the clock."""
    rows = np.asarray(dark.rotate(float(angle)), dtype=np.float64).sum(axis=1)
    return float(np.square(np.diff(rows)).sum())
