"""Connections to the server: how long one may take to send a head and to take an answer, and how many there may be."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from braid.app.auth.body_limit import MAX_FIELDS
from braid.app.auth.identity import is_loopback, origin_of
from braid.app.web.errors import refusal

if TYPE_CHECKING:
    from braid.app.web.gate.request_bodies import ASGI

MAX_CONNECTIONS = 1000
"""Connections of all addresses together. Each takes a file handle, and the indexes need some, too."""


@dataclass(slots=True)
class Limits:
    """What connections are held to, and how many are open now. One object per server."""

    per_address: int
    """0 for any number."""
    head_s: float = 15.0
    """Seconds from the opening, or from the first byte of a later request, to the end of the request's head."""
    write_s: float = 30.0
    """Seconds in which a reader must take 48 KiB, after which a full buffer of asyncio may be filled again."""
    is_loopback_exempt: bool = True
    """An SSH tunnel or a proxy of this computer brings everybody from there."""
    open: Counter[str] = field(default_factory=Counter)

    def is_full_for(self, origin: str) -> bool:
        """Whether a connection from there is one too many."""
        if self.open.total() >= MAX_CONNECTIONS:
            return True
        is_counted = self.per_address and not (self.is_loopback_exempt and is_loopback(origin))
        return bool(is_counted) and self.open[origin] >= self.per_address


class TimelyProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with deadlines for heads and for readers, and a limit of connections.

    uvicorn itself waits for ever for a head that has begun, and for a client that does not read.
    """

    def __init__(self, *args: Any, limits: Limits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ws_protocol_class = None  # an upgrade would leave this protocol, which counts connections
        self._limits = limits
        self._origin = ""
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the head's deadline, or refuse the connection when there are too many."""
        super().connection_made(transport)
        self._origin = origin_of(self.client[0] if self.client else "")
        limits = self._limits
        is_full = limits.is_full_for(self._origin)
        limits.open[self._origin] += 1
        if is_full:
            transport.write(b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            transport.close()
        else:
            self._head_timer = self.loop.call_later(limits.head_s, self._close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._stop_head_timer()
        self._stop_write_timer()
        self._limits.open[self._origin] -= 1
        if not self._limits.open[self._origin]:
            del self._limits.open[self._origin]

    def data_received(self, data: bytes) -> None:
        """Keep the deadline while no request is being answered: bytes that trickle in do not move it."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_head_timer()
        elif self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self._limits.head_s, self._close)

    def on_response_complete(self) -> None:
        """Give a client that has all of its answer but has not read it a deadline, too."""
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._start_write_timer()

    def pause_writing(self) -> None:
        """Start the reader's deadline: it has not taken what was sent."""
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        """Stop the reader's deadline."""
        super().resume_writing()
        self._stop_write_timer()

    def _start_write_timer(self) -> None:
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self._limits.write_s, self._close_unless_read)

    def _close_unless_read(self) -> None:
        self._write_timer = None
        if self.transport.get_write_buffer_size():
            self._close()

    def _close(self) -> None:
        """Close at once: what is not sent yet will not be read."""
        self.transport.abort()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def timely_protocol(limits: Limits) -> Any:
    """What uvicorn makes a protocol of, per connection."""
    return partial(TimelyProtocol, limits=limits)


def few_per_client(app: ASGI, *, per_address: int, proxies: int) -> ASGI:
    """Refuse requests of a client behind ``proxies`` trusted ones that has ``per_address`` being answered already.

    To the server, all connections come from the proxy; clients are told apart by the header that it adds.
    """
    running: Counter[str] = Counter()

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        client = origin_of(forwarded_for(scope, proxies)) if scope["type"] == "http" else ""
        if not client:
            await app(scope, receive, send)
        elif running[client] >= per_address:
            await refusal(429, "too many requests at once; wait for their answers")(scope, receive, send)
        else:
            running[client] += 1
            try:
                await app(scope, receive, send)
            finally:
                running[client] -= 1
                if not running[client]:
                    del running[client]

    return counted


def forwarded_for(scope: Any, proxies: int) -> str:
    """The client's address as the outermost trusted proxy gives it, as werkzeug's ProxyFix reads it; "" without one."""
    given = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
    addresses = [part.strip() for part in given.split(",") if part.strip()]
    return addresses[-proxies] if len(addresses) >= proxies else ""


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
