"""Questions about a whole document: which one is meant, what is read of it, what is said about the rest."""

from __future__ import annotations

from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.lookups.lookup import LookupLimits
from braid.core.chat.texts import say
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.chat.whole.find import asks_for_whole
from braid.core.models.chat import ChatModels, chat_models
from braid.core.types import ChunkInput, DocumentInput, Filters
from tests.model_server import model_server
from tests.worlds import WAIT_S

SECTIONS = {
    "Working hours": "The core time is from ten to three. Overtime is agreed on. Overtime is paid by 31 December.",
    "Vacation": "Vacation has 30 days a year. Vacation is asked for two weeks before.",
    "Illness": "Illness is told to the lead. A certificate of illness is due by the third day.",
    "Parking": "A place for parking costs 35 EUR a month. The parking place is behind hall 2.",
    "Leaving": "The notice period is three months. The keys are given back.",
}


def store(braid: Braid, dataset: int, source: str, title: str, sections: dict[str, str]) -> None:
    chunks = tuple(ChunkInput(text, heading_path=heading) for heading, text in sections.items())
    braid.ledger.put_document(dataset, DocumentInput(source, title, "md", chunks))


@pytest.fixture
def dataset(braid: Braid) -> int:
    """A handbook of five sections, two versions of a policy, and other documents."""
    user = braid.ledger.add_user("ann").id
    dataset = braid.ledger.add_dataset(user, "office").id
    store(braid, dataset, "handbook.md", "Employee handbook", SECTIONS)
    for year in (2024, 2025):
        text = f"The limit of {year} is {year - 1900} EUR."
        store(braid, dataset, f"policy-{year}.md", f"Travel policy {year}", {"Hotels": text})
    for number in range(8):
        store(braid, dataset, f"note{number}.md", f"Note {number}", {"": f"Employees summarise meetings {number}."})
    store(
        braid,
        dataset,
        "就業規則.md",
        "就業規則",
        {"休暇": "休暇は年に20日である。", "退職": "退職は30日前に届け出る。"},
    )
    store(
        braid,
        dataset,
        "취업규칙.md",
        "취업규칙",
        {"휴가": "휴가는 한 해에 20일이다.", "퇴직": "퇴직은 30일 전에 알린다."},
    )
    assert braid.indexer.wait(WAIT_S)
    return dataset


def ask(braid: Braid, question: str, dataset: int, **options: Any) -> ChatResult:
    request = ChatRequest(1, question, dataset_ids=[dataset], options={"k": 2, **options})
    return Conversation(braid).ask(request)


@pytest.mark.parametrize(("question", "asks"), [
    ("Summarize the handbook", "summary"),
    ("Give me an overview of the lease", "summary"),
    ("List the deadlines in the contract", "dates"),
    ("What are the fees in the contract?", "amounts"),
    ("就業規則を要約して", "summary"),
    ("契約書の期限を一覧にして", "dates"),
    ("취업규칙을 요약해 주세요", "summary"),
    ("계약서의 기한을 모두 알려 주세요", "dates"),
    ("When is the deadline of the contract?", None),
    ("How much is the fee?", None),
    ("Who wrote the handbook?", None),
])  # fmt: skip
def test_what_is_asked_of_a_document(question: str, asks: str | None) -> None:
    assert asks_for_whole(question) == asks


def test_without_a_model_every_section_is_quoted_in_order(braid: Braid, dataset: int) -> None:
    result = ask(braid, "Summarize the employee handbook", dataset)
    first, *lines = [line for line in result.text.split("\n") if line]
    assert first == say("whole_summary", "en", title="Employee handbook", total=5)
    assert [line.split("**")[1] for line in lines] == list(SECTIONS)
    assert [citation.passage.heading_path for citation in result.citations] == list(SECTIONS)
    for line, text in zip(lines, SECTIONS.values(), strict=True):
        quoted = line.partition("— ")[2].rpartition(" [")[0]
        assert quoted in text
    assert [(each.tool, each.why, each.asked, each.new) for each in result.lookups] == [
        ("read", "document", "Employee handbook", 5)
    ]


@pytest.mark.parametrize(("question", "title", "language"), [
    ("就業規則を要約してください", "就業規則", "ja"),
    ("취업규칙을 요약해 주세요", "취업규칙", "ko"),
])  # fmt: skip
def test_other_languages(braid: Braid, dataset: int, question: str, title: str, language: Any) -> None:
    result = ask(braid, question, dataset)
    assert result.text.startswith(say("whole_summary", language, title=title, total=2))
    assert len(result.citations) == 2


@pytest.mark.parametrize(("question", "source"), [
    ("Summarise the pump manual", "pump-manual.en.pdf"),
    ("Summarise the pump manual.", "pump-manual.en.pdf"),
    ("Summarise pump_manual", "pump-manual.en.pdf"),
    ("Summarise pump-manual.ko", "pump-manual.ko.txt"),
    ("Give me an overview of pump-manual.ja.md", "pump-manual.ja.md"),
    ("pump manual を要約して", "pump-manual.ja.md"),
    ("pump manual을 요약해 줘", "pump-manual.ko.txt"),
    ("Summarise the Japanese pump manual", "pump-manual.ja.md"),
    ("pump manual の英語版を要約して", "pump-manual.en.pdf"),
])  # fmt: skip
def test_a_file_is_named_by_the_words_of_its_name_and_a_translation_by_its_language(
    braid: Braid, dataset: int, question: str, source: str
) -> None:
    texts = {
        "pump-manual.en.pdf": "The pump of the hall is started by hand, and it is stopped by the switch.",
        "pump-manual.ja.md": "ポンプは手で始動する。ポンプはスイッチで停止する。",
        "pump-manual.ko.txt": "펌프는 손으로 시작한다. 펌프는 스위치로 멈춘다.",
    }
    for name, text in texts.items():
        store(braid, dataset, name, name.rpartition(".")[0], {"Start": text})
    assert braid.indexer.wait(WAIT_S)
    result = ask(braid, question, dataset)
    assert {citation.passage.source for citation in result.citations} == {source}


def test_dates_and_amounts_are_listed_from_all_sections(braid: Braid, dataset: int) -> None:
    dates = ask(braid, "What are the deadlines in the employee handbook?", dataset)
    assert [citation.passage.heading_path for citation in dates.citations] == [
        "Working hours", "Vacation", "Illness", "Leaving"
    ]  # fmt: skip
    assert "The core time" not in dates.text
    amounts = ask(braid, "List all costs in the employee handbook", dataset)
    assert [citation.passage.heading_path for citation in amounts.citations] == ["Parking"]


@pytest.mark.parametrize(("question", "year"), [
    ("Summarize the travel policy", "2025"),
    ("Summarize the travel policy of 2024", "2024"),
])  # fmt: skip
def test_the_newest_version_is_meant_unless_a_year_is_named(
    braid: Braid, dataset: int, question: str, year: str
) -> None:
    result = ask(braid, question, dataset)
    assert {citation.passage.title for citation in result.citations} == {f"Travel policy {year}"}


def test_a_question_that_names_no_document_is_answered_as_any_other(braid: Braid, dataset: int) -> None:
    result = ask(braid, "Summarize what employees do about illness", dataset)
    assert all(each.why != "document" for each in result.lookups)


def test_of_a_dataset_with_one_document_its_sections_are_told(braid: Braid, dataset: int) -> None:
    alone = braid.ledger.add_dataset(1, "Alone").id
    more = {"Running head": "Employees and what they…", "": "the rest of a sentence. The canteen is open."}
    store(braid, alone, "handbook.md", "Employee handbook", SECTIONS | more)
    assert braid.indexer.wait(WAIT_S)
    told = ask(braid, "Summarise the documents of the dataset “Alone”", alone).text
    assert "“Employee handbook”" in told.partition("\n")[0]
    assert all(f"**{heading}**" in told for heading in SECTIONS)
    assert "The canteen is open." in told
    assert "what they" not in told
    assert "the rest of" not in told


@pytest.mark.parametrize(("question", "is_all"), [
    ("Summarize the documents of the dataset “Papers about changes since 2024”", True),
    ("データセット「マイドキュメント」の文書を要約してください", True),
    ("“내 문서” 데이터셋의 문서를 요약해 주세요", True),
    ("Summarize these documents", True),
    ("Summarize what the documents of “Papers” say about illness", False),
    ("Summarize the employee handbook", False),
])  # fmt: skip
def test_the_dataset_that_filters_are_is_summarised_by_whatever_name(
    braid: Braid, dataset: int, question: str, is_all: bool
) -> None:
    other = braid.ledger.add_dataset(1, "other").id
    store(braid, other, "other.md", "Other", {"": "Other documents are elsewhere."})
    filters = {"metadata": {"$or": [{"dataset_id": dataset}]}}
    request = ChatRequest(1, question, dataset_ids=[dataset, other], options={"k": 2, "filters": filters})
    read = [each for each in Conversation(braid).ask(request).lookups if each.why == "document"]
    assert [each.asked for each in read] == (
        ["office"] if is_all else ["Employee handbook"] if "book" in question else []
    )


def test_scope_and_filters_hold_for_the_whole_document(braid: Braid, dataset: int) -> None:
    stranger = braid.ledger.add_user("bob").id
    theirs = braid.ledger.add_dataset(stranger, "theirs").id
    store(braid, theirs, "plan.md", "Secret plan", {"A": "The secret plan has a step.", "B": "And another step."})
    assert braid.indexer.wait(WAIT_S)
    assert "secret" not in ask(braid, "Summarize the secret plan", dataset).text.lower()
    other = ask(braid, "Summarize the employee handbook", dataset, filters=Filters(source_prefix="note"))
    assert all(hit.passage.source.startswith("note") for hit in other.search.hits)


@pytest.mark.parametrize(("tokens", "is_whole"), [(6_000, True), (1_000, False)])
def test_a_model_is_given_the_passages_in_order_and_told_what_is_missing(
    braid: Braid, dataset: int, tokens: int, is_whole: bool
) -> None:
    long = {f"Part {number}": f"Chapter {number} tells of the pump. " * 6 for number in range(12)}
    store(braid, dataset, "manual.md", "Pump manual", long)
    assert braid.indexer.wait(WAIT_S)
    with model_server("It is about the pump.") as server:
        models = ChatModels(None, chat_models(None, server.settings()).summary)
        chat = Conversation(braid, models=models, prompt_tokens=tokens, lookups=LookupLimits(parts=1))
        result = chat.ask(ChatRequest(1, "Summarize the pump manual", dataset_ids=[dataset], options={"k": 2}))
        prompt = server.calls[-1].messages[-1][1]
    given = [number for number in range(12) if f"Chapter {number} tells" in prompt]
    assert given == list(range(len(given)))
    assert (len(given) == 12) is is_whole
    assert ("all passages of the document" in prompt) is is_whole
    assert (f"the first {len(given)} of 12 passages" in prompt) is not is_whole
    assert [hit.passage.heading_path for hit in result.search.hits] == list(long)[: len(given)]
    (lookup,) = result.lookups
    assert bool(lookup.problem) is not is_whole


def test_a_title_whose_words_are_in_a_question_takes_no_answer_from_another_document(
    braid: Braid, dataset: int
) -> None:
    store(braid, dataset, "pump.md", "Pump", {"Start": "Open the valve, then start.", "Deposit": "It is 99 EUR."})
    text = "The costs of a pump repair: 140 EUR for the seal, 35 EUR for the oil."
    store(braid, dataset, "prices.md", "Workshop", {"Costs of a pump repair": text})
    assert braid.indexer.wait(WAIT_S)
    result = Conversation(braid).ask(ChatRequest(1, "What are the costs of a pump repair?"))
    assert "140 EUR" in result.text
    assert [each.tool for each in result.lookups if each.tool == "read"] == []


def test_an_outline_of_many_sections_spans_the_document(braid: Braid, dataset: int) -> None:
    many = {f"Part {number}": f"Chapter {number} tells of valve{number}." for number in range(100)}
    store(braid, dataset, "manual.md", "Pump manual", many)
    assert braid.indexer.wait(WAIT_S)
    result = ask(braid, "Summarize the pump manual", dataset)
    first, *lines = [line for line in result.text.split("\n") if line]
    assert first.startswith(say("whole_summary", "en", title="Pump manual", total=100))
    assert first.endswith(say("sections_joined", "en", sections=100, lines=40))
    parts = [int(line.split("**")[1].removeprefix("Part ")) for line in lines]
    assert parts == sorted(parts)
    assert len(parts) == 40
    assert {part // 10 for part in parts} == set(range(10))
