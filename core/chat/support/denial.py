"""What a denial is about: the word that two sentences have, denied in one of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import takewhile

from braid.core.chat.support.reading import Sentence, SentenceWord
from braid.core.text.stopwords import STOP_WORDS

Span = tuple[int, int]
_REACH = 10
"""Characters of Japanese between a word and the denial behind it."""
_IS_THERE = re.compile(r"[가-힣]?\s?있|[하한할함합해했]")
"""What follows a Korean word of which there is something, or that is so: 창문이 있다, 필요하다."""
_PARTICLES = frozenset(("을", "를", "은", "는", "이", "가", "의", "에", "로", "와", "과", "도"))
_AFTER = 4
"""English words behind a denial among which is the one that it denies."""
LONGEST_STEM = 5
LONGEST_ENDING = 4
SHORT_ENDING = 3
"""Letters that forms of an English word have in common, and those that they may end with, also of a shorter word."""
_SOFT = {
    "en": re.compile(
        r"\b(?:declin|fail|refus|deny|denie|forbid|forbad|prohibit|ban|lack|except|only|unless|until"
        r"|yet|rare|hard|seldom)\w*"
        r"|\bother than\b|\bapart from\b|\bnon-\w+"
        r"|\b(?:remov|exclud|withdr|cancel|abolish|eliminat|reject|avoid|prevent|stop|plan|schedul|expect|intend)\w*"
        r"|\brather than\b|\binstead\b",
        re.IGNORECASE,
    ),
    "ja": re.compile(
        r"禁止|拒否|除[くい]|対象外|まだ|未[^満来]|不[^可]|非|無[^い]|失敗|のみ|だけ|しか|以外|ほか|困難|避け|より|代わり|予定|計画|見込"
    ),
    "ko": re.compile(
        r"금지|거부|제외|거절|아직|실패|이외|외의|외에|비회원|만 |드물|어렵|뿐|말고|보다|대신|예정|계획|전망"
    ),
}


def is_softened(one: str, other: str, language: str) -> bool:
    """Return whether one of two texts denies in another way than the other, by words such as *forbid* or *only*."""
    soft = _SOFT[language]
    return sorted(soft.findall(one.lower())) != sorted(soft.findall(other.lower()))


def denied(sentence: Sentence, negation: Span, other: Sentence) -> tuple[Span, Span] | None:
    """Return a denial with the word that it is about, and that word in the other sentence, where nothing denies it."""
    find = {"en": _english, "ja": _japanese, "ko": _korean}[sentence.language]
    for word, there in find(sentence, negation, other):
        if not _is_denied(there, other) and not _is_said_too(word, sentence):
            start, end = min(word.start, negation[0]), max(word.end, negation[1])
            start = next((each.start for each in sentence.words if each.start <= start < each.end), start)
            return (
                (_before_modal(sentence, start), _end_of_word(sentence, end)),
                (_before_modal(other, there.start), _end_of_phrase(other, there)),
            )
    return None


def _is_said_too(word: SentenceWord, sentence: Sentence) -> bool:
    """Return whether a word that is denied is in the sentence without a denial, too: *shares of A, no shares of B*.

    Of the other languages only words of one sign are looked for: longer ones are named again as a matter of course.
    """
    if sentence.language != "en" and len(word.key) > 1:
        return False
    others = (each for each in sentence.words if each != word and _are_forms(each.key, word.key))
    return any(not _is_denied(each, sentence) for each in others)


def _english(sentence: Sentence, negation: Span, other: Sentence) -> Iterator[tuple[SentenceWord, SentenceWord]]:
    behind = [word for word in sentence.words if word.start >= negation[1]][:_AFTER]
    content = [word for word in behind if word.fact < 0 and word.key not in STOP_WORDS["en"]]
    for word in content[:1]:
        yield from ((word, each) for each in other.words if _are_forms(word.key, each.key))


def _are_forms(one: str, other: str) -> bool:
    """Return whether two words begin alike, but for a short ending: contain, contains; not shares, shareholders."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    shorter, longer = sorted((len(one), len(other)))
    ending = LONGEST_ENDING if same >= LONGEST_STEM else SHORT_ENDING
    return 0 < min(LONGEST_STEM, shorter) <= same and longer - same <= ending


def _japanese(sentence: Sentence, negation: Span, other: Sentence) -> Iterator[tuple[SentenceWord, SentenceWord]]:
    before = [word for word in sentence.words if word.end <= negation[0] + 1 and word.key and word.key[0] > "\u309f"]
    if before and negation[0] - before[-1].end <= _REACH:
        word = before[-1]
        yield from (
            (word, each)
            for each in other.words
            if each.key and (each.key.endswith(word.key) or word.key.endswith(each.key))
        )


def _korean(sentence: Sentence, negation: Span, other: Sentence) -> Iterator[tuple[SentenceWord, SentenceWord]]:
    written = sentence.text[slice(*negation)]
    touched = next((word for word in sentence.words if word.start <= negation[0] < word.end), None)
    before = [word for word in sentence.words if word.end <= negation[0]][-1:]
    if written[0] in "지진질":
        if touched is None:
            return
        stem = sentence.text[touched.start : negation[0]] or (before[0].key if before else "")
        stem = stem[:-1] if len(stem) > 1 and stem[-1] in "하되" else stem
        yield from (pair for pair in _begins_with(touched, stem, other) if not _is_noun(pair[1], stem, other))
    elif written[:1] == "못" and len(written) > 1 and written[1] != " ":  # 생각 못했다
        if before:
            yield from _begins_with(before[0], before[0].key, other)
    elif written[0] in "안못":
        behind = next((word for word in sentence.words if word.start > negation[0]), None)
        if behind is not None and behind.key[:1] not in "하되":
            yield from _begins_with(behind, behind.key[:2], other)
    elif before or touched:
        within = touched if touched and touched.start < negation[0] else None  # 불편함없이
        stem = sentence.text[within.start : negation[0]].rstrip("이가은는도") if within else before[0].key
        for word, there in _begins_with(within or before[0], stem, other):
            follows = other.text[there.start + len(stem) : there.end + 2]
            if "없" not in written or _IS_THERE.match(follows):
                yield word, there


def _is_noun(word: SentenceWord, stem: str, sentence: Sentence) -> bool:
    """Return whether a word is the stem with a particle: 만료를, which is no form of 만료되다."""
    return sentence.text[word.start + len(stem) : word.end] in _PARTICLES


def _begins_with(word: SentenceWord, stem: str, other: Sentence) -> Iterator[tuple[SentenceWord, SentenceWord]]:
    """Yield the other's words with the stem; the last syllable may go on: 피하 in 피합니다."""
    letters = unicodedata.normalize("NFD", stem)
    # 열지 못한다, 연다: a final ㄹ goes before ㄴ and ㅂ
    stems = (letters, letters[:-1] + "\u11ab", letters[:-1] + "\u11b8") if letters[-1:] == "\u11af" else (letters,)
    if letters:
        yield from (
            (word, each)
            for each in other.words
            if unicodedata.normalize("NFD", other.text[each.start : each.end]).startswith(stems)
        )


def _is_denied(word: SentenceWord, sentence: Sentence) -> bool:
    """Return whether a denial stands at a word: before it in English, behind it in the others."""
    if sentence.language == "en":
        return any(0 <= word.start - end < 20 for _, end in sentence.negations)
    return any(-2 <= start - word.end <= _REACH for start, _ in sentence.negations)


def _before_modal(sentence: Sentence, start: int) -> int:
    """Return where the verb before a 수 at ``start`` begins, else ``start``: 이용할 수 있다."""
    if sentence.text[start : start + 1] != "수" or sentence.text[start + 1 : start + 2] not in (" ", ""):
        return start
    return max((word.start for word in sentence.words if word.end < start), default=start)


def _end_of_word(sentence: Sentence, end: int) -> int:
    return next((word.end for word in sentence.words if word.start < end <= word.end), end)


def _end_of_phrase(sentence: Sentence, word: SentenceWord) -> int:
    """Return the end of a word with its ending: kana behind a Japanese word, 있다 behind a Korean one."""
    words: Sequence[SentenceWord] = sentence.words
    place = words.index(word)
    if sentence.language != "en" and place + 1 < len(words) and words[place + 1].start - word.end <= 1:
        following = words[place + 1]
        if sentence.language == "ja" and following.key[:1] <= "\u309f":
            return following.end
        if sentence.language == "ko" and following.key.startswith("있"):
            return following.end
    return word.end
