"""Marks and snippets: shows which words of a passage match the query."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from braid.core.chat.quoting.wanted import without_asking
from braid.core.text.analyzer import Analyzer, Piece, without_particle
from braid.core.text.normalization import align
from braid.core.text.scripts import HAN, HANGUL, HIRAGANA, KANA, display_language

SNIPPET_CHARS = 340
SNIPPET_CHARS_CJK = 190  # such characters are twice as wide
SHORT_PART = 2
"""Characters up to which a part of a longer token is not marked by itself."""
LEAD_CHARS = 40
"""Characters that a snippet shows before its first mark."""

SENTENCE = "said"
"""The argument of a page of a source with the characters of the cited passage that support an answer: ``12-80``."""
_RANGE = re.compile(r"(\d{1,7})-(\d{1,7})")

_EAST_ASIAN = re.compile(f"[{KANA}{HAN}{HANGUL}]")
_WORD = re.compile(f"[{HAN}々〆]+|[\u30a1-\u30ff]+|[{HANGUL}]+|[{HIRAGANA}]+")
"""A word, or a compound of words, of Japanese or Korean: signs of one script."""
_HANGUL, _HAN = re.compile(f"[{HANGUL}]"), re.compile(f"[{HAN}]")
_ENDING = re.compile(f"[{HIRAGANA}]+")
_ENDING_KO = re.compile("[은는이가을를도만의에로와과]?")
_STOP_KO = re.compile("[있없하되](?:는|다)|[대위관]한|통해|따라|그리고|그러나|또는")
LEAST_PART, LEAST_KATAKANA = 2, 3
"""Signs of a part of a compound that is marked by itself."""
MOST_PART = 30
"""Signs of a word up to which its parts are compared."""
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
# A line break inside a paragraph: something other than a list, a table, a quotation or code follows.
_WRAPPED = re.compile(r"(?<=[^\n])\n(?=[^\s|`*>#+•・-])(?!\d+[.)] )")
_BOUNDARY = re.compile(r"[\s。．！？、]")

PROSE = frozenset({"txt", "md", "html", "pdf", "docx", "pptx", "eml", "msg", "epub"})
"""File types in which line breaks inside a paragraph have no meaning."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text, marked or not. The joined segments are the text."""

    text: str
    marked: bool


def wanted_tokens(analyzer: Analyzer, query: str) -> frozenset[str]:
    """Return what of a query is worth a mark: its tokens, but words of Japanese and Korean instead of their bigrams.

    The words by which it asks, Korean stop words, and pure hiragana, which are endings and particles, count only if
    there is nothing else. The 3 of "Q3" is not wanted by itself.
    """
    inner = {piece.token for piece in analyzer.spans(query)} - {piece.token for piece in _outer(analyzer, query)}
    tokens = {token for token in analyzer.tokens(query) if not _EAST_ASIAN.search(token)} - inner
    for text in (without_asking(query), query):
        words = {without_particle(found[0]) for found in _WORD.finditer(align(text)[0])}
        told = {word for word in words if not _ENDING.fullmatch(word) and not _STOP_KO.fullmatch(word)}
        if told or tokens:
            return frozenset(tokens | told)
    return frozenset(words)


def flow(text: str, file_type: str) -> str:
    """Return the text, of equal length, with the lines of each paragraph joined if it is prose."""
    return _WRAPPED.sub(" ", text) if file_type in PROSE and "```" not in text else text


def mark(analyzer: Analyzer, text: str, wanted: frozenset[str]) -> tuple[Segment, ...]:
    """Return the whole text with the wanted tokens marked."""
    return tuple(_segments(text, word_ranges(analyzer, text, wanted), 0, len(text)))


def snippet(analyzer: Analyzer, text: str, wanted: frozenset[str]) -> tuple[Segment, ...]:
    """Return the part of the text with the most marks, without blank lines."""
    text = _BLANK_LINES.sub(lambda blank: "\n".ljust(len(blank[0])), text)
    marks = word_ranges(analyzer, text, wanted)
    limit = SNIPPET_CHARS_CJK if display_language(text) else SNIPPET_CHARS
    start, end = _window(text, marks, limit)
    before = [Segment("… ", False)] if start > 0 else []
    after = [Segment(" …", False)] if end < len(text) else []
    return (*before, *_segments(text, marks, start, end), *after)


def sentence_range(written: str, text: str) -> Span | None:
    """Return the characters of a text that an address names, None for none of it."""
    found = _RANGE.fullmatch(written)
    start, end = (int(found[1]), min(int(found[2]), len(text))) if found else (0, 0)
    return (start, end) if start < end else None


def _outer(analyzer: Analyzer, text: str) -> list[Piece]:
    """Return the text's tokens without the short parts of others: neither the 3 of "E3" nor that of "1.3"."""
    pieces, ends = list(analyzer.spans(text)), dict[int, int]()
    starts = dict[int, int]()
    for token, start, end in pieces:
        if token.isascii():
            ends[start], starts[end] = max(end, ends.get(start, 0)), min(start, starts.get(end, start))
    return [
        piece
        for piece in pieces
        if len(piece.token) > SHORT_PART
        or not piece.token.isascii()
        or (ends[piece.start] == piece.end and starts[piece.end] == piece.start)
    ]


def word_ranges(analyzer: Analyzer, text: str, wanted: frozenset[str]) -> list[Span]:
    """Return the spans of the wanted tokens and words, sorted; overlapping and touching ones are merged."""
    words = {each for each in wanted if _EAST_ASIAN.match(each)}
    tokens = wanted - words
    found = [(start, end) for token, start, end in _outer(analyzer, text) if token in tokens] if tokens else []
    merged: list[Span] = []
    for start, end in sorted(found + (list(_ranges_of_words(text, words)) if words else [])):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _ranges_of_words(text: str, wanted: Collection[str]) -> Iterator[Span]:
    """Yield where the words of a text have one that is wanted, or a part of the one is a part of the other."""
    normalized, starts, ends = align(text)
    parts, known = _Parts.of(wanted), dict[str, list[Span]]()
    for found in _WORD.finditer(normalized):
        word, at = found[0], found.start()
        if word not in known:
            known[word] = list(_common(word, parts))
        for start, end in known[word]:
            yield starts[at + start], ends[at + end - 1]


class _Parts(NamedTuple):
    """Words that are wanted, and what begins and ends them: a word of a text is looked up, however many there are."""

    words: frozenset[str]
    heads: frozenset[str]
    tails: frozenset[str]

    @classmethod
    def of(cls, wanted: Collection[str]) -> _Parts:
        """Take these words apart. One that is not of Han ends in another word if two signs or more precede it."""
        return cls(
            frozenset(wanted),
            frozenset(word[:size] for word in wanted for size in _sizes(len(word))),
            frozenset(word[-size:] for word in wanted for size in _sizes(len(word) - 2 * (not _HAN.match(word)))),
        )


def _sizes(longest: int, shortest: int = 1) -> range:
    """Return how many signs are compared, most first."""
    return range(min(longest, MOST_PART), shortest - 1, -1)


def _common(word: str, wanted: _Parts) -> Iterator[Span]:
    """Yield where a word has what is wanted: all of it, or a part of both that begins or ends each of them.

    >>> list(_common("패키지를", _Parts.of(["패키지"]))), list(_common("휴가비는", _Parts.of(["휴가", "비"])))
    ([(0, 3), (0, 3), (0, 3)], [(0, 2), (0, 2)])
    """
    own, is_han = without_particle(word), _HAN.match(word) is not None
    if own in wanted.words:
        yield 0, len(own)
    elif word[0] in wanted.words and _HANGUL.match(word) and _ENDING_KO.fullmatch(word[1:]):
        yield 0, 1
    sizes = _sizes(len(own), LEAST_KATAKANA if "\u30a1" <= word[0] <= "\u30ff" else LEAST_PART)
    for size in sizes:
        head = own[:size]
        if head in wanted.heads or (head in wanted.tails and (is_han or size == len(own))):
            yield 0, size
            break
    if is_han:
        for size in sizes:
            if own[-size:] in wanted.heads or own[-size:] in wanted.tails:
                yield len(own) - size, len(own)
                break
    for start in range(len(word)):
        whole = 0
        for end in range(start + 1, len(word) + 1):
            if (part := word[start:end]) not in wanted.heads:
                break
            whole = end if part in wanted.words and len(part) >= LEAST_PART else whole
        if whole:
            yield start, whole


def _window(text: str, marks: Sequence[Span], limit: int) -> Span:
    """Return the window of at most ``limit`` characters with the most marked ones; the first if several are equal."""
    if len(text) <= limit or not marks:
        return _to_boundaries(text, 0, limit)
    starts = [max(0, start - LEAD_CHARS) for start, _ in marks]
    ends = [end for _, end in marks]
    marked_until = [0, *accumulate(end - start for start, end in marks)]
    best = max(
        range(len(marks)),
        key=lambda i: marked_until[bisect_left(ends, starts[i] + limit + 1)] - marked_until[i],
    )
    start = min(starts[best], len(text) - limit)
    return _to_boundaries(text, start, start + limit)


def _to_boundaries(text: str, start: int, end: int) -> Span:
    """Move both ends to a boundary if there is one nearby."""
    if start > 0:
        found = _BOUNDARY.search(text, start, start + LEAD_CHARS // 2)
        start = found.end() if found else start
    if end < len(text):
        found = _BOUNDARY.search(text, end - LEAD_CHARS // 2, end)
        end = found.end() if found else end
    return start, min(end, len(text))


def _segments(text: str, marks: Sequence[Span], start: int, end: int) -> Iterator[Segment]:
    position = start
    for mark_start, mark_end in marks:
        mark_start, mark_end = max(mark_start, position), min(mark_end, end)
        if mark_start >= mark_end:
            continue
        if position < mark_start:
            yield Segment(text[position:mark_start], False)
        yield Segment(text[mark_start:mark_end], True)
        position = mark_end
    if position < end:
        yield Segment(text[position:end], False)
