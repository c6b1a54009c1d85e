"""Fetches a page of the web: from public addresses only, limited in size and time, with every redirect checked."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath

import httpcore
import httpx

from braid.core.errors import InvalidInputError, Reason
from braid.core.ingest.formats import format_of_suffix
from braid.core.ingest.spool import visible
from braid.core.outgoing.network import AddressRefusedError, GuardedNetwork, Resolve, TooSlowError, resolve

MAX_URL_CHARS = 2000
MAX_REDIRECTS = 5
PORTS = (80, 443)
USER_AGENT = "Braid (fetches a page that somebody added to a dataset)"

_OFFICE = "application/vnd.openxmlformats-officedocument."
_SUFFIXES: Mapping[str, str] = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "application/rss+xml": ".rss",
    "application/atom+xml": ".atom",
    "multipart/related": ".mht",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/json": ".json",
    "application/geo+json": ".json",
    "application/ld+json": ".json",
    "application/jsonl": ".jsonl",
    "application/x-ndjson": ".jsonl",
    "application/epub+zip": ".epub",
    "message/rfc822": ".eml",
    "application/yaml": ".yaml",
    "application/toml": ".toml",
    "application/rtf": ".rtf",
    "text/rtf": ".rtf",
    "text/vtt": ".vtt",
    "application/x-subrip": ".srt",
    "application/x-ipynb+json": ".ipynb",
    "application/vnd.ms-outlook": ".msg",
    "application/msword": ".doc",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt",
    "application/x-hwp": ".hwp",
    "application/hwp+zip": ".hwpx",
    "application/vnd.hancom.hwpx": ".hwpx",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    _OFFICE + "wordprocessingml.document": ".docx",
    _OFFICE + "presentationml.presentation": ".pptx",
    _OFFICE + "spreadsheetml.sheet": ".xlsx",
}
_UNSPECIFIC = ("", "text/plain", "application/octet-stream", "binary/octet-stream", "application/zip")
"""Media types that servers give to files they do not know; there the name says more."""
_TEXT_ENCODING = re.compile(r"(utf|iso|windows|cp|shift|sjis|euc|gb|big5|koi8|ks|ms|mac|latin)[\w.:-]*", re.IGNORECASE)
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class WebPage:
    """A fetched page. ``url`` is the address after redirects; ``filename`` has the suffix of the format."""

    url: str
    filename: str
    content: bytes
    date: float | None
    """The time of the last change, if the server reports one; seconds since the epoch."""


def check_url(url: str, *, allow_private: bool = False) -> str:
    """Return the URL as it is fetched, without its fragment. Raises InvalidInputError for one that never is."""
    if len(url) > MAX_URL_CHARS:
        raise _refused(
            url,
            "%(url)s has %(count)s characters; at most %(most)s are allowed",
            count=format(len(url), ","),
            most=format(MAX_URL_CHARS, ","),
        )
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL:
        raise _refused(url, "%(url)s is not valid; copy it from the browser's address bar") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise _refused(url, "%(url)s must begin with http:// or https://; give the address of a web page")
    if parsed.userinfo:
        raise _refused(url, "%(url)s must not have a user name or password in it; leave them out")
    if not allow_private and (parsed.port or 80) not in PORTS:
        raise _refused(
            url,
            "%(url)s names port %(port)s; only 80 and 443 are allowed, so upload the page as a file",
            port=parsed.port,
        )
    return str(parsed.copy_with(fragment=None))


def fetch_page(
    url: str,
    *,
    max_bytes: int,
    timeout_s: float = 30.0,
    allow_private: bool = False,
    resolve: Resolve = resolve,
) -> WebPage:
    """Fetch what is at a URL. ``timeout_s`` is for all of it, redirects included; looking up hosts comes on top.

    ``allow_private`` lets it be in a private network, on any port. Raises InvalidInputError, with the field ``url``,
    which says what is wrong and what to do.
    """
    address = check_url(url, allow_private=allow_private)
    network = GuardedNetwork(time.monotonic() + timeout_s, allow_private=allow_private, resolve=resolve)
    try:
        for _ in range(MAX_REDIRECTS + 1):
            with httpcore.ConnectionPool(network_backend=network) as pool:
                page = _get(pool, address, max_bytes)
            if isinstance(page, WebPage):
                return page
            address = check_url(str(httpx.URL(address).join(page)), allow_private=allow_private)
    except AddressRefusedError:
        host = httpx.URL(address).host
        raise _refused(
            url,
            "%(url)s leads to %(host)s, which is in a private or reserved network, from where "
            "nothing is fetched; download the page and upload it as a file, or ask the administrator "
            "for the setting allow_private_urls",
            host=host,
        ) from None
    except (TooSlowError, httpcore.TimeoutException):
        raise _refused(
            url,
            "%(url)s was not answered within %(seconds)s seconds; try it again later",
            seconds=format(timeout_s, "g"),
        ) from None
    except (httpcore.NetworkError, httpcore.ProtocolError, httpx.InvalidURL):
        raise _refused(url, "%(url)s cannot be reached; check its spelling, and whether a browser shows it") from None
    raise _refused(
        url, "%(url)s redirects more than %(times)s times; give the address where it ends", times=MAX_REDIRECTS
    )


def _get(pool: httpcore.ConnectionPool, address: str, max_bytes: int) -> WebPage | str:
    """Request the page once. Returns it, or the address that the server redirects to."""
    url = httpx.URL(address)
    target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    headers: dict[bytes | str, bytes | str] = {
        "Host": url.netloc,
        "User-Agent": USER_AGENT,
        "Accept": "*/*",
        "Accept-Encoding": "gzip",
    }
    with pool.stream("GET", target, headers=headers) as response:
        given = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        if response.status in _REDIRECTS and "location" in given:
            return given["location"]
        if response.status != 200:
            raise _refused(
                address,
                "%(url)s was answered with status %(status)s; check whether a browser shows it",
                status=response.status,
            )
        filename = _filename(url, given.get("content-type", ""))
        stream = _unpack(address, response.iter_stream(), given.get("content-encoding", ""))
        content = b"".join(_limit(address, stream, max_bytes))
    return WebPage(address, filename, _as_utf8(content, given.get("content-type", "")), _date(given))


def _unpack(address: str, stream: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Unpack the content, in pieces of at most about 64 KiB even from a zip bomb."""
    if encoding.lower() in ("", "identity"):
        yield from stream
        return
    if encoding.lower() not in ("gzip", "x-gzip"):
        raise _refused(
            address,
            "%(url)s is packed as %(encoding)s, which cannot be read; download and upload it",
            encoding=repr(encoding[:20]),
        )
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        for packed in stream:
            while packed:
                yield unpacker.decompress(packed, 1 << 16)
                packed = unpacker.unconsumed_tail
        yield unpacker.flush()
    except zlib.error:
        raise _refused(address, "%(url)s is damaged; try it again, or download and upload it") from None


def _limit(address: str, stream: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    left = max_bytes
    for piece in stream:
        left -= len(piece)
        if left < 0:
            raise _refused(
                address,
                "%(url)s has more than %(most)s bytes, which is the limit; add a part of it",
                most=format(max_bytes, ","),
            )
        yield piece


def _filename(url: httpx.URL, content_type: str) -> str:
    """Return a file name whose suffix chooses the reader. Raises InvalidInputError for a type without a reader."""
    media_type = content_type.partition(";")[0].strip().lower()
    name = visible(PurePosixPath(url.path).name)
    suffix = PurePosixPath(name).suffix.lower()
    if media_type in _UNSPECIFIC and suffix in format_of_suffix():
        return name
    if media_type not in _SUFFIXES:
        if media_type:
            raise _refused(
                str(url),
                "%(url)s is %(type)s, which cannot be read; give a page, a PDF or a text",
                type=repr(media_type[:60]),
            )
        raise _refused(str(url), "%(url)s does not say what it is, which cannot be read; give a page, a PDF or a text")
    return (PurePosixPath(name).stem or url.host) + _SUFFIXES[media_type]


def _as_utf8(content: bytes, content_type: str) -> bytes:
    """Convert a text to UTF-8 if the server names its encoding: readers see only what the page itself declares."""
    match = _CHARSET.search(content_type)
    if not match or not _TEXT_ENCODING.fullmatch(match[1]):
        return content
    try:
        return content.decode(match[1]).encode()
    except (LookupError, UnicodeError):  # the server is wrong, as many are
        return content


def _date(headers: Mapping[str, str]) -> float | None:
    try:
        return parsedate_to_datetime(headers["last-modified"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def _refused(url: str, template: str, **parts: object) -> InvalidInputError:
    shown = url if len(url) <= 200 else url[:200] + "…"
    return InvalidInputError(Reason(template, url=shown, **parts), field="url")
