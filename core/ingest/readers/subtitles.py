"""Subtitles (SRT, WebVTT): what is said within a minute together, under the time at which it begins."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from braid.core.ingest.readers.document import ParsedDocument, Section, SourceFile, one_line
from braid.core.ingest.readers.encoding import decode

ERRORS: tuple[type[Exception], ...] = ()

TOGETHER_S, PAUSE_S, TOGETHER_CHARS = 60.0, 5.0, 900
"""Longest time and text of a section, and the pause that ends it."""
ROLLING_S, MAX_ROLLING = 1.0, 10
"""Longest pause before a subtitle that repeats lines of the last, and the most lines."""
_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*+)?\s+([^>]{1,200})>")
_TAG = re.compile(r"<[^<>\n]{0,200}>|\{\\[^{}\n]{0,200}\}")


class Cue(NamedTuple):
    """A subtitle: seconds from the beginning, its text on one line, and its 1-based lines in the file."""

    start: float
    end: float
    text: str
    line: int
    line_end: int


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per minute at most. Notes, styles and markup are left out; who speaks stays."""
    lines = decode(file.content).split("\n")
    if not any(map(_TIMING.match, lines)):
        raise file.unreadable(
            "%(name)s has no subtitles in it: no line has two times with --> between them; save it as .txt",
            code="other_format",
        )
    return ParsedDocument(file.stem, file.file_type, tuple(_sections(_cues(lines))))


def _cues(lines: list[str]) -> Iterator[Cue]:
    """Yield what each subtitle says that the one before has not: rolling captions say every line twice or more."""
    shown: list[str] = []
    waiting: Cue | None = None
    for number, line in enumerate(lines):
        if (timing := _TIMING.match(line)) is None:
            continue
        end = number + 1
        end += end < len(lines) and lines[end].isspace()  # an empty line above the one that is being said
        while end < len(lines) and lines[end].strip() and not _TIMING.match(lines[end]):
            end += 1
        voiced = (_TAG.sub("", _VOICE.sub(r"\1: ", text)) for text in lines[number + 1 : end])
        said = list(filter(None, (one_line(html.unescape(text)) for text in voiced)))
        if not said:
            continue
        start, until = _seconds(timing.groups()[:4]), _seconds(timing.groups()[4:])
        follows = waiting is not None and start - waiting.end <= ROLLING_S
        text = " ".join(_new(said, shown) if follows or said == shown else said)
        shown = said
        if not text:
            if waiting is not None:
                waiting = waiting._replace(end=until, line_end=max(end, number + 1))
            continue
        cue = Cue(start, until, text, number + 1, max(end, number + 1))
        if waiting is not None and follows and text.startswith(f"{waiting.text} "):  # written word by word
            waiting = cue._replace(start=waiting.start, line=waiting.line)
            continue
        if waiting is not None:
            yield waiting
        waiting = cue
    if waiting is not None:
        yield waiting


def _new(said: list[str], shown: list[str]) -> list[str]:
    """Return the lines after those with which the last subtitle ended."""
    for count in range(min(len(said), len(shown), MAX_ROLLING), 0, -1):
        if said[:count] == shown[-count:]:
            return said[count:]
    return said


def _sections(cues: Iterator[Cue]) -> Iterator[Section]:
    together: list[Cue] = []
    for cue in cues:
        if together and (
            cue.start - together[0].start > TOGETHER_S
            or cue.start - together[-1].end > PAUSE_S
            or sum(len(each.text) for each in together) + len(cue.text) > TOGETHER_CHARS
        ):
            yield _section(together)
            together = []
        together.append(cue)
    if together:
        yield _section(together)


def _section(cues: list[Cue]) -> Section:
    text = "\n".join(cue.text for cue in cues)
    return Section(text, _clock(cues[0].start), line=cues[0].line, line_end=cues[-1].line_end, kind="record")


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
