"""Numbers that a program writes before paragraphs: counted as Word, LibreOffice and Hangul count them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from docx.oxml.ns import qn
from lxml import etree

from braid.core.ingest.readers.parts.numerals import numeral

MAX_LEVELS = 10
MAX_BASES = 20
"""Styles, each based on the next, in which a style's list is looked for."""
_VAL = qn("w:val")
_PROPERTIES, _NUMBERED, _STYLE = qn("w:pPr"), qn("w:numPr"), qn("w:pStyle")
_LIST, _LIST_LEVEL = qn("w:numId"), qn("w:ilvl")
_STATED, BASE = qn("w:num"), qn("w:basedOn")
_FORM, _PATTERN, _START, _LEGAL = qn("w:numFmt"), qn("w:lvlText"), qn("w:start"), qn("w:isLgl")
_LEVEL, _ABSTRACT, _DEFINITION, _STYLE_LINK = (
    qn(name) for name in ("w:lvl", "w:abstractNum", "w:abstractNumId", "w:styleLink")
)
_PLACE = re.compile(r"%([1-9])")
_WHOLE = re.compile(r"([0-9]{1,6})(?:\.0*)?")


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
        self._counts[max(0, min(level, MAX_LEVELS - 1))] = start - 1

    def _number(self, level: int, shown: Level) -> str:
        style = self.levels.get(level, Level())
        number = self._counts[level]
        if number is None:  # a level that was left out has its first number
            number = self._counts[level] = style.start
        return str(number) if shown.only_digits else numeral(number, style.form)


class WordNumbering:
    """The lists of a Word document, and the styles that belong to them."""

    def __init__(self, numbering: etree._Element | None, styles: Mapping[str, etree._Element]) -> None:
        self._counters: dict[str, Counter] = {}
        self._lists: dict[str, Counter | None] = {}
        """The lists that the text has named so far, by their numbers; those of one definition have one counter."""
        self._styles = styles
        self._of_styles: dict[str, tuple[str | None, int]] = {}
        """The lists and levels of the styles that the text has named so far."""
        self._stated: Mapping[str, etree._Element] = {}
        self._definitions: Mapping[str, etree._Element] = {}
        if numbering is not None:
            self._stated = {each.get(_LIST) or "": each for each in numbering.iterchildren(_STATED)}
            self._definitions = {each.get(_DEFINITION) or "": each for each in numbering.iterchildren(_ABSTRACT)}

    def label(self, paragraph: etree._Element) -> str:
        """Count a paragraph, and return the number that is shown before it; empty when there is none."""
        properties = next(paragraph.iterchildren(_PROPERTIES), None)
        if properties is None or not self._stated:
            return ""
        number, level = _place(properties)
        if number is None or level is None:
            style = next(properties.iterchildren(_STYLE), None)
            of_style = self._of_style(style.get(_VAL) or "") if style is not None else (None, 0)
            if of_style[0] is not None:
                number = of_style[0] if number is None else number
                level = of_style[1] if level is None else level
        if number is None:
            return ""
        if number not in self._lists:
            self._lists[number] = self._begun(number)
        counter = self._lists[number]
        return counter.label(level or 0) if counter is not None else ""

    def _of_style(self, style_id: str) -> tuple[str | None, int]:
        """Return the list and the level of a style, which may be based on others."""
        if style_id not in self._of_styles:
            number: str | None = None
            level: int | None = None
            style = self._styles.get(style_id)
            for _ in range(MAX_BASES):
                if style is None:
                    break
                own = _place(next(style.iterchildren(_PROPERTIES), None))
                number = own[0] if number is None else number
                level = own[1] if level is None else level
                parent = next(style.iterchildren(BASE), None)
                style = self._styles.get(parent.get(_VAL) or "") if parent is not None else None
            self._of_styles[style_id] = number, level or 0
        return self._of_styles[style_id]

    def _begun(self, number: str) -> Counter | None:
        """Return the counter of a list, at the numbers with which it begins; None for one that is not defined."""
        stated = self._stated.get(number)
        reference = stated.find(_DEFINITION) if stated is not None else None
        name = reference.get(_VAL) or "" if reference is not None else ""
        if stated is None or name not in self._definitions:
            return None
        changes = {whole(each.get(_LIST_LEVEL), 0): each for each in stated.iterchildren(qn("w:lvlOverride"))}
        own = {at: _level(found) for at, each in changes.items() if (found := each.find(_LEVEL)) is not None}
        key = f"{name}/{number}" if own else name
        if key not in self._counters:
            self._counters[key] = Counter({**_levels(self._linked(self._definitions[name])), **own})
        counter = self._counters[key]
        for at, each in changes.items():
            if (start := each.find(qn("w:startOverride"))) is not None:
                counter.restart(at, whole(start.get(_VAL), 1))
        return counter

    def _linked(self, definition: etree._Element) -> etree._Element:
        """Return the definition that another one names by its style, or else itself."""
        link = definition.find(qn("w:numStyleLink"))
        if link is None:
            return definition
        named = {
            style.get(_VAL): each for each in self._definitions.values() for style in each.iterchildren(_STYLE_LINK)
        }
        return named.get(link.get(_VAL), definition)


def _levels(definition: etree._Element) -> dict[int, Level]:
    return {whole(each.get(_LIST_LEVEL), 0): _level(each) for each in definition.iterchildren(_LEVEL)}


def _level(element: etree._Element) -> Level:
    found = {each.tag: each.get(_VAL) or "" for each in element.iterchildren(_FORM, _PATTERN, _START, _LEGAL)}
    return Level(
        found.get(_FORM, "decimal"),
        found.get(_PATTERN, ""),
        whole(found.get(_START), 1),
        only_digits=found.get(_LEGAL, "0") not in ("0", "false"),
    )


def _place(properties: etree._Element | None) -> tuple[str | None, int | None]:
    """Return the list and the level that a paragraph or style names itself."""
    numbered = next(properties.iterchildren(_NUMBERED), None) if properties is not None else None
    if numbered is None:
        return None, None
    number, level = (next(numbered.iterchildren(name), None) for name in (_LIST, _LIST_LEVEL))
    return (
        number.get(_VAL) if number is not None else None,
        whole(level.get(_VAL), 0) if level is not None else None,
    )


def whole(text: str | None, default: int) -> int:
    """Return the whole number of an attribute, also of the ``2.0`` of some programs; the default where it is none."""
    found = _WHOLE.fullmatch(text or "")
    return int(found[1]) if found else default


def labelled(label: str, text: str) -> str:
    """Return a paragraph with its number before it."""
    return f"{label} {text}" if label and text else text
