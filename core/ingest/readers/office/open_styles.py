"""Styles of OpenDocument that change what is read: struck out text, hidden sheets, numbers of paragraphs."""

from __future__ import annotations

from collections.abc import Iterable

from lxml import etree

from braid.core.ingest.readers.office.numbering import MAX_LEVELS, Counter, Level
from braid.core.ingest.readers.parts.xml import attribute, finder, local

_LEVELS = ("list-level-style-number", "list-level-style-bullet", "list-level-style-image", "outline-level-style")


_NAMESPACES = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("style", "table", "text")}
_STRUCK, _HIDDEN, _UNNUMBERED, _LISTS, _OUTLINE = (
    finder(path, **_NAMESPACES)
    for path in (
        "*/style:style[style:text-properties/@style:text-line-through-style[. != '' and . != 'none'] or "
        "style:text-properties/@style:text-line-through-type[. != '' and . != 'none']]",
        "*/style:style[style:table-properties/@table:display = 'false']",
        "*/style:style[@style:list-style-name = '']",
        "*/text:list-style",
        "*/text:outline-style",
    )
)


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
            self.struck.update(attribute(style, "name") for style in _STRUCK(root))
            self.hidden.update(attribute(style, "name") for style in _HIDDEN(root))
            self._unnumbered.update(attribute(style, "name") for style in _UNNUMBERED(root))
            self._lists.update((attribute(style, "name"), style) for style in _LISTS(root))
            for style in _OUTLINE(root):
                self._headings = Counter(_levels(style))

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
        said = {str(key).rpartition("}")[2]: str(value) for key, value in each.items()}
        kind, level = local(each), said.get("level", "")
        if kind not in _LEVELS or not level.isdecimal() or not 0 < int(level) <= MAX_LEVELS:
            continue
        at = int(level) - 1
        form = "none" if "bullet" in kind or "image" in kind else said.get("num-format") or "none"
        shown = said.get("display-levels", "")
        count = min(max(1, int(shown)), at + 1) if shown.isdecimal() and len(shown) < 3 else 1
        places = ".".join(f"%{place + 1}" for place in range(at + 1 - count, at + 1))
        start = said.get("start-value", "")
        first = int(start) if start.isdecimal() and len(start) < 7 else 1
        pattern = said.get("num-prefix", "") + places + said.get("num-suffix", "")
        found[at] = Level({"1": "decimal"}.get(form, form), pattern, first)
    return found
