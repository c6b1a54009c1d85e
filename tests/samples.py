"""Real files of every format, made in memory by the libraries that people make them with."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from email.message import EmailMessage

import docx
import pptx
import xlsxwriter  # type: ignore[import-untyped]
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from PIL import Image
from pptx.util import Inches
from reportlab.lib.pagesizes import A4  # type: ignore[import-untyped]
from reportlab.lib.pdfencrypt import StandardEncryption  # type: ignore[import-untyped]
from reportlab.lib.utils import ImageReader  # type: ignore[import-untyped]
from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

JAPANESE = (
    "図書館の利用案内です。貸出は一人につき十冊まで、期間は二週間です。予約のない資料は一度だけ延長できます。"
    "返却が遅れた場合は、その日数だけ貸出を停止します。館内では無線ネットワークを利用できます。"
)
KOREAN = (
    "도서관 이용 안내입니다. 대출은 한 사람에 열 권까지이고 기간은 두 주일입니다. 예약이 없는 자료는 한 번만 "
    "연장할 수 있습니다. 반납이 늦으면 그 날수만큼 대출을 정지합니다. 관내에서는 무선 네트워크를 쓸 수 있습니다."
)
ENGLISH = (
    "The library lends ten books to each reader for two weeks. Books that nobody has reserved may be renewed once. "
    "Lending stops for as many days as a book is late."
)
GERMAN = "Die Bücherei verleiht zehn Bücher für zwei Wochen. Wer zu spät zurückgibt, muß größere Gebühren zahlen."
FRENCH = "La bibliothèque prête dix livres à chaque lecteur pendant deux semaines ; l’été, elle est fermée."
GIF = bytes.fromhex("474946383761010001008000000000000000002c000000000100010000080400010404003b")
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49"
    "444154789c63e01291fb0f0001a4013c938b0eb70000000049454e44ae426082"
)
OLE_HEADER = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504)


def pdf(
    pages: Sequence[Sequence[str]], *, title: str = "", password: str | None = None, drawn: Collection[int] = ()
) -> bytes:
    """A page per list of lines, in a Japanese font where one is needed; ``drawn`` ones, from 1, have a picture."""
    stream = io.BytesIO()
    encryption = StandardEncryption(password, "owner") if password is not None else None
    canvas = Canvas(stream, encrypt=encryption)
    canvas.setTitle(title)
    pdfmetrics.registerFont(UnicodeCIDFont("HeiseiKakuGo-W5"))
    for number, lines in enumerate(pages, start=1):
        if number in drawn:
            canvas.drawImage(ImageReader(Image.effect_noise((60, 85), 50)), 0, 0, *A4)
        text = canvas.beginText(50, 800)
        text.setFont("Helvetica" if all(map(str.isascii, lines)) else "HeiseiKakuGo-W5", 10)
        for line in lines:
            text.textLine(line)
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def scanned_pdf() -> bytes:
    """A page with a drawing and no text."""
    stream = io.BytesIO()
    canvas = Canvas(stream)
    canvas.rect(100, 100, 300, 500, fill=1)
    canvas.showPage()
    canvas.save()
    return stream.getvalue()


def noisy_picture(form: str = "PNG") -> bytes:
    """A picture of 200 × 200 pixels in grey, without text."""
    stream = io.BytesIO()
    Image.effect_noise((200, 200), 60).save(stream, form)
    return stream.getvalue()


def picture_bomb() -> bytes:
    """A PNG image of 30,000 × 30,000 white pixels in 150 kB, which takes 900 MB and more to open."""
    rows, packing = (bytes([0]) + b"\xff" * 3750) * 300, zlib.compressobj(9, wbits=-15)
    part = packing.compress(rows) + packing.flush(zlib.Z_FULL_FLUSH)  # a hundred times the same, packed once
    packed = b"\x78\xda" + 100 * part + b"\x03\x00" + struct.pack(">I", zlib.adler32(100 * rows))
    parts = [(b"IHDR", struct.pack(">IIBBBBB", 30_000, 30_000, 1, 0, 0, 0, 0)), (b"IDAT", packed), (b"IEND", b"")]
    chunks = (
        struct.pack(">I", len(part)) + name + part + struct.pack(">I", zlib.crc32(name + part)) for name, part in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def tiff_of_pages(count: int) -> bytes:
    """A TIFF file of so many pages of one pixel, in 40 bytes per page."""
    content, at = [struct.pack("<2sHI", b"II", 42, 8)], 8
    for number in range(count):
        fields = [(256, 3, 1, 1), (257, 3, 1, 1), (273, 4, 1, 8), (279, 4, 1, 1)]
        size = 2 + 12 * len(fields) + 4
        following = at + size if number + 1 < count else 0
        content.append(struct.pack("<H", len(fields)) + b"".join(struct.pack("<HHII", *each) for each in fields))
        content.append(struct.pack("<I", following))
        at += size
    return b"".join(content)


def docx_manual() -> bytes:
    """Headings of two levels, a table, a list, a text box, a content control, deleted text and furigana."""
    document = docx.Document()
    document.core_properties.author = "Hanako Sato"
    document.add_heading("Library manual", 0)
    document.add_paragraph("How the library works.")
    document.add_heading("Lending", 1)
    document.add_paragraph(ENGLISH)
    document.add_paragraph("Ten books", style="List Bullet")
    document.add_heading("Fees", 2)
    table = document.add_table(rows=0, cols=2)
    for cells in (("Days late", "Fee"), ("1", "10 yen"), ("7", "50 yen")):
        for cell, text in zip(table.add_row().cells, cells, strict=True):
            cell.text = text
    document.add_heading("利用案内", 1)
    document.add_paragraph(JAPANESE)
    body = document.element.body
    for xml in (
        "<w:sdt {0}><w:sdtContent><w:p><w:r><w:t>Controlled text.</w:t></w:r></w:p></w:sdtContent></w:sdt>",
        "<w:p {0}><w:r><w:t>Kept.</w:t></w:r><w:del><w:r><w:delText>Deleted.</w:delText></w:r></w:del></w:p>",
        "<w:p {0}><w:r><w:ruby><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt>"
        "<w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r><w:r><w:t>都</w:t></w:r></w:p>",
        "<w:p {0}><w:r><w:pict><w:txbxContent>"
        "<w:p><w:r><w:t>Boxed.</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p>",
    ):
        body.insert(len(body) - 1, parse_xml(xml.format(nsdecls("w"))))
    return _saved(document)


def docm_manual() -> bytes:
    """A Word document with macros."""
    parts = unzipped(docx_manual())
    parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace(
        b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
        b"application/vnd.ms-word.document.macroEnabled.main+xml",
    )
    return zipped(parts | {"word/vbaProject.bin": b"Sub AutoOpen()"})


def pptx_talk() -> bytes:
    """Two slides with a table, a group and speaker notes."""
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Hybrid search"
    slide.placeholders[1].text = "Two legs\nOne ranking"
    slide.notes_slide.notes_text_frame.text = "Say why keywords still matter."
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "結果"
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row, cells in enumerate((("leg", "nDCG"), ("BM25", "0.70"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(4), Inches(3), Inches(1)).text_frame.text = "Grouped text"
    return _saved(presentation)


def xlsx_staff(rows: int = 2) -> bytes:
    """A sheet with a title row above its header, a formula with its stored value and a date; a sheet in Japanese."""
    stream = io.BytesIO()
    workbook = xlsxwriter.Workbook(stream)
    sheet = workbook.add_worksheet("Staff")
    date = workbook.add_format({"num_format": "yyyy-mm-dd"})
    sheet.write_row(0, 0, ["Staff of the library"])
    sheet.write_row(2, 0, ["name", "started", "loans", "twice"])
    for number in range(rows):
        sheet.write(number + 3, 0, f"Person {number}")
        sheet.write_number(number + 3, 1, 45000 + number, date)
        sheet.write_number(number + 3, 2, 2.5 + number)
        sheet.write_formula(number + 3, 3, f"=C{number + 4}*2", None, 5 + 2 * number)
    sheet = workbook.add_worksheet("蔵書")
    sheet.write_row(0, 0, ["書名", "棚"])
    sheet.write_row(1, 0, ["検索の本", "B3"])
    workbook.close()
    return stream.getvalue()


def mail(*attachments: tuple[str, bytes], html: str = "", enclosed: bytes = b"") -> bytes:
    """A mail with attachments, and another mail in it if there is one."""
    message = EmailMessage()
    message["From"] = "Hanako Sato <hanako@example.org>"
    message["To"] = "team@example.org"
    message["Subject"] = "会議の資料"
    message["Date"] = "Mon, 02 Mar 2026 09:00:00 +0900"
    if html:
        message.set_content(html, subtype="html")
    else:
        message.set_content("添付の資料を確認してください。\nPlease read it before Monday.\n")
    for name, content in attachments:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    if enclosed:
        import email

        message.add_attachment(email.message_from_bytes(enclosed, _class=EmailMessage))
    return bytes(message)


EPUB_PARTS: Mapping[str, bytes] = {
    "mimetype": b"application/epub+zip",
    "META-INF/container.xml": b'<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"'
    b' version="1.0"><rootfiles><rootfile full-path="OEBPS/book.opf" '
    b'media-type="application/oebps-package+xml"/></rootfiles></container>',
    "OEBPS/book.opf": '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
    '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>吾輩は猫である</dc:title>'
    "<dc:creator>夏目漱石</dc:creator><dc:language>ja</dc:language></metadata><manifest>"
    '<item id="two" href="text/two.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="one" href="text/chapter%201.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="one"/><itemref idref="two"/></spine></package>'.encode(),
    "OEBPS/text/chapter 1.xhtml": "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>第一章</title></head><body>"
    "<h1>第一章</h1><p>吾輩は<ruby>猫<rt>ねこ</rt></ruby>である。</p></body></html>".encode(),
    "OEBPS/text/two.xhtml": "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>後書き</title></head><body>"
    "<p>名前はまだ無い。</p></body></html>".encode(),
}


def epub(**changed: bytes) -> bytes:
    """A book of two chapters, the second without a heading."""
    return zipped(EPUB_PARTS | changed)


def zipped(parts: Mapping[str, bytes]) -> bytes:
    """An archive of these files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def unzipped(content: bytes) -> dict[str, bytes]:
    """The files of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_zip_password(content: bytes) -> bytes:
    """The archive with the flag that says its entries are encrypted, in both of its directories."""
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        pieces = content.split(signature)
        content = signature.join(
            [
                pieces[0],
                *(piece[: offset - 4] + bytes([piece[offset - 4] | 1]) + piece[offset - 3 :] for piece in pieces[1:]),
            ]
        )
    return content


def ole(stream_name: str) -> bytes:
    """The beginning of an OLE container with a stream of this name."""
    return OLE_HEADER + stream_name.encode("utf-16-le").ljust(64, b"\0") + bytes(448)


def _saved(document: object) -> bytes:
    stream = io.BytesIO()
    document.save(stream)  # type: ignore[attr-defined]
    return stream.getvalue()
