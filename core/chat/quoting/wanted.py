"""What a question wants to hear: a number or a date, and what is itself only a question."""

from __future__ import annotations

import re

_WANTS_NUMBER = re.compile(
    r"\bhow (?:much|many|long|often|old|far|tall|tight|fast|big|large|high|deep|soon)\b|\bwhen\b"
    r"|\b(?:what|which|whose) (?:year|date|day|time|percentage|number|age|amount|price|cost|budget)\b"
    r"|\b(?:cost|price|budget)\b"
    r"|いくら|いつ|何(?![かもがをのとでに]|という|故)|どのくらい|どれくらい|どれだけ"
    r"|얼마|언제|몇|며칠",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|[一二三四五六七八九十百千](?:年|月|日|時|人|個|歳|回|円|つ|本|名|世紀)"
    r"|(?:하나|둘|셋|넷|한|두|세|네|다섯|여섯) ?(?:개|명|번|살|시|달|층)|이틀|사흘|나흘|열흘"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand|million)\b",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_QUESTION = re.compile(r"[?？]\s*$|(?:ですか|ますか|나요|까요|습니까)[。.]?\s*$")


def wants_number(question: str) -> bool:
    """Return whether the question, in English, Japanese or Korean, asks for a number, an amount or a date."""
    return _WANTS_NUMBER.search(question) is not None


def has_number(text: str, question: str) -> bool:
    """Return whether the text has a number that the question has not."""
    known = set(_DIGITS.findall(question))
    return _NUMBER.search(_DIGITS.sub(lambda found: " " if found[0] in known else found[0], text)) is not None


def is_question(text: str) -> bool:
    """Return whether a sentence asks something itself."""
    return _QUESTION.search(text.strip()) is not None
