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
        raise file.unreadable("has no subtitles in it: no line has two times with --> between them; save it as .txt")
    return ParsedDocument(file.stem, file.file_type, tuple(_sections(_cues(lines))))


def _cues(lines: list[str]) -> Iterator[Cue]:
    last = ""
    for number, line in enumerate(lines):
        if (timing := _TIMING.match(line)) is None:
            continue
        end = number + 1
        while end < len(lines) and lines[end].strip() and not _TIMING.match(lines[end]):
            end += 1
        said = [_VOICE.sub(r"\1: ", text) for text in lines[number + 1 : end]]
        text = one_line(html.unescape(" ".join(_TAG.sub("", text) for text in said)))
        times = timing.groups()
        if text and text != last:  # rolling captions say everything twice
            yield Cue(_seconds(times[:4]), _seconds(times[4:]), text, number + 1, max(end, number + 1))
        last = text or last


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
