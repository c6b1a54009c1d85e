"""Citations as Markdown footnotes: ``[1]`` in an answer becomes ``[^1]``, and the passages stand below it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from braid.core.chat.citations import Citation
from braid.core.chat.links import check_links

_MARK = re.compile(r"\[(\d{1,4})\]")
_UNFINISHED = re.compile(r"\[\d{0,4}$")
_NOTE = re.compile(r"^\[\^\d{1,4}\]:.*(?:\n|$)", re.MULTILINE)
_NOTE_MARK = re.compile(r"\[\^(\d{1,4})\]")


@dataclass(slots=True)
class FootnoteMarks:
    """Takes an answer piece by piece, and writes its citations as marks of footnotes."""

    _held: str = ""

    def feed(self, piece: str) -> str:
        """Take the next piece; return the text that can be shown now."""
        text = self._held + piece
        unfinished = _UNFINISHED.search(text)
        self._held = text[unfinished.start() :] if unfinished else ""
        return _MARK.sub(r"[^\1]", text[: len(text) - len(self._held)])

    def flush(self) -> str:
        """Return the rest of the text."""
        held, self._held = self._held, ""
        return held


def footnotes(citations: tuple[Citation, ...]) -> str:
    """Return the footnotes, a line each: title, heading, page or line, source. Markdown in them is text."""
    return "\n".join(f"[^{citation.number}]:{check_links(f' {_place(citation)}')}" for citation in citations)


def without_footnotes(text: str) -> str:
    """Return an answer as it was before its citations became footnotes, to be given back as an earlier turn."""
    return _NOTE_MARK.sub(r"[\1]", _NOTE.sub("", text)).strip()


def _place(citation: Citation) -> str:
    passage = citation.passage
    named = [passage.title, passage.heading_path]
    named += [f"p. {passage.page}"] if passage.page is not None else []
    named += [f"l. {passage.line}"] if passage.line is not None and passage.page is None else []
    return " · ".join(dict.fromkeys(" ".join(each.split()) for each in (*named, passage.source) if each))
