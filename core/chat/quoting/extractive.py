"""Answers without a language model: quotes the sentences and table cells that answer the question best."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from braid.core.admission import give_way
from braid.core.chat.citations import Citation
from braid.core.chat.marks import literal, mark
from braid.core.chat.quoting.match import Match
from braid.core.chat.quoting.nearness import Nearness, no_nearness
from braid.core.chat.quoting.tables import Row, split_tables
from braid.core.chat.quoting.wanted import has_number, is_question, wants_number
from braid.core.chat.texts import Language, say
from braid.core.text.analyzer import Analyzer
from braid.core.text.scripts import same_script
from braid.core.text.sentences import sentences
from braid.core.text.token_budget import cut

MAX_SENTENCES = 3
MAX_SENTENCE_TOKENS = 160
# The weights were chosen by `python -m benchmarks.answers`, where the first quote holds the answer most often.
NEARNESS_WEIGHT = 30.0
"""Weight of a cosine of 1.0 above that of unrelated texts, beside the share of the question's terms."""
HEADING_WEIGHT = 0.3
"""Weight of a term that only the title or heading of the passage has."""
NUMBER_FACTOR = 1.5
"""Factor of what has a new number, where the question asks for one."""
ECHO_FACTOR = 0.3
"""Factor of a sentence that only asks or repeats the question."""
FEW_NEW_TERMS = 0.25
"""Least share of a sentence's terms that the question has not, for it not to be a repetition."""
RANK_DECAY = 0.05
NEAREST = 2
"""Passages of which the first sentence is quoted where none has a word of the question."""
REPEATED = 0.25
"""Weight of a term that an earlier quote has already."""
LEAST_OF_BEST = 0.6
"""Least part of the best quote's score for another to be added."""
LIST_MARK = re.compile(r"^(?:\d{1,3}[.)]|[-*+•・])\s+")


@dataclass(frozen=True, slots=True)
class Extract:
    """An answer made of sentences quoted from the passages, as a marked text; empty where nothing was found."""

    text: str
    found: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its terms, weighed by idf, and the language of the answer."""

    text: str
    weights: Mapping[str, float]
    language: Language


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence, or cells of a table row, with the terms that it is found by."""

    number: int
    text: str
    terms: frozenset[str]
    heading: frozenset[str]
    value: str = ""
    """The quoted cells of a row; empty for a sentence."""
    name: frozenset[str] = frozenset()
    """The terms of a row's first cell."""


def extract(
    asked: Asked, citations: Sequence[Citation], analyzer: Analyzer, *, match: Match, nearness: Nearness = no_nearness
) -> Extract:
    """Quote up to three sentences or table rows, best first, each with its citation.

    Where absence is claimed nothing is quoted, and a weak match is said to be one. Quotes are chosen one by one for the
    terms that they add, as in maximal marginal relevance (Carbonell and Goldstein 1998). Passages in another script
    than the question cannot have its words: then the nearest are quoted.
    """
    comparable = any(same_script(" ".join(asked.weights), citation.text) for citation in citations)
    if match == "absent" and comparable:
        return Extract("", False)
    candidates = _Scorer(asked, analyzer).candidates(citations)
    chosen = _choose(asked, candidates, nearness) or _first_of_each(candidates)[:NEAREST]
    title = ("weak" if match == "weak" else "extractive") if comparable else "another_script"
    return Extract("\n".join([say(title, asked.language), *map(_quote, chosen)]), True)


def coverage(weights: Mapping[str, float], terms: frozenset[str]) -> float:
    """Return the share of the weights whose terms are given, 0.0–1.0."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in terms) / total if total else 0.0


def best_coverage(weights: Mapping[str, float], citations: Sequence[Citation], analyzer: Analyzer) -> float:
    """Return the largest share of the weights that one passage has with its title and heading, 0.0–1.0."""
    texts = (f"{c.passage.title} {c.passage.heading_path} {c.text}" for c in citations)
    return max((coverage(weights, frozenset(analyzer.tokens(text))) for text in texts), default=0.0)


def best_sentence(weights: Mapping[str, float], text: str, analyzer: Analyzer) -> str:
    """Return the sentence with the greatest weight; empty if none has any of the terms."""
    scored = [(sum(weights.get(t, 0.0) for t in set(analyzer.tokens(s))), s) for s in sentences(text)]
    weight, best = max(scored, key=lambda pair: pair[0], default=(0.0, ""))
    return quotable(best) if weight else ""


def quotable(sentence: str) -> str:
    """Put a sentence on one line, not too long, without a list mark; otherwise literally."""
    line = literal(LIST_MARK.sub("", " ".join(sentence.split())))
    return cut(line, MAX_SENTENCE_TOKENS) or line[: 2 * MAX_SENTENCE_TOKENS] + " …"


def _quote(candidate: _Candidate) -> str:
    return f"- {quotable(candidate.text)} {mark(candidate.number)}"


@dataclass(frozen=True, slots=True)
class _Scorer:
    """Makes the candidates of passages."""

    asked: Asked
    analyzer: Analyzer

    def candidates(self, citations: Sequence[Citation]) -> list[_Candidate]:
        """Return the sentences and table rows of the passages, each text once."""
        found: dict[str, _Candidate] = {}
        for citation in citations:
            give_way()
            heading = self._terms(f"{citation.passage.title} {citation.passage.heading_path}")
            prose, rows = split_tables(citation.text)
            for text in filter(str.strip, sentences(prose)):
                found.setdefault(text, _Candidate(citation.number, text, self._terms(text), heading))
            for row in rows:
                each = self._of_row(citation.number, row, heading)
                found.setdefault(each.text, each)
        return list(found.values())

    def _of_row(self, number: int, row: Row, heading: frozenset[str]) -> _Candidate:
        """Return the cells of the columns that the question names, or the whole row."""
        own, name = self._terms(" ".join(row.cells)), self._terms(row.cells[0])
        scores = {
            position: self._said(column) + sum(self.asked.weights.get(term, 0.0) for term in self._terms(column) - name)
            for position, column in enumerate(row.columns[: len(row.cells)])
            if position
        }
        best = max(scores.values(), default=0.0)
        named = (
            [position for position, score in scores.items() if score == best and row.cells[position]] if best else []
        )
        positions = named or range(1, len(row.cells))
        columns = self._terms(" ".join(row.columns[position] for position in named))
        value = " ".join(row.cells[position] for position in positions)
        return _Candidate(number, row.quote(positions), own | columns, heading, value or row.text, name)

    def _said(self, column: str) -> float:
        """Return the number of letters of a column's name that the question has, of a script without spaces."""
        return len(column) if column and not column.isascii() and column in self.asked.text else 0.0

    def _terms(self, text: str) -> frozenset[str]:
        return frozenset(self.analyzer.tokens(text)) if text.strip() else frozenset()


def _first_of_each(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    return list({each.number: each for each in reversed(candidates)}.values())[::-1]


def _choose(asked: Asked, candidates: Sequence[_Candidate], nearness: Nearness) -> list[_Candidate]:
    """Choose candidates for what they add; among equals rows whose name is asked for, which another row may have as a
    number, and those of better passages, ranked by more than words.
    """
    by_words = sorted(
        candidates, key=lambda each: (-_score(asked, each, 0.0, frozenset()), -coverage(asked.weights, each.name))
    )
    near = dict(zip(by_words, nearness([each.text for each in by_words]), strict=True))
    chosen: list[_Candidate] = []
    covered: frozenset[str] = frozenset()
    best = 0.0
    while len(chosen) < MAX_SENTENCES:
        scores = {each: _score(asked, each, near[each], covered) for each in by_words if each not in chosen}
        next_one = max(scores, key=scores.__getitem__, default=None)
        if next_one is None or not scores[next_one] or scores[next_one] < LEAST_OF_BEST * best:
            break
        chosen.append(next_one)
        best = max(best, scores[next_one])
        covered |= next_one.terms
    return chosen


def _score(asked: Asked, each: _Candidate, near: float, covered: frozenset[str]) -> float:
    total = sum(asked.weights.values()) or 1.0
    found = each.terms & asked.weights.keys()
    words = sum(asked.weights[term] * (REPEATED if term in covered else 1.0) for term in found)
    words += HEADING_WEIGHT * sum(asked.weights[term] for term in (each.heading - each.terms) & asked.weights.keys())
    score = words / total + NEARNESS_WEIGHT * near
    return score * _factor(asked, each) / (1 + RANK_DECAY * each.number)


def _factor(asked: Asked, each: _Candidate) -> float:
    factor = 1.0
    known = "" if each.value else asked.text  # a cell may have the number of its row
    if wants_number(asked.text) and has_number(each.value or each.text, known):
        factor *= NUMBER_FACTOR
    new = each.terms - asked.weights.keys()
    if is_question(each.text) or (not each.value and len(new) < FEW_NEW_TERMS * len(each.terms)):
        factor *= ECHO_FACTOR
    return factor
