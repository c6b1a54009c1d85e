"""Pictures of text on pages that have text of their own: which they are, and what a machine reads of them."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse import parse_here
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.paged.page_picture import draw_page, page_for_reading
from braid.core.ingest.scans.program import find_tesseract
from braid.core.ingest.scans.reading import IS_PART, PageReading, ScannedWord
from braid.core.ingest.scans.recognize import read_picture
from tests.scans import LATIN

OWN = ("The harbour opens at six in the morning.", "Keep the key with the guard of the gate.")
PICTURED = ("Valve P-17 closes at 4 bar.", "Pump 901 stops after 12 hours.", "Tank B2 holds 300 litres.")


def picture_of(lines: tuple[str, ...]) -> Image.Image:
    picture = Image.new("L", (900, 420), 245)
    draw = ImageDraw.Draw(picture)
    font = ImageFont.truetype(str(LATIN), 30)
    for number, line in enumerate(lines):
        draw.text((30, 40 + 60 * number), line, font=font, fill=30)
    return picture


def photograph() -> Image.Image:
    dice = np.random.default_rng(1)
    return Image.fromarray(np.clip(np.cumsum(dice.normal(0, 6, (420, 900)), axis=1) + 128, 0, 255).astype(np.uint8))


def drawing() -> Image.Image:
    picture = Image.new("L", (900, 420), 255)
    draw = ImageDraw.Draw(picture)
    for number in range(5):
        draw.ellipse((60 + 160 * number, 80, 180 + 160 * number, 330), outline=0, width=4)
    return picture


def pdf(picture: Image.Image, *, height: float = 210) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    for number, line in enumerate(OWN):
        canvas.drawString(72, 770 - 16 * number, line)
    canvas.drawImage(ImageReader(picture.convert("RGB")), 72, 400, height * 450 / 210, height)
    canvas.showPage()
    canvas.save()
    return stream.getvalue()


def reading(line: str, *, is_part: bool) -> PageReading:
    words = tuple(ScannedWord(word, 20 * at, 0, 20 * at + 18, 9, 90, 0, 0) for at, word in enumerate(line.split()))
    return PageReading(words, 100, 100, languages="eng", is_part=is_part)


@pytest.mark.parametrize(
    ("content", "scanned"),
    [
        (lambda: pdf(picture_of(PICTURED)), (1,)),
        (lambda: pdf(photograph()), ()),
        (lambda: pdf(drawing()), ()),
        (lambda: pdf(picture_of(PICTURED), height=60), ()),
        (lambda: pdf(picture_of(())), ()),
    ],
    ids=["text", "photograph", "drawing", "small", "blank"],
)
def test_only_a_large_picture_of_text_is_to_be_read(content: Callable[[], bytes], scanned: tuple[int, ...]) -> None:
    parsed = read_document("a.pdf", content(), max_bytes=10**7, scans={})
    assert parsed.scanned == scanned
    assert [" ".join(section.text.split()) for section in parsed.sections] == [" ".join(OWN)]


def test_what_is_read_stands_beside_the_text_of_the_page_and_is_sure_for_itself() -> None:
    content = pdf(picture_of(PICTURED))
    scans = {1: reading("Valve P-17 closes", is_part=True)}
    parsed = read_document("a.pdf", content, max_bytes=10**7, scans=scans)
    assert [(section.page, " ".join(section.text.split())) for section in parsed.sections] == [
        (1, " ".join(OWN)),
        (1, "Valve P-17 closes"),
    ]
    incoming = Incoming("a.pdf", "a.pdf", content=content, scans=scans)
    document = parse_here(incoming, IngestOptions(chunk_chars=100, chunk_overlap_chars=0))
    sure = {chunk.text: chunk.confidence for chunk in document.chunks}
    assert sure["Valve P-17 closes"] == 0.9
    assert all(each is None for text, each in sure.items() if "harbour" in text)


def test_a_page_that_is_a_scan_is_replaced_by_what_was_read() -> None:
    scans = {1: reading("All of the page", is_part=False)}
    parsed = read_document("a.pdf", pdf(picture_of(PICTURED)), max_bytes=10**7, scans=scans)
    assert [section.text for section in parsed.sections] == ["All of the page"]


def test_the_machine_sees_the_picture_alone() -> None:
    picture = page_for_reading(pdf(picture_of(PICTURED)), 1)
    assert picture.info[IS_PART] is True
    grey = np.asarray(picture)
    assert grey[: grey.shape[0] // 4].min() == 255, "the page's own lines are left out"
    assert grey.min() < 100
    assert PageReading.from_json(reading("x", is_part=True).to_json()).is_part


@pytest.mark.skipif(find_tesseract() is None, reason="Tesseract is not installed")
def test_a_picture_of_text_is_read_by_the_machine() -> None:
    tesseract = find_tesseract()
    assert tesseract is not None
    picture = page_for_reading(pdf(picture_of(PICTURED)), 1)
    found = read_picture(picture, tesseract, languages=("eng",), timeout_s=120)
    assert found.is_part
    assert [line for line in found.text.split("\n") if line] == list(PICTURED)


def test_a_page_whose_box_is_none_fails_nothing_and_is_not_drawn() -> None:
    content = pdf(picture_of(PICTURED)).replace(b"/MediaBox [ 0 0 595 842 ]", b"/CropBox[900 900 950 950]")
    assert read_document("a.pdf", content, max_bytes=10**7, scans={}).metadata["pages"] == "1"
    with pytest.raises(UnreadableDocumentError, match="the page draws more than can be shown"):
        draw_page(content, 1)
