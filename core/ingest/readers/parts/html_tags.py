"""A look at the tags of a page before a parser sees them: lxml takes time by the square of an element's attributes."""

from __future__ import annotations

import re

MAX_ATTRIBUTES = 1_000
"""Of an element; the most that pages have are some dozens."""
# Each tag is matched once and whole, so this takes time by the length of the page alone.
_ATTRIBUTE = r"""[\s/]*+[^\s/>=][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>]*+))?+"""
_TAG = re.compile(
    rf"<(?:!--.*?(?:-->|\Z)|(?:(script|style)(?![^\s/>])|[a-z][^\s/>]*+)((?:{_ATTRIBUTE})*+))",
    re.DOTALL | re.IGNORECASE,
)
_EACH = re.compile(_ATTRIBUTE)
_END_OF = {name: re.compile(rf"</{name}", re.IGNORECASE) for name in ("script", "style")}
_SHORTEST = 2 * MAX_ATTRIBUTES
"""Characters of so many attributes with the spaces before them."""


def has_too_many_attributes(page: str) -> bool:
    """Whether an element has more than `MAX_ATTRIBUTES`. Text in scripts, styles and comments is not looked at."""
    position = 0
    while position < len(page):
        for tag in _TAG.finditer(page, position):
            if tag.end() - tag.start() > _SHORTEST and _count(tag[2] or "") > MAX_ATTRIBUTES:
                return True
            if name := tag[1]:
                end = _END_OF[name.lower()].search(page, tag.end())
                position = end.start() if end else len(page)
                break
        else:
            break
    return False


def _count(attributes: str) -> int:
    count = position = 0
    while each := _EACH.match(attributes, position):
        count, position = count + 1, each.end()
    return count
