"""Periods that are counted from today, in three languages."""

from __future__ import annotations

from datetime import date

import pytest

from braid.core.text.normalization import fold
from braid.core.text.relative_periods import relative_periods

TODAY = date(2026, 2, 10)
"""A Tuesday in the last quarter of a 年度."""


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("the minutes of last month", "2026-01", "2026-01"),
        ("先月の議事録", "2026-01", "2026-01"),
        ("지난달 회의록", "2026-01", "2026-01"),
        ("先々月の", "2025-12", "2025-12"),
        ("last year's reports", "2025", "2025"),
        ("昨年の", "2025", "2025"),
        ("一昨年の", "2024", "2024"),
        ("작년 보고서", "2025", "2025"),
        ("昨年度の資料", "2024-04", "2025-03"),
        ("今年度の資料", "2025-04", "2026-03"),
        ("一昨年度の資料", "2023-04", "2024-03"),
        ("last quarter", "2025-10", "2025-12"),
        ("지난 분기", "2025-10", "2025-12"),
        ("last week", "2026-02-02", "2026-02-08"),
        ("先週", "2026-02-02", "2026-02-08"),
        ("yesterday", "2026-02-09", "2026-02-09"),
        ("in the last 30 days", "2026-01-11", "2026-02-10"),
        ("過去3か月の資料", "2025-11-10", "2026-02-10"),
        ("최근 2주 동안", "2026-01-27", "2026-02-10"),
    ],
)
def test_the_period_is_counted_from_today(text: str, first: str, last: str) -> None:
    [period] = relative_periods(fold(text), TODAY)
    assert (period.first, period.last) == (first, last)


@pytest.mark.parametrize(
    "text", ["先月比で何％か", "작년 대비 매출", "the last month of 2023", "a lasting year", "last fiscal year"]
)
def test_comparisons_and_parts_of_something_else_are_no_periods(text: str) -> None:
    assert relative_periods(fold(text), TODAY) == []


def test_a_period_begins_where_a_longer_word_does() -> None:
    text = fold("昨年度と今年度")
    assert [text[each.start : each.end] for each in relative_periods(text, TODAY)] == ["昨年度", "今年度"]


def test_the_first_year_is_the_earliest() -> None:
    [period] = relative_periods("the last 999 years", TODAY)
    assert period.last == "2026-02-10"
