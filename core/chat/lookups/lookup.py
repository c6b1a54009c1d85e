"""Lookups: what was looked for after the first search, why, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

Tool = Literal["search", "read", "find_exact", "list_datasets", "table"]
Why = Literal["name", "thing", "words", "model", "document"]
"""A name in a sentence that answers a part of the question; a thing that is named beside another one; words that no
passage had; a model asked for it; the question is about the whole document."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """One lookup, as a page shows it and as it is stored. Also an event of its turn."""

    type: ClassVar[str] = "lookup"
    tool: Tool
    asked: str
    """The query, or what was read."""
    why: Why
    found: int = 0
    """Passages that it gave."""
    new: int = 0
    """Those that no search before it had given."""
    ms: float = 0.0
    problem: str = ""
    """Why it gave nothing, where it failed or was not done."""


@dataclass(frozen=True, slots=True)
class Bill:
    """What looking up more has cost, beside the first search's own times."""

    searches: int = 1
    """All searches of the turn, the first one included."""
    model_calls: int = 0
    tokens: int = 0
    """Of prompts and replies, as the server counts them, else estimated."""
    ms: float = 0.0

    def __add__(self, other: Bill) -> Bill:
        """Return the bill of both, which share the first search."""
        searches, calls = self.searches + other.searches - 1, self.model_calls + other.model_calls
        return Bill(searches, calls, self.tokens + other.tokens, self.ms + other.ms)


NO_BILL = Bill()
"""Of a turn that looked up nothing more."""
