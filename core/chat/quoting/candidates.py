"""What may be quoted: the sentences and table rows of passages, with the terms that they are found by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from braid.core.admission import give_way
from braid.core.chat.citations import Citation
from braid.core.chat.quoting.parts import Part, begins_within, parts_of
from braid.core.chat.quoting.tables import Row, split_tables
from braid.core.chat.quoting.wanted import Wanted, is_question
from braid.core.chat.texts import Language
from braid.core.lru import lazy
from braid.core.text.analyzer import Analyzer

NO_TERMS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Asked:
    """A question with its terms, weighed by idf, and the language of the answer."""

    text: str
    weights: Mapping[str, float]
    language: Language

    @lazy
    def wanted(self) -> Wanted:
        """What it wants to hear."""
        return Wanted.of(self.text)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, or cells of a table row, with the terms that it is found by."""

    number: int
    """That of its citation."""
    text: str
    terms: frozenset[str]
    heading: frozenset[str]
    """The terms of the title, and of the headings above it."""
    around: frozenset[str] = NO_TERMS
    """The terms of the sentences before and after it."""
    value: str = ""
    """The quoted cells of a row; empty for a sentence."""
    name: frozenset[str] = NO_TERMS
    """The terms of a row's first cell."""
    is_whole: bool = True
    """Whether it is no piece of a sentence that is cut off."""


def headings_of(citation: Citation) -> tuple[str, ...]:
    """Return the title of a cited passage, and the headings above it."""
    return (citation.passage.title, *citation.passage.heading_path.split(" > "))


@dataclass(frozen=True, slots=True)
class Reader:
    """Makes the candidates of passages."""

    asked: Asked
    analyzer: Analyzer

    def candidates(self, citations: Sequence[Citation]) -> list[Candidate]:
        """Return the sentences and table rows of the passages, each text of a passage once."""
        found: dict[tuple[int, str], Candidate] = {}
        for citation in citations:
            give_way()
            heading = self.terms(f"{citation.passage.title} {citation.passage.heading_path}")
            prose, rows = split_tables(citation.text)
            for each in self._of_prose(citation, parts_of(prose, headings_of(citation)), heading):
                found.setdefault((each.number, each.text), each)
            for row in rows:
                each = self._of_row(citation.number, row, heading)
                found.setdefault((each.number, each.text), each)
        return list(found.values())

    def terms(self, text: str) -> frozenset[str]:
        """Return the terms of a text."""
        return frozenset(self.analyzer.tokens(text)) if text.strip() else NO_TERMS

    def _of_prose(self, citation: Citation, parts: Sequence[Part], heading: frozenset[str]) -> Iterator[Candidate]:
        own = [self.terms(part.text) if part.kind in ("sentence", "item") else NO_TERMS for part in parts]
        local = NO_TERMS
        for at, part in enumerate(parts):
            if part.kind == "heading" or is_question(part.text):
                local = self.terms(part.text)
            elif part.kind != "furniture":
                around = (own[at - 1] if at else NO_TERMS) | (own[at + 1] if at + 1 < len(own) else NO_TERMS)
                is_cut = (at == 0 and begins_within(part.text)) or (at == len(parts) - 1 and not part.is_whole)
                yield Candidate(citation.number, part.text, own[at], heading | local, around, is_whole=not is_cut)

    def _of_row(self, number: int, row: Row, heading: frozenset[str]) -> Candidate:
        """Return the cells of the columns that the question names, or the whole row."""
        own, name = self.terms(" ".join(row.cells)), self.terms(row.cells[0])
        scores = {
            position: self._said(column) + sum(self.asked.weights.get(term, 0.0) for term in self.terms(column) - name)
            for position, column in enumerate(row.columns[: len(row.cells)])
            if position
        }
        best = max(scores.values(), default=0.0)
        named = (
            [position for position, score in scores.items() if score == best and row.cells[position]] if best else []
        )
        positions = named or range(1, len(row.cells))
        columns = self.terms(" ".join(row.columns[position] for position in named))
        value = " ".join(row.cells[position] for position in positions)
        return Candidate(number, row.quote(positions), own | columns, heading, NO_TERMS, value or row.text, name)

    def _said(self, column: str) -> float:
        """Return the number of letters of a column's name that the question has, of a script without spaces."""
        return len(column) if column and not column.isascii() and column in self.asked.text else 0.0
