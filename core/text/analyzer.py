"""The analyzer: text to tokens, the same for passages and queries.

===================  ========================================================================================
text                 tokens
===================  ========================================================================================
Latin words          lower case, stemmed (Snowball, configured languages), accents folded, stop words dropped
compounds            their parts, and the whole without separators: ``getUserName`` and ``get_user_name`` →
                     get, user, name, getusernam; ``IL-10`` → il, 10, il10; ``C++`` → c, c++; dots stay:
                     ``os.path`` → os, path, os.path; but ``U.S.`` → us
numbers              as written, without the commas of thousands: ``1,000.5`` → 1000, 5, 1000.5
Han and kana         bigrams, and single characters but hiragana (those alone are mostly particles)
Hangul               bigrams of the word without its particle; of two syllables also the first
Thai, Lao, Khmer …   bigrams of characters with their marks
other scripts        lower-case words, stemmed where Snowball knows the script's language (Cyrillic, Greek …)
===================  ========================================================================================

A text of nothing but stop words keeps them, so that *to be or not to be* finds itself. Punctuation, emoji,
control characters and lone surrogates yield nothing. No token holds white space or is longer than
``MAX_TOKEN_CHARS``; a longer word without separators (a hash, base64) is cut there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import add
from typing import NamedTuple

from braid.core.text.normalization import MARKS, align, normalize
from braid.core.text.scripts import HIRAGANA, LATIN, script_of
from braid.core.text.stemming import SNOWBALL_VERSION, Stemming

ANALYZER_VERSION = "1"
"""Raise it with every change of what `Analyzer` yields: indexes of another version are rebuilt."""

MAX_TOKEN_CHARS = 64
MAX_PARTS = 12
"""A word with more parts is a hash or the like, and kept whole."""
REMEMBERED_WORDS = 32_768
"""Number of words whose tokens an analyzer remembers (some 20 MB)."""
REMEMBERED_CHARS = 24
"""Length of the longest remembered word; longer ones seldom come twice."""


class Piece(NamedTuple):
    """A token with its place: characters ``start`` to ``end`` (exclusive) of the text."""

    token: str
    start: int
    end: int


# ---------------------------------------------------------------- characters

_HAN = (
    "\u3005-\u3007\u303b\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
_UNSPACED = (  # Thai, Lao, Burmese and Khmer: written without spaces between words
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0ebd\u0ec0-\u0edf\u1000-\u1049\u1050-\u109d"
    "\u1780-\u17d3\u17d7\u17dc-\u17e9\ua9e0-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f"
)
_LETTER = rf"[^\W{_HAN}{_HANGUL}{_UNSPACED}]"
_PLAIN = rf"{_LETTER}+(?:[{MARKS}]+{_LETTER}*)*"
_RUN = re.compile(
    rf"({_PLAIN}(?:(?:[.'’&‐-]|,(?<=\d,)(?=\d\d\d(?!\d)))(?={_LETTER}){_PLAIN})*"
    r"(?:\+\+(?![\w+])|(?<![0-9A-Za-z_].)(?<=[A-Za-z])#(?!\w))?)"  # C++, C#
    rf"|([{_HAN}]+)|([{_HANGUL}]+)|([{_UNSPACED}]+)"
)
_LATIN_RUN, _HAN_RUN, _HANGUL_RUN, _UNSPACED_RUN = 1, 2, 3, 4


# ---------------------------------------------------------------- scripts without spaces between words

_ANY_CHARACTER = re.compile("(?s:.)")
_NOT_HIRAGANA = re.compile(f"[^{HIRAGANA}]")
_CHARACTER_WITH_MARKS = re.compile(f"[^{MARKS}][{MARKS}]{{0,4}}|[{MARKS}]")
# Particles, perhaps with a topic particle after them. Short ones must leave two syllables: 온도 is not 온 with 도.
_PARTICLE = re.compile(
    "(?:(?<=.)(?:(?:에서|에게|한테|까지|부터|처럼|보다|으로)[는은도의]?|에[는도])"
    "|(?<=..)(?:[로에와과만][는은도의]?|[은는이가을를의도]))$"
)


def _han_tokens(run: str, keep_all: bool) -> list[str]:
    tokens: list[str] = (_ANY_CHARACTER if keep_all else _NOT_HIRAGANA).findall(run)
    tokens.extend(map(add, run, run[1:]))
    return tokens


def _han_pieces(run: str, keep_all: bool) -> Iterator[Piece]:
    """Yield the tokens of `_han_tokens` with their places."""
    for character in (_ANY_CHARACTER if keep_all else _NOT_HIRAGANA).finditer(run):
        yield Piece(character[0], *character.span())
    for start in range(len(run) - 1):
        yield Piece(run[start : start + 2], start, start + 2)


def without_particle(word: str) -> str:
    """Return a word of Hangul without the particle at its end; any other word as it is."""
    return _PARTICLE.sub("", word)


def _hangul_pieces(word: str) -> Iterator[Piece]:
    stem = without_particle(word)
    if len(stem) == 2:  # perhaps one syllable and a particle
        yield Piece(stem[0], 0, 1)
    for start in range(max(1, len(stem) - 1)):
        token = stem[start : start + 2]
        yield Piece(token, start, start + len(token))


def _unspaced_pieces(run: str) -> Iterator[Piece]:
    spans = [character.span() for character in _CHARACTER_WITH_MARKS.finditer(run)]
    seconds = spans[1:] or spans
    for (start, _), (_, end) in zip(spans, seconds, strict=False):
        yield Piece(run[start:end], start, end)


# ---------------------------------------------------------------- words

_SEPARATORS = "_.'’&‐+#-"


class _Shapes(dict[int, str]):
    """Code point to kind: A, a and s (Latin), x (other letters), 0 (digits), ~ (marks), space (separators)."""

    def __missing__(self, codepoint: int) -> str:
        character = chr(codepoint)
        if character in _SEPARATORS:
            return " "
        if character.isdigit() or character == ",":
            return "0"
        if unicodedata.category(character)[0] == "M":
            return "~"
        if script_of(character) != LATIN:
            return "x"
        return "A" if character.isupper() else "s" if character == "s" else "a"


_SHAPES = _Shapes()
_SHAPES.update((codepoint, _SHAPES[codepoint]) for codepoint in range(128))
_MARKED = re.compile("(.)(~+)")
_KIND_OF_MARKS = {"A": "a", "a": "a", "s": "a", "x": "x"}
_PART = re.compile("(AA+)s(?![as])|A+(?![as])|A?[as]+|0+|x+")  # the group: plurals such as URLs, miRNAs
_BETWEEN_SEPARATORS = re.compile(f"[^{_SEPARATORS},]+")
_DROPPED_IN_WHOLE = re.compile("[_&‐,-]+")
_APOSTROPHE = re.compile("['’]")
_ACRONYM = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_CONTRACTION = re.compile("(?:(n['’]t)|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)


def _parts(word: str) -> list[tuple[int, int]]:
    """Return the places of the word's parts: ``parseHTTPUrl2`` has four."""
    shape = word.translate(_SHAPES)
    if "~" in shape:
        shape = _MARKED.sub(lambda m: m[1] + _KIND_OF_MARKS.get(m[1], " ") * len(m[2]), shape)
    return [part.span(part.lastindex or 0) for part in _PART.finditer(shape)]


class Analyzer:
    """Turns text into tokens for the configured languages; may be called from several threads at once.

    ``languages`` are ISO 639-1 codes, the most frequent first. Raises InvalidInputError for one without a stemmer.
    ``version`` names everything that the tokens depend on: indexes with equal versions have equal tokens.

    >>> Analyzer().tokens("The pumps of getUserName()")
    ['pump', 'get', 'user', 'name', 'getusernam']
    """

    def __init__(self, languages: Sequence[str] = ("en",)) -> None:
        self._stemming = Stemming(languages)
        self.version = f"{ANALYZER_VERSION}:{'+'.join(self._stemming.languages)}:snowball-{SNOWBALL_VERSION}"
        self._remembered_tokens = lru_cache(REMEMBERED_WORDS)(self._tokens_of_run)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a passage or a query, repeated ones included."""
        normalized = normalize(text)
        return self._tokens(normalized) or [piece.token for piece in self._pieces(normalized, keep_all=True)]

    def common_tokens(self, text: str) -> set[str]:
        """Return tokens of the text that every text has in which it occurs as whole words; none for stop words alone.

        Words may go on where they are compounds: ``os.path`` has os and path, which are in ``os.path.join``, too.
        """
        tokens: set[str] = set()
        for match in _RUN.finditer(normalize(text)):
            run, kind = match[0], match.lastindex
            pieces = list(self._pieces_of_run(run, kind, False))
            if kind == _HANGUL_RUN:  # the first of two syllables is a token only without a third
                pieces = [piece for piece in pieces if len(piece.token) > 1] or pieces
            elif kind == _LATIN_RUN:
                pieces = [piece for piece in pieces if piece.end - piece.start < len(run)] or pieces
            tokens.update(piece.token for piece in pieces)
        return tokens

    def spans(self, text: str) -> list[Piece]:
        """Return the same tokens in the same order, with their places in the text as given, for highlighting."""
        normalized, starts, ends = align(text)
        pieces = list(self._pieces(normalized)) or self._pieces(normalized, keep_all=True)
        return [Piece(token, starts[start], ends[end - 1]) for token, start, end in pieces]

    def _tokens(self, normalized: str) -> list[str]:
        tokens: list[str] = []
        for word, han, hangul, unspaced in _RUN.findall(normalized):  # a match for each run would take a tenth more
            if han:
                tokens.extend(_han_tokens(han, False))
            elif unspaced:
                tokens.extend(self._tokens_of_run(unspaced, _UNSPACED_RUN))
            else:
                run, kind = (word, _LATIN_RUN) if word else (hangul, _HANGUL_RUN)
                of_run = self._remembered_tokens if len(run) <= REMEMBERED_CHARS else self._tokens_of_run
                tokens.extend(of_run(run, kind))
        return tokens

    def _tokens_of_run(self, run: str, kind: int | None) -> tuple[str, ...]:
        if run.isascii() and run.isalpha() and run.islower() and len(run) <= MAX_TOKEN_CHARS:  # a word without parts
            return () if self._stemming.is_stop_word(run) else (self._stemming.stem(run)[:MAX_TOKEN_CHARS],)
        return tuple([piece.token for piece in self._pieces_of_run(run, kind, False)])

    def _pieces(self, normalized: str, *, keep_all: bool = False) -> Iterator[Piece]:
        """Yield tokens with places; ``keep_all`` keeps stop words and lone hiragana."""
        for match in _RUN.finditer(normalized):
            for token, start, end in self._pieces_of_run(match[0], match.lastindex, keep_all):
                yield Piece(token, match.start() + start, match.start() + end)

    def _pieces_of_run(self, run: str, kind: int | None, keep_all: bool) -> Iterator[Piece]:
        if kind == _HAN_RUN:
            return _han_pieces(run, keep_all)
        if kind == _HANGUL_RUN:
            return _hangul_pieces(run)
        if kind == _UNSPACED_RUN:
            return _unspaced_pieces(run)
        if len(run) > MAX_TOKEN_CHARS:
            return self._pieces_of_long_word(run, keep_all)
        return self._pieces_of_word(run, keep_all)

    def _pieces_of_long_word(self, word: str, keep_all: bool) -> Iterator[Piece]:
        for part in _BETWEEN_SEPARATORS.finditer(word):
            for token, start, end in self._pieces_of_word(part[0][:MAX_TOKEN_CHARS], keep_all):
                yield Piece(token, part.start() + start, part.start() + end)

    def _pieces_of_word(self, word: str, keep_all: bool) -> Iterator[Piece]:
        """Yield the parts without stop words, then the whole word when it is more than its only part.

        Apostrophes do not make a whole word: in *l'eau* and *d'eau* only *eau* matters.
        """
        if _ACRONYM.fullmatch(word):
            yield self._piece(word.replace(".", ""), 0, len(word))
            return
        contraction = _CONTRACTION.search(word)
        if contraction and not keep_all:
            if contraction[1]:  # only auxiliary verbs precede n't
                return
            word = word[: contraction.start()]
        parts = _parts(word)
        if len(parts) <= MAX_PARTS:
            for start, end in parts:
                part = word[start:end].replace(",", "")
                if keep_all or not self._stemming.is_stop_word(part.lower()):
                    yield self._piece(part, start, end)
        if parts and (word[-1] in "+#" or (len(parts) > 1 and not _APOSTROPHE.search(word))):
            yield self._piece(_DROPPED_IN_WHOLE.sub("", word), 0, len(word))

    def _piece(self, word: str, start: int, end: int) -> Piece:
        return Piece(self._stemming.stem(word.lower())[:MAX_TOKEN_CHARS], start, end)
