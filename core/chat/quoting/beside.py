"""The sentence behind the best one, where that answers: an exception to it, what it does not allow, or its reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from braid.core.chat.quoting.candidates import Asked
from braid.core.chat.quoting.kinds import REASON
from braid.core.chat.quoting.parts import TextPart
from braid.core.chat.quoting.wanted import Wanted, is_question
from braid.core.text.negation import negations
from braid.core.text.scripts import question_language

LEAST_NEW = 0.15
"""Least share of the question's words, by weight, that an exception or a reason has and the best sentence has not."""
_EXCEPTION = re.compile(
    r"(?:but|however|except|unless)\b|ただし|但し|しかし|다만|단[,은 ]|하지만|그러나", re.IGNORECASE
)
"""The beginning of a sentence that takes something out of the one before it."""
_LEAVES_OUT = re.compile(
    r"\b(?:excluded|excluding|exempt|forbidden|prohibited)\b|禁止|対象外|除(?:く|き|外)|不可|금지|제외|불가",
    re.IGNORECASE,
)
_ASKS_WHETHER = re.compile(
    r"^\W*[a-z]+n['’]t\b|(?:ない|ません)(?:です|でしょう|の)*か\W*$"
    r"|(?:않|없|안 ?[되돼된됩]|못)[가-힣 ]{0,8}[나까가]요\W*$",
    re.IGNORECASE,
)
"""A question that expects a yes: *isn't there*, ありませんか, 없나요."""


def answering(asked: Asked, parts: Sequence[TextPart], at: int, terms: Callable[[str], frozenset[str]]) -> int:
    """Return the place of the best sentence, or of the next one of its paragraph, where that answers rather.

    That is one which gives the reason that is asked for, or has what is asked for as not allowed; or an exception that
    has words of the question. The best one lacks these.
    """
    question, behind = asked.question or asked.text, at + 1
    if behind == len(parts) or parts[behind].paragraph != parts[at].paragraph or is_question(parts[behind].text):
        return at
    best, other = parts[at].text, parts[behind].text
    has_new = asked.share_of(terms(other) - terms(best)) >= LEAST_NEW
    if REASON.question.search(question):
        is_other = not REASON.is_in(best) and (REASON.is_in(other) or has_new)
    elif _denies(question) and not _ASKS_WHETHER.search(question):
        is_other = not _denies(best) and (_denies(other) or _EXCEPTION.match(other) is not None)
    else:
        wanted = Wanted.of(question)
        is_other = has_new and _EXCEPTION.match(other) is not None
        is_other = is_other and (not wanted.number or wanted.kinds_in(other) >= wanted.kinds_in(best))
    return behind if is_other else at


def _denies(text: str) -> bool:
    return _LEAVES_OUT.search(text) is not None or bool(negations(text, question_language(text)))
