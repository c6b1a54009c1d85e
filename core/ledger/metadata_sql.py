"""Filters on metadata as conditions of SQL, over the ledger's table of metadata.

The text of a condition depends on the filter's shape alone, never on its keys and values, so that the database prepares
one statement for all filters of a shape.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from braid.core.ledger.prepared import Value
from braid.core.metadata.where import All, Condition, Not, Test, Where

Way = Literal["all", "each"]
"""How documents are found: ``all`` that match, by the index of values, or ``each`` of a few, by its id."""

_FROM: Mapping[Way, str] = {
    "all": "t.id IN (SELECT m.document_id FROM document_metadata m WHERE m.dataset_id IN :datasets AND {row})",
    "each": "EXISTS (SELECT 1 FROM document_metadata m WHERE m.document_id = t.id AND {row})",
}
_TESTS: Mapping[Test, str] = {
    "between": "{value} >= :low{n} AND {value} <= :high{n}",
    "equal": "{value} = :value{n}",
    "greater": "{value} > :value{n}",
    "at_least": "{value} >= :value{n}",
    "less": "{value} < :value{n}",
    "at_most": "{value} <= :value{n}",
    "part": "instr({value}, :value{n}) > 0",
    "one_of": "{value} IN :value{n}",
}
OWN_FACTS: Mapping[str, tuple[str, str]] = {
    "file_type": ("text", "t.file_type"),
    "source": ("text", "t.source"),
    "title": ("text", "t.title"),
    "date": ("date", "t.date"),
    "dataset_id": ("number", "t.dataset_id"),
    "user_id": ("number", "(SELECT d.user_id FROM datasets d WHERE d.id = t.dataset_id)"),
    "collection": ("text", "(SELECT d.collection FROM datasets d WHERE d.id = t.dataset_id)"),
}
"""What a filter finds under these keys where the host has stored no value of its own: kind and column."""


PASSAGE_FACTS = frozenset({"id", "chunk_id", "page", "page_end", "line", "line_end", "heading_path", "chunk_kind"})
"""What Braid shows of a passage and a document has not: no filter, unless documents have such keys of their own."""


def condition(where: Where | None, way: Way) -> tuple[str, dict[str, Value]]:
    """Return the condition on the document ``t``, with its parameters; always true without a filter."""
    if where is None:
        return "1 = 1", {}
    writing = _Writing(way)
    return writing.text(where), writing.parameters


class _Writing:
    """Writes one filter, and collects its parameters."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._keys: dict[str, str] = {}
        self.parameters: dict[str, Value] = {}

    def text(self, where: Where) -> str:
        if isinstance(where, Condition):
            return self._condition(where)
        if isinstance(where, Not):
            return f"NOT {self.text(where.part)}"
        parts: Collection[str] = [self.text(part) for part in where.parts]
        return f"({(' AND ' if isinstance(where, All) else ' OR ').join(parts)})"

    def _condition(self, where: Condition) -> str:
        key, has_key = self._key(where.key), _FROM["each"]
        row = f"m.key = :{key}"
        test = self._test(where)
        if test:
            is_text = where.kind in ("text", "item")
            row = f"{row} AND m.kind = '{where.kind}'"
            row += " AND m.number IS NULL" if is_text else ""  # in the index, the number is before the text
            row += f" AND {test.format(value='m.text' if is_text else 'm.number')}"
        found = _FROM[self._way].format(row=row)
        kind, column = OWN_FACTS.get(where.key, ("", ""))
        if not kind or (test and kind != where.kind):
            return found
        own = f"{column} IS NOT NULL" + (f" AND {test.format(value=column)}" if test else "")
        return f"({found} OR ({own} AND NOT {has_key.format(row=f'm.key = :{key}')}))"

    def _key(self, key: str) -> str:
        name = self._keys.setdefault(key, f"key{len(self._keys)}")
        self.parameters[name] = key
        return name

    def _test(self, where: Condition) -> str:
        """Return the test of ``{value}``; empty where any value will do."""
        if where.test == "any":
            return ""
        number = len(self.parameters)
        if where.test == "between":
            low, high = where.values
            self.parameters |= {f"low{number}": low, f"high{number}": high}
        else:
            self.parameters[f"value{number}"] = where.values if where.test == "one_of" else where.values[0]
        return _TESTS[where.test].format(value="{value}", n=number)
