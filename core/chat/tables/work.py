"""What the process does for one question: tables of documents, asked by the grammar or by a statement it is given.

Everything in and out is JSON. Only the standard library is imported here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from braid.core.chat.tables.columns import Column, Table, typed
from braid.core.chat.tables.database import QueryError, StatementResult, TableDatabase, quoted
from braid.core.chat.tables.grammar import NotUnderstoodError, Plan, plan
from braid.core.chat.tables.rebuild import TablePassage, tables_of
from braid.core.chat.tables.words import stem
from braid.core.text.normalization import fold

MAX_TABLES = 40
MAX_TIED = 4
SHOWN_ROWS = 30
MAX_PLACES = 3
SAMPLE_ROWS = 3
MAX_LISTED = 12
"""Most different texts of a column that a model is told."""
MAX_CELL_CHARS = 80
_MORE_PLACES = 2
"""Decimals that an average has beyond those of its column."""

Json = dict[str, Any]


class LookupOnly(Exception):
    """Nothing is to be calculated: the question is for one cell."""


class TableWork:
    """The tables of a question's documents, and the ways to ask them."""

    def __init__(self, documents: Sequence[Mapping[str, Any]]) -> None:
        self._tables = _tables(documents)
        self._database = TableDatabase(self._tables)
        self._by_name = {table.name: table for table in self._tables}
        self.not_understood: str | None = None
        """What of a question that asks for a number of a table is not understood; None where none does."""
        self.empty = ""
        """The table of which no row fits a question that is understood."""

    def by_grammar(self, question: str) -> Json | None:
        """Answer a plain question; None unless one table alone, or all that fit best in the same way, can answer it.

        Raises LookupOnly for a question for one cell, which is quoted as it is written.
        """
        plans, self.not_understood = [], None
        for table in self._tables:
            try:
                plans.append(plan(question, table))
            except NotUnderstoodError as error:
                if error.is_about and self.not_understood is None:
                    self.not_understood = error.said
        nearness = {id(each): _nearness(question, each.table) for each in plans}
        best = [each for each in plans if nearness[id(each)] == max(nearness.values())]
        if len(best) > MAX_TIED:
            self.not_understood = ""
        if not 0 < len(best) <= MAX_TIED:
            return None
        try:
            answers = [(each, self._database.ask(each.sql)) for each in best]
        except QueryError:
            return None
        if any(_written(*pair) != _written(*answers[0]) for pair in answers[1:]):
            self.not_understood = ""
            return None
        chosen, answer = answers[0]
        if not answer.rows or all(value is None for value in answer.rows[0][-1:]):
            self.empty = chosen.table.name
            return None
        form = self._form(chosen.table, answer, chosen)
        if chosen.is_lookup and form["used"]["count"] == 1:
            raise LookupOnly
        return form

    def by_statement(self, sql: str, where: str) -> Json:
        """Answer by a SELECT; ``where`` is the condition of the rows that it uses. Raises QueryError."""
        answer = self._database.ask(sql)
        tables = [self._by_name[name] for name in answer.tables]
        if not tables or not answer.rows:
            raise QueryError("the statement read no table, or found nothing")
        table = tables[0]
        made = Plan(table, "count", " ".join(sql.split()).rstrip("; "), where if len(tables) == 1 else "")
        try:
            return self._form(table, answer, made, by_model=True)
        except QueryError:
            return self._form(table, answer, Plan(table, "count", made.sql, ""), by_model=True)

    def schema(self) -> str:
        """Describe the tables for a model: columns with their kinds, some rows, and texts of which there are few."""
        return "\n\n".join(_described(table) for table in self._tables[:MAX_TIED])

    def _form(self, table: Table, answer: StatementResult, made: Plan, *, by_model: bool = False) -> Json:
        condition = f" WHERE ({made.where})" if made.where else ""
        used = self._database.ask(f"SELECT rowid FROM {quoted(table.name)}{condition}", max_rows=len(table.rows))
        numbers = [int(row[0] or 0) - 1 for row in used.rows]
        places = list(dict.fromkeys(table.places[number] for number in numbers))
        columns = [_label(table, made, answer, position) for position in range(len(answer.columns))]
        rows = _written_by_model(table, answer) if by_model else _written(made, answer)
        return {
            "operation": "" if by_model else made.operation,
            "measure": made.measure.name if made.measure and not by_model else "",
            "table": table.name,
            "document": table.document,
            "sql": made.sql,
            "columns": columns,
            "rows": [list(row) for row in rows],
            "is_whole": answer.is_whole,
            "used": {
                "count": len(numbers),
                "columns": [column.name for column in table.columns],
                "rows": [[cell[:MAX_CELL_CHARS] for cell in table.cells[number]] for number in numbers[:SHOWN_ROWS]],
            },
            "places": (places or list(dict.fromkeys(table.places)))[:MAX_PLACES],
            "totals": list(table.totals),
            "period": list(made.period),
        }


def _tables(documents: Sequence[Mapping[str, Any]]) -> list[Table]:
    found: list[Table] = []
    for number, document in enumerate(documents):
        pieces = [TablePassage(*piece) for piece in document["pieces"]]
        for raw in tables_of(pieces, document["file_type"])[:MAX_TABLES]:
            name = " ".join((raw.title or document["title"]).replace('"', "'").split())[:40] or "table"
            name = f"table {name}" if name.casefold().startswith("sqlite_") else name
            known = {table.name.casefold() for table in found}
            free = next(
                f"{name}{end}"
                for end in ("", *(f" {n}" for n in range(2, 200)))
                if f"{name}{end}".casefold() not in known
            )
            table = typed(raw, free, document=number, title=document["title"])
            if table is not None:
                found.append(table)
    return found[:MAX_TABLES]


def _nearness(question: str, table: Table) -> int:
    """Return how many words of the question stand in the title or the headings of a table."""
    asked, known = fold(question), fold(table.context)
    words = {stem(word) for word in known.split() if word.isascii()}
    common = sum(stem(word) in words for word in set(asked.replace("?", " ").split()) if word.isascii())
    return common + sum(
        not known[at : at + 2].isascii() and known[at : at + 2] in asked for at in range(len(known) - 1)
    )


def _written(made: Plan, answer: StatementResult) -> list[tuple[str, ...]]:
    """Write the values of a plan's answer as the table writes them."""
    last = len(answer.columns) - 1
    return [
        tuple(_value(value, made.measure if at == last else None, made.operation) for at, value in enumerate(row))
        for row in answer.rows
    ]


def _written_by_model(table: Table, answer: StatementResult) -> list[tuple[str, ...]]:
    columns = [_column_of(table, name) for name in answer.columns]
    return [
        tuple(_value(value, column, "average") for value, column in zip(row, columns, strict=True))
        for row in answer.rows
    ]


def _column_of(table: Table, expression: str) -> Column | None:
    """Return the column of numbers whose unit the values of an expression have: ``SUM("Budget")``, not a count."""
    plain = expression.replace('"', "").casefold()
    if plain.startswith("count"):
        return None
    named = [column for column in table.columns if column.name.casefold() in plain]
    same = len({(column.kind, column.style.prefix, column.style.unit, column.unit) for column in named}) == 1
    return named[0] if same and named[0].kind == "number" and not set("/*") & set(plain) else None


def _value(value: float | str | None, column: Column | None, operation: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value[: MAX_CELL_CHARS * 2]
    if column is not None:
        is_cell = operation in ("highest", "lowest")  # as it is written: perhaps a year, or the number of a part
        return column.write(value, more_places=_MORE_PLACES if operation == "average" else 0, grouped=not is_cell)
    if operation == "count":
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}".rstrip("0").rstrip(".")


def _label(table: Table, made: Plan, answer: StatementResult, position: int) -> str:
    if position == len(answer.columns) - 1 and made.measure is not None:
        return made.measure.name
    if made.group is not None and position == 0:
        return made.group.name
    return answer.columns[position].replace('"', "")


def _described(table: Table) -> str:
    lines = [f"Table {quoted(table.name)}, {len(table.rows)} rows:"]
    for position, column in enumerate(table.columns):
        values = list(dict.fromkeys(str(row[position]) for row in table.rows if row[position] is not None))
        kind = {"number": "number", "date": "text, an ISO date", "text": "text"}[column.kind]
        few = len(values) <= MAX_LISTED and column.kind == "text"
        shown = ", ".join(value[:MAX_CELL_CHARS] for value in values[: MAX_LISTED if few else SAMPLE_ROWS])
        unit = f"{column.style.prefix}{column.style.unit}{column.unit}".strip()
        lines.append(f"- {quoted(column.name)} ({kind}{f' in {unit}' if unit else ''}): {shown}{'' if few else ', …'}")
    return "\n".join(lines)
