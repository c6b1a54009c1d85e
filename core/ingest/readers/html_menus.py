"""Menus of web pages: what leads about, and is not what a page says. What a page links of itself is there, too."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from lxml import etree

from braid.core.ingest.readers.parts.xml import finder

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
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_WITH_ROLE = finder("//*[@role]")
_WITH_NAME = finder("//*[@id or @name]")
LEAST_LINKS = 3
LEAST_LINKED = 0.8
"""Least share of a block's letters that are in links, for it to be a menu; half of them do where its name says so."""
MOST_MENU_CHARS = 300
"""Longest text of a block that leads to the pages before and after this one."""


class _Counts(NamedTuple):
    """What a page has had so far: letters and digits in links, links, and of these those of two kinds."""

    linked: int = 0
    links: int = 0
    inner: int = 0
    """Links to a part of the page."""
    leading: int = 0
    """Links to the pages before, after or above this one."""
    headings: int = 0

    def since(self, before: _Counts) -> _Counts:
        """Return what came after ``before``."""
        return _Counts(*(count - other for count, other in zip(self, before, strict=True)))


def menus_of(root: etree._Element) -> set[etree._Element]:
    """Return the elements of a page that are menus, or signs: by their role; lists of links to the page's own parts;
    what leads to the pages before and after it; and blocks of links whose name says that they are a menu.
    """
    targets = {name for each in _WITH_NAME(root) for key in ("id", "name") if (name := each.get(key))}
    around = {each.get("href") or "" for each in root.iter("link") if (each.get("rel") or "").lower() in _LEADING}
    found = {each for each in _WITH_ROLE(root) if each.get("role") in _ROLES}
    texts: list[str | int] = []
    counts = _Counts()
    open_elements: list[tuple[_Counts, int]] = []
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            open_elements.append((counts, len(texts)))
            if text := element.text:
                texts.append(text)
            continue
        before, start = open_elements.pop()
        tag = element.tag
        if tag == "a" and (href := element.get("href")):
            _, mark, fragment = href.partition("#")
            letters, is_inner = _letters(texts, start), bool(mark) and fragment in targets
            counts = _Counts(
                before.linked + letters,
                before.links + 1,
                before.inner + is_inner,
                before.leading + (href in around),
                counts.headings,
            )
            if is_inner and not letters:  # a mark beside a heading that leads to itself
                found.add(element)
        elif tag in _HEADINGS:
            counts = counts._replace(headings=counts.headings + 1)
        elif tag in _BLOCKS and counts is not before:
            if _is_menu(element, counts.since(before), partial(_letters, texts, start)):
                found.add(element)
        elif tag == "td" and len(element) and (element.get("rowspan") or "1") != "1" and not _letters(texts, start):
            found.add(element)  # a sign beside several rows, such as that of a warning
        if tail := element.tail:
            texts.append(tail)
    return found


def _letters(texts: list[str | int], start: int) -> int:
    """Return the number of letters and digits of the texts from a place on, which it takes the place of: each text is
    counted once, however many elements it is in.
    """
    texts[start:] = [sum(each if isinstance(each, int) else _count(each) for each in texts[start:])]
    return int(texts[start])


def _count(text: str) -> int:
    if text.isascii():  # without a step per character
        return len(text.encode("ascii").translate(None, _SIGNS))
    return sum(map(str.isalnum, text))


def _is_menu(element: etree._Element, counts: _Counts, letters: Callable[[], int]) -> bool:
    if not counts.links:
        return False
    if (
        counts.links >= LEAST_LINKS
        and counts.inner >= LEAST_LINKED * counts.links
        and counts.linked >= LEAST_LINKED * letters()
    ):
        return True
    if _NAMED.search(f"{element.get('class') or ''} {element.get('id') or ''}") and 2 * counts.linked >= letters():
        return True
    if counts.headings or 2 * counts.leading < counts.links or letters() > MOST_MENU_CHARS:
        return False
    return element.tag != "p" and _SENTENCE.search("".join(map(str, element.itertext()))) is None
