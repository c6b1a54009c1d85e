"""ETags of documents: conditional reads, and writes that must not overwrite somebody else's change."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from flask import Response, request

from braid.core.errors import BraidError
from braid.core.types import Document

IF_MATCH = "If-Match"


class ChangedMeanwhileError(BraidError):
    """The document is not, or no longer, the one that the caller read."""


def etag(document: Document, part: str = "") -> str:
    """Return a tag that changes with the document; ``part`` distinguishes representations of the same document."""
    state = (document.id, document.updated_at, document.state, document.content_hash, document.chunks, part)
    return hashlib.sha256(repr(state).encode("utf-8", "replace")).hexdigest()[:32]


def answer_with_etag(document: Document, text: str, part: str = "") -> Response:
    """Return the answer with its ETag, or 304 without a body if the caller has it already (If-None-Match)."""
    response = Response(text, mimetype="application/json")
    response.set_etag(etag(document, part))
    response.headers["Cache-Control"] = "private, no-cache"
    response.make_conditional(request)
    return response


def if_match() -> Callable[[Document | None], None]:
    """Return a check of the stored document against the header If-Match; without the header it accepts everything.

    The check raises ChangedMeanwhileError.
    """
    is_given, wanted = IF_MATCH in request.headers, request.if_match

    def check(stored: Document | None) -> None:
        if not is_given:
            return
        if stored is None:
            raise ChangedMeanwhileError("there is no such document, or no longer; leave If-Match out to add it")
        if not wanted.contains(etag(stored)):
            raise ChangedMeanwhileError(
                "the document has changed since it was read; get it again and send its new ETag"
            )

    return check
