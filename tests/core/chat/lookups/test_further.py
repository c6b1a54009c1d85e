"""A second search without a model: where names lead, what two things have, and the words that no passage has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from braid.app.words.searches import lookup_text
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.lookups.further import MOST_SEARCHES
from braid.core.chat.lookups.lookup import Lookup
from braid.core.chat.types import ChatRequest, ChatResult, Searched
from braid.core.json_form import to_json
from braid.core.search.pipeline import Search
from braid.core.types import Filters

Put = Callable[..., str]
PEOPLE = {
    "en": "{0} has room {1} and the telephone extension {2}.",
    "ja": "{0}の席は{1}室にあり、内線は{2}である。",
    "ko": "{0}의 자리는 {1}호실이고 내선은 {2}번이다.",
}
NAMES = {
    "en": ("Ruth Mallory", "Jonas Ekdal", "Petra Lindholm", "Omar Fathi", "Vera Sandoz", "Igor Matic", "Lena Brodie"),
    "ja": ("早川朋子", "進藤勝", "長瀬弥生", "古賀武", "水沢玲子", "倉田洋", "平塚恵"),
    "ko": ("서문경", "남궁준", "제갈현", "황보윤", "선우진", "독고민", "사공린"),
}
LEADS = {
    "en": "The project Orchid is led by {0}.",
    "ja": "桔梗計画は{0}が率いる。",
    "ko": "도라지 프로젝트는 {0} 님이 이끈다.",
}
QUESTIONS = {
    "en": "Which telephone extension does the leader of the project Orchid have?",
    "ja": "桔梗計画を率いる人の内線は何番ですか",
    "ko": "도라지 프로젝트를 이끄는 사람의 내선은 몇 번인가요?",
}


@pytest.fixture
def office(braid: Braid, put: Put) -> dict[str, int]:
    """A dataset of each language: who leads a project, and everybody's telephone."""
    user = braid.ledger.add_user("ann").id
    ids = {}
    for language, names in NAMES.items():
        ids[language] = braid.ledger.add_dataset(user, language).id
        put(ids[language], "projects.md", LEADS[language].format(names[-1]), title="Projects", wait=False)
        texts = [PEOPLE[language].format(name, 100 + n, 4400 + n) for n, name in enumerate(names)]
        for name, text in zip(names, texts, strict=True):
            put(ids[language], f"{name}.md", text, title="Telephones", wait=False)
    assert braid.indexer.wait(120)
    return ids


def ask(braid: Braid, question: str, dataset: int, **options: Any) -> ChatResult:
    request = ChatRequest(1, question, dataset_ids=[dataset], options={"k": 2, "mode": "keyword", **options})
    return Conversation(braid).ask(request)


@pytest.mark.parametrize("language", list(QUESTIONS))
def test_a_name_in_the_first_passages_leads_to_the_answer(braid: Braid, office: dict[str, int], language: str) -> None:
    result = ask(braid, QUESTIONS[language], office[language])
    named = [each for each in result.lookups if NAMES[language][-1] in each.asked]
    assert named[0].why == "name"
    assert "4406" in result.text
    assert result.featured is not None
    assert "4406" in result.featured.text, "the answer stands first, and the sentence that led to it below"
    assert LEADS[language].format(NAMES[language][-1])[:12] in result.text
    assert result.bill.searches == 1 + len(result.lookups)


def test_the_first_passages_stay_first_and_hits_say_which_search_found_them(
    braid: Braid, office: dict[str, int]
) -> None:
    first = braid.search(QUESTIONS["en"], user_id=1, dataset_ids=[office["en"]], k=2, mode="keyword")
    found = ask(braid, QUESTIONS["en"], office["en"])
    ids = [hit.passage.chunk_id for hit in found.search.hits]
    assert ids[:2] == [hit.passage.chunk_id for hit in first.hits]
    assert len(set(ids)) == len(ids)
    asked = {each.asked for each in found.lookups}
    assert all({leg.query for leg in hit.legs} <= asked for hit in found.search.hits[2:])
    assert asked <= set(found.search.queries)


def test_lookups_are_events_and_the_passages_come_again(braid: Braid, office: dict[str, int]) -> None:
    request = ChatRequest(1, QUESTIONS["en"], dataset_ids=[office["en"]], options={"k": 2, "mode": "keyword"})
    events = list(Conversation(braid).stream(request))
    looked = [at for at, event in enumerate(events) if isinstance(event, Lookup)]
    searched = [at for at, event in enumerate(events) if isinstance(event, Searched)]
    assert searched[0] < looked[0] < searched[1]
    assert len(looked) <= MOST_SEARCHES
    result = events[-1]
    assert isinstance(result, ChatResult)
    last = events[searched[1]]
    assert isinstance(last, Searched)
    assert result.search == last.result


def test_a_further_search_has_the_scope_and_the_filters_of_the_first(
    braid: Braid, office: dict[str, int], put: Put
) -> None:
    stranger = braid.ledger.add_user("bob").id
    theirs = braid.ledger.add_dataset(stranger, "theirs").id
    put(theirs, "secret.md", "Lena Brodie has the private telephone extension 9999.", title="Telephones")
    put(office["en"], "old.txt", "Lena Brodie had the telephone extension 1111.", title="Telephones", file_type="txt")
    result = ask(braid, QUESTIONS["en"], office["en"], filters=Filters(source_prefix="projects"))
    assert {hit.passage.source for hit in result.search.hits} == {"projects.md"}
    everything = ask(braid, QUESTIONS["en"], office["en"])
    assert "private" not in str(everything)


def test_a_question_that_one_passage_answers_is_searched_once(braid: Braid, office: dict[str, int]) -> None:
    result = ask(braid, "Who leads the project Orchid?", office["en"])
    assert result.lookups == ()
    assert "Lena Brodie" in result.text


@pytest.mark.parametrize(("question", "language", "both"), [
    ("What are the telephone extensions of Jonas Ekdal and Vera Sandoz?", "en", ("4401", "4404")),
    ("進藤勝と水沢玲子の内線は何番ですか", "ja", ("4401", "4404")),
    ("남궁준과 선우진의 내선은 몇 번인가요?", "ko", ("4401", "4404")),
])  # fmt: skip
def test_two_named_things_are_searched_for_each_and_both_are_quoted(
    braid: Braid, office: dict[str, int], question: str, language: str, both: tuple[str, str]
) -> None:
    result = ask(braid, question, office[language], k=1)
    assert [each.why for each in result.lookups] == ["thing", "thing"]
    assert all(number in result.text for number in both)


def test_words_that_no_passage_has_are_searched_for(braid: Braid, put: Put) -> None:
    user = braid.ledger.add_user("ann").id
    dataset = braid.ledger.add_dataset(user, "notes").id
    for n in range(4):
        put(dataset, f"oven{n}.md", f"The oven in hall {n} bakes clay at night, clay and clay again.", wait=False)
    put(dataset, "insurance.md", "An indemnity is paid after thirty days.")
    question = "clay oven clay oven hall night bakes indemnity"
    result = ask(braid, question, dataset, k=1, mode="keyword")
    assert [(each.why, each.asked) for each in result.lookups] == [("words", "indemnity")]
    assert "insurance.md" in {hit.passage.source for hit in result.search.hits}


def test_no_further_search_waits_for_a_part_that_failed(
    braid: Braid, office: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []
    run = Search.run

    def without_words(self: Search) -> Any:
        searched.append(self.query.text)
        self.trace.report_missing("bm25", "", "no answer within 1 s")
        return run(self)

    monkeypatch.setattr(Search, "run", without_words)
    result = ask(braid, QUESTIONS["en"], office["en"])
    assert len(searched) == 1
    assert result.lookups == ()


def test_a_turn_that_is_stopped_searches_no_further(braid: Braid, office: dict[str, int]) -> None:
    conversation = Conversation(braid)
    request = ChatRequest(1, QUESTIONS["en"], dataset_ids=[office["en"]], options={"k": 2, "mode": "keyword"})
    turn = conversation._begin(request)
    turn.stopped.set()
    conversation._graph.invoke({"turn": turn})
    assert turn.found.lookups == ()
    assert turn.found.search == replace(turn.first)


def test_a_name_that_many_passages_have_leads_nowhere(braid: Braid, put: Put) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "towns").id
    for number in range(14):
        put(dataset, f"{number}.md", f"Town {number} of Norvia has a mill on its river.", wait=False)
    put(dataset, "strike.md", "The harbour strike of Norvia went on from May to July.", wait=False)
    put(dataset, "moss.md", "Norvia warms up, and in spring moss covers the rocks.", wait=False)
    assert braid.indexer.wait(120)
    result = ask(braid, "Which months does the harbour strike cover?", dataset)
    assert result.featured is not None
    assert "from May to July" in result.featured.text


def test_a_part_of_a_code_is_no_word_that_was_missing(braid: Braid, put: Put) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "games").id
    texts = {
        "down.md": "The Herons soon faced 3rd-and-9. Then Ortez lost the ball, which Wade took.",
        "team.md": "The Herons have a line with Allen, who took part in 9 games and fumbled in none.",
        "more.md": "The Herons play in Norvia.",
    }
    for name, text in texts.items():
        put(dataset, name, text, wait=False)
    assert braid.indexer.wait(120)
    result = ask(braid, "Who fumbled the ball on 3rd-and-9?", dataset)
    assert result.featured is not None
    assert "Ortez" in result.featured.text


def test_a_page_names_what_is_looked_for_and_not_all_words_of_the_query(braid: Braid, office: dict[str, int]) -> None:
    [lookup] = ask(braid, QUESTIONS["en"], office["en"]).lookups
    assert lookup.about == NAMES["en"][-1]
    assert lookup.asked.startswith(f"{lookup.about} ")
    said = lookup_text(to_json(lookup))
    assert lookup.about in said
    assert lookup.asked not in said


def test_common_words_of_a_passage_in_another_language_are_not_searched_for(braid: Braid, put: Put) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "mixed").id
    lead = "project Orchid の leader の端末は最初に利用可能なユーザーに割り当て、Lena Brodie が務める。"
    put(dataset, "projects.md", lead, title="計画", wait=False)
    for number in range(3):
        text = f"利用可能なユーザーは最初に内線 {number} を申請する。"
        put(dataset, f"rule{number}.md", text, title="規程", wait=False)
    put(dataset, "brodie.md", PEOPLE["en"].format("Lena Brodie", 106, 4406), title="Telephones", wait=False)
    for number in range(4):
        text = PEOPLE["en"].format(NAMES["en"][number], 100 + number, 4400 + number)
        put(dataset, f"{number}.md", text, title="Telephones", wait=False)
    assert braid.indexer.wait(120)
    result = ask(braid, QUESTIONS["en"], dataset, k=4)
    assert [each.about for each in result.lookups if each.why == "name"] == ["Lena Brodie"]


COMMON = {
    "ko": (
        "가상 패키지는 무엇인가요?",
        "가상의 가상 글은 원래 문장이라도 끌려가지 않습니다.",
        "담당자는 날마다 장비를 살피고 이상이 있으면 책임자에게 알린 다음에 작업을 이어 갑니다. "
        "원래 문장이 긴 패키지는 나뉩니다.",
    ),
    "ja": (
        "仮想パッケージとは何ですか",
        "仮想の仮想文章は、通常の手順で記録に残る。",
        "担当者は毎日かならず機械を見て回り、異常があれば責任者に知らせてから作業を続けることになっている。"
        "記録の手順は、パッケージと関係がない。",
    ),
}
"""A question, a passage with a word of it, and passages with another word of it and common ones of the first."""


@pytest.mark.parametrize("language", COMMON)
def test_common_words_lead_nowhere(braid: Braid, put: Put, language: str) -> None:
    question, first, others = COMMON[language]
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "common").id
    put(dataset, "first.md", first, title="A", wait=False)
    for number in range(3):
        put(dataset, f"{number}.md", f"{others} ({number})", title="B", wait=False)
    assert braid.indexer.wait(120)
    result = ask(braid, question, dataset, k=1)
    assert [each.about for each in result.lookups if each.why == "name" and each.new] == []


@pytest.mark.parametrize(
    ("question", "first", "other"),
    [
        ("Has the lighthouse a ladder?", "The lighthouse is open since May 2024.", "May is the month of the ladder."),
        ("展望台の入場料はいくらですか", "展望台は5月3日に開きます。", "5月3日の入場料は無料です。"),
    ],
)  # fmt: skip
def test_a_date_is_no_name_that_leads_on(braid: Braid, put: Put, question: str, first: str, other: str) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "dates").id
    put(dataset, "first.md", first, title="A", wait=False)
    put(dataset, "other.md", other, title="B", wait=False)
    put(dataset, "third.md", other.replace("ladder", "boat").replace("入場料", "飲食"), title="C")
    result = ask(braid, question, dataset, k=1)
    assert [each.about for each in result.lookups if each.why == "name"] == []


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which berth is cheaper, Dinghy 12 or Trawler 40?", ("Dinghy 12 · Berth: 60 EUR",
         "Trawler 40 · Berth: 310 EUR")),
        ("小舟と40トンの漁船、係留料はどちらが安い", ("小舟（2トン以下） · 係留料: 900円",
         "漁船（40トン以下） · 係留料: 4,100円")),
    ],
)  # fmt: skip
def test_two_rows_of_one_table_are_both_quoted(braid: Braid, put: Put, question: str, rows: tuple[str, str]) -> None:
    tables = {
        "en.md": "| Boat | Berth |\n|---|---|\n| Dinghy 12 | 60 EUR |\n| Trawler 40 | 310 EUR |\n"
        "| Ferry 90 | 900 EUR |",
        "ja.md": "| 船 | 係留料 |\n|---|---|\n| 小舟（2トン以下） | 900円 |\n| 漁船（40トン以下） | 4,100円 |\n"
        "| 客船（90トン以下） | 9,000円 |",
    }
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "boats").id
    for name, table in tables.items():
        put(dataset, name, table, title=name, wait=False)
    put(dataset, "other.md", "The harbour opens at dawn.", title="Harbour")
    text = ask(braid, question, dataset).text
    assert [row for row in rows if row in text.replace("**", "")] == [*rows]
