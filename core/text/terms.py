"""Terms: short and long forms of the same name, and how a query is looked up among them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from braid.core.text.abbreviations import MAX_LONG_CHARS, MAX_SHORT_CHARS, abbreviations_in
from braid.core.text.normalization import fold

MAX_OF_DOCUMENT = 100
"""Abbreviations of one document that are kept, the first ones."""
MAX_QUERY_CHARS = 500
"""Beginning of a query in which terms are looked for."""
MAX_MEANINGS = 3
"""A form with more other forms than these is too ambiguous to be searched by them."""
MAX_ADDED = 8
"""Most forms that are added to one query."""
_VOWEL = re.compile("[aeiouy]", re.IGNORECASE)
_HEAD = re.compile(r"[a-z0-9]+|..?", re.DOTALL)
_BEGINNING = re.compile(r"(?<![A-Za-z0-9])(?=\S)|(?=[^\sA-Za-z0-9])")
"""A place where `is_edge` says that a name may begin, before what is no white space."""


@dataclass(frozen=True, slots=True)
class Term:
    """Two forms of the same name.

    >>> Term("SLA", "Service Level Agreement").row["short_head"]
    'sla'
    """

    short: str
    long: str
    of_glossary: bool = field(default=False, compare=False)
    """Whether an editor has written it: such a short form is also meant in small letters."""

    @property
    def row(self) -> dict[str, str]:
        """The term as it is stored."""
        heads = {"short_head": head_of(fold(self.short)), "long_head": head_of(fold(self.long))}
        return {"short": self.short, "long": self.long, **heads}


def head_of(folded: str, at: int = 0) -> str:
    """Return the word in Latin letters that begins at a place of a folded text, or two characters of another text."""
    found = _HEAD.match(folded, at)
    return found[0] if found else ""


def terms_of(texts: Iterable[str]) -> list[Term]:
    """Return the abbreviations that the passages of a document introduce, each once."""
    found: dict[tuple[str, str], Term] = {}
    for text in texts:
        for short, long in abbreviations_in(text):
            if len(short) <= MAX_SHORT_CHARS and len(long) <= MAX_LONG_CHARS:
                found.setdefault((fold(short), fold(long)), Term(short, " ".join(long.split())))
                if len(found) == MAX_OF_DOCUMENT:
                    return list(found.values())
    return list(found.values())


def heads_in(query: str) -> list[str]:
    """Return the heads of all terms that a query may have."""
    text = fold(query[:MAX_QUERY_CHARS])
    return list(dict.fromkeys(head_of(text, found.start()) for found in _BEGINNING.finditer(text)))


def other_forms(query: str, terms: Iterable[Term]) -> list[tuple[str, str]]:
    """Return the terms that a query has as (form that it says, other form), but for those that it has in both."""
    text = fold(query[:MAX_QUERY_CHARS])
    written = unicodedata.normalize("NFKC", query[:MAX_QUERY_CHARS])
    meanings: dict[str, dict[str, tuple[str, str]]] = {}
    for term in terms:
        for said, other in ((term.short, term.long), (term.long, term.short)):
            if said == term.short and not term.of_glossary and not _may_be_small(said) and not _has(written, said):
                continue  # *OF* is not *of*
            if _has(text, fold(said)) and not _has(text, fold(other)):
                meanings.setdefault(fold(said), {})[fold(other)] = (said, other)
    longest = [each for each in meanings if not any(each != other and each in other for other in meanings)]
    found = [added for each in longest if len(meanings[each]) <= MAX_MEANINGS for added in meanings[each].values()]
    return found[:MAX_ADDED]


def _may_be_small(short: str) -> bool:
    """Return whether a short form of a document is one in small letters, too: it has none, or could be no word."""
    return not short.isascii() or not (_VOWEL.search(short) and short.isalpha())


def is_edge(text: str, at: int) -> bool:
    """Return whether a name may begin or end here: anywhere but between two Latin letters or digits."""
    around = text[max(0, at - 1) : at + 1]
    return at in (0, len(text)) or not (around.isascii() and around.isalnum())


def places_of(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Yield where a name stands in a text, not within a word of Latin letters: start and end."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if is_edge(text, start) and is_edge(text, end):
            yield start, end
            start = text.find(name, end)
        else:
            start = text.find(name, start + 1)


def _has(text: str, form: str) -> bool:
    return next(places_of(text, form), None) is not None
