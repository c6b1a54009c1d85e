"""Request lines and headers as the app gets them: unambiguous, and no larger than what can be read at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from braid.app.auth.body_limit import MAX_FIELDS
from braid.app.web.refusals import refusal

if TYPE_CHECKING:
    from braid.app.web.gate.request_bodies import ASGI

MAX_PATH_BYTES = 8 * 1024
MAX_HEADERS = 100
MAX_HEADERS_BYTES = 64 * 1024
"""Bytes of all headers, names and values. The address, which may have a long query, does not count."""
MOST_BYTES = {
    b"cookie": 32 * 1024,
    b"accept": 4 * 1024,
    b"accept-language": 4 * 1024,
    b"accept-encoding": 4 * 1024,
    b"accept-charset": 4 * 1024,
}
"""Longest values of headers that are parsed: a longer one would take as long as a hundred requests."""


def with_sound_heads(app: ASGI, *, once: Collection[str] = ()) -> ASGI:
    """Refuse heads that are too large or have one of the headers ``once`` twice; drop names with underscores.

    WSGI cannot tell those from names with hyphens: ``X_Forwarded_For`` of a stranger would be added to the
    ``X-Forwarded-For`` of a trusted proxy.
    """

    single = {name.lower().encode() for name in once if name}

    async def served(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        status, detail = _problem(scope, single)
        if status:
            await refusal(status, detail)(scope, receive, send)
            return
        scope = {**scope, "headers": [(name, value) for name, value in scope["headers"] if b"_" not in name]}
        await app(scope, receive, send)

    return served


def _problem(scope: Any, single: Collection[bytes]) -> tuple[int, str]:
    """Return the status and the reason to refuse this head; 0 for none."""
    path = len(scope.get("raw_path") or scope["path"].encode())
    if path > MAX_PATH_BYTES:
        return 414, f"the path of the address has {path:,} bytes; at most {MAX_PATH_BYTES:,} are read"
    arguments = scope["query_string"].count(b"&") + 1
    if arguments > MAX_FIELDS:
        return 400, f"the address has {arguments:,} arguments; at most {MAX_FIELDS:,} are read"
    headers, sizes = scope["headers"], dict.fromkeys(MOST_BYTES, 0)
    if len(headers) > MAX_HEADERS:
        return 431, f"the request has {len(headers):,} headers; at most {MAX_HEADERS:,} are read"
    for name, value in headers:
        if name in sizes:
            sizes[name] += len(value)
            if sizes[name] > MOST_BYTES[name]:
                title = name.decode().title()
                return 431, f"the header {title} has more than {MOST_BYTES[name]:,} bytes; send a shorter one"
    given = [name for name, _ in headers if name in single]
    if len(given) > len(set(given)):
        return 400, "a header that names the user is given twice; the proxy must replace what visitors send"
    total = sum(len(name) + len(value) for name, value in headers)
    if total > MAX_HEADERS_BYTES:
        return 431, f"the headers have {total:,} bytes; at most {MAX_HEADERS_BYTES:,} are read"
    return 0, ""
