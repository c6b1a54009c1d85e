"""Languages of the documents in which a question is not written, and its wordings in these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from braid.core.text.scripts import JAPANESE, LATIN, SCRIPTS, is_written_in, question_script, text_language

MOST_LANGUAGES = 2
"""Languages in which a question is searched for, beside its own."""
LEAST_SHARE = 0.02
"""Least share of the passages that are in a language, for the question to be searched for in it."""
NAMES = {
    "en": "English",
    "ja": "Japanese",
    "ko": "Korean",
    "zh": "Chinese",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "sv": "Swedish",
    "ru": "Russian",
}
"""The languages, as a model is told them."""


def other_languages(question: str, shares: Mapping[str, float]) -> tuple[str, ...]:
    """Return the languages in which the question is to be searched for, too, by their codes, the most frequent first.

    ``shares`` are those of the passages by ISO 639-1 code. Of languages with one script, such as English and German,
    only those count that are surely not the question's, where no document is in the question's own.

    >>> other_languages("How long is the warranty?", {"ja": 0.9, "en": 0.1}), other_languages("보증 기간은?", {"ko": 1})
    (('ja',), ())
    """
    script = question_script(question)
    own = "" if script == JAPANESE else text_language(question)

    def is_other(code: str) -> bool:
        if _script(code) != script:
            return True
        return own not in ("", code) and own not in shares

    frequent = sorted(shares, key=lambda code: (-shares[code], code))
    others = [code for code in frequent if code in NAMES and shares[code] >= LEAST_SHARE and is_other(code)]
    return tuple(others[:MOST_LANGUAGES])


def wordings_in(languages: Sequence[str], lines: Iterable[str]) -> tuple[str, ...]:
    """Return the first line for each language that may be in it by its script, none twice."""
    left, found = list(lines), list[str]()
    for code in languages:
        line = next((each for each in left if may_be_in(code, each)), None)
        if line is not None:
            left.remove(line)
            found.append(line)
    return tuple(found)


def may_be_in(code: str, line: str) -> bool:
    """Return whether a text may be in a language, by its script."""
    script = _script(code)
    return question_script(line) == LATIN if script == LATIN else is_written_in(script, line)


def _script(code: str) -> str:
    return SCRIPTS.get(code, LATIN)
