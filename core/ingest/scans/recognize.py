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
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from PIL import Image

from braid.core.errors import ReadingInterruptedError, UnreadableDocumentError
from braid.core.ingest.scans.columns import columns_of
from braid.core.ingest.scans.direction import reading_scale, runs_downwards, tiers_of
from braid.core.ingest.scans.program import ORIENTATION, Tesseract
from braid.core.ingest.scans.reading import IS_PART, PageReading, ScannedWord
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
LEAST_DOWNWARDS = 0.6
"""A page whose lines seem to run from top to bottom is read so if it is read with this confidence."""
GAP, MOST_BROKEN = 1.2, 0.1
"""Widest gap between words in heights of a line, and share of lines that may begin after a narrower one."""
_LATIN = "Latin"
_SCRIPTS = {_LATIN: "eng", "Japanese": "jpn", "Han": "jpn", "Hangul": "kor", "Korean": "kor"}
_OTHERS = frozenset({"jpn", "jpn_vert", "kor", "kor_vert", "chi_sim", "chi_tra"})
"""Languages that are not written in Latin letters; each is tried alone, and then with those that are."""
_THUMBNAIL, _THUMBNAIL_EDGE, _LEAST_CONTRAST = 300, 30, 20
"""Pixels of the longest side, share of it that is edge, and levels of grey by which a page differs from blank paper."""
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
    is_part = bool(picture.info.get(IS_PART))
    if _is_blank(picture):
        return PageReading((), *picture.size, is_blank=True, is_part=is_part)
    read = _Reader(tesseract, time.monotonic() + timeout_s)
    turn, script = read.orientation(picture)
    turn = 0 if is_part else turn  # as the page's own text
    upright = picture.rotate(-turn, expand=True) if turn else picture
    skew = skew_of(upright)
    straight = upright.rotate(skew, Image.Resampling.BICUBIC, fillcolor=255) if skew else upright
    if downwards := _downwards(straight, tesseract, languages, script, read):
        return replace(downwards, turn=turn, skew=skew, is_part=is_part)
    attempts = _attempts(tesseract, languages, script)
    best = PageReading((), *upright.size, turn=turn, skew=skew, is_part=is_part)
    for attempt in attempts:
        words = read.words(straight, attempt)
        found = PageReading(words, *upright.size, turn=turn, skew=skew, languages=attempt.languages, is_part=is_part)
        best = max(best, found, key=_worth)
        if _is_sure(best):
            break
    if best.confidence < LEAST_PAGE:
        return PageReading((), *upright.size, turn=turn, is_part=is_part)
    return best


def _downwards(
    picture: Image.Image, tesseract: Tesseract, languages: Sequence[str], script: str, read: _Reader
) -> PageReading | None:
    """Return what is read of lines that run from top to bottom; None where they do not, or it is not sure."""
    known = (tesseract.vertical(group) for group in _groups(languages, script))
    vertical = next(filter(None, known), "")
    if not vertical or script == _LATIN or not runs_downwards(picture):
        return None
    scale = reading_scale(picture)
    size = round(picture.width * scale), round(picture.height * scale)
    small = picture.resize(size, Image.Resampling.BOX) if scale < 1 else picture
    tiers = enumerate(tiers_of(small))
    words = tuple(
        _enlarged(_moved(word, tier.left, tier.top, number), scale)
        for number, tier in tiers
        for word in read.words(small.crop(tier), _Attempt(vertical, _VERTICAL_BLOCK))
    )
    found = PageReading(words, *picture.size, languages=vertical)
    return found if found.confidence >= LEAST_DOWNWARDS else None


def _is_blank(picture: Image.Image) -> bool:
    """Return whether nothing stands out from the paper, but for its edges and specks."""
    small = picture.convert("L")
    small.thumbnail((_THUMBNAIL, _THUMBNAIL), Image.Resampling.BOX)
    edge = max(min(small.size) // _THUMBNAIL_EDGE, 1)
    levels = np.asarray(small.crop((edge, edge, small.width - edge, small.height - edge)), dtype=np.int64)
    return not levels.size or int(levels.max() - levels.min()) < _LEAST_CONTRAST


def _is_sure(reading: PageReading) -> bool:
    return reading.confidence >= SURE and not _is_scattered(reading)


def _is_scattered(reading: PageReading) -> bool:
    """Return whether gaps between words were taken for gaps between columns: many lines begin where another ends."""
    lines: dict[int, list[ScannedWord]] = {}
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
    groups = _groups(languages, script)
    first = groups[0]
    others = (_COLUMNS, _ONE_COLUMN) if first == _SYLLABLES else (_ONE_COLUMN, _BLOCK)
    attempts = [_Attempt(first, mode) for mode in (_columns_of(first), *others)]
    if vertical := tesseract.vertical(first):
        attempts.append(_Attempt(vertical, _VERTICAL_BLOCK))
    attempts += [_Attempt(group, _columns_of(group)) for group in groups[1:]]
    latin = [group for group in groups if not _OTHERS.intersection(group.split("+"))]
    both = (f"{group}+{latin[0]}" for group in groups if latin and group not in latin)
    attempts += [_Attempt(each, _columns_of(each)) for each in both]  # a page with lines in either
    return attempts


def _groups(languages: Sequence[str], script: str) -> list[str]:
    """Return the languages that are tried together, those of the script first."""
    latin = "+".join(each for each in languages if each not in _OTHERS)
    groups = [group for group in (latin, *(each for each in languages if each in _OTHERS)) if group]
    likely = _SCRIPTS.get(script, "")
    return sorted(groups, key=lambda group: likely not in group.split("+"))


def _columns_of(group: str) -> int:
    return _OWN_COLUMNS if _SYLLABLES in group.split("+") else _COLUMNS


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

    def words(self, picture: Image.Image, attempt: _Attempt) -> tuple[ScannedWord, ...]:
        """Return the words on the picture in reading order."""
        if attempt.mode != _OWN_COLUMNS:
            return tuple(self._words(picture, attempt.languages, attempt.mode))
        columns = enumerate(columns_of(picture))
        return tuple(
            _moved(word, column.left, column.top, number)
            for number, column in columns
            for word in self._words(picture.crop(column), attempt.languages, _BLOCK)
        )

    def _words(self, picture: Image.Image, languages: str, mode: int) -> Iterator[ScannedWord]:
        has_syllables = _SYLLABLES in languages.split("+")
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


def _words(rows: Iterator[Mapping[str, str]]) -> Iterator[ScannedWord]:
    for row in rows:
        text = (row.get("text") or "").strip()
        confidence = float(row.get("conf") or -1)
        if row.get("level") != "5" or not text or confidence < LEAST_WORD:
            continue
        left, top, width, height = (int(row[name]) for name in ("left", "top", "width", "height"))
        block, paragraph, line = (int(row[name]) for name in ("block_num", "par_num", "line_num"))
        of_paragraph = block * 1000 + paragraph
        box = (left, top, left + width, top + height)
        yield ScannedWord(text, *box, round(confidence), of_paragraph * 1000 + line, of_paragraph)


def _joined(words: Iterator[ScannedWord], text: str) -> Iterator[ScannedWord]:
    """Yield the words with those joined that stand in the text, which has them all, with nothing between them."""
    last: ScannedWord | None = None
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


def _one(first: ScannedWord, second: ScannedWord) -> ScannedWord:
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


def _moved(word: ScannedWord, right: int, down: int, column: int) -> ScannedWord:
    """Return a word of a column where it is on the page."""
    return word._replace(
        left=word.left + right,
        top=word.top + down,
        right=word.right + right,
        bottom=word.bottom + down,
        line=word.line + column * _PER_COLUMN,
        paragraph=word.paragraph + column * _PER_COLUMN,
    )


def _enlarged(word: ScannedWord, scale: float) -> ScannedWord:
    """Return a word of a page that was made smaller where it is on the page itself."""
    left, top, right, bottom = (round(side / scale) for side in (word.left, word.top, word.right, word.bottom))
    return word._replace(left=left, top=top, right=right, bottom=bottom)


def _portable(picture: Image.Image) -> bytes:
    """Return the picture in grey as a file that takes no time to write."""
    stream = io.BytesIO()
    picture.convert("L").save(stream, "PPM")
    return stream.getvalue()


def _die_with_parent() -> None:  # pragma: no cover - runs between fork and exec
    """End with the process that parses, which is killed when it takes too long or its job is cancelled."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
