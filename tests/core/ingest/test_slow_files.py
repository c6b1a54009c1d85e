"""Files that would take a parser minutes are refused, or cut, in a moment."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable

import pytest

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.code import MAX_PARSED_BYTES
from braid.core.ingest.readers.parts.html_tags import MAX_ATTRIBUTES, has_too_many_attributes

MAX_BYTES = 20_000_000


def element(attributes: int, form: str = "a{}=1") -> str:
    return "<p " + " ".join(map(form.format, range(attributes))) + ">text</p>"


def pdf(pages: int, operators: bytes) -> bytes:
    """A PDF whose pages are all the same object."""
    stream = zlib.compress(operators, 9)
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, b" ".join([b"4 0 R"] * pages)),
        b"<</Length %d/Filter/FlateDecode>>stream\n" % len(stream) + stream + b"\nendstream",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 3 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    content, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(content))
        content += b"%d 0 obj" % number + body + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(content)
    return content + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer


LINE = b"BT /F 12 Tf 1 0 0 1 20 700 Tm (hello) Tj ET\n"
PART = b"--b\nContent-Type: text/html\n\n<p>x</p>\n"
SLOW: dict[str, tuple[Callable[[], bytes], str]] = {
    "attributes.html": (lambda: element(300_000).encode(), "attributes"),
    "mail.eml": (
        lambda: b"Subject: x\nContent-Type: text/html\n\n" + element(300_000).encode(),
        "attributes",
    ),
    "parts.eml": (lambda: b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + PART * 50_000, "parts"),
    "pages.pdf": (lambda: pdf(200_000, LINE), "200,000 pages"),
    "drawings.pdf": (lambda: pdf(3000, LINE * 20_000), "draws more"),
}


@pytest.mark.parametrize("name", SLOW)
def test_it_is_refused_at_once(name: str) -> None:
    make, reason = SLOW[name]
    content = make()
    started = time.thread_time()
    with pytest.raises(UnreadableDocumentError, match=reason):
        read_document(name, content, max_bytes=MAX_BYTES)
    assert time.thread_time() - started < 15


@pytest.mark.parametrize("form", ["a{}", "a{}=1", "a{} = '>'", 'a{}="<"', "a{}=x/", "/a{}"])
def test_attributes_are_counted_in_every_form(form: str) -> None:
    assert has_too_many_attributes(element(MAX_ATTRIBUTES + 1, form))
    assert not has_too_many_attributes(element(MAX_ATTRIBUTES - 1, form))


@pytest.mark.parametrize(
    "page",
    [
        "<p>" + "many words " * 5000 + "</p>",
        "<script>if (a <b " + "x y " * 5000 + "</script><p>text</p>",
        "<!-- a <b " + "x y " * 5000 + "--><p>text</p>",
        "<p class='a' id=b>text</p>\n" * 20_000,
        "1 < 2 " * 20_000,
    ],
)
def test_pages_as_they_are_have_few(page: str) -> None:
    assert not has_too_many_attributes(page)


@pytest.mark.parametrize("page", ["<a", '<a "', "<!--", "<script>", '<a b="', "<", "<p a = ", "<p /"])
def test_the_look_takes_time_by_the_length_of_the_page(page: str) -> None:
    started = time.thread_time()
    has_too_many_attributes(page * 500_000)
    assert time.thread_time() - started < 5


def test_long_code_keeps_its_lines() -> None:
    content = b"int lend() { return 10; }\n" * (MAX_PARSED_BYTES // 26 + 1)
    [section] = read_document("long.c", content, max_bytes=MAX_BYTES).sections
    assert (section.kind, section.line) == ("code", 1)
    assert section.text.count("\n") == content.count(b"\n")
