"""Answers with a document's original file, of which nothing may run in the reader's browser."""

from __future__ import annotations

from pathlib import PurePosixPath

from flask import Response, send_file

from braid.app.site import site
from braid.app.web.transfers import printable
from braid.core.errors import NotFoundError
from braid.core.ingest.incoming import last_part
from braid.core.types import Document

BYTES, PDF = "application/octet-stream", "application/pdf"
SHOWN = {
    ".pdf": PDF,
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".txt": "text/plain",
    ".md": "text/plain",
    ".csv": "text/plain",
}
"""Media types by suffix that a browser shows without running anything; all others are saved."""
NOTHING_RUNS = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
SANDBOX = f"{NOTHING_RUNS}; sandbox"


def original_file(document: Document, *, download: bool = False) -> Response:
    """Return the file that the document was read from, to be saved where ``download`` says so or no browser shows it.

    Raises NotFoundError where it is not kept.
    """
    path = site().background.originals.find(document)
    if path is None:
        raise NotFoundError(f"the file of document {document.id} is not kept, or it has changed since it was read")
    name = printable(filename(document))
    kind = None if download else SHOWN.get(PurePosixPath(name).suffix.lower())
    response = send_file(path, kind or BYTES, as_attachment=kind is None, download_name=name, etag=False)
    response.cache_control.private = True
    # A browser's viewer of PDF files does not start in a sandbox of ours; it has one of its own.
    response.headers["Content-Security-Policy"] = NOTHING_RUNS if kind == PDF else SANDBOX
    return response


def filename(document: Document) -> str:
    """Return the name under which the file is saved: the last part of the source, with the suffix of its format."""
    name = last_part(document.source.rstrip("/")) or "document"
    if PurePosixPath(name).suffix or not document.file_type:
        return name
    return f"{name}.{document.file_type}"
