"""What changed between two documents: which two are meant, what differs, what is said about the rest."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.texts import Language, say
from braid.core.chat.types import ChatRequest, ChatResult, Turn
from braid.core.chat.whole import about, changes
from braid.core.chat.whole.changes import MOST_SHOWN, READ_S, Read, compare_documents, told_changes
from braid.core.chat.whole.pairs import asks_for_changes
from braid.core.models.chat import ChatModels, chat_models
from braid.core.text.analyzer import Analyzer
from braid.core.types import ChunkInput, DocumentInput, Filters, Hit, Passage
from tests.fakes import HashEmbeddings
from tests.model_server import model_server
from tests.worlds import WAIT_S

SAME = {"Trains": "Second class is booked. Seats are reserved.", "Receipts": "Receipts are kept for ten years."}
OFFICE: dict[str, tuple[str, dict[str, str]]] = {
    "travel-2023.md": (
        "Travel policy 2023",
        {
            "1. Hotels": "Hotels are paid up to 140 EUR a night. Breakfast is included.",
            "2. Lounges": "Lounges of airports are paid.",
            "3. Reports": "Reports are handed in within 30 days.",
            **SAME,
        },
    ),
    "travel-2024.md": ("Travel policy 2024", {"1. Hotels": "Hotels are paid up to 150 EUR a night.", **SAME}),
    "travel-2025.md": (
        "Travel policy 2025",
        {
            "1. Hotels": "Hotels are paid up to 160 EUR a night. Breakfast is included.",
            "2. Reports": "Reports are handed in within two weeks.",
            **SAME,
            "5. Bicycles": "Bicycles are paid 0.20 EUR | a kilometre.",
        },
    ),
    "lease-draft.md": ("Lease of hall 3", {"Rent": "The rent is 4,000 EUR a month.", "Notice": "Three months."}),
    "lease-final.md": ("Lease of hall 3", {"Rent": "The rent is 4,200 EUR a month.", "Notice": "Three months."}),
    "rules-v2.md": ("House rules version 2", {"": "Bicycles stand in the yard. The door is shut at nine."}),
    "rules-v10.md": ("House rules version 10", {"": "Bicycles stand in the yard. The door is shut at ten."}),
    "pump.md": ("Pump manual", {"": "Open the valve. The pump has one seal."}),
    "press.md": ("Press manual", {"": "Close the gate. A ram weighs a ton. Nobody stands below it."}),
    "旅費2023.md": (
        "出張旅費規程 2023年版",
        {"宿泊": "宿泊費は1泊9,000円を上限とする。朝食を含む。", "日当": "日当は1日2,000円とする。"},
    ),
    "旅費2025.md": (
        "出張旅費規程 2025年版",
        {"宿泊": "宿泊費は1泊11,000円を上限とする。朝食を含む。", "日当": "日当は1日2,000円とする。"},
    ),
    "출장2023.md": (
        "출장 규정 2023년판",
        {"숙박": "숙박비 한도는 1박 90,000원이다.", "식비": "식비는 하루 3만 원이다."},
    ),
    "출장2025.md": (
        "출장 규정 2025년판",
        {"숙박": "숙박비 한도는 1박 125,000원이다.", "식비": "식비는 하루 3만 원이다."},
    ),
}


def store(braid: Braid, dataset: int, source: str, title: str, sections: dict[str, str]) -> None:
    chunks = tuple(ChunkInput(text, heading_path=heading) for heading, text in sections.items())
    braid.ledger.put_document(dataset, DocumentInput(source, title, "md", chunks))


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    """Policies, leases, rules and manuals in one dataset of ann's; bob has a secret version of a policy."""
    with Braid(tmp_path_factory.mktemp("office") / "data", embedding_model=HashEmbeddings()) as braid:
        ann, bob = braid.ledger.add_user("ann").id, braid.ledger.add_user("bob").id
        dataset = braid.ledger.add_dataset(ann, "office").id
        for source, (title, sections) in OFFICE.items():
            store(braid, dataset, source, title, sections)
        theirs = braid.ledger.add_dataset(bob, "theirs").id
        store(braid, theirs, "travel-2026.md", "Travel policy 2026", {"1. Hotels": "Hotels are secret.", **SAME})
        assert braid.indexer.wait(WAIT_S)
        yield braid


def ask(braid: Braid, question: str, **more: Any) -> ChatResult:
    return Conversation(braid).ask(ChatRequest(1, question, options={"k": 3, **more.pop("options", {})}, **more))


def rows(result: ChatResult) -> list[list[str]]:
    """Return the cells of the table without its head."""
    lines = [line for line in result.text.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line.replace("\\|", "/").strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize(("question", "asks"), [
    ("What changed in the policy between 2023 and 2025?", True),
    ("What has been changed in the lease?", True),
    ("How does the 2025 policy differ from that of 2023?", True),
    ("What's new in the handbook?", True),
    ("Compare policy 2023 with policy 2025", True),
    ("2023年版と2025年版の違いは？", True),
    ("規程はどう変わりましたか", True),
    ("規程の変更点を教えて", True),
    ("2023년판과 2025년판의 차이는?", True),
    ("규정이 어떻게 바뀌었나요?", True),
    ("변경된 내용을 알려 주세요", True),
    ("How do I change the seal?", False),
    ("When is the new office open?", False),
    ("パスワードの変更方法は", False),
    ("비밀번호 변경 방법은?", False),
    ("다른 사무실은 어디입니까?", False),
])  # fmt: skip
def test_what_asks_for_changes(question: str, asks: bool) -> None:
    assert asks_for_changes(question) is asks


@pytest.mark.parametrize(("question", "old", "new"), [
    ("What changed in the travel policy between 2023 and 2025?", "Travel policy 2023", "Travel policy 2025"),
    ("How does the 2024 travel policy differ from the one of 2023?", "Travel policy 2023", "Travel policy 2024"),
    ("What changed in the travel policy?", "Travel policy 2024", "Travel policy 2025"),
    ("What changed in the travel policy of 2024?", "Travel policy 2023", "Travel policy 2024"),
    ("What changed in the travel policy since 2023?", "Travel policy 2023", "Travel policy 2025"),
    ("Compare travel-2025.md with travel-2023.md", "Travel policy 2023", "Travel policy 2025"),
    ("What is different between the draft and the final lease of hall 3?", "Lease of hall 3", "Lease of hall 3"),
    ("What changed in the house rules?", "House rules version 2", "House rules version 10"),
    ("出張旅費規程2023年版と2025年版の違いは何ですか", "出張旅費規程 2023年版", "出張旅費規程 2025年版"),
    ("出張旅費規程はどう変わりましたか", "出張旅費規程 2023年版", "出張旅費規程 2025年版"),
    ("출장 규정 2023년판과 2025년판은 어떻게 바뀌었나요?", "출장 규정 2023년판", "출장 규정 2025년판"),
    ("출장 규정에서 달라진 점을 알려 주세요", "출장 규정 2023년판", "출장 규정 2025년판"),
])  # fmt: skip
def test_the_two_documents_are_found_the_earlier_one_first(office: Braid, question: str, old: str, new: str) -> None:
    result = ask(office, question)
    assert [(each.tool, each.why, each.asked, each.problem) for each in result.lookups] == [
        ("read", "document", old, ""), ("read", "document", new, "")
    ]  # fmt: skip


def test_a_follow_up_is_about_the_document_of_the_turn_before(office: Braid) -> None:
    history = (Turn("user", "How much is a night according to the travel policy?"), Turn("assistant", "160 EUR [1]."))
    result = ask(office, "What changed in it since 2023?", history=history)
    assert [each.asked for each in result.lookups] == ["Travel policy 2023", "Travel policy 2025"]


def test_both_wordings_stand_side_by_side_and_what_is_new_or_gone_is_said(office: Braid) -> None:
    result = ask(office, "What changed between travel policy 2023 and 2025?")
    new, gone = say("is_new", "en"), say("is_gone", "en")
    assert rows(result) == [
        [
            "1. Hotels",
            "Hotels are paid up to **140 EUR a night**. [1]",
            "Hotels are paid up to **160 EUR a night**. [2]",
        ],
        [
            "2. Reports",
            "Reports are handed in within **30 days**. [3]",
            "Reports are handed in within **two weeks**. [4]",
        ],
        ["5. Bicycles", new, "Bicycles are paid 0.20 EUR / a kilometre. [5]"],
        ["2. Lounges", "Lounges of airports are paid. [6]", gone],
    ]
    assert [(each.passage.title[-4:], each.passage.heading_path) for each in result.citations[:2]] == [
        ("2023", "1. Hotels"), ("2025", "1. Hotels")
    ]  # fmt: skip
    assert "Receipts" not in result.text
    assert result.generator == "extractive"
    assert result.found
    assert result.support == (), "they are quotes"


@pytest.mark.parametrize(("question", "language", "old", "new"), [
    ("出張旅費規程2023年版と2025年版の違いは何ですか", "ja", "**9,000円**", "**11,000円**"),
    ("출장 규정 2023년판과 2025년판은 어떻게 바뀌었나요?", "ko", "**90,000원**", "**125,000원**"),
])  # fmt: skip
def test_other_languages(office: Braid, question: str, language: Language, old: str, new: str) -> None:
    result = ask(office, question)
    titles = [each.asked for each in result.lookups]
    said = say("changes", language, old=titles[0], new=titles[1], total_old=2, total_new=2)
    assert result.text.startswith(said)
    ((_, before, after),) = rows(result)
    assert old in before
    assert new in after


@pytest.mark.parametrize(("question", "heading", "others"), [
    ("How did the hotel limit change between travel policy 2023 and 2025?", "1. Hotels", "2. Reports; 5. Bicycles"),
    ("What changed for reports from travel policy 2023 to 2025?", "2. Reports", "1. Hotels; 5. Bicycles"),
])  # fmt: skip
def test_what_is_asked_for_alone_is_shown_and_the_other_sections_are_named(
    office: Braid, question: str, heading: str, others: str
) -> None:
    result = ask(office, question)
    assert [row[0] for row in rows(result)] == [heading]
    assert say("changes_left_out", "en", count=3, where=f"{others}; 2. Lounges") in result.text


def test_documents_that_have_nothing_in_common_are_not_compared(office: Braid) -> None:
    result = ask(office, "What is the difference between the pump manual and the press manual?")
    assert [each for each in result.lookups if each.why == "document"] == []


def test_equal_documents_are_said_to_be_equal(braid: Braid) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "office").id
    for year in (2024, 2025):
        store(braid, dataset, f"rules{year}.md", f"House rules {year}", SAME)
    assert braid.indexer.wait(WAIT_S)
    result = ask(braid, "What changed in the house rules between 2024 and 2025?")
    said = say("no_changes", "en", old="House rules 2024", new="House rules 2025", total_old=2, total_new=2)
    assert result.text == f"{said} [1][2]"
    assert {each.passage.title for each in result.citations} == {"House rules 2024", "House rules 2025"}


def test_scope_and_filters_hold_for_both(office: Braid) -> None:
    assert "secret" not in ask(office, "What changed between travel policy 2025 and 2026?").text
    only = ask(office, "What changed in the travel policy?", options={"filters": Filters(source_prefix="travel-2025")})
    assert {hit.passage.source for hit in only.search.hits} <= {"travel-2025.md"}


def test_a_model_is_given_the_passages_that_differ_and_told_what_they_are(office: Braid) -> None:
    with model_server("The hotel limit rose.") as server:
        models = ChatModels(None, chat_models(None, server.settings()).summary)
        chat = Conversation(office, models=models)
        chat.ask(ChatRequest(1, "What changed between travel policy 2023 and 2025?", options={"k": 2}))
        prompt = server.calls[-1].messages[-1][1]
    for text in ("140 EUR", "160 EUR", "30 days", "two weeks", "Bicycles", "Lounges of airports"):
        assert text in prompt
    assert "Receipts are kept" not in prompt
    assert "earlier document 'Travel policy 2023' and the later document 'Travel policy 2025'" in prompt
    assert "gone: 2. Lounges" in prompt
    assert "new: 5. Bicycles" in prompt


def test_what_a_model_cites_of_the_wordings_is_the_passage_with_them(office: Braid) -> None:
    def reply(messages: Sequence[tuple[str, str]]) -> str:
        marks = [
            re.search(rf"{text} (\[[^\]]+\])", messages[-1][1])
            for text in ("paid up to 160 EUR a night\\.", "30 days\\.")
        ]
        return "Hotels rose {}, reports had 30 days {}.".format(*(found[1] for found in marks if found))

    with model_server(reply) as server:
        models = ChatModels(None, chat_models(None, server.settings()).summary)
        chat = Conversation(office, models=models)
        result = chat.ask(ChatRequest(1, "What changed between travel policy 2023 and 2025?", options={"k": 2}))
    assert result.text == "Hotels rose [1], reports had 30 days [2]."
    assert [(each.passage.title[-4:], each.passage.heading_path) for each in result.citations] == [
        ("2025", "1. Hotels"), ("2023", "3. Reports")
    ]  # fmt: skip


def test_more_wordings_than_fit_into_the_prompt_are_said_to_be_left_out(braid: Braid) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "office").id
    for year in (2024, 2025):
        rules = {f"Part {at}": f"Rule {at} of {words_of(at)} has {at + year} days." for at in range(60)}
        store(braid, dataset, f"rules{year}.md", f"House rules {year}", rules)
    assert braid.indexer.wait(WAIT_S)
    with model_server("Much.") as server:
        models = ChatModels(None, chat_models(None, server.settings()).summary)
        chat = Conversation(braid, models=models, prompt_tokens=1_500)
        chat.ask(ChatRequest(1, "What changed in the house rules?", options={"k": 2}))
        prompt = server.calls[-1].messages[-1][1]
    shown = prompt.count("earlier: ")
    assert 5 < shown < 40
    assert f"{60 - shown} more differences are left out" in prompt


def read(title: str, sentences: list[str], total: int = 0) -> Read:
    """Return a document of one passage for ten sentences."""
    parts = [" ".join(sentences[at : at + 10]) for at in range(0, len(sentences), 10)]
    hits = tuple(Hit(passage(f"{title}{at}", title, f"Part {at // 5}", text), 0.0, ()) for at, text in enumerate(parts))
    return Read(title, hits, total or len(hits))


def passage(chunk_id: str, title: str, heading: str, text: str) -> Passage:
    place = (0, None, None, None, None, None)
    return Passage(chunk_id, 1, 1, "user_1", f"{title}.md", title, "md", heading, text, *place, {})


def words_of(number: int) -> str:
    return " ".join(f"w{(number * 31 + step * 17) % 9973}" for step in range(8))


def long_document(count: int) -> list[str]:
    return [
        f"Rule {number} says that {words_of(number)} are kept for {number % 50 + 2} days." for number in range(count)
    ]


def test_what_differs_in_long_documents_is_found_however_much_is_moved() -> None:
    old = long_document(3_000)
    new = list(old)
    random.Random(7).shuffle(new)
    changed = next(number for number, text in enumerate(new) if text.startswith("Rule 1234 "))
    new[changed] = new[changed].replace("days", "weeks")
    found = compare_documents(read("Rules", old), read("Rules", new), Analyzer())
    assert found is not None
    ((one,), more) = found.changes, found.more
    assert one.old is not None
    assert one.new is not None
    assert "Rule 1234 " in one.old.text
    assert "weeks" in one.new.text
    assert more == 0


def seconds_for(count: int) -> float:
    old = read("Rules", long_document(count))
    new = read("Rules", [text.replace("days", "weeks") for text in long_document(count)])
    started = time.thread_time()
    compare_documents(old, new, Analyzer())
    return time.thread_time() - started


def test_the_work_grows_with_the_length_and_not_with_its_square() -> None:
    seconds_for(100)
    assert seconds_for(2_000) < 14 * seconds_for(400)


def test_more_differences_than_are_shown_are_counted_with_their_sections() -> None:
    old = long_document(400)
    found = compare_documents(read("R", old), read("R", [text.replace("days", "weeks") for text in old]), Analyzer())
    assert found is not None
    assert len(found.changes) == MOST_SHOWN
    assert found.more == 400 - MOST_SHOWN
    assert "Part 7" in found.left_out


def test_what_was_not_read_of_one_document_is_not_said_to_be_gone() -> None:
    old = long_document(100)
    whole, part = read("Rules", old), read("Rules", old[:60], total=10)
    for first, second in ((whole, part), (part, whole)):
        found = compare_documents(first, second, Analyzer())
        assert found is not None
        assert not found.is_whole
        assert found.changes == ()


def test_at_the_deadline_the_beginnings_are_compared_and_it_is_said() -> None:
    old = long_document(100)
    new = [text.replace("days", "weeks") for text in old[1:]] + [old[0]]  # what is first in one is last in the other
    ticks = chain([0.0] * 81, repeat(READ_S))
    found = compare_documents(read("Rules", old), read("Rules", new), Analyzer(), clock=lambda: next(ticks))
    assert found is not None
    assert all(each.hits and len(each.hits) < each.total for each in (found.old, found.new))
    assert found.more + len(found.changes) in (39, 40), "80 sentences were read, of both documents alike"
    for change in found.changes:
        old_text, new_text = (unit.text if unit else "" for unit in (change.old, change.new))
        assert old_text.replace("days", "weeks") == new_text
    assert "only the first" in told_changes(found).lower()


def test_of_documents_with_too_many_sentences_the_beginnings_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MOST_UNITS", 50)
    old = long_document(100)
    found = compare_documents(read("Rules", old), read("Rules", old[:50]), Analyzer())
    assert found is not None
    assert len(found.old.hits) < found.old.total
    assert found.new.is_whole
    assert found.changes == ()


def test_a_question_reads_a_bounded_part_of_both_and_says_so(office: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(about, "MOST_COMPARED", 3)
    result = ask(office, "What changed between travel policy 2023 and 2025?")
    assert [each.problem for each in result.lookups] == ["the first 3 of 5 passages"] * 2
    assert "3 of 5 and 3 of 5 passages were read" in result.text
