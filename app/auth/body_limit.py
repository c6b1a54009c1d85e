"""The most that the body of a request may have: bytes, also under Flask 3.0, which has such a limit for the app alone,
and fields of a form.
"""

from __future__ import annotations

from io import BytesIO
from typing import IO, Any

from flask import Request, request
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

from braid.core.errors import Reason

MAX_FIELDS = 5_000
"""Largest number of fields in a form or an address, such as ticked boxes. 180,000 take half a second to read."""

_WITH_LIMIT: dict[type[Request], type[Request]] = {}


class FewFields(FormDataParser):
    """Werkzeug's parser with a bound of fields for the forms that it reads as a whole; of parts it has one itself."""

    def parse(
        self, stream: IO[bytes], mimetype: str, content_length: int | None, options: dict[str, str] | None = None
    ) -> tuple[IO[bytes], MultiDict[str, str], MultiDict[str, FileStorage]]:
        """Return the stream, the fields and the files. Raises RequestEntityTooLarge."""
        if mimetype == "application/x-www-form-urlencoded":
            form = stream.read()
            fields = form.count(b"&") + 1
            if fields > MAX_FIELDS:
                raise RequestEntityTooLarge(
                    Reason(
                        "the form has %(count)s fields; at most %(most)s are read",
                        count=format(fields, ","),
                        most=format(MAX_FIELDS, ","),
                    )
                )
            stream = BytesIO(form)
        return super().parse(stream, mimetype, content_length, options)


def set_body_limit(most: int) -> None:
    """Have a longer body refused. To be called before anything reads the body."""
    given: Any = request._get_current_object()  # type: ignore[attr-defined]  # what the proxy stands for
    kind: type[Request] = type(given)
    limit: Any = kind.max_content_length
    if isinstance(limit, property) and limit.fset is None:  # Flask 3.0
        if kind not in _WITH_LIMIT:
            _WITH_LIMIT[kind] = type(kind.__name__, (kind,), {"max_content_length": None})
        given.__class__ = _WITH_LIMIT[kind]
    given.max_content_length = most


def bound_fields() -> None:
    """Have a form with too many fields refused. To be called before anything reads the body."""
    request.form_data_parser_class = FewFields
