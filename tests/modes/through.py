"""The tests' clients behind a real proxy and below a path: `pytest tests/app/pages --through nginx`.

Every app of `tests.web.make_app` is then served by Braid's own server in a thread of the test's process, each below a
path of its own, and the app's test clients send their requests over HTTP to the proxy. Tests write addresses without
the path: `Through` puts it before what is sent and takes it off what is answered, and fails where it is missing.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from weakref import WeakValueDictionary

import pytest
import uvicorn
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.datastructures import Headers
from werkzeug.wsgi import ClosingIterator, get_current_url

from braid.app import server
from braid.app.site import EXTENSION
from braid.app.web.gate.connections import Limits, timely_protocol
from braid.config.settings import Settings
from tests import proxies, web
from tests.modes.below import TEXTS, check, off, without_prefix
from tests.worlds import WAIT_S, eventually

ROOM = "/below"
"""Path that the proxy passes on; each app has a part of it."""
TOLD_BY_PROXIES = ("X_FORWARDED_FOR", "X_FORWARDED_PROTO", "FORWARDED", "X_REAL_IP", "VIA")
HOP_BY_HOP = ("connection", "transfer-encoding", "keep-alive")


@dataclass
class Through:
    """A running proxy and the server behind it; the apps are kept by their tests alone."""

    kind: str
    port: int = 0
    loop: asyncio.AbstractEventLoop | None = None

    def __post_init__(self) -> None:
        self.apps: WeakValueDictionary[str, Flask] = WeakValueDictionary()
        self._numbers = itertools.count(1)
        self.requests = 0
        """Those that came through the proxy."""

    def settings(self, settings: Settings) -> Settings:
        """Return the settings of another app: behind one proxy, below a path of its own."""
        return replace(settings, url_prefix=f"{ROOM}/{next(self._numbers)}", trusted_proxies=1)

    def add(self, app: Flask, settings: Settings) -> None:
        """Serve the app, and have its clients come through the proxy."""
        app.test_client_class = ProxiedClient
        app.extensions["tests.through"] = self
        app.extensions["tests.prefix"] = settings.url_prefix
        app.extensions["tests.asgi"] = server._asgi(settings, app, app.extensions[EXTENSION])
        self.apps[settings.url_prefix] = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on to the app whose path it is for."""
        app = self.apps.get("/".join(scope["path"].split("/")[:3]))
        assert app is not None, f"no app is served below {scope['path']}"
        self.requests += scope["type"] == "http"
        await app.extensions["tests.asgi"](scope, receive, send)

    def address(self, app: Flask) -> str:
        """Where browsers open the app; ends with a slash."""
        return f"http://127.0.0.1:{self.port}{prefix_of(app)}/"

    @contextmanager
    def lifespan(self, app: Flask) -> Iterator[str]:
        """Run what the app runs as long as it is served, which MCP needs; gives its address."""
        assert self.loop is not None
        started = asyncio.run_coroutine_threadsafe(_Lifespan(app.extensions["tests.asgi"]).start(), self.loop)
        task = started.result(WAIT_S)
        try:
            yield self.address(app).rstrip("/")
        finally:
            asyncio.run_coroutine_threadsafe(task.stop(), self.loop).result(WAIT_S)


class _Lifespan:
    """The lifespan of an ASGI app, as a server runs it."""

    def __init__(self, asgi: Any) -> None:
        self._asgi = asgi

    async def start(self) -> _Lifespan:
        self._started, self._sent = asyncio.Event(), asyncio.Queue[str]()
        self._task = asyncio.create_task(
            self._asgi({"type": "lifespan", "asgi": {"version": "3.0"}}, self._get, self._put)
        )
        self._sent.put_nowait("lifespan.startup")
        await self._started.wait()
        return self

    async def stop(self) -> None:
        self._sent.put_nowait("lifespan.shutdown")
        await self._task

    async def _get(self) -> dict[str, str]:
        return {"type": await self._sent.get()}

    async def _put(self, message: dict[str, str]) -> None:
        assert not message["type"].endswith(".failed"), message
        self._started.set()


@contextmanager
def through(kind: str, folder: Path) -> Iterator[None]:
    """Have all apps that are made until the end of the block answer through the proxy."""
    found = Through(kind)
    config = uvicorn.Config(
        found,
        port=0,
        http=timely_protocol(Limits(0)),
        h11_max_incomplete_event_size=server.MAX_HEAD_BYTES,
        timeout_keep_alive=server.KEEP_ALIVE_S,
        log_level="warning",
        lifespan="off",
        proxy_headers=False,
        server_header=False,
    )
    behind = _Server(config, found)
    thread = threading.Thread(target=behind.run, daemon=True)
    thread.start()
    eventually(lambda: behind.started)
    port = behind.servers[0].sockets[0].getsockname()[1]
    with proxies.proxy(kind, folder, proxies.Site(port, ROOM)) as found.port:
        web.PROXIES.append(found)
        yield
        web.PROXIES.remove(found)
    behind.should_exit = True
    thread.join(WAIT_S)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, found: Through) -> None:
        super().__init__(config)
        self._found = found

    async def startup(self, sockets: Any = None) -> None:
        self._found.loop = asyncio.get_running_loop()
        await super().startup(sockets)


def prefix_of(app: Flask) -> str:
    """The path below which the app is served."""
    prefix: str = app.extensions["tests.prefix"]  # a test may give the app other settings
    return prefix


class ProxiedClient(FlaskClient):
    """A test client whose requests go over HTTP to the proxy."""

    def run_wsgi_app(self, environ: Any, buffered: bool = False) -> Any:
        """Send the request; the same answer as of the app itself, with the path taken off."""
        if wrong := _which_no_proxy_sends(environ):
            pytest.skip(f"not through a proxy: {wrong}")
        self._add_cookies_to_wsgi(environ)
        found = self.application.extensions["tests.through"]
        body, status, headers = _send(environ, found.port, prefix_of(self.application))
        url = urlsplit(get_current_url(environ))
        self._update_cookies_from_response(url.hostname or "localhost", url.path, headers.getlist("Set-Cookie"))
        return (list(body) if buffered else body), status, headers


def _which_no_proxy_sends(environ: dict[str, Any]) -> str:
    """Return what of a request a visitor cannot choose who comes through the proxy; empty when it can be sent."""
    if environ["REMOTE_ADDR"] != "127.0.0.1":
        return "it tells the address that it sees, not another"
    if environ["SERVER_PROTOCOL"] != "HTTP/1.1" or environ["wsgi.url_scheme"] != "http":
        return "it speaks HTTP/1.1, and has no certificate here"
    told = [name for name in TOLD_BY_PROXIES if f"HTTP_{name}" in environ]
    return f"it tells {', '.join(told)} itself" if told else ""


def _send(environ: dict[str, Any], port: int, prefix: str) -> tuple[Iterable[bytes], str, Headers]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    try:
        _ask(connection, environ, prefix)
        answer = connection.getresponse()
        headers = Headers([(name, value) for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP])
        check(headers, prefix)
        kind, pieces = headers.get("Content-Type", ""), _pieces(answer)
        is_stream = kind.startswith("text/event-stream")
        if not is_stream:
            with closing(connection), closing(answer):
                pieces = iter([answer.read()])
        if kind.startswith(TEXTS) and "Content-Encoding" not in headers:
            pieces = without_prefix(pieces, prefix, headers, is_stream=is_stream)
    except BaseException:
        connection.close()
        raise
    taken_off = Headers([(name, off(value, prefix)) for name, value in headers])
    body = ClosingIterator(_until_read(pieces, connection, answer), [connection.close, answer.close])
    return body, f"{answer.status} {answer.reason}", taken_off


def _ask(connection: http.client.HTTPConnection, environ: dict[str, Any], prefix: str) -> None:
    path = quote(environ["PATH_INFO"].encode("latin-1"), safe="/:@!$&'()*+,;=~")
    query = quote(environ.get("QUERY_STRING", "").encode("latin-1"), safe="/:@!$&'()*+,;=~?%[]")
    where = f"{prefix}{path}?{query}" if query else f"{prefix}{path}"
    given = {name[5:].replace("_", "-"): value for name, value in environ.items() if name.startswith("HTTP_")}
    if environ.get("CONTENT_TYPE"):
        given["Content-Type"] = environ["CONTENT_TYPE"]
    content = environ["wsgi.input"].read()
    if content or environ["REQUEST_METHOD"] in ("POST", "PUT", "PATCH"):
        given["Content-Length"] = str(len(content))
    connection.putrequest(environ["REQUEST_METHOD"], where, skip_host=True, skip_accept_encoding=True)
    for name, value in given.items():
        connection.putheader(name, _with_prefix(name, value, prefix).encode("latin-1"))
    connection.endheaders(content or None)


def _with_prefix(name: str, value: str, prefix: str) -> str:
    """Return the value of a header as a browser sends it that has opened the page through the proxy."""
    if name == "REFERER" and (there := urlsplit(value)).hostname in ("localhost", "127.0.0.1"):
        return there._replace(path=prefix + there.path).geturl()
    return value


def _pieces(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    while piece := answer.read1(1 << 16):
        yield piece


def _until_read(
    pieces: Iterable[bytes], connection: http.client.HTTPConnection, answer: http.client.HTTPResponse
) -> Iterator[bytes]:
    with closing(connection), closing(answer):
        yield from pieces


# ---------------------------------------------------------------- the mode


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the proxy changes or refuses."""
    kind = config.getoption("--through")
    for item in items:
        for mark in item.iter_markers("in_process"):
            if kind in mark.kwargs.get("of", proxies.PROXIES):
                item.add_marker(pytest.mark.skip(reason=f"not through a proxy: {mark.args[0]}"))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Note how many requests came through the proxy."""
    item.user_properties.append(("through", sum(each.requests for each in web.PROXIES)))
    for each in web.PROXIES:
        each.requests = 0


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many of the tests sent anything: others look at functions, or bring their own server."""
    passed = {each.nodeid for each in terminalreporter.getreports("passed")}
    sent = {
        each.nodeid: number
        for each in terminalreporter.getreports("")
        for name, number in each.user_properties
        if name == "through" and number and each.nodeid in passed
    }
    kind = config.getoption("--through")
    terminalreporter.write_line(f"{len(sent)} tests that passed sent {sum(sent.values())} requests through {kind}")


@pytest.fixture(scope="session", autouse=True)
def behind_a_proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All apps of the tests are."""
    kind = request.config.getoption("--through")
    with through(kind, tmp_path_factory.mktemp(kind)):
        yield
