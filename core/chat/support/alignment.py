"""Aligns the words of two sentences: which are in both, and what is in place of what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from braid.core.chat.support.facts import Fact, Number, same
from braid.core.chat.support.reading import Sentence, SentenceWord

LITERAL = 0.7
"""Share of aligned words from which a sentence is nearly the passage's wording."""
MOST_REPLACED = 0.5
"""Most words of a nearly literal sentence that have another in their place, for each that is the same."""
MAX_WORDS = 120
"""Most words of a sentence that are aligned; the work grows with the product of both numbers."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Words of a sentence that are not in the other, and those in the same place of the other."""

    said: tuple[SentenceWord, ...]
    there: tuple[SentenceWord, ...]
    is_flanked: bool
    """Whether equal words stand before and behind, or the sentences begin or end there; two before the end suffice."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The gaps between the words that two sentences have in common, and the share of those."""

    gaps: tuple[Gap, ...]
    share: float
    """Part of the sentence's words outside of gaps that have two sides which the other has, 0.0–1.0."""
    common: int = 0
    """Words that both have."""

    @property
    def is_literal(self) -> bool:
        """Whether nearly all words stand there in this order, whatever stands in place of the others."""
        replaced = sum(len(gap.said) for gap in self.gaps if gap.there)
        return self.share >= LITERAL and replaced <= MOST_REPLACED * self.common


def align_sentences(said: Sentence, there: Sentence) -> Alignment:
    """Align a sentence with one of a passage."""
    mine, others = said.words, there.words
    if not mine or not others or len(mine) > MAX_WORDS or len(others) > MAX_WORDS:
        return Alignment((), 0.0)
    keys = _keys(said, there)
    pairs = list(_common(keys[0], keys[1]))
    gaps = tuple(_gaps(mine, others, pairs))
    rest = len(mine) - sum(len(gap.said) for gap in gaps if gap.there)
    return Alignment(gaps, len(pairs) / rest if rest else 0.0, len(pairs))


def _keys(said: Sentence, there: Sentence) -> tuple[list[str], list[str]]:
    """Return the words as keys; facts have the same key where they are the same."""
    known = [_bare(fact) for fact in there.facts]
    others = [_place_of(fact, known) for fact in known]
    mine = [_place_of(_bare(fact), known) for fact in said.facts]
    return (
        [f"#{mine[word.fact]}" if word.fact >= 0 else word.key for word in said.words],
        [f"#{others[word.fact]}" if word.fact >= 0 else word.key for word in there.words],
    )


def _bare(fact: Fact) -> Fact:
    """Return a number as one that bounds nothing: of *at least 18* and *at least 21* neither is the other."""
    return replace(fact, bound=0) if isinstance(fact, Number) else fact


def _place_of(fact: Fact, facts: Sequence[Fact]) -> int:
    """Return the place of the first fact that is the same; -1 if none is."""
    return next((place for place, each in enumerate(facts) if same(fact, each)), -1)


def _common(mine: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of a longest common subsequence."""
    start, last, other_last = 0, len(mine), len(others)
    while start < min(last, other_last) and mine[start] == others[start]:
        yield start, start
        start += 1
    while start < min(last, other_last) and mine[last - 1] == others[other_last - 1]:
        last, other_last = last - 1, other_last - 1
    rows = [[0] * (other_last - start + 1)]
    for one in reversed(mine[start:last]):
        below, row = rows[-1], [0] * (other_last - start + 1)
        for place in range(other_last - start - 1, -1, -1):
            if others[start + place] == one:
                row[place] = below[place + 1] + 1
            else:
                row[place] = below[place] if below[place] >= row[place + 1] else row[place + 1]
        rows.append(row)
    rows.reverse()
    row_at, place = 0, 0
    while row_at < last - start and place < other_last - start:
        if mine[start + row_at] == others[start + place]:
            yield start + row_at, start + place
            row_at, place = row_at + 1, place + 1
        elif rows[row_at + 1][place] >= rows[row_at][place + 1]:
            row_at += 1
        else:
            place += 1
    yield from zip(range(last, len(mine)), range(other_last, len(others)), strict=True)


def _gaps(
    mine: Sequence[SentenceWord], others: Sequence[SentenceWord], pairs: Sequence[tuple[int, int]]
) -> Iterator[Gap]:
    before, other_before, run = 0, 0, 0
    for one, other in [*pairs, (len(mine), len(others))]:
        if one > before:
            left = before > 0 or other_before == 0
            right = one < len(mine) or other == len(others) or run > 1
            there = others[other_before:other]
            if one == len(mine) and right:  # it ends here, and the other goes on
                there = there[: one - before]
            yield Gap(tuple(mine[before:one]), tuple(there), left and right)
        run = run + 1 if (one, other) == (before, other_before) else 1
        before, other_before = one + 1, other + 1
