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

from PIL import Image

from braid.core.errors import ReadingInterruptedError, UnreadableDocumentError
from braid.core.ingest.scans.columns import columns_of
from braid.core.ingest.scans.program import ORIENTATION, Tesseract
from braid.core.ingest.scans.reading import PageReading, Word
from braid.core.ingest.scans.skew import skew_of

DPI = 300
SURE = 0.8
"""A reading of at least this confidence is taken without a look at others."""
LEAST_WORD = 15
"""Percent. What is less sure is a speck or the edge of a picture."""
LEAST_PAGE = 0.4
"""A page that is read with less confidence has no text: it is a drawing or a photograph."""
_COLUMNS, _ONE_COLUMN, _BLOCK, _VERTICAL_BLOCK, _ORIENTATION_ONLY = 3, 4, 6, 5, 0
"""Tesseract's modes of page segmentation."""
_OWN_COLUMNS = -1
"""The columns are found by `columns_of`, and each is read as a block: Tesseract takes Korean spaces for gutters."""
_SYLLABLES = "kor"
"""Tesseract tells where the syllables of this language are; which of them are one word, its text alone says."""
LEAST_TURN = 2.0
"""Least confidence with which a page is taken to be turned, as Tesseract counts it; sure ones have 10 and more."""
GAP, MOST_BROKEN = 1.2, 0.1
"""Widest gap between words in heights of a line, and share of lines that may begin after a narrower one."""
_SCRIPTS = {"Latin": "eng", "Japanese": "jpn", "Han": "jpn", "Hangul": "kor", "Korean": "kor"}
_OTHERS = frozenset({"jpn", "jpn_vert", "kor", "kor_vert", "chi_sim", "chi_tra"})
"""Languages that are not written in Latin letters; each is tried alone."""
_PR_SET_PDEATHSIG = 1
_TABS = 11
"""In a line of Tesseract's table of words."""
_PER_COLUMN = 10**9
"""More than any number of a line or paragraph."""
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
    skew = skew_of(upright)
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
    others = (_COLUMNS, _ONE_COLUMN) if first == _SYLLABLES else (_ONE_COLUMN, _BLOCK)
    attempts = [_Attempt(first, mode) for mode in (_columns_of(first), *others)]
    if vertical := tesseract.vertical(first):
        attempts.append(_Attempt(vertical, _VERTICAL_BLOCK))
    attempts += [_Attempt(group, _columns_of(group)) for group in groups[1:]]
    return attempts


def _columns_of(group: str) -> int:
    return _OWN_COLUMNS if group == _SYLLABLES else _COLUMNS


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
        if attempt.mode != _OWN_COLUMNS:
            return tuple(self._words(picture, attempt.languages, attempt.mode))
        columns = enumerate(columns_of(picture))
        return tuple(
            _moved(word, column.left, column.top, number)
            for number, column in columns
            for word in self._words(picture.crop(column), attempt.languages, _BLOCK)
        )

    def _words(self, picture: Image.Image, languages: str, mode: int) -> Iterator[Word]:
        has_syllables = languages == _SYLLABLES
        text_as_well = ("-c", "tessedit_create_txt=1") if has_syllables else ()
        said = self._run(
            picture, "-l", languages, "--psm", str(mode), "-c", "tessedit_create_tsv=1", *text_as_well
        ).split("\n")
        table = (line for line in said if line.count("\t") == _TABS)
        words = _words(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
        if not has_syllables:
            return words
        return _joined(words, "\n".join(line for line in said if line.count("\t") != _TABS))

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


def _joined(words: Iterator[Word], text: str) -> Iterator[Word]:
    """Yield the words with those joined that stand in the text, which has them all, with nothing between them."""
    last: Word | None = None
    end = 0
    for word in words:
        start = text.find(word.text, end)
        if last is not None and start == end and word.line == last.line:
            last = _one(last, word)
        else:
            if last is not None:
                yield last
            last = word
        end = start + len(word.text) if start >= 0 else end
    if last is not None:
        yield last


def _one(first: Word, second: Word) -> Word:
    letters = len(first.text), len(second.text)
    sure = (first.confidence * letters[0] + second.confidence * letters[1]) / sum(letters)
    return first._replace(
        text=first.text + second.text,
        left=min(first.left, second.left),
        top=min(first.top, second.top),
        right=max(first.right, second.right),
        bottom=max(first.bottom, second.bottom),
        confidence=round(sure),
    )


def _moved(word: Word, right: int, down: int, column: int) -> Word:
    """Return a word of a column where it is on the page."""
    return word._replace(
        left=word.left + right,
        top=word.top + down,
        right=word.right + right,
        bottom=word.bottom + down,
        line=word.line + column * _PER_COLUMN,
        paragraph=word.paragraph + column * _PER_COLUMN,
    )


def _portable(picture: Image.Image) -> bytes:
    """Return the picture in grey as a file that takes no time to write."""
    stream = io.BytesIO()
    picture.convert("L").save(stream, "PPM")
    return stream.getvalue()


def _die_with_parent() -> None:  # pragma: no cover - runs between fork and exec
    """End with the process that parses, which is killed when it takes too long or its job is cancelled."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
