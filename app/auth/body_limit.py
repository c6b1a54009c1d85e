"""The most bytes that the body of this request may have, also under Flask 3.0, where only the app has such a limit."""

from __future__ import annotations

from typing import Any

from flask import Request, request

_WITH_LIMIT: dict[type[Request], type[Request]] = {}


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
