"""What of a question has been understood: the places of names, values, numbers and dates in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from braid.core.chat.tables.columns import Column, Table
from braid.core.chat.tables.words import stem
from braid.core.text.normalization import fold

MAX_VALUES = 50_000
MAX_VALUE_CHARS = 80
_SHORT_LIST = 5
_SUFFIX = re.compile(r"(?<=..)(?:名称|名|額|日付|日|数|명|이름|일자|일|액|수)$")
_ASCII = re.compile(r"[a-z0-9]")


class QuestionReading:
    """A question, folded, and which of its characters are understood."""

    def __init__(self, question: str) -> None:
        self.text = fold(question)
        self._free = [True] * len(self.text)

    def take(self, start: int, end: int) -> None:
        """Mark characters as understood."""
        self._free[start:end] = [False] * (end - start)

    def is_free(self, start: int, end: int) -> bool:
        """Return whether none of the characters is understood yet."""
        return all(self._free[start:end])

    def find(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the matches that are not understood yet."""
        for match in pattern.finditer(self.text):
            if self.is_free(*match.span()):
                yield match

    @property
    def rest(self) -> str:
        """The question with a space for all that is understood."""
        return "".join(char if free else " " for char, free in zip(self.text, self._free, strict=True))


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column, or values of it, named in a question."""

    column: Column
    start: int
    end: int
    values: tuple[str, ...] = ()
    is_excluded: bool = False
    """Whether the rows with these values are those that are left out."""


def find_names(reading: QuestionReading, table: Table) -> list[NamedColumn]:
    """Find the columns and values of a table in a question, the longest names first, and mark them as understood."""
    found: list[NamedColumn] = []
    phrases = sorted(_phrases(table).items(), key=lambda item: -len(item[0]))
    folded = reading.text
    stems = {stem(word) for word in re.findall(r"[a-z0-9]+", folded)}
    squeezed = folded.replace(" ", "")
    for phrase, (column, values) in phrases:
        if not _may_be_in(phrase, squeezed, stems):
            continue
        for match in reading.find(_pattern(phrase)):
            reading.take(*match.span())
            found.append(NamedColumn(column, *match.span(), values))
    return sorted(found, key=lambda each: each.start)


def _phrases(table: Table) -> dict[str, tuple[Column, tuple[str, ...]]]:
    """Return folded phrase → its column, and its values if it is one; a phrase of two columns is left out."""
    phrases: dict[str, tuple[Column, tuple[str, ...]] | None] = {}

    def add(phrase: str, column: Column, values: tuple[str, ...] = ()) -> None:
        known = phrases.get(phrase, (column, values))
        if known is None or known[0] is not column or bool(known[1]) != bool(values):
            # The name of a column wins over a value that is called the same.
            phrases[phrase] = known if known and not known[1] and values else None
        else:
            phrases[phrase] = (column, tuple(dict.fromkeys((*known[1], *values))))

    for column in table.columns:
        for name in {fold(column.name), fold(column.plain)}:
            add(name, column)
    whole = set(phrases)
    for column in table.columns:
        for part in _parts(fold(column.plain)) - whole:
            add(part, column)
    for position, column in enumerate(table.columns):
        if column.kind == "text":
            values = {str(row[position]) for row in table.rows[:MAX_VALUES] if row[position]}
            for value in values:
                if len(folded := fold(value)) <= MAX_VALUE_CHARS and (len(folded) > 1 or len(values) <= _SHORT_LIST):
                    add(folded, column, (value,))
    return {phrase: known for phrase, known in phrases.items() if known and phrase}


def _parts(name: str) -> set[str]:
    """Return the words of a column's name by which it may be called."""
    parts = {
        word for word in re.findall(r"[a-z]{3,}", name) if word not in ("the", "and", "per", "for", "number", "total")
    }
    for word in [name, *re.findall(r"[^\W\d_a-z]{2,}", name)]:
        if not _ASCII.search(word):
            parts |= {word, _SUFFIX.sub("", word)}
    return {part for part in parts if len(part) > 1}


def _may_be_in(phrase: str, squeezed: str, stems: set[str]) -> bool:
    words = re.findall(r"[a-z0-9]+", phrase)
    if words:
        return all(stem(word) in stems or word in squeezed for word in words)
    return phrase.replace(" ", "") in squeezed


def _pattern(phrase: str) -> re.Pattern[str]:
    """Return a pattern of the phrase: English words in either number, other scripts with or without spaces."""
    parts: list[str] = []
    for piece in re.findall(r"[a-z0-9]+|[^\sa-z0-9]+|\s+", phrase):
        if piece.isspace():
            parts.append(r"\s*")
        elif _ASCII.match(piece):
            root = stem(piece)
            ending = rf"(?:{re.escape(root[:-1])}ies|{re.escape(root)})" if root.endswith("y") else re.escape(root)
            parts.append(ending + r"(?:e?s|ed|ing)?(?:['’]s)?" if piece.isalpha() else re.escape(piece))
        else:
            parts.append(re.escape(piece))
    before = r"(?<![a-z0-9])" if _ASCII.match(phrase) else ""
    after = r"(?![a-z0-9])" if _ASCII.match(phrase[-1]) else ""
    return re.compile(before + "".join(parts) + after)


def in_columns(named: Sequence[NamedColumn], kind: str = "") -> list[Column]:
    """Return the columns that are named by their own name, each once."""
    return list(dict.fromkeys(each.column for each in named if not each.values and kind in ("", each.column.kind)))
