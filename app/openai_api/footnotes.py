"""Citations as Markdown footnotes: ``[1]`` in an answer becomes ``[^1]``, and the passages stand below it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from braid.core.chat.citations import Citation
from braid.core.chat.links import check_links
from braid.core.chat.marks import marked, shown

_NOTE = re.compile(r"^\[\^\d{1,4}\]:.*(?:\n|$)", re.MULTILINE)
_TOUCHING = re.compile(r"(?<=\])(?=\[\^\d)")
NOTE_MARK = re.compile(r"\[\^(\d{1,4})\]")


def with_footnotes(text: str, places: Sequence[int] | None) -> str:
    """Return an answer, or a piece of one, with its citations as marks of footnotes, apart from each other."""
    return _TOUCHING.sub(" ", shown(marked(text, places), "[^{}]".format)[0])


def footnotes(citations: tuple[Citation, ...]) -> str:
    """Return the footnotes, a line each: title, heading, page or line, source. Markdown in them is text."""
    return "\n".join(f"[^{citation.number}]:{check_links(f' {_place(citation)}')}" for citation in citations)


def without_footnotes(text: str) -> str:
    """Return an answer as it was before its citations became footnotes, to be given back as an earlier turn."""
    return NOTE_MARK.sub(r"[\1]", _NOTE.sub("", text)).strip()


def _place(citation: Citation) -> str:
    passage = citation.passage
    named = [passage.title, passage.heading_path]
    named += [f"p. {passage.page}"] if passage.page is not None else []
    named += [f"l. {passage.line}"] if passage.line is not None and passage.page is None else []
    return " · ".join(dict.fromkeys(" ".join(each.split()) for each in (*named, passage.source) if each))
