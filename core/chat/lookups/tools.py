"""The tools that a model may call in a turn: each reads within the turn's scope and filters, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from braid.core.chat.lookups.lookup import Tool
from braid.core.errors import InvalidInputError
from braid.core.ledger.ledger import Ledger
from braid.core.models.untrusted_text import as_data
from braid.core.search.exact import ExactResult
from braid.core.text.token_budget import fitting
from braid.core.types import MAX_QUERY_CHARS, Filters, Hit, Passage, Scope, SearchResult

MOST_FOUND = 5
"""Passages that a call gives, at most."""
PASSAGE_TOKENS = 300
"""Tokens of a passage that the model is shown while it looks; the answer is written from the whole."""
MOST_DATASETS = 100

DESCRIPTIONS: Mapping[Tool, tuple[str, str, str]] = {
    "search": (
        "Search the documents by meaning and by keyword.",
        "query",
        "What to look for: names and words of the passage that is missing",
    ),
    "read": ("Read the passages that follow a passage in its document.", "passage", "The number of the passage"),
    "find_exact": ("Find passages that contain a text letter for letter.", "text", "A code, a name, or a phrase"),
    "list_datasets": ("List the datasets that are searched.", "", ""),
    "table": (
        "Calculate from a table of the documents found: totals, averages, counts.",
        "question",
        "What to calculate",
    ),
}
"""Tool → what it does, the name of its parameter, and what that is."""


def tools() -> list[dict[str, Any]]:
    """Return the tools as OpenAI describes them."""
    return [_described(name, *about) for name, about in DESCRIPTIONS.items()]


def _described(name: str, does: str, parameter: str, what: str) -> dict[str, Any]:
    kind = "integer" if name == "read" else "string"
    properties = {parameter: {"type": kind, "description": what}} if parameter else {}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": does, "parameters": schema}}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave: passages, or a text."""

    asked: str
    hits: tuple[Hit, ...] = ()
    text: str = ""
    search: SearchResult | None = None
    """The search of the tool ``search``."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Runs the calls of one turn.

    ``search`` is the turn's own: its strategy, filters, reranker and scope. ``calculate`` answers from the tables of
    the passages found so far, or returns an empty text.
    """

    ledger: Ledger
    scope: Scope
    filters: Filters
    search: Callable[[str], SearchResult]
    find_exact: Callable[[str], ExactResult]
    calculate: Callable[[str], str]

    def run(self, name: str, arguments: Mapping[str, Any], passages: Sequence[Passage]) -> ToolResult:
        """Run a call; ``passages`` are those that have numbers, from 1. Raises InvalidInputError for a wrong call."""
        if name == "list_datasets":
            return ToolResult("", text=self._datasets())
        if name == "read":
            return self._read(arguments.get("passage"), passages)
        if name not in DESCRIPTIONS:
            raise InvalidInputError(f"there is no tool {name[:50]!r}; the tools are {', '.join(DESCRIPTIONS)}")
        _, parameter, _ = DESCRIPTIONS[name]  # type: ignore[index]
        text = arguments.get(parameter)
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_QUERY_CHARS:
            raise InvalidInputError(f"{name} needs a text as {parameter}", field=parameter)
        if name == "search":
            found = self.search(text)
            return ToolResult(text, found.hits[:MOST_FOUND], search=found)
        if name == "find_exact":
            return ToolResult(text, self._as_hits([match.passage for match in self.find_exact(text).matches]))
        return ToolResult(text, text=self.calculate(text) or "no table of the documents found answers this")

    def _read(self, number: object, passages: Sequence[Passage]) -> ToolResult:
        if isinstance(number, str) and number.isascii() and number.isdecimal() and len(number) < 6:
            number = int(number)
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(passages):
            raise InvalidInputError(f"passage is {str(number)[:50]!r}; give a number from 1 to {len(passages)}")
        passage = passages[number - 1]
        following = self.ledger.document_passages(
            passage.document_id, self.scope.dataset_ids, limit=MOST_FOUND, offset=passage.position + 1
        )
        return ToolResult(passage.title or passage.source, self._as_hits(following))

    def _as_hits(self, passages: Sequence[Passage]) -> tuple[Hit, ...]:
        """Return passages as hits, those that scope and filters select, read again from the ledger."""
        ids = [passage.chunk_id for passage in passages[:MOST_FOUND]]
        return hits_of(self.ledger, ids, self.scope.dataset_ids, self.filters)

    def _datasets(self) -> str:
        lines = [
            f"{as_data(each.name)}: {each.documents} documents. {as_data(each.description[:200])}".strip()
            for each in self.ledger.datasets_of(self.scope)[:MOST_DATASETS]
        ]
        return "\n".join(lines)


def hits_of(
    ledger: Ledger, chunk_ids: Sequence[str], dataset_ids: Collection[int], filters: Filters
) -> tuple[Hit, ...]:
    """Return the passages with these ids that the scope allows and the filters select, in this order, as hits that no
    search has scored.
    """
    rows = ledger.passage_rows(chunk_ids, dataset_ids, filters)
    return tuple(Hit(rows[chunk_id].passage(), 0.0, ()) for chunk_id in chunk_ids if chunk_id in rows)


def shown_passages(passages: Sequence[Passage], tag: str, *, first: int = 1) -> str:
    """Return passages as data for a model, numbered from ``first``, within tags that no passage can close."""
    parts = []
    for number, passage in enumerate(passages, start=first):
        named = " > ".join(filter(None, (passage.title, passage.heading_path)))[:200]
        title = as_data(" ".join(named.split())).replace('"', "'")
        text = as_data(fitting(passage.text, PASSAGE_TOKENS))
        parts.append(f'<{tag} number="{number}" title="{title}">\n{text}\n</{tag}>')
    return "\n".join(parts)
