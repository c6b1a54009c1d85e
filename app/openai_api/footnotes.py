"""Citations as Markdown footnotes: ``[1]`` in an answer becomes ``[^1]``, and the passages stand below it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from braid.core.chat.citations import Citation
from braid.core.chat.links import check_links
from braid.core.chat.marks import MARKS, marked, shown

_NOTE = re.compile(r"\[\^\d{1,4}\]:")
_TOUCHING = re.compile(rf"({MARKS.pattern})(?={MARKS.pattern})")
_MARKUP = re.compile(r"(?<!\\)([\[\]`])")
NOTE_MARK = re.compile(r"\[\^(\d{1,4})\]")


def with_footnotes(text: str, places: Sequence[int] | None) -> tuple[str, tuple[int, ...]]:
    """Return an answer, or a piece of one, with its citations as marks of footnotes, which are apart from each other,
    and where those begin."""
    return shown(_TOUCHING.sub(r"\1 ", marked(text, places)), "[^{}]".format)


def footnotes(citations: Sequence[Citation], page: Callable[[Citation], str]) -> str:
    """Return the footnotes, a line each: title, heading, page or line and source, linked to the passage's ``page``.
    Markdown in them is text."""
    return "\n".join(f"[^{each.number}]: [{_label(each)}]({page(each)})" for each in citations)


def _label(citation: Citation) -> str:
    return _MARKUP.sub(r"\\\1", check_links(f" {_place(citation)}").strip())


def without_footnotes(text: str) -> str:
    """Return an answer without the footnotes at its end, to be given back as an earlier turn."""
    lines = text.rstrip().split("\n")
    while lines and (_NOTE.match(lines[-1]) or not lines[-1].strip()):
        lines.pop()
    return "\n".join(lines).strip()


def _place(citation: Citation) -> str:
    passage = citation.passage
    named = [passage.title, passage.heading_path]
    named += [f"p. {passage.printed_page or passage.page}"] if passage.page is not None else []
    named += [f"l. {passage.line}"] if passage.line is not None and passage.page is None else []
    return " · ".join(dict.fromkeys(" ".join(each.split()) for each in (*named, passage.source) if each))
