"""Completes a follow-up question without a model: adds the words that it leaves out, from earlier turns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from braid.core.text.analyzer import Analyzer
from braid.core.text.normalization import normalize
from braid.core.text.scripts import HAN, HANGUL, KANA

Idf = Callable[[Collection[str]], Mapping[str, float]]
"""Terms → their idf in the collections of the request, without terms that no passage has."""

FEW_WORDS = 2
"""A question with at most this many content words counts as a follow-up."""
CONTEXT_WORDS = 3
DECAY = 0.5
"""Weight of a turn's words, relative to those of the turn after it."""

_WORD = re.compile(
    rf"[{HAN}\u3005]+|[\u30a1-\u30fa\u30fc]+|[{HANGUL}]+"
    rf"|[^\W\u3005{KANA}{HAN}{HANGUL}]+(?:[-'’.][^\W\u3005{KANA}{HAN}{HANGUL}]+)*"
)
_REFERS_BACK = re.compile(
    r"\b(?:it|its|they|them|theirs?|this|that|these|those|he|him|his|she|hers?|there|ones?|same|such|former|latter"
    r"|others?|another)\b"
    r"|^\W*(?:and|or|but|so|what about|how about|any|why|no,|yes|ok|also|then)\b"
    r"|[そこあ](?:れ|の|こ|ちら|んな)|彼|前者|後者|同じ|^(?:では|じゃあ|なぜ|他に|ほかに)"
    r"|(?:^|\s)(?:그|이|저)(?:것|건|게|거|런|들|녀|곳|때)?(?:은|는|이|가|을|를|의|에|도)?(?=\s)|(?:거기|여기|^그럼|^그러면|^왜)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question with the words that it leaves out."""

    question: str
    context: tuple[str, ...] = ()
    """Words of earlier turns, the weightiest first; empty when the question is no follow-up."""

    @property
    def query(self) -> str:
        """The text to search for. It has the question twice, so that each word added counts half."""
        return " ".join((self.question, self.question, *self.context)) if self.context else self.question


def complete(question: str, earlier: Sequence[str], analyzer: Analyzer, idf: Idf) -> FollowUp:
    """Return the question with up to three content words of the user's ``earlier`` turns (the oldest first).

    Only a question that refers back gets them: by a pronoun, by how it begins, or because it has no more than two
    content words. A word's weight is its idf in each turn that has it, halved for each turn in between.
    """
    own = content_words(question, analyzer)
    if not earlier or not _refers_back(question, own):
        return FollowUp(question)
    own_terms = frozenset[str]().union(*own.values())
    turns = [content_words(turn, analyzer) for turn in reversed(earlier)]
    weights = _weights(turns, idf)
    # The newest turn's spelling of a word comes last, and so is the one that is kept.
    spelling = {terms: word for turn in reversed(turns) for word, terms in turn.items()}
    new = [terms for terms in weights if not terms & own_terms]
    best = sorted(new, key=lambda terms: (-weights[terms], spelling[terms]))[:CONTEXT_WORDS]
    return FollowUp(question, tuple(spelling[terms] for terms in best))


def _refers_back(question: str, words: Collection[str]) -> bool:
    return len(words) <= FEW_WORDS or _REFERS_BACK.search(normalize(question)) is not None


def _weights(turns: Sequence[Mapping[str, frozenset[str]]], idf: Idf) -> dict[frozenset[str], float]:
    """Weigh the words of the turns, the newest first: the terms of each word → its weight."""
    known = idf({term for turn in turns for terms in turn.values() for term in terms})
    weights: dict[frozenset[str], float] = {}
    for age, turn in enumerate(turns):
        for terms in turn.values():
            if found := [known[term] for term in terms if term in known]:
                weights[terms] = weights.get(terms, 0.0) + DECAY**age * sum(found) / len(found)
    return weights


def content_words(text: str, analyzer: Analyzer) -> dict[str, frozenset[str]]:
    """Return the words of a text with their terms, each set of terms once. Stop words have none and are left out."""
    pieces = analyzer.spans(text)
    words: dict[frozenset[str], str] = {}
    for match in _WORD.finditer(text):
        terms = frozenset(piece.token for piece in pieces if match.start() <= piece.start and piece.end <= match.end())
        if terms:
            words.setdefault(terms, match[0])
    return {word: terms for terms, word in words.items()}
