"""A workbook of three sheets: uploaded, asked about in three languages, its citation opened."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, overflow
from tests.web import add_user

pytestmark = pytest.mark.browser

SHEETS = {
    "Staff": (
        ("Employee", "Department", "Salary"),
        *((f"Person {n}", ("Sales", "Support")[n % 2], f"{40_000 + n * 1_000:,} EUR") for n in range(12)),
        ("Total", None, "546,000 EUR"),
    ),
    "売上": (
        ("店舗", "月", "売上"),
        ("渋谷店", "4月", "¥1,200,000"),
        ("梅田店", "4月", "¥950,000"),
        ("渋谷店", "5月", "¥1,350,000"),
    ),
    "지점": (("지점", "지역", "직원 수"), ("강남점", "서울", 12), ("홍대점", "서울", 8), ("서면점", "부산", 9)),
}
ASKED = {
    "en-GB": ("What is the total salary of the Sales department?", "Total of Salary: 270,000 EUR", "Person 0"),
    "ja-JP": ("店舗ごとの売上の合計を教えてください。", "¥2,550,000", "渋谷店"),
    "ko-KR": ("직원 수가 가장 많은 지점은 어디인가요?", "직원 수 최댓값: 강남점 · 12", "강남점"),
}


def workbook() -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in SHEETS.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_a_workbook_of_three_sheets_is_asked_and_its_citation_opened(
    open_anonymous: Callable[..., Page],
    site: Site,
    jobs: None,
    picture: Callable[[Page, str], None],
    tmp_path: Path,
) -> None:
    visitor = [site.cookie(add_user(site.app, "Reader of tables").name)]
    file = tmp_path / "company.xlsx"
    file.write_bytes(workbook())
    page = open_anonymous("datasets", cookies=visitor, locale="en-GB")
    page.get_by_label("Name", exact=True).first.fill("Company")
    page.keyboard.press("Enter")
    page.locator("#files").set_input_files([file])
    stored = page.locator(".documents li", has=page.get_by_role("link", name="company"))
    expect(stored.locator(".state")).to_have_text("done", timeout=60_000)

    for locale, (question, answer, row) in ASKED.items():
        page = open_anonymous("chat", cookies=visitor, locale=locale)
        page.locator("#text").fill(question)
        page.keyboard.press("Enter")
        turn = page.locator(".turn:not(.pending)").last
        expect(turn).to_contain_text(answer, timeout=30_000)
        expect(turn.locator("pre code")).to_contain_text("SELECT")
        expect(turn.locator("table").first).to_contain_text(row)
        picture(page, f"calculated-{locale[:2]}")
        page.set_viewport_size({"width": 390, "height": 800})
        assert overflow(page) == 0
        picture(page, f"calculated-{locale[:2]}-phone")
        turn.locator("a.cite").first.click()
        expect(page.locator("main")).to_contain_text(row)
        picture(page, f"calculated-{locale[:2]}-cited")
        assert overflow(page) == 0
