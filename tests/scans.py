"""Made-up scans: pages drawn from known text, then turned, askew, coarse and dirty, as pictures and in PDF files."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import reportlab  # type: ignore[import-untyped]
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

_FONTS = Path("/usr/share/fonts/opentype/noto")
SANS, SERIF = _FONTS / "NotoSansCJK-Regular.ttc", _FONTS / "NotoSerifCJK-Regular.ttc"
LATIN = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"
"""Is there wherever the tests run; the others come with a Debian package."""
_OF_LANGUAGE = {"en": 0, "ja": 0, "ko": 1}
"""Number of the font in its collection."""
A4_INCHES = (8.27, 11.69)
GUTTER_INCHES = 0.35


def lines_of(
    text: str, language: str, *, dpi: int = 300, font: Path = SERIF, points: float = 10.5, columns: int = 1
) -> list[str]:
    """Break a text into the lines of an A4 page with margins of an inch, or of its columns."""
    drawn = ImageFont.truetype(str(font), points * dpi / 72, index=_OF_LANGUAGE[language])
    gap = "" if language == "ja" else " "
    room = _column_width(columns) * dpi
    lines, line = [], ""
    for piece in list(text) if language == "ja" else text.split():
        longer = f"{line}{gap}{piece}" if line else piece
        if drawn.getlength(longer) > room:
            lines.append(line)
            longer = piece
        line = longer
    return [*lines, line]


def page(
    lines: Sequence[str],
    language: str = "en",
    *,
    dpi: int = 300,
    skew: float = 0.0,
    noise: float = 0.0,
    turn: int = 0,
    font: Path = SERIF,
    points: float = 10.5,
    seed: int = 1,
    columns: int = 1,
) -> Image.Image:
    """Draw an A4 page in grey. ``skew`` and ``turn`` are degrees clockwise; ``noise`` is its share of specks and of
    light. Lines of columns are not at the same height.
    """
    width, height = (round(side * dpi) for side in A4_INCHES)
    picture = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(picture)
    drawn = ImageFont.truetype(str(font), points * dpi / 72, index=_OF_LANGUAGE[language])
    step = round(1.7 * points * dpi / 72)
    for number, line in enumerate(lines):
        column, row = divmod(number, math.ceil(len(lines) / columns))
        left = dpi + column * (_column_width(columns) + GUTTER_INCHES) * dpi
        draw.text((left, dpi + row * step + column * step // 2), line, font=drawn, fill=20)
    if skew:
        picture = picture.rotate(-skew, Image.Resampling.BICUBIC, fillcolor=255)
    if noise:
        picture = _dirty(picture, noise, seed)
    return picture.rotate(-turn, expand=True) if turn else picture


def _column_width(columns: int) -> float:
    return (A4_INCHES[0] - 2 - GUTTER_INCHES * (columns - 1)) / columns


def _dirty(picture: Image.Image, noise: float, seed: int) -> Image.Image:
    dice = np.random.default_rng(seed)
    grey = np.asarray(picture, dtype=np.float32)
    grey = 235 - (235 - 40) * (255 - grey) / 255 + dice.normal(0, 255 * noise, grey.shape)
    specks = dice.random(grey.shape)
    grey[specks < noise / 50] = 0
    grey[specks > 1 - noise / 50] = 255
    return Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))


def encoded(picture: Image.Image, form: str = "PNG", *, dpi: int = 300, **options: object) -> bytes:
    """Return the picture as a file."""
    stream = io.BytesIO()
    picture.save(stream, form, dpi=(dpi, dpi), **options)
    return stream.getvalue()


def pdf(pages: Sequence[Image.Image | Sequence[str]], *, title: str = "") -> bytes:
    """Return a PDF file whose pages are pictures, or lines of English text; a blank one for no lines."""
    stream = io.BytesIO()
    canvas = Canvas(stream)
    canvas.setTitle(title)
    for each in pages:
        if isinstance(each, Image.Image):
            width, height = (595, 842) if each.height >= each.width else (842, 595)
            canvas.setPageSize((width, height))
            canvas.drawImage(ImageReader(each.convert("RGB")), 0, 0, width, height)
        else:
            canvas.setPageSize((595, 842))
            for number, line in enumerate(each):
                canvas.drawString(72, 750 - 16 * number, line)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def install_fake(folder: Path, lines: Sequence[str], *, turn: int = 0, syllables: bool = False) -> Path:
    """Write a program that answers as Tesseract does, with these lines on every page; returns its folder, for PATH.

    It counts the pages in the file ``pages`` beside it. With ``syllables`` it reads Korean: its table has a row per
    character, and the text is below it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    step, wide, text = (60, 50, lines) if syllables else (200, 180, ())
    rows = [
        f"5\t1\t1\t1\t{number}\t{place}\t{300 + step * place}\t{300 + 100 * number}\t{wide}\t50\t{91 - place}.5\t{word}"
        for number, line in enumerate(lines, start=1)
        for place, word in enumerate("".join(line.split()) if syllables else line.split())
    ]
    (folder / "words.tsv").write_text("\n".join([head, *rows, *text]) + "\n", encoding="utf-8")
    program = folder / "tesseract"
    program.write_text(
        "#!/bin/sh\n"
        f'cd "{folder}"\n'
        'case "$*" in\n'
        "  --list-langs) printf 'List of available languages (3):\\neng\\nkor\\nosd\\n';;\n"
        "  *'--psm 0'*) /bin/cat > /dev/null; "
        f"printf 'Rotate: {turn}\\nOrientation confidence: 9.5\\nScript: Latin\\n';;\n"
        "  *) /bin/cat > /dev/null; echo page >> pages; /bin/cat words.tsv;;\n"
        "esac\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return folder
