"""Image files: each picture in them is a page, whose text is for a machine to read."""

from __future__ import annotations

import io
import struct
import warnings
from typing import Any

import numpy as np
from PIL import Image, ImageChops, ImageFilter, ImageOps

from braid.core.errors import Reason, UnreadableDocumentError
from braid.core.ingest.readers.document import ParsedDocument, SourceFile
from braid.core.metadata.gaps import PAGES_WITHOUT_TEXT

ERRORS = (
    *(OSError, ValueError, SyntaxError, struct.error, KeyError, TypeError, IndexError, AttributeError),
    *(ArithmeticError, EOFError, Image.DecompressionBombError),
)
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP")
Image.MAX_IMAGE_PIXELS = None  # `_require_size` says it in words
MAX_PIXELS = 120_000_000
"""Of one picture: A3 at 600 dots per inch has 70 million."""
MAX_PAGES = 2_000
"""Pictures in one TIFF file."""
LONGEST_SIDE = 1_600
"""Pixels of a page as it is shown."""
FAST = Image.Quantize.FASTOCTREE
READ_DPI, COARSE_DPI, FINEST_SIDE = 300, 220, 5_000
"""Dots per inch that a machine reads best, fewest that it reads as they are, and pixels of the longest side read."""
A4_LONG_INCHES = 11.69
LEAST_NOISE, SPECK, BLUR = 3, 60, 0.7
"""Levels of grey, of 255, by which half of the pixels of a noisy picture differ from the median of those around them,
and by which a speck differs from all of them; pixels.
"""


def read(file: SourceFile) -> ParsedDocument:
    """Return the number of pages; no text. A picture whose file was cut off, or of too many pixels, is refused."""
    with _open(file.content) as picture:
        count = _count(file, picture)
        _require_size(file, picture)
        if count == 1:
            picture.load()
    pages = range(1, count + 1)
    metadata = {"pages": str(count), PAGES_WITHOUT_TEXT: ", ".join(map(str, pages))}
    return ParsedDocument(file.stem, file.file_type, (), metadata, tuple(pages))


def open_page(content: bytes, number: int) -> Image.Image:
    """Return picture ``number`` of the file, counted from 1, as a viewer shows it: turned, and on white.

    Raises UnreadableDocumentError.
    """
    file = SourceFile("the picture", content, len(content))
    try:
        with _open(content) as picture:
            picture.seek(number - 1)
            _require_size(file, picture)
            picture.load()
            return _on_white(ImageOps.exif_transpose(picture))
    except UnreadableDocumentError:
        raise
    except ERRORS as error:
        raise UnreadableDocumentError(Reason("the file cannot be opened")) from error


def for_reading(content: bytes, number: int) -> Image.Image:
    """Return the picture in grey at about 300 dots per inch, for `braid.core.ingest.scans.recognize`. Raises as
    `open_page`.
    """
    picture = open_page(content, number).convert("L")
    return readable(picture, _resolution(picture))


def readable(picture: Image.Image, dpi: float) -> Image.Image:
    """Return a picture in grey without the noise of its scanner, a coarse one enlarged to 300 dots per inch, and a very
    large one made smaller. ``dpi`` is the resolution of the scan itself: enlarged noise cannot be told from letters.
    """
    if max(picture.size) > FINEST_SIDE:  # made smaller, it has no noise
        return _resized(picture, dpi)
    return _resized(_without_noise(picture) if _is_noisy(picture) else picture, dpi)


def _is_noisy(picture: Image.Image) -> bool:
    """Return whether most pixels in the middle of a picture differ from those around them: paper does not."""
    middle = picture.crop((0, picture.height * 3 // 8, picture.width, picture.height * 5 // 8))
    around = middle.filter(ImageFilter.MedianFilter(3))
    differences = np.asarray(ImageChops.difference(middle, around))
    return differences.size > 0 and bool(np.median(differences) >= LEAST_NOISE)


def _without_noise(picture: Image.Image) -> Image.Image:
    """Return a picture without pixels far darker or lighter than all around them, and slightly blurred."""
    darker, lighter = (picture.filter(ImageFilter.RankFilter(3, rank)) for rank in (1, 7))  # the second of nine
    for near, far in (
        (darker, ImageChops.subtract(darker, picture)),
        (lighter, ImageChops.subtract(picture, lighter)),
    ):
        picture = Image.composite(near, picture, far.point(lambda levels: 255 if levels > SPECK else 0))
    return picture.filter(ImageFilter.GaussianBlur(BLUR))


def _resized(picture: Image.Image, dpi: float) -> Image.Image:
    scale = READ_DPI / dpi if dpi < COARSE_DPI else 1.0
    scale = min(scale, FINEST_SIDE / max(picture.size))
    if 0.95 < scale < 1.05:
        return picture
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture.resize(size, Image.Resampling.BICUBIC if scale > 1 else Image.Resampling.BOX)


def draw_picture(content: bytes, number: int, turn: int = 0) -> dict[str, Any]:
    """Return a page for a browser, as `braid.core.ingest.readers.paged.page_picture.draw_page` does, without text.

    Raises as `open_page`.
    """
    with _open(content) as picture:
        pages = _count(SourceFile("the picture", content, len(content)), picture)
    picture = open_page(content, number)
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.BOX)
    return {**shown(picture, turn), "pages": pages, "text": "", "boxes": []}


def shown(picture: Image.Image, turn: int = 0) -> dict[str, Any]:
    """Return a picture, turned clockwise, as PNG with its size in tenths of a pixel."""
    picture = picture.rotate(-turn, expand=True) if turn else picture
    stream = io.BytesIO()
    picture.convert("RGB").quantize(64, method=FAST).save(stream, "PNG", compress_level=3)
    return {"picture": stream.getvalue(), "width": picture.width * 10, "height": picture.height * 10}


def _open(content: bytes) -> Image.Image:
    warnings.simplefilter("ignore", UserWarning)  # of Pillow, about damaged files; no other thread reads here
    return Image.open(io.BytesIO(content), formats=FORMATS)


def _count(file: SourceFile, picture: Image.Image) -> int:
    """Return the number of pages: of TIFF alone, other formats have animations."""
    if picture.format != "TIFF":
        return 1
    for number in range(1, MAX_PAGES + 1):
        try:
            picture.seek(number)
        except EOFError:
            picture.seek(0)
            return number
    raise file.too_large(
        "%(name)s has more than %(number)s pages; at most %(most)s are read, so split it",
        number=MAX_PAGES,
        most=MAX_PAGES,
    )


def _require_size(file: SourceFile, picture: Image.Image) -> None:
    pixels = picture.width * picture.height
    if pixels > MAX_PIXELS:
        raise file.too_large(
            "%(name)s has %(number)s pixels; at most %(most)s are read, so make it smaller",
            number=pixels,
            most=MAX_PIXELS,
        )


def _on_white(picture: Image.Image) -> Image.Image:
    if picture.mode in ("1", "L", "RGB"):
        return picture if picture.mode != "1" else picture.convert("L")
    if picture.mode.startswith(("I", "F")):  # 16 bits of grey and more
        grey = np.asarray(picture, dtype=np.float32)
        low, high = float(grey.min()), float(grey.max())
        return Image.fromarray(((grey - low) * (255 / max(high - low, 1e-9))).astype(np.uint8))
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        return Image.alpha_composite(white, picture).convert("RGB")
    return picture.convert("RGB")


def _resolution(picture: Image.Image) -> float:
    """Return the dots per inch if the picture is a page: files say nothing that can be trusted."""
    return max(picture.size) / A4_LONG_INCHES
