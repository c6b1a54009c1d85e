"""The plainest wordings of counts and of the first few, in three languages, and what is said where one is refused."""

from __future__ import annotations

import pytest

from braid.core.chat.tables.amounts import Style
from braid.core.chat.tables.columns import Table, typed
from braid.core.chat.tables.database import TableDatabase
from braid.core.chat.tables.grammar import NotUnderstoodError, plan
from braid.core.chat.tables.rebuild import TablePassage, tables_of
from braid.core.chat.tables.words import asks_to_count
from braid.core.chat.tables.work import TableWork

EN = """Employee | Office | Department | Salary
Anna | Rotterdam | Sales | 61000
Bo | Rotterdam | IT | 52000
Cy | Oslo | IT | 70000
Di | Oslo | Sales | 48000
Ed | Oslo | Sales | 66000"""
JA = """社員 | 勤務地 | 部署 | 月給
佐藤 | 東京 | 営業部 | 300000
鈴木 | 大阪 | 開発部 | 280000
高橋 | 東京 | 開発部 | 350000
田中 | 大阪 | 営業部 | 410000"""
KO = """직원 | 근무지 | 부서 | 급여
김민수 | 대전 | 영업 | 3000000
이영희 | 서울 | 개발 | 2800000
박철수 | 대전 | 개발 | 3500000
최지우 | 서울 | 영업 | 4100000"""


def table(text: str) -> Table:
    [raw] = tables_of([TablePassage(text, "")], "csv")
    made = typed(raw, "t")
    assert made is not None
    return made


TABLES = {"en": table(EN), "ja": table(JA), "ko": table(KO)}


def first_cells(language: str, question: str) -> list[object]:
    asked = TABLES[language]
    return [row[0] for row in TableDatabase([asked]).ask(plan(question, asked).sql).rows]


@pytest.mark.parametrize(
    ("language", "question", "count"),
    [
        ("en", "How many employees work in Rotterdam?", 2),
        ("en", "How many employees are based in Oslo?", 3),
        ("en", "How many employees belong to the IT department?", 2),
        ("en", "How many employees are in Oslo in Sales?", 2),
        ("ja", "東京で勤務している社員は何人ですか？", 2),
        ("ja", "大阪で働いている社員は何人いますか？", 2),
        ("ja", "営業部に所属する社員は何人？", 2),
        ("ko", "대전에 근무하는 직원은 몇 명인가요?", 2),
        ("ko", "대전에서 일하는 직원은 몇 명이에요?", 2),
        ("ko", "개발 부서에 소속된 직원은 몇 명입니까?", 2),
    ],
)
def test_rows_are_counted(language: str, question: str, count: int) -> None:
    assert first_cells(language, question) == [count]


@pytest.mark.parametrize(
    ("language", "question", "names"),
    [
        ("en", "What are the top 3 employees by salary?", ["Cy", "Ed", "Anna"]),
        ("en", "Which three employees have the highest salary?", ["Cy", "Ed", "Anna"]),
        ("en", "Who are the 2 highest paid employees?", ["Cy", "Ed"]),
        ("en", "Show the two employees with the lowest salary", ["Di", "Bo"]),
        ("ja", "月給の上位2人を教えてください", ["田中", "高橋"]),
        ("ja", "月給が高い順に2人教えて", ["田中", "高橋"]),
        ("ja", "月給が最も高い2人は誰ですか", ["田中", "高橋"]),
        ("ja", "月給の低い社員2人は？", ["鈴木", "佐藤"]),
        ("ko", "급여 상위 2명은 누구인가요?", ["최지우", "박철수"]),
        ("ko", "급여가 가장 높은 직원 2명은 누구인가요?", ["최지우", "박철수"]),
        ("ko", "급여가 높은 순으로 두 명 알려주세요", ["최지우", "박철수"]),
    ],
)
def test_the_first_few_come_in_their_order(language: str, question: str, names: list[str]) -> None:
    assert first_cells(language, question) == names


@pytest.mark.parametrize(
    ("language", "question", "count"),
    [
        ("en", "How many employees are not in Oslo?", 2),
        ("en", "How many employees aren't in Oslo?", 2),
        ("en", "How many employees are there without Sales and IT?", 0),
        ("en", "What is the total salary excluding Rotterdam?", 184_000),
        ("en", "How many different offices are there?", 2),
        ("ja", "東京以外の社員は何人ですか？", 2),
        ("ja", "営業部を除く月給の合計は？", 630_000),
        ("ja", "営業部と開発部を除いた社員は何人？", 0),
        ("ja", "月給が300000以上の月給は何件？", 3),
        ("ko", "대전을 제외한 급여 합계는?", 6_900_000),
        ("ko", "대전 이외의 직원은 몇 명인가요?", 2),
        ("ko", "영업과 개발을 제외하면 직원은 몇 명인가요?", 0),
        ("ko", "급여가 3000000 이상인 급여는 몇 건인가요?", 3),
    ],
)
def test_rows_are_left_out_and_counted(language: str, question: str, count: int) -> None:
    assert first_cells(language, question) == [count]


def test_what_is_left_out_and_read_as_a_period_or_a_comparison_is_refused() -> None:
    quarters = table("Date | Quarter | Sales\n2023-01-05 | 2023 Q1 | 100\n2023-05-20 | 2023 Q2 | 600")
    for question in ("Total sales excluding 2023 Q1", "Sum of sales without 2023 Q1", "2023 Q1以外のSalesの合計"):
        with pytest.raises(NotUnderstoodError):
            plan(question, quarters)


SALES = table(
    """Date | City | Amount
2024-01-05 | Oslo | 30
2024-01-20 | Bern | 40
2024-02-03 | Oslo | 60
2025-02-09 | Bern | 90"""
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("In which month of 2024 was the amount highest?", [("2024-01", 70)]),
        ("Which year has the lowest total amount?", [("2025", 90)]),
        ("2024年でAmountが最も多い月は？", [("2024-01", 70)]),
        ("2024년에 Amount가 가장 많은 달은?", [("2024-01", 70)]),
        ("What is the total amount in Oslo by month?", [("2024-01", 30), ("2024-02", 60)]),
    ],
)
def test_a_month_or_year_is_the_highest_by_the_sum_of_its_rows(question: str, rows: list[tuple[str, int]]) -> None:
    assert list(TableDatabase([SALES]).ask(plan(question, SALES).sql).rows) == rows


@pytest.mark.parametrize(
    ("language", "question", "said"),
    [
        ("en", "How many employees in Sales resigned?", "resigned"),
        ("en", "What is the total salary of the Marketing department?", "marketing"),
        ("en", "How many employees have error E-315?", "error, e-315"),
        ("ja", "営業部の退職した社員は何人ですか？", "退職した"),
        ("ko", "영업 부서에서 퇴사한 직원은 몇 명인가요?", "퇴사한"),
    ],
)
def test_a_refusal_names_what_is_not_understood(language: str, question: str, said: str) -> None:
    with pytest.raises(NotUnderstoodError) as refused:
        plan(question, TABLES[language])
    assert refused.value.said == said
    assert refused.value.is_about


@pytest.mark.parametrize(
    ("question", "is_about"),
    [("How many days of leave are there?", False), ("Who is Anna?", False), ("月給が高い順に一覧", False)],
)
def test_other_questions_are_not_about_the_numbers_of_a_table(question: str, is_about: bool) -> None:
    with pytest.raises(NotUnderstoodError) as refused:
        plan(question, TABLES["ja" if not question.isascii() else "en"])
    assert refused.value.is_about is is_about


@pytest.mark.parametrize(
    ("question", "counts"),
    [
        ("What does error E-315 mean?", False),
        ("What do E-1 and E-2 mean on the display?", False),
        ("What is the mean salary?", True),
        ("What does the mean of the salaries come to?", True),
    ],
)
def test_what_something_means_asks_for_no_mean(question: str, counts: bool) -> None:
    assert asks_to_count(question) is counts


def test_sums_have_separators_and_cells_are_as_they_are_written() -> None:
    work = TableWork([{"pieces": [[EN, "", None, None]], "file_type": "csv", "title": "Staff"}])
    total, highest = work.by_grammar("What is the total salary?"), work.by_grammar("What is the highest salary?")
    assert total is not None
    assert highest is not None
    assert total["rows"] == [["297,000"]]
    assert highest["rows"] == [["Cy", "70000"]]
    assert Style(decimal=",").write(297_000.5, more_places=1, grouped=True) == "297.000,5"


def test_a_period_without_rows_is_said_to_be_empty() -> None:
    rows = "Date | Sales\n2025-03-01 | 1\n2025-04-02 | 20"
    work = TableWork([{"pieces": [[rows, "", None, None]], "file_type": "csv", "title": "Sales"}])
    assert work.by_grammar("What is the total of sales in 2023?") is None
    assert work.empty == "Sales"
