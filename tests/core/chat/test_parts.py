"""A document that does not fit into the prompt of a model is read part by part: progress, notes, stops, failures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.lookups.lookup import Lookup, LookupLimits
from braid.core.chat.texts import say
from braid.core.chat.types import AnswerText, ChatRequest, ChatResult, Searched
from braid.core.chat.whole.parts import parts_within
from braid.core.models.chat import ChatModels, chat_models
from braid.core.types import ChunkInput, DocumentInput, Filters
from tests.model_server import ModelServer, model_server
from tests.worlds import WAIT_S

CHAPTERS = 24
QUESTION = "Summarise the pump manual"


class Reader:
    """Notes the first sentence of each passage of a part with its mark, and repeats all notes as the answer."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.answered: list[str] = []
        self.systems: list[str] = []

    def __call__(self, messages: Sequence[tuple[str, str]]) -> str:
        user = messages[-1][1]
        if "take notes of a part" not in messages[0][1]:
            self.answered.append(user)
            self.systems.append(messages[0][1])
            return " ".join(re.findall(r"Chapter \d+ is about \w+ \[[^\]]+\]", user)) or "I have nothing."
        self.parts.append(user)
        found = re.findall(r'mark="(\[[^\]]+\])"[^\n]*>\n(Chapter \d+ is about \w+)', user)
        return "\n".join(f"{text} {mark}" for mark, text in found)


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def server(reader: Reader) -> Iterator[ModelServer]:
    with model_server(reader) as running:
        yield running


@pytest.fixture
def dataset(braid: Braid) -> int:
    """A manual of 24 chapters, each of some 110 tokens, and a short note."""
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "works").id
    chapters = tuple(
        ChunkInput(f"Chapter {at} is about valve{at}. " + f"It turns {at} times. " * 20, heading_path=f"Part {at}")
        for at in range(CHAPTERS)
    )
    braid.ledger.put_document(dataset, DocumentInput("manual.md", "Pump manual", "md", chapters))
    braid.ledger.put_document(dataset, DocumentInput("note.md", "Note", "md", (ChunkInput("Chapter 99 is here."),)))
    assert braid.indexer.wait(WAIT_S)
    return dataset


def talk(braid: Braid, server: ModelServer, tokens: int = 1_500, **limits: int) -> Conversation:
    models = ChatModels(None, chat_models(None, server.settings()).summary)
    return Conversation(braid, models=models, prompt_tokens=tokens, lookups=LookupLimits(**limits))


def ask(braid: Braid, server: ModelServer, dataset: int, question: str = QUESTION, **more: Any) -> ChatResult:
    request = ChatRequest(1, question, dataset_ids=[dataset], options={"k": 2, **more.pop("options", {})})
    return talk(braid, server, **more).ask(request)


def chapters_in(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"Chapter (\d+) is about", text)]


def test_every_passage_is_in_one_part_in_order(braid: Braid, server: ModelServer, dataset: int, reader: Reader) -> None:
    result = ask(braid, server, dataset)
    assert len(reader.parts) > 2
    assert [chapter for part in reader.parts for chapter in chapters_in(part)] == list(range(CHAPTERS))
    assert [each.passage.heading_path for each in result.citations] == [f"Part {at}" for at in range(CHAPTERS)]
    assert result.text.startswith("Chapter 0 is about valve0 [1]")
    assert "notes, taken part by part, of all passages of the document 'Pump manual'" in reader.answered[-1]
    assert "It turns" not in reader.answered[-1], "the notes are given in place of the passages"
    assert all("answer_prompt_tokens" not in note for note in result.notes)


def test_each_part_is_told_and_the_bill_has_its_call(
    braid: Braid, server: ModelServer, dataset: int, reader: Reader
) -> None:
    result = ask(braid, server, dataset)
    *parts, whole = result.lookups
    assert [each.why for each in parts] == ["part"] * len(reader.parts)
    assert parts[0].about == f"Pump manual (1/{len(parts)})"
    assert sum(each.new for each in parts) == CHAPTERS
    assert (whole.why, whole.asked, whole.new, whole.problem) == ("document", "Pump manual", CHAPTERS, "")
    assert result.bill.model_calls == len(parts)
    assert result.bill.tokens > 1_000
    assert result.bill.searches == 1


def test_more_parts_than_are_allowed_are_said_to_be_left_out(
    braid: Braid, server: ModelServer, dataset: int, reader: Reader
) -> None:
    result = ask(braid, server, dataset, parts=2)
    read = len(result.search.hits)
    assert len(reader.parts) == 2
    assert 0 < read < CHAPTERS
    assert result.lookups[-1].problem == f"the first {read} of {CHAPTERS} passages"
    assert f"the first {read} of {CHAPTERS} passages of the document" in reader.answered[-1]
    assert "Say that the rest of it was not read" in reader.answered[-1]


def test_with_parts_turned_off_the_beginning_alone_is_given(
    braid: Braid, server: ModelServer, dataset: int, reader: Reader
) -> None:
    result = ask(braid, server, dataset, parts=1)
    assert reader.parts == []
    assert "the prompt has no room for more" in result.lookups[-1].problem
    assert len(result.search.hits) < CHAPTERS


def test_a_model_that_fails_in_a_part_answers_from_those_before(
    braid: Braid, server: ModelServer, dataset: int, reader: Reader
) -> None:
    server.statuses = [200, 200, 500]
    result = ask(braid, server, dataset)
    read = len(result.search.hits)
    assert 0 < read < CHAPTERS
    assert result.lookups[-1].problem == f"the first {read} of {CHAPTERS} passages"
    assert [each.leg for each in result.degraded] == ["model"]
    assert "from 3 of" in result.degraded[0].reason
    assert chapters_in(result.text) == list(range(read))


def test_a_model_that_fails_in_each_part_leaves_an_outline_that_says_how_much_it_is_of(
    braid: Braid, server: ModelServer, dataset: int
) -> None:
    server.broken = 500
    result = ask(braid, server, dataset)
    read = len(result.search.hits)
    assert result.generator == "extractive"
    assert result.text.startswith(say("part_summary", "en", title="Pump manual", read=read, total=CHAPTERS))
    assert len(result.citations) == read
    assert any(each.leg == "model" for each in result.degraded)


@pytest.mark.parametrize("parts", [0, 1, 2])
def test_stopping_between_parts_asks_no_more(
    braid: Braid, server: ModelServer, dataset: int, reader: Reader, parts: int
) -> None:
    """A stop before the first part, after the first, and after the second."""
    events = talk(braid, server).stream(ChatRequest(1, QUESTION, dataset_ids=[dataset], options={"k": 2}))
    seen = 0
    for event in events:
        seen += isinstance(event, Lookup) and event.why == "part"
        if seen == parts and isinstance(event, Searched if not parts else Lookup):
            break
    events.close()  # type: ignore[attr-defined]  # a generator
    assert len(reader.parts) <= parts + 1, "the one that was being read when it was stopped"
    assert reader.answered == []


def test_stopping_while_the_answer_is_written_ends_it(
    braid: Braid, server: ModelServer, dataset: int, reader: Reader
) -> None:
    server.pause_after = 3
    events = talk(braid, server).stream(ChatRequest(1, QUESTION, dataset_ids=[dataset], options={"k": 2}))
    first = next(event for event in events if isinstance(event, AnswerText))
    events.close()  # type: ignore[attr-defined]  # a generator
    server.go_on.set()
    assert first.text
    assert len(reader.answered) == 1


def test_parts_have_no_passage_of_another_scope_or_filter(
    braid: Braid, server: ModelServer, dataset: int, reader: Reader
) -> None:
    theirs = braid.ledger.add_dataset(braid.ledger.add_user("bob").id, "theirs").id
    braid.ledger.put_document(
        theirs, DocumentInput("manual2.md", "Pump manual", "md", (ChunkInput("Chapter 77 is about secrets."),))
    )
    assert braid.indexer.wait(WAIT_S)
    ask(braid, server, dataset)
    only = ask(braid, server, dataset, options={"filters": Filters(source_prefix="note")})
    assert 77 not in chapters_in("".join(reader.parts))
    assert {hit.passage.source for hit in only.search.hits} == {"note.md"}


def test_a_passage_that_is_larger_than_a_part_is_a_part_of_its_own(braid: Braid, dataset: int) -> None:
    hits = braid.search("valve", user_id=1, dataset_ids=[dataset], k=5).hits
    assert [len(part) for part in parts_within(hits, 1)] == [1] * 5
    assert [len(part) for part in parts_within(hits, 100_000)] == [5]
    assert parts_within((), 100) == []


def test_a_dataset_is_summarised_by_its_documents(braid: Braid, dataset: int) -> None:
    result = Conversation(braid).ask(ChatRequest(1, "Summarise these documents", dataset_ids=[dataset]))
    lines = [line for line in result.text.split("\n") if line.startswith("- ")]
    assert [line.split("**")[1] for line in lines] == ["Pump manual", "Note"]
    assert "“works”" in result.text
    named = Conversation(braid).ask(ChatRequest(1, "Give me an overview of the dataset works"))
    assert [line for line in named.text.split("\n") if line.startswith("- ")] == lines


@pytest.mark.parametrize("question", [
    "Summarise the documents on valves", "バルブの文書を要約してください", "밸브에 관한 문서를 요약해 주세요"
])  # fmt: skip
def test_a_summary_of_what_documents_say_of_something_is_none_of_all(braid: Braid, dataset: int, question: str) -> None:
    result = Conversation(braid).ask(ChatRequest(1, question, dataset_ids=[dataset]))
    assert [each for each in result.lookups if each.why == "document"] == []


@pytest.mark.parametrize("question", [
    "Give me a short summary of these documents", "これらの文書を要約してください", "이 문서를 모두 요약해 주세요"
])  # fmt: skip
def test_a_summary_of_all_documents_is_asked_for_in_each_language(braid: Braid, dataset: int, question: str) -> None:
    result = Conversation(braid).ask(ChatRequest(1, question, dataset_ids=[dataset]))
    assert [each.asked for each in result.lookups if each.why == "document"] == ["works"]


def test_a_filter_on_one_document_says_which_is_meant(braid: Braid, dataset: int) -> None:
    result = Conversation(braid).ask(
        ChatRequest(1, "Summarise this", dataset_ids=[dataset], options={"filters": Filters(source_prefix="note")})
    )
    assert [(each.why, each.asked) for each in result.lookups] == [("document", "Note")]
