"""What an answer cites: passages, with the numbers of their marks in its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from braid.core.json_form import pick, to_json
from braid.core.metadata.gaps import concerns, gap_notes
from braid.core.types import Passage


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer cites. ``text`` is the part of it that the model was given."""

    number: int
    passage: Passage
    text: str


@dataclass(frozen=True, slots=True)
class Featured:
    """What of a cited passage is shown: whole sentences, of which one answers best.

    >>> featured = Featured("It was built in 1911. It closed in 1974.", 0, 21, 1)
    >>> featured.text[featured.start : featured.end]
    'It was built in 1911.'
    """

    text: str
    """Consecutive sentences, items of a list each on a line of their own, or the cells of a row."""
    start: int
    """Place in ``text``, in characters, where the part that answers begins."""
    end: int
    citation: int
    """The number of the citation that it is from."""


def citation_json(citation: Citation) -> dict[str, Any]:
    """Return the citation as JSON: its number, the place of its passage, and its text."""
    place = ("chunk_id", "document_id", "dataset_id", "source", "title", "heading_path", "page", "line")
    return {"number": citation.number, **pick(to_json(citation.passage), *place), "text": citation.text}


def gaps_of_cited(citations: Sequence[Citation]) -> tuple[str, ...]:
    """Return a note for each gap of a document that is cited which concerns what is cited of it."""
    cited = {citation.passage.document_id: citation.passage for citation in citations}
    pages = {document_id: set[int]() for document_id in cited}
    for one in (citation.passage for citation in citations):
        pages[one.document_id].update(range(one.page or 0, (one.page_end or one.page or -1) + 1))
    return tuple(
        note
        for document_id, one in cited.items()
        for note in gap_notes(one.title or one.source, one.metadata)
        if concerns(note.parts["gap"], pages[document_id])
    )
