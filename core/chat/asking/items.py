"""The item that ``the second one``, 二つ目 or 두 번째 means: of those that the last question or its answer has."""

from __future__ import annotations

import re
from dataclasses import dataclass

from braid.core.text.normalization import normalize

MAX_ITEM_CHARS = 80
BEFORE_CHARS = 12
"""Characters before a word that are looked at, to tell whether it begins a sentence."""
_NUMBERS = {
    **{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5},
    **{"1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5},
    **{"一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5},
    **{"첫": 1, "두": 2, "세": 3, "네": 4, "다섯": 5},
}
_EN = "first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th"
_THING = "(?:one|item|point|step|option|entry|product|model|method|version)"
_ORDINAL = re.compile(
    rf"\bthe (?P<en>{_EN})(?: {_THING}\b|(?=\s?(?:[?.!,]|$)))"
    r"|\bthe (?P<last>last|latter)(?: (?:one|item|option)\b|(?=\s?(?:[?.!,]|$)))|\bthe (?P<former>former)\b"
    r"|(?P<ja>[一二三四五1-5])(?:つ目|つめ|番目|個目|点目|件目)|(?P<lastja>最後の(?:もの|方|ほう)|後者)|(?P<formerja>前者)"
    r"|(?P<ko>첫|두|세|네|다섯|[1-5])\s?번째(?:\s?(?:것|거|항목))?"
    r"|(?P<lastko>마지막\s?(?:것|거)|후자)|(?P<formerko>전자)(?=[는은의가를,\s?])",
    re.IGNORECASE,
)
_LINE = re.compile(r"^[ \t]{0,8}(?:(?P<number>\d{1,2})[.)]|[-*•・])[ \t]{1,8}(?P<item>\S[^\n]{0,500})", re.MULTILINE)
_MARKUP = re.compile(r"\*\*|__|`|\[\d{1,3}\]")
_CODE = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z0-9][A-Za-z0-9_.+#/-]{0,40}")
_PROPER = re.compile(r"(?<![^\W_])[A-Z][\w'-]{1,40}(?: [A-Z][\w'-]{0,40}){0,3}")
_SENTENCE_START = re.compile(r"(?:^|[.?!:]\s)\W*$")
_FEW_WORDS = r"(?:[\w-]{1,30} ){0,2}"
_PAIR_EN = re.compile(
    rf"\b(?:between|of|for|in|are|is|compare|the|a|an) ({_FEW_WORDS}[\w-]{{1,30}}),? (?:and|or|versus|vs\.?) "
    rf"(?:the |an? )?({_FEW_WORDS}?[\w-]{{1,30}})(?=[?.!,]|$| (?:in|of|for|to|with|is|are|have|has|on|at|by|as)\b)",
    re.IGNORECASE,
)
_ITEM_JA = r"[^\s、。，,はがをにで？?と]{1,20}"
_LIST_JA = re.compile(rf"{_ITEM_JA}(?:[と、]{_ITEM_JA}){{1,5}}")
_WITH_KO = "(?:과|와|하고|이랑|랑|,)"
_LIST_KO = re.compile(rf"[가-힣\w-]{{1,20}}?{_WITH_KO}\s(?:[가-힣\w-]{{1,20}}?{_WITH_KO}\s){{0,4}}[가-힣\w-]{{1,20}}")
_AND_KO = re.compile(rf"{_WITH_KO}\s")
_PARTICLE_KO = re.compile(r"(?<=..)(?:의|은|는|을|를|에서|에|으로|로|이|가|도)$")


@dataclass(frozen=True, slots=True)
class Item:
    """The item that is meant, and the others that it stands beside."""

    text: str
    others: tuple[str, ...] = ()


def item_meant(question: str, asked: str, answered: str) -> Item | None:
    """Return the item that a question means by its number; None where it means none, or there are not so many.

    ``asked`` is the last question, ``answered`` its answer. The items that the question names come first.
    """
    found = _ORDINAL.search(normalize(question))
    if found is None:
        return None
    for items in (named_items(asked), listed_items(answered)):
        at = _place(found, len(items))
        if at is not None and 0 <= at < len(items):
            return Item(items[at], tuple(item for n, item in enumerate(items) if n != at))
    return None


def _place(found: re.Match[str], count: int) -> int | None:
    said = {name: value for name, value in found.groupdict().items() if value}
    if said.keys() & {"last", "lastja", "lastko"}:
        return count - 1 if count > 1 else None
    if said.keys() & {"former", "formerja", "formerko"}:
        return 0 if count > 1 else None
    number = next(value for name, value in said.items() if name in ("en", "ja", "ko"))
    return _NUMBERS[number.lower()] - 1 if count > 1 else None


def named_items(asked: str) -> list[str]:
    """Return what a question names side by side: codes, else names, else what words such as *and*, と and 와 join."""
    text = normalize(asked)
    codes = [code for code in _CODE.findall(text) if any(map(str.isdigit, code)) and any(map(str.isalpha, code))]
    names = [match[0] for match in _PROPER.finditer(text) if not begins_sentence(text, match.start())]
    for found in (codes, names):
        if len(different := list(dict.fromkeys(found))) > 1:
            return different
    if pair := _PAIR_EN.search(text):
        return [pair[1], pair[2]]
    if listed := _LIST_KO.search(text):
        return [_PARTICLE_KO.sub("", part.strip()) for part in _AND_KO.split(listed[0])]
    if listed := _LIST_JA.search(text):
        *first, last = re.split("[と、]", listed[0])
        return [*first, last.split("の")[0] or last]
    return []


def begins_sentence(text: str, start: int) -> bool:
    """Return whether a sentence begins at this place of a text."""
    return _SENTENCE_START.search(text[max(0, start - BEFORE_CHARS) : start]) is not None


def listed_items(answered: str) -> list[str]:
    """Return the lines of an answer's numbered list, else of its bulleted one, without marks and citations."""
    lines = list(_LINE.finditer(answered))
    numbered = [line for line in lines if line["number"]]
    items = (" ".join(_MARKUP.sub("", line["item"]).split()) for line in numbered or lines)
    return [item if len(item) <= MAX_ITEM_CHARS else item[:MAX_ITEM_CHARS].rsplit(" ", 1)[0] for item in items]


def without_ordinal(question: str) -> str:
    """Return a question without the words that mean an item."""
    return _ORDINAL.sub(" ", normalize(question))
