"""Answers of an app below a path, read as if it were at the root; what lacks the path fails."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from werkzeug.datastructures import Headers

LINK = re.compile(r'\s(href|src|action|formaction|poster|data-[a-z-]+)="(/[^"]*)"')
TEXTS = ("text/", "application/json", "application/problem+json", "application/manifest+json", "application/x-ndjson")


def check(headers: Headers, prefix: str) -> None:
    """Fail where a browser would be led, or send a cookie, to other apps of the same name."""
    for name in ("Location", "Content-Location"):
        for where in headers.getlist(name):
            assert not where.startswith("/") or where.startswith(f"{prefix}/"), f"{name}: {where}"
    cookies = headers.getlist("Set-Cookie")
    assert all(f"; Path={prefix}" in cookie for cookie in cookies), f"a cookie for other apps, too: {cookies}"


def without_prefix(pieces: Iterable[bytes], prefix: str, headers: Headers, *, is_stream: bool) -> Iterator[bytes]:
    """Take the path off a text, line by line; of a page, all links must have it."""
    if is_stream:
        return _lines_without(pieces, prefix)
    text = b"".join(pieces).decode()
    if headers["Content-Type"].startswith("text/html"):
        wrong = [match[0] for match in LINK.finditer(text) if not f"{match[2]}/".startswith(f"{prefix}/")]
        assert not wrong, f"not below {prefix}: {wrong}"
    changed = off(text, prefix).encode()
    if "Content-Length" in headers and text:
        headers["Content-Length"] = str(len(changed))
    return iter([changed] if changed else [])


def _lines_without(pieces: Iterable[bytes], prefix: str) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        lines, newline, rest = (rest + piece).rpartition(b"\n")
        if newline:
            yield off((lines + newline).decode(), prefix).encode()
    if rest:
        yield off(rest.decode(), prefix).encode()


def off(text: str, prefix: str) -> str:
    """Take the path off all addresses, those in the query of another one, too."""
    for path in (prefix, quote(prefix, safe="")):
        text = text.replace(f"Path={path};", "Path=/;") if "Path=" in text else text
        text = re.sub(re.escape(path) + r"(?=/|%2F)", "", text)
        text = re.sub(re.escape(path) + r"(?![\w.~-])", "/", text)
    return text
