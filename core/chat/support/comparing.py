"""Compares a sentence with what supports it: facts that are others there, and quotations; its words see `words`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise

from braid.core.chat.support.alignment import LITERAL, Alignment, align_sentences
from braid.core.chat.support.calculations import Calculations
from braid.core.chat.support.evidence import Evidence, Window
from braid.core.chat.support.facts import Fact, Moment, Number, comparable, same
from braid.core.chat.support.findings import Finding, Kind
from braid.core.chat.support.reading import Sentence
from braid.core.chat.support.words import JOINING, SMALL_WORDS, denial, freed, opposite, other_name, pair_of

# Chosen by `python -m benchmarks.checks` on its first half.
LEAST_COVERAGE, LEAST_OF_BIGRAMS = 0.8, 0.5
"""Least share of a sentence's terms that its window has, for a fact of the one to be in place of one of the other; of
Japanese and Korean, whose terms are pairs of signs, which also change with the endings of words.
"""
LEAST_NEAR = 0.5
"""The same, for an opposite in the same place."""
LEAST_COMMON = 0.5
"""Least share of common words around two facts."""
LEAST_COMMON_OF_ONE = 0.4
"""The same where the window has a single fact of the kind."""
MOST_OTHER = 1
"""Most facts of a sentence in free words that the passages have not, for one of them to be in place of another."""
MOST_NAMES = 12
_RANGE = re.compile(r"\s?(?:[-~–—〜～]|to|から|부터|에서)\s?")
_NEAR = 3
Around = tuple[frozenset[str], frozenset[str]]
"""The words before and after a fact."""
_QUOTED = re.compile(r"“([^“”\n]{8,400})”|\"([^\"\n]{8,400})\"|「([^「」\n]{8,400})」|『([^『』\n]{8,400})』")
_LEFT_OUT = re.compile(r"…+|\.{3,}|\[…\]|\(…\)")
_BEFORE = re.compile(r"\b(?:before|after|since|until|by|from)\s(?:the\s)?$", re.IGNORECASE)
_AFTER = re.compile(r"\s?(?:以前|以後|以降|より前|より後|まで|から|前|後|頃|이전|이후|까지|부터|전|후|경)")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,40}\b")
_ZONE = re.compile(r"\s?\(?((?:[A-Z]{1,3}[SD]?T|GMT|UTC)\b|(?:[A-Z]\w{1,20}|local) time\b)")
_ZONE_BEFORE = re.compile(r"(?:現地|日本|韓国|米国|현지|한국|일본|미국) ?(?:時間|시간|시각)\s?$")
_ENDS = " .,;:!?。、，．"
_UNLESS = re.compile(r"\bunless\b|않으면|않은 경우|않을 경우|ない場合|なければ|ないとき|ないと", re.IGNORECASE)


def compare(said: Sentence, window: Window, evidence: Evidence) -> list[Finding]:
    """Return what a sentence says otherwise than the passages that it cites, or what they do not say."""
    there = window.sentences
    alike = [each for each in there if each.language == said.language]
    findings = list(_quotations(said, evidence))
    alignment = align_sentences(said, alike[0]) if alike and not said.is_long else Alignment((), 0.0)
    facts = list(_exchanged(said, alike)) or list(_facts(said, window, alike, alignment, evidence))
    findings += facts
    if not alike or said.is_long or any(each.differs for each in facts):
        return findings
    is_near = alignment.is_literal or window.coverage >= LEAST_NEAR
    found = opposite(said, alike[0], alignment) if is_near else None
    for look in (denial, freed, other_name):
        found = found or look(said, alike[0], alignment, evidence)
    return findings + ([found] if found else [])


# ---------------------------------------------------------------- facts


def _facts(
    said: Sentence,
    window: Window,
    alike: Sequence[Sentence],
    alignment: Alignment,
    evidence: Evidence,
) -> Iterator[Finding]:
    unsaid = cache(lambda: _unsaid(said, alike))  # for all facts alike, and often for none
    around = _words_around(said)
    calculated = Calculations([each for one in window.sentences for each in one.facts])
    known = [evidence.is_found(fact) for fact in said.facts]
    is_of_this = alignment.is_literal or _is_of_this(said, known, evidence)
    for place, (fact, found) in enumerate(zip(said.facts, known, strict=True)):
        if not found and (not is_of_this or _has_another_zone(said, fact, alike)) and not calculated.has(fact):
            yield from _not_found(said, fact, evidence)
            continue
        exact = _in_place(said, place, alike, alignment)
        literal = window.coverage >= LITERAL and alignment.share >= LITERAL
        may_move = found or not alignment.is_literal
        is_moved = may_move and exact is not None and any(same(each, exact) for each in said.facts if each is not fact)
        is_other = exact is not None and (comparable(fact, exact) or not calculated.has(fact))
        if exact and is_other and literal and not is_moved:
            yield _differs(said, fact, alike[0], exact)
            continue
        if turned := _turned(said, fact, alike, alignment):
            yield pair_of("opposite", said, turned[0].bounded, alike[0], turned[1].bounded)
            continue
        if found or (isinstance(fact, Number) and fact.is_small):
            continue
        in_gap = _in_gap(said, place, alike, alignment)
        if in_gap and literal and alignment.is_literal and _have_as_many(said, place, alignment):
            yield _differs(said, fact, alike[0], in_gap)
            continue
        if calculated.has(fact):
            continue
        if in_gap and min(window.coverage, alignment.share) >= _least_coverage(said):
            yield _differs(said, fact, alike[0], in_gap)
        elif other := _counterpart(said, fact, around[place], window, unsaid, evidence):
            yield _differs(said, fact, *other)
        else:
            yield from _not_found(said, fact, evidence)


def _exchanged(said: Sentence, alike: Sequence[Sentence]) -> Iterator[Finding]:
    """Yield two facts that have changed places where all other words are the same in the same order, unless one only
    stands beside the other: *2 and 3*.
    """
    if not alike or said.is_long or [word.key for word in said.words] != [word.key for word in alike[0].words]:
        return
    there = alike[0].facts
    moved = [place for place, (fact, other) in enumerate(zip(said.facts, there, strict=True)) if not same(fact, other)]
    for first, second in combinations(moved, 2):
        mine = said.facts[first], said.facts[second]
        between = {word.key for word in said.words if mine[0].end <= word.start < mine[1].start}
        if between - JOINING and same(mine[0], there[second]) and same(mine[1], there[first]):
            yield _differs(said, mine[0], alike[0], there[first])
            yield _differs(said, mine[1], alike[0], there[second])
            return


def _not_found(said: Sentence, fact: Fact, evidence: Evidence) -> Iterator[Finding]:
    is_small = isinstance(fact, Number) and fact.is_small
    if evidence.has_facts and not is_small and not _is_mere(fact):
        yield Finding(_kind(fact), *said.origin(fact.start, fact.end), said.text[fact.start : fact.end])


def _is_of_this(said: Sentence, known: Sequence[bool], evidence: Evidence) -> bool:
    """Return whether a sentence in free words is of the matter that the passages are about: one with a name that they
    have not, or of which several facts are not there, may be of another one, or of another day.
    """
    others = [fact for fact, is_known in zip(said.facts, known, strict=True) if not is_known]
    ranges = sum(_RANGE.fullmatch(said.text, one.end, other.start) is not None for one, other in pairwise(others))
    if len(others) - ranges > MOST_OTHER:
        return False
    names = [found[0] for found in _NAME.finditer(said.text)][:MOST_NAMES]
    return all(evidence.stands(name) for name in names)


def _has_another_zone(said: Sentence, fact: Fact, alike: Sequence[Sentence]) -> bool:
    """Return whether a time of day is given for a zone of which the passage has no time."""
    zone = _zone(said, fact)
    zones = {_zone(one, each) for one in alike for each in one.facts} - {None}
    return zone is not None and bool(zones) and zone not in zones


def _zone(sentence: Sentence, fact: Fact) -> str | None:
    """Return the zone of a time of day, empty where it is not said; None for another fact."""
    if not isinstance(fact, Moment) or "H" not in fact.parts:
        return None
    zone = _ZONE.match(sentence.text, fact.end)
    before = _ZONE_BEFORE.search(sentence.text[max(0, fact.start - 8) : fact.start])
    return zone[1] if zone else before[0] if before else ""


def _is_mere(fact: Fact) -> bool:
    """Return whether a fact counts or numbers what is spoken of, and is no fact of the passage's."""
    return isinstance(fact, Number) and (fact.dimension in ("label", "ordinal") or fact.is_few)


def _in_place(said: Sentence, place: int, alike: Sequence[Sentence], alignment: Alignment) -> Fact | None:
    """Return the fact in the very place of one: the words around both are equal."""
    for gap in alignment.gaps:
        if gap.is_flanked and len(gap.said) == len(gap.there) == 1 and gap.said[0].fact == place:
            other = alike[0].facts[gap.there[0].fact] if gap.there[0].fact >= 0 else None
            fact = said.facts[place]
            return other if other and (_are_numbers(fact, other) or comparable(fact, other)) else None
    return None


def _turned(
    said: Sentence, fact: Fact, alike: Sequence[Sentence], alignment: Alignment
) -> tuple[Number, Number] | None:
    """Return a number and the same as the opposite bound, where all else is equal: *at least 18*, *at most 18*."""
    if not isinstance(fact, Number) or not fact.bound or not alike:
        return None
    one = alike[0]
    there = [each for each in one.facts if isinstance(each, Number) and same(replace(fact, bound=0), each)]
    if (
        len(there) != 1
        or there[0].bound != -fact.bound
        or len(_UNLESS.findall(said.text)) != len(_UNLESS.findall(one.text))
    ):
        return None
    if _begun_outside(said, fact.bounded) % 2 != _begun_outside(one, there[0].bounded) % 2:
        return None
    first, last = fact.bounded
    outside = {word for word in said.words if not first <= word.start < last and word.key not in SMALL_WORDS}
    missing = {word for gap in alignment.gaps for word in gap.said} & outside
    replaced = {word for gap in alignment.gaps if gap.there for word in gap.said} & outside
    is_alike = bool(outside) and len(missing) <= (1 - LITERAL) * len(outside) and not replaced
    return (fact, there[0]) if is_alike else None


def _begun_outside(sentence: Sentence, span: tuple[int, int]) -> int:
    """Return the number of denials that begin outside of some characters."""
    return sum(not span[0] <= first < span[1] for first, _ in sentence.negations)


def _are_numbers(fact: Fact, other: Fact) -> bool:
    """Return whether both are numbers, of any unit, and not the same."""
    return isinstance(fact, Number) and isinstance(other, Number) and not same(fact, other)


def _in_gap(said: Sentence, place: int, alike: Sequence[Sentence], alignment: Alignment) -> Fact | None:
    """Return the fact that stands in the same place of the aligned sentence, if one alone does."""
    if not alike:
        return None
    for gap in alignment.gaps:
        mine = [word.fact for word in gap.said if word.fact >= 0]
        others = [alike[0].facts[word.fact] for word in gap.there if word.fact >= 0]
        if place in mine and gap.is_flanked and len(gap.said) <= 4 and len(gap.there) <= 4:
            fact = said.facts[place]
            fitting = [other for other in others if not any(same(each, other) for each in said.facts)]
            fitting = [other for other in fitting if comparable(fact, other) or _only_unit(fact, other)]
            return fitting[mine.index(place)] if len(fitting) == len(mine) else None
    return None


def _have_as_many(said: Sentence, place: int, alignment: Alignment) -> bool:
    """Return whether there are as many facts in the place of those around one."""
    gap = next(gap for gap in alignment.gaps if any(word.fact == place for word in gap.said))
    return sum(word.fact >= 0 for word in gap.said) == sum(word.fact >= 0 for word in gap.there)


def _unsaid(said: Sentence, alike: Sequence[Sentence]) -> list[tuple[Sentence, Fact, Around]]:
    """Return the facts of the sentences that one does not say, each with the words around it."""
    return [
        (one, other, around)
        for one in alike
        for other, around in zip(one.facts, _words_around(one), strict=True)
        if not any(same(each, other) for each in said.facts)
    ]


def _counterpart(
    said: Sentence,
    fact: Fact,
    around: Around,
    window: Window,
    unsaid: Callable[[], list[tuple[Sentence, Fact, Around]]],
    evidence: Evidence,
) -> tuple[Sentence, Fact] | None:
    if window.coverage < _least_coverage(said) or (isinstance(fact, Moment) and _is_bound(said, fact)):
        return None
    scored = [
        (_common(around, words, evidence), one, other)
        for one, other, words in unsaid()
        if (comparable(fact, other) or _only_unit(fact, other)) and _is_few(other) <= _is_few(fact)
    ]
    best = max(scored, key=lambda each: each[0], default=None)
    if best is None:
        return None
    least = LEAST_COMMON_OF_ONE if len(scored) == 1 and _has_kind(fact) else LEAST_COMMON
    return best[1:] if best[0] >= least else None


def _least_coverage(said: Sentence) -> float:
    return LEAST_OF_BIGRAMS if said.language in ("ja", "ko") else LEAST_COVERAGE


def _is_few(fact: Fact) -> bool:
    return isinstance(fact, Number) and fact.is_few


def _is_bound(said: Sentence, fact: Fact) -> bool:
    """Return whether a date is one before or after which something is, and not its own."""
    return bool(_BEFORE.search(said.text[max(0, fact.start - 12) : fact.start]) or _AFTER.match(said.text, fact.end))


def _has_kind(fact: Fact) -> bool:
    return isinstance(fact, Moment) or fact.dimension not in ("", "count")


def _only_unit(fact: Fact, other: Fact) -> bool:
    """Return whether two numbers have the same value and another unit."""
    return (
        isinstance(fact, Number)
        and isinstance(other, Number)
        and (fact.dimension, fact.per) != (other.dimension, other.per)
        and bool(fact.dimension and other.dimension)
        and bool(set(fact.values) & set(other.values))
    )


def _words_around(sentence: Sentence) -> list[Around]:
    """Return the words before and after each fact: the few nearest, of Japanese the signs of the nearest."""
    places = dict[int, int]()
    for place, word in enumerate(sentence.words):
        places.setdefault(word.fact, place)
    keys = [word.key for word in sentence.words]
    found = (places.get(number, 0) for number in range(len(sentence.facts)))
    return [(_pieces(keys[max(0, at - _NEAR) : at]), _pieces(keys[at + 1 : at + 1 + _NEAR])) for at in found]


def _pieces(keys: Sequence[str]) -> frozenset[str]:
    return frozenset(
        piece
        for key in keys
        for piece in ([key] if key[:1].isascii() or len(key) < 3 else map("".join, pairwise(key)))
        if piece
    )


def _common(mine: Around, others: Around, evidence: Evidence) -> float:
    """Return the share of the words around a fact that are around the other, weighed by rarity."""
    all_of_mine, all_others = mine[0] | mine[1], others[0] | others[1]
    smaller = min((all_of_mine, all_others), key=len)
    total = sum(map(evidence.weight, smaller))
    return sum(map(evidence.weight, all_of_mine & all_others)) / total if total else 0.0


def _differs(said: Sentence, fact: Fact, one: Sentence, there: Fact) -> Finding:
    kind: Kind = "unit" if _only_unit(fact, there) else _kind(fact)
    return pair_of(kind, said, (fact.start, fact.end), one, (there.start, there.end))


def _kind(fact: Fact) -> Kind:
    return "number" if isinstance(fact, Number) or "v0" in fact.parts else "date"


# ---------------------------------------------------------------- quotations


def _quotations(said: Sentence, evidence: Evidence) -> Iterator[Finding]:
    """Yield the texts in quotation marks that do not stand in the passages, of those in their language."""
    if not evidence.has_texts or all(each.language != said.language for each in evidence.sentences):
        return
    for found in _QUOTED.finditer(said.text):
        within = next(group for group in found.groups() if group)
        parts = [part for part in _LEFT_OUT.split(within) if part.strip(_ENDS)]
        if not all(evidence.stands(part.strip(_ENDS)) for part in parts):
            yield Finding("quotation", *said.origin(*found.span()), found[0])
