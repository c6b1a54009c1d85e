"""The passages that answers are checked against: their sentences, and which of them supports a sentence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from braid.core.chat.support.facts import Fact, is_found, same
from braid.core.chat.support.reading import Sentence, read_sentence
from braid.core.text.analyzer import Analyzer
from braid.core.text.normalization import normalize
from braid.core.text.sentences import sentences

MAX_CHARS = 40_000
"""Characters of a passage that are read; a passage of Braid's own is far shorter."""
MAX_SENTENCES = 400
LEAST_CHARS = 4
"""Shortest sentence of a passage."""
WINDOW = 3
"""Most sentences that together support one."""
LEAST_GAIN = 0.1
"""Least share of a sentence's weight that a further one adds."""
LEAST_COVERAGE = 0.25
"""Share of the weight below which no sentence of a passage is said to be the one meant."""
FACT_WEIGHT = 2.0
"""Weight of a fact that both have, in terms of mean weight."""
FULL_CHARS = 300
"""Length from which a sentence loses, since it has much by chance."""
_QUOTES = str.maketrans("“”‘’`", "\"\"'''")


@dataclass(frozen=True, slots=True)
class Window:
    """The sentences of a passage that come nearest to a sentence, the nearest first, and their common share of it."""

    sentences: tuple[Sentence, ...]
    coverage: float
    """Share of the sentence's terms that they have, weighed by rarity, 0.0–1.0."""


@dataclass(frozen=True)
class ReadPassage:
    """A passage as sentences."""

    number: int
    sentences: tuple[Sentence, ...]
    context: Sentence | None
    """Its title and headings: what is said there need not be said again."""
    text: str
    """Its text as quotations are looked for in it."""
    is_whole: bool
    """Whether the text is whole, so that what is not in it is nowhere."""

    @property
    def facts(self) -> list[Fact]:
        """The facts of the passage, of its title and of its headings."""
        return [fact for each in (*self.sentences, *filter(None, (self.context,))) for fact in each.facts]

    def looks(self, said: Sentence) -> int:
        """Return the work that a sentence makes: looks at each sentence of the passage, for it and for its facts."""
        return len(self.sentences) + len(said.facts) * sum(len(one.facts) for one in self.sentences)


def read_passage(number: int, text: str, analyzer: Analyzer, *, context: str = "") -> ReadPassage:
    """Read a passage of this number, with its title and headings."""
    return ReadPassage(
        number,
        tuple(_read(text[:MAX_CHARS], number, analyzer)),
        read_sentence(context, 0, analyzer, passage=number) if context else None,
        _plain(text[:MAX_CHARS]),
        len(text) < MAX_CHARS,
    )


class Evidence:
    """The passages that a sentence cites. What is rare is rare among their sentences."""

    def __init__(self, passages: Sequence[ReadPassage]) -> None:
        self.sentences = [one for each in passages for one in each.sentences]
        self.numbers = tuple(each.number for each in passages)
        self._passages = passages
        self._facts = [fact for each in passages for fact in each.facts]
        self._frequency = Counter(term for one in self.sentences for term in one.terms)

    def weight(self, term: str) -> float:
        """Return the weight of a term: rarer ones tell more."""
        return math.log(1.0 + (len(self.sentences) + 1.0) / (1.0 + self._frequency[term]))

    def coverage(self, terms: frozenset[str], known: frozenset[str]) -> float:
        """Return the share of the terms' weight that is known; 1.0 of none."""
        total = sum(map(self.weight, terms))
        return sum(map(self.weight, terms & known)) / total if total else 1.0

    def window(self, said: Sentence) -> Window:
        """Return the sentences of the passages that support the sentence, if any does."""
        weights = {term: self.weight(term) for term in said.terms}
        total = sum(weights.values())
        mean = total / len(weights) if weights else 1.0
        found: list[Sentence] = []
        left, missing = dict(weights), frozenset(range(len(said.facts)))
        candidates = list(self.sentences)
        had = [_had(said.facts, each) for each in candidates]
        whole = total + FACT_WEIGHT * mean * len(missing)
        while candidates and len(found) < WINDOW:
            scores = [
                _score(each, left, FACT_WEIGHT * mean * len(facts & missing))
                for each, facts in zip(candidates, had, strict=True)
            ]
            best = max(range(len(candidates)), key=scores.__getitem__)
            if scores[best] <= 0 or (found and scores[best] < LEAST_GAIN * whole):
                break
            one = candidates.pop(best)
            found.append(one)
            left = {term: weight for term, weight in left.items() if term not in one.terms}
            missing -= had.pop(best)
        covered = 1.0 - sum(left.values()) / total if total else 0.0
        return Window(tuple(found), covered)

    @property
    def has_texts(self) -> bool:
        """Whether the texts of the passages are whole, so that what is not in them is nowhere."""
        return all(each.is_whole for each in self._passages)

    @property
    def has_facts(self) -> bool:
        """Whether all facts of the passages were read, so that what is not among them is nowhere."""
        read = all(len(each.sentences) < MAX_SENTENCES for each in self._passages)
        return read and self.has_texts and all(one.is_whole for one in self.sentences)

    def stands(self, quoted: str) -> bool:
        """Return whether a text is in one of the passages, whatever its case and white space."""
        wanted = _plain(quoted)
        return any(wanted in each.text for each in self._passages)

    def is_found(self, fact: Fact) -> bool:
        """Return whether some passage has a fact."""
        return is_found(fact, self._facts)


def _had(facts: Sequence[Fact], each: Sentence) -> frozenset[int]:
    """Return the places of those facts that a sentence has."""
    return frozenset(n for n, fact in enumerate(facts) if any(same(fact, there) for there in each.facts))


def _score(each: Sentence, left: Mapping[str, float], of_facts: float) -> float:
    score = of_facts + sum(left[term] for term in each.terms & left.keys())
    return score / (1.0 + max(0, len(each.text) - FULL_CHARS) / (4 * FULL_CHARS))


def _read(text: str, number: int, analyzer: Analyzer) -> Iterable[Sentence]:
    at = 0
    for part in sentences(text, least=LEAST_CHARS)[:MAX_SENTENCES]:
        yield read_sentence(part, at, analyzer, passage=number)
        at += len(part)


def _plain(text: str) -> str:
    return " ".join(normalize(text).translate(_QUOTES).split()).casefold()
