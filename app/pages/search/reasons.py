"""Reasons for a hit's rank, in the page's language: each leg's part in the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask_babel import gettext as _

from braid.core.types import Leg, LegScore


@dataclass(frozen=True, slots=True)
class Reason:
    """One leg's part in a hit, as the page shows it. ``percent`` is its share of the score, 0–100."""

    leg: Leg
    name: str
    rank: str
    score: str
    share: str
    percent: int
    query: str


class Reasoning:
    """Makes reasons for one page.

    The words are translated once: a page of eight answers has over a hundred reasons.
    """

    def __init__(self) -> None:
        self._names = {"dense": _("Meaning"), "bm25": _("Keywords")}
        self._scores = {"dense": _("cosine %(score)s"), "bm25": _("BM25 %(score)s")}
        self._rank = _("rank %(rank)s")
        self._share = _("contribution %(percent)s%%")

    def reasons(self, legs: Sequence[LegScore]) -> tuple[Reason, ...]:
        """Return the reasons for one hit."""
        total = sum(part.share for part in legs)
        return tuple(self._reason(part, total) for part in legs)

    def _reason(self, part: LegScore, total: float) -> Reason:
        percent = round(100 * part.share / total) if total > 0 else 0
        percent = min(max(percent, 0), 100)
        score = f"{part.score:.3f}" if part.leg == "dense" else f"{part.score:.1f}"
        return Reason(
            leg=part.leg,
            name=self._names[part.leg],
            rank=self._rank % {"rank": part.rank},
            score=self._scores[part.leg] % {"score": score},
            share=self._share % {"percent": percent},
            percent=percent,
            query=part.query,
        )
