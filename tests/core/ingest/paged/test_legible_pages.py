"""Pages whose letters mean nothing are read from their picture, or the document says so; blank pages are no gap."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from braid.core.errors import ScannedDocumentError
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse import parse_and_read
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers import ParsedDocument, read_document
from braid.core.ingest.readers.paged.legible import legible
from braid.core.ingest.scans.program import find_tesseract
from braid.core.metadata.gaps import gap_sentences
from tests import samples

LINES = (
    "The night shift supervisor keeps the spare key of the chemical store",
    "in the grey cabinet and signs the book each time that it is lent out.",
    "A visitor may never carry it and lost keys are reported in an hour.",
    "Whoever enters the store wears goggles and gloves until he is out.",
)
Mapping = Callable[[int], int]


def private(code: int) -> int:
    return 0xE000 + code


def shifted(code: int) -> int:
    return code - 29


def control(code: int) -> int:
    return 1 + code % 8


def faithful(code: int) -> int:
    return code


def mapped_pdf(*pages: tuple[str, ...], mapping: Mapping) -> bytes:
    """A PDF whose pages show these lines, and whose font says of each letter that it is another one."""
    codes = sorted({ord(letter) for lines in pages for line in lines for letter in line})
    pairs = "\n".join(f"<{code:02x}> <{mapping(code):04x}>" for code in codes)
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /A def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <ff> endcodespacerange {len(codes)} beginbfchar\n{pairs}\nendbfchar\n"
        "endcmap end end"
    )
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(pages)}/Kids[{' '.join(f'{5 + 2 * at} 0 R' for at in range(len(pages)))}]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/ToUnicode 4 0 R>>",
        f"<</Length {len(cmap)}>>stream\n{cmap}\nendstream",
    ]
    for at, lines in enumerate(pages):
        shown = " ".join(f"({line}) Tj 0 -16 Td" for line in lines)
        content = f"BT /F1 11 Tf 60 760 Td {shown} ET"
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {6 + 2 * at} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>",
            f"<</Length {len(content)}>>stream\n{content}\nendstream",
        ]
    body, places = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{each}\nendobj\n".encode()
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}"
    return body + f"{table}trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF\n".encode()


def read(content: bytes, scans: dict[int, object] | None = None) -> ParsedDocument:
    return read_document("store.pdf", content, max_bytes=10**8, scans={} if scans is None else None)


@pytest.mark.parametrize("mapping", [private, shifted, control])
def test_a_page_of_letters_without_meaning_is_one_to_be_read_from_its_picture(mapping: Mapping) -> None:
    parsed = read(mapped_pdf(LINES * 2, mapping=mapping))
    assert parsed.scanned == (1,)
    assert gap_sentences(parsed.metadata)[0].startswith("1 of 1 pages has ")


def test_a_page_of_letters_with_a_meaning_is_not() -> None:
    parsed = read(mapped_pdf(LINES * 2, mapping=faithful))
    assert (parsed.scanned, gap_sentences(parsed.metadata)) == ((), [])
    assert LINES[0] in parsed.sections[0].text.replace("\n", " ")


@pytest.mark.skipif(find_tesseract() is None, reason="Tesseract is not installed")
@pytest.mark.parametrize("mapping", [private, shifted])
def test_it_is_read_where_tesseract_is_there(mapping: Mapping) -> None:
    content = mapped_pdf(LINES * 2, mapping=mapping)
    document = parse_and_read(Incoming.from_bytes(content, "store.pdf"), IngestOptions(scan_languages=("eng",)))
    assert "keeps the spare key of the chemical store" in " ".join(document.chunks[0].text.split())
    assert gap_sentences(document.metadata) == []


@pytest.mark.parametrize("mapping", [private, control])
def test_a_document_of_such_pages_alone_is_refused_with_the_reason_where_nothing_reads_them(
    mapping: Mapping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ScannedDocumentError, match=r"^store\.pdf has letters without meaning, as its fonts") as told:
        read_document("store.pdf", mapped_pdf(LINES, LINES, mapping=mapping), max_bytes=10**8)
    assert told.value.pages == 2


def test_small_capitals_and_tall_brackets_are_read_by_the_names_of_their_glyphs() -> None:
    glyphs = {ord("v"): 0xF776, ord("2"): 0xF732, ord("("): 0xF8EB, ord("*"): 0xF8EC}
    page = mapped_pdf(("Tank \\(* v2", LINES[0]), mapping=lambda code: glyphs.get(code, code))
    document = read_document("valve.pdf", page, max_bytes=10**8)
    assert " ".join(document.sections[0].text.split()).startswith("Tank ( V2 The night")
    assert gap_sentences(document.metadata) == []


def test_a_page_that_is_damaged_is_named_and_the_others_are_read() -> None:
    content = mapped_pdf(LINES, LINES, mapping=faithful).replace(b"7 0 R]", b"1 0 R]")  # the catalog is no page
    document = read_document("store.pdf", content, max_bytes=10**8)
    assert [section.page for section in document.sections] == [1]
    assert gap_sentences(document.metadata) == ["1 of 2 pages has no text (2), so nothing on it is found"]


@pytest.mark.parametrize(
    "text",
    [
        samples.ENGLISH * 2,
        samples.GERMAN * 3,
        samples.FRENCH * 3,
        samples.JAPANESE,
        samples.KOREAN,
        "Zażółć gęślą jaźń, a potem wróć do domu przed zmrokiem, zanim zamkną bramę. " * 4,
        "Çekiçleri güneşe koymayın; ölçü aletleri ışıktan zarar görür ve yanlış gösterir. " * 4,
        "Laiva lähtee satamasta aamulla ja palaa illalla, ellei tuuli ole liian kova. " * 4,
        "\uf0b7 first\n\uf0b7 second\n\uf0b7 third\n\uf0b7 fourth\n\uf0b7 fifth",
        "Part 7741-03, 9982-17, 1120-55, 4410-08, 3391-26 | 12.50 | 8.75 | 3.20 | 41.00\r\n" * 5,
        "a two-col\x02umn page and a hyph\ufffeen at the end of each line, as PDFium marks them",
        "\uf06c가입 대상\n\uf06c가입 절차\n\uf06c서류 " * 3,
        "麺\ue0a1さんの名前は外字である。" + samples.JAPANESE,
        "\uf0b7A",
    ],
)
def test_texts_of_languages_tables_and_lists_are_legible(text: str) -> None:
    assert legible(text).is_whole


@pytest.mark.parametrize(
    "text",
    [
        "".join(chr(ord(letter) - 29) for letter in samples.ENGLISH * 2),
        samples.ENGLISH[:60] + "\ue0a1\ue0a2\ue0a3\ue0a4 \ue0a5\ue0a6\ue0a7",
        "".join(chr(0xD79D - 7 * at) for at in range(60)),
        "\ufffd\ufffd\ufffd\ufffd and more",
        samples.KOREAN * 3 + "차세대 비\ue357체, 네\ue342킹 방지, 풀\ue32a 검증, 퍼\ue406오",
        "\ue0e0cm",
    ],
    ids=["shifted", "private", "of no language", "unknown", "a few headings of Korean", "the only letter"],
)
def test_letters_that_are_shifted_unknown_or_of_no_language_are_not(text: str) -> None:
    assert not legible(text).is_whole


def drawn(*pages: Callable[[Canvas], None]) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    for draw in pages:
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def text(canvas: Canvas) -> None:
    canvas.drawString(60, 700, "The kiln is lit at six.")


def nothing(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 10)


def white(canvas: Canvas) -> None:
    canvas.setFillColorRGB(1, 1, 1)
    canvas.rect(0, 0, 595, 842, stroke=0, fill=1)


def rules(canvas: Canvas) -> None:
    for y in (60, 800):
        canvas.line(60, y, 535, y)


def drawing(canvas: Canvas) -> None:
    canvas.circle(300, 400, 120, fill=1)


def test_blank_pages_are_no_gap_and_drawings_are() -> None:
    parsed = read(drawn(text, nothing, white, rules, drawing))
    assert parsed.scanned == (5,)
    assert parsed.metadata["pages_without_text"] == "5"


def stamp(canvas: Canvas) -> None:
    canvas.drawImage(samples.ImageReader(io.BytesIO(samples.noisy_picture())), 0, 0, 595, 842)
    canvas.setFont("Helvetica", 8)


def in_the_margin(canvas: Canvas) -> None:
    stamp(canvas)
    canvas.drawString(40, 815, "Received by the office of the harbour master on 4 March 2025, file number 77-120-B,")
    canvas.drawString(40, 805, "copied for the archive by the second desk, to be kept for ten years from this day on")


def in_a_corner(canvas: Canvas) -> None:
    stamp(canvas)
    for at, line in enumerate(
        ("Received by the office", "of the harbour master", "on 4 March 2025, file", "number 77-120-B,")
    ):
        canvas.drawString(400, 700 - 10 * at, line + " and copied")


def over_the_page(canvas: Canvas) -> None:
    stamp(canvas)
    for at in range(40):
        canvas.drawString(
            60, 740 - 16 * at, f"Line {at} of a letter that was recognized before and lies over its scan."
        )


@pytest.mark.parametrize(
    ("draw", "scanned"),
    [(in_the_margin, (1,)), (in_a_corner, (1,)), (over_the_page, ())],
    ids=["in the margin", "in a corner", "over the page"],
)
def test_a_long_stamp_is_not_the_text_of_a_scan(draw: Callable[[Canvas], None], scanned: tuple[int, ...]) -> None:
    assert read(drawn(draw)).scanned == scanned


def test_embedded_files_are_named() -> None:
    import pypdfium2  # type: ignore[import-untyped]

    document = pypdfium2.PdfDocument(drawn(text))
    document.new_attachment("budget.xlsx").set_data(b"123")
    stream = io.BytesIO()
    document.save(stream)
    document.close()
    assert gap_sentences(read(stream.getvalue()).metadata) == ["attachments that were not read: budget.xlsx"]
