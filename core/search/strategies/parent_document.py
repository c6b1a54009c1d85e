"""Strategy ``parent_document``: the section around each passage that was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from braid.core.search.overlap import shared_chars
from braid.core.search.strategies.base import Parameter, RefineOnly, Tools
from braid.core.types import Hit, Passage, Query

MIN_OVERLAP_CHARS = 8
"""Fewer equal characters are chance."""


class ParentDocument(RefineOnly):
    """Matches small passages and returns the section around each, once, however many of its passages were found.

    As LangChain's ParentDocumentRetriever, but parents are read from the ledger: nothing is stored twice.
    """

    description = "Finds passages and returns the section around each, once."
    costs: Mapping[Literal["llm", "feedback"], str] = {}
    overfetch = 3
    parameters: Mapping[str, Parameter] = MappingProxyType(
        {
            "overfetch": Parameter(
                overfetch,
                1,
                20,
                "Passages that are fetched for each section wanted: spare ones, since several share one",
            ),
            "reach": Parameter(8, 0, 50, "Passages of the section before the one found, and behind it, at most"),
            "max_section_chars": Parameter(6_000, 100, 100_000, "Characters of a section, at most"),
        }
    )

    def refine(self, query: Query, hits: Sequence[Hit], tools: Tools) -> Sequence[Hit]:
        """Return the best hit of each section with the section's text, pages and lines; at most ``k``."""
        shown: list[Hit] = []
        covered: set[str] = set()
        for hit in hits:
            if len(shown) == query.k:
                break
            if hit.passage.chunk_id in covered:
                continue
            section = _section(hit.passage, query, tools)
            section = [p for p in section if p.chunk_id not in covered or p.chunk_id == hit.passage.chunk_id]
            others = tuple(p.chunk_id for p in section if p.chunk_id != hit.passage.chunk_id)
            covered.update((hit.passage.chunk_id, *others))
            shown.append(replace(hit, passage=_join(hit.passage, section), covers=others))
        return shown


def _section(passage: Passage, query: Query, tools: Tools) -> list[Passage]:
    """Return the neighbours under the same heading, nearest first until ``max_section_chars``, in order."""
    neighbours, most = tools.neighbours(passage, int(query.parameters["reach"])), query.parameters["max_section_chars"]
    around = {p.position: p for p in neighbours if p.heading_path == passage.heading_path}
    section, chars = {passage.position: passage}, len(passage.text)
    ends = [passage.position - 1, passage.position + 1]
    steps = [-1, 1]
    while ends:
        for side in range(len(ends) - 1, -1, -1):
            neighbour = around.get(ends[side])
            if neighbour is None or chars + len(neighbour.text) > most:
                del ends[side], steps[side]
                continue
            section[neighbour.position] = neighbour
            chars += len(neighbour.text)
            ends[side] += steps[side]
    return [section[position] for position in sorted(section)]


def _join(passage: Passage, section: Sequence[Passage]) -> Passage:
    first, last = section[0], section[-1]
    text = first.text
    for following in section[1:]:
        text = join_overlapping(text, following.text)
    return replace(
        passage,
        text=text,
        page=first.page,
        page_end=last.page_end,
        line=first.line,
        line_end=last.line_end,
    )


def join_overlapping(before: str, after: str) -> str:
    """Join two texts. Characters that end the first and begin the second appear once; else there is a line break."""
    shared = shared_chars(before, after, least=MIN_OVERLAP_CHARS)
    return before + after[shared:] if shared else f"{before}\n{after}"
