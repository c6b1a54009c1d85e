"""Lookups: what was looked for after the first search, why, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from braid.core.errors import InvalidInputError

Tool = Literal["search", "read", "find_exact", "list_datasets", "table"]
Why = Literal["name", "thing", "words", "model", "document", "part", "language"]
"""A name in a sentence that answers a part of the question; a thing that is named beside another one; words that no
passage had; a model asked for it; the question is about the whole document, or the model has read a part of it;
documents are in another language than the question."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """One lookup, as a page shows it and as it is stored. Also an event of its turn.

    >>> Lookup("search", "Mateo Rivas room", "name", found=5, new=2).problem
    ''
    """

    type: ClassVar[str] = "lookup"
    tool: Tool
    asked: str
    """The query, or what was read."""
    why: Why
    found: int = 0
    """How many passages the lookup gave."""
    new: int = 0
    """How many of these passages no earlier search of the turn had given."""
    ms: float = 0.0
    problem: str = ""
    """Why the lookup gave nothing, where it failed or was not done."""
    about: str = ""
    """What was looked for, in words for people, where the query is a heap of words: names, or what was missing."""


@dataclass(frozen=True, slots=True)
class Bill:
    """What looking up more has cost, beside the first search's own times.

    >>> Bill(searches=2) + Bill(searches=3, model_calls=1)
    Bill(searches=4, model_calls=1, tokens=0, ms=0.0)
    """

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


@dataclass(frozen=True, slots=True)
class LookupLimits:
    """What a model may use to look up more. Raises InvalidInputError for a limit below 0.

    >>> LookupLimits(calls=0, thorough_calls=3).calls_of("multi_query")
    3
    """

    calls: int = 1
    """Calls of tools in a turn with the strategy ``basic``, as *Fast* has it; 0 for none. With one call the model is
    asked only where the first passages lack something."""
    thorough_calls: int = 6
    """Calls of tools in a turn with any other strategy."""
    seconds: float = 60.0
    tokens: int = 30_000
    """Tokens of all prompts and replies together; estimated where the server does not count them."""
    parts: int = 20
    """Parts in which a model reads a document that does not fit into its prompt; below 2 it reads the beginning."""

    def __post_init__(self) -> None:
        for name in ("calls", "thorough_calls", "seconds", "tokens", "parts"):
            if (value := getattr(self, name)) < 0:
                raise InvalidInputError(f"{name} is {value}; it must be at least 0", field=name)

    def calls_of(self, strategy: str) -> int:
        """Return the number of calls in a turn with this strategy."""
        return self.calls if strategy == "basic" else self.thorough_calls


DEFAULT_LIMITS = LookupLimits()
