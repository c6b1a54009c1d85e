"""Styles of OpenDocument that change what is read: struck out text, hidden sheets, numbers of paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lxml import etree

from braid.core.ingest.readers.office.numbering import MAX_LEVELS, Counter, Level
from braid.core.ingest.readers.parts.xml import attribute, finder

_NAMESPACES = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("style", "table", "text")}
_STRUCK, _RAISED, _HIDDEN, _UNNUMBERED, _LISTS, _OUTLINE = (
    finder(path, **_NAMESPACES)
    for path in (
        "*/style:style[style:text-properties/@style:text-line-through-style[. != '' and . != 'none'] or "
        "style:text-properties/@style:text-line-through-type[. != '' and . != 'none']]",
        "*/style:style[style:text-properties/@style:text-position[starts-with(., 'super') or (number(substring-before("
        "concat(., '%'), '%')) > 0)]]",
        "*/style:style[style:table-properties/@table:display = 'false']",
        "*/style:style[@style:list-style-name = '']",
        "*/text:list-style",
        "*/text:outline-style",
    )
)
_NAMES, _USED, _NAMED = (
    finder(path, **_NAMESPACES)
    for path in ("//@text:style-name", "//text:list/@text:style-name", "*/text:list-style/@style:name")
)
_STRIKES = re.compile(rb"""-line-through-(?:style|type)\s{0,9}=\s{0,9}["'](?!none["']|["'])""")
_STYLE_START, _STYLE_CHARS = b":style ", 2_000
_NAME = re.compile(rb"""style:name\s{0,9}=\s{0,9}["']([^"']*)""")
_HIDES = re.compile(rb"""table:display\s{0,9}=\s{0,9}["']false""")
_NUMBERS = re.compile(rb"""num-format\s{0,9}=\s{0,9}["'][^"']""")
_HEADING_NUMBERS = b":outline-style"
_TEXT, _STYLE = (f"{{{_NAMESPACES[name]}}}" for name in ("text", "style"))
_STYLE_NAME = f"{_TEXT}style-name"
_HEADING, _LIST, _ITEM, _HEADER = (f"{_TEXT}{name}" for name in ("h", "list", "list-item", "list-header"))
_NUMBERED = (f"{_TEXT}list-level-style-number", f"{_TEXT}outline-level-style")
_MARKED = (f"{_TEXT}list-level-style-bullet", f"{_TEXT}list-level-style-image")


def is_shown_by(styles: bytes, root: etree._Element) -> bool:
    """Return whether the styles that a document shares, which are long, change what is read of it: they strike text
    out, hide a sheet, number headings, or have the lists that it names.
    """
    if not styles.startswith(b"<?xml") or _HIDES.search(styles):  # UTF-16 shows nothing of itself
        return True
    struck = {_style_of(styles, found.start()) for found in _STRIKES.finditer(styles)}
    if struck and ("" in struck or struck & set(_NAMES(root))):
        return True
    start = styles.find(_HEADING_NUMBERS)
    end = styles.find(_HEADING_NUMBERS, start + 1)
    if start >= 0 and _NUMBERS.search(styles, start, end) and next(root.iter(_HEADING), None) is not None:
        return True
    return not set(_USED(root)) <= set(_NAMED(root))


def _style_of(styles: bytes, place: int) -> str:
    """Return the name of the style in which a place is; empty where that is not seen."""
    start = styles.rfind(_STYLE_START, max(0, place - _STYLE_CHARS), place)
    name = _NAME.search(styles, start, place) if start >= 0 else None
    return name[1].decode("utf-8", "replace") if name is not None and b"&" not in name[1] else ""


class Styles:
    """The styles of a document, and how far its lists have counted."""

    def __init__(self, roots: Iterable[etree._Element]) -> None:
        self.struck: set[str] = set()
        """Names of styles whose text is struck out."""
        self.raised: set[str] = set()
        """Names of styles whose text is raised."""
        self.hidden: set[str] = set()
        """Names of styles of sheets that are hidden."""
        self._lists: dict[str, etree._Element] = {}
        self._unnumbered: set[str] = set()
        self._headings = Counter({})
        self._top: etree._Element | None = None
        self._counters: dict[str, Counter] = {}
        for root in roots:
            self.struck.update(attribute(style, "name") for style in _STRUCK(root))
            self.raised.update(attribute(style, "name") for style in _RAISED(root))
            self.hidden.update(attribute(style, "name") for style in _HIDDEN(root))
            self._unnumbered.update(attribute(style, "name") for style in _UNNUMBERED(root))
            self._lists.update((attribute(style, "name"), style) for style in _LISTS(root))
            for style in _OUTLINE(root):
                self._headings = Counter(_levels(style))

    def label(self, block: etree._Element) -> str | None:
        """Count a heading or paragraph, and return what is before it: its number, ``-``, or nothing.

        None for a paragraph that is not in a list.
        """
        item = next(block.iterancestors(_ITEM, _HEADER), None)
        if item is None:
            return self._heading_label(block) if block.tag == _HEADING else None
        if item.tag == _HEADER or next(iter(item.iterchildren(tag=etree.Element)), None) is not block:
            return ""
        lists = list(item.iterancestors(_LIST))
        name = next(filter(None, (each.get(_STYLE_NAME) for each in lists)), "")
        if name not in self._lists or not lists:
            return "-"
        if lists[-1] is not self._top:
            self._top = lists[-1]
            if self._top.get(f"{_TEXT}continue-numbering") != "true" and not self._top.get(f"{_TEXT}continue-list"):
                self._counters.pop(name, None)
        if (counter := self._counters.get(name)) is None:
            counter = self._counters[name] = Counter(_levels(self._lists[name]))
        if (start := item.get(f"{_TEXT}start-value", "")).isdecimal() and len(start) < 7:
            counter.restart(min(len(lists), MAX_LEVELS) - 1, int(start))
        return counter.label(len(lists) - 1) or "-"

    def _heading_label(self, block: etree._Element) -> str:
        level = block.get(f"{_TEXT}outline-level", "")
        if block.get(f"{_TEXT}is-list-header") == "true" or block.get(_STYLE_NAME) in self._unnumbered:
            return ""
        return self._headings.label(int(level) - 1 if level.isdecimal() and 0 < len(level) < 3 else 0)


def _levels(style: etree._Element) -> dict[int, Level]:
    """Return the levels of a list; none of one that has no numbers."""
    if next(style.iterchildren(*_NUMBERED), None) is None:
        return {}
    found: dict[int, Level] = {}
    for each in style.iterchildren(*_NUMBERED, *_MARKED):
        level = each.get(f"{_TEXT}level", "")
        if not level.isdecimal() or not 0 < int(level) <= MAX_LEVELS:
            continue
        at = int(level) - 1
        form = each.get(f"{_STYLE}num-format") or "none" if each.tag in _NUMBERED else "none"
        shown, start = each.get(f"{_TEXT}display-levels", ""), each.get(f"{_TEXT}start-value", "")
        count = min(max(1, int(shown)), at + 1) if shown.isdecimal() and len(shown) < 3 else 1
        places = ".".join(f"%{place + 1}" for place in range(at + 1 - count, at + 1))
        first = int(start) if start.isdecimal() and len(start) < 7 else 1
        pattern = each.get(f"{_STYLE}num-prefix", "") + places + each.get(f"{_STYLE}num-suffix", "")
        found[at] = Level({"1": "decimal"}.get(form, form), pattern, first)
    return found
