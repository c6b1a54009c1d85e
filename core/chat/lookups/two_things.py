"""Two named things in a question, such as "A or B", "AとB" or "A와 B", each of which is worth a search."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from braid.core.text.scripts import HAN, HANGUL, KANA
from braid.core.text.stopwords import STOP_WORDS

READ_WORDS = 200
"""Words of a question that are read."""
MOST_WORDS = 3
"""Most words of a thing without capitals or digits in its name."""
_WORD = re.compile(r"[^\s,;:()?!？！、。「」\"“”]+")
_BETWEEN = frozenset({"and", "or", "versus", "vs", "vs.", "및", "또는", "혹은", "아니면"})
_WITH_ENDING = re.compile(rf"([0-9A-Za-z{HANGUL}][-0-9A-Za-z{HANGUL}]{{1,40}}?)(?:이랑|하고|와|과|랑|이나)")
_IS_NAME = re.compile(r"[A-Z0-9]|[a-z]{1,20}-?[0-9]")
_HAS_DIGIT = re.compile(r"[0-9]")
_PART = f"[{HAN}々ァ-ヺーA-Za-z0-9０-９Ａ-Ｚａ-ｚ・-]"
_JAPANESE = re.compile(
    rf"(?<!{_PART})({_PART}{{2,40}})(?:と|や|か|または|又は|及び|および|それとも|と、|、)({_PART}{{2,40}})"
    rf"(?=(?:との?|で)?(?:の|は|を|が|で|に|、|も)|\s*$)"
)
_COMPARES = re.compile(
    r"\b(?:compare|comparison|differ\w{0,9}|versus|vs|which|between|both|same|more|less|better|worse"
    r"|longer|shorter|larger|smaller|bigger|higher|lower|older|newer|faster|slower|cheaper|dearer|heavier|lighter)\b"
    r"|비교|차이|어느|다른|더 ",
    re.IGNORECASE,
)
_HAS_KANA = re.compile(f"[{KANA}{HAN}]")
_HAS_HANGUL = re.compile(f"[{HANGUL}]")
_PARTICLE = re.compile(rf"(?:(?<=[{HANGUL}]{{2}})|(?<=[0-9A-Za-z]))[의은는을를이가에도]$")


class Things(NamedTuple):
    """Two things that a question names, and the question for each of them alone."""

    names: tuple[str, str]
    questions: tuple[str, str]


class _Word(NamedTuple):
    text: str
    start: int
    end: int


def named_things(question: str) -> Things | None:
    """Return the two things that a question names side by side; None where it does not.

    >>> named_things("What are the budgets of Heron and Tundra?").questions
    ('What are the budgets of Heron?', 'What are the budgets of Tundra?')
    >>> named_things("高松と佐賀の受付は何時に開きますか").names
    ('高松', '佐賀')
    >>> named_things("물총새와 동토의 예산을 비교해 주세요").names
    ('물총새', '동토')
    """
    if found := _JAPANESE.search(question) if _HAS_KANA.search(question) else None:
        return _things(question, found.span(1), found.span(2))
    words = [_Word(found[0], *found.span()) for found in islice(_WORD.finditer(question), READ_WORDS)]
    for at, word in enumerate(words[:-1]):
        if at and word.text.lower() in _BETWEEN:
            before, after = _before(words[:at], question), _after(words[at + 1 :], question)
        elif ending := _WITH_ENDING.fullmatch(word.text):
            ended = _Word(ending[1], word.start, word.start + len(ending[1]))
            before, after = _before([*words[:at], ended], question), _after(words[at + 1 :], question)
        else:
            continue
        if before and after:
            return _things(question, before, after)
    return None


def _things(question: str, first: tuple[int, int], second: tuple[int, int]) -> Things:
    names = question[slice(*first)], question[slice(*second)]
    before, after = question[: first[0]], question[second[1] :]
    return Things(names, (f"{before}{names[0]}{after}", f"{before}{names[1]}{after}"))


def _before(words: list[_Word], question: str) -> tuple[int, int] | None:
    """Return the place of the name that ends with the last word."""
    first = len(words) - 1
    while first and len(words) - first < MOST_WORDS and _are_one(words[first - 1], words[first], question):
        first -= 1
    return _place(words[first:], question)


def _after(words: list[_Word], question: str) -> tuple[int, int] | None:
    """Return the place of the name that begins with the first word that is no article."""
    first = next((at for at, word in enumerate(words) if word.text.lower() not in ("the", "a", "an")), None)
    if first is None:
        return None
    end = first + 1
    while end < len(words) and end - first < MOST_WORDS and _are_one(words[end - 1], words[end], question):
        end += 1
    return _place(words[first:end], question)


def _are_one(word: _Word, following: _Word, question: str) -> bool:
    """Return whether two neighbouring words are of one name: "Leila Haddad", "press PR-60", "unpaid leave"."""
    if question[word.end : following.start].strip() or _is_function_word(word) or _is_function_word(following):
        return False
    if word.start == 0 and _COMPARES.match(word.text):
        return False
    if _HAS_DIGIT.search(following.text):
        return True
    if _IS_NAME.match(word.text) or _IS_NAME.match(following.text):
        return bool(_IS_NAME.match(word.text) and _IS_NAME.match(following.text))
    return not (_HAS_HANGUL.search(word.text) or _HAS_HANGUL.search(following.text))


def _is_function_word(word: _Word) -> bool:
    return word.text.lower() in STOP_WORDS["en"]


def _place(words: list[_Word], question: str) -> tuple[int, int] | None:
    """Return where a name is; None for a word that names nothing, and for plain words where nothing is compared."""
    if _is_function_word(words[0]):
        return None
    is_name = any(_IS_NAME.match(word.text) or _HAS_HANGUL.search(word.text) for word in words)
    end = words[-1].start + len(_PARTICLE.sub("", words[-1].text.rstrip(".")))
    return (words[0].start, end) if is_name or _COMPARES.search(question) else None
