"""Zip archives (docx, pptx, xlsx, epub) from anywhere: checked before a library unpacks them."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator

from lxml import etree

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers.document import SourceFile
from braid.core.ingest.readers.zip_directory import ENCRYPTED, MAX_ENTRIES

PACKAGE_ERRORS = (
    # zipfile and the decompressors
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    # the XML parsers
    etree.LxmlError,
    SyntaxError,
    # libraries for office files, which assume that a file is complete
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""Errors that reading a damaged package of XML files raises, as seen by reading thousands of them."""

MAX_UNPACKED_BYTES = 500_000_000
MAX_UNPACKED_FACTOR = 10
MAX_RATIO = 200
"""Highest unpacked : packed size of an entry over SMALL_ENTRY_BYTES; office files reach 5 to 50."""
SMALL_ENTRY_BYTES = 5_000_000
_BLOCK = 1 << 20


def open_archive(
    file: SourceFile, *, looked_at: tuple[str, ...] = (), look: Callable[[str, bytes], None] = lambda *_: None
) -> zipfile.ZipFile:
    """Open the archive after a test of every entry: its stated and its real size, and its checksum.

    ``look`` is called with the name and the content of each entry whose name ends as ``looked_at`` says.

    Raises UnreadableDocumentError for a bomb or an encrypted archive, BadZipFile or another of PACKAGE_ERRORS for a
    damaged one.
    """
    archive = zipfile.ZipFile(io.BytesIO(file.content))
    entries = archive.infolist()
    limit = min(MAX_UNPACKED_FACTOR * file.max_bytes, MAX_UNPACKED_BYTES)
    if len(entries) > MAX_ENTRIES:
        raise file.too_large(
            "%(name)s is not unpacked because it holds %(files)s files, more than %(most)s; split it into "
            "smaller files",
            files=len(entries),
            most=MAX_ENTRIES,
        )
    if sum(entry.file_size for entry in entries) > limit:
        raise _bomb(file, limit)
    for entry in entries:
        if entry.flag_bits & ENCRYPTED:
            raise file.unreadable(
                "%(name)s is encrypted with a password; remove the password and add it again", code="encrypted"
            )
        if entry.file_size > max(SMALL_ENTRY_BYTES, MAX_RATIO * entry.compress_size):
            raise file.too_large(
                "%(name)s is not unpacked because a part of it unpacks to more than %(most)s times its size; split it "
                "into smaller files",
                most=MAX_RATIO,
            )
    unpacked = 0
    for entry in entries:
        kept: list[bytes] = []
        is_kept = entry.filename.endswith(looked_at) if looked_at else False
        for block in _blocks(file, archive, entry):
            unpacked += len(block)
            if unpacked > limit:  # the sizes in the directory may be wrong
                raise _bomb(file, limit)
            if is_kept:
                kept.append(block)
        if is_kept:
            look(entry.filename, b"".join(kept))
    return archive


def _blocks(file: SourceFile, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        opened = archive.open(entry)
    except NotImplementedError as error:
        raise file.unreadable(
            "%(name)s is packed by a method that is not known here, such as Deflate64; pack it again",
            code="other_format",
        ) from error
    with opened as stream:
        while block := stream.read(_BLOCK):
            yield block


def _bomb(file: SourceFile, limit: int) -> UnreadableDocumentError:
    return file.unreadable(
        "%(name)s is not unpacked because it unpacks to more than %(most)s bytes; split it into smaller files",
        most=format(limit, ","),
        code="too_large",
    )
