"""Reads texts for comparison: sentences with their facts, words and terms, and where each character came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from braid.core.chat.support.facts import Fact
from braid.core.chat.support.moments import moments
from braid.core.chat.support.numbers import numbers
from braid.core.lru import lazy
from braid.core.text.analyzer import Analyzer
from braid.core.text.negation import negations
from braid.core.text.normalization import align
from braid.core.text.scripts import HAN, HANGUL, KANA

MAX_CHARS = 600
"""Longest sentence that is compared word by word; of a longer one only facts are looked for."""
MAX_FACTS_CHARS = 1_200
"""Longest sentence whose facts are read; a longer one is no prose."""
MAX_FACTS = 60
"""Most facts of one sentence that are compared."""
_LIST_MARK = re.compile(r"\s*(?:>\s*)*(?:#{1,6}\s|[-*+•・]\s|\d{1,3}[.)]\s)")
_WORD = re.compile(
    rf"[^\W\d_{HAN}{KANA}{HANGUL}][^\W_{HAN}{KANA}{HANGUL}]*(?:['’-][^\W_{HAN}{KANA}{HANGUL}]+)*"
    rf"|[\u30a1-\u30fa\u30fc]+|[{HAN}々]+|[\u3041-\u309f]+|[{HANGUL}]+"
)
_HANGUL_PARTICLE = re.compile(
    r"(?<=..)(?:에서|에게|한테|까지|부터|처럼|보다|으로|이며|이고|이다|입니다|[은는이가을를의도에로와과만])$"
)
_ANY = {
    "ko": re.compile(f"[{HANGUL}]"),
    "ja": re.compile(f"[{KANA}{HAN}]"),
    "en": re.compile(r"[A-Za-z\u00c0-\u024f]"),
}
_KOREAN_ENDING = re.compile(r"(?<=[가-힣]{2})[되된될됨됐돼하한할함했해합됩입였었았겠습][가-힣]*")
"""What follows the stem of a longer Korean word, which sentences of one content need not have in common."""
_KOREAN_ENDINGS = frozenset(
    ("있다", "없다", "이다", "한다", "된다", "하는", "되는", "하고", "있는", "없는", "아니", "않는", "않다")
)
_DROPPED = re.compile(r"\*{1,3}|`+|(?<![^\W_])_{1,2}|_{1,2}(?![^\W_])")


@dataclass(frozen=True, slots=True)
class SentenceWord:
    """A word, or a fact, with its characters."""

    key: str
    start: int
    end: int
    fact: int = -1
    """The place of the fact among those of its sentence; -1 for a word."""


@dataclass(frozen=True)
class Sentence:
    """A sentence in its normalized form. Places in it lead back to its text by `origin`."""

    text: str
    starts: Sequence[int] = field(repr=False)
    ends: Sequence[int] = field(repr=False)
    facts: tuple[Fact, ...]
    terms: frozenset[str]
    language: str
    passage: int = 0
    """The number of the passage that it is from; 0 for one of an answer."""
    is_whole: bool = True
    """Whether all its facts were read."""

    @property
    def is_long(self) -> bool:
        """Whether the sentence is too long to be compared word by word."""
        return len(self.text) > MAX_CHARS

    @lazy
    def words(self) -> list[SentenceWord]:
        """Its words and facts in order."""
        return words_of(self.text, self.facts)

    @lazy
    def negations(self) -> list[tuple[int, int]]:
        """The characters of the sentence that deny something."""
        return negations(self.text, self.language)

    @property
    def whole(self) -> tuple[int, int]:
        """The characters of its text without the spaces around it."""
        inner = self.text.strip()
        first = self.text.find(inner) if inner else 0
        return self.origin(first, first + max(1, len(inner)))

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of the outer text that characters of the normalized one came from."""
        if not self.starts:
            return (0, 0)
        last = len(self.starts) - 1
        return self.starts[min(start, last)], self.ends[min(max(end - 1, 0), last)]


def read_sentence(text: str, at: int, analyzer: Analyzer, *, passage: int = 0, keep: Sequence[int] = ()) -> Sentence:
    """Read a sentence that begins at character ``at`` of its text.

    ``keep`` are the places of its characters in the outer text, where it has lost some.
    """
    plain, places = _without_emphasis(text)
    normalized, starts, ends = align(plain)
    begins = [at + (keep[places[n]] if keep else places[n]) for n in starts]
    finishes = [at + (keep[places[n - 1]] if keep else places[n - 1]) + 1 for n in ends]
    if found := _LIST_MARK.match(normalized):
        normalized = " " * found.end() + normalized[found.end() :]
    language = language_of(normalized)
    if len(normalized) > MAX_FACTS_CHARS:
        return Sentence(normalized, begins, finishes, (), frozenset(), language, passage, is_whole=False)
    facts = facts_of(normalized)
    bare = blanked(normalized, facts)
    for start, end in negations(normalized, language):
        bare = bare[:start] + "\x00" * (end - start) + bare[end:]
    terms = frozenset(_terms(bare, analyzer, language)) if len(normalized) <= MAX_CHARS else frozenset()
    is_whole = len(facts) < MAX_FACTS
    return Sentence(normalized, begins, finishes, facts, terms, language, passage, is_whole)


def facts_of(normalized: str) -> tuple[Fact, ...]:
    """Return the facts of a normalized text in order."""
    dates = moments(normalized)
    found: list[Fact] = [*dates, *numbers(blanked(normalized, dates))]
    found.sort(key=lambda each: each.start)
    kept: list[Fact] = []
    for each in found:
        if len(kept) < MAX_FACTS and (not kept or each.start >= kept[-1].end):
            kept.append(each)
    return tuple(kept)


def blanked(text: str, facts: Sequence[Fact]) -> str:
    """Return the text with a sign of no meaning in place of each character of the facts."""
    parts: list[str] = []
    end = 0
    for each in facts:
        parts += [text[end : each.start], "\x00" * (each.end - each.start)]
        end = each.end
    return "".join([*parts, text[end:]])


def language_of(text: str) -> str:
    """Return ``ko``, ``ja`` or ``en`` by the letters of the text; a Latin word counts as much as a few signs."""
    counts = {name: len(letters.findall(text)) for name, letters in _ANY.items()}
    counts["en"] //= 4
    return max(counts, key=lambda name: counts[name])


def words_of(text: str, facts: Sequence[Fact]) -> list[SentenceWord]:
    """Return words and facts in order; words of Hangul have lost their particles."""
    found = [SentenceWord(_key(match[0]), match.start(), match.end()) for match in _WORD.finditer(blanked(text, facts))]
    found += [SentenceWord("", each.start, each.end, place) for place, each in enumerate(facts)]
    return sorted(found, key=lambda each: each.start)


def _key(word: str) -> str:
    if not "\uac00" <= word[0] <= "\ud7a3":
        return word.lower()
    return _HANGUL_PARTICLE.sub("", _KOREAN_ENDING.sub("", word))


def _terms(text: str, analyzer: Analyzer, language: str) -> list[str]:
    if language == "ko":
        text = _KOREAN_ENDING.sub(" ", text)
    tokens = analyzer.tokens(text) if text.strip("\x00 ") else []
    if language == "ja":
        return [token for token in tokens if not any("\u3041" <= sign <= "\u309f" for sign in token)]
    return [token for token in tokens if token not in _KOREAN_ENDINGS] if language == "ko" else tokens


def _without_emphasis(text: str) -> tuple[str, Sequence[int]]:
    """Return a Markdown text without its signs of emphasis and code, and where its characters were."""
    if "*" not in text and "`" not in text and "_" not in text:
        return text, range(len(text))
    parts: list[str] = []
    places: list[int] = []
    end = 0
    for found in _DROPPED.finditer(text):
        parts.append(text[end : found.start()])
        places += range(end, found.start())
        end = found.end()
    parts.append(text[end:])
    places += range(end, len(text))
    return "".join(parts), places
