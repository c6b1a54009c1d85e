"""From uploaded files to marked places beside the answer: PDF files of a hundred pages, scans, tables, other formats.

All files are uploaded once, and each question is asked in the chat.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import docx
import openpyxl
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from braid.core.ingest.scans.program import find_tesseract
from tests import long_reports, more_samples, samples, scans
from tests.browser.conftest import Site, opening, overflow
from tests.browser.test_source_panel import is_within
from tests.core.ingest.test_reading_order import drawn, side_by_side
from tests.web import add_user

pytestmark = pytest.mark.browser
with_tesseract = pytest.mark.skipif(find_tesseract() is None, reason="Tesseract is not installed")

Picture = Callable[[Page, str], None]
LOCALES = {"en": "en-GB", "ja": "ja-JP", "ko": "ko-KR"}
IS_SCAN = {"en": "This page is a scan.", "ja": "このページはスキャンです。", "ko": "스캔한 페이지예요."}
GUIDE_KO = """# 회의실 안내

## 예약

- 회의실은 **두 시간**까지 예약할 수 있습니다.
- 취소는 하루 전까지 해야 합니다.

| 회의실 | 정원 |
|---|---|
| 한강 | 12명 |
| 설악 | 30명 |
"""


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
    "en": ("What is the total salary of the Sales department?", "Total of Salary: 270,000 EUR", "Person 0"),
    "ja": ("店舗ごとの売上の合計を教えてください。", "¥2,550,000", "渋谷店"),
    "ko": ("직원 수가 가장 많은 지점은 어디인가요?", "직원 수 최댓값: 강남점 · 12", "강남점"),
}


def workbook() -> bytes:
    """A workbook of three sheets, in three languages."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in SHEETS.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


FILLER = ["The parties agree on the following terms of delivery.", "Each order is confirmed within two days."] * 4
KOREAN = ["계약 기간은 삼 년으로 하며 갱신할 수 있습니다.", "보증금은 돌려주지 않습니다."] * 8
JAPANESE = ["契約の期間は三年とし、更新することができる。", "保証金は返還しない。"] * 3


def scanned_files() -> dict[str, bytes]:
    """Scans: askew, turned, on the second page only, and as pictures."""
    return {
        "contract.pdf": scans.pdf([scans.page([*FILLER, "The penalty is nine percent per week.", *FILLER], skew=2)]),
        "rotated.pdf": scans.pdf([scans.page([*FILLER, "The elevator carries eleven persons.", *FILLER], turn=90)]),
        "half.pdf": scans.pdf([FILLER, scans.page([*FILLER, "The warehouse opens at sunrise.", *FILLER])]),
        "receipt.jpg": scans.encoded(scans.page([*FILLER, "Paid in cash to the florist.", *FILLER]), "JPEG"),
        "gyeyak.pdf": scans.pdf([scans.page(KOREAN, "ko", columns=2)]),
        "keiyaku.png": scans.encoded(scans.page(JAPANESE, "ja")),
    }


def text_files() -> dict[str, bytes]:
    """Files that are read at once."""
    renovation = "The renovation of the reading room ends on 14 May. Use the annex until then."
    return {
        **{f"report-{language}.pdf": long_reports.report(language) for language in LOCALES},
        "paper.pdf": drawn(side_by_side(), side_by_side()),
        "手引き.docx": manual(),
        "회의.md": GUIDE_KO.encode(),
        "company.xlsx": workbook(),
        "staff.xlsx": samples.xlsx_staff(60),
        "안내.hwpx": more_samples.hwpx_guide(),
        "案内.odt": more_samples.odt_manual(),
        "renovation.msg": more_samples.msg(renovation),
    }


@dataclass(frozen=True)
class Reader:
    """Somebody who has uploaded all files into one dataset, with a page of the browser for each language."""

    site: Site
    dataset: str
    pages: dict[str, Page]

    def asks(self, language: str, question: str) -> Page:
        """Ask in the chat about the dataset, and wait for the answer."""
        page = self.pages[language]
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(f"{self.site.url}chat?d={self.dataset}")
        page.locator("#text").fill(question)
        page.keyboard.press("Enter")
        expect(page.locator(".turn:not(.pending) .prose a.cite").first).to_be_visible()
        return page

    def opens(self, language: str, question: str) -> tuple[Page, Locator]:
        """Ask, and open the first citation beside the answer."""
        page = self.asks(language, question)
        page.locator(".turn .prose a.cite").first.click()
        expect(page.locator("#panel #cited")).to_be_visible()  # its page is drawn
        assert is_within(page), question
        return page, page.locator("#panel")


@pytest.fixture(scope="module")
def reader(chromium: Browser, site: Site, jobs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("evidence")
    files = text_files() | (scanned_files() if find_tesseract() else {})
    for name, content in files.items():
        (folder / name).write_bytes(content)
    name = add_user(site.app, "Reader of evidence").name
    with opening(chromium, site) as open_with:
        pages = {key: open_with("datasets", cookies=[site.cookie(name)], locale=each) for key, each in LOCALES.items()}
        page = pages["en"]
        page.get_by_label("Name", exact=True).first.fill("Evidence")
        page.keyboard.press("Enter")
        page.locator("#files").set_input_files([folder / each for each in files])
        for each in text_files():
            row = page.locator(".documents tr[id^=document]", has_text=each)
            expect(row.locator(".state")).to_have_text("Done", ignore_case=True)
        yield Reader(site, re.findall(r"/datasets/(\d+)", page.url)[0], pages)


def covers(panel: Locator, words: str) -> bool:
    """Whether a mark lies on the line of the page's picture that has these words."""
    return bool(
        panel.evaluate(
            "(panel, words) => { const box = one => one.getBoundingClientRect();"
            " const lines = [...panel.querySelectorAll('svg text')].filter(one => one.textContent.includes(words));"
            " const marks = [...panel.querySelectorAll('svg .mark')].map(box);"
            " return lines.length > 0 && lines.every(line => marks.some(mark =>"
            " mark.left < box(line).right && mark.right > box(line).left"
            " && mark.top <= (box(line).top + box(line).bottom) / 2"
            " && mark.bottom >= (box(line).top + box(line).bottom) / 2)) }",
            words,
        )
    )


@pytest.mark.parametrize(
    ("language", "kind", "question", "number", "words", "answer"),
    [
        (
            "en",
            "fact",
            "Where does the gatekeeper keep the spare lantern?",
            58,
            "The gatekeeper of the northern",
            "under the staircase",
        ),
        ("en", "table", "What did Pump P83 cost?", 85, "Pump P83", "Pump P83 · Cost: 83,400 EUR"),
        ("en", "figure", "What was the inflow of reservoir R91?", 91, "Figure 91", "Figure 91: inflow"),
        ("ja", "fact", "北水門の番人は予備の提灯をどこにしまっていますか。", 58, "北水門の番人は", "階段の下"),
        ("ja", "table", "ポンプP83の点検の費用はいくらですか。", 85, "ポンプP83", "ポンプP83 · 費用: 83万円"),
        ("ja", "figure", "貯水池R91の流入量の図はどこですか。", 91, "図91", "貯水池R91の四半期ごとの流入量"),
        ("ko", "fact", "북쪽 수문의 문지기는 예비 등불을 어디에 보관하나요?", 58, "북쪽 수문의 문지기는", "계단 밑에"),
        ("ko", "table", "펌프 P33의 점검 비용은 얼마인가요?", 35, "펌프 P33", "펌프 P33 · 비용: 33만 원"),
        ("ko", "figure", "그림 91은 저수지 R91의 무엇을 보여 주나요?", 91, "그림 91", "분기별 유입량"),
    ],
)
def test_a_report_of_a_hundred_pages_opens_at_the_place(
    reader: Reader, picture: Picture, language: str, kind: str, question: str, number: int, words: str, answer: str
) -> None:
    page, panel = reader.opens(language, question)
    expect(page.locator(".turn").last.locator(".prose").first).to_contain_text(answer)
    expect(panel.locator("svg image")).to_have_attribute("href", re.compile(rf"/page/{number}\.png"))
    assert covers(panel, words)
    picture(page, f"evidence-report-{language}-{kind}")


@pytest.mark.parametrize(
    ("kind", "language", "question", "marked"),
    [
        ("docx", "ja", "有機溶媒の廃液は何曜日に回収に出しますか", "毎週金曜日に赤い容器へ"),
        ("md", "ko", "회의실은 몇 시간까지 예약할 수 있나요?", "두 시간"),
        ("xlsx", "en", "When did Person 41 start?", "Person 41"),
        ("hwpx", "ko", "대출은 한 사람에 몇 권까지인가요?", "대출은 한 사람에 열 권까지이고 기간은 두 주일입니다."),
        ("odt", "ja", "貸出は一人につき何冊までですか。", "貸出は一人につき十冊まで、期間は二週間です。"),
        (
            "msg",
            "en",
            "When does the renovation of the reading room end?",
            "The renovation of the reading room ends on",
        ),
        ("paper", "en", "What does fusion keep about the first hits?", "It keeps how far the first hits stand out"),
    ],
)
def test_each_format_is_read_beside_the_answer_with_its_place_marked(
    reader: Reader, picture: Picture, kind: str, language: str, question: str, marked: str
) -> None:
    page, panel = reader.opens(language, question)
    if kind == "paper":
        expect(panel.locator("svg .mark").first).to_be_visible()
        picture(page, "evidence-two-columns")
        panel.get_by_role("link", name="As text").click()
    expect(panel.locator("mark", has_text=marked).first).to_be_visible()
    picture(page, f"evidence-{kind}")


@pytest.mark.parametrize("language", ASKED)
def test_what_is_calculated_from_a_sheet_shows_its_sql_its_rows_and_its_source(
    reader: Reader, picture: Picture, language: str
) -> None:
    question, answer, row = ASKED[language]
    page = reader.asks(language, question)
    turn = page.locator(".turn:not(.pending)").last
    expect(turn).to_contain_text(answer)
    expect(turn.locator("table").first).to_contain_text(row)
    turn.locator("details.how > summary").click()
    expect(turn.locator("details.how code").filter(has_text="SELECT")).to_be_visible()
    turn.locator("details.how > summary").click()
    picture(page, f"calculated-{language}")
    page.set_viewport_size({"width": 390, "height": 800})
    assert overflow(page) == 0
    picture(page, f"calculated-{language}-phone")
    turn.locator("a.cite").first.click()
    expect(page.locator("main #cited")).to_be_visible()
    expect(page.locator("main")).to_contain_text(row)
    picture(page, f"calculated-{language}-cited")
    assert overflow(page) == 0


@with_tesseract
@pytest.mark.parametrize(
    ("name", "language", "question", "words"),
    [
        ("contract", "en", "What percent is the penalty per week?", "The penalty is nine percent"),
        ("rotated", "en", "How many persons does the elevator carry?", "The elevator carries eleven persons"),
        ("half", "en", "When does the warehouse open at sunrise?", "The warehouse opens at sunrise"),
        ("receipt", "en", "Who was paid in cash, the florist?", "Paid in cash to the florist"),
        ("gyeyak", "ko", "보증금은 돌려주나요?", "보증금은 돌려주지 않습니다."),
        ("keiyaku", "ja", "保証金は返還されますか。", "保証金は返還しない"),
    ],
)
def test_scans_are_read_asked_about_and_marked_on_their_pictures(
    reader: Reader, picture: Picture, name: str, language: str, question: str, words: str
) -> None:
    page = reader.pages["en"]
    page.goto(f"{reader.site.url}datasets/{reader.dataset}")
    row = page.locator(".documents tr[id^=document]", has_text=name)
    expect(row.locator(".state")).to_have_text("Done", ignore_case=True)
    expect(row.locator("[data-label=Passages]")).to_have_text(re.compile(r"\d"))
    expect(row).not_to_contain_text("is pending for")
    page, panel = reader.opens(language, question)
    expect(panel).to_contain_text(IS_SCAN[language])
    assert covers(panel, words)
    picture(page, f"evidence-scan-{name}")
