"""Whether the letters of a page mean anything: a font may not say which letters it draws, or say wrong ones.

A viewer shows such a page well, and its text is of characters that are none, of letters shifted in the alphabet, or of
characters that no language has. Only a picture of the page can be read then.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from typing import NamedTuple

LEAST_UNKNOWN, LEAST_SHARE, MOST_OF_PAGE = 4, 0.08, 0.5
"""Unknown characters, and their share of all, from which a page is not legible; share from which nothing of it is."""
LEAST_OF_FEW = 0.3
"""The same share where they are fewer."""
LEAST_LETTERS, MOST_BITS = 200, 4.9
"""Latin letters by which a language is known, and the most bits per letter that a text in one has by `_FREQUENCY`:
English, German, French, Polish, Turkish and Finnish have 4.1 to 4.5, and letters at random 5.4.
"""
LEAST_SYLLABLES, MOST_RARE = 40, 0.3
"""Hangul, or Han characters, by which they are judged, and the most of them that may be outside of common sets."""
_MARKS = "\t\n\r\f\x02\ufffe"
"""Control characters that PDFium writes: line breaks, and hyphens at the end of a line."""
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd\uffff\U000f0000-\U0010ffff]")
_FREQUENCY = {
    **{"a": 8.6, "b": 1.6, "c": 2.9, "d": 4.3, "e": 12.0, "f": 1.3, "g": 2.0, "h": 2.6, "i": 7.6, "j": 0.7, "k": 2.2},
    **{"l": 4.6, "m": 2.8, "n": 7.2, "o": 6.2, "p": 2.4, "q": 0.4, "r": 6.6, "s": 6.4, "t": 6.3, "u": 3.9, "v": 1.5},
    **{"w": 1.2, "x": 0.3, "y": 1.2, "z": 1.5},
}
"""Letters of the languages of Europe, in percent, marks above and below them left out."""
_BITS = {letter: -math.log2(share / sum(_FREQUENCY.values())) for letter, share in _FREQUENCY.items()}
_HANGUL = re.compile("[\uac00-\ud7a3]")
LEAST_UNASSIGNED = 0.02
"""Share of the letters of distant alphabets that are no characters, from which none of them is meant."""
_DISTANT = re.compile("[\u0530-\u10ff]")
_HAN = re.compile("[\u3400-\u9fff]")
LEAST_WITHIN = 4
"""Different characters for private use within words of Hangul, kana or Han characters, from which these are garbled:
a single one is the sign of a list, or a rare character that the font has drawn itself.
"""
_EAST_ASIAN = "\u3041-\u30fe\u3400-\u9fff\uac00-\ud7a3"
_WITHIN = re.compile(f"[\ue000-\uefff\uf100-\uf8ff](?:(?<=[{_EAST_ASIAN}].)|(?=[{_EAST_ASIAN}]))")


class Legible(NamedTuple):
    """A page's text without what is no character, each replaced by a space, and how much of it can be read."""

    text: str
    is_whole: bool
    """Whether everything can be read."""
    is_any: bool
    """Whether something can be read."""


def legible(text: str) -> Legible:
    """Return what of a page's text has a meaning.

    Symbols alone, such as the bullets of Word, are no sign: they have places for private use, too.

    >>> legible("A valve, shown well.")
    Legible(text='A valve, shown well.', is_whole=True, is_any=True)
    >>> legible("\\ue012\\ue013\\ue014 \\ue015\\ue016 pump").is_whole
    False
    """
    unknown = sum(_is_unknown(text, found) for found in _UNSEEN.finditer(text))
    letters = len("".join(text.split())) if unknown else 0
    if not unknown or unknown < (LEAST_OF_FEW if unknown < LEAST_UNKNOWN else LEAST_SHARE) * letters:
        return Legible(text, is_whole=not _is_strange(text), is_any=True)
    kept = _UNSEEN.sub(lambda found: found[0] if found[0] in _MARKS else " ", text)
    return Legible(kept, is_whole=False, is_any=unknown < MOST_OF_PAGE * letters)


def _is_unknown(text: str, found: re.Match[str]) -> bool:
    """Return whether a character that means nothing stands beside another, or beside a letter; one of a symbol font is
    the sign of a list at the beginning of a word.
    """
    if found[0] in _MARKS:
        return False
    before, after = text[max(found.start() - 1, 0) : found.start()], text[found.end() : found.end() + 1]
    if "\uf020" <= found[0] <= "\uf0fe" and not before.strip() and not _UNSEEN.match(after):
        return False
    beside = before + after
    return any(each.isalnum() or (each not in _MARKS and _UNSEEN.match(each)) for each in beside)


def _is_strange(text: str) -> bool:
    """Return whether no language has such letters, if there are enough to know."""
    is_ascii = text.isascii()
    counts = Counter((text if is_ascii else unicodedata.normalize("NFD", text)).lower())
    latin = sum(counts[letter] for letter in _BITS)
    bits = sum(counts[letter] * each for letter, each in _BITS.items())
    if latin >= LEAST_LETTERS and bits > MOST_BITS * latin:
        return True
    if is_ascii:
        return False
    if _are_unassigned(text) or len(set(_WITHIN.findall(text))) >= LEAST_WITHIN:
        return True
    return _are_rare(_HANGUL.findall(text), ("euc_kr",)) or _are_rare(_HAN.findall(text), ("cp932", "gb2312", "big5"))


def _are_unassigned(text: str) -> bool:
    """Return whether some characters of distant alphabets are none at all, as where a font numbers its letters."""
    distant = _DISTANT.findall(text)
    if len(distant) < LEAST_SYLLABLES:
        return False
    return sum(unicodedata.category(each) == "Cn" for each in distant) > LEAST_UNASSIGNED * len(distant)


def _are_rare(characters: list[str], sets: tuple[str, ...]) -> bool:
    """Return whether many characters are in none of the sets of those that are in use."""
    if len(characters) < LEAST_SYLLABLES:
        return False
    left = {each for each in set(characters) if all(len(each.encode(name, "ignore")) != 2 for name in sets)}
    return sum(character in left for character in characters) > MOST_RARE * len(characters)
