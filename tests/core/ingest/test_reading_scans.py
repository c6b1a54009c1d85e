"""Pictures of pages before Tesseract sees them, and what is made of its words. A small program stands in for it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from braid.core.ingest.readers.paged.page_picture import page_for_reading
from braid.core.ingest.readers.paged.picture import readable
from braid.core.ingest.scans.columns import columns_of
from braid.core.ingest.scans.program import find_tesseract
from braid.core.ingest.scans.recognize import read_picture
from tests import scans

SENTENCE = "Columns of text stand beside each other and are read from the first to the last line."
TEXT = scans.lines_of(" ".join([SENTENCE] * 36), "en")


def two_columns() -> Image.Image:
    return scans.page(scans.lines_of(" ".join([SENTENCE] * 36), "en", columns=2), columns=2)


def test_columns_whose_lines_stand_at_different_heights_are_read_one_after_the_other() -> None:
    page = two_columns()
    draw, font = ImageDraw.Draw(page), ImageFont.truetype(str(scans.SERIF), 90)
    draw.text((300, 120), "A heading over both of the columns of text", font=font, fill=0)
    heading, left, right = columns_of(page)
    assert heading.bottom < min(left.top, right.top)
    assert heading.right - heading.left > 1500
    middle = page.width // 2
    assert left.right < middle + 60
    assert right.left > middle - 60
    assert min(left.bottom, right.bottom) > 1500


def test_columns_of_short_and_long_lines_are_columns() -> None:
    lines = ["Each of the contracts ends after three years.", "It may be renewed once."] * 16
    assert len(columns_of(scans.page(lines, columns=2))) == 2


def table() -> Image.Image:
    dice, page = random.Random(3), scans.page([])
    draw, font = ImageDraw.Draw(page), ImageFont.truetype(str(scans.SANS), 44)
    for row in range(30):
        for column in range(3):
            draw.text((300 + 650 * column, 300 + 75 * row), "8" * dice.choice((2, 3, 4, 11)), font=font, fill=0)
    return page


@pytest.mark.parametrize("page", [scans.page(TEXT), table(), scans.page([])], ids=["one column", "table", "blank"])
def test_a_page_without_columns_is_read_as_one(page: Image.Image) -> None:
    assert columns_of(page) == [(0, 0, *page.size)]


def test_noise_is_taken_out_before_a_scan_is_enlarged_and_a_clean_one_stays() -> None:
    lines = TEXT[:6]
    clean, noisy = (scans.page(lines, dpi=150, noise=noise) for noise in (0.0, 0.08))
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
    noisy = scans.page(TEXT[:6], dpi=150, noise=0.08)
    drawn = page_for_reading(scans.pdf([noisy]), 1)
    assert 3400 < max(drawn.size) < 3600, "300 dots per inch"
    blank = np.asarray(drawn)[-600:-200, 200:-200]
    assert blank.std() < 12 < np.asarray(noisy)[-300:-100, 100:-100].std()


def test_a_page_of_letters_alone_is_drawn_finely() -> None:
    assert 3400 < max(page_for_reading(scans.pdf([TEXT[:3]]), 1).size) < 3600


def test_syllables_are_joined_to_the_words_that_tesseract_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["보증금은 돌려주지 않습니다.", "계약 기간은 3년입니다."]
    monkeypatch.setenv("PATH", str(scans.install_fake(tmp_path / "program", lines, syllables=True)))
    tesseract = find_tesseract()
    assert tesseract is not None
    reading = read_picture(scans.page(["."]), tesseract, languages=["kor"], timeout_s=10)
    assert reading.text == "\n".join(lines)
    first = reading.words[0]
    assert (first.text, first.left, first.right) == ("보증금은", 300, 300 + 3 * 60 + 50)
    text, boxes = reading.characters()
    assert len(boxes) == len(text)
