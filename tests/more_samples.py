"""Files of OpenDocument, HWPX and Outlook, made in memory part by part."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence

from tests.samples import JAPANESE, KOREAN, zipped

_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_SPACES = " ".join(
    f'xmlns:{name}="{_ODF}:{full}:1.0"'
    for name, full in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("meta", "meta"),
        ("presentation", "presentation"),
    )
)  # fmt: skip
MANIFEST = (
    f'<?xml version="1.0"?><manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="content.xml">{}</manifest:file-entry></manifest:manifest>'
)
ENCRYPTED = MANIFEST.format("<manifest:encryption-data/>").encode()


def open_document(kind: str, body: str, *, title: str = "", **parts: bytes) -> bytes:
    """A file whose body is ``body``: a text, a spreadsheet or a presentation."""
    meta = f'<office:meta><dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">{title}</dc:title></office:meta>'
    content = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    files = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
        "content.xml": f"<office:document-content {_SPACES}>{content}</office:document-content>".encode(),
        "meta.xml": f"<office:document-meta {_SPACES}>{meta}</office:document-meta>".encode(),
        "META-INF/manifest.xml": MANIFEST.format("").encode(),
    }
    return zipped(files | parts)


def odt_manual() -> bytes:
    """Headings, a list, a table, a footnote, a comment, a deleted and a hidden text, furigana and a text box."""
    return open_document(
        "text",
        "<text:tracked-changes><text:p>Deleted before.</text:p></text:tracked-changes>"
        '<text:h text:outline-level="1">利用案内</text:h>'
        f"<text:p>{JAPANESE}</text:p>"
        '<text:h text:outline-level="2">Fees</text:h>'
        "<text:list><text:list-item><text:p>Ten<text:s text:c='2'/>books</text:p></text:list-item></text:list>"
        "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Days late</text:p>"
        "</table:table-cell><table:table-cell><text:p>Fee</text:p></table:table-cell></table:table-row>"
        "</table:table-header-rows><table:table-row><table:table-cell><text:p>7</text:p></table:table-cell>"
        "<table:table-cell><text:p>50 yen</text:p></table:table-cell></table:table-row></table:table>"
        "<text:p>Kept<text:note><text:note-body><text:p>A footnote.</text:p></text:note-body></text:note>."
        "<office:annotation><text:p>A comment.</text:p></office:annotation>"
        "<text:hidden-text>Hidden.</text:hidden-text></text:p>"
        "<text:p><text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とうきょう</text:ruby-text></text:ruby>都"
        "<draw:frame><draw:text-box><text:p>Boxed.</text:p></draw:text-box></draw:frame></text:p>",
        title="Untitled",
    )


def ods_staff(rows: str = "") -> bytes:
    """A sheet with a date, a formula without a value, repeated cells and rows to the end of the sheet."""
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"
    head = "".join(cell.format("", name) for name in ("name", "started", "loans", "fee"))
    body = (
        cell.format("", "Sato")
        + cell.format(' office:value-type="date" office:date-value="2026-03-02"', "2.3.26")
        + cell.format(' office:value-type="float" office:value="2.5"', "2,50")
        + cell.format(' office:value-type="currency" office:value="61000"', "61,000 EUR")
        + '<table:table-cell table:formula="of:=1+1"/>'
        + '<table:table-cell table:number-columns-repeated="16000"/>'
    )
    empty = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row>'
    table = f"<table:table-row>{head}</table:table-row><table:table-row>{body}</table:table-row>{rows}{empty}"
    return open_document("spreadsheet", f'<table:table table:name="Staff">{table}</table:table>')


def odp_talk() -> bytes:
    """Two slides, the first with notes."""
    frame = "<draw:frame{}><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    title = ' presentation:class="title"'
    notes = f"<presentation:notes>{frame.format('', 'Say why.')}</presentation:notes>"
    first = f"<draw:page>{frame.format(title, 'Hybrid search')}{frame.format('', 'Two legs')}{notes}</draw:page>"
    return open_document("presentation", f"{first}<draw:page>{frame.format(title, '結果')}</draw:page>")


def hwpx_guide(section: str = "", **parts: bytes) -> bytes:
    """A heading, a table, a footnote, a header and a hidden comment."""
    space = (
        'xmlns:hp="http://www.hancom.co.kr/hwpml/2011/paragraph" xmlns:hs="http://www.hancom.co.kr/hwpml/2011/section"'
    )
    run = "<hp:run>{}</hp:run>"
    text = "<hp:t>{}</hp:t>"

    def paragraph(inner: str, style: int = 0) -> str:
        return f'<hp:p styleIDRef="{style}">{run.format(inner)}</hp:p>'

    cells = [[f"<hp:tc><hp:subList>{paragraph(text.format(each))}</hp:subList></hp:tc>" for each in row]
             for row in (("자료", "권수"), ("도서", "10권"))]  # fmt: skip
    table = "<hp:tbl>" + "".join(f"<hp:tr>{''.join(row)}</hp:tr>" for row in cells) + "</hp:tbl>"
    inner = paragraph(text.format("각주입니다."))
    note = f"<hp:ctrl><hp:footNote><hp:subList>{inner}</hp:subList></hp:footNote></hp:ctrl>"
    hidden = f"<hp:ctrl><hp:hiddenComment>{paragraph(text.format('숨은 설명'))}</hp:hiddenComment></hp:ctrl>"
    header = f"<hp:ctrl><hp:header>{paragraph(text.format('머리말'))}</hp:header></hp:ctrl>"
    body = (
        paragraph(header + text.format("대출 안내"), style=2)
        + paragraph(text.format(KOREAN) + note + hidden)
        + paragraph(text.format("첫 줄<hp:lineBreak/>둘째 줄<hp:deleteBegin/>지운 글<hp:deleteEnd/>"))
        + paragraph(table)
        + section
    )
    files: Mapping[str, bytes] = {
        "mimetype": b"application/hwp+zip",
        "META-INF/container.xml": b"<container/>",
        "Contents/content.hpf": '<opf:package xmlns:opf="http://www.idpf.org/2007/opf/"><opf:metadata><opf:title/>'
        '<opf:meta name="creator" content="text">김도서</opf:meta></opf:metadata></opf:package>'.encode(),
        "Contents/header.xml": '<hh:head xmlns:hh="http://www.hancom.co.kr/hwpml/2011/head">'
        '<hh:style id="0" name="바탕글"/><hh:style id="2" name="개요 1" engName="Outline 1"/></hh:head>'.encode(),
        "Contents/section0.xml": f"<hs:sec {space}>{body}</hs:sec>".encode(),
    }
    return zipped({**files, **parts})


# ------------------------------------------------------------ compound files, [MS-CFB]

_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_SECTOR, _LEAST = 512, 4096

Tree = Mapping[str, "bytes | Tree"]


def compound(tree: Tree) -> bytes:
    """A compound file of these streams and folders. Streams are padded to where they need no second table."""
    entries: list[list[object]] = [["Root Entry", 5, None, b""]]

    def add(folder: Tree, parent: int) -> None:
        children = []
        for name, value in folder.items():
            entries.append(
                [name, 2 if isinstance(value, bytes) else 1, None, value if isinstance(value, bytes) else b""]
            )
            children.append(len(entries) - 1)
            if not isinstance(value, bytes):
                add(value, len(entries) - 1)
        entries[parent][2] = children

    add(tree, 0)
    data, fat, starts, sizes = b"", [], [], []
    for _, kind, _, content in entries:
        content = bytes(content) if kind == 2 else b""  # type: ignore[call-overload]
        padded = content + bytes(max(_LEAST, -(-len(content) // _SECTOR) * _SECTOR) - len(content)) if content else b""
        starts.append(len(fat) if padded else _END)
        sizes.append(max(len(content), _LEAST) if padded else 0)
        count = len(padded) // _SECTOR
        fat += [len(fat) + step + 1 for step in range(count - 1)] + [_END] * bool(count)
        data += padded
    directory = b"".join(_entry(number, entries, starts, sizes) for number in range(len(entries)))
    directory += bytes(-len(directory) % _SECTOR)
    first_of_directory, count = len(fat), len(directory) // _SECTOR
    fat += [len(fat) + step + 1 for step in range(count - 1)] + [_END]
    fat_sectors = -(-(len(fat) + 1) // 127)
    places = list(range(len(fat), len(fat) + fat_sectors))
    fat += [_FAT] * fat_sectors
    fat += [_FREE] * (fat_sectors * 128 - len(fat))
    header = struct.pack(
        "<8s16sHHHHH6xLLLLLLLLL", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", bytes(16), 0x3E, 3, 0xFFFE, 9, 6, 0,
        fat_sectors, first_of_directory, 0, _LEAST, _END, 0, _END, 0,
    )  # fmt: skip
    header += struct.pack("<109L", *(places + [_FREE] * (109 - len(places))))
    return header + data + directory + struct.pack(f"<{len(fat)}L", *fat)


def _entry(number: int, entries: list[list[object]], starts: list[int], sizes: list[int]) -> bytes:
    name, kind, children, _ = entries[number]
    after = _FREE
    for _, _, others, _ in entries:
        if isinstance(others, list) and number in others and others[-1] != number:
            after = others[others.index(number) + 1]
    child = children[0] if isinstance(children, list) and children else _FREE
    encoded = str(name).encode("utf-16-le") + b"\0\0"
    return struct.pack(
        "<64sHBBLLL16xL8x8xLQ", encoded, len(encoded), kind, 1, _FREE, after, child, 0, starts[number], sizes[number]
    )


def msg(
    body: str = "", *, subject: str = "会議の資料", html: bytes = b"", rtf: bytes = b"",
    attachments: Mapping[str, bytes] | None = None, enclosed: Tree | None = None,
) -> bytes:  # fmt: skip
    """An Outlook message."""
    return compound(message_tree(body, subject=subject, html=html, rtf=rtf, attachments=attachments, enclosed=enclosed))


def message_tree(
    body: str = "", *, subject: str = "", html: bytes = b"", rtf: bytes = b"",
    attachments: Mapping[str, bytes] | None = None, enclosed: Tree | None = None, is_enclosed: bool = False,
) -> Tree:  # fmt: skip
    """The streams of a message."""
    texts = {
        "0037": subject,
        "0C1A": "Hanako Sato",
        "5D01": "hanako@example.org",
        "0E04": "team@example.org",
        "1000": body,
    }
    ticks = 134170524000000000  # 2026-03-02 00:00 UTC
    properties = bytes(24 if is_enclosed else 32) + struct.pack("<LLQ", 0x00390040, 6, ticks)
    tree: dict[str, bytes | Tree] = {"__properties_version1.0": properties}
    tree |= {f"__substg1.0_{tag}001F": text.encode("utf-16-le") for tag, text in texts.items() if text}
    tree |= {f"__substg1.0_{tag}0102": content for tag, content in (("1013", html), ("1009", rtf)) if content}
    for number, (name, content) in enumerate((attachments or {}).items()):
        tree[f"__attach_version1.0_#{number:08X}"] = {
            "__substg1.0_3707001F": name.encode("utf-16-le"),
            "__substg1.0_37010102": content.ljust(_LEAST),
        }
    if enclosed is not None:
        tree["__attach_version1.0_#000000FF"] = {"__substg1.0_3701000D": enclosed}
    return tree


# ------------------------------------------------------------ HWP 5


def hwp_letters(flags: int) -> bytes:
    """A kind of letters with these flags."""
    return _record(21, 0, bytes(46) + struct.pack("<L", flags) + bytes(20))


def hwp_paragraph(text: str, *, shapes: Sequence[tuple[int, int]] = (), memo: str = "") -> bytes:
    """A paragraph: ``shapes`` are places from which letters are of a kind; ``memo`` is a note at it."""
    kinds = b"".join(struct.pack("<LL", *shape) for shape in shapes)
    note = _record(93, 1, struct.pack("<L", 1)) + _record(72, 1, bytes(16)) + _paragraph(memo, level=1) if memo else b""
    return _paragraph(text) + (_record(68, 1, kinds) if kinds else b"") + note


def hwp_guide(*, flags: int = 1, section: bytes = b"", letters: Sequence[bytes] = ()) -> bytes:
    """A heading, a paragraph, a table of two rows, a footnote, a header and a hidden comment."""
    header = b"HWP Document File".ljust(32, b"\0") + struct.pack("<LL", 0x05010000, flags).ljust(224, b"\0")
    styles = b"".join(
        _record(26, 0, struct.pack("<H", len(name)) + name.encode("utf-16-le")) for name in ("바탕글", "개요 1")
    )
    body = section or (
        _paragraph("대출 안내", style=1)
        + _control(b"daeh", _paragraph("머리말", level=2))
        + _paragraph(KOREAN + "\x03" + "x" * 7)
        + _control(b"  nf", _paragraph("각주입니다.", level=2))
        + _control(b"tmct", _paragraph("숨은 설명", level=2))
        + _paragraph("\x0b" + "x" * 7)
        + _control(b" lbt", b"".join(
            _record(72, 2, struct.pack("<8xHH", column, row)) + _paragraph(text, level=2)
            for row, cells in enumerate((("자료", "권수"), ("도서", "10권"))) for column, text in enumerate(cells)
        ))
        + _paragraph("끝입니다.")
    )  # fmt: skip
    pack = _deflated if flags & 1 else bytes
    styles = b"".join(letters) + styles
    return compound({
        "FileHeader": header, "DocInfo": pack(styles), "BodyText": {"Section0": pack(body)},
        "\x05HwpSummaryInformation": b"x",
    })  # fmt: skip


def _deflated(content: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-15)
    return packing.compress(content) + packing.flush()


def _record(tag: int, level: int, content: bytes) -> bytes:
    size = min(len(content), 0xFFF)
    long = struct.pack("<L", len(content)) if size == 0xFFF else b""
    return struct.pack("<L", tag | level << 10 | size << 20) + long + content


def _paragraph(text: str, *, style: int = 0, level: int = 0) -> bytes:
    return _record(66, level, struct.pack("<LLHBB", len(text), 0, 0, style, 0)) + _record(
        67, level + 1, text.encode("utf-16-le")
    )


def _control(kind: bytes, inner: bytes) -> bytes:
    return _record(71, 1, kind) + inner
