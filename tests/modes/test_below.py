"""What `pytest --through` takes off, and what it does not let pass."""

from __future__ import annotations

import pytest
from werkzeug.datastructures import Headers

from tests.modes.below import without_prefix

PREFIX = "/below/7"
HTML = "text/html; charset=utf-8"


def _read(text: str, *pieces: str, kind: str = HTML) -> str:
    is_stream = kind == "text/event-stream"
    given = [piece.encode() for piece in (text, *pieces)]
    return b"".join(without_prefix(given, PREFIX, Headers({"Content-Type": kind}), is_stream=is_stream)).decode()


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ('<a href="/below/7/datasets?x=1">', '<a href="/datasets?x=1">'),
        ('<a href="/below/7">', '<a href="/">'),
        ('<a href="/below/7/login?next=%2Fbelow%2F7%2Fa">', '<a href="/login?next=%2Fa">'),
        ('<a href="https://example.org/a">', '<a href="https://example.org/a">'),
        ("In /below/77 and /below/7", "In /below/77 and /"),
    ],
)
def test_a_page_is_read_as_if_it_were_at_the_root(sent: str, read: str) -> None:
    assert _read(sent) == read


@pytest.mark.parametrize("attribute", ["href", "src", "action", "formaction", "data-url"])
@pytest.mark.parametrize("path", ["/datasets", "/below/77/datasets", "/"])
def test_a_link_without_the_path_fails(attribute: str, path: str) -> None:
    with pytest.raises(AssertionError, match="not below /below/7"):
        _read(f'<x {attribute}="{path}">')


def test_an_event_is_read_as_soon_as_its_line_ends() -> None:
    pieces = iter([b'data: {"url": "/bel', b'ow/7/a"}\n\ndata: /below/7', b"/b\n"])
    read = without_prefix(pieces, PREFIX, Headers({"Content-Type": "text/event-stream"}), is_stream=True)
    assert next(read) == b'data: {"url": "/a"}\n\n'
    assert next(read) == b"data: /b\n"
