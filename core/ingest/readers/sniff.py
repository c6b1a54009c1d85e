"""Sniffing: finds the kind of a file from its bytes, whatever its name says."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass

from braid.core.errors import Reason, UnreadableCode
from braid.core.ingest.readers.encoding import is_binary
from braid.core.ingest.readers.zip_directory import ENCRYPTED, MAX_ENTRIES, TooManyEntriesError, require_few_entries

_PDF_WITHIN = 1024
_LONGEST_TYPE = 200
"""Bytes of the name of a type."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True, slots=True)
class Sniffed:
    """The kind of a file: ``text``, ``binary``, a format that can be read, or one that is only known by name."""

    kind: str
    label: str
    """Name for people, with its article: ``a PDF document``."""
    advice: str = ""
    """What to do with the file, where that is not to rename it."""
    refused: UnreadableCode = "other_format"
    """Why a file of this kind is not read, where there is advice."""


_TEXT = Sniffed("text", Reason("plain text"))
_BINARY = Sniffed("binary", Reason("binary data"))
_PDF = Sniffed("pdf", Reason("a PDF document"))
_DAMAGED_ZIP = Sniffed(
    "damaged", Reason("a zip archive that is damaged or cut off"), Reason("copy or download it again"), "cut_off"
)
_IWORK = Sniffed(
    "iwork",
    Reason("a Pages, Numbers or Keynote document"),
    Reason("save it as %(formats)s", formats=".docx, .xlsx, .pptx"),
)
_IWORK_MEMBERS = ("Index/Document.iwa", "Index.zip", "index.apxl", "index.xml.gz", "QuickLook/Preview.pdf")
_OTHER_ZIP = Sniffed("zip", Reason("a zip archive"))
_ENCRYPTED_OFFICE = Sniffed(
    "encrypted",
    Reason("an Office document encrypted with a password"),
    Reason("remove the password in the program that made it, and add it again"),
    "encrypted",
)
_OLD_OFFICE = (
    ("EncryptedPackage", _ENCRYPTED_OFFICE),
    ("WordDocument", Sniffed("doc", Reason("a document of Word 97–2003"))),
    ("PowerPoint Document", Sniffed("ppt", Reason("a presentation of PowerPoint 97–2003"))),
    ("Workbook", Sniffed("xls", Reason("a workbook of Excel 97–2003"))),
    ("HwpSummaryInformation", Sniffed("hwp", Reason("a Hangul document (HWP)"))),
    ("BodyText", Sniffed("hwp", Reason("a Hangul document (HWP)"))),
    ("ViewText", Sniffed("hwp", Reason("a Hangul document (HWP)"))),
    ("__substg1.0_", Sniffed("msg", Reason("an Outlook message"))),
    ("Book", Sniffed("xls", Reason("a workbook of Excel 97–2003"))),
)
_OTHER_OLE = Sniffed(
    "ole", Reason("an old Office file"), Reason("save it as %(formats)s", formats=".docx, .xlsx, .pptx")
)
_ZIP_MEMBERS = (
    ("word/", Sniffed("docx", Reason("a Word document"))),
    (
        "xl/workbook.bin",
        Sniffed("xlsb", Reason("a binary Excel workbook"), Reason("save it as %(formats)s", formats=".xlsx")),
    ),
    ("xl/", Sniffed("xlsx", Reason("an Excel workbook"))),
    ("ppt/", Sniffed("pptx", Reason("a PowerPoint presentation"))),
    ("Contents/content.hpf", Sniffed("hwpx", Reason("a Hangul document (HWPX)"))),
    ("META-INF/container.xml", Sniffed("epub", Reason("an EPUB book"))),
    (
        "META-INF/manifest.xml",
        Sniffed("odf", Reason("an OpenDocument file"), Reason("save it as %(formats)s", formats=".docx, .xlsx, .pptx")),
    ),
)
_OPEN_DOCUMENTS = {
    b"application/vnd.oasis.opendocument.text": Sniffed("odt", Reason("an OpenDocument text")),
    b"application/vnd.oasis.opendocument.spreadsheet": Sniffed("ods", Reason("an OpenDocument spreadsheet")),
    b"application/vnd.oasis.opendocument.presentation": Sniffed("odp", Reason("an OpenDocument presentation")),
    b"application/epub+zip": Sniffed("epub", Reason("an EPUB book")),
}
_RTF = Sniffed("rtf", Reason("a rich text (RTF) document"))
_AS_PICTURE = Reason("save it as %(formats)s", formats=".png")
_MAILBOX = Sniffed("other", Reason("a mailbox"), Reason("save the mails in it as %(formats)s", formats=".eml"))
_MAILBOX_BEGINS = re.compile(rb"From \S{1,200} [^\r\n]{0,60}\d{4}[^\r\n]{0,20}\r?\n>?[A-Za-z-]{1,60}:")
_GOOGLE = Sniffed(
    "other",
    Reason("a link to a Google document"),
    Reason("download it as %(formats)s", formats=".docx, .xlsx, .pptx"),
)
_BY_SUFFIX = {".mbox": _MAILBOX, ".mbx": _MAILBOX, ".gdoc": _GOOGLE, ".gsheet": _GOOGLE, ".gslides": _GOOGLE} | {
    ".bmp": Sniffed("other", Reason("a %(format)s image", format="BMP"), _AS_PICTURE),
    ".avif": Sniffed("other", Reason("a %(format)s image", format="AVIF"), _AS_PICTURE),
}
_TNEF = Sniffed(
    "other",
    Reason("an attachment in the own format of Outlook (TNEF)"),
    Reason("ask who sent it to send the mail as HTML or plain text"),
)
_GIF = b"GIF8"
_HEIC = (b"heic", b"heix", b"hevc", b"mif1", b"msf1")
_KNOWN = (
    (0, b"\x89PNG\r\n\x1a\n", Sniffed("png", Reason("a %(format)s image", format="PNG"))),
    (0, b"\xff\xd8\xff", Sniffed("jpg", Reason("a %(format)s image", format="JPEG"))),
    (0, b"II*\0", Sniffed("tiff", Reason("a %(format)s image", format="TIFF"))),
    (0, b"MM\0*", Sniffed("tiff", Reason("a %(format)s image", format="TIFF"))),
    (0, b'x\x9f>"', _TNEF),
    (8, b"WEBPVP8", Sniffed("webp", Reason("a %(format)s image", format="WebP"))),
    *(
        (
            4,
            b"ftyp" + brand,
            Sniffed("other", Reason("a %(format)s image", format="HEIC"), _AS_PICTURE),
        )
        for brand in _HEIC
    ),
)
_SIGNATURES = (
    (0, b"\x1f\x8b", Reason("a %(format)s archive", format="gzip")),
    (0, b"7z\xbc\xaf\x27\x1c", Reason("a %(format)s archive", format="7-Zip")),
    (0, b"Rar!\x1a\x07", Reason("a %(format)s archive", format="RAR")),
    (0, b"BZh", Reason("a %(format)s archive", format="bzip2")),
    (0, b"\xfd7zXZ\0", Reason("an %(format)s archive", format="xz")),
    (0, b"\x28\xb5\x2f\xfd", Reason("a %(format)s archive", format="Zstandard")),
    (257, b"ustar", Reason("a %(format)s archive", format="tar")),
    (0, b"\x7fELF", Reason("a program")),
    (0, b"MZ\x90\0", Reason("a Windows program")),
    (0, b"\xca\xfe\xba\xbe", Reason("a compiled program")),
    (0, b"SQLite format 3\0", Reason("an SQLite database")),
    (0, b"ID3", Reason("an %(format)s recording", format="MP3")),
    (4, b"ftyp", Reason("a video or audio recording")),
    (0, b"OggS", Reason("an %(format)s recording", format="Ogg")),
    (0, b"PAR1", Reason("a %(format)s table", format="Parquet")),
    (0, b"%!PS", Reason("a %(format)s document", format="PostScript")),
    (0, b"HWP Document File V", Reason("a Hangul document of before 2002")),
)


def sniff(content: bytes) -> Sniffed:
    """Return the kind of a file by its signature, or else by whether it contains text. Never raises."""
    for offset, signature, kind in _KNOWN:
        if content.startswith(signature, offset):
            return kind
    for offset, signature, label in _SIGNATURES:
        if content.startswith(signature, offset) and not _only_looks_so(signature, content):
            return Sniffed("other", label)
    if content.startswith(_GIF) and is_binary(content):
        return Sniffed("other", Reason("a %(format)s image", format="GIF"), _AS_PICTURE)
    if content.startswith(_ZIP):
        return _zip_kind(content)
    if content.startswith(_OLE):
        return _ole_kind(content)
    if content.lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(b"%PDF-"):
        return _PDF
    if content.lstrip(b" \t\r\n").startswith(b"{\\rtf"):
        return _RTF
    if is_binary(content):
        return _PDF if b"%PDF-" in content[:_PDF_WITHIN] else _BINARY
    return _TEXT


def sniff_other(suffix: str, content: bytes) -> Sniffed | None:
    """Return the kind of a file of a suffix that no reader has, where it is known how else to add it."""
    return _BY_SUFFIX.get(suffix) or (_MAILBOX if _MAILBOX_BEGINS.match(content) else None)


def _only_looks_so(signature: bytes, content: bytes) -> bool:
    """Return whether this is a text that begins with the letters of a short signature (``BZh``, ``ID3``, ``GIF8``)."""
    return signature.isalnum() and not is_binary(content)


def _zip_kind(content: bytes) -> Sniffed:
    try:
        require_few_entries(io.BytesIO(content), MAX_ENTRIES)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            declared = _declared_type(archive, names)
    except TooManyEntriesError as error:
        return Sniffed(
            "damaged",
            str(error),
            Reason("split it into smaller files"),
            "too_large",
        )
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, ValueError, OSError, EOFError):
        return _DAMAGED_ZIP
    if declared in _OPEN_DOCUMENTS:
        return _OPEN_DOCUMENTS[declared]
    for member, kind in _ZIP_MEMBERS:
        if any(name.startswith(member) for name in names):
            return kind
    return _IWORK if any(name.endswith(_IWORK_MEMBERS) for name in names) else _OTHER_ZIP


def _declared_type(archive: zipfile.ZipFile, names: list[str]) -> bytes:
    """Return what an archive says that it is, as OpenDocument files do; of a template, the type of its documents."""
    if "mimetype" not in names:
        return b""
    entry = archive.getinfo("mimetype")
    if entry.file_size > _LONGEST_TYPE or entry.flag_bits & ENCRYPTED:
        return b""
    return archive.read("mimetype").strip().removesuffix(b"-template")


def _ole_kind(content: bytes) -> Sniffed:
    """Return the kind of an OLE container by its streams: Office files before 2007, and encrypted ones of any year."""
    names = _ole_names(content)
    for stream, kind in _OLD_OFFICE:
        if stream.encode("utf-16-le") in content if names is None else any(stream.lower() in name for name in names):
            return kind
    return _OTHER_OLE


def _ole_names(content: bytes) -> set[str] | None:
    """Return the names of the outermost streams and storages in lower case; None where only the bytes are left."""
    try:
        import olefile  # type: ignore[import-untyped]

        with olefile.OleFileIO(content) as ole:
            return {path[0].lower() for path in ole.listdir(streams=True, storages=True)}
    except (ImportError, OSError, ValueError, IndexError, TypeError, AttributeError, struct.error):  # damaged
        return None
