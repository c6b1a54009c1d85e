"""Static files under names that have a hash of their content: browsers keep them for a year and never mix versions.

`braid.css` is served as `braid.3f9a1c04be.css`. Comments and indentation stay here. The files are read once, so
that a process serves one version of them, also while another one is being installed; after a change of a file the app
is started again.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Response, request
from werkzeug.exceptions import NotFound

from braid.app.web.compression import accepts_gzip

STATIC_FOLDER = Path(__file__).parent.parent / "static"
COMMENTS = {
    ".css": re.compile(rb"/\*.*?\*/\n?", re.DOTALL),
    ".js": re.compile(rb"^\s*//.*\n|[ \t]+// [^'\"`\n]*$", re.MULTILINE),
}
"""Comments of styles and of scripts, a twelfth of what a first visit loads. One at the end of a line of a script stays
if it has a quotation mark: it may be within a text, and texts end on their line.
"""
INDENTED = re.compile(rb"^[ \t]+|^\n", re.MULTILINE)
"""What starts a line, and empty lines: no text of a script goes over several lines."""
HASH_CHARS = 10
YEAR_S = 365 * 86_400
FOR_OTHER_SITES = "embed.js"
"""The file that pages of other sites load, under its own name."""


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file, as it is and compressed; ``hashed_name`` is the name in pages."""

    hashed_name: str
    mimetype: str
    body: bytes
    packed: bytes


@lru_cache(maxsize=1)
def static_files() -> Mapping[str, StaticFile]:
    """Return the files by their own names."""
    return {path.name: _read(path) for path in sorted(STATIC_FOLDER.iterdir()) if path.is_file()}


def _read(path: Path) -> StaticFile:
    body = path.read_bytes()
    if comments := COMMENTS.get(path.suffix):
        body = INDENTED.sub(b"", comments.sub(b"", body))
    digest = hashlib.sha256(body).hexdigest()[:HASH_CHARS]
    mimetype = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return StaticFile(f"{path.stem}.{digest}{path.suffix}", mimetype, body, gzip.compress(body, 9, mtime=0))


def hash_name(endpoint: str, values: dict[str, Any]) -> None:
    """Replace a static file's own name by the one with its hash, in every address that ``url_for`` makes."""
    found = static_files().get(values.get("filename", ""))
    if found is not None and endpoint.endswith(".static"):
        values["filename"] = found.hashed_name


def send_static(filename: str) -> Response:
    """Answer with a file under its hashed name, to be kept for a year, or under its own one, to be asked for again.

    A hash of another version is not found: an answer with the wrong content would be kept for a year.
    """
    files = static_files()
    hashed = next((each for each in files.values() if each.hashed_name == filename), None)
    found = hashed or files.get(filename)
    if found is None:
        raise NotFound
    is_packed = accepts_gzip() and len(found.packed) < len(found.body)
    response = Response(found.packed if is_packed else found.body, mimetype=found.mimetype)
    if is_packed:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = f"public, max-age={YEAR_S}, immutable" if hashed else "no-cache"
    if found is files[FOR_OTHER_SITES]:
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.set_etag(found.hashed_name + ("-gzip" if is_packed else ""))
    response.make_conditional(request)
    return response
