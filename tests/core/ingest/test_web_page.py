"""Pages from the web: a real HTTP server, and every way that leads to where nothing may be fetched."""

from __future__ import annotations

import contextlib
import gzip
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from braid.core.errors import InvalidInputError
from braid.core.ingest.web_page import WebPage, check_url, fetch_page
from braid.core.outgoing.network import is_public
from tests.worlds import WAIT_S, web_site

PAGE = b"<title>Fees</title><h1>Fees</h1><p>Two euros a day.</p>"
Answer = Callable[[BaseHTTPRequestHandler], None]


def say(content: bytes, content_type: str = "text/html", status: int = 200, **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        if content_type:
            request.send_header("Content-Type", content_type)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(content)

    return answer


def drip(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "text/plain")
    request.end_headers()
    for _ in range(100):
        request.wfile.write(b"x")
        request.wfile.flush()
        time.sleep(0.1)


def drip_headers(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(100):
        request.wfile.write(f"X-{number}: x\r\n".encode())
        request.wfile.flush()
        time.sleep(0.1)


ANSWERS: dict[str, Answer] = {
    "/fees": say(PAGE, Last_Modified="Wed, 01 Jan 2025 00:00:00 GMT"),
    "/host": lambda request: say(request.headers["Host"].encode(), "text/plain")(request),
    "/packed": say(gzip.compress(PAGE), Content_Encoding="gzip"),
    "/bomb": say(gzip.compress(b"x" * 50_000_000), "text/plain", Content_Encoding="gzip"),
    "/broken": say(b"no gzip", Content_Encoding="gzip"),
    "/odd": say(b"?", Content_Encoding="zzz"),
    "/sjis": say("<p>図書館の利用案内</p>".encode("cp932"), "text/html; charset=Shift_JIS"),
    "/lying": say("図書館".encode(), "text/plain; charset=us-nothing"),
    "/paper.pdf": say(b"%PDF-1.7", "application/octet-stream"),
    "/data": say(b'{"a": 1}', "application/json"),
    "/README.md": say(b"# Read", "text/plain"),
    "/photo": say(b"\x89PNG", "image/png"),
    "/nothing": say(b"?", ""),
    "/missing": say(b"gone", status=404),
    "/big": say(b"x" * 3_000, "text/plain"),
    "/moved": say(b"", status=302, Location="/fees#top"),
    "/loop": say(b"", status=302, Location="/loop"),
    "/to-file": say(b"", status=302, Location="file:///etc/passwd"),
    "/to-metadata": say(b"", status=302, Location="http://169.254.169.254/latest/meta-data/"),
    "/drip": drip,
    "/drip-headers": drip_headers,
}


def answer(request: BaseHTTPRequestHandler) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        ANSWERS[request.path](request)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with web_site(answer) as address:
        yield address


def fetch(url: str, *, max_bytes: int = 1_000_000, timeout_s: float = 10.0) -> WebPage:
    return fetch_page(url, max_bytes=max_bytes, timeout_s=timeout_s, allow_private=True)


def refusal(url: str, **limits: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        fetch(url, **limits)
    assert caught.value.field == "url"
    return str(caught.value)


# ---------------------------------------------------------------- what is fetched


def test_a_page_comes_with_its_address_format_and_date(site: str) -> None:
    assert fetch(f"{site}/fees") == WebPage(f"{site}/fees", "fees.html", PAGE, 1735689600.0)


def test_the_address_is_where_redirects_end(site: str) -> None:
    assert fetch(f"{site}/moved").url == f"{site}/fees"


@pytest.mark.parametrize(
    ("path", "filename"),
    [("/paper.pdf", "paper.pdf"), ("/data", "data.json"), ("/README.md", "README.md"), ("/packed", "packed.html")],
)
def test_the_type_decides_the_format_and_the_name_where_it_says_nothing(site: str, path: str, filename: str) -> None:
    assert fetch(site + path).filename == filename


def test_packed_pages_are_unpacked(site: str) -> None:
    assert fetch(f"{site}/packed").content == PAGE


def test_the_encoding_that_the_server_names_is_believed_when_it_fits(site: str) -> None:
    assert fetch(f"{site}/sjis").content.decode() == "<p>図書館の利用案内</p>"
    assert fetch(f"{site}/lying").content.decode() == "図書館"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/missing", "was answered with status 404"),
        ("/photo", "is 'image/png', which cannot be read"),
        ("/nothing", "does not say what it is"),
        ("/odd", "is packed as 'zzz', which cannot be read"),
        ("/broken", "is damaged"),
        ("/loop", "redirects more than 5 times"),
        ("/to-file", "must begin with http:// or https://"),
        ("/to-metadata", "leads to 169.254.169.254, which is in a private or reserved network"),
    ],
)
def test_what_cannot_be_taken_says_why(site: str, path: str, reason: str) -> None:
    assert reason in refusal(site + path)


def test_sizes_are_limited_packed_or_not(site: str) -> None:
    assert len(fetch(f"{site}/big", max_bytes=3_000).content) == 3_000
    assert "/big has more than 2,999 bytes, which is the limit" in refusal(f"{site}/big", max_bytes=2_999)
    assert "/bomb has more than 1,000,000 bytes" in refusal(f"{site}/bomb")


@pytest.mark.parametrize("path", ["/drip", "/drip-headers"])
def test_a_server_that_takes_its_time_is_left(site: str, path: str) -> None:
    started = time.monotonic()
    assert "was not answered within 0.5 seconds" in refusal(site + path, timeout_s=0.5)
    assert time.monotonic() - started < WAIT_S


def test_who_does_not_answer_is_named_without_internals() -> None:
    assert refusal("http://127.0.0.1:1/") == (
        "http://127.0.0.1:1/ cannot be reached; check its spelling, and whether a browser shows it"
    )
    assert "cannot be reached" in refusal("http://nobody.invalid/")


# ---------------------------------------------------------------- where nothing is fetched from


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fe80::1%eth0",
        "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "2002:7f00:1::",
        "2001:0:53aa:64c:0:0:0:0", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2001:db8::1",
        "192.0.0.192", "192.0.0.8", "168.63.129.16", "192.88.99.1", "fec0::1", "feff::1", "3fff::1", "64:ff9b:1::1",
        "64:ff9b::a83f:8110",
    ],
)  # fmt: skip
def test_addresses_that_are_not_of_the_internet(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "64:ff9b::808:808", "168.63.129.17"]
)
def test_addresses_of_the_internet(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://localhost/", "http://2130706433/", "http://0x7f.1/", "http://0/", "http://[::1]/",
        "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest/meta-data/", "http://10.1.2.3/", "http://127.1/",
        "http://①②⑦.⓪.⓪.①/",
    ],
)  # fmt: skip
def test_private_addresses_are_refused_however_they_are_written(url: str) -> None:
    with pytest.raises(
        InvalidInputError, match=r"private or reserved network.*allow_private_urls|is not valid"
    ) as caught:
        fetch_page(url, max_bytes=1000)
    assert caught.value.field == "url"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://example.org/a", "must begin with http:// or https://"),
        ("file:///etc/passwd", "must begin with http:// or https://"),
        ("javascript:alert(1)", "must begin with http:// or https://"),
        ("example.org", "must begin with http:// or https://"),
        ("", "must begin with http:// or https://"),
        ("http://", "must begin with http:// or https://"),
        ("http://ann:secret@example.org/", "must not have a user name or password"),
        ("http://example.org:6379/", "names port 6379; only 80 and 443"),
        ("http://example.org/\r\nX: y", "is not valid"),
        ("http://[::1/", "is not valid"),
        ("http://example.org/" + "a" * 2000, "has 2,019 characters; at most 2,000"),
    ],
)
def test_urls_that_are_never_fetched(url: str, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        check_url(url)


def test_a_host_with_one_private_address_among_others_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"leads to example\.org, which is in a private"):
        fetch_page("http://example.org/", max_bytes=9, resolve=lambda host, port: ["93.184.215.14", "10.0.0.1"])


def test_what_was_looked_up_and_checked_is_connected_to(site: str) -> None:
    """A name server that gives another address the second time (DNS rebinding) is not asked a second time."""
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    port = site.rpartition(":")[2]
    page = fetch_page(f"http://wiki.example:{port}/host", max_bytes=99, allow_private=True, resolve=resolve)
    assert page.content.decode() == f"wiki.example:{port}"
    assert asked == ["wiki.example"]


def test_each_redirect_is_looked_up_and_checked_again(site: str) -> None:
    """With private addresses allowed, link-local ones are still refused: there clouds keep their secrets."""
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    port = site.rpartition(":")[2]
    with pytest.raises(InvalidInputError, match="private or reserved"):
        fetch_page(f"http://wiki.example:{port}/moved", max_bytes=99, allow_private=True, resolve=resolve)
    assert asked == ["wiki.example", "wiki.example"]
