"""Versions of a document: the year of a title, since when a version is in force, and which one it replaces.

Only what a text says in so many words counts; where two things could be meant, nothing is recognized.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

VALID_FROM = "valid_from"
"""Key of metadata: the first day on which the document is in force, as an ISO text."""
REPLACES = "replaces"
"""Key of metadata: the year of the version that the document replaces."""

SEEN_CHARS = 3_000
"""Beginning of a document in which it says since when it is in force."""
LEAST_NAME_CHARS = 3
MOST_COMPARED = 40
"""Passages of the versions of one document that are compared with each other."""
LEAST_COMMON = 0.5
"""Least share of common words of two passages that say the same of two versions."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DATES = (
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)? {_MONTH},? {_YEAR}",
    rf"{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? {_YEAR}",
    rf"{_YEAR}-(?P<number>\d{{1,2}})-(?P<day>\d{{1,2}})",
)
_SINCE = r"\b(?:valid|effective|in force|in effect|applies|applicable|takes effect|comes? into (?:force|effect))"
_FORMS = (
    *(rf"{_SINCE}(?: as)?(?: from| since| of| on)? {date}" for date in _DATES),
    r"(?P<year>(?:19|20)\d\d)\s?年\s?(?P<number>\d{1,2})\s?月\s?(?P<day>\d{1,2})\s?日(?:から|より)?(?:これを)?(?:施行|適用|発効)",
    r"(?:施行日|適用開始日|発効日)\s?[:：]?\s?(?P<year>(?:19|20)\d\d)\s?[年/.-]\s?(?P<number>\d{1,2})\s?[月/.-]\s?(?P<day>\d{1,2})",
    r"(?P<year>(?:19|20)\d\d)\s?년\s?(?P<number>\d{1,2})\s?월\s?(?P<day>\d{1,2})\s?일(?:부터)?\s?(?:시행|적용|발효)",
    r"(?:시행일|적용일|발효일)(?:자)?\s?[:：]?\s?(?P<year>(?:19|20)\d\d)\s?[년/.-]\s?(?P<number>\d{1,2})\s?[월/.-]\s?(?P<day>\d{1,2})",
)
_VALID_FROM = tuple(re.compile(form, re.IGNORECASE) for form in _FORMS)
_REPLACES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\b(?:replaces|supersedes) (?:the )?(?:(?:version|edition|policy)(?: of)? )?(?P<year>(?:19|20)\d\d)\b",
        r"(?P<year>(?:19|20)\d\d)\s?年?版?(?:に代わ|を廃止|に替わ)",
        r"(?P<year>(?:19|20)\d\d)\s?년?판?(?:을|를)\s?(?:대체|폐지)",
    )
)
_YEAR_IN_NAME = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_VERSION_WORDS = re.compile(
    r"(?<!\d)(?:19|20)\d\d(?!\d)(?:年度?版?|년도?판?)?|\b(?:edition|version|ver\.?|rev\.?|revision)\b|[年版]$|[\W_]+",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z0-9]+|[^\W\d_a-z]{1,2}")


class Titled(Protocol):
    """A passage, as far as its version is concerned."""

    @property
    def title(self) -> str:
        """The title of its document."""

    @property
    def source(self) -> str:
        """The path or address of its document."""

    @property
    def heading_path(self) -> str:
        """Headings, joined by `` > ``."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def dataset_id(self) -> int:
        """The dataset of its document."""

    @property
    def document_id(self) -> int:
        """Its document."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """Its document's facts."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a document: what all versions are called, without a year, and the year of this one."""

    name: str
    year: str
    valid_from: str = ""
    """An ISO day; empty where it is not known."""

    @classmethod
    def of(cls, passage: Titled) -> Version | None:
        """Return the version that a passage is of; None where title and file name say no year, or several."""
        for named in (passage.title, passage.source.rpartition("/")[2].rpartition(".")[0]):
            named = unicodedata.normalize("NFKC", named)
            years = set(_YEAR_IN_NAME.findall(named))
            if len(years) > 1:
                return None
            if years:
                name = _VERSION_WORDS.sub("", named).casefold()
                since = passage.metadata.get(VALID_FROM)
                valid_from = since if isinstance(since, str) else ""
                return cls(name, years.pop(), valid_from) if len(name) >= LEAST_NAME_CHARS else None
        return None


def recognized(beginning: str) -> dict[str, str]:
    """Return what the beginning of a document says of its version, under the keys of metadata.

    >>> recognized("Travel policy. Valid from 1 March 2025. It replaces the version of 2024.")
    {'valid_from': '2025-03-01', 'replaces': '2024'}
    """
    text = " ".join(unicodedata.normalize("NFKC", beginning[:SEEN_CHARS]).split())
    days = {day for form in _VALID_FROM for found in form.finditer(text) if (day := _iso(found))}
    replaced = {found["year"] for form in _REPLACES for found in form.finditer(text)}
    return {
        **({VALID_FROM: days.pop()} if len(days) == 1 else {}),
        **({REPLACES: replaced.pop()} if len(replaced) == 1 else {}),
    }


def _iso(found: re.Match[str]) -> str:
    said = found.groupdict()
    name = said.get("name")
    month = _MONTHS.index(name[:3].lower()) + 1 if name else int(said["number"])
    day = int(said["day"])
    return f"{said['year']}-{month:02}-{day:02}" if 1 <= month <= 12 and 1 <= day <= 31 else ""


# ---------------------------------------------------------------- the order of versions


def version_order(passages: Sequence[Titled], question: str, today: str) -> list[int]:
    """Return the places of the passages in the order in which they are shown: of passages that say the same of several
    versions of a document, the one in force comes first, at the best of their places, or that of the year asked for.

    ``today`` is an ISO day: what is in force later comes last. All other passages keep their places.
    """
    order = list(range(len(passages)))
    versions = [Version.of(passage) for passage in passages]
    asked = set(_YEAR_IN_NAME.findall(unicodedata.normalize("NFKC", question)))
    families: dict[tuple[int, str], list[int]] = {}
    for place, version in enumerate(versions):
        if version is not None:
            families.setdefault((passages[place].dataset_id, version.name), []).append(place)
    for places in families.values():
        years = {version.year for place in places if (version := versions[place])}
        if len(years) < 2 or (asked and not asked & years):
            continue
        for group in _saying_the_same(passages, places[:MOST_COMPARED]):
            ranked = sorted(group, key=lambda place: _rank(versions[place], asked, today))
            for at, place in zip(group, ranked, strict=True):
                order[at] = place
    return order


def _rank(version: Version | None, asked: set[str], today: str) -> tuple[bool, bool, int]:
    """Return what versions are sorted by: the year asked for, then what is in force, then the newest."""
    assert version is not None
    return version.year not in asked, version.valid_from > today, -int(version.year)


def _saying_the_same(passages: Sequence[Titled], places: Sequence[int]) -> list[list[int]]:
    """Return groups of places whose passages say the same, each of another document, in order."""
    groups: list[list[int]] = []
    words = {place: frozenset(_WORD.findall(passages[place].text.casefold())) for place in places}
    for place in places:
        document = passages[place].document_id
        for group in groups:
            if _alike(passages, words, group[0], place) and all(passages[at].document_id != document for at in group):
                group.append(place)
                break
        else:
            groups.append([place])
    return [group for group in groups if len(group) > 1]


def _alike(passages: Sequence[Titled], words: Mapping[int, frozenset[str]], one: int, other: int) -> bool:
    headings = [_VERSION_WORDS.sub("", _last_heading(passages[at])).casefold() for at in (one, other)]
    if headings[0] and headings[0] == headings[1]:
        return True
    both = words[one] | words[other]
    return bool(both) and len(words[one] & words[other]) >= LEAST_COMMON * len(both)


def _last_heading(passage: Titled) -> str:
    heading = passage.heading_path.rpartition(" > ")[2]
    return "" if heading == passage.title else heading


# ---------------------------------------------------------------- what is said of a version


@dataclass(frozen=True, slots=True)
class Edition:
    """The relation of a cited version to the other versions that were found."""

    citation: int
    year: str
    in_force: bool
    """Whether this edition is certainly in force: it says since when, and no newer one was found."""
    others: tuple[str, ...] = ()
    """The years of the other versions that were found, the newest first."""


def editions_of(cited: Mapping[int, Titled], found: Sequence[Titled], today: str) -> tuple[Edition, ...]:
    """Return the editions of the cited passages by their numbers, where versions are recognized."""
    families: dict[tuple[int, str], dict[str, Version]] = {}
    for passage in (*found, *cited.values()):
        if version := Version.of(passage):
            families.setdefault((passage.dataset_id, version.name), {})[version.year] = version
    editions = []
    for number, passage in sorted(cited.items()):
        version = Version.of(passage)
        if version is None:
            continue
        family = families[passage.dataset_id, version.name]
        newer = [other for other in family.values() if other.year > version.year and other.valid_from <= today]
        in_force = bool(version.valid_from) and version.valid_from <= today and not newer
        others = tuple(sorted(family.keys() - {version.year}, reverse=True))
        if others or in_force:
            editions.append(Edition(number, version.year, in_force, others))
    return tuple(editions)
