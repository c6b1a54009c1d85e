"""Made-up reports of a hundred pages as PDF files, with tables and figures, in three languages."""

from __future__ import annotations

import io
from dataclasses import dataclass

from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

PAGES = 100
TABLE_EVERY, FIGURE_EVERY = 5, 7
FACT_PAGE, LINES = 58, 24


@dataclass(frozen=True)
class Report:
    """A report's words. ``line``, ``row`` and ``caption`` take the page and, a line, its number on the page."""

    font: str
    head: str
    line: str
    fact: str
    """Stands on page `FACT_PAGE` alone."""
    columns: tuple[str, str, str]
    row: tuple[str, str, str]
    caption: str


REPORTS = {
    "en": Report(
        "Times-Roman",
        "Report on the waterworks",
        "Basin {page}.{number} was looked at in the morning, and nothing of note was found there.",
        "The gatekeeper of the northern sluice keeps the spare lantern under the staircase.",
        ("Pump", "Inspections", "Cost"),
        ("Pump P{page}", "{page}", "{page},400 EUR"),
        "Figure {page}: inflow of reservoir R{page} by quarter",
    ),
    "ja": Report(
        "HeiseiMin-W3",
        "水道施設の報告書",
        "第{page}の{number}水槽を朝に点検しましたが、特に異常はありませんでした。",
        "北水門の番人は、予備の提灯を階段の下にしまっています。",
        ("ポンプ", "点検回数", "費用"),
        ("ポンプP{page}", "{page}回", "{page}万円"),
        "図{page}　貯水池R{page}の四半期ごとの流入量",
    ),
    "ko": Report(
        "HYSMyeongJo-Medium",
        "상수도 시설 보고서",
        "제{page}의 {number} 수조를 아침에 점검했으나 특별한 이상은 없었습니다.",
        "북쪽 수문의 문지기는 예비 등불을 계단 밑에 보관합니다.",
        ("펌프", "점검 횟수", "비용"),
        ("펌프 P{page}", "{page}회", "{page}만 원"),
        "그림 {page}: 저수지 R{page}의 분기별 유입량",
    ),
}


def report(language: str) -> bytes:
    """Return a report with a running head and page numbers; tables are ruled, figures are bars with a caption."""
    words = REPORTS[language]
    if language != "en":
        pdfmetrics.registerFont(UnicodeCIDFont(words.font))
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    canvas.setTitle(words.head)
    for page in range(1, PAGES + 1):
        canvas.setFont(words.font, 10)
        canvas.drawString(60, 805, words.head)
        canvas.drawString(290, 30, str(page))
        for number in range(1, LINES + 1):
            is_fact = page == FACT_PAGE and number == LINES // 2
            canvas.drawString(60, 780 - 16 * number, words.fact if is_fact else _filled(words.line, page, number))
        if page % TABLE_EVERY == 0:
            _draw_table(canvas, words, page)
        elif page % FIGURE_EVERY == 0:
            _draw_figure(canvas, words, page)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def _filled(text: str, page: int, number: int = 0) -> str:
    return text.format(page=page, number=number)


def _draw_table(canvas: Canvas, words: Report, page: int) -> None:
    rows = [words.columns, *(tuple(_filled(cell, other) for cell in words.row) for other in range(page - 4, page + 1))]
    left, top, width, height = 60, 360, 150, 20
    canvas.grid([left + width * column for column in range(4)], [top - height * line for line in range(len(rows) + 1)])
    for line, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            canvas.drawString(left + width * column + 6, top - height * line - 14, cell)


def _draw_figure(canvas: Canvas, words: Report, page: int) -> None:
    for quarter in range(4):
        canvas.rect(80 + 100 * quarter, 180, 60, 40 + (page * (quarter + 3)) % 90, fill=1)
    canvas.drawString(60, 150, _filled(words.caption, page))
