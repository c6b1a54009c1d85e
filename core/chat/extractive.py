"""Answers without a language model: quotes the sentences that have most of the question's terms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from braid.core.chat.citations import Citation
from braid.core.chat.texts import Language, say
from braid.core.models.citation_marks import without_marks
from braid.core.text.analyzer import Analyzer
from braid.core.text.scripts import same_script
from braid.core.text.sentences import sentences
from braid.core.text.token_budget import cut

MAX_SENTENCES = 3
MAX_SENTENCE_TOKENS = 160
MIN_COVERAGE = 0.5
"""Least share of the question's terms, weighted by idf, in all passages together. On mtrag-mini, with the best five
passages, 3 % of the questions with a relevant one fall below it, and 26 % of those asked of other collections.
"""
REPEATED = 0.25
"""Weight of a term that an earlier sentence has already."""
NEAREST = 2
LIST_MARK = re.compile(r"^(?:\d{1,3}[.)]|[-*+•・])\s+")


@dataclass(frozen=True, slots=True)
class Extract:
    """An answer made of sentences quoted from the passages."""

    text: str
    found: bool


@dataclass(frozen=True, slots=True)
class _Sentence:
    number: int
    position: int
    text: str
    terms: frozenset[str]


def extract(
    weights: Mapping[str, float], citations: Sequence[Citation], analyzer: Analyzer, language: Language
) -> Extract:
    """Quote up to three sentences, each with its citation. ``weights`` are the question's terms with their idf.

    Sentences are chosen one by one for the terms they add, as in maximal marginal relevance (Carbonell and Goldstein
    1998). If the passages lack most of the question's terms the answer says that nothing was found, and quotes the
    nearest passages. Passages in another script than the question cannot have its words: the nearest ones are quoted.
    """
    candidates = [
        _Sentence(citation.number, position, text, frozenset(analyzer.tokens(text)))
        for citation in citations
        for position, text in enumerate(sentences(citation.text))
        if text.strip()
    ]
    if coverage(weights, [candidate.terms for candidate in candidates]) < MIN_COVERAGE:
        nearest = [c for c in candidates if c.position == 0][:NEAREST]
        comparable = any(same_script(" ".join(weights), citation.text) for citation in citations)
        lines = [say("not_found" if comparable else "another_script", language)]
        lines += [say("nearest", language)] if nearest else []
        return Extract("\n".join([*lines, *map(_quote, nearest)]), not comparable)
    chosen = _choose(weights, candidates)
    return Extract("\n".join([say("extractive", language), *map(_quote, chosen)]), True)


def coverage(weights: Mapping[str, float], found: Sequence[frozenset[str]]) -> float:
    """Return the share of the weights whose terms are found, 0.0–1.0."""
    total = sum(weights.values())
    terms = frozenset[str]().union(*found)
    return sum(weight for term, weight in weights.items() if term in terms) / total if total else 0.0


def best_sentence(weights: Mapping[str, float], text: str, analyzer: Analyzer) -> str:
    """Return the sentence with the greatest weight; empty if none has any of the terms."""
    scored = [(sum(weights.get(t, 0.0) for t in set(analyzer.tokens(s))), s) for s in sentences(text)]
    weight, best = max(scored, key=lambda pair: pair[0], default=(0.0, ""))
    return quotable(best) if weight else ""


def quotable(sentence: str) -> str:
    """Put a sentence on one line, not too long, without a list mark or anything that looks like a citation."""
    line = without_marks(LIST_MARK.sub("", " ".join(sentence.split())))
    return cut(line, MAX_SENTENCE_TOKENS) or line[: 2 * MAX_SENTENCE_TOKENS] + " …"


def _quote(sentence: _Sentence) -> str:
    return f"- {quotable(sentence.text)} [{sentence.number}]"


def _choose(weights: Mapping[str, float], candidates: Sequence[_Sentence]) -> list[_Sentence]:
    """Choose sentences for what they add; among equals those of better passages, ranked by more than words."""
    chosen: list[_Sentence] = []
    covered: frozenset[str] = frozenset()
    while len(chosen) < MAX_SENTENCES:
        gains = {
            candidate: _gain(weights, candidate, covered) / (1 + 0.1 * candidate.number)
            for candidate in candidates
            if candidate not in chosen and all(candidate.text != other.text for other in chosen)
        }
        best = max(gains, key=gains.__getitem__, default=None)
        if best is None or not gains[best] or (chosen and not (best.terms & weights.keys()) - covered):
            break
        chosen.append(best)
        covered |= best.terms
    return chosen


def _gain(weights: Mapping[str, float], sentence: _Sentence, covered: frozenset[str]) -> float:
    found = sentence.terms & weights.keys()
    return sum(weights[term] * (REPEATED if term in covered else 1.0) for term in found)
