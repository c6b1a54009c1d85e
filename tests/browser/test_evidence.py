"""From uploaded files to marked places beside the answer: a PDF with a table and a figure, Word, Excel, Markdown."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import docx
import pytest
from playwright.sync_api import Page, expect
from reportlab.graphics.charts.barcharts import VerticalBarChart  # type: ignore[import-untyped]
from reportlab.graphics.shapes import Drawing  # type: ignore[import-untyped]
from reportlab.lib.styles import getSampleStyleSheet  # type: ignore[import-untyped]
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table  # type: ignore[import-untyped]

from tests import samples
from tests.browser.conftest import Site
from tests.browser.test_source_panel import is_within
from tests.web import add_user

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Picture = Callable[[Page, str], None]
COSTS = "The inspection of pump P7 costs 480 EUR and takes half a day."
ROWS = (("Pump", "Inspections", "Cost"), ("P6", "4", "1,200 EUR"), ("P7", "2", "960 EUR"), ("P8", "7", "3,100 EUR"))
GUIDE_KO = """# 회의실 안내

## 예약

- 회의실은 **두 시간**까지 예약할 수 있습니다.
- 취소는 하루 전까지 해야 합니다.

| 회의실 | 정원 |
|---|---|
| 한강 | 12명 |
| 설악 | 30명 |
"""


def report() -> bytes:
    """A PDF of three pages; the second has a paragraph, a ruled table and a bar chart."""
    stream, styles = io.BytesIO(), getSampleStyleSheet()
    chart = VerticalBarChart()
    chart.x, chart.y, chart.width, chart.height = 40, 20, 300, 140
    chart.data = [[4, 2, 7]]
    chart.categoryAxis.categoryNames = ["P6", "P7", "P8"]
    drawing = Drawing(400, 180)
    drawing.add(chart)
    table = Table(ROWS, style=[("GRID", (0, 0), (-1, -1), 0.5, "black")])
    SimpleDocTemplate(stream, title="Pumps in 2026").build(
        [
            Paragraph("Pumps in 2026", styles["Title"]),
            PageBreak(),
            Paragraph("Inspections", styles["Heading1"]),
            Paragraph(COSTS, styles["BodyText"]),
            Spacer(1, 12),
            table,
            drawing,
            PageBreak(),
            Paragraph("Nothing else happened.", styles["BodyText"]),
        ]
    )
    return stream.getvalue()


def manual() -> bytes:
    """A Word document in Japanese with headings, a list and a table."""
    document = docx.Document()
    document.add_heading("実験室の手引き", 0)
    document.add_heading("廃液", 1)
    document.add_paragraph("有機溶媒の廃液は毎週金曜日に赤い容器へ入れて回収に出します。")
    document.add_paragraph("容器のふたは必ず閉めてください。", style="List Bullet")
    table = document.add_table(rows=0, cols=2)
    for cells in (("種類", "容器"), ("有機溶媒", "赤"), ("酸", "青")):
        for cell, text in zip(table.add_row().cells, cells, strict=True):
            cell.text = text
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def upload(page: Page, files: Sequence[Path]) -> None:
    """Add files to a new dataset, and wait until all are read and indexed."""
    page.get_by_label("Name", exact=True).first.fill("Evidence")
    page.keyboard.press("Enter")
    page.locator("#files").set_input_files(list(files))
    expect(page.locator(".documents li .state", has_text="Done")).to_have_count(len(files), timeout=60_000)


def test_each_format_is_read_beside_the_answer_with_its_place_marked(
    open_anonymous: Open, site: Site, jobs: None, picture: Picture, tmp_path: Path
) -> None:
    files = {
        "pumps.pdf": report(),
        "手引き.docx": manual(),
        "안내.md": GUIDE_KO.encode(),
        "staff.xlsx": samples.xlsx_staff(60),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    visitor = [site.cookie(add_user(site.app, "Reader of evidence").name)]
    upload(open_anonymous("datasets", cookies=visitor), [tmp_path / name for name in files])
    for name, locale, question, marked in (
        ("pdf", "en-US", "What does the inspection of pump P7 cost?", ""),
        ("docx", "ja-JP", "有機溶媒の廃液は何曜日に回収に出しますか", "毎週金曜日に赤い容器へ"),
        ("md", "ko-KR", "회의실은 몇 시간까지 예약할 수 있나요?", "두 시간"),
        ("xlsx", "en-US", "When did Person 41 start?", "Person"),
    ):
        page = open_anonymous("chat", cookies=visitor, locale=locale)
        page.locator("#text").fill(question)
        page.keyboard.press("Enter")
        cite = page.locator(".turn:not(.pending) .prose a.cite").first
        expect(cite).to_be_visible(timeout=30_000)
        cite.click()
        expect(page.locator("#panel #cited")).to_be_visible()
        if marked:
            expect(page.locator("#panel mark", has_text=marked).first).to_be_visible()
        else:
            expect(page.locator("#panel svg rect.mark").first).to_be_visible()
        assert is_within(page), name
        picture(page, f"evidence-{name}")
        page.context.close()
