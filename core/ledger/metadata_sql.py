"""Filters on metadata as conditions of SQL, over the ledger's table of metadata.

The text of a condition depends on the filter's shape alone, never on its keys and values, so that the database prepares
one statement for all filters of a shape.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from braid.core.ledger.prepared import Value
from braid.core.metadata.values import Kind
from braid.core.metadata.where import DOCUMENT_FACTS, FACTS, All, Condition, Not, Test, Where

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
_COLUMNS: Mapping[str, str] = {
    **{key: f"t.{key}" for key in ("file_type", "source", "title", "date", "dataset_id")},
    "document_id": "t.id",
    "user_id": "(SELECT d.user_id FROM datasets d WHERE d.id = t.dataset_id)",
    "collection": "(SELECT d.collection FROM datasets d WHERE d.id = t.dataset_id)",
    **{key: f"c.{key}" for key in ("page", "page_end", "line", "line_end", "position", "confidence")},
    **{key: f"NULLIF(c.{key}, '')" for key in ("heading_path", "chunk_kind")},
    "id": "c.id",
    "chunk_id": "c.id",
}
"""Where Braid's own facts are, of the document ``t`` and the passage ``c``."""


def condition(where: Where | None, way: Way, *, of_passages: bool) -> tuple[str, dict[str, Value]]:
    """Return the condition on the document ``t``, with its parameters; always true without a filter.

    With ``of_passages`` it is on the passage ``c``, too; else a document has none of the facts of a passage.
    """
    if where is None:
        return "1 = 1", {}
    writing = _Writing(way, FACTS if of_passages else DOCUMENT_FACTS)
    return writing.text(where), writing.parameters


class _Writing:
    """Writes one filter, and collects its parameters."""

    def __init__(self, way: Way, facts: Mapping[str, Kind]) -> None:
        self._way, self._facts = way, facts
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
        kind = self._facts.get(where.key)
        if kind is None or (test and kind != where.kind):
            return found
        column = _COLUMNS[where.key]
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
