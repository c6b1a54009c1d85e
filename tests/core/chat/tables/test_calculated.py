"""Answers calculated from tables: right values, under the scope, and only for questions of that kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.tables import ask_all
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.store import ConversationStore
from braid.core.chat.tables.process import MAX_PROCESSES, table_process
from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.types import ChatRequest, ChatResult, Draft
from braid.core.errors import ModelError
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse import parse_here
from braid.core.ingest.plan import IngestOptions
from braid.core.models.chat import ChatModels
from braid.core.types import ChunkInput, DocumentInput
from tests.core.ingest.test_ruled_tables import around, pdf
from tests.worlds import catch_up

STAFF = "Employee | Department | Salary\nAnna | Sales | 61,000 EUR\nBo [2] | Sales | 52,000 EUR\nCy | IT | 70,000 EUR"
SECRET = "Employee | Department | Salary\nZoe | Sales | 900,000 EUR\nYan | Sales | 1 EUR"


class Model:
    """Answers with one text, or fails."""

    name = "model"

    def __init__(self, reply: str | Exception) -> None:
        self.reply = reply
        self.sent: list[str] = []

    def complete(self, messages: Sequence[tuple[str, str]], *, timeout_s: float | None = None) -> str:
        self.sent.append(messages[-1][1])
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    def stream(self, messages: Sequence[tuple[str, str]]) -> Iterator[str]:
        self.sent.append(messages[-1][1])
        yield "They are paid well [1]."


@pytest.fixture(scope="module")
def dataset(shelf: Braid) -> tuple[int, int]:
    """A user with a table and a text, beside another user's table of the same form."""
    owners = [shelf.ledger.add_user(name) for name in ("ann", "ben")]
    places = [shelf.ledger.add_dataset(owner.id, "staff").id for owner in owners]
    for place, text in zip(places, (STAFF, SECRET), strict=True):
        sheet = DocumentInput("staff.xlsx", "staff", "xlsx", (ChunkInput(text, "Staff"),))
        shelf.ledger.put_document(place, sheet)
    rules = ChunkInput("Every employee in Sales has 25 days of leave. How many are carried over is in the contract.")
    shelf.ledger.put_document(places[0], DocumentInput("leave.md", "Leave", "md", (rules,)))
    catch_up(shelf)
    return owners[0].id, places[0]


def ask(shelf: Braid, dataset: tuple[int, int], text: str, model: Model | None = None) -> ChatResult:
    user, place = dataset
    chat = Conversation(shelf, models=ChatModels(None, model))  # type: ignore[arg-type]
    return chat.ask(ChatRequest(user, text, dataset_ids=[place]))


def test_every_sixth_question_of_the_benchmark_is_answered_right(tmp_path: Path, shelf: Braid) -> None:
    outcomes = ask_all(shelf, every=6)
    assert [each.asked.text for each in outcomes if not each.is_right] == []
    assert len(outcomes) == 10


def test_the_answer_has_the_value_its_rows_the_sql_and_a_citation_of_the_sheet(
    shelf: Braid, dataset: tuple[int, int]
) -> None:
    result = ask(shelf, dataset, "What is the total salary of the Sales department?")
    assert result.text.startswith("Total of Salary: **113,000 EUR** [1]")
    assert r"| Bo \[2\] | Sales | 52,000 EUR |" in result.text
    assert """SELECT SUM("Salary") FROM "Staff" WHERE "Department" = 'Sales'""" in result.text
    assert "| --- | --- | ---: |" in result.text
    assert result.calculation is not None
    assert result.calculation.used.count == 2
    assert [(each.passage.source, each.passage.heading_path) for each in result.citations] == [("staff.xlsx", "Staff")]
    assert result.generator == "extractive"


def test_a_ruled_table_of_a_pdf_page_is_calculated_with(shelf: Braid, tmp_path: Path) -> None:
    owner = shelf.ledger.add_user("pia")
    place = shelf.ledger.add_dataset(owner.id, "budgets").id
    path = tmp_path / "budgets.pdf"
    path.write_bytes(pdf(around))
    shelf.ledger.put_document(place, parse_here(Incoming.from_file(path, path.name), IngestOptions()))
    catch_up(shelf)
    result = ask(shelf, (owner.id, place), "Which team has the highest budget?")
    assert result.calculation is not None
    assert result.calculation.rows == (("Press", "61,000 EUR"),)


def test_only_tables_that_the_user_may_read_are_asked(shelf: Braid, dataset: tuple[int, int]) -> None:
    result = ask(shelf, dataset, "Which employee has the highest salary?")
    assert result.calculation is not None
    assert result.calculation.rows == (("Cy", "70,000 EUR"),)


@pytest.mark.parametrize(
    "text",
    [
        "How many days of leave does an employee in Sales have?",
        "How many employees in Sales left?",
        "How much is the salary of Anna?",
        "What is the total salary of the Marketing department?",
        "How many employees are neither in Sales nor in Oslo?",
        "Why is the average salary so low?",
        "How many employees can I have in Sales?",
        "How many employees started in 2024 and 2025?",
        "How many employees are in Sales or have a salary over 100?",
        "Who is Anna?",
        "Sales",
    ],
)
def test_a_question_that_is_not_wholly_understood_is_answered_by_quotes(
    shelf: Braid, dataset: tuple[int, int], text: str
) -> None:
    assert ask(shelf, dataset, text).calculation is None


def test_a_model_writes_the_sql_where_the_grammar_cannot(shelf: Braid, dataset: tuple[int, int]) -> None:
    where = "\"Department\" <> 'Sales'"
    model = Model(json.dumps({"sql": f'SELECT SUM("Salary") FROM "Staff" WHERE {where}', "where": where}))
    result = ask(shelf, dataset, "What is the total salary of all who are neither Anna nor in Sales?", model)
    assert result.text.startswith("Calculated: **70,000 EUR** [1]")
    assert result.generator == "model"
    assert result.calculation is not None
    assert result.calculation.used.rows == (("Cy", "IT", "70,000 EUR"),)
    asked = next(text for text in model.sent if 'Table "Staff"' in text)
    assert "900,000" not in asked
    assert "Bo [2]" in asked


def test_a_slow_model_keeps_no_other_question_from_its_tables(shelf: Braid, dataset: tuple[int, int]) -> None:
    class Slow(Model):
        def complete(self, messages: Sequence[tuple[str, str]], *, timeout_s: float | None = None) -> str:
            if 'Table "Staff"' in messages[-1][1]:
                with ExitStack() as others:
                    started.append(all(others.enter_context(table_process()) for _ in range(MAX_PROCESSES)))
            return super().complete(messages, timeout_s=timeout_s)

    started: list[bool] = []
    model = Slow(json.dumps({"sql": 'SELECT COUNT(*) FROM "Staff"', "where": ""}))
    result = ask(shelf, dataset, "What is the total salary of all who are neither Anna nor in Sales?", model)
    assert started == [True], "every place is free while the model writes"
    assert result.generator == "model"


@pytest.mark.parametrize(
    "reply",
    [
        "NONE",
        "gibberish",
        '{"sql": "DELETE FROM Staff"}',
        '{"sql": "SELECT * FROM other"}',
        '{"sql": "SELECT 1"}',
        ModelError("down"),
    ],
)
def test_where_the_model_fails_the_question_is_answered_as_any_other(
    shelf: Braid, dataset: tuple[int, int], reply: str | Exception
) -> None:
    result = ask(shelf, dataset, "What is the total salary of all who are neither Anna nor in Sales?", Model(reply))
    assert result.calculation is None
    assert result.text == "They are paid well [1]."


def test_a_calculated_answer_is_stored_with_its_sql(shelf: Braid, dataset: tuple[int, int]) -> None:
    user, place = dataset
    request = ChatRequest(user, "What is the average salary?", dataset_ids=[place])
    store = ConversationStore(shelf.ledger, shelf.registry)
    stored = store.add(store.create(user).id, request, Conversation(shelf, models=ChatModels()).ask(request))
    [answer] = [each for each in store.messages(user, stored.conversation_id) if each.role == "assistant"]
    assert answer.settings["calculation"]["rows"] == [["61,000 EUR"]]
    assert answer.settings["calculation"]["sql"] == 'SELECT AVG("Salary") FROM "Staff"'


def test_a_calculated_answer_is_stored_while_it_is_written(shelf: Braid, dataset: tuple[int, int]) -> None:
    user, place = dataset
    request = ChatRequest(user, "What is the total salary of the Sales department?", dataset_ids=[place])
    recorder = TurnRecorder(request)
    *before, result = Conversation(shelf, models=ChatModels()).stream(request)
    for event in before:
        recorder.feed(event)
    stopped = recorder.result()
    assert isinstance(result, ChatResult)
    assert stopped.citations == result.citations != ()
    assert (stopped.text, stopped.generator) == (result.text, "extractive")


def test_another_answer_to_the_question_is_quoted(shelf: Braid, dataset: tuple[int, int]) -> None:
    user, place = dataset
    request = ChatRequest(
        user, "What is the average salary?", dataset_ids=[place], draft=Draft("Average of Salary", is_complete=True)
    )
    assert Conversation(shelf, models=ChatModels()).ask(request).calculation is None
