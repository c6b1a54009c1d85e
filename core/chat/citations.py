"""Citations ``[1]`` in an answer: those that refer to no passage in the prompt are removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from braid.core.json_form import pick, to_json
from braid.core.metadata.gaps import gap_notes
from braid.core.models.citation_marks import (
    ENDS_IN_MARK,
    NESTED,
    SPACED_MARK,
    UNFINISHED,
    UNFINISHED_ENTITY,
    cited_numbers,
    decode_entities,
    unnest,
)
from braid.core.types import Passage


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer cites. ``text`` is the part of it that the model was given."""

    number: int
    passage: Passage
    text: str


def citation_json(citation: Citation) -> dict[str, Any]:
    """Return the citation as JSON: its number, the place of its passage, and its text."""
    place = ("chunk_id", "document_id", "dataset_id", "source", "title", "heading_path", "page", "line")
    return {"number": citation.number, **pick(to_json(citation.passage), *place), "text": citation.text}


def gaps_of_cited(citations: Sequence[Citation]) -> tuple[str, ...]:
    """Return a note for each gap of a document that is cited: pages without text, parts that were not read."""
    cited = {citation.passage.document_id: citation.passage for citation in citations}
    return tuple(note for one in cited.values() for note in gap_notes(one.title or one.source, one.metadata))


@dataclass(slots=True)
class CitationFilter:
    """Takes a text piece by piece, writes its citations as ``[1][2]`` and removes the invented ones.

    A possible beginning of a citation is held back until the citation is complete, or is none. A citation never
    becomes the text of a Markdown link, nor the name of a link's target.
    """

    given: frozenset[int]
    """Numbers of the passages in the prompt."""
    renumber: bool = False
    """Write the citations with numbers from 1 in the order of the text, instead of those of the prompt."""
    cited: list[int] = field(default_factory=list)
    """Numbers of the prompt, in the order of the text, each once."""
    removed: int = 0
    """How many citations were removed."""
    _held: str = ""
    _behind_mark: bool = False

    def feed(self, piece: str) -> str:
        """Take the next piece; return the text that can be shown now."""
        text = NESTED.sub(lambda mark: unnest(mark, ""), decode_entities(self._held + piece))
        entity = UNFINISHED_ENTITY.search(text)
        unfinished = UNFINISHED.search(text) or entity
        end = unfinished.start() if unfinished else len(text)
        while end and text[end - 1] in " \t\\":  # they go with a citation that is removed
            end -= 1
        self._held = text[end:]
        return self._check(text[:end])

    def flush(self) -> str:
        """Return the rest of the text. Call it once, after the last piece."""
        held, self._held = self._held, ""
        return self._check(held)

    def _check(self, text: str) -> str:
        shown = SPACED_MARK.sub(self._rewrite_mark, text)
        if self._behind_mark and shown.startswith(("(", ":")):  # a mark between them was removed
            shown = f" {shown}"
        if shown:
            self._behind_mark = ENDS_IN_MARK.search(shown) is not None
        return shown

    def _rewrite_mark(self, mark: re.Match[str]) -> str:
        numbers = cited_numbers(mark[2])
        if not numbers:
            return mark[0]
        kept = []
        for number in numbers:
            if number in self.given:
                if number not in self.cited:
                    self.cited.append(number)
                kept.append(f"[{self.cited.index(number) + 1 if self.renumber else number}]")
            else:
                self.removed += 1
        if not kept:
            return ""
        return mark[1] + "".join(kept) + (" " if mark[3] else "")
