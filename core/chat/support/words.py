"""Compares the words of a sentence with those of another: opposites, denials and names in the place of others."""

from __future__ import annotations

import re

from braid.core.chat.support.alignment import LITERAL, Alignment
from braid.core.chat.support.denial import denied, is_softened
from braid.core.chat.support.evidence import Evidence
from braid.core.chat.support.facts import Number, same
from braid.core.chat.support.findings import Finding, Kind
from braid.core.chat.support.names import are_other_names
from braid.core.chat.support.opposites import are_opposites
from braid.core.chat.support.reading import Sentence, SentenceWord
from braid.core.text.scripts import KANA
from braid.core.text.stopwords import STOP_WORDS

# Chosen by `python -m benchmarks.checks` on its first half.
NAMED = 0.8
"""Share of aligned words from which a name can be in place of another."""
DENIED = 0.75
DENIED_BACK = 0.5
"""Shares of a clause's terms that are in the other, and back, from which one with a denial contradicts one without."""
SMALL_WORDS = STOP_WORDS["en"] | {"may", "must", "can", "could", "should", "shall", "will", "would"}
"""English words that sentences of one content need not have in common."""


JOINING = frozenset(
    ("", "and", "or", "by", "x", "と", "や", "か", "又", "及", "び", "は", "와", "과", "및", "또는", "이나", "나")
)
"""Keys of words that join two things whose order means nothing; the key of a fact is empty."""
_KANA = re.compile(f"[{KANA}]*")
_MUST = {
    "en": re.compile(
        r"\b(?:must|shall|ha(?:s|ve) to|needs? to|(?:is|are) (?:required|obliged) to)\b(?! not\b)", re.IGNORECASE
    ),
    "ja": re.compile(
        r"な(?:ければ|くては)(?:なら|なり|いけ)(?:ない|ません)|ねばな(?:らない|りません)|(?:必要|義務)があ[るりっ]|べき"
    ),
    "ko": re.compile(r"[해여야어아]야 ?[한하합할함][가-힣]*|(?:필요|의무)가 ?있[가-힣]*"),
}
_NEED_NOT = {
    "en": re.compile(
        r"\bneed(?:s not| not|n['’]t)\b|\b(?:do|does|did)(?: not|n['’]t) (?:need|have) to\b"
        r"|\b(?:is|are)(?: not|n['’]t) (?:required|obliged) to\b",
        re.IGNORECASE,
    ),
    "ja": re.compile(
        r"(?:必要|義務)[はがも]?(?:な[いく]|ありません)|なくても?(?:よい|いい|良い|構わない|かまわない)|不要(?=[。、だで]|とす|とし|$)"
    ),
    "ko": re.compile(r"(?:필요|의무)[가는도]? ?없[가-힣]*|(?:지 ?않아도|안 ?해도) ?[되된됩좋][가-힣]*"),
}
"""What says that something has to be done, and that it need not be done."""
_WHO = re.compile(
    r"以外|未満|以上|以下|以内|を除[くいき]|이외|미만|이상|이하|제외|\b(?:except|other than|but|unless|under|over)\b"
)
"""Words with which those for whom it holds may be the others."""


def opposite(said: Sentence, one: Sentence, alignment: Alignment) -> Finding | None:
    """Return an opposite that stands in the place of a word, if the sentences are alike otherwise."""
    if alignment.share < LITERAL:
        return None
    if exchanged := _exchanged(said, one):
        return exchanged
    written, there = ({word.key for word in each.words} for each in (said, one))
    moved = [word for gap in alignment.gaps if gap.there for word in gap.said if word.key in there - SMALL_WORDS]
    if any(word.fact < 0 for word in moved):  # the tunnel is shorter than the bridge, which is longer than the tunnel
        return None
    for gap in alignment.gaps:
        if not gap.there or len(gap.said) > 3 or len(gap.there) > 3:
            continue
        for mine in gap.said:
            for other in gap.there:
                if mine.key in there or other.key in written:  # both say both
                    continue
                if are_opposites(mine.key, other.key, said.language) and _deny_alike(said, mine, one, other):
                    return pair_of("opposite", said, (mine.start, mine.end), one, (other.start, other.end))
    return None


def _exchanged(said: Sentence, one: Sentence) -> Finding | None:
    """Return the first of two opposites that have changed places, if all else is equal but for endings in kana: it
    opens at 6 and closes at 4.
    """
    if len(said.words) != len(one.words):
        return None
    every = list(zip(said.words, one.words, strict=True))
    if any(said.text[a.start : a.end] != one.text[b.start : b.end] for a, b in every if a.fact >= 0 or b.fact >= 0):
        return None  # the facts have moved with the words: it is only said in another order
    pairs = [(mine, other) for mine, other in every if mine.key != other.key]
    turned = [pair for pair in pairs if are_opposites(pair[0].key, pair[1].key, said.language)]
    rest = [word.key for pair in pairs if pair not in turned for word in pair]
    if len(turned) != 2 or not all(_KANA.fullmatch(key) for key in rest):
        return None
    (mine, other), (last, _) = turned
    between = {word.key for word in said.words if mine.end <= word.start < last.start}
    if not between - JOINING:
        return None
    return pair_of("opposite", said, (mine.start, mine.end), one, (other.start, other.end))


def freed(said: Sentence, one: Sentence, alignment: Alignment, evidence: Evidence) -> Finding | None:
    """Return that something need not be done that has to be done in the other sentence, or the other way about."""
    if not alignment.is_literal and evidence.coverage(said.terms, one.terms) < DENIED:
        return None
    if sorted(_WHO.findall(said.text)) != sorted(_WHO.findall(one.text)):
        return None  # it is said of others
    must, need_not = _MUST[said.language], _NEED_NOT[said.language]
    of_said = list(must.finditer(said.text)), list(need_not.finditer(said.text))
    of_one = list(must.finditer(one.text)), list(need_not.finditer(one.text))
    for forth, back in ((0, 1), (1, 0)):
        if len(of_said[forth]) > len(of_one[forth]) and len(of_said[back]) < len(of_one[back]):
            return pair_of("negation", said, of_said[forth][-1].span(), one, of_one[back][-1].span())
    return None


def _deny_alike(said: Sentence, mine: SentenceWord, one: Sentence, other: SentenceWord) -> bool:
    """Return whether both sentences deny the same, apart from two words."""
    return _denials(said, mine.start, mine.end) % 2 == _denials(one, other.start, other.end) % 2


def _denials(sentence: Sentence, start: int, end: int) -> int:
    """Return the number of denials that are not within some characters."""
    return sum(not start <= first < last <= end for first, last in sentence.negations)


def other_name(said: Sentence, one: Sentence, alignment: Alignment, evidence: Evidence) -> Finding | None:
    """Return a name in the place of another of its kind, where nothing else is replaced, and no passage has it."""
    replaced = [gap for gap in alignment.gaps if gap.said and gap.there]
    if alignment.share < NAMED or len(replaced) != 1 or not alignment.is_literal:
        return None
    gap = replaced[0]
    if len(gap.said) != 1 or len(gap.there) != 1 or not gap.is_flanked:
        return None
    mine, other = gap.said[0], gap.there[0]
    written, there = said.text[mine.start : mine.end], one.text[other.start : other.end]
    if not are_other_names(written, there, said.text[: mine.start], said.text[mine.end :]):
        return None
    if evidence.stands(written) or there in said.text:
        return None
    return pair_of("name", said, (mine.start, mine.end), one, (other.start, other.end))


def denial(said: Sentence, one: Sentence, alignment: Alignment, evidence: Evidence) -> Finding | None:
    """Return a denial that one of two like sentences has and the other has not, of a word that both have."""
    odd = len(said.negations) % 2 != len(one.negations) % 2
    numbers = [fact for fact in said.facts if isinstance(fact, Number) and not fact.is_small]
    if not all(any(same(fact, there) for there in one.facts) for fact in numbers):
        return None  # of the others something else may hold
    if one.is_long or not odd or is_softened(said.text, one.text, said.language) or _is_bounded_otherwise(said, one):
        return None
    forth, back = evidence.coverage(said.terms, one.terms), evidence.coverage(one.terms, said.terms)
    if not alignment.is_literal and (forth < DENIED or back < DENIED_BACK):
        return None
    denies, other = (said, one) if len(said.negations) > len(one.negations) else (one, said)
    for span in denies.negations:
        if found := denied(denies, span, other):
            mine, there = (found[0], found[1]) if denies is said else (found[1], found[0])
            return pair_of("negation", said, mine, one, there)
    return None


def _is_bounded_otherwise(said: Sentence, one: Sentence) -> bool:
    """Return whether a number bounds in another way: *not below six hours* is *from six hours on*."""
    return any(
        fact.bound != other.bound and set(fact.bases()) & set(other.bases())
        for fact in said.facts
        for other in one.facts
        if isinstance(fact, Number) and isinstance(other, Number)
    )


def pair_of(kind: Kind, said: Sentence, mine: tuple[int, int], one: Sentence, other: tuple[int, int]) -> Finding:
    """Return the finding that some characters of a sentence are others in one of a passage."""
    return Finding(
        kind, *said.origin(*mine), said.text[slice(*mine)], one.passage, *one.origin(*other), one.text[slice(*other)]
    )
