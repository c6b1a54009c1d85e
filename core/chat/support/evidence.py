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


class Evidence:
    """Passages by number, read once; `window` looks in some of them."""

    def __init__(
        self, passages: Mapping[int, str], analyzer: Analyzer, contexts: Mapping[int, str] | None = None
    ) -> None:
        self.sentences: dict[int, list[Sentence]] = {
            number: list(_read(text[:MAX_CHARS], number, analyzer)) for number, text in passages.items()
        }
        context = {
            number: read_sentence(text, 0, analyzer, passage=number)
            for number, text in (contexts or {}).items()
            if text
        }
        self.context = context
        """Titles and headings: what is said there need not be said again."""
        self.texts = {number: _plain(text[:MAX_CHARS]) for number, text in passages.items()}
        self._frequency = Counter(term for each in self.sentences.values() for one in each for term in one.terms)
        self._count = sum(map(len, self.sentences.values()))
        self._facts = sum(len(one.facts) for each in self.sentences.values() for one in each)

    def looks(self, said: Sentence) -> int:
        """Return the work that a sentence makes: looks at each sentence of the passages, for it and for its facts."""
        return self._count + len(said.facts) * self._facts

    def weight(self, term: str) -> float:
        """Return the weight of a term: rarer ones tell more."""
        return math.log(1.0 + (self._count + 1.0) / (1.0 + self._frequency[term]))

    def facts(self, numbers: Iterable[int]) -> list[Fact]:
        """Return the facts of some passages, their titles and headings included."""
        facts = [fact for number in numbers for each in self.sentences.get(number, ()) for fact in each.facts]
        return facts + [fact for number in numbers if number in self.context for fact in self.context[number].facts]

    def coverage(self, terms: frozenset[str], known: frozenset[str]) -> float:
        """Return the share of the terms' weight that is known; 1.0 of none."""
        total = sum(map(self.weight, terms))
        return sum(map(self.weight, terms & known)) / total if total else 1.0

    def window(self, said: Sentence, numbers: Sequence[int]) -> Window:
        """Return the sentences of the passages that support the sentence, if any does."""
        weights = {term: self.weight(term) for term in said.terms}
        total = sum(weights.values())
        mean = total / len(weights) if weights else 1.0
        found: list[Sentence] = []
        left, missing = dict(weights), frozenset(range(len(said.facts)))
        candidates = [each for number in numbers for each in self.sentences.get(number, ())]
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

    def has_texts(self, numbers: Iterable[int]) -> bool:
        """Return whether the texts of the passages are whole, so that what is not in them is nowhere."""
        return all(len(self.texts.get(number, "")) < MAX_CHARS for number in numbers)

    def has_facts(self, numbers: Sequence[int]) -> bool:
        """Return whether all facts of the passages were read, so that what is not among them is nowhere."""
        read = [self.sentences.get(number, []) for number in numbers]
        whole = all(len(each) < MAX_SENTENCES and all(one.is_whole for one in each) for each in read)
        return whole and self.has_texts(numbers)

    def stands(self, quoted: str, numbers: Iterable[int]) -> bool:
        """Return whether a text is in one of the passages, whatever its case and white space."""
        wanted = _plain(quoted)
        return any(wanted in self.texts.get(number, "") for number in numbers)

    def is_found(self, fact: Fact, numbers: Iterable[int]) -> bool:
        """Return whether some passages have a fact."""
        return is_found(fact, self.facts(numbers))


def _had(facts: Sequence[Fact], each: Sentence) -> frozenset[int]:
    """Return the places of those facts that a sentence has."""
    return frozenset(n for n, fact in enumerate(facts) if any(same(fact, there) for there in each.facts))


def _score(each: Sentence, left: Mapping[str, float], of_facts: float) -> float:
    score = of_facts + sum(left[term] for term in each.terms & left.keys())
    return score / (1.0 + max(0, len(each.text) - FULL_CHARS) / (4 * FULL_CHARS))


def _read(text: str, number: int, analyzer: Analyzer) -> Iterable[Sentence]:
    at = 0
    for part in sentences(text)[:MAX_SENTENCES]:
        yield read_sentence(part, at, analyzer, passage=number)
        at += len(part)


def _plain(text: str) -> str:
    return " ".join(normalize(text).translate(_QUOTES).split()).casefold()
