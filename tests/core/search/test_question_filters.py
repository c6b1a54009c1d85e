"""Filters that questions ask for, in three languages; and questions that ask for none, among names that tempt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from braid.core.options import DEFAULTS
from braid.core.search.question.filters import Reading, read_question
from braid.core.types import ALL, Filters, ReadFilter
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, World, catch_up, document

EVALUATION = Path(__file__).parents[3].parent / "shared" / "eval"
SETS = (
    "cosqa-dev",
    "gimphelp-ja",
    "gimphelp-ko",
    "jsquad-valid",
    "ko-strategyqa-facts",
    "mtrag-mini",
    "scifact",
)
TODAY = date(2026, 2, 10)


def noon(year: int, month: int, day: int) -> float:
    return datetime(year, month, day, 12).timestamp()


STORED: dict[str, dict[str, dict[str, Any]]] = {
    "Employee Handbook": {
        "leave.md": {"file_type": "md", "metadata": {"author": "Sato", "department": "Sales", "status": "draft"}},
        "travel.pdf": {"file_type": "pdf", "metadata": {"author": "Kim", "department": "Legal", "tags": ["urgent"]}},
        "rates.xlsx": {"file_type": "xlsx", "metadata": {"author": "Sato", "department": "Legal"}},
    },
    "就業規則": {
        "休暇.pdf": {"file_type": "pdf", "metadata": {"作成者": "佐藤", "部署": "営業部"}},
        "単価.xlsx": {"file_type": "xlsx", "metadata": {"作成者": "田中", "部署": "総務部"}},
        "議事録.docx": {"file_type": "docx", "metadata": {"作成者": "田中"}},
    },
    "취업규칙": {
        "휴가.pdf": {"file_type": "pdf", "metadata": {"작성자": "김민수", "부서": "영업팀"}},
        "단가.xlsx": {"file_type": "xlsx", "metadata": {"작성자": "이영희", "부서": "총무팀"}},
        "회의록.docx": {"file_type": "docx", "metadata": {"작성자": "이영희"}},
    },
    "Minutes": {
        "january.md": {"date": noon(2026, 1, 20)},
        "december.md": {"date": noon(2025, 12, 5)},
        "april.md": {"date": noon(2024, 4, 3)},
        "older.md": {"date": noon(2023, 5, 9)},
    },
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    embeddings = HashEmbeddings()
    with ByHand(tmp_path_factory.mktemp("asked"), embedding_model=embeddings) as braid:
        user = braid.ledger.add_user("ann").id
        ids = {name: braid.ledger.add_dataset(user, name).id for name in STORED}
        for name, sources in STORED.items():
            for source, values in sources.items():
                texts = (f"{source} has its first passage.", f"{source} has another passage.")
                braid.ledger.put_document(ids[name], document(source, *texts, **values))
        catch_up(braid)
        yield World(braid, embeddings, user, ids)


def read(
    world: World, text: str, *names: str, k: int = 2, words: dict[str, bool] | None = None, **options: Any
) -> Reading:
    """What is read from a question in the named datasets, or in all."""
    ids = [world.ids[name] for name in names] or ALL
    manager = world.braid.manager
    scope = manager.check(user_id=world.user, dataset_ids=ids)
    return read_question(
        text,
        scope,
        DEFAULTS.changed({"k": k, **options}),
        ledger=world.braid.ledger,
        shared_names={},
        words=words,
        today=TODAY,
    )


def applied(reading: Reading) -> list[tuple[str, str, str]]:
    return [(each.kind, each.key, each.value) for each in reading.read if each.applied]


TABLES, SLIDES = "csv, ods, tsv, xls, xlsx", "odp, ppt, pptx"
ASKED = [
    # datasets
    ("What does it say about leave in the Employee Handbook?", ("dataset", "", "Employee Handbook")),
    ("According to the employee handbook, who approves travel?", ("dataset", "", "Employee Handbook")),
    ("Search the Minutes dataset for the new office", ("dataset", "", "Minutes")),
    ("就業規則では副業は認められていますか", ("dataset", "", "就業規則")),
    ("「就業規則」によると休暇は何日ですか", ("dataset", "", "就業規則")),
    ("취업규칙에서 휴가는 며칠인가요?", ("dataset", "", "취업규칙")),
    ("취업규칙에 따르면 연차는 며칠인가요?", ("dataset", "", "취업규칙")),
    # kinds of files
    ("What is the daily rate in the spreadsheets?", ("file_type", "", TABLES)),
    ("Is there anything on travel in our PDF files?", ("file_type", "", "pdf")),
    ("Only PDFs: who pays for the hotel?", ("file_type", "", "pdf")),
    ("PDFで休暇の日数を教えて", ("file_type", "", "pdf")),
    ("エクセルファイルの中から単価を探して", ("file_type", "", TABLES)),
    ("ワード文書の中で会議の決定事項は？", ("file_type", "", "doc, docx, odt, rtf")),
    ("엑셀에서 단가를 찾아줘", ("file_type", "", TABLES)),
    ("PDF 파일에서 휴가 일수는?", ("file_type", "", "pdf")),
    # metadata
    ("What are the rules for leave by Sato?", ("metadata", "author", "Sato")),
    ("Which documents were written by Kim?", ("metadata", "author", "Kim")),
    ("What do Sato's documents say about rates?", ("metadata", "author", "Sato")),
    ("author: Sato travel", ("metadata", "author", "Sato")),
    ("Show the documents of the Legal department about hotels", ("metadata", "department", "Legal")),
    ("What do the documents tagged urgent say?", ("metadata", "tags", "urgent")),
    ("佐藤さんの資料で休暇はどうなっていますか", ("metadata", "作成者", "佐藤")),
    ("田中が書いた議事録の要点は？", ("metadata", "作成者", "田中")),
    ("営業部の資料に休暇の記載はありますか", ("metadata", "部署", "営業部")),
    ("김민수가 작성한 문서에서 휴가는?", ("metadata", "작성자", "김민수")),
    ("총무팀 문서의 단가는 얼마인가요?", ("metadata", "부서", "총무팀")),
    # times
    ("What was decided in the minutes of last month?", ("date", "", "2026-01")),
    ("Summarise the notes from 2023", ("date", "", "2023")),
    ("先月の議事録の要点は？", ("date", "", "2026-01")),
    ("昨年度の資料を見せて", ("date", "", "2024-04/2025-03")),
    ("2023年の議事録で決まったことは？", ("date", "", "2023")),
    ("지난달 회의록을 요약해줘", ("date", "", "2026-01")),
    ("작년에 작성된 자료에 무엇이 있나요?", ("date", "", "2025")),
]


@pytest.mark.parametrize(("text", "filter_read"), ASKED)
def test_the_filter_that_a_question_asks_for_is_applied(
    world: World, text: str, filter_read: tuple[str, str, str]
) -> None:
    assert applied(read(world, text)) == [filter_read]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("How do I merge cells in the Excel files?", "in the excel files"),
        ("PDFで保存する方法を教えて", "pdfで"),
        ("엑셀에서 셀을 병합하는 방법은?", "엑셀에서"),
        ("What was the total in the reports from last month?", "last month"),  # written since, or then?
        ("Which machine was built by Sato?", "sato"),
        ("a novel written by Kim", "kim"),
    ],
)
def test_what_may_mean_something_else_is_offered_alone(world: World, text: str, said: str) -> None:
    [offered] = read(world, text).read
    assert (offered.said, offered.applied, offered.why) == (said, False, "unsure")
    [chosen] = read(world, text, words={said: True}).read
    assert (chosen.applied, chosen.why) == (True, "chosen")


def test_several_filters_are_applied_together(world: World) -> None:
    reading = read(world, "What do the documents by Sato say about rates in the spreadsheets?")
    assert applied(reading) == [("file_type", "", TABLES), ("metadata", "author", "Sato")]
    found = world.braid.manager.search_in(reading.scope, "passage", filters=reading.options.filters)
    assert {hit.passage.source for hit in found.hits} == {"rates.xlsx"}


def test_what_is_taken_off_is_not_applied(world: World) -> None:
    text = "What do the documents by Sato say about rates in the spreadsheets?"
    reading = read(world, text, words={"in the spreadsheets": False})
    assert applied(reading) == [("metadata", "author", "Sato")]
    assert [each.why for each in reading.read] == ["taken_off", "asked"]
    assert "was taken off" in reading.read[0].reason


def test_a_filter_that_leaves_too_few_passages_is_not_applied(world: World) -> None:
    text = "What is the daily rate in the spreadsheets?"
    [few] = read(world, text, "Employee Handbook", k=3).read
    assert (few.applied, few.why, few.passages) == (False, "few", 2)
    assert read(world, text, "Employee Handbook", k=3).options.filters == Filters()
    [chosen] = read(world, text, "Employee Handbook", k=3, words={few.said: True}).read
    assert chosen.applied


def test_a_filter_that_selects_nothing_or_everything_is_not_read(world: World) -> None:
    assert read(world, "What is in the presentations?").read == ()
    assert read(world, "in the Employee Handbook", "Employee Handbook").read == ()


def test_the_filters_of_the_search_itself_come_first(world: World) -> None:
    text = "What is the daily rate in the spreadsheets by Sato?"
    given = Filters(file_types=frozenset({"md"}))
    reading = read(world, text, filters=given)
    assert reading.options.filters.file_types == {"md"}
    assert applied(reading) == [("metadata", "author", "Sato")]
    assert applied(read(world, text, filters={"author": {"$exists": True}})) == [("file_type", "", TABLES)]


def test_a_long_text_is_not_read(world: World) -> None:
    assert read(world, "pump " * 200 + "in the spreadsheets").read == ()


def test_a_key_with_dates_or_years_is_what_a_time_means(tmp_path: Path) -> None:
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        user = braid.ledger.add_user("ann").id
        held, numbered = (braid.ledger.add_dataset(user, name).id for name in ("held", "numbered"))
        for month in (1, 2):
            facts = {"held": date(2026, month, 3)}
            braid.ledger.put_document(held, document(f"{month}.md", f"Month {month}.", metadata=facts))
        for year in (2024, 2025):
            facts = {"年度": year, "year": year}
            braid.ledger.put_document(numbered, document(f"{year}.md", f"Year {year}.", metadata=facts))

        def found(text: str, dataset: int) -> list[tuple[str, str, str]]:
            scope = braid.manager.check(user_id=user, dataset_ids=[dataset])
            options = DEFAULTS.changed({"k": 1})
            reading = read_question(text, scope, options, ledger=braid.ledger, shared_names={}, today=TODAY)
            return applied(reading)

        assert found("the minutes of last month", held) == [("date", "held", "2026-01")]
        assert found("the reports from 2025", numbered) == [("metadata", "year", "2025")]
        assert found("昨年度の報告書", numbered) == [("metadata", "年度", "2024")]


# ---------------------------------------------------------------- the search


def test_a_search_reads_only_when_it_is_told_to(world: World) -> None:
    text = "What is the daily rate in the spreadsheets?"
    assert world.search(text, k=2).read_filters == ()
    result = world.search(text, k=2, question_filters="on")
    assert [each.value for each in result.read_filters] == [TABLES]
    assert {hit.passage.file_type for hit in result.hits} == {"xlsx"}
    off = world.search(text, k=2, question_filters="on", filter_words={"in the spreadsheets": False})
    assert {hit.passage.file_type for hit in off.hits} > {"xlsx"} or off.read_filters[0].why == "taken_off"


def test_an_explanation_says_what_was_read(world: World) -> None:
    [left_out] = world.search("leave.md first passage", k=1, mode="keyword").hits
    for text, told in (
        ("What is the daily rate in the spreadsheets?", "“in the spreadsheets”: only files of the types"),
        ("就業規則では副業は認められていますか", "“就業規則”: only the dataset 就業規則"),
    ):
        found = world.braid.manager.explain(
            text, chunk_id=left_out.passage.chunk_id, user_id=world.user, k=2, question_filters="on"
        )
        assert (found.found, found.reason) == (False, "filtered")
        assert told in found.detail


# ---------------------------------------------------------------- what others may not know


def test_values_and_names_of_others_are_never_read(tmp_path: Path) -> None:
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        ann, ben = (braid.ledger.add_user(name).id for name in ("ann", "ben"))
        mine, secret = braid.ledger.add_dataset(ann, "Notes").id, braid.ledger.add_dataset(ben, "Merger Archive").id
        shared = braid.registry.add("Secret Manual", "shared_secret", allowed_groups=("board",)).id
        braid.mirror_registry()
        for dataset in (mine, secret, shared):
            for number, author in enumerate(("Sato", "Vogel") if dataset == secret else ("Sato", "Kim")):
                facts = {"author": author, "project": "Falcon" if dataset == secret else "Pump"}
                braid.ledger.put_document(dataset, document(f"{number}.md", f"Text {number}.", metadata=facts))

        def read_by(user: int, text: str) -> tuple[ReadFilter, ...]:
            scope = braid.manager.check(user_id=user, dataset_ids=ALL)
            return braid.manager.read_question(scope, text, DEFAULTS.changed({"k": 1})).read

        assert [each.value for each in read_by(ann, "documents by Sato")] == ["Sato"]
        assert [each.value for each in read_by(ben, "documents by Vogel")] == ["Vogel"]
        for text in ("documents by Vogel", "documents of the project Falcon", "in the Merger Archive dataset"):
            assert read_by(ann, text) == ()
        assert read_by(ann, "in the Secret Manual dataset") == ()
        chosen = braid.manager.search(
            "documents by Vogel", user_id=ann, dataset_ids=ALL, question_filters="on", filter_words={"vogel": True}
        )
        assert chosen.read_filters == ()


# ---------------------------------------------------------------- ordinary questions


def _questions(folder: str) -> list[str]:
    path = EVALUATION / folder / "queries.jsonl"
    if not path.exists():
        pytest.skip(f"there is no ../shared/eval/{folder}")
    return [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("folder", SETS)
def test_an_ordinary_question_has_no_filter_applied(tmp_path: Path, folder: str) -> None:
    """The names of datasets and the values of metadata are words of the questions themselves."""
    questions = _questions(folder)
    common = Counter(word.strip("?？。、,.'\"") for text in questions for word in text.split())
    words = [word for word, _ in common.most_common(400) if 2 <= len(word) <= 40]
    tempting = [*words[:40], "Japan", "日本", "한국", "Files", "ファイル", "GIMP", "레이어", "Python"]
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        user = braid.ledger.add_user("ann").id
        for name in dict.fromkeys(tempting):
            braid.ledger.add_dataset(user, name)
        types = ("pdf", "xlsx", "csv", "docx", "pptx", "html", "md", "py", "eml", "txt")
        datasets = braid.ledger.datasets(user)
        for number, word in enumerate(words):
            facts: dict[str, Any] = {"author": word, "topic": words[-number], "country": word, "tags": [word]}
            braid.ledger.put_document(
                datasets[number % len(datasets)].id,
                document(
                    f"{number}.x",
                    *(f"Passage {each} of {number}." for each in range(5)),
                    file_type=types[number % len(types)],
                    date=noon(2000 + number % 26, 1 + number % 12, 1),
                    metadata={key: value for key, value in facts.items() if number % 3 or key != "country"},
                ),
            )
        scope = braid.manager.check(user_id=user, dataset_ids=ALL)
        read_of = {
            text: [(each.kind, each.key, each.value) for each in found if each.applied]
            for text in questions
            if (found := braid.manager.read_question(scope, text, DEFAULTS).read)
        }
    assert {text: found for text, found in read_of.items() if found} == {}
