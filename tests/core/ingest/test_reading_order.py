"""The text of PDF pages: columns in reading order, lines joined, running heads and page numbers left out."""

from __future__ import annotations

import io
from collections import Counter

import pypdfium2  # type: ignore[import-untyped]
import pytest
from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from braid.core.ingest.readers import ParsedDocument, read_document
from braid.core.ingest.readers.paged import paragraphs
from braid.core.ingest.readers.paged.characters import LinePiece
from braid.core.ingest.readers.paged.layout import Row, block_of
from braid.core.ingest.readers.paged.page_picture import draw_page
from braid.core.originals.placing import find_passage
from tests import samples

LEFT = (
    "Hybrid search asks two indexes at",
    "once and joins what they return. The",
    "first of them knows words, the sec-",
    "ond one knows what they mean, which",
    "is why a well-known question is",
    "answered by either of the two.",
)
RIGHT = (
    "Fusion makes one ranking out of the",
    "two. It keeps how far the first hits",
    "stand out from the rest, so that a",
    "name that is found once is not lost",
    "among passages that only resemble a",
    "well-known question in their words.",
)
JOINED = (
    "The first of them knows words, the second one knows what they mean",
    "which is why a well-known question is answered by either of the two.",
    "It keeps how far the first hits stand out from the rest, so that a name",
)
Cells = tuple[tuple[float, float, str], ...]


def side_by_side(top: float = 700.0) -> Cells:
    """Two columns, drawn line by line across both."""
    rows = zip(LEFT, RIGHT, strict=True)
    return tuple((x, top - 14 * n, text) for n, row in enumerate(rows) for x, text in zip((60, 310), row, strict=True))


def drawn(*pages: Cells, font: str = "Courier", rotated: bool = False) -> bytes:
    """A page for each, of lines with the place where they begin."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    if font != "Courier":
        pdfmetrics.registerFont(UnicodeCIDFont(font))
    for lines in pages:
        canvas.setFont(font, 10)
        if rotated:
            canvas.setPageRotation(90)
            canvas.rotate(90)
            canvas.translate(0, -595)
        for x, y, line in lines:
            canvas.drawString(x, y - (250 if rotated else 0), line)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def read(content: bytes) -> ParsedDocument:
    return read_document("paper.pdf", content, max_bytes=10_000_000)


def text_of(content: bytes) -> str:
    return "\n\n".join(section.text for section in read(content).sections)


@pytest.mark.parametrize("rotated", [False, True], ids=["upright", "rotated"])
def test_columns_are_read_one_after_the_other_whatever_order_they_are_drawn_in(rotated: bool) -> None:
    title = ((60.0, 740.0, "A title that goes over both of the columns of the paper, as titles do"),)
    wide = ((60.0, 590.0, "A wide line between the columns that are above and those that are below it"),)
    content = drawn((*side_by_side(), *side_by_side(top=560), *wide, *title), rotated=rotated)
    text = text_of(content)
    assert text.startswith("A title that goes over both")
    for passage in JOINED:
        assert text.count(passage) == 2
    above, below = text.split(wide[0][2])
    assert above.index("Hybrid search") < above.index("Fusion makes")
    assert below.index("Hybrid search") < below.index("Fusion makes")
    assert "sec-" not in text


def test_a_citation_is_one_place_on_the_page_that_is_shown() -> None:
    page = draw_page(drawn(side_by_side()), 1)
    assert len(page["text"]) == len(page["boxes"])
    [found] = find_passage(JOINED[1], page["text"])
    assert page["text"][found.start : found.stop].split() == JOINED[1].split()


def test_a_table_is_read_row_by_row() -> None:
    rows = [("Engineering", "61,000", "EUR", "2026"), ("Sales and service", "58,200", "EUR", "2026")] * 4
    cells = tuple((60.0 + 120 * x, 700.0 - 20 * y, cell) for y, row in enumerate(rows) for x, cell in enumerate(row))
    assert text_of(drawn(cells)).split("\n")[:2] == [" | ".join(row) for row in rows[:2]]
    two = tuple((60.0 + 300 * x, 700.0 - 20 * y, row[x]) for y, row in enumerate(rows) for x in range(2))
    assert "Engineering | 61,000\n" in text_of(drawn(two)) + "\n"


def test_a_line_break_between_letters_that_touch_in_one_row_is_none() -> None:
    """PDFium takes a page of nothing but a wide table, drawn letter by letter, for one of lines from top to bottom."""
    rows = [(str(100 + number), "Teak batten" if number % 2 else "Larch dowel", "7", "41.50") for number in range(8)]
    content = drawn(
        tuple(
            (left + 6.0 * at, 760 - 17.0 * number, letter)
            for number, cells in enumerate(rows)
            for left, cell in zip((60, 130, 330, 480), cells, strict=True)
            for at, letter in enumerate(cell)
        )
    )
    with pypdfium2.PdfDocument(content) as document:
        said = document[0].get_textpage().get_text_range()
    assert "T\r\ne\r\na\r\nk" in said
    assert text_of(content).split("\n") == [" | ".join(cells) for cells in rows]


def test_a_hyphen_that_is_written_elsewhere_is_kept() -> None:
    text = text_of(
        drawn(((60, 700, "What a well-"), (60, 686, "known one is, the well-known ones"), (60, 672, "say it.")))
    )
    assert text.startswith("What a well-known one is, the well-known ones say it.")


def test_running_heads_and_page_numbers_are_no_part_of_passages() -> None:
    pages = [
        ((60.0, 800.0, "Journal of Search, volume 7"), *side_by_side(), (290.0, 40.0, f"- {number} -"))
        for number in range(1, 5)
    ]
    parsed = read(drawn(*pages))
    assert parsed.metadata["running_heads"] == "Journal of Search, volume 7"
    for number, section in enumerate(parsed.sections, start=1):
        assert section.page == number
        assert section.text.startswith("Hybrid search")
        assert section.text.endswith("in their words.")


def test_what_is_repeated_only_twice_or_within_the_text_is_kept() -> None:
    page = ((60.0, 800.0, "Confidential"), *side_by_side(), (60.0, 40.0, "See the appendix."))
    for text in (text_of(drawn(page, page)), text_of(drawn(page))):
        assert "Confidential" in text
        assert "See the appendix." in text
    repeated = text_of(drawn(*[((60.0, 800.0, "Head"), *side_by_side())] * 3))
    assert repeated.count("Hybrid search asks") == 3


def test_japanese_lines_are_joined_and_latin_words_keep_their_space() -> None:
    lines = [samples.JAPANESE[at : at + 30] for at in range(0, 90, 30)]
    text = text_of(drawn(tuple((60.0, 700.0 - 15 * n, line) for n, line in enumerate(lines)), font="HeiseiMin-W3"))
    assert text == samples.JAPANESE[:90]


def test_korean_lines_that_end_between_words_keep_the_words_apart() -> None:
    text, lines = samples.KOREAN, [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > 24:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    page = tuple((60.0, 700.0 - 15 * n, line) for n, line in enumerate(lines))
    assert text_of(drawn(page, font="HYSMyeongJo-Medium")).split() == text.split()


@pytest.mark.parametrize("width", [24, 25, 27])
def test_korean_words_that_a_line_broke_are_whole_again(width: int) -> None:
    text = samples.KOREAN
    known = f"{text} "
    lines = [text[at : at + width].strip() for at in range(0, len(text), width)]
    page = tuple((60.0, 400.0 - 15 * n, line) for n, line in enumerate(lines))
    before = tuple((60.0, 700.0 - 40 * n, f"그리고 {part} 말했다") for n, part in enumerate(known.split(". ")))
    found = text_of(drawn((*before, *page), font="HYSMyeongJo-Medium"))
    words = text.split()
    assert sum(word in found.split("말했다")[-1].split() for word in words) >= 0.9 * len(words)


def test_narrow_columns_of_korean_that_is_broken_anywhere_keep_its_numbers_and_its_words() -> None:
    columns = (
        (
            "오는 5월 2일부터 여객선 해오름호",
            "가 목포와 우이도 사이를 하루에 두",
            "번 오간다. 첫 배는 오전 7시에 떠",
            "나며 정원은 180명, 자동차는 1",
            "2대까지 싣는다.",
        ),
        (
            "폐교된 분교를 고쳐 만든 도서관이",
            "문을 열었다. 책은 4천 권이고, 화",
            "요일에 쉰다. 관장은 교사 김말순",
            "씨가 맡았다.",
        ),
        ("농협은 6월 10일부터 수매를 시작한", "다. 올해 값은 킬로그램당 5,200원", "으로 늘었다고 농민이 말했다."),
    )
    lines = [
        (50.0 + 175 * at, 700.0 - 15 * n, line) for at, column in enumerate(columns) for n, line in enumerate(column)
    ]
    text = text_of(drawn(((50.0, 740.0, "섬마을 소식 제42호 해오름호의 새 시간표"), *lines), font="HYSMyeongJo-Medium"))
    for said in (
        "해오름호가 목포와",
        "오전 7시에 떠나며 정원은 180명, 자동차는 12대까지 싣는다.",
        "도서관이 문을 열었다.",
        "화요일에 쉰다. 관장은 교사 김말순 씨가 맡았다.",
        "수매를 시작한다. 올해",
        "5,200원으로 늘었다고",
    ):
        assert said in text


def test_a_head_on_two_short_pages_is_said_once_and_is_no_part_of_the_sentence_that_crosses_them() -> None:
    def page(number: int, *lines: str) -> Cells:
        below = ((72.0, 760.0 - 14 * at, line) for at, line in enumerate(lines))
        return ((72.0, 805.0, "Agreement 2025-17"), *below, (250.0, 40.0, f"Page {number} of 2"))

    keeps = "The club shall keep the slipway free of weed, and the council keeps"
    parsed = read(drawn(page(1, keeps), page(2, "the right to close it in times of flood, to clear it", "of mud.")))
    assert [section.text for section in parsed.sections] == [
        f"Agreement 2025-17\n\n{keeps}",
        "the right to close it in times of flood, to clear it of mud.",
    ]
    assert parsed.metadata["running_heads"] == "Agreement 2025-17"


@pytest.mark.parametrize("moment", ["11/27/26, 11:38 PM", "27.11.26, 23:38", "2026/11/27 23:38", "2026. 11. 27. 23:38"])
def test_what_a_browser_prints_around_one_page_is_left_out(moment: str) -> None:
    around = ((30.0, 820.0, moment), (250.0, 820.0, "Pump manual"), (30.0, 20.0, "file:///home/ito/08-manual.html"))
    text = text_of(drawn((*around, (540.0, 20.0, "1/1"), (72.0, 700.0, "Close the valve first."))))
    assert text == "Close the valve first."
    text = text_of(drawn(((30.0, 820.0, moment), (250.0, 820.0, "Log"), (72.0, 700.0, "Close the valve first."))))
    assert text.startswith(f"{moment} Log")


def test_what_two_pages_say_of_themselves_stays() -> None:
    pages = [((72.0, 805.0, f"Invoice {number}"), *side_by_side()) for number in (1, 2)]
    assert all(f"Invoice {number}" in section.text for number, section in enumerate(read(drawn(*pages)).sections, 1))


def test_a_running_head_above_a_table_is_left_out() -> None:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    for number in range(3):
        canvas.drawString(72, 805, "Inspection of the viaduct")
        for x, y, cell in ((72, 760, "Paint"), (222, 760, f"52,00{number}"), (72, 740, "Total"), (222, 740, "75,200")):
            canvas.rect(x, y, 150, 20)
            canvas.drawString(x + 4, y + 6, cell)
        canvas.drawString(72, 690, "Prices are without tax.")
        canvas.showPage()
    canvas.save()
    [first, *_] = read(stream.getvalue()).sections
    assert first.text == "Paint | 52,000\nTotal | 75,200\n\nPrices are without tax."


def test_the_printed_number_of_a_page_is_known_and_a_head_of_one_section_is_left_out() -> None:
    def page(number: int) -> Cells:
        head = f"{number} Section {number // 2}" if number % 2 else f"Chapter 1 {number}"
        return ((60.0, 800.0, head), *side_by_side())

    cover: Cells = ((60.0, 400.0, "The book of pumps"),)
    parsed = read(drawn(cover, cover, *(page(number) for number in range(1, 8))))
    assert parsed.metadata["printed_pages"] == "3=1"
    assert not any("Chapter" in section.text or "Section" in section.text for section in parsed.sections)


def test_a_running_head_that_repeats_a_heading_is_left_out_and_a_title_of_its_own_stays() -> None:
    def page(number: int, head: str, *below: str) -> Cells:
        lines = tuple((60.0, 740.0 - 15 * at, text) for at, text in enumerate(below))
        return ((60.0, 800.0, head), *lines, *side_by_side(), (290.0, 40.0, str(number)))

    topics = ("Pumps of the north", "Valves and taps", "Belts of the mill", "Gears and wheels")
    repeated = drawn(*(page(at, topic.upper(), f"{topic} stand in the hall.") for at, topic in enumerate(topics, 1)))
    assert not any(topic.upper() in text_of(repeated) for topic in topics)
    assert all(topic in text_of(drawn(*(page(at, topic) for at, topic in enumerate(topics, 1)))) for topic in topics)


def test_a_blank_page_with_a_running_head_has_no_text() -> None:
    full = ((60.0, 800.0, "Journal of Search"), *side_by_side())
    parsed = read(drawn(full, full, full, ((60.0, 800.0, "Journal of Search"),)))
    assert [section.page for section in parsed.sections] == [1, 2, 3]
    assert "pages_without_text" not in parsed.metadata


def test_an_item_of_a_list_goes_on_below_its_first_line() -> None:
    first, rest = "Open a bug against the package, and say that you intend to take over main-", "tainership of it."
    for mark in ((60.0, 700.0, f"1. {first}"),), ((60.0, 700.0, "1."), (80.0, 700.0, first)):
        text = text_of(drawn((*mark, (80.0, 686.0, rest), (60.0, 672.0, "2. Wait three weeks for what others say."))))
        assert "take over maintainership of it.\n" in text
        assert text.split("\n")[-1] == "2. Wait three weeks for what others say."


def test_what_follows_the_raised_number_of_a_footnote_goes_on() -> None:
    page = (
        (60.0, 700.0, "Its title begins with ITS"),
        (215.0, 704.0, "3"),
        (222.0, 700.0, ". You may ask others, too."),
    )
    assert "ITS" in (text := text_of(drawn(page)))
    assert not any(line.startswith(".") for line in text.split("\n"))


LINES = (
    "Q. Where did you leave the van on the night of",
    "the fourth of March?",
    "A. I left the van behind the fish market and gave",
    "the keys to Mr Haldane.",
)


@pytest.mark.parametrize("first", [1, 13], ids=["on each page", "counted on"])
def test_the_numbers_of_lines_are_no_part_of_sentences(first: int) -> None:
    def page(number: int) -> Cells:
        lines = LINES * 3
        return tuple(
            cell
            for at, line in enumerate(lines)
            for cell in ((60.0, 740.0 - 26 * at, str(number + at)), (90.0, 740.0 - 26 * at, line))
        )

    content = drawn(page(1), page(first))
    for section in read(content).sections:
        assert section.text == "\n".join((" ".join(LINES[:2]), " ".join(LINES[2:])) * 3)
    shown = draw_page(content, 1)["text"]
    [found] = find_passage(read(content).sections[0].text, shown)
    assert shown[found.start : found.stop].rstrip().endswith("the keys to Mr Haldane.")


def test_the_numbers_of_a_list_on_two_pages_stay() -> None:
    items = (
        "A pump is checked each morning before the shift begins.",
        "A valve is closed before anybody opens the pipe.",
    )

    def page(first: int) -> Cells:
        tops = [740.0 - 20 * at for at in range(12)]
        return tuple(
            cell for at, top in enumerate(tops) for cell in ((60.0, top, str(first + at)), (90.0, top, items[at % 2]))
        )

    assert [text.text.split("\n")[0].split()[0] for text in read(drawn(page(1), page(13))).sections] == ["1", "13"]


@pytest.mark.parametrize("line", ["다. 가나 다라마", " ".join(["가나다라"] * 12)])
def test_a_line_of_korean_is_not_compared_with_each_line_of_its_block(
    monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    looked = Counter[int]()
    of_row = paragraphs._row_text
    for count in (50, 200):

        def counted(text: str, row: Row, count: int = count) -> str:
            looked[count] += 1
            return of_row(text, row)

        monkeypatch.setattr(paragraphs, "_row_text", counted)
        width = len(line) + 2
        rows = tuple(
            (LinePiece(n * width, n * width + len(line), 10.0, n * 1.3, 120.0 if n == 0 else 100.0, n * 1.3 + 1.0, n),)
            for n in range(count)
        )
        text = f"{line}\r\n" * count
        list(paragraphs._block_text(text, block_of(rows), paragraphs.Words(())))
    assert looked[200] < 5 * looked[50]
