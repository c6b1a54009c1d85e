"""The way to the app: threads in turn, requests that step aside, streams that wait without one, room for bodies."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from flask import Flask, Response, abort, request

from braid.app.web.event_stream import event_stream, step_aside
from braid.app.web.gate.gateway import Gateway
from braid.app.web.gate.request_bodies import SHORT_BYTES, Room
from braid.app.web.gate.threads import Threads
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.chat.turns.bell import Bell, Pause
from tests.app.web.test_slow_clients import answer, connect, connected, post, serving
from tests.web import bearer, make_app, site_of
from tests.web import serving as serving_app
from tests.worlds import WAIT_S, eventually

LONG = SHORT_BYTES + 1


class Pages:
    """An app whose pages wait until they are let go on; ``entered`` counts those that have begun."""

    def __init__(self) -> None:
        self.app = Flask("pages")
        self.go_on = threading.Event()
        self.bell = Bell()
        self.entered: list[str] = []
        self.app.add_url_rule("/", view_func=lambda: "ok", endpoint="ok")
        self.app.add_url_rule("/wait", view_func=self.wait)
        self.app.add_url_rule("/aside", view_func=self.aside)
        self.app.add_url_rule("/stream", view_func=self.stream)
        self.app.add_url_rule("/form", view_func=self.form, methods=["POST"])
        self.app.add_url_rule("/refused", view_func=self.refused, methods=["POST"])

    def wait(self) -> str:
        """Holds its thread."""
        self.entered.append("wait")
        assert self.go_on.wait(WAIT_S)
        return "waited"

    def aside(self) -> str:
        """Waits without its place."""
        step_aside()
        return self.wait()

    def stream(self) -> Response:
        """Sends a word, and another one when the bell has been rung."""

        def events() -> Iterator[str | Pause]:
            rung = self.bell.rung
            yield "first "
            self.entered.append("stream")
            while self.bell.rung == rung:
                yield Pause(WAIT_S, self.bell, rung)
            yield "second"

        return event_stream(events())

    def form(self) -> str:
        """Reads its body."""
        return str(len(request.get_data()))

    def refused(self) -> str:
        """Reads nothing."""
        abort(403)


@pytest.fixture
def pages() -> Iterator[Pages]:
    made = Pages()
    yield made
    made.go_on.set()


@contextmanager
def served(pages: Pages, threads: Threads, room: Room | None = None) -> Iterator[int]:
    with serving(Gateway(pages.app, room or Room(), threads)) as port:
        try:
            yield port
        finally:
            pages.go_on.set()


def get(path: str, cookie: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: who={cookie}\r\n\r\n".encode()


def answered(port: int, path: str, cookie: str = "other") -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{port}{path}", headers={"Cookie": f"who={cookie}"}, timeout=WAIT_S)


def test_more_requests_than_can_be_answered_soon_are_refused(pages: Pages) -> None:
    with served(pages, Threads(1, aside=0)) as port, connected(port, get("/wait"), 1) as held:
        eventually(lambda: pages.entered)
        with connect(port, get("/")) as second:
            refused = eventually(lambda: found if (found := answered(port, "/x")).status_code == 503 else None)
            assert refused.headers["Retry-After"]
            pages.go_on.set()
            assert answer(held[0]) == b"waited"
            assert answer(second) == b"ok"
        assert answered(port, "/").text == "ok"


def test_a_caller_has_some_of_the_threads_and_of_those_that_wait(pages: Pages) -> None:
    threads = Threads(4, aside=0, of_one=1, waiting_of_one=1)
    with served(pages, threads) as port, connected(port, get("/wait", "one"), 2) as held:
        eventually(lambda: pages.entered)
        eventually(lambda: answered(port, "/", "one").status_code == 429)
        assert pages.entered == ["wait"]
        assert answered(port, "/", "other").text == "ok"
        pages.go_on.set()
        assert [answer(each) for each in held] == [b"waited"] * 2


def test_who_steps_aside_leaves_the_place_to_others(pages: Pages) -> None:
    with served(pages, Threads(3, aside=5)) as port, connected(port, get("/aside"), 5) as held:
        eventually(lambda: len(pages.entered) == 5)
        assert answered(port, "/").text == "ok"
        pages.go_on.set()
        assert [answer(each) for each in held] == [b"waited"] * 5


def test_streams_wait_without_a_thread_and_go_on_when_there_is_news(pages: Pages) -> None:
    with served(pages, Threads(3, aside=0)) as port, connected(port, get("/stream"), 5) as held:
        eventually(lambda: len(pages.entered) == 5)
        assert answered(port, "/").text == "ok"
        pages.bell.ring()
        for each in held:
            got = b""
            while b"second" not in got:
                got += each.recv(1000)
            assert b"first " in got or b"second" in got


def test_so_many_long_bodies_are_read_at_once(pages: Pages) -> None:
    room = Room(of_strangers=1)
    with served(pages, Threads(2, aside=0), room) as port, connect(port, post("/form", LONG)) as first:
        first.sendall(b"x")
        address = f"http://127.0.0.1:{port}/form"

        def refusal() -> httpx.Response | None:
            found = httpx.post(address, content=b"x" * LONG, timeout=WAIT_S)
            return found if found.status_code == 503 else None

        refused = eventually(refusal)
        assert "too many uploads" in refused.text
        assert httpx.post(address, content=b"short", timeout=WAIT_S).text == "5"
        first.sendall(b"x" * (LONG - 1))
        assert answer(first) == str(LONG).encode()
        assert httpx.post(address, content=b"x" * LONG, timeout=WAIT_S).text == str(LONG)


def test_a_full_disk_takes_no_long_body(pages: Pages) -> None:
    with served(pages, Threads(1, aside=0), Room(least_free_bytes=2**60)) as port:
        refused = httpx.post(f"http://127.0.0.1:{port}/form", content=b"x" * 2**20, timeout=WAIT_S)
        assert refused.status_code == 503
        assert "disk" in refused.text


def test_of_a_request_that_is_refused_by_its_head_no_long_body_is_awaited(pages: Pages) -> None:
    with served(pages, Threads(1, aside=0)) as port, connect(port, post("/refused", 10**9)) as opened:
        assert opened.recv(1000).startswith(b"HTTP/1.1 403 ")


def test_an_upload_counts_once_in_the_rate_although_the_app_is_asked_twice(shelf: Braid) -> None:
    app = make_app(shelf, Settings())
    user = site_of(app).accounts.all()[0]
    dataset = shelf.ledger.add_dataset(user.id, "Notes").id

    def left(size: int, http: httpx.Client) -> int:
        body: dict[str, Any] = {"source": "a.txt", "text": "x" * size}
        sent = http.put(f"/api/v1/datasets/{dataset}/documents", json=body)
        return int(sent.headers["RateLimit-Remaining"])

    with serving_app(app) as address, httpx.Client(base_url=address, headers=bearer(app, user), timeout=WAIT_S) as http:
        assert left(10, http) - left(2 * LONG, http) == 1
