"""Plain text, and formats that are read as such: the lines as they are, without comments.

A section per heading of AsciiDoc, Org, reStructuredText and LaTeX; a record per message of a chat, per entry of a log,
per event of a calendar (RFC 5545), and per contact (RFC 6350).
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from itertools import pairwise

from braid.core.ingest.readers.document import (
    HeadingStack,
    ParsedDocument,
    Section,
    SourceFile,
    one_line,
)
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.markdown import Heading, sections_of

ERRORS: tuple[type[Exception], ...] = ()

_HEADING = {
    ".adoc": re.compile(r"(={1,6})[ \t]+(\S.{0,300})"),
    ".org": re.compile(
        r"(\*{1,9})[ \t]+(?:[A-Z]{4,9}[ \t]+)?(?:\[#\w\][ \t]+)?([^\s:].{0,300}?)(?:[ \t]+:[\w@:]{1,100}:)?[ \t]*"
    ),
    ".tex": re.compile(
        r"\\((?:sub)*section|part|chapter)\*?(?:\[[^\]]{0,300}\])?\{(.{1,300}?)\}[ \t]*(?:\\label.{0,300})?"
    ),
}
_TITLE = {
    ".org": re.compile(r"^#\+TITLE:[ \t]*(.{1,300})", re.IGNORECASE | re.MULTILINE),
    ".tex": re.compile(r"^\\title\{(.{1,300})\}", re.MULTILINE),
}
_COMMENT = {
    ".adoc": re.compile(r"^//(?!/).*|^////[ \t]*\n(?:(?!////).*\n)*+////[ \t]*$", re.MULTILINE),
    ".org": re.compile(r"^[ \t]*# .*", re.MULTILINE),
    ".tex": re.compile(r"(?<!\\)%.*"),
    ".rst": re.compile(r"^\.\. (?![\[_|]|[\w:-]{1,60}::).*(?:\n[ \t]++\S.*)*+", re.MULTILINE),
}
_BLOCK = re.compile(
    r"-{4,}|\.{4,}|`{3}|\s*#\+(?:BEGIN|END)_.*|\\(?:begin|end)\{(?:verbatim|lstlisting|minted)\}.*", re.IGNORECASE
)
"""Where code begins or ends, in which nothing is a heading."""
_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}")
_MARKS = re.compile(r"\\[a-zA-Z]{1,30}\*?[ \t]*|[{}~]")
_TIME = r"(?:(?:오전|오후|午前|午後)\s?)?\d{1,2}:\d\d(?::\d\d)?"
_DATE = r"(?:\d{4}년 \d{1,2}월 \d{1,2}일|\d{1,4}[./-] ?\d{1,2}(?:[./-] ?\d{1,4})?\.?|[A-Z][a-z]{2} {1,2}\d{1,2})"
_ENTRIES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"[^\w\s]{{0,2}}{_DATE}(?:, ?|T| ){_TIME}",  # WhatsApp, Teams, Discord, KakaoTalk on a phone, logs
        rf"\[[^\]\n]{{1,60}}\] \[{_TIME}\]",  # KakaoTalk
        rf"{_TIME}\s{{1,3}}\S",  # LINE, Zoom
        rf"[^\W\d][^:\t]{{0,30}} {_TIME}\s*$",  # transcripts
    )
)
_WHO = r"\(?[^\W\da-z_][\w.'’()+-]{0,30}"
_HEAD = re.compile(
    rf"(?:[^\w\s]{{0,2}}\[[^\]\n]{{1,60}}\] ({_WHO}(?: {_WHO}){{0,3}}):?|{_TIME}\s{{1,3}}([^\n]{{1,80}}):|"
    rf"({_WHO}(?: {_WHO}){{0,3}}) {_TIME})[ \t]*\n(?=\t?\S)"
)
"""A line with nothing but who and when, above what is said; behind a moment without brackets it ends with a colon."""
_DAY = re.compile(
    r"[-\s]{0,40}(\d{4}(?:년 |[./-]|年)\s?\d{1,2}(?:월 |[./-]|月)\s?\d{1,2}[일日]?\.?(?!\d)"
    r"(?:,?\s?[(（]?(?:[월화수목금토일](?:요일)?|[月火水木金土日](?:曜日?)?|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}\.?)[)）]?)?)"
    r"[-\s]{0,40}(.*)"
)
_FOLD = re.compile(r"\n[ \t]")
_QUOTED = re.compile(r"^[^:\n]{1,200}QUOTED-PRINTABLE[^:\n]{0,200}:(?:.*=\n)++", re.MULTILINE | re.IGNORECASE)
_FILE = re.compile(r"^BEGIN:(?:VCALENDAR|VEVENT|VTODO|VJOURNAL|VCARD)\s*$", re.MULTILINE | re.IGNORECASE)
_COMPONENT = re.compile(r"^(BEGIN|END):(?:VEVENT|VTODO|VJOURNAL|VCARD)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_ASIDE = re.compile(
    r"^BEGIN:(VALARM|VTIMEZONE|VFREEBUSY)[ \t]*\n(?:(?!(?:BEGIN|END):V).*\n)*+END:\1[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_PROPERTY = re.compile(r"(?:\w{1,20}\.)?([A-Z]{1,20})((?:;(?:\"[^\"\n]*\"|[^:\"\n])*)?):(.*)", re.IGNORECASE)
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_NAMES = {
    **{"DTSTART": "Start", "DTEND": "End", "RRULE": "Repeats", "TEL": "Phone", "ADR": "Address"},
    **{"FN": "Name", "N": "Name"},
    **{name: name.capitalize() for name in ("SUMMARY", "LOCATION", "DESCRIPTION", "ORGANIZER", "ATTENDEE", "DUE")},
    **{name: name.capitalize() for name in ("STATUS", "CATEGORIES", "ORG", "TITLE", "EMAIL", "NOTE", "BDAY", "URL")},
    **{name: name.capitalize() for name in ("DURATION", "COMMENT", "CONTACT", "RESOURCES", "ROLE", "NICKNAME")},
}
"""The properties that people read, and what they are called."""
_MIN_ENTRIES, _MOST_LINES, _MOST_NAMED = 3, 8, 0.8
"""Entries of a chat or a log, lines for each of them on average, and the share of those whose first line is a name."""


def read(file: SourceFile) -> ParsedDocument:
    """Return the whole text, in one section where it has no headings and no entries."""
    text, suffix = decode(file.content), file.suffix
    if suffix in _COMMENT:
        found = _TITLE[suffix].search(text) if suffix in _TITLE else None
        lines = _COMMENT[suffix].sub(lambda comment: "\n" * comment[0].count("\n"), text).split("\n")
        headings = list(_underlined(lines) if suffix == ".rst" else _marked(lines, _HEADING[suffix]))
        title = _bare(found[1]) if found else headings[0][3] if headings else ""
        return ParsedDocument(title, file.file_type, tuple(sections_of(lines, 0, headings, HeadingStack())))
    sections = _components(text) if suffix in (".ics", ".vcf") and _FILE.search(text) else _entries(text)
    return ParsedDocument(file.stem, file.file_type, tuple(sections))


def _bare(title: str) -> str:
    return one_line(_MARKS.sub(" ", title))


def _marked(lines: list[str], pattern: re.Pattern[str]) -> Iterator[Heading]:
    is_code = False
    for number, line in enumerate(lines):
        if _BLOCK.fullmatch(line):
            is_code = not is_code
        elif not is_code and (found := pattern.fullmatch(line)):
            mark = found[1]
            level = {"part": 0, "chapter": 1}.get(
                mark, 2 + mark.count("sub") if mark.endswith("section") else len(mark)
            )
            yield number, number + 1, level, _bare(found[2])


def _underlined(lines: list[str]) -> Iterator[Heading]:
    """Yield the headings of a text in which each has a line of signs below it, or above and below: the signs tell the
    level, in the order in which they come.
    """
    levels: list[tuple[str, bool]] = []
    for number, (title, line) in enumerate(pairwise(lines)):
        above = lines[number - 1] if number else ""
        is_over = above.rstrip() == line.rstrip()
        if _UNDERLINE.fullmatch(line.rstrip()) and title.strip() and len(title.rstrip()) <= 2 * len(line):
            if _UNDERLINE.fullmatch(title.strip()) or (above.strip() and not is_over):
                continue
            if (kind := (line[0], is_over)) not in levels:
                levels.append(kind)
            yield number - is_over, number + 2, levels.index(kind), one_line(title)


def _entries(text: str) -> Iterator[Section]:
    """Yield what is written at each moment of a chat or a log as a record, below its day if that is a line of its own;
    the whole text as one section where it is neither.
    """
    lines = text.split("\n")
    of_form = [[at for at, line in enumerate(lines) if each.match(line)] for each in _ENTRIES]
    starts = max(of_form, key=len)
    if len(starts) < _MIN_ENTRIES or sum(map(bool, map(str.strip, lines))) > _MOST_LINES * len(starts):
        yield Section(text, line=1)
        return
    has_date, heads = starts is of_form[0], set(starts)
    days = {at: each for at, line in enumerate(lines) if at not in heads and (each := _DAY.fullmatch(line))}
    cuts = [*sorted({0, *starts, *days}), len(lines)]
    whole = {start: "\n".join(lines[start:end]).strip("\n").rstrip() for start, end in pairwise(cuts)}
    named = {
        start: one_line("".join(filter(None, each.groups()))) for start in starts if (each := _HEAD.match(whole[start]))
    }
    if len(named) < _MOST_NAMED * len(starts) or 2 * len(set(named.values())) > len(named) + 1:
        named = {}  # names come again; the first words of paragraphs do not
    day = ""
    for start, end in pairwise(cuts):
        if each := days.get(start):  # another line that begins with a date ends the day before it
            day = "" if has_date or each[2] else each[1]
        said = "" if each and day and end == start + 1 and end in heads else whole[start]
        if start in named:
            said = re.sub(r":?[ \t]*\n[ \t]*", ": ", said, count=1)
        yield Section(said, day, None, start + 1, end, "record")


def _components(text: str) -> Iterator[Section]:
    """Yield the events of a calendar, or the contacts of an address book, each with its properties by name."""
    text = _FOLD.sub("", _QUOTED.sub(lambda each: each[0].replace("=\n", ""), text))
    parts = _COMPONENT.split(_ASIDE.sub("", text))
    for mark, part in zip(parts[1::2], parts[2::2], strict=True):
        found = [each for line in part.split("\n") if (each := _PROPERTY.fullmatch(line.rstrip()))]
        said = [(each[1].upper(), _value(each[1].upper(), each[2], each[3])) for each in found]
        left_out = "N" if any(name == "FN" and value for name, value in said) else ""
        shown = [f"{_NAMES[name]}: {value}" for name, value in said if value and name in _NAMES and name != left_out]
        if mark.upper() == "BEGIN":
            yield Section("\n".join(shown), kind="record")


def _value(name: str, parameters: str, value: str) -> str:
    """Return a property as people write it: without escapes, a moment with its time zone, a person with the name."""
    if "QUOTED-PRINTABLE" in parameters.upper():
        value = decode(quopri.decodestring(value.encode("utf-8", "replace")))
    if name not in ("RRULE", "URL"):
        parts = re.split(r"(?<!\\);", value)
        value = ", ".join(filter(None, parts)) if name in ("ADR", "ORG", "N") else value
        value = re.sub(r"\\([\\;,nN])", lambda sign: sign[1] if sign[1] not in "nN" else " ", value)
    named = dict(
        each.partition("=")[::2]
        for each in re.sub(r"(?i);(CN|TZID)=", lambda sign: sign[0].upper(), parameters).split(";")
    )
    if (moment := _MOMENT.fullmatch(value)) and moment[4]:
        zone = "UTC" if moment[6] else named.get("TZID", "")
        return " ".join(filter(None, ("-".join(moment.groups()[:3]), f"{moment[4]}:{moment[5]}", zone)))
    if moment:
        return "-".join(moment.groups()[:3])
    who, address = named.get("CN", "").strip('"'), re.sub("^mailto:", "", value, flags=re.IGNORECASE)
    return one_line(f"{who} <{address}>" if who else address)
