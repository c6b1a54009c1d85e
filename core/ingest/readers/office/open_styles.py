"""Styles of OpenDocument that change what is read: struck out text, hidden sheets, numbers of paragraphs."""

from __future__ import annotations

from collections.abc import Iterable

from lxml import etree

from braid.core.ingest.readers.office.numbering import MAX_LEVELS, Counter, Level
from braid.core.ingest.readers.parts.xml import attribute, local

_LEVELS = ("list-level-style-number", "list-level-style-bullet", "list-level-style-image", "outline-level-style")


_STRIKING = ("}text-line-through-style", "}text-line-through-type")


class Styles:
    """The styles of a document, and how far its lists have counted."""

    def __init__(self, roots: Iterable[etree._Element]) -> None:
        self.struck: set[str] = set()
        """Names of styles whose text is struck out."""
        self.hidden: set[str] = set()
        """Names of styles of sheets that are hidden."""
        self._lists: dict[str, etree._Element] = {}
        self._unnumbered: set[str] = set()
        self._headings = Counter({})
        self._top: etree._Element | None = None
        self._counters: dict[str, Counter] = {}
        for root in roots:
            for holder in root.iterchildren("{*}styles", "{*}automatic-styles"):
                for style in holder.iterchildren(tag=etree.Element):
                    self._take(style)

    def _take(self, style: etree._Element) -> None:
        name = attribute(style, "name")
        kind = local(style)
        if kind == "outline-style":
            self._headings = Counter(_levels(style))
        elif kind == "list-style":
            self._lists[name] = style
        for each in style.iterchildren("{*}text-properties"):
            if any(str(key).endswith(_STRIKING) and value not in ("", "none") for key, value in each.items()):
                self.struck.add(name)
        for each in style.iterchildren("{*}table-properties"):
            if attribute(each, "display") == "false":
                self.hidden.add(name)
        if any(str(key).endswith("}list-style-name") and not value for key, value in style.items()):
            self._unnumbered.add(name)

    def label(self, block: etree._Element) -> str | None:
        """Count a heading or paragraph, and return what is before it: its number, ``-``, or nothing.

        None for a paragraph that is not in a list.
        """
        item = next(block.iterancestors("{*}list-item", "{*}list-header"), None)
        if item is None:
            return self._heading_label(block) if local(block) == "h" else None
        if local(item) == "list-header" or next(iter(item.iterchildren(tag=etree.Element)), None) is not block:
            return ""
        lists = list(item.iterancestors("{*}list"))
        name = next(filter(None, (attribute(each, "style-name") for each in lists)), "")
        if name not in self._lists or not lists:
            return "-"
        if lists[-1] is not self._top:
            self._top = lists[-1]
            if attribute(self._top, "continue-numbering") != "true" and not attribute(self._top, "continue-list"):
                self._counters.pop(name, None)
        if (counter := self._counters.get(name)) is None:
            counter = self._counters[name] = Counter(_levels(self._lists[name]))
        if (start := attribute(item, "start-value")).isdecimal() and len(start) < 7:
            counter.restart(min(len(lists), MAX_LEVELS) - 1, int(start))
        return counter.label(len(lists) - 1) or "-"

    def _heading_label(self, block: etree._Element) -> str:
        level = attribute(block, "outline-level")
        if attribute(block, "is-list-header") == "true" or attribute(block, "style-name") in self._unnumbered:
            return ""
        return self._headings.label(int(level) - 1 if level.isdecimal() and 0 < len(level) < 3 else 0)


def _levels(style: etree._Element) -> dict[int, Level]:
    found: dict[int, Level] = {}
    for each in style.iterchildren(tag=etree.Element):
        kind, level = local(each), attribute(each, "level")
        if kind not in _LEVELS or not level.isdecimal() or not 0 < int(level) <= MAX_LEVELS:
            continue
        at = int(level) - 1
        form = "none" if "bullet" in kind or "image" in kind else attribute(each, "num-format") or "none"
        shown = attribute(each, "display-levels")
        count = min(max(1, int(shown)), at + 1) if shown.isdecimal() and len(shown) < 3 else 1
        places = ".".join(f"%{place + 1}" for place in range(at + 1 - count, at + 1))
        start = attribute(each, "start-value")
        first = int(start) if start.isdecimal() and len(start) < 7 else 1
        pattern = attribute(each, "num-prefix") + places + attribute(each, "num-suffix")
        found[at] = Level({"1": "decimal"}.get(form, form), pattern, first)
    return found
