"""Logs of changes: documents whose headings, or rows, are versions or days, and what stands below each of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from braid.core.chat.citations import Citation
from braid.core.chat.quoting.candidates import headings_of
from braid.core.chat.quoting.parts import parts_of
from braid.core.chat.quoting.tables import QuotedRow, split_tables
from braid.core.text.moments import PeriodEnd, UnclearPeriodError, moments_in

_CALLED = r"(?:\b(?:v|ver|version|rel|release|rev|revision|edition)s?|バージョン|リリース|第|버전|릴리스|제)[ .]*+"
_NUMBER = re.compile(
    rf"(?:{_CALLED}(?P<called>\d{{1,4}}(?:\.\d{{1,4}}){{0,3}})|(?<![A-Za-z\d.])(?P<bare>\d{{1,4}}(?:\.\d{{1,4}}){{1,3}}))"
    r"(?:[-. ]?(?P<pre>alpha|beta|rc|pre|preview|dev|snapshot|a|b)[-. ]?\d{0,4}(?![A-Za-z\d]))?+"
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
    r"\b(?:change ?logs?|changes|history|release notes|releases|versions|revisions?|what['’]?s new|news|updates)\b"
    r"|(?:[更変][新更]|改[訂定版])(?:履歴|内容|記録|点)|リリースノート|お知らせ"
    r"|(?:변경|개정|수정|업데이트) ?(?:이력|내역|기록|사항|노트)|릴리스 ?노트",
    re.IGNORECASE,
)
"""Names of documents, or chapters, that are logs of changes, whose headings may be days or numbers alone."""
_COLUMN = re.compile(
    r"(?:v|ver|version|rel|release|rev|revision|edition)s?\.?(?: ?(?:no|number|name)s?\.?)?"
    r"|(?:バージョン|リリース)(?:番号|名)?|(?:改[訂定])?版(?:数|番号)?"
    r"|(?:버전|릴리스)(?: ?(?:번호|이름))?|(?:개정)?판수?",
    re.IGNORECASE,
)
NEWS = re.compile(
    r"\b(?:new|news|added|removed|fixed|features?|fix(?:es)?|release notes|updates?|notes|chang(?:es?|ed)|deprecated"
    r"|improve\w+|security|breaking)\b|新機能|新しい|新しく|追加|廃止|削除|修正|改善|変更|更新|更改"
    r"|새로|추가|삭제|수정|개선|변경|보안|업데이트|새 ?기능",
    re.IGNORECASE,
)
"""What is new: in questions, and in headings of the parts of a version."""
_SINCE = re.compile(
    r"\b(?:since|after|(?:newer|later) than)(?: (?!(?:in|at|to|with|by|on|for|of)\b)[\w'’.-]+){0,4} *[\[(]*\0"
    r"|(?<!removed )(?<!deleted )(?<!dropped )\bfrom (?:the )?[\[(]*\0"
    r"|\0[\])]? *(?:版|バージョン)?の?(?:リリース|公開)?の?(?:以降|以来|より[後あ新]|後|あと|から(?![削除消]|取り))"
    r"|\0[\])]? *(?:버전|판)? ?(?:출시|릴리스|배포)? ?(?:이후|이래|부터|다음|뒤|후(?!보)|보다 (?:나중|새))",
    re.IGNORECASE,
)
"""Words that ask for what is newer, beside the number or day."""
_TITLES = re.compile(r"^(#{1,6})\s+(.*\S)", re.MULTILINE)
LONGEST_NAME = 80
Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A version by its name, as a heading has it: its numbers, and its day, or as much of that as is told."""

    name: str
    numbers: Numbers
    day: Numbers
    is_final: bool = True
    """Whether it is none that comes before its number, *2.0-rc1*."""


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


def asks_since(question: str) -> bool:
    """Return whether a question asks for what is newer than the number that it has, or else than its day.

    >>> asks_since("What is new since v2.5?"), asks_since("What was removed from the API in 2.5?")
    (True, False)
    """
    return _SINCE.search(_NUMBER.sub("\0", _without_days(question, " " if numbers_in(question) else "\0"))) is not None


def _without_days(text: str, sign: str = " ") -> str:
    left = unicodedata.normalize("NFKC", text)
    for each in _days(text):
        left = left[: each.start] + sign.ljust(each.end - each.start) + left[each.end :]
    return left


def _days(text: str) -> list[PeriodEnd]:
    try:
        return moments_in(unicodedata.normalize("NFKC", text).lower())
    except UnclearPeriodError:
        return []


def version_of(heading: str, title: str = "", *above: str) -> Version | None:
    """Return the version that a heading names, and nothing else but words of the title; None for any other heading.

    A bare number is one in a log, or beside a day: else it is that of a section, a price, an address.

    >>> version_of("## [2.6.1] - 14 October 2026").numbers, version_of("3.1 Prices"), version_of("2.50", "Prices")
    ((2, 6, 1), None, None)
    """
    text = unicodedata.normalize("NFKC", heading)
    if len(text) > LONGEST_NAME or heading == title or not any(map(str.isdigit, text)):
        return None
    number, days = _NUMBER.search(_without_days(text)), days_in(text)[:1]
    is_log = LOG.search(" ".join((title, *above))) is not None
    if not (is_log or (number and (number["called"] or days))) or not (number or (days and len(days[0]) > 1)):
        return None
    left = _BESIDE.sub(" ", without_numbers(text))
    known = unicodedata.normalize("NFKC", title).casefold()
    if any(word.casefold() not in known or word.isdigit() for word in re.findall(r"[^\W_]+", left)):
        return None
    numbers = numbers_in(text)[:1]
    is_final = number is None or not number["pre"]
    return Version(heading, numbers[0] if numbers else (), days[0] if days else (), is_final)


def told_of_versions(citation: Citation) -> Iterator[tuple[Version, Sequence[str], str]]:
    """Yield the sentences, items and rows of each version of a passage, with the headings from the version on; rows,
    which name their version themselves, have none.

    A heading ends the version above it, unless it is of a lower level, or, where levels are not known, names a part.
    """
    title, *path = headings_of(citation)
    version, headings = None, list[str]()
    for heading in path:
        found = version_of(heading, title, *path)
        version, headings = (found, [heading]) if found else (version, [*headings, heading])
    prose, rows = split_tables(citation.text)
    levels = {found[2]: len(found[1]) for found in _TITLES.finditer(prose)}
    for part in parts_of(prose, headings_of(citation)):
        if part.kind in ("heading", "sentence") and (found := version_of(part.text, title, *path)):
            version, headings = found, [part.text]
        elif version and part.kind == "heading" and part.text not in path:
            own, of_version = levels.get(part.text, 0), levels.get(version.name, 0)
            is_part = own > of_version if own and of_version else NEWS.search(part.text)
            version, headings = (version, [version.name, part.text]) if is_part else (None, [])
        elif version and part.kind in ("sentence", "item"):
            yield version, headings, part.text
    for row in rows:
        if version := _version_of_row(row, title, *path):
            yield version, [], row.text


def _version_of_row(row: QuotedRow, *titles: str) -> Version | None:
    """Return the version that the first cell of a row names, or the second one behind a day or number: a number alone
    only in a column that is named so.
    """
    first, *_ = row.cells
    is_day = bool(days_in(first))
    for column, cell in zip(row.columns, row.cells[: 1 + (is_day or first.isdigit())], strict=False):
        names = (cell, f"version {cell}") if _COLUMN.fullmatch(column.strip()) else ()
        for found in (*(version_of(each, titles[0], "versions") for each in names), version_of(cell)):
            if found and found.numbers:
                return found
    return version_of(first, *titles) if is_day else None


def version_above(citation: Citation, text: str, quoted: str) -> str:
    """Return the name of the version that a text of a passage is about, with all that is quoted with it; empty where
    it is about none, or about several.
    """
    told = [(version.name, each) for version, headings, each in told_of_versions(citation) if headings]
    names = {name for name, each in told if each in quoted}
    return names.pop() if len(names) == 1 and any(each == text for _, each in told) else ""
