"""Names in a sentence: people, places, products, codes, in three scripts, without a list of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from braid.core.text.analyzer import Analyzer
from braid.core.text.dates import MONTH_NAME
from braid.core.text.scripts import (
    HAN,
    HANGUL,
    LATIN,
    SEEN_CHARS,
    may_be_same_language,
    question_script,
    text_language,
)
from braid.core.text.stopwords import FORM_OF_VERB, STOP_WORDS

LEAST_PASSAGES = 2
"""Passages that have a name which leads on: the one it is in, and another."""
MOST_NAMES = 3
CAPITALISES = "de"
"""The language whose common nouns have capitals: in it, a name has several words."""
_CAPITAL = "A-ZÀ-ÖØ-ÞĀ-Ž"
_NAME = re.compile(
    rf"\b(?:[{_CAPITAL}][\w'’-]{{0,40}}|[A-Za-z]{{1,10}}-?\d[\w-]{{0,20}})"
    rf"(?: (?:(?:de|del|der|den|di|da|van|von|of|la|le) ){{0,2}}[{_CAPITAL}][\w'’-]{{0,40}}){{0,4}}"
)
_PART = f"[{HAN}々ァ-ヺーA-Za-z0-9-]"
_WORD = re.compile(rf"(?<!{_PART})(?=[A-Za-z0-9-]{{0,20}}[{HAN}々ァ-ヺー]){_PART}{{2,40}}|(?<!\w)[{HANGUL}]{{2,20}}")

_COMMON = re.compile(
    r"場合|必要|可能性?|利用可能|最[初後]|以[下上前降]|現在|今後|一部|全体|同[様時]|詳細|方法|内容|自分|何度"
    r"|함께|달리|여러(?:가지)?|가지|때로는|자주|모[두든]|다른|위해|대[한해]|[통인]해|따라|경우|때문에|그리고|그러나|하지만|또[는한]"
    r"|이[후전]|다음|매우|가장|같은|이런|그런|어떤|목적으로|처음|원래|아직|이미|항상|거의|바로|다시|특히|물론|결국|우선|주로|보통"
    r"|대부분|계속|서로|먼저|나중에|조금|약간|아주|너무|훨씬|더욱|오히려|만약|실제로?|여기서?|거기서?|각각의?|많[은아이]"
    r"|(?:다양|중요|필요|간단|가능|특정|새로|비슷|적절)[한운]|[가-힣]{1,3}적(?:으로|인)"
)
"""Words that are in every text and name nothing."""
_MONTH = re.compile(MONTH_NAME, re.IGNORECASE)
_DATE = re.compile(r"(?:\d{1,4}[年月日時分년월일시분]間?半?){1,5}")
MOST_FOREIGN = 2
"""Words of another script in a passage up to which they are names in it."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is written, and its terms."""

    text: str
    terms: frozenset[str]

    def rarity(self, passages: Mapping[str, float]) -> float:
        """Return in how many passages at most it is; 0 for one that is in none but this."""
        least = min((passages.get(term, 0.0) for term in self.terms), default=0.0)
        return least if least >= LEAST_PASSAGES else 0.0


def possible_names(sentence: str, analyzer: Analyzer) -> list[Name]:
    """Return what may be a name in a sentence, in its order: words with capitals, and those of Han, kana or Hangul.

    >>> [name.text for name in possible_names("The trials are led by Mateo Rivas in Porto.", Analyzer())]
    ['Mateo Rivas', 'Porto']
    """
    found: dict[frozenset[str], Name] = {}
    for text in (*_capitalised(sentence), *(match[0] for match in _WORD.finditer(sentence))):
        terms = frozenset(analyzer.tokens(text))
        if (
            terms
            and len(text) > 1
            and not _COMMON.fullmatch(text)
            and not _is_date(text, sentence)
            and not FORM_OF_VERB.search(text)
        ):
            found.setdefault(terms, Name(text, terms))
    return list(found.values())


def _is_date(text: str, sentence: str) -> bool:
    """Return whether a word is a date or a time, or a month beside a number: *May 2024*.

    >>> _is_date("May", "Valid from May 2024."), _is_date("May", "Ask May for it."), _is_date("9時", "9時から")
    (True, False, True)
    """
    is_month = _MONTH.fullmatch(text) and re.search(rf"\d(?:st|nd|rd|th)? {text}\b|\b{text} \d", sentence)
    return bool(is_month) or _DATE.fullmatch(text) is not None


def leads_on(name: str, question: str, text: str) -> bool:
    """Return whether a name in a passage may lead from the question to another passage: in a passage that may be in the
    question's language, any; in others, what has capitals or digits in Latin letters, and so is no common word.
    """
    text = text[:SEEN_CHARS]
    script = question_script(name)
    if script != LATIN:
        is_asked = question_script(question) == script and may_be_same_language(question, text)
        foreign = {word for word in _WORD.findall(text) if question_script(word) == script}
        return is_asked or (question_script(question) != script and len(foreign) <= MOST_FOREIGN)
    if text_language(text) != CAPITALISES or may_be_same_language(question, text):
        return True
    return " " in name or any(map(str.isdigit, name))


def _capitalised(sentence: str) -> Iterator[str]:
    """Yield words with capitals and codes; the first word of the sentence only as a part of a longer name."""
    begin = len(sentence) - len(sentence.lstrip(" \t\n-*•#\"'“("))
    for match in _NAME.finditer(sentence):
        words = match[0].split(" ")
        while words and words[0].lower() in STOP_WORDS["en"]:
            words = words[1:]
        if not words or (match.start() == begin and len(words) == 1 and not any(map(str.isdigit, words[0]))):
            continue
        yield " ".join(words)
