"""Logs of changes: documents whose headings, or rows, are versions or days, and what stands below each of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from braid.core.chat.citations import Citation
from braid.core.chat.quoting.candidates import headings_of
from braid.core.chat.quoting.parts import parts_of
from braid.core.chat.quoting.tables import split_tables
from braid.core.text.moments import PeriodEnd, UnclearPeriodError, moments_in

_CALLED = r"(?:\b(?:v|ver|version|rel|release|rev|revision|edition)s?|バージョン|リリース|第|버전|릴리스|제)[ .]*+"
_NUMBER = re.compile(
    rf"(?:{_CALLED}(?P<called>\d{{1,4}}(?:\.\d{{1,4}}){{0,3}})|(?<![A-Za-z\d.])(?P<bare>\d{{1,4}}(?:\.\d{{1,4}}){{1,3}}))"
    r"(?!\.?\d| ?[%％]|[条回章節項号조회장절항호])",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"\b(?:released?|unreleased|on|of|the|from|current|latest|stable|beta|final|lts|yanked)\b|[(（]\w[)）]|バージョン|リリース"
    r"|[初]?[版판]|公開|配信|予定|現行|最新|버전|릴리스|출시|배포|공개|최신|현재",
    re.IGNORECASE,
)
"""What a version's heading may have beside its number and its day."""
LOG = re.compile(
    r"\b(?:change ?logs?|changes|history|release notes|revisions?|what['’]?s new|updates)\b"
    r"|(?:[更変][新更]|改[訂定版])(?:履歴|内容|記録|点)|リリースノート|お知らせ"
    r"|(?:변경|개정|수정|업데이트) ?(?:이력|내역|기록|사항|노트)|릴리스 ?노트",
    re.IGNORECASE,
)
"""Names of documents that are logs of changes, whose headings may be days alone."""
LONGEST_NAME = 80
Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A version by its name, as a heading has it: its numbers, and its day, or as much of that as is told."""

    name: str
    numbers: Numbers
    day: Numbers


def numbers_in(text: str) -> list[Numbers]:
    """Return the numbers of versions in a text.

    >>> numbers_in("What changed between v2.5 and 2.10.1?"), numbers_in("4.2%の値上げは第3版から")
    ([(2, 5), (2, 10, 1)], [(3,)])
    """
    found = _NUMBER.finditer(_without_days(text))
    return [tuple(map(int, (each["called"] or each["bare"]).split("."))) for each in found]


def days_in(text: str) -> list[Numbers]:
    """Return the days, months and years in a text as numbers: ``(2026, 5)`` of May 2026; without a year it is 0."""
    units = {"year": 1, "month": 2, "day": 3}
    return [(each.year or 0, each.number, each.day)[: units[each.unit]] for each in _days(text) if each.unit in units]


def without_numbers(text: str) -> str:
    """Return a text without numbers of versions, and without days."""
    return _NUMBER.sub(" ", _without_days(text))


def _without_days(text: str) -> str:
    left = unicodedata.normalize("NFKC", text)
    for each in _days(text):
        left = left[: each.start] + " " * (each.end - each.start) + left[each.end :]
    return left


def _days(text: str) -> list[PeriodEnd]:
    try:
        return moments_in(unicodedata.normalize("NFKC", text).lower())
    except UnclearPeriodError:
        return []


def version_of(heading: str, title: str = "") -> Version | None:
    """Return the version that a heading names, and nothing else but words of the title; None for any other heading.

    >>> version_of("## [2.6.1] - 14 October 2026").numbers, version_of("3.1 Prices") is None
    ((2, 6, 1), True)
    """
    text = unicodedata.normalize("NFKC", heading)
    if len(text) > LONGEST_NAME or heading == title or not any(map(str.isdigit, text)):
        return None
    numbers, days = numbers_in(text)[:1], days_in(text)[:1]
    if not numbers and not (days and len(days[0]) > 1 and LOG.search(title)):
        return None
    left = _BESIDE.sub(" ", without_numbers(text))
    known = unicodedata.normalize("NFKC", title).casefold()
    if any(word.casefold() not in known or word.isdigit() for word in re.findall(r"[^\W_]+", left)):
        return None
    return Version(heading, numbers[0] if numbers else (), days[0] if days else ())


def told_of_versions(citation: Citation) -> Iterator[tuple[Version, Sequence[str], str]]:
    """Yield the sentences, items and rows of each version of a passage, with the headings from the version on."""
    title, *path = headings_of(citation)
    version, headings = None, list[str]()
    for heading in path:
        found = version_of(heading, title)
        version, headings = (found, [heading]) if found else (version, [*headings, heading])
    prose, rows = split_tables(citation.text)
    for part in parts_of(prose, headings_of(citation)):
        if part.kind in ("heading", "sentence") and (found := version_of(part.text, title)):
            version, headings = found, [part.text]
        elif version and part.kind == "heading":
            headings = [version.name, part.text]
        elif version and part.kind in ("sentence", "item"):
            yield version, headings, part.text
    for row in rows:
        named = zip(row.columns or row.cells, row.cells[:2], strict=False)
        either = [version_of(cell, title) or version_of(f"{column} {cell}", title) for column, cell in named]
        for version in sorted(filter(None, either), key=lambda each: -len(each.numbers))[:1]:
            yield version, [], row.text


def version_above(citation: Citation, text: str) -> str:
    """Return the name of the version that a text of a passage is about; empty where it is about none."""
    found = (version.name for version, _, told in told_of_versions(citation) if told == text)
    return next(found, "")
