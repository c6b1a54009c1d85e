"""A follow-up as a question of its own, without a model: what it leaves out is taken from the turns before."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from braid.core.text.analyzer import Analyzer
from braid.core.text.normalization import normalize
from braid.core.text.scripts import HAN, HANGUL, KANA

Idf = Callable[[Collection[str]], Mapping[str, float]]
"""Terms → their idf in the collections of the request; those that no passage has are left out."""

FEW_WORDS = 2
"""A question with no more content words than this is taken for a follow-up."""
CONTEXT_WORDS = 3
DECAY = 0.5
"""What a turn's words count against those of the turn after it."""

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
    """Words of earlier turns, the weightiest first; empty when the question stands alone."""

    @property
    def query(self) -> str:
        """What to search for. The question stands in it twice, so that each word added counts half."""
        return " ".join((self.question, self.question, *self.context)) if self.context else self.question


def complete(question: str, earlier: Sequence[str], analyzer: Analyzer, idf: Idf) -> FollowUp:
    """The question with up to three content words of the user's ``earlier`` turns (the oldest first), if it refers
    back to them: by a pronoun, by how it begins, or because it has no more than two content words.

    A word weighs its idf in each turn that has it, halved with each turn in between.
    """
    own = content_words(question, analyzer)
    if not earlier or not (len(own) <= FEW_WORDS or _REFERS_BACK.search(normalize(question))):
        return FollowUp(question)
    own_terms = frozenset[str]().union(*own.values())
    turns = [content_words(turn, analyzer) for turn in reversed(earlier)]
    known = idf({term for turn in turns for terms in turn.values() for term in terms})
    weights: dict[frozenset[str], float] = {}
    written: dict[frozenset[str], str] = {}
    for age, turn in enumerate(turns):
        for word, terms in turn.items():
            found = [known[term] for term in terms if term in known]
            if found and not terms & own_terms:
                weights[terms] = weights.get(terms, 0.0) + DECAY**age * sum(found) / len(found)
                written.setdefault(terms, word)
    best = sorted(weights, key=lambda terms: (-weights[terms], written[terms]))[:CONTEXT_WORDS]
    return FollowUp(question, tuple(written[terms] for terms in best))


def content_words(text: str, analyzer: Analyzer) -> dict[str, frozenset[str]]:
    """Word → its terms, each set of terms once; words without one are stop words."""
    pieces = analyzer.spans(text)
    words: dict[frozenset[str], str] = {}
    for match in _WORD.finditer(text):
        terms = frozenset(piece.token for piece in pieces if match.start() <= piece.start and piece.end <= match.end())
        if terms:
            words.setdefault(terms, match[0])
    return {word: terms for terms, word in words.items()}
