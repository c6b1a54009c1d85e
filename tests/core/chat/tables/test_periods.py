"""Questions for a period: every wording of a range, in three languages, against sums made by the calendar."""

from __future__ import annotations

import calendar
import random
from collections.abc import Iterator
from datetime import date, timedelta

import pytest

from braid.core.chat.tables.columns import Table, typed
from braid.core.chat.tables.database import TableDatabase
from braid.core.chat.tables.grammar import NotUnderstoodError, plan
from braid.core.chat.tables.rebuild import TablePassage, tables_of

MONTHS_EN = calendar.month_name
START, DAYS = date(2023, 1, 1), 4 * 365 + 1
HEADERS = {"en": "Date | Sales", "ja": "日付 | 売上高", "ko": "날짜 | 매출"}
ASKED = {
    "en": "What is the total of sales {}?",
    "ja": "{}の売上高の合計はいくらですか？",
    "ko": "{} 매출 합계는 얼마인가요?",
}


def sales() -> list[tuple[date, int]]:
    """One row for about every third day of four years, each with an amount that no other has."""
    draw = random.Random(11)
    days = sorted(draw.sample(range(DAYS), DAYS // 3))
    return [(START + timedelta(days=day), 1_000 + number * number) for number, day in enumerate(days)]


SALES = sales()


def table(text: str, title: str = "Sales") -> Table:
    [raw] = tables_of([TablePassage(text, title)], "csv")
    made = typed(raw, "t", title=title)
    assert made is not None
    return made


TABLES = {
    language: table("\n".join([header, *(f"{day.isoformat()} | {amount}" for day, amount in SALES)]), header)
    for language, header in HEADERS.items()
}


def answer(question: str, asked: Table) -> object:
    return TableDatabase([asked]).ask(plan(question, asked).sql).rows[0][-1]


def total(first: date, last: date) -> int:
    return sum(amount for day, amount in SALES if first <= day <= last)


def end_of(year: int, month: int) -> date:
    return date(year, month, calendar.monthrange(year, month)[1])


# ---------------------------------------------------------------- ranges of months, quarters, days, years

Case = tuple[str, str, date, date]


def month_ranges() -> Iterator[Case]:
    for year, one, other_year, other in (
        (2025, 4, 2025, 6),
        (2024, 11, 2025, 2),
        (2025, 1, 2025, 12),
        (2023, 12, 2024, 1),
    ):
        first, last = date(year, one, 1), end_of(other_year, other)
        a, b = f"{MONTHS_EN[one]} {year}", f"{MONTHS_EN[other]} {other_year}"
        short, brief = MONTHS_EN[one], MONTHS_EN[other]
        for said in (
            f"from {a} to {b}",
            f"from {a} through {b}",
            f"from {a} until {b}",
            f"between {a} and {b}",
            f"{a} to {b}",
            f"{a} – {b}",
            f"from {short} to {b}",
            f"between {short} and {b}",
            f"from {short} through {brief} {other_year}",
            f"from {a} to {brief}",
            f"from {short[:3]} {year} to {brief[:3]} {other_year}",
            f"from {year}-{one:02} to {other_year}-{other:02}",
        ):
            yield "en", said, first, last
        for said in (
            f"{year}年{one}月から{other_year}年{other}月まで",
            f"{year}年{one}月から{other}月まで",
            f"{year}年{one}月から{other}月",
            f"{year}年{one}月〜{other}月",
            f"{year}年{one}月～{other_year}年{other}月",
            f"{year}年{one}〜{other}月",
            f"{year}年{one}月より{other_year}年{other}月まで",
            f"{year}年{one}月と{other_year}年{other}月の間",
            f"{year}/{one:02}から{other_year}/{other:02}まで",
            f"{year}年 {one}月 から {other}月 まで",
        ):
            yield "ja", said, first, last
        for said in (
            f"{year}년 {one}월부터 {other_year}년 {other}월까지",
            f"{year}년 {one}월부터 {other}월까지",
            f"{year}년 {one}월부터 {other}월까지의",
            f"{year}년 {one}월에서 {other}월까지",
            f"{year}년 {one}월 ~ {other}월",
            f"{year}년 {one}~{other}월",
            f"{year}년 {one}월과 {other_year}년 {other}월 사이의",
            f"{year}년 {one}월부터 {other_year}년 {other}월까지 동안의",
        ):
            yield "ko", said, first, last


def day_ranges() -> Iterator[Case]:
    for first, last in ((date(2025, 4, 3), date(2025, 4, 15)), (date(2024, 12, 20), date(2025, 1, 10))):
        same_month, same_year = first.month == last.month, first.year == last.year
        a = f"{MONTHS_EN[first.month]} {first.day}, {first.year}"
        b = f"{MONTHS_EN[last.month]} {last.day}, {last.year}"
        said = [
            f"from {a} to {b}",
            f"between {a} and {b}",
            f"from {first.day} {MONTHS_EN[first.month]} to {last.day} {MONTHS_EN[last.month]} {last.year}",
            f"from {MONTHS_EN[first.month]} {first.day} to {b}",
            f"from {first.isoformat()} to {last.isoformat()}",
        ]
        if same_month:
            said += [
                f"from {first.day} to {last.day} {MONTHS_EN[last.month]} {last.year}",
                f"from {MONTHS_EN[first.month]} {first.day} to {last.day}, {last.year}",
                f"{MONTHS_EN[first.month]} {first.day}–{last.day}, {last.year}",
            ]
        yield from (("en", one, first, last) for one in said)
        ja = f"{first.year}年{first.month}月{first.day}日"
        said = [f"{ja}から{last.year}年{last.month}月{last.day}日まで", f"{ja}から{last.month}月{last.day}日まで"]
        if same_month:
            said += [f"{ja}から{last.day}日まで", f"{first.year}年{first.month}月{first.day}〜{last.day}日"]
        yield from (("ja", one, first, last) for one in said)
        ko = f"{first.year}년 {first.month}월 {first.day}일"
        said = [
            f"{ko}부터 {last.year}년 {last.month}월 {last.day}일까지",
            f"{ko}부터 {last.month}월 {last.day}일까지의",
        ]
        if same_month:
            said += [f"{ko}부터 {last.day}일까지"]
        assert same_year or last.year == first.year + 1
        yield from (("ko", one, first, last) for one in said)


def longer_ranges() -> Iterator[Case]:
    year, spring = (date(2024, 1, 1), date(2025, 12, 31)), (date(2025, 1, 1), date(2025, 9, 30))
    for said in ("from 2024 to 2025", "between 2024 and 2025", "from 2024 through 2025", "2024–2025"):
        yield "en", said, *year
    for said in ("2024年から2025年まで", "2024年〜2025年", "2024年から2025年の間", "令和6年から令和7年まで"):
        yield "ja", said, *year
    for said in ("2024년부터 2025년까지", "2024년부터 2025년까지의", "2024년~2025년"):
        yield "ko", said, *year
    for said in (
        "from Q1 to Q3 2025",
        "from Q1 2025 to Q3 2025",
        "between Q1 and Q3 2025",
        "from the first quarter to the third quarter of 2025",
        "Q1–Q3 2025",
    ):
        yield "en", said, *spring
    for said in ("2025年第1四半期から第3四半期まで", "2025年第1〜3四半期", "2025年Q1からQ3まで"):
        yield "ja", said, *spring
    for said in ("2025년 1분기부터 3분기까지", "2025년 1~3분기", "2025년 1분기부터 2025년 3분기까지의"):
        yield "ko", said, *spring
    yield "ja", "2024年度から2025年度まで", date(2024, 4, 1), date(2026, 3, 31)
    yield "ja", "2025年度第1四半期から第3四半期まで", date(2025, 4, 1), date(2025, 12, 31)


def open_ranges() -> Iterator[Case]:
    last, first = date(2100, 1, 1), date(1900, 1, 1)
    for said in ("since April 2025", "since April 1, 2025", "from April 2025 on", "from April 2025 onwards"):
        yield "en", said, date(2025, 4, 1), last
    yield "en", "after April 2025", date(2025, 5, 1), last
    yield "en", "before April 2025", first, date(2025, 3, 31)
    yield "en", "until April 2025", first, date(2025, 4, 30)
    yield "en", "through April 2025", first, date(2025, 4, 30)
    yield "en", "since 2025", date(2025, 1, 1), last
    for said in ("2025年4月以降", "2025年4月から", "2025年4月1日以降", "2025年4月以後"):
        yield "ja", said, date(2025, 4, 1), last
    yield "ja", "2025年4月まで", first, date(2025, 4, 30)
    yield "ja", "2025年4月より前", first, date(2025, 3, 31)
    for said in ("2025년 4월 이후", "2025년 4월부터", "2025년 4월부터의", "2025년 4월 1일 이후"):
        yield "ko", said, date(2025, 4, 1), last
    yield "ko", "2025년 4월까지의", first, date(2025, 4, 30)


def single_periods() -> Iterator[Case]:
    april, spring = (date(2025, 4, 1), date(2025, 4, 30)), (date(2025, 4, 1), date(2025, 6, 30))
    for said in ("in April 2025", "for April 2025", "in 2025-04"):
        yield "en", said, *april
    yield "ja", "2025年4月", *april
    yield "ko", "2025년 4월의", *april
    for said in ("in Q2 2025", "in the second quarter of 2025", "for 2025 Q2", "in Q2 of 2025"):
        yield "en", said, *spring
    yield "ja", "2025年第2四半期", *spring
    yield "ja", "2025年度第1四半期", *spring
    yield "ko", "2025년 2분기", *spring
    yield "ja", "2025年度", date(2025, 4, 1), date(2026, 3, 31)
    yield "ja", "令和7年度", date(2025, 4, 1), date(2026, 3, 31)
    yield "en", "in the first half of 2025", date(2025, 1, 1), date(2025, 6, 30)
    yield "ja", "2025年上半期", date(2025, 1, 1), date(2025, 6, 30)
    yield "ko", "2025년 하반기", date(2025, 7, 1), date(2025, 12, 31)
    yield "en", "on April 3, 2025", date(2025, 4, 3), date(2025, 4, 3)


CASES = [
    *month_ranges(),
    *day_ranges(),
    *longer_ranges(),
    *open_ranges(),
    *single_periods(),
]


@pytest.mark.parametrize(("language", "said", "first", "last"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_a_period_is_what_the_calendar_says(language: str, said: str, first: date, last: date) -> None:
    expected = total(first, last)
    assert answer(ASKED[language].format(said), TABLES[language]) == (expected or None)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "from April to June"),  # of which of four years?
        ("en", "from April 2025"),  # since then, or in it?
        ("en", "in April and June 2025"),
        ("en", "in fiscal year 2025"),
        ("en", "in FY2025"),
        ("en", "from June 2025 to April 2025"),
        ("en", "from February 30, 2025 to March 2025"),
        ("en", "since April 2025 until June 2025 and 2026"),
        ("en", "in month 13 of 2025"),
        ("en", "last month"),
        ("ja", "4月から6月まで"),
        ("ja", "2025年4月と6月"),
        ("ja", "2025年13月"),
        ("ja", "先月"),
        ("ja", "2025年4月から6月までと2026年1月"),
        ("ko", "4월부터 6월까지"),
        ("ko", "2025년 4월과 6월"),
        ("ko", "지난달"),
    ],
)
def test_what_is_not_clear_is_refused(language: str, said: str) -> None:
    with pytest.raises(NotUnderstoodError):
        plan(ASKED[language].format(said), TABLES[language])


def test_a_range_of_days_is_refused_where_the_cells_are_months() -> None:
    months = table("Month | Sales\n2025-03 | 1\n2025-04 | 20\n2025-05 | 300\n2025-06 | 4000")
    assert answer("What is the total of sales from April 2025 to June 2025?", months) == 4320
    with pytest.raises(NotUnderstoodError):
        plan("What is the total of sales from April 10, 2025 to June 2025?", months)


def test_the_only_year_of_a_table_needs_no_word() -> None:
    one = table(
        "Date | Sales\n2025-03-01 | 1\n2025-04-02 | 20\n2025-05-03 | 300\n2025-06-04 | 4000\n2025-07-05 | 50000"
    )
    assert answer("What is the total of sales from April to June?", one) == 4320
    assert answer("What is the total of sales since May?", one) == 54300


# ---------------------------------------------------------------- months, quarters and years in columns of their own

MONTHLY = {
    "en": "Month | Sales\n" + "\n".join(f"{MONTHS_EN[n]} | {10**n % 9973 + n}" for n in range(1, 13)),
    "ja": "月 | 売上高\n" + "\n".join(f"{n}月 | {10**n % 9973 + n}" for n in range(1, 13)),
    "ko": "월 | 매출\n" + "\n".join(f"{n}월 | {10**n % 9973 + n}" for n in range(1, 13)),
}
SUM_OF_MONTHS = {(a, b): sum(10**n % 9973 + n for n in range(a, b + 1)) for a in range(1, 13) for b in range(a, 13)}


@pytest.mark.parametrize(
    ("language", "said", "months"),
    [
        ("en", "from April to June", (4, 6)),
        ("en", "between April and June", (4, 6)),
        ("en", "in May", (5, 5)),
        ("en", "since October", (10, 12)),
        ("en", "in the second quarter", (4, 6)),
        ("ja", "4月から6月まで", (4, 6)),
        ("ja", "4〜6月", (4, 6)),
        ("ja", "5月", (5, 5)),
        ("ja", "10月以降", (10, 12)),
        ("ko", "4월부터 6월까지", (4, 6)),
        ("ko", "5월의", (5, 5)),
    ],
)
def test_a_column_of_months_has_an_order(language: str, said: str, months: tuple[int, int]) -> None:
    asked = table(MONTHLY[language], HEADERS[language])
    assert answer(ASKED[language].format(said), asked) == SUM_OF_MONTHS[months]


def test_a_column_of_months_beside_one_of_years() -> None:
    rows = [(year, month, year + 7 * month) for year in (2024, 2025) for month in range(1, 13)]
    asked = table("Year | Month | Sales\n" + "\n".join(f"{y} | {MONTHS_EN[m]} | {v}" for y, m, v in rows))
    said = "What is the total of sales from November 2024 to February 2025?"
    assert answer(said, asked) == sum(v for y, m, v in rows if (2024, 11) <= (y, m) <= (2025, 2))
    with pytest.raises(NotUnderstoodError):
        plan("What is the total of sales from April to June?", asked)


@pytest.mark.parametrize(
    ("said", "years"),
    [
        ("from 2022 to 2024", (2022, 2024)),
        ("between 2022 and 2024", (2022, 2024)),
        ("since 2023", (2023, 2025)),
        ("in 2023", (2023, 2023)),
        ("before 2023", (2021, 2022)),
    ],
)
def test_a_column_of_years_has_an_order(said: str, years: tuple[int, int]) -> None:
    asked = table("Year | Sales\n" + "\n".join(f"{year} | {year % 7 + year}" for year in range(2021, 2026)))
    assert answer(ASKED["en"].format(said), asked) == sum(y % 7 + y for y in range(years[0], years[1] + 1))


@pytest.mark.parametrize(
    "said", ["from Anna to Cyril", "from Anna through Cyril", "between Anna and Cyril", "since Anna", "until Cyril"]
)
def test_values_without_an_order_make_no_range(said: str) -> None:
    asked = table("Name | Sales\nAnna | 1\nBo | 2\nCyril | 3")
    with pytest.raises(NotUnderstoodError):
        plan(ASKED["en"].format(said), asked)
