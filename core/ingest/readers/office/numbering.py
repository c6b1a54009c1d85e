"""Numbers that a program writes before paragraphs: counted as Word, LibreOffice and Hangul count them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from docx.oxml.ns import qn
from lxml import etree

from braid.core.ingest.readers.parts.numerals import numeral

MAX_LEVELS = 10
MAX_BASES = 20
"""Styles, each based on the next, in which a style's list is looked for."""
_VAL = qn("w:val")
_NUMBERED = f"{qn('w:pPr')}/{qn('w:numPr')}"
_STYLE = f"{qn('w:pPr')}/{qn('w:pStyle')}"
_PLACE = re.compile(r"%([1-9])")


@dataclass(frozen=True, slots=True)
class Level:
    """How a level of a list is numbered."""

    form: str = "decimal"
    """As `numeral` takes it."""
    pattern: str = "%1."
    """What is shown, with ``%1`` for the number of the first level, ``%2`` for that of the second …"""
    start: int = 1
    only_digits: bool = False
    """Whether the numbers of the levels above are shown as digits, whatever their form."""


@dataclass(slots=True)
class Counter:
    """The numbers of one list so far."""

    levels: Mapping[int, Level]
    _counts: list[int | None] = field(default_factory=lambda: [None] * MAX_LEVELS)

    def label(self, level: int) -> str:
        """Count a paragraph of a level, from 0, and return what is shown before it; empty for a bullet."""
        level = max(0, min(level, MAX_LEVELS - 1))
        style = self.levels.get(level)
        count = self._counts[level]
        self._counts[level] = (style.start if style else 1) if count is None else count + 1
        self._counts[level + 1 :] = [None] * (MAX_LEVELS - 1 - level)
        if style is None or not numeral(1, style.form):
            return ""
        return _PLACE.sub(lambda place: self._number(int(place[1]) - 1, style), style.pattern).strip()

    def restart(self, level: int, start: int) -> None:
        """Let the next paragraph of the level have this number."""
        self._counts[level] = start - 1

    def _number(self, level: int, shown: Level) -> str:
        style = self.levels.get(level, Level())
        number = self._counts[level]
        if number is None:  # a level that was left out has its first number
            number = self._counts[level] = style.start
        return str(number) if shown.only_digits else numeral(number, style.form)


class WordNumbering:
    """The lists of a Word document, and the styles that belong to them."""

    def __init__(self, numbering: etree._Element | None, styles: etree._Element) -> None:
        self._counters: dict[str, Counter] = {}
        self._lists: dict[str, tuple[str, dict[int, int]]] = {}
        """Number of a list → its definition, and the levels at which it starts again with their numbers."""
        self._begun: set[str] = set()
        self._styles: Mapping[str, tuple[str, int]] = {}
        if numbering is not None:
            self._styles = _numbered_styles(styles)
            self._read(numbering)

    def label(self, paragraph: etree._Element) -> str:
        """Count a paragraph, and return the number that is shown before it; empty when there is none."""
        number, level = _place(paragraph.find(_NUMBERED))
        if number is None or level is None:
            style = paragraph.find(_STYLE)
            of_style = self._styles.get(style.get(_VAL) or "") if style is not None else None
            if of_style is not None:
                number = of_style[0] if number is None else number
                level = of_style[1] if level is None else level
        if number is None or number not in self._lists:
            return ""
        definition, starts = self._lists[number]
        counter = self._counters[definition]
        if number not in self._begun:
            self._begun.add(number)
            for each, start in starts.items():
                counter.restart(each, start)
        return counter.label(level or 0)

    def _read(self, root: etree._Element) -> None:
        definitions = {each.get(qn("w:abstractNumId")): each for each in root.iterfind(qn("w:abstractNum"))}
        linked = {
            link.get(_VAL): each for each in definitions.values() if (link := each.find(qn("w:styleLink"))) is not None
        }
        known: dict[str, dict[int, Level]] = {}
        for each in root.iterfind(qn("w:num")):
            reference = each.find(qn("w:abstractNumId"))
            name = reference.get(_VAL) if reference is not None else None
            definition = definitions.get(name)
            if definition is None or name is None:
                continue
            if (link := definition.find(qn("w:numStyleLink"))) is not None:
                definition = linked.get(link.get(_VAL), definition)
            if name not in known:
                known[name] = _levels(definition)
            levels, starts, is_own = known[name], dict[int, int](), False
            for change in each.iterfind(qn("w:lvlOverride")):
                at = _number(change.get(qn("w:ilvl")), 0)
                if (start := change.find(qn("w:startOverride"))) is not None:
                    starts[at] = _number(start.get(_VAL), 1)
                if (level := change.find(qn("w:lvl"))) is not None:
                    levels, is_own = {**levels, at: _level(level)}, True
            number = each.get(qn("w:numId")) or ""
            key = f"{name}/{number}" if is_own else name
            self._counters.setdefault(key, Counter(levels))
            self._lists[number] = key, starts


def _levels(definition: etree._Element) -> dict[int, Level]:
    found = definition.iterfind(qn("w:lvl"))
    return {_number(each.get(qn("w:ilvl")), 0): _level(each) for each in found}


def _level(element: etree._Element) -> Level:
    def value(name: str, default: str) -> str:
        found = element.find(qn(name))
        return default if found is None else found.get(_VAL) or ""

    legal = element.find(qn("w:isLgl"))
    level = Level(value("w:numFmt", "decimal"), value("w:lvlText", ""), _number(value("w:start", "1"), 1))
    return replace(level, only_digits=legal is not None and legal.get(_VAL) not in ("0", "false"))


def _numbered_styles(styles: etree._Element) -> dict[str, tuple[str, int]]:
    """Return style id → list and level, also of styles that are based on others."""
    own: dict[str, tuple[str | None, int | None]] = {}
    parents: dict[str, str] = {}
    for style in styles.iterfind(qn("w:style")):
        style_id, parent = style.get(qn("w:styleId")) or "", style.find(qn("w:basedOn"))
        own[style_id] = _place(style.find(_NUMBERED))
        if parent is not None:
            parents[style_id] = parent.get(_VAL) or ""
    found = {}
    for style_id in own:
        number: str | None = None
        level: int | None = None
        at = style_id
        for _ in range(MAX_BASES):
            if at not in own:
                break
            number = own[at][0] if number is None else number
            level = own[at][1] if level is None else level
            at = parents.get(at, "")
        if number is not None:
            found[style_id] = number, level or 0
    return found


def _place(numbered: etree._Element | None) -> tuple[str | None, int | None]:
    """Return the list and the level that a paragraph or style names itself."""
    if numbered is None:
        return None, None
    number, level = numbered.find(qn("w:numId")), numbered.find(qn("w:ilvl"))
    return (
        number.get(_VAL) if number is not None else None,
        _number(level.get(_VAL), 0) if level is not None else None,
    )


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 7 else default


def labelled(label: str, text: str) -> str:
    """Return a paragraph with its number before it."""
    return f"{label} {text}" if label and text else text
