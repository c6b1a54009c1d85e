"""Compression of pages and JSON with gzip. Event streams and downloads go out as they are.

A compressed page tells by its length whether a guess that is repeated in it is right (BREACH, Gluck, Harris and Prado
2013). What must not be guessed is masked anew for each answer (`braid.app.auth.csrf.csrf_token`), and the length has a
random part (Heal the Breach, Palacios and others 2022), as in Django.
"""

from __future__ import annotations

import secrets
from gzip import GzipFile
from io import BytesIO

from flask import Response, request

MIN_BYTES = 860
"""Shorter answers fit into one packet anyway."""
LEVEL = 5
"""A page of 100 kB takes 2 ms; level 9 takes twice as long and saves 2 % more."""
MAX_PADDING = 100
"""Bytes of the random part: a file's name in gzip's head, which readers skip."""
TYPES = frozenset(
    {
        "text/html",
        "text/plain",
        "text/markdown",
        "application/json",
        "application/problem+json",
    }
)


def accepts_gzip() -> bool:
    """Return whether the client of this request takes gzip."""
    return request.accept_encodings.quality("gzip") > 0


def compress(response: Response) -> None:
    """Compress the body of an answer to this request if it is of a kind that gains by it and the client takes it.

    An answer with an ETag stays as it is: the tag is of these bytes, and clients send it back with ``If-Match``.
    """
    if response.is_streamed or response.direct_passthrough or response.mimetype not in TYPES:
        return
    if "Content-Encoding" in response.headers or "ETag" in response.headers:
        return
    body = response.get_data()
    if len(body) >= MIN_BYTES and accepts_gzip():
        response.set_data(_pack(body))
        response.headers["Content-Encoding"] = "gzip"


def _pack(body: bytes) -> bytes:
    packed = BytesIO()
    padding = "x" * secrets.randbelow(MAX_PADDING)
    with GzipFile(filename=padding, mode="wb", compresslevel=LEVEL, fileobj=packed, mtime=0) as file:
        file.write(body)
    return packed.getvalue()
