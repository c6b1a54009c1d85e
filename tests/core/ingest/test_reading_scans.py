"""Pictures of pages before Tesseract sees them, and what is made of its words. A small program stands in for it."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from braid.core.ingest.readers.paged.page_picture import page_for_reading
from braid.core.ingest.readers.paged.picture import readable
from braid.core.ingest.scans.columns import columns_of
from braid.core.ingest.scans.program import find_tesseract
from braid.core.ingest.scans.recognize import read_picture
from tests import scans

SENTENCE = "Columns of text stand beside each other and are read from the first to the last line."
lines_of = partial(scans.lines_of, language="en", font=scans.LATIN)
page_of = partial(scans.page, font=scans.LATIN)
TEXT = lines_of(" ".join([SENTENCE] * 36))


def two_columns() -> Image.Image:
    return page_of(lines_of(" ".join([SENTENCE] * 36), columns=2), columns=2)


def test_columns_whose_lines_stand_at_different_heights_are_read_one_after_the_other() -> None:
    page = two_columns()
    draw, font = ImageDraw.Draw(page), ImageFont.truetype(str(scans.LATIN), 90)
    draw.text((300, 120), "A heading over both of the columns of text", font=font, fill=0)
    heading, left, right = columns_of(page)
    assert heading.bottom < min(left.top, right.top)
    assert heading.right - heading.left > 1500
    middle = page.width // 2
    assert left.right < middle + 60
    assert right.left > middle - 60
    assert min(left.bottom, right.bottom) > 1500


def test_columns_of_short_and_long_lines_are_columns() -> None:
    lines = ["Each contract ends after three years.", "It may be renewed once."] * 16
    assert len(columns_of(page_of(lines, columns=2))) == 2


def test_columns_below_pictures_that_are_taller_than_they_are_columns() -> None:
    page = page_of([])
    draw = ImageDraw.Draw(page)
    for left, right in ((300, 800), (1000, 2180)):
        for x in range(left, right, 24):
            draw.rectangle((x, 300, x + 7, 1899), fill=0)
    for left, right in ((300, 1180), (1300, 2180)):
        for line in range(24):
            draw.rectangle((left, 1960 + 50 * line, right - 40 * (line % 3), 1984 + 50 * line), fill=0)
    pictures, left_column, right_column = columns_of(page)
    assert pictures.bottom < min(left_column.top, right_column.top) + 60
    assert left_column.right < 1250 + 12
    assert right_column.left > 1250 - 12


def table() -> Image.Image:
    dice, page = random.Random(3), page_of([])
    draw, font = ImageDraw.Draw(page), ImageFont.truetype(str(scans.LATIN), 44)
    for row in range(30):
        for column in range(3):
            draw.text((300 + 650 * column, 300 + 75 * row), "8" * dice.choice((2, 3, 4, 11)), font=font, fill=0)
    return page


@pytest.mark.parametrize("page", [page_of(TEXT), table(), page_of([])], ids=["one column", "table", "blank"])
def test_a_page_without_columns_is_read_as_one(page: Image.Image) -> None:
    assert columns_of(page) == [(0, 0, *page.size)]


def test_noise_is_taken_out_before_a_scan_is_enlarged_and_a_clean_one_stays() -> None:
    lines = TEXT[:6]
    clean, noisy = (page_of(lines, dpi=150, noise=noise) for noise in (0.0, 0.08))
    assert readable(clean, 300) == clean
    cleaned = readable(noisy, 300)
    paper = (slice(-300, -100), slice(100, -100))
    assert np.asarray(cleaned)[paper].std() < 0.6 * np.asarray(noisy)[paper].std()
    assert np.asarray(noisy)[paper].min() == 0 < 100 < np.asarray(cleaned)[paper].min(), "specks"
    letters = np.asarray(clean) < 60
    assert np.asarray(cleaned)[letters].mean() < np.asarray(cleaned)[~letters].mean() - 100, "letters stay"
    enlarged = readable(noisy, 150)
    assert enlarged.size == (noisy.width * 2, noisy.height * 2)


def test_a_coarse_scan_in_a_pdf_is_drawn_as_coarse_as_it_is_and_its_noise_taken_out() -> None:
    noisy = page_of(TEXT[:6], dpi=150, noise=0.08)
    prepared = page_for_reading(scans.pdf([noisy]), 1)
    assert 3400 < max(prepared.size) < 3600, "300 dots per inch"
    blank = np.asarray(prepared)[-600:-200, 200:-200]
    assert blank.std() < 12 < np.asarray(noisy)[-300:-100, 100:-100].std()


def test_a_page_of_letters_alone_is_drawn_finely() -> None:
    assert 3400 < max(page_for_reading(scans.pdf([TEXT[:3]]), 1).size) < 3600


STRIPES = 72 / 300 * 2
"""Points: as wide as two dots of a fine scan."""


def within_a_form(canvas: Canvas) -> None:
    stripes = np.tile(np.array([0, 0, 255, 255], dtype=np.uint8), (1200, 300))
    canvas.beginForm("scan", 0, 0, 1200, 1200)
    canvas.drawImage(ImageReader(Image.fromarray(stripes).convert("RGB")), 0, 0, 1200, 1200)
    canvas.endForm()
    canvas.scale(0.24, 0.24)
    canvas.doForm("scan")


def photo(canvas: Canvas, height: float = 288) -> None:
    canvas.drawImage(ImageReader(Image.new("RGB", (100, 100), "white")), 0, 0, 288, height)


def bars(canvas: Canvas, count: int) -> None:
    for number in range(count):
        canvas.rect(144 + 2 * STRIPES * number, 144, STRIPES, 100, stroke=0, fill=1)


def letters_over_a_photo(canvas: Canvas) -> None:
    photo(canvas)
    bars(canvas, 30)


def photo_beside_letters(canvas: Canvas) -> None:
    photo(canvas, height=100)
    bars(canvas, 15)


def scan_with_marks(canvas: Canvas) -> None:
    photo(canvas)
    bars(canvas, 15)
    text = canvas.beginText(20, 20)
    text.setTextRenderMode(3)
    for number in range(20):
        text.textLine(f"Line {number} that a machine has read")
    canvas.drawText(text)


@pytest.mark.parametrize(
    ("draw", "is_fine"),
    [(within_a_form, True), (letters_over_a_photo, True), (photo_beside_letters, True), (scan_with_marks, False)],
)
def test_coarse_is_a_page_that_a_coarse_image_is_most_of(draw: Callable[[Canvas], None], is_fine: bool) -> None:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(288, 288))
    draw(canvas)
    canvas.showPage()
    canvas.save()
    drawn = np.asarray(page_for_reading(stream.getvalue(), 1))
    assert (drawn[300:500, 604:654].std() > 110) == is_fine, drawn[300:500, 604:654].std()


def test_syllables_are_joined_to_the_words_that_tesseract_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["보증금은 돌려주지 않습니다.", "계약 기간은 3년입니다."]
    monkeypatch.setenv("PATH", str(scans.install_fake(tmp_path / "program", lines, syllables=True)))
    tesseract = find_tesseract()
    assert tesseract is not None
    reading = read_picture(page_of(["."]), tesseract, languages=["kor"], timeout_s=10)
    assert reading.text == "\n".join(lines)
    first = reading.words[0]
    assert (first.text, first.left, first.right) == ("보증금은", 300, 300 + 3 * 60 + 50)
    text, boxes = reading.characters()
    assert len(boxes) == len(text)
