"""Menus of web pages: what leads about, and is not what a page says. What a page links of itself is there, too."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

_ROLES = frozenset({"navigation", "search", "menu", "menubar", "toolbar", "tablist", "doc-toc", "doc-pagelist"})
"""Roles of ARIA that are no content."""
_BLOCKS = frozenset({"div", "ul", "ol", "dl", "table", "section", "aside", "header", "footer", "center", "p", "dir"})
_NAMED = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|breadcrumbs?|toc|tableofcontents|sidebar|pagination|pager)(?:$|[\s_-])",
    re.IGNORECASE,
)
_LEADING = frozenset({"prev", "previous", "next", "up", "home", "start", "first", "last", "contents", "index"})
"""What a page's ``link`` elements say of the pages around it."""
_SENTENCE = re.compile(r"(?<=[^\W\d_]{2})[.!?](?:\s|$)|[。！？]")
_HEADING = re.compile("h[1-6]")
LEAST_LINKS = 3
LEAST_LINKED = 0.8
"""Least share of a block's letters that are in links, for it to be a menu; half of them do where its name says so."""
MOST_MENU_CHARS = 300
"""Longest text of a block that leads to the pages before and after this one."""


@dataclass(slots=True)
class _Counts:
    """What is in an element: letters and digits, those in links, links, and of these those of two kinds."""

    letters: int = 0
    linked: int = 0
    links: int = 0
    inner: int = 0
    """Links to a part of the page."""
    leading: int = 0
    """Links to the pages before, after or above this one."""
    headings: int = 0

    def add(self, other: _Counts) -> None:
        self.letters += other.letters
        self.linked += other.linked
        self.links += other.links
        self.inner += other.inner
        self.leading += other.leading
        self.headings += other.headings


def menus_of(root: etree._Element) -> set[etree._Element]:
    """Return the elements of a page that are menus, or signs: by their role; lists of links to the page's own parts;
    what leads to the pages before and after it; and blocks of links whose name says that they are a menu.
    """
    targets = {name for each in root.iter() for key in ("id", "name") if (name := each.get(key))}
    around = {each.get("href") or "" for each in root.iter("link") if (each.get("rel") or "").lower() in _LEADING}
    found: set[etree._Element] = set()
    open_counts: list[_Counts] = [_Counts()]
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            open_counts.append(_Counts(_letters(element.text)))
            continue
        counts = open_counts.pop()
        if element.tag == "a" and (href := element.get("href")):
            _, mark, fragment = href.partition("#")
            counts.linked, counts.links = counts.letters, 1
            counts.inner, counts.leading = int(bool(mark) and fragment in targets), int(href in around)
            if counts.inner and not counts.letters:  # a mark beside a heading that leads to itself
                found.add(element)
        counts.headings += _HEADING.fullmatch(element.tag) is not None
        if _is_menu(element, counts) or _is_sign(element, counts):
            found.add(element)
        open_counts[-1].add(counts)
        open_counts[-1].letters += _letters(element.tail)
    return found


def _is_sign(element: etree._Element, counts: _Counts) -> bool:
    """Return whether a cell is a sign beside several rows, such as that of a warning."""
    return element.tag == "td" and not counts.letters and len(element) > 0 and (element.get("rowspan") or "1") != "1"


def _letters(text: str | None) -> int:
    return sum(map(str.isalnum, text)) if text else 0


def _is_menu(element: etree._Element, counts: _Counts) -> bool:
    if element.get("role") in _ROLES:
        return True
    if element.tag not in _BLOCKS or not counts.links:
        return False
    is_linked = counts.linked >= LEAST_LINKED * counts.letters
    if is_linked and counts.links >= LEAST_LINKS and counts.inner >= LEAST_LINKED * counts.links:
        return True
    if 2 * counts.linked >= counts.letters and _NAMED.search(f"{element.get('class') or ''} {element.get('id') or ''}"):
        return True
    if counts.headings or 2 * counts.leading < counts.links or counts.letters > MOST_MENU_CHARS:
        return False
    return element.tag != "p" and _SENTENCE.search("".join(map(str, element.itertext()))) is None
