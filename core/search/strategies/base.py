"""The interface of strategies: `Strategy`, the query variants that it makes, and the tools that it may use."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeVar

from braid.core.errors import InvalidInputError
from braid.core.models.prompts import Prompt, Prompts
from braid.core.text.analyzer import Analyzer
from braid.core.types import Hit, Leg, Passage, Query
from braid.core.vector import Vector

Answer = TypeVar("Answer")
Vectors = Mapping[str, Vector]
"""Vectors of one text by fingerprint of the embedding model: collections may have different models."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryVariant:
    """One way of putting the query. Both legs search for ``text`` unless they are given something else."""

    text: str
    """The query in words, which results show."""
    weight: float = 1.0
    """Weight of the variant's rankings in the fusion."""
    legs: tuple[Leg, ...] = ("dense", "bm25")
    passage: str = ""
    """The dense leg embeds this text, as a passage, instead of ``text``."""
    vectors: Vectors | None = None
    """The dense leg searches for these instead of ``text``; nothing is embedded."""
    terms: Mapping[str, float] | None = None
    """The keyword leg searches for these tokens, with their weights, instead of ``text``."""

    def with_weight(self, weight: float) -> QueryVariant:
        """Return the same variant with another weight."""
        return replace(self, weight=weight)

    def text_for(self, leg: Leg) -> str:
        """Return in words what the leg searches for."""
        return self.passage or self.text if leg == "dense" else self.text

    def target_for(self, leg: Leg) -> Hashable:
        """Return what the leg searches for as a value; equal values have equal hits."""
        if leg == "bm25":
            return self.text if self.terms is None else tuple(sorted(self.terms.items()))
        if self.vectors is not None:
            return tuple((model, vector.tobytes()) for model, vector in sorted(self.vectors.items()))
        return ("passage", self.passage) if self.passage else self.text


@dataclass(frozen=True, slots=True)
class Expansion:
    """The variants to search for, and their generator: ``none`` when the query is searched as it is."""

    variants: tuple[QueryVariant, ...]
    generator: str = "none"


class Tools(Protocol):
    """The parts of a search that its strategy may use.

    Passages are read within the caller's scope, and the first pass within the filters, too. All filters but that of
    kinds of chunks select whole documents, so the neighbours of a passage that passes them pass as well.
    """

    # ------------------------------------------------------------ the search model

    @property
    def prompts(self) -> Prompts:
        """The prompts of this search."""

    @property
    def model_name(self) -> str:
        """The search model that this search may ask; empty when it is to use pseudo-relevance feedback."""

    def ask(self, prompt: Prompt, parse: Callable[[str], Answer | None], **values: object) -> Answer | None:
        """Ask the search model and parse its reply. None without a model, or when it fails, is slow or gives nothing
        usable. A failure is reported; a missing model only if the request names the model as generator.
        """

    # ------------------------------------------------------------ feedback: the first pass, and its passages

    @property
    def original(self) -> QueryVariant:
        """The query as it is. Its hits of the first pass are reused."""

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer of the keyword index."""

    def first_pass(self, k: int) -> Sequence[Hit]:
        """Return the ``k`` best hits of the query as it is; searched once, however often it is asked for."""

    def idf(self, terms: Collection[str]) -> Mapping[str, float]:
        """Return the idf of each term over all collections in scope, as BM25 weighs it; higher is rarer."""

    def neighbours(self, passage: Passage, reach: int) -> Sequence[Passage]:
        """Return up to ``reach`` passages of the same document before and behind, with the passage, in order."""

    # ------------------------------------------------------------ vectors of the query and of passages

    def query_vectors(self) -> Vectors:
        """Return the query's vector under each model in scope, embedded once; empty when that failed, which is
        reported.
        """

    def passage_vectors(self, passages: Sequence[Passage]) -> Mapping[str, Vector]:
        """Return stored vectors by chunk id; a passage that is not embedded yet has none."""

    def fingerprint(self, passage: Passage) -> str:
        """Return the fingerprint of the embedding model of the passage's collection."""

    def embed_passages(self, texts: Mapping[str, Sequence[str]]) -> Vectors:
        """Return texts by fingerprint to vectors (n, dim) by fingerprint, in one batch per model; one that fails is
        left out, and reported.
        """

    def missing(self, reason: str) -> None:
        """Report a failure: the result is worse than it should be (``degraded``)."""

    def note(self, text: str) -> None:
        """Report what a limit left out although nothing failed (``notes``)."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that tunes a strategy, both bounds included. One with a whole ``default`` takes whole numbers alone.

    >>> Parameter(3, 1, 10, "Other ways of asking that the model writes").checked("variants", 5.0)
    5
    """

    default: float
    lowest: float
    highest: float
    meaning: str
    """One line."""

    def checked(self, name: str, value: float) -> float:
        """Return the value. Raises InvalidInputError, with ``name`` as its field, for one that this must not have."""
        whole = isinstance(self.default, int)
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not self.lowest <= value <= self.highest or (whole and value != int(value)):
            kind = "whole number" if whole else "number"
            raise InvalidInputError(
                f"{name} is {value!r}; it must be a {kind} from {self.lowest} to {self.highest}", field=name
            )
        return int(value) if whole else value


class Strategy(Protocol):
    """Expands a query and refines its hits.

    One that may be tuned also has ``parameters``, a mapping from names to `Parameter`: the query that it is given has
    the value of each in ``parameters``. Instead of the number ``overfetch`` there may be a parameter of this name.
    """

    description: str
    """One line for menus."""
    costs: Mapping[Literal["llm", "feedback"], str]
    """Costs of a query with each generator, in one line: model calls, embeddings. Empty without a generator."""
    overfetch: int
    """Hits that `refine` is given, as a multiple of ``k``: above 1 for a strategy that drops some."""

    def expand(self, query: Query, tools: Tools) -> Expansion:
        """Return the variants to search for: at least one."""

    def refine(self, query: Query, hits: Sequence[Hit], tools: Tools) -> Sequence[Hit]:
        """Return the hits to show, best first; each keeps its chunk id."""


@dataclass(frozen=True, slots=True)
class StrategyInfo:
    """A strategy as menus and programs describe it."""

    name: str
    description: str
    """One line."""
    costs: Mapping[Literal["llm", "feedback"], str]
    """Costs of a query with each generator, in one line: model calls, embeddings. Empty without a generator."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """The value in force of each parameter: the settings', else the default."""
    limits: Mapping[str, Parameter] = field(default_factory=dict)
    """What each parameter means, its default, and what it may be."""


class ExpandOnly:
    """Base of strategies that leave the hits as they are."""

    overfetch = 1

    def refine(self, query: Query, hits: Sequence[Hit], tools: Tools) -> Sequence[Hit]:
        """Return the hits as they are."""
        return hits


class RefineOnly:
    """Base of strategies that search for the query as it is."""

    overfetch = 1

    def expand(self, query: Query, tools: Tools) -> Expansion:
        """Return the query itself."""
        return Expansion((tools.original,))
