"""Short and long forms of the same name, as texts introduce them.

*Service Level Agreement (SLA)*, *SLA (Service Level Agreement)*, 就業規則（以下「規則」という。）, 시행령(이하 "영"이라
한다).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_SHORT_CHARS, MAX_LONG_CHARS = 20, 100
_SHORT = r"[A-Z][A-Za-z0-9&./-]{1,9}"
_IN_BRACKETS = re.compile(r"[(（]([^()（）\n]{2,100})[)）]")
_SHORT_BEFORE = re.compile(rf"(?<![A-Za-z0-9])({_SHORT}) ?$")
_WORDS_BEFORE = re.compile(r"[^\s(（)）\[\],;:。、]+(?: [^\s(（)）\[\],;:。、]+)* ?$")
_FROM_HERE = re.compile(
    r"(?:以下、?(?:単に|総称して)?|이하 ?)"
    r"(?:[「『\"“'‘]([^「」『』\"“”'‘’]{1,20})[」』\"”'’]"
    r"|([^\s「」\"“”、。]{1,20}?)(?=とい|と称|と略|と呼|라 ?한|이라|라고|$))"
)
# A Japanese name ends where hiragana begins, but for の, which names have in them less often than around them.
_NAME_JA = re.compile(r"[一-龠々〆ヵヶァ-ヺー・A-Za-z0-9０-９Ａ-Ｚａ-ｚ]{2,40}$")
_QUOTED = re.compile(r"[「『\"“]([^「」『』\"“”]{2,60})[」』\"”]$")
_NAME_KO = re.compile(r"(?:[가-힣A-Za-z0-9·]+ ){0,4}[가-힣A-Za-z0-9·]+ ?$")
_PARTICLE_KO = re.compile(r"(?:은|는|이|가|을|를|의|에|에서|와|과|및|로|으로|한|된|하는|따른)$")
_UNSPACED = re.compile(r"[぀-ヿ一-鿿]$")
_HANGUL = re.compile(r"[가-힣]")
LOOK_BACK_CHARS = 120


class Abbreviation(NamedTuple):
    """A short form and the long form that a text gives for it, as they are written."""

    short: str
    long: str


def abbreviations_in(text: str) -> Iterator[Abbreviation]:
    """Yield the short forms that a text introduces in brackets, with their long forms.

    >>> list(abbreviations_in("The Service Level Agreement (SLA) is renewed."))
    [Abbreviation(short='SLA', long='Service Level Agreement')]
    """
    for match in _IN_BRACKETS.finditer(text):
        before, inside = text[max(0, match.start() - LOOK_BACK_CHARS) : match.start()], match[1].strip()
        found = _named_from_here(before, inside) or _in_latin(before, inside)
        if found and found.short.casefold() != found.long.casefold() and len(found.long) <= MAX_LONG_CHARS:
            yield found


def _named_from_here(before: str, inside: str) -> Abbreviation | None:
    """Return what 以下「…」という or 이하 "…" introduces."""
    told = _FROM_HERE.match(inside)
    if told is None:
        return None
    short = (told[1] or told[2]).strip()
    if quoted := _QUOTED.search(before):
        long = quoted[1]
    elif _HANGUL.search(before[-2:]):
        long = _name_ko(before)
    else:
        long = _name_ja(before, short)
    return Abbreviation(short, long.strip()) if short and len(long.strip()) > len(short) else None


def _name_ja(before: str, short: str) -> str:
    """Return the name at the end: up to the nearest hiragana, or with it as far as the letters of the short form go."""
    name = _NAME_JA.search(before)
    if name and len(name[0]) > len(short):
        return name[0]
    clause = re.split(r"[、。「」『』（）()\n]", before)[-1]
    place = len(clause)
    for letter in reversed(short):
        place = clause.rfind(letter, 0, place)
        if place < 0:
            return ""
    return clause[place:]


def _name_ko(before: str) -> str:
    """Return the words at the end that no particle separates."""
    words = (_NAME_KO.search(before) or [""])[0].split()
    first = len(words) - 1
    while first > 0 and not _PARTICLE_KO.search(words[first - 1]):
        first -= 1
    return " ".join(words[max(0, first) :])


def _in_latin(before: str, inside: str) -> Abbreviation | None:
    """Return a short form in capital letters beside its long form, whichever of them is in the brackets."""
    if _is_short(inside):
        if _UNSPACED.search(before) or _HANGUL.search(before[-1:]):
            name = _NAME_JA.search(before)
            long = _name_ko(before) if _HANGUL.search(before[-1:]) else name[0] if name else ""
            return Abbreviation(inside, long) if long and inside.isupper() and len(inside) <= 6 else None
        words = _WORDS_BEFORE.search(before)
        long = _long_form(inside, words[0].strip()) if words else ""
        return Abbreviation(inside, long) if long else None
    short = _SHORT_BEFORE.search(before)
    if short is None or not _is_short(short[1]):
        return None
    long = _long_form(short[1], inside)
    return Abbreviation(short[1], long) if long == inside else None


def _is_short(text: str) -> bool:
    return re.fullmatch(_SHORT, text) is not None and sum(letter.isupper() for letter in text) >= 2


def _long_form(short: str, words: str) -> str:
    """Return the shortest end of ``words`` that has the letters of the short form in their order, the first one at the
    beginning of a word; empty where there is none. The algorithm is that of Schwartz and Hearst (2003).
    """
    letters = [letter.lower() for letter in short if letter.isalnum()]
    most = min(len(letters) + 5, 2 * len(letters))
    tail = " ".join(words.split()[-most:])
    place = len(tail) - 1
    for number in range(len(letters) - 1, -1, -1):
        while place >= 0 and (
            tail[place].lower() != letters[number] or (number == 0 and place > 0 and tail[place - 1].isalnum())
        ):
            place -= 1
        if place < 0:
            return ""
        place -= 1
    start = tail.rfind(" ", 0, place + 1) + 1
    found = tail[start:]
    return found if len(found) > len(short) and len(found.split()) >= 2 else ""
