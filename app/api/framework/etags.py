"""ETags of documents: conditional reads, and writes that must not overwrite somebody else's change."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from flask import Response, request

from braid.core.errors import BraidError
from braid.core.types import Document

IF_MATCH = "If-Match"
IF_NONE_MATCH = "If-None-Match"


class ChangedMeanwhileError(BraidError):
    """The document is not what a ``header`` of the request says."""

    def __init__(self, message: str, header: str) -> None:
        super().__init__(message)
        self.header = header


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


def condition() -> Callable[[Document | None], None]:
    """Return a check of the stored document against the headers If-Match and If-None-Match; without them it accepts
    everything.

    The check raises ChangedMeanwhileError.
    """
    is_given, wanted, unwanted = IF_MATCH in request.headers, request.if_match, request.if_none_match

    def check(stored: Document | None) -> None:
        if is_given and stored is None:
            message = "there is no such document, or no longer; leave If-Match out to add it"
            raise ChangedMeanwhileError(message, IF_MATCH)
        if is_given and stored is not None and not wanted.contains(etag(stored)):
            message = "the document has changed since it was read; get it again and send its new ETag"
            raise ChangedMeanwhileError(message, IF_MATCH)
        if stored is not None and unwanted.contains_weak(etag(stored)):
            message = "there is such a document already; leave If-None-Match out to replace it"
            raise ChangedMeanwhileError(message, IF_NONE_MATCH)

    return check
