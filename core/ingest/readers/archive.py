"""Zip archives (docx, pptx, xlsx, epub) from anywhere: checked before a library unpacks them."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib

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


def open_archive(file: SourceFile) -> zipfile.ZipFile:
    """Open the archive after a test of every entry: its stated and its real size, and its checksum.

    Raises UnreadableDocumentError for a bomb or an encrypted archive, BadZipFile or another of PACKAGE_ERRORS for a
    damaged one.
    """
    archive = zipfile.ZipFile(io.BytesIO(file.content))
    entries = archive.infolist()
    limit = min(MAX_UNPACKED_FACTOR * file.max_bytes, MAX_UNPACKED_BYTES)
    if len(entries) > MAX_ENTRIES:
        raise _bomb(file, f"it holds {len(entries):,} files, more than {MAX_ENTRIES:,}")
    if sum(entry.file_size for entry in entries) > limit:
        raise _bomb(file, f"it unpacks to more than {limit:,} bytes")
    for entry in entries:
        if entry.flag_bits & ENCRYPTED:
            raise file.unreadable("is encrypted with a password; remove the password and add it again")
        if entry.file_size > max(SMALL_ENTRY_BYTES, MAX_RATIO * entry.compress_size):
            raise _bomb(file, f"a part of it unpacks to more than {MAX_RATIO} times its size")
    _unpack(file, archive, entries, limit)
    return archive


def _unpack(file: SourceFile, archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], limit: int) -> None:
    """Unpack all entries block by block and discard them: the sizes in the directory may be wrong."""
    unpacked = 0
    for entry in entries:
        with archive.open(entry) as stream:
            while block := stream.read(_BLOCK):
                unpacked += len(block)
                if unpacked > limit:
                    raise _bomb(file, f"it unpacks to more than {limit:,} bytes")


def _bomb(file: SourceFile, why: str) -> UnreadableDocumentError:
    return file.unreadable(f"is not unpacked because {why}; split it into smaller files")
