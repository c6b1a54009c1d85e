"""A look at the tags of a page before a parser sees them: lxml takes time by the square of an element's attributes."""

from __future__ import annotations

import re

MAX_ATTRIBUTES = 1_000
"""Of an element; the most that pages have are some dozens."""
# Each tag is matched once and whole, so this takes time by the length of the page alone.
_ATTRIBUTE = r"""[\s/]*+[^\s/>=][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>]*+))?+"""
_TAG = re.compile(rf"<(?:!--.*?(?:-->|\Z)|([a-z][^\s/>]*+)((?:{_ATTRIBUTE})*+))", re.DOTALL | re.IGNORECASE)
_EACH = re.compile(_ATTRIBUTE)
_END_OF = {name: re.compile(rf"</{name}", re.IGNORECASE) for name in ("script", "style")}
_SHORTEST = 2
"""Characters of an attribute with the space before it."""


def has_too_many_attributes(page: str) -> bool:
    """Whether an element has more than `MAX_ATTRIBUTES`. Text in scripts, styles and comments is not looked at."""
    position = 0
    while (tag := _TAG.search(page, position)) is not None:
        position = tag.end()
        name, attributes = tag.groups()
        if attributes and len(attributes) > _SHORTEST * MAX_ATTRIBUTES and _count(attributes) > MAX_ATTRIBUTES:
            return True
        if name and (end := _END_OF.get(name.lower())) is not None:
            found = end.search(page, position)
            position = found.start() if found else len(page)
    return False


def _count(attributes: str) -> int:
    count = position = 0
    while each := _EACH.match(attributes, position):
        count, position = count + 1, each.end()
    return count
