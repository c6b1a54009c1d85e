"""Pictures made to hurt: huge, endless, cut off, or wrapped into a PDF; and PDF files of very many pages."""

from __future__ import annotations

import contextlib
import io
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse_pool import ParsePool
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.paged.page_picture import draw_page, page_for_reading
from tests.worlds import AT_LAST_S

PAGES = 400
LIMIT_MB = 400


def tiff(*sizes: tuple[int, int], loops: bool = False) -> bytes:
    """A TIFF file of pages of these sizes whose pixels are not there; after the last one comes the first again."""
    content, at = [struct.pack("<2sHI", b"II", 42, 8)], 8
    for number, (width, height) in enumerate(sizes, start=1):
        fields = [(256, 4, 1, width), (257, 4, 1, height), (273, 4, 1, 8), (279, 4, 1, width * height // 8)]
        following = at + 2 + 12 * len(fields) + 4 if number < len(sizes) else 8 * loops
        content.append(struct.pack("<H", len(fields)) + b"".join(struct.pack("<HHII", *each) for each in fields))
        content.append(struct.pack("<I", following))
        at = following
    return b"".join(content)


def picture(form: str) -> bytes:
    stream = io.BytesIO()
    Image.effect_noise((800, 800), 60).convert("RGB").save(stream, form)
    return stream.getvalue()


def sized(content: bytes, marker: bytes, skip: int, dimensions: bytes) -> bytes:
    """Overwrite the dimensions that stand so many bytes after a marker."""
    at = content.index(marker) + skip
    return content[:at] + dimensions + content[at + len(dimensions) :]


def huge_jpeg() -> bytes:
    return sized(picture("JPEG"), b"\xff\xc0", 5, struct.pack(">HH", 65_500, 65_500))


def huge_webp() -> bytes:
    return sized(picture("WEBP"), b"\x9d\x01\x2a", 3, struct.pack("<HH", 16_383, 16_383))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("huge.jpg", huge_jpeg, "has 4,290,250,000 pixels; at most 120,000,000 are read"),
        ("huge.webp", huge_webp, "has 268,402,689 pixels; at most 120,000,000 are read"),
        ("huge.tif", lambda: tiff((60_000, 60_000)), "has 3,600,000,000 pixels; at most 120,000,000 are read"),
        ("short.jpg", lambda: picture("JPEG")[:20_000], "is damaged, or is not a JPEG image"),
        ("short.webp", lambda: picture("WEBP")[:20_000], "is damaged, or is not a WebP image"),
    ],
)
def test_huge_and_shortened_pictures_are_refused_with_the_reason(
    name: str, content: Callable[[], bytes], reason: str
) -> None:
    with pytest.raises(UnreadableDocumentError, match=re.escape(reason)):
        read_document(name, content(), max_bytes=10**8, scans={})


def test_a_tiff_whose_pages_follow_each_other_in_a_circle_ends() -> None:
    assert read_document("fax.tif", tiff((8, 8), (8, 8), loops=True), max_bytes=10**8, scans={}).scanned == (1, 2)


def test_a_huge_page_behind_a_small_one_is_refused_when_it_is_shown_or_read() -> None:
    content = tiff((8, 8), (60_000, 60_000))
    assert len(read_document("fax.tif", content, max_bytes=10**8, scans={}).scanned) == 2
    for open_page in (draw_page, page_for_reading):
        with pytest.raises(UnreadableDocumentError, match="has 3,600,000,000 pixels"):
            open_page(content, 2)


@pytest.fixture(scope="module")
def pool() -> Iterator[ParsePool]:
    opened = ParsePool(memory_mb=LIMIT_MB, timeout_s=AT_LAST_S)
    yield opened
    opened.close()


def peak_mb(pool: ParsePool) -> float:
    """Most memory that the pool's process has had."""
    [process] = pool._idle
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{process._process.pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1024


def pdf_with_bomb() -> bytes:
    """A PDF whose first page is a picture of 16,000 × 16,000 pixels in 31 kB, and whose second one has a line."""
    pixels = zlib.compress(bytes(16_000 * 16_000 // 8), 9)
    about = "/Width 16000 /Height 16000 /BitsPerComponent 1 /ColorSpace /DeviceGray /Filter /FlateDecode"
    page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /XObject << /B 7 0 R >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>",
        (page % 5 + " >> >>").encode(),
        (page % 6 + " /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>").encode(),
        stream("", b"q 500 0 0 500 0 0 cm /B Do Q"),
        stream("", b"BT /F 12 Tf 72 700 Td (The second page can be read.) Tj ET"),
        stream(f"/Type /XObject /Subtype /Image {about}", pixels),
    ]
    content, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size 8 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(content)
    return content + b"xref\n0 8\n0000000000 65535 f \n" + table + end


def stream(about: str, content: bytes) -> bytes:
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (about.encode(), len(content), content)


def test_a_bomb_in_a_pdf_costs_its_own_page_alone(pool: ParsePool, tmp_path: Path) -> None:
    path = tmp_path / "bomb.pdf"
    path.write_bytes(pdf_with_bomb())
    parsed = pool.parse(Incoming.from_file(path, path.name), IngestOptions())
    assert [chunk.text for chunk in parsed.chunks] == ["The second page can be read."]
    with contextlib.suppress(UnreadableDocumentError):  # it may take too much memory
        pool.draw_page(path, 1, filename=path.name, timeout_s=AT_LAST_S)
    assert (
        pool.draw_page(path, 2, filename=path.name, timeout_s=AT_LAST_S).text.strip() == "The second page can be read."
    )


def test_memory_does_not_grow_with_the_pages_of_a_file(pool: ParsePool, tmp_path: Path) -> None:
    path, canvas = tmp_path / "long.pdf", Canvas(str(tmp_path / "long.pdf"))
    for number in range(1, PAGES + 1):
        text = canvas.beginText(50, 780)
        for line in range(12):
            text.textLine(f"Line {line} of page {number} tells of pump {number * 50 + line}, which nobody has seen.")
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    pool.draw_page(path, 1, filename=path.name, timeout_s=AT_LAST_S)
    before = peak_mb(pool)
    parsed = pool.parse(Incoming.from_file(path, path.name), IngestOptions())
    assert parsed.chunks[-1].page == PAGES
    for number in (1, PAGES // 2, PAGES):
        assert f"of page {number} tells" in pool.draw_page(path, number, filename=path.name, timeout_s=AT_LAST_S).text
    assert peak_mb(pool) - before < 60, "MiB; python -m benchmarks.cited_pages has a file of 2,000 pages"
