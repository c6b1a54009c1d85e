"""Clients that send or read slowly, or open many connections: they are cut off, and everybody else is answered."""

from __future__ import annotations

import asyncio
import socket
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import httpx
import pytest
import uvicorn
from flask import Flask, request

from braid.app.auth.access import takes_uploads
from braid.app.auth.identity import origin_of
from braid.app.server import USER_SHARE
from braid.app.web.errors import refusal
from braid.app.web.gate.connections import Limits, few_per_client, timely_protocol, with_sound_heads
from braid.app.web.gate.gateway import Gateway
from braid.app.web.gate.request_bodies import Patience, Room
from braid.app.web.gate.threads import Threads
from braid.app.web.security_headers import SECURITY_HEADERS
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens
from braid.core.data_directory import DataDirectory
from tests.model_server import ModelServer, model_server
from tests.modes import mostly_long
from tests.served import Served
from tests.web import PASSWORD
from tests.worlds import WAIT_S, eventually

SLOW = 200
HEAD = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"


# ---------------------------------------------------------------- connections, one by one


SETTLED = 100
"""Rounds of an event loop after which bytes that had come have been given to whoever waits for them."""


class LoopClock:
    """The time of a server's event loop, which a test moves on: no deadline comes by itself on a busy machine."""

    def __init__(self) -> None:
        self._ahead_s = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None

    def take(self, loop: asyncio.AbstractEventLoop) -> None:
        """Be the clock of this loop."""
        real = loop.time
        self._loop = loop
        loop.time = lambda: real() + self._ahead_s  # type: ignore[method-assign]

    def go_on(self, seconds: float) -> None:
        """Let so much time pass at once."""
        assert self._loop is not None
        self._ahead_s += seconds
        self._loop.call_soon_threadsafe(lambda: None)

    def settle(self) -> None:
        """Wait until the loop has taken in what was sent before. Not for the loop itself."""
        assert self._loop is not None

        async def rounds() -> None:
            for _ in range(SETTLED):
                await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(rounds(), self._loop).result(WAIT_S)


class ClockedServer(uvicorn.Server):
    """A server whose loop goes by such a clock."""

    def __init__(self, config: uvicorn.Config, clock: LoopClock) -> None:
        super().__init__(config)
        self._clock = clock

    async def startup(self, sockets: Any = None) -> None:
        self._clock.take(asyncio.get_running_loop())
        await super().startup(sockets)


@contextmanager
def serving(app: Any, limits: Limits | None = None, clock: LoopClock | None = None) -> Iterator[int]:
    """The ASGI app behind the protocol; its port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        protocol = timely_protocol(limits or Limits(0))
        config = uvicorn.Config(
            app,
            http=protocol,
            lifespan="off",
            log_config=None,
            timeout_keep_alive=10**6,
            loop="asyncio",  # another one's time cannot be moved on
        )
        server = ClockedServer(config, clock or LoopClock())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        eventually(lambda: server.started)
        try:
            yield int(listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(WAIT_S)


async def greet(scope: Any, receive: Any, send: Any) -> None:
    """Answers at once."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def connect(port: int, sent: bytes = b"") -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)
    opened.sendall(sent)
    return opened


@contextmanager
def connected(port: int, sent: bytes, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(connect(port, sent)) for _ in range(count)]


def answer(opened: socket.socket) -> bytes:
    """The body of a short answer."""
    got = b""
    while b"\r\n\r\n" not in got or got.endswith(b"\r\n\r\n"):
        got += opened.recv(1000)
    return got.rpartition(b"\r\n\r\n")[2]


def is_open(opened: socket.socket) -> bool:
    """Whether the server has neither answered nor closed the connection."""
    opened.settimeout(0.2)
    try:
        return not opened.recv(1) and False
    except TimeoutError:
        return True
    finally:
        opened.settimeout(WAIT_S)


def seconds_to_end(opened: socket.socket, *, drip: bytes = b"") -> float:
    """Until the server closes the connection, or `WAIT_S`; ``drip`` is sent ten times a second."""
    started = time.monotonic()
    opened.settimeout(0.1)
    while time.monotonic() < started + WAIT_S:
        try:
            if drip:
                opened.sendall(drip)
            if not opened.recv(65536):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - started


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_head_that_does_not_end_is_waited_for_until_its_deadline(sent: bytes) -> None:
    limits, clock = Limits(0, head_s=2 * WAIT_S), LoopClock()
    with serving(greet, limits, clock) as port, connect(port, sent) as opened:
        eventually(limits.open.total)
        clock.go_on(WAIT_S / 2)
        assert is_open(opened)
        clock.go_on(2 * WAIT_S)
        assert seconds_to_end(opened) < WAIT_S


def test_bytes_that_trickle_in_do_not_move_the_deadline_of_a_head() -> None:
    limits, clock = Limits(0, head_s=2 * WAIT_S), LoopClock()
    with serving(greet, limits, clock) as port, connect(port, b"GET / HTTP/1.1\r\nX: ") as opened:
        eventually(limits.open.total)
        for _ in range(3):
            clock.go_on(WAIT_S)
            with suppress(ConnectionError):  # it may have been closed, as it is to be
                opened.sendall(b"x")
        assert seconds_to_end(opened) < WAIT_S


def test_the_second_head_of_a_connection_has_a_deadline_too() -> None:
    whole = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    clock = LoopClock()
    with serving(greet, Limits(0, head_s=2 * WAIT_S), clock) as port, connect(port, whole) as opened:
        assert answer(opened) == b"ok"
        clock.go_on(3 * WAIT_S)  # longer than the deadline: it is idle, which uvicorn's own limit is for
        opened.sendall(whole)
        assert answer(opened) == b"ok"
        opened.sendall(b"GET / HT")
        assert is_open(opened)
        clock.go_on(2 * WAIT_S)
        assert seconds_to_end(opened, drip=b"x") < WAIT_S


def test_a_long_answer_is_not_cut_off_by_the_deadline_of_its_head() -> None:
    clock = LoopClock()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        clock.go_on(3 * WAIT_S)
        for _ in range(3):  # what is due by then
            await asyncio.sleep(0)
        await greet(scope, receive, send)

    with serving(slow, Limits(0, head_s=2 * WAIT_S), clock) as port:
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=WAIT_S).text == "ok"


def test_a_reader_that_takes_nothing_is_cut_off_and_the_answer_ends() -> None:
    ended = threading.Event()

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await_gone := asyncio.ensure_future(receive())) and not ended.is_set():
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            await asyncio.sleep(0)
            if await_gone.done() and (await await_gone)["type"] == "http.disconnect":
                ended.set()
            await_gone.cancel()

    whole = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with serving(endless, Limits(0, write_s=0.5)) as port, connect(port, whole):
        assert ended.wait(WAIT_S)


def test_a_reader_that_takes_its_time_gets_everything() -> None:
    async def large(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(200):
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    clock = LoopClock()
    with (
        serving(large, Limits(0, write_s=2 * WAIT_S), clock) as port,
        httpx.stream("GET", f"http://127.0.0.1:{port}/", timeout=WAIT_S) as response,
    ):
        size = 0
        for number, part in enumerate(response.iter_raw(65536)):
            size += len(part)
            if number % 8 == 0:
                clock.go_on(WAIT_S / 10)  # longer than the limit in all
    assert size == 200 * 65536


def test_one_address_has_so_many_connections() -> None:
    limits = Limits(5, is_loopback_exempt=False)
    with serving(greet, limits) as port:
        with connected(port, b"GET /", 5), connect(port) as refused:
            assert refused.recv(1000).startswith(b"HTTP/1.1 503 ")
        eventually(lambda: not limits.open)  # every connection is forgotten
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=WAIT_S).text == "ok"


def test_connections_of_this_computer_are_not_counted() -> None:
    with serving(greet, Limits(5)) as port, connected(port, b"GET /", 20):
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=WAIT_S).text == "ok"


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        ("nonsense", "nonsense"),
    ],
)
def test_an_ipv6_network_counts_as_one_address(address: str, origin: str) -> None:
    assert origin_of(address) == origin


def test_behind_a_proxy_requests_are_counted_by_the_address_that_it_gives() -> None:
    gate, arrived = threading.Event(), list[None]()

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        arrived.append(None)
        await asyncio.to_thread(gate.wait, WAIT_S)
        await greet(scope, receive, send)

    def get(forwarded: str, status: list[int]) -> None:
        headers = {"X-Forwarded-For": forwarded}
        status.append(httpx.get(f"http://127.0.0.1:{port}/", headers=headers, timeout=WAIT_S).status_code)

    with serving(few_per_client(waits, per_address=2, proxies=1)) as port:
        one: list[int] = []
        threads = [threading.Thread(target=get, args=("192.0.2.1", one)) for _ in range(3)]
        for thread in threads:
            thread.start()
        eventually(lambda: one == [429])  # what a client itself puts in front of the address does not help it
        spoofed: list[int] = []
        get("203.0.113.9, 192.0.2.1", spoofed)
        assert spoofed == [429]
        other: list[int] = []
        threads.append(threading.Thread(target=get, args=("192.0.2.2", other)))
        threads[-1].start()
        eventually(lambda: len(arrived) == 3)
        gate.set()
        for thread in threads:
            thread.join(WAIT_S)
    assert sorted(one) == [200, 200, 429]
    assert other == [200]


# ---------------------------------------------------------------- bodies


@pytest.fixture
def pages() -> Flask:
    app = Flask("slow")

    @app.post("/form")
    def form() -> str:
        return str(len(request.get_data()))

    @app.post("/upload")
    @takes_uploads(lambda settings: 10**9)
    def upload() -> str:
        return str(len(request.get_data()))

    return app


@contextmanager
def serving_pages(pages: Flask, patience: Patience, clock: LoopClock | None = None) -> Iterator[int]:
    with serving(Gateway(pages, Room(patience=patience), Threads(1, aside=1)), clock=clock) as port:
        yield port


def post(path: str, declared: int) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {declared}\r\n\r\n".encode()


@pytest.mark.parametrize("path", ["/form", "/upload"])
def test_a_body_that_stops_is_answered_with_408(pages: Flask, path: str) -> None:
    patience = Patience(silent_s=0.5, whole_s=0.5)
    with serving_pages(pages, patience) as port, connect(port, post(path, 1000) + b"x") as opened:
        assert opened.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_a_form_that_trickles_in_is_answered_with_408(pages: Flask) -> None:
    with (
        serving_pages(pages, Patience(silent_s=2 * WAIT_S, whole_s=0.5)) as port,
        connect(port, post("/form", 1000)) as opened,
    ):
        assert seconds_to_end(opened, drip=b"x") < WAIT_S


def test_a_large_form_on_a_slow_line_has_time_by_what_came(pages: Flask) -> None:
    patience, clock = Patience(silent_s=100 * WAIT_S, whole_s=2 * WAIT_S, bytes_per_s=100), LoopClock()
    with serving_pages(pages, patience, clock) as port, connect(port, post("/form", 40_000)) as opened:
        for _ in range(5):
            opened.sendall(b"x" * 8000)
            clock.settle()  # else the time might pass before the bytes
            clock.go_on(WAIT_S / 2)  # longer in all than for a body of which nothing comes
        assert answer(opened) == b"40000"


@pytest.mark.parametrize(("path", "size"), [("/form", 1_000), ("/upload", 1_000), ("/upload", 1_000_000)])
def test_bodies_that_wait_hold_no_thread(pages: Flask, path: str, size: int) -> None:
    with serving_pages(pages, Patience()) as port, connected(port, post(path, size) + b"x", 5) as held:

        def is_answered() -> bool:  # it may come before the others have stepped aside
            return httpx.post(f"http://127.0.0.1:{port}/form", content=b"four", timeout=WAIT_S).text == "4"

        assert eventually(is_answered)
        held[0].sendall(b"x" * (size - 1))
        assert answer(held[0]) == str(size).encode()


def test_a_body_of_unknown_length_is_read_whole(pages: Flask) -> None:
    with serving_pages(pages, Patience()) as port:
        size = 5 * 2**20  # more than is kept in memory
        sent = httpx.post(f"http://127.0.0.1:{port}/form", content=iter([b"x" * 2**20] * 5), timeout=WAIT_S)
        assert sent.text == str(size)


# ---------------------------------------------------------------- the whole app


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_server(lambda messages: "A short answer that takes its time [1]. " * 20) as running:
        yield running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Served]:
    settings: dict[str, object] = {
        "SUMMARY_MODEL": "openai:slow",
        "SUMMARY_MODEL_BASE_URL": model.url,
        "SUMMARY_MODEL_API_KEY": "none",
        "API_RATE_LIMIT": "100000/second",
    }
    with Served(tmp_path_factory.mktemp("slow") / "data", fake_model=True, **settings) as running:
        eventually(lambda: running.client.get("/status.json").json()["state"] == "ready", pause_s=0.5)
        search_s(running)
        running.client.post("/chat/messages", data={"text": "tray", "d": ["-1"], "csrf_token": running.token()})
        model.delay_s = 0.2
        yield running  # with all loaded that the first search and the first answer load


NOT_WAITING_S = 10
"""What waits for slow clients takes 15 s more than what does not, however busy the machine is."""


def search_s(served: Served) -> float:
    """Seconds of another user's search, the median of ten."""
    took = []
    for number in range(10):
        started = time.perf_counter()
        response = served.client.get("/search", params={"q": f"printer tray {number}", "d": "-1", "mode": "keyword"})
        took.append(time.perf_counter() - started)
        assert response.status_code == 200
    return statistics.median(took)


def probe_s(served: Served) -> float:
    """Seconds of the slower of the two probes."""
    took = []
    for path in ("/healthz", "/readyz"):
        started = time.perf_counter()
        assert httpx.get(f"http://127.0.0.1:{served.port}{path}", timeout=WAIT_S).status_code == 200
        took.append(time.perf_counter() - started)
    return max(took)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(HEAD + b"Content-Length: 1000\r\n\r\na", id="bodies"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", id="chunks"),
        pytest.param(HEAD, id="heads"),
    ],
)
def test_two_hundred_slow_senders_without_an_account_keep_nobody_waiting(served: Served, sent: bytes) -> None:
    quiet = search_s(served)
    with connected(served.port, sent, SLOW):
        require_nobody_waits(served, quiet)


def test_two_hundred_slow_readers_of_one_user_keep_nobody_else_waiting(served: Served) -> None:
    with DataDirectory(served.data_dir) as braid:
        reader = Accounts(braid.ledger).add("reader", PASSWORD)
        _, key = ApiTokens(braid.ledger).add(reader.id, "slow", ["read", "write"], days=1)
    body = b'{"message": "printer tray", "dataset_ids": [-1]}'
    head = (
        "POST /api/v1/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: text/event-stream\r\nAuthorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    quiet = search_s(served)
    with connected(served.port, head + body, SLOW) as held:
        begun = Counter(each.recv(12) for each in held)  # the first piece of what each is sent, and no more
        # on a busy machine one's turn to compute may not come in time; a short answer makes room for another
        assert USER_SHARE / 2 <= begun[b"HTTP/1.1 200"] <= 2 * USER_SHARE, begun
        assert begun[b"HTTP/1.1 200"] + begun[b"HTTP/1.1 429"] == SLOW, begun
        require_nobody_waits(served, quiet)


@pytest.fixture(scope="module")
def four(served: Served) -> list[tuple[str, int]]:
    """Users, each with the key of a token and a dataset."""
    made = []
    with DataDirectory(served.data_dir) as braid:
        for number in range(4):
            user = Accounts(braid.ledger).add(f"slow {number}", PASSWORD)
            _, key = ApiTokens(braid.ledger).add(user.id, "slow", ["read", "write"], days=1)
            made.append((key, braid.ledger.add_dataset(user.id, "Files").id))
    return made


def head(path: str, key: str, size: int, kind: str = "application/json", accept: str = "*/*") -> bytes:
    """The head of a POST request of a token."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nAccept: {accept}\r\n"
        f"Authorization: Bearer {key}\r\nContent-Length: {size}\r\n\r\n"
    ).encode()


def require_nobody_waits(served: Served, quiet: float) -> None:
    assert probe_s(served) < quiet + NOT_WAITING_S
    assert search_s(served) < quiet + NOT_WAITING_S


def test_slow_uploads_of_four_users_keep_nobody_waiting(served: Served, four: list[tuple[str, int]]) -> None:
    quiet, form = search_s(served), "multipart/form-data; boundary=b"
    with ExitStack() as stack:
        for key, dataset in four:
            sent = head(f"/api/v1/datasets/{dataset}/documents", key, 1_000_000, form) + b"--b\r\n"
            stack.enter_context(connected(served.port, sent, 32))
        require_nobody_waits(served, quiet)


def test_slow_calls_over_mcp_of_four_users_keep_nobody_elses_waiting(
    served: Served, four: list[tuple[str, int]]
) -> None:
    (other, _), body = four[0], b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
    accept = "application/json, text/event-stream"
    with ExitStack() as stack:
        for key, _ in four:
            stack.enter_context(connected(served.port, head("/mcp", key, 1_000, accept=accept) + b"{", 32))
        opened = stack.enter_context(connect(served.port, head("/mcp", other, len(body), accept=accept) + body))
        assert opened.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("accept", mostly_long(["text/event-stream", "application/json"]))
def test_a_hundred_answers_of_a_model_that_hangs_keep_nobody_waiting(
    served: Served, four: list[tuple[str, int]], model: ModelServer, accept: str
) -> None:
    body = b'{"message": "printer tray", "dataset_ids": [-1]}'
    quiet, before = search_s(served), len(model.calls)
    model.pause_after = 1
    model.go_on.clear()
    try:
        with ExitStack() as stack:
            for key, _ in four:
                sent = head("/api/v1/chat", key, len(body), accept=accept) + body
                stack.enter_context(connected(served.port, sent, 25))
            eventually(lambda: len(model.calls) >= before + 100)
            require_nobody_waits(served, quiet)
        require_nobody_waits(served, quiet)  # and that those are gone has been seen
    finally:
        model.pause_after = 0
        model.go_on.set()


def test_probes_under_a_foreign_name_are_refused_as_everything_else(served: Served) -> None:
    for path in ("/healthz", "/readyz"):
        given = httpx.get(f"http://127.0.0.1:{served.port}{path}", headers={"Host": "evil.example"}, timeout=WAIT_S)
        assert given.status_code == 400
    assert httpx.post(f"http://127.0.0.1:{served.port}/healthz", timeout=WAIT_S).status_code == 405
    assert httpx.head(f"http://127.0.0.1:{served.port}/healthz", timeout=WAIT_S).status_code == 200


@pytest.mark.long
def test_an_idle_connection_is_kept_longer_than_clients_keep_theirs(served: Served) -> None:
    whole = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connect(served.port, whole) as opened:
        assert b"ok" in answer(opened)
        time.sleep(7)  # httpx gives a connection up after 5
        opened.sendall(whole)
        assert b"ok" in answer(opened)


def test_answers_have_the_same_security_headers_whoever_gives_them(served: Served) -> None:
    address = f"http://127.0.0.1:{served.port}"
    answers = [httpx.get(f"{address}{path}", timeout=WAIT_S) for path in ("/login", "/healthz", "/readyz")]
    for given in (*answers, refusal(413, "too much")):
        assert {name: given.headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS
        assert given.headers["Cache-Control"] == "no-store"


def test_an_upgrade_to_a_web_socket_is_counted_like_any_other_connection() -> None:
    limits = Limits(0)
    upgrade = (
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with serving(greet, limits) as port:
        for _ in range(3):
            with connect(port, upgrade) as opened:
                assert answer(opened) == b"ok"
        eventually(lambda: limits.open.total() == 0)


def test_a_header_with_underscores_is_not_taken_for_that_of_a_proxy() -> None:
    seen: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.extend(name for name, _ in scope["headers"])
        await greet(scope, receive, send)

    request = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX_Forwarded_For: 127.0.0.1\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"
    with serving(with_sound_heads(app)) as port, connect(port, request) as opened:
        assert answer(opened) == b"ok"
    assert seen == [b"host", b"x-forwarded-for"]
