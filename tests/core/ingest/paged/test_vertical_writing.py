"""Lines from top to bottom: columns from right to left, decided by where letters stand, in PDFs and in scans."""

from __future__ import annotations

import io
from collections.abc import Sequence
from difflib import SequenceMatcher

import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from braid.core.ingest.readers import read_document
from braid.core.ingest.scans.direction import runs_downwards, tiers_of
from braid.core.ingest.scans.program import find_tesseract
from braid.core.ingest.scans.recognize import read_picture
from tests.scans import SERIF

pytestmark = pytest.mark.skipif(not SERIF.exists(), reason="PDFium leaves a letter alone out without its font")
COLUMNS = (
    "港の倉庫は朝六時に開く。",
    "荷物を預ける人は窓口で",
    "札を受け取り、名前と日",
    "付を帳面に書いておく。",
    "札をなくした人は、係の",
    "者に身分証を見せること。",
    "夜は倉庫に入れない。",
)
SENTENCES = (
    "港の倉庫は朝六時に開く。",
    "荷物を預ける人は窓口で札を受け取り、名前と日付を帳面に書いておく。",
    "札をなくした人は、係の者に身分証を見せること。",
    "夜は倉庫に入れない。",
)


def letters_of(
    columns: Sequence[str], *, left_first: bool = False, top: float = 760.0
) -> list[tuple[float, float, str]]:
    placed = [
        (520 - 22.0 * at, top - 13.0 * row, letter)
        for at, column in enumerate(columns)
        for row, letter in enumerate(column)
    ]
    return sorted(placed, key=lambda each: (each[0], -each[1])) if left_first else placed


def pdf(letters: Sequence[tuple[float, float, str]], more: Sequence[tuple[float, float, str]] = ()) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
    canvas.setFont("HeiseiMin-W3", 12)
    for x, y, letter in (*letters, *more):
        canvas.drawString(x, y, letter)
    canvas.showPage()
    canvas.save()
    return stream.getvalue()


def read(content: bytes) -> str:
    parsed = read_document("page.pdf", content, max_bytes=10**8)
    return "".join("".join(section.text.split()) for section in parsed.sections)


@pytest.mark.parametrize("left_first", [False, True])
def test_letters_drawn_one_by_one_are_joined_downwards_whichever_column_is_drawn_first(left_first: bool) -> None:
    assert read(pdf(letters_of(COLUMNS, left_first=left_first))) == "".join(SENTENCES)


def test_tiers_are_read_from_top_to_bottom() -> None:
    upper, lower = letters_of(COLUMNS), letters_of([column[::-1] for column in COLUMNS], top=500)
    text = read(pdf([*lower, *upper]))
    assert text == "".join(COLUMNS) + "".join(column[::-1] for column in COLUMNS)


def test_tiers_of_a_poem_whose_lines_are_short_are_read_one_after_the_other() -> None:
    poem = ("波は白く", "舟は遠く帰らない", "灯台の火が", "夜ごと岸を照らす")
    upper, lower = letters_of(poem), letters_of([line[::-1] for line in poem], top=600)
    mixed = [letter for pair in zip(upper, lower, strict=True) for letter in pair]
    assert read(pdf(sorted(mixed, key=lambda each: (-each[0], -each[1])))) == "".join(poem) + "".join(
        line[::-1] for line in poem
    )


def test_signs_digits_and_readings_that_are_narrower_than_their_column_tear_no_sentence_apart() -> None:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
    columns = (
        "十月の終わり、燈台守の源蔵",
        "は、樽に油が①升しか残って",
        "いないのを見た。「今夜は荒",
        "れるぞ」と、彼は言った。",
    )
    for at, column in enumerate(columns):
        for row, letter in enumerate(column):
            left, base = 520 - 22.0 * at, 760 - 12.0 * row
            if letter in "、。":  # in the upper right of their place
                canvas.setFont("HeiseiMin-W3", 3)
                canvas.drawString(left + 9, base + 7, letter)
            elif letter == "①":
                canvas.setFont("Helvetica", 11)
                canvas.drawString(left, base, "12")
            else:
                canvas.setFont("HeiseiMin-W3", 12)
                canvas.drawString(left, base, letter)
    canvas.setFont("HeiseiMin-W3", 6)
    for row, letter in enumerate("とうだいもり"):
        canvas.drawString(532, 676 - 6.0 * row, letter)
    canvas.save()
    said = read_document("page.pdf", stream.getvalue(), max_bytes=10**8).sections[0].text
    assert "".join(said.split()) == "".join(columns).replace("①", "12")
    assert "終わり、燈台守" in said
    assert "12升しか" in said


def test_what_is_above_and_below_the_columns_comes_before_and_after() -> None:
    more = [(60.0, 815.0, "港湾だより第七号"), (290.0, 30.0, "二四")]
    text = read(pdf(letters_of(COLUMNS), more))
    assert text.startswith("港湾だより第七号港の倉庫は")
    assert text.endswith("夜は倉庫に入れない。二四")


def test_a_table_of_single_letters_is_no_column() -> None:
    rows = [("月", "火", "水", "木"), ("金", "土", "日", "休"), ("春", "夏", "秋", "冬")] * 4
    cells = [(60 + 80.0 * x, 700 - 24.0 * y, each) for y, row in enumerate(rows) for x, each in enumerate(row)]
    assert read(pdf(cells)).startswith("月|火|水|木金|土|日|休春|夏|秋|冬")


def test_a_level_page_stays_as_it_is() -> None:
    lines = [(60.0, 760 - 20.0 * at, column) for at, column in enumerate(COLUMNS)]
    assert read(pdf(lines)) == "".join(COLUMNS)


# ---------------------------------------------------------------- pictures


def picture(columns: Sequence[str], *, downwards: bool, points: float = 14, tiers: int = 1) -> Image.Image:
    """Draw lines at 300 dots per inch, from top to bottom or from left to right."""
    size = round(points * 300 / 72)
    page = Image.new("L", (1500, 1500), 255)
    draw, font = ImageDraw.Draw(page), ImageFont.truetype(str(SERIF), size)
    for tier in range(tiers):
        for at, column in enumerate(columns):
            for row, letter in enumerate(column):
                along, across = 60 + 740 * tier + size * row, round(1.7 * size * at)
                place = (1350 - across, along) if downwards else (along, 60 + across)
                draw.text(place, letter, font=font, fill=20)
    return page


@pytest.mark.parametrize("points", [9, 11, 14])
@pytest.mark.parametrize("downwards", [False, True])
def test_the_direction_of_lines_is_told_from_the_white_between_letters(downwards: bool, points: float) -> None:
    assert runs_downwards(picture(COLUMNS, downwards=downwards, points=points)) is downwards


def test_a_blank_page_does_not_run_downwards() -> None:
    assert not runs_downwards(Image.new("L", (800, 1000), 255))


def test_the_tiers_of_a_picture() -> None:
    upper, lower = tiers_of(picture(COLUMNS, downwards=True, points=12, tiers=2))
    assert upper.bottom <= lower.top + 24
    assert upper.top < 100


@pytest.mark.skipif(find_tesseract() is None, reason="Tesseract is not installed")
def test_a_picture_of_columns_is_read_downwards() -> None:
    tesseract = find_tesseract()
    assert tesseract is not None
    if not tesseract.vertical("jpn"):
        pytest.skip("Tesseract's data for vertical Japanese is not installed")
    page = picture(COLUMNS, downwards=True)
    found = "".join(read_picture(page, tesseract, languages=("eng", "jpn", "kor"), timeout_s=120).text.split())
    assert SequenceMatcher(None, found, "".join(COLUMNS), autojunk=False).ratio() > 0.9
