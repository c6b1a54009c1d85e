"""Covers of PDFs: a first or last page that is a picture is no gap, a page of text that is one is."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from braid.core.ingest.readers import ParsedDocument, read_document
from braid.core.ingest.scans.reading import PageReading, ScannedWord
from braid.core.metadata.gaps import gap_sentences
from tests.scans import LATIN

SIZE = (595, 842)


def _photograph() -> Image.Image:
    dice = np.random.default_rng(1)
    levels = np.cumsum(dice.normal(0, 6, (842, 595)), axis=1) + 128
    return Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8))


def _title() -> Image.Image:
    """Return a plain page with large letters, as covers have."""
    picture = Image.new("L", SIZE, 210)
    for line, size, top in (("Report", 90, 180), ("of the harbour", 60, 300), ("2026", 60, 600)):
        ImageDraw.Draw(picture).text((60, top), line, font=ImageFont.truetype(str(LATIN), size), fill=20)
    return picture


def _letter() -> Image.Image:
    """Return a page of text as a scanner sees it."""
    picture = Image.new("L", (2 * SIZE[0], 2 * SIZE[1]), 250)
    font = ImageFont.truetype(str(LATIN), 26)
    for number in range(30):
        line = f"{number}. The keeper of the gate has the key, and opens it in the morning."
        ImageDraw.Draw(picture).text((100, 120 + 44 * number), line, font=font, fill=10)
    return picture


PICTURES = {"photograph": _photograph, "title": _title, "letter": _letter}


def pdf(*pages: str) -> bytes:
    """Return a file of pages that are a picture, or have this text."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=SIZE)
    for page in pages:
        if page in PICTURES:
            canvas.drawImage(ImageReader(PICTURES[page]().convert("RGB")), 0, 0, *SIZE)
        else:
            canvas.drawString(72, 700, page)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def read(*pages: str, machine: bool = False) -> ParsedDocument:
    return read_document("a.pdf", pdf(*pages), max_bytes=10**7, scans={} if machine else None)


@pytest.mark.parametrize(
    ("pages", "without"),
    [
        (("photograph", "The harbour opens."), ""),
        (("title", "The harbour opens."), ""),
        (("The harbour opens.", "At six.", "photograph"), ""),
        (("photograph", "The harbour opens.", "title"), ""),
        (("letter", "The harbour opens."), "1"),
        (("The harbour opens.", "letter"), "2"),
        (("The harbour opens.", "photograph", "At six."), "2"),
        (("photograph", "The harbour opens.", "letter", "At six."), "1, 3"),
    ],
    ids=" ".join,
)
def test_a_picture_before_or_behind_the_text_is_a_cover(pages: tuple[str, ...], without: str) -> None:
    parsed = read(*pages)
    assert parsed.metadata.get("pages_without_text", "") == without
    assert bool(gap_sentences(parsed.metadata)) == bool(without)


def test_a_machine_reads_covers_too() -> None:
    content = pdf("title", "The harbour opens.")
    waiting = read_document("a.pdf", content, max_bytes=10**7, scans={})
    assert (waiting.scanned, waiting.metadata["pages_to_read"]) == ((1,), 1)
    scans = {1: PageReading((ScannedWord("Report", 0, 0, 90, 20, 90, 0, 0),), 100, 100, languages="eng")}
    found = read_document("a.pdf", content, max_bytes=10**7, scans=scans)
    assert [(section.page, section.text) for section in found.sections] == [(1, "Report"), (2, "The harbour opens.")]
    nothing = read_document("a.pdf", content, max_bytes=10**7, scans={1: PageReading((), 100, 100, languages="eng")})
    assert not gap_sentences(nothing.metadata)
