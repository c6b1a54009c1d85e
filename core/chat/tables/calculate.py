"""Answers calculated from the tables that a search found: the value, the rows it comes from, and the SQL."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from braid.core.chat.citations import Citation
from braid.core.chat.marks import literal, mark
from braid.core.chat.quoting.tables import is_row
from braid.core.chat.tables.amounts import amount
from braid.core.chat.tables.process import table_process
from braid.core.chat.tables.rebuild import MAX_ROWS, TABLE_TYPES
from braid.core.chat.tables.words import asks_to_count, names_operation
from braid.core.chat.texts import Language, say
from braid.core.errors import ModelError
from braid.core.models.chat import ChatModel
from braid.core.models.prompts import Prompt
from braid.core.models.untrusted_text import as_data
from braid.core.types import Passage, SearchResult

MAX_DOCUMENTS = 3
"""Documents whose tables are asked: those of the best hits."""
MAX_PASSAGES = 8_000
MAX_CHARS = 8_000_000
"""A document with more is not calculated with: its answer is quoted, as any other."""
MODEL_TIMEOUT_S = 30.0
_FENCE = re.compile(r"```(?:json)?[^\S\n]*+\n(.*)```", re.DOTALL)
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!])")

ReadDocument = Callable[[int, int], Sequence[Passage]]
"""Document id and limit → its first passages, as far as the user's scope allows."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UsedRows:
    """The rows that a value was calculated from: how many, and the first of them as they were written."""

    count: int
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Calculation:
    """A value calculated from a table, with all that it takes to check it."""

    table: str
    """The table's name in the SQL."""
    document_id: int
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The result, its numbers written as the table writes them."""
    used: UsedRows
    left_out: tuple[str, ...] = ()
    """Rows that add up others, which are not counted."""
    period: tuple[str, str] = ("", "")
    """First and last day, month or year that the question was understood to ask for, as ISO texts; the end of an open
    period is empty, and both are where it names none.
    """


@dataclass(frozen=True, slots=True)
class Calculated:
    """An answer by calculation. The marked text cites its citations from 1."""

    text: str
    calculation: Calculation
    citations: tuple[Citation, ...]
    generator: str


@dataclass(frozen=True, slots=True)
class NotCalculated:
    """A question for a number of a table that was not calculated; ``reason`` is a sentence that says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Calculator:
    """Answers questions of how many, how much and the like. ``model`` writes SQL where the grammar cannot."""

    read: ReadDocument
    prompt: Prompt
    model: ChatModel | None = None

    def answer(self, question: str, search: SearchResult, language: Language) -> Calculated | NotCalculated | None:
        """Return the answer from a table of the documents found, or why there is none; None where that is no question
        for a table.
        """
        if not asks_to_count(question):
            return None
        documents = [each for number in _found(search) if (each := self._document(number))]
        if not documents:
            return None
        forms = [_form(passages) for passages in documents]
        with table_process() as process:
            opened = process.open(question, forms) if process else None
            if process is None or opened is None:
                return None
        form, generator = opened.get("answer"), "extractive"
        if form is None and self.model is not None and opened.get("schema") and names_operation(question):
            form, generator = self._by_model(self.model, question, str(opened["schema"]), forms), self.model.name
        return _calculated(form, documents, language, generator) if form else _not_calculated(opened, language)

    def _document(self, document_id: int) -> list[Passage]:
        """Return the passages of a document; none of one that is too long."""
        passages = list(self.read(document_id, MAX_PASSAGES + 1))
        lines = sum(passage.text.count("\n") for passage in passages)
        is_long = (
            len(passages) > MAX_PASSAGES or lines > MAX_ROWS or sum(len(each.text) for each in passages) > MAX_CHARS
        )
        if is_long:
            logger.info("event=table_too_long document=%s", document_id)
        return [] if is_long else passages

    def _by_model(
        self, model: ChatModel, question: str, schema: str, forms: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any] | None:
        """Ask the model for a statement and run it; None where it writes none, or one that is refused.

        No process waits for the model: the tables are read once more for its statement.
        """
        messages = self.prompt.messages(tables=as_data(schema), question=question)
        try:
            written = statement_of(model.complete(messages, timeout_s=MODEL_TIMEOUT_S))
        except ModelError:  # the answer asks it again, and says what is wrong
            return None
        if written is None:
            return None
        with table_process() as process:
            opened = process.open(question, forms) if process else None
            outcome = (process.run(*written) if process and opened else None) or {}
        if "refused" in outcome:
            logger.info("event=table_query_refused reason=%s", outcome["refused"])
        return outcome.get("answer")


def _not_calculated(opened: Mapping[str, Any], language: Language) -> NotCalculated | None:
    """Return why the grammar calculated nothing; None where the question does not ask for a number of a table."""
    if table := opened.get("empty"):
        return NotCalculated(say("not_calculated_empty", language, table=_plain(table)))
    said = opened.get("not_understood")
    if said is None:
        return None
    return NotCalculated(
        say("not_calculated_said", language, said=_plain(said)) if said else say("not_calculated", language)
    )


def statement_of(reply: str) -> tuple[str, str] | None:
    """Return (SELECT, condition of the rows it uses) of a model's reply; None unless that is JSON as asked for."""
    fenced = _FENCE.fullmatch(reply.strip())
    try:
        read = json.loads(fenced[1].strip() if fenced else reply)
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict) or not isinstance(sql := read.get("sql"), str) or not sql.strip():
        return None
    where = read.get("where") or ""
    return sql.strip(), where.strip() if isinstance(where, str) else ""


def _found(search: SearchResult) -> list[int]:
    """Return the documents of the hits that hold a table, the best first."""
    those = (
        hit.passage.document_id
        for hit in search.hits
        if hit.passage.file_type in TABLE_TYPES or sum(map(is_row, hit.passage.text.split("\n"))) > 1
    )
    return list(dict.fromkeys(those))[:MAX_DOCUMENTS]


def _form(passages: Sequence[Passage]) -> Mapping[str, Any]:
    first = passages[0]
    pieces = [[each.text, each.heading_path, each.line, each.line_end] for each in passages]
    return {"title": first.title, "file_type": first.file_type, "pieces": pieces}


def _calculated(
    form: Mapping[str, Any], documents: Sequence[Sequence[Passage]], language: Language, generator: str
) -> Calculated:
    passages = documents[form["document"]]
    cited = [passages[place] for place in form["places"]]
    citations = tuple(Citation(number, passage, passage.text) for number, passage in enumerate(cited, start=1))
    used = form["used"]
    calculation = Calculation(
        form["table"],
        passages[0].document_id,
        form["sql"],
        tuple(form["columns"]),
        tuple(map(tuple, form["rows"])),
        UsedRows(used["count"], tuple(used["columns"]), tuple(map(tuple, used["rows"]))),
        tuple(form["totals"]),
        (form["period"][0], form["period"][1]),
    )
    label = _label(form, language)
    return Calculated(_text(calculation, label, language, len(citations)), calculation, citations, generator)


def _label(form: Mapping[str, Any], language: Language) -> str:
    if not form["operation"]:
        return say("calculated", language)
    if form["operation"] == "count":
        return say("calculated_count", language)
    return say(f"calculated_{form['operation']}", language, column=_plain(form["measure"]))


def _text(calculation: Calculation, label: str, language: Language, citations: int) -> str:
    """Write the answer as Markdown: what was asked first, then the rows and the SQL."""
    marks = "".join(mark(number) for number in range(1, citations + 1))
    rows, label = calculation.rows, label + ("：" if language == "ja" else ": ")
    if len(rows) == 1:
        parts = [f"{label}**{' · '.join(map(_plain, rows[0]))}** {marks}"]
    else:
        parts = [f"{label}{marks}", _table(calculation.columns, rows)]
    if any(calculation.period):
        parts.append(say("period", language, period=" – ".join(dict.fromkeys(calculation.period)).strip()))
    used = calculation.used
    if len(used.rows) < used.count:
        parts.append(
            say(
                "rows_used_in_part",
                language,
                table=_plain(calculation.table),
                count=f"{used.count:,}",
                shown=len(used.rows),
            )
        )
    else:
        parts.append(say("rows_used", language, table=_plain(calculation.table), count=f"{used.count:,}"))
    if used.rows:
        parts.append(_table(used.columns, used.rows))
    if calculation.left_out:
        named = ", ".join(map(_plain, calculation.left_out[:5]))
        parts.append(say("totals_left_out", language, rows=named))
    sql = literal(" ".join(calculation.sql.split())).replace("`", "'")
    return "\n\n".join([*parts, f"```sql\n{sql}\n```"])


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    by_column = zip_longest(columns, *rows, fillvalue="")
    rules = ["---:" if all(map(amount, filter(None, cells))) else "---" for _, *cells in by_column]
    lines = [columns, rules, *rows]
    return "\n".join(f"| {' | '.join(cells if cells is rules else map(_plain, cells))} |" for cells in lines)


def _plain(text: str) -> str:
    """Return a cell as Markdown that says just this: no markup, no link, no citation."""
    return _MARKUP.sub(r"\\\1", literal(" ".join(text.split())))
