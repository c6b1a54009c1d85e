"""Made-up reports of a hundred pages as PDF files, with chapters, tables and figures, in three languages."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from dataclasses import dataclass

from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

PAGES, PAGES_OF_CHAPTER = 100, 10
TABLE_EVERY, FIGURE_EVERY = 5, 7
FACT_PAGE = 58
WIDTH, LEFT, RIGHT = 595, 60, 535
_PARAGRAPHS, _BESIDE_FIGURE, _SENTENCES = 7, 4, 5


@dataclass(frozen=True)
class Report:
    """A report's words; ``sentences``, ``row`` and captions take numbers."""

    font: str
    head: str
    chapters: tuple[str, ...]
    sentences: tuple[str, ...]
    fact: str
    """A sentence on page `FACT_PAGE` alone, within a paragraph."""
    columns: tuple[str, str, str]
    row: tuple[str, str, str]
    table: str
    figure: str


REPORTS = {
    "en": Report(
        "Times-Roman",
        "Report on the waterworks",
        ("Reservoirs", "Pumps", "Pipes", "Wells", "Quality", "Staff", "Costs", "Storms", "Neighbours", "Outlook"),
        (
            "Basin {n} was inspected on {d} May, and its level had not changed since the last visit.",
            "The inlet of gallery {n} was cleaned by two people in {m} hours.",
            "Samples from well {n} were clear, without smell, and {m} degrees cold.",
            "The screens of channel {n} held back {m} kilograms of leaves during the week.",
            "A valve of line {n} closed slowly, so it was greased and tried {m} more times.",
            "The meter of zone {n} was read again because it differed from the year before by {m} percent.",
        ),
        "The gatekeeper of the northern sluice keeps the spare lantern under the staircase.",
        ("Pump", "Inspections", "Cost"),
        ("Pump P{n}", "{n}", "{n},400 EUR"),
        "Table {n}: Inspections and their cost",
        "Figure {n}: inflow of reservoir R{n} by quarter",
    ),
    "ja": Report(
        "HeiseiMin-W3",
        "水道施設の報告書",
        ("貯水池", "ポンプ", "管路", "井戸", "水質", "職員", "費用", "大雨", "近隣", "今後"),
        (
            "第{n}水槽は5月{d}日に点検し、水位は前回から変わっていませんでした。",
            "第{n}導水路の取水口は二人で{m}時間かけて清掃しました。",
            "第{n}井戸の試料は透明で、においもなく、水温は{m}度でした。",
            "第{n}水路の網には一週間で{m}キログラムの落ち葉がかかりました。",
            "第{n}管路の弁は閉まりが遅かったため、油を差して{m}回試しました。",
            "第{n}配水区の計量器は、前年との差が{m}パーセントあったため、読み直しました。",
        ),
        "北水門の番人は、予備の提灯を階段の下にしまっています。",
        ("ポンプ", "点検回数", "費用"),
        ("ポンプP{n}", "{n}回", "{n}万円"),
        "表{n}　点検回数と費用",
        "図{n}　貯水池R{n}の四半期ごとの流入量",
    ),
    "ko": Report(
        "HYSMyeongJo-Medium",
        "상수도 시설 보고서",
        ("저수지", "펌프", "관로", "우물", "수질", "직원", "비용", "폭우", "이웃", "전망"),
        (
            "제{n} 수조는 5월 {d}일에 점검했으며 수위는 지난번과 같았습니다.",
            "제{n} 수로의 취수구는 두 사람이 {m}시간 동안 청소했습니다.",
            "제{n} 우물의 시료는 맑고 냄새가 없었으며 수온은 {m}도였습니다.",
            "제{n} 수로의 거름망에는 일주일 동안 낙엽 {m}킬로그램이 걸렸습니다.",
            "제{n} 관로의 밸브는 천천히 닫혀서 기름을 치고 {m}번 더 시험했습니다.",
            "제{n} 급수 구역의 계량기는 지난해와 {m}퍼센트 차이가 나서 다시 읽었습니다.",
        ),
        "북쪽 수문의 문지기는 예비 등불을 계단 밑에 보관합니다.",
        ("펌프", "점검 횟수", "비용"),
        ("펌프 P{n}", "{n}회", "{n}만 원"),
        "표 {n}: 점검 횟수와 비용",
        "그림 {n}: 저수지 R{n}의 분기별 유입량",
    ),
}


def report(language: str) -> bytes:
    """Return a report: a running head and a number on each page, headings, paragraphs, ruled tables and bar charts."""
    words = REPORTS[language]
    if language != "en":
        pdfmetrics.registerFont(UnicodeCIDFont(words.font))
    stream, dice = io.BytesIO(), random.Random(7)
    canvas = Canvas(stream, pagesize=(WIDTH, 842))
    canvas.setTitle(words.head)
    for page in range(1, PAGES + 1):
        canvas.setFont(words.font, 8)
        canvas.drawString(LEFT, 805, words.head)
        canvas.drawCentredString(WIDTH / 2, 30, str(page))
        top = _draw_headings(canvas, words, page)
        has_more = page % TABLE_EVERY == 0 or page % FIGURE_EVERY == 0
        for number in range(_BESIDE_FIGURE if has_more else _PARAGRAPHS):
            is_there = page == FACT_PAGE and number == 2
            top = _draw_paragraph(canvas, words, _paragraph(words, page, dice, words.fact if is_there else ""), top)
        if page % TABLE_EVERY == 0:
            _draw_table(canvas, words, page, top - 20)
        elif page % FIGURE_EVERY == 0:
            _draw_figure(canvas, words, page, top - 20)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def _draw_headings(canvas: Canvas, words: Report, page: int) -> float:
    """Draw the heading of a chapter that begins here, or of a section; returns where the text begins."""
    chapter, section = divmod(page - 1, PAGES_OF_CHAPTER)
    name = words.chapters[chapter]
    if page == 1:
        canvas.setFont(words.font, 24)
        canvas.drawString(LEFT, 750, words.head)
    canvas.setFont(words.font, 12 if section else 17)
    canvas.drawString(LEFT, 715, f"{chapter + 1}.{section}  {name}" if section else f"{chapter + 1}  {name}")
    return 685


def _paragraph(words: Report, page: int, dice: random.Random, fact: str) -> str:
    said = [
        sentence.format(n=page * 100 + dice.randrange(100), m=dice.randrange(2, 30), d=dice.randrange(1, 32))
        for sentence in dice.sample(words.sentences, _SENTENCES)
    ]
    if fact:
        said[2] = fact
    return ("" if words is REPORTS["ja"] else " ").join(said)


def _draw_paragraph(canvas: Canvas, words: Report, text: str, top: float) -> float:
    canvas.setFont(words.font, 10)
    for line in _lines(words, text):
        canvas.drawString(LEFT, top, line)
        top -= 15
    return top - 9


def _lines(words: Report, text: str) -> Iterator[str]:
    gap = "" if words is REPORTS["ja"] else " "
    line = ""
    for piece in text if words is REPORTS["ja"] else text.split():
        longer = f"{line}{gap}{piece}" if line else piece
        if pdfmetrics.stringWidth(longer, words.font, 10) > RIGHT - LEFT:
            yield line
            longer = piece
        line = longer
    yield line


def _draw_table(canvas: Canvas, words: Report, page: int, top: float) -> None:
    """Draw the caption and a row for each of the five pages up to this one."""
    rows = [words.columns, *(tuple(cell.format(n=n) for cell in words.row) for n in range(page - 4, page + 1))]
    width, height = 150, 20
    canvas.drawString(LEFT, top, words.table.format(n=page))
    top -= 10
    canvas.grid([LEFT + width * column for column in range(4)], [top - height * line for line in range(len(rows) + 1)])
    for line, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            canvas.drawString(LEFT + width * column + 6, top - height * line - 14, cell)


def _draw_figure(canvas: Canvas, words: Report, page: int, top: float) -> None:
    """Draw bars on an axis, and the caption below."""
    bottom = top - 150
    canvas.line(LEFT + 20, bottom, LEFT + 20, top)
    canvas.line(LEFT + 20, bottom, RIGHT - 60, bottom)
    canvas.setFillGray(0.45)
    for quarter in range(4):
        canvas.rect(LEFT + 45 + 90 * quarter, bottom, 50, 40 + (page * (quarter + 3)) % 90, fill=1, stroke=0)
    canvas.setFillGray(0)
    canvas.drawString(LEFT, bottom - 25, words.figure.format(n=page))
