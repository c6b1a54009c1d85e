"""Behind nginx and Caddy with the files of deploy/, TLS and a sub-path: pages, sign-in, uploads, streams, MCP."""

from __future__ import annotations

import re
import signal
import socketserver
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.model_server import ModelServer, model_server
from tests.proxies import IN_FRONT_OF_PROCESSES, NAME, PROXIES, Site, proxy
from tests.served import Served
from tests.web import PASSWORD
from tests.worlds import WAIT_S, eventually

pytestmark = pytest.mark.browser  # they need packages of the system, like a browser

PREFIX = "/braid"
QUESTIONS = 300
"""Caddy broke off the answers to one in twenty of them."""
EVENT = b"data: It is in the second tray.\n\n"
QUESTION = "Where is the paper?"
ANSWER = "The paper is in the second tray [1]. " * 40


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_server(ANSWER) as running:
        yield running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Served]:
    settings: dict[str, object] = {
        "ALLOWED_HOSTS": NAME,
        "TRUSTED_PROXIES": 1,
        "URL_PREFIX": PREFIX,
        "SUMMARY_MODEL": "openai:stub",
        "SUMMARY_MODEL_BASE_URL": model.url,
        "SUMMARY_MODEL_API_KEY": "none",
    }
    with Served(tmp_path_factory.mktemp("proxied") / "data", fake_model=True, **settings) as running:
        yield running


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("certificate")
    files = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    names = ["-addext", f"subjectAltName=DNS:{NAME}", "-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run([*command, *names], check=True, capture_output=True)
    return files


@pytest.fixture(scope="module", params=PROXIES)
def proxied(
    request: pytest.FixtureRequest,
    served: Served,
    certificate: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[httpx.Client]:
    """A browser that opens the app through the proxy, as `https://braid.example.org/braid/`, signed in."""
    site = Site(served.port, PREFIX, certificate)
    trusted = ssl.create_default_context(cafile=str(certificate[0]))
    with proxy(request.param, tmp_path_factory.mktemp(request.param), site) as port, _browser(port, trusted) as client:
        page = client.get(f"{PREFIX}/login")
        form = {"csrf_token": _token(page), "name": "admin", "password": PASSWORD}
        assert client.post(f"{PREFIX}/login", data=form).headers["location"] == f"{PREFIX}/"
        yield client


class _ToThisComputer(httpx.HTTPTransport):
    """Connects to 127.0.0.1, whatever the name; the certificate must be the name's all the same."""

    def __init__(self, port: int, trusted: ssl.SSLContext) -> None:
        super().__init__(verify=trusted)
        self.port, self.trusted = port, trusted

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        there = request.url.copy_with(host="127.0.0.1", port=self.port)
        options = {**request.extensions, "sni_hostname": NAME}
        sent = httpx.Request(request.method, there, headers=request.headers, stream=request.stream, extensions=options)
        return super().handle_request(sent)


def _browser(port: int, trusted: ssl.SSLContext) -> httpx.Client:
    referrer = {"Referer": f"https://{NAME}{PREFIX}/", "Accept": "text/html"}
    transport = _ToThisComputer(port, trusted)
    return httpx.Client(base_url=f"https://{NAME}", transport=transport, headers=referrer, timeout=WAIT_S)


def _token(page: httpx.Response) -> str:
    found = re.search(r'name="csrf[-_]token" (?:content|value)="([^"]+)"', page.text)
    assert found, page.text
    return found[1]


def _headers(client: httpx.Client) -> dict[str, str]:
    return {"X-CSRFToken": _token(client.get(f"{PREFIX}/account")), "Accept": "application/json"}


def test_browsers_are_to_ask_by_https_alone(proxied: httpx.Client) -> None:
    for path in (f"{PREFIX}/login", f"{PREFIX}/readyz", f"{PREFIX}/nowhere"):
        assert proxied.get(path).headers.get_list("Strict-Transport-Security") == ["max-age=31536000"], path


def test_every_page_and_file_that_leads_on_is_below_the_path(proxied: httpx.Client) -> None:
    seen, waiting = set[str](), [f"{PREFIX}/"]
    while waiting:
        path = waiting.pop()
        seen.add(path)
        answer = proxied.get(path, follow_redirects=True)
        assert answer.status_code == 200, path
        assert answer.url.path.startswith(f"{PREFIX}/"), path
        if answer.headers["content-type"].startswith("text/html"):
            found = re.findall(r'\s(?:href|src|action|data-[a-z-]+)="(/[^"#?]*)', answer.text)
            assert [link for link in found if not link.startswith(f"{PREFIX}/")] == [], path
            links = set(re.findall(r'\s(?:href|src)="(/[^"#?]*)', answer.text))
            waiting += sorted(links - seen - set(waiting))
    assert len(seen) > 25
    assert {f"{PREFIX}/datasets", f"{PREFIX}/admin/users", f"{PREFIX}/search"} <= seen


def test_a_visitor_signs_in_and_is_led_back(proxied: httpx.Client) -> None:
    transport = proxied._transport
    assert isinstance(transport, _ToThisComputer)
    with _browser(transport.port, transport.trusted) as visitor:
        first = visitor.get(f"{PREFIX}/datasets?x=1")
        assert first.headers["location"] == f"{PREFIX}/login?next=%2Fbraid%2Fdatasets%3Fx%3D1"
        page = visitor.get(first.headers["location"])
        form = {"csrf_token": _token(page), "name": "admin", "password": PASSWORD, "next": f"{PREFIX}/datasets?x=1"}
        signed_in = visitor.post(f"{PREFIX}/login", data=form)
        assert signed_in.headers["location"] == f"{PREFIX}/datasets?x=1"
        assert "Secure" in signed_in.headers["set-cookie"], "the proxy says that the page came over HTTPS"


def test_files_are_uploaded_and_found_and_the_api_answers(proxied: httpx.Client) -> None:
    headers = _headers(proxied)
    made = proxied.post(f"{PREFIX}/api/v1/datasets", json={"name": f"Uploads {time.time_ns()}"}, headers=headers)
    assert made.status_code == 201, made.text
    dataset = made.json()["id"]
    text = b"The spare key lies under the third pot.\n" + b"\n" * 15_000_000
    file = {"file": ("keys.txt", text)}
    sent = proxied.post(f"{PREFIX}/api/v1/datasets/{dataset}/documents", files=file, headers=headers)
    assert sent.status_code == 202, sent.text
    _put(proxied, dataset, headers)


def _put_a_document(client: httpx.Client) -> None:
    """Return once a question about it finds it."""
    headers = _headers(client)
    made = client.post(f"{PREFIX}/api/v1/datasets", json={"name": f"Trays {time.time_ns()}"}, headers=headers)
    assert made.status_code == 201, made.text
    _put(client, made.json()["id"], headers)


def _put(client: httpx.Client, dataset: int, headers: dict[str, str]) -> None:
    small = {"source": "a.txt", "text": "The paper lies in the second tray."}
    assert client.put(f"{PREFIX}/api/v1/datasets/{dataset}/documents", json=small, headers=headers).status_code < 300
    query = {"query": "paper tray", "dataset_ids": [dataset]}

    def found() -> bool:
        answer = client.post(f"{PREFIX}/api/v1/search", json=query, headers=headers)
        assert answer.status_code == 200, answer.text
        return "a.txt" in answer.text

    eventually(found)


@pytest.mark.parametrize(
    ("path", "asked", "first"),
    [
        ("/api/v1/chat", {"message": QUESTION}, "event:"),
        (
            "/v1/chat/completions",
            {"model": "braid", "messages": [{"role": "user", "content": QUESTION}], "stream": True},
            "data:",
        ),
    ],
)
def test_an_answer_streams(
    proxied: httpx.Client, model: ModelServer, path: str, asked: dict[str, object], first: str
) -> None:
    """The first event is there before the last one is sent: the model goes on only when that event has come."""
    _put_a_document(proxied)
    headers = {**_headers(proxied), "Accept": "text/event-stream"}
    arrived = []
    model.pause_after = 3
    model.go_on.clear()
    try:
        with proxied.stream("POST", f"{PREFIX}{path}", json=asked, headers=headers) as answer:
            assert answer.status_code == 200, answer.read()
            assert answer.headers["content-type"].startswith("text/event-stream")
            for piece in answer.iter_text():
                arrived.append(piece)
                model.go_on.set()
    finally:
        model.pause_after = 0
        model.go_on.set()
    assert first in arrived[0]
    assert "second tray" in "".join(arrived[1:]), "the proxy collected the answer, so that the model waited in vain"


class _AtOnce(socketserver.StreamRequestHandler):
    """Begins to answer with the last byte of the question, sooner than Braid can, and goes on a little later."""

    def handle(self) -> None:
        while head := self._head():
            self.rfile.read(int(re.findall(r"content-length: (\d+)", head)[0]))
            fields = b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + fields)
            time.sleep(0.005)
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(EVENT), EVENT))

    def _head(self) -> str:
        lines = []
        while (line := self.rfile.readline()).strip():
            lines.append(line.decode().lower())
        return "".join(lines)


@pytest.mark.parametrize("kind", [*PROXIES, IN_FRONT_OF_PROCESSES])
def test_an_answer_that_begins_at_once_comes_whole(kind: str, tmp_path: Path) -> None:
    """Through Caddy a head came and nothing else, now and then: Go's server closes a request when the answer to it
    begins, and Caddy, if it still looked for the end of the request, took that for an error and broke the answer off.
    """

    def whole(client: httpx.Client) -> bool:
        try:
            return client.post("/", content=b"{}").content == EVENT
        except httpx.TransportError:
            return False

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _AtOnce) as behind:
        behind.daemon_threads = True
        threading.Thread(target=behind.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        with (
            proxy(kind, tmp_path, Site(behind.server_address[1], "")) as port,
            httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S) as client,
            ThreadPoolExecutor(4) as threads,
        ):
            came = list(threads.map(whole, [client] * QUESTIONS))
        behind.shutdown()
    assert came.count(False) == 0


def test_probes_metrics_and_mcp_are_below_the_path(proxied: httpx.Client) -> None:
    assert proxied.get(f"{PREFIX}/readyz").json()["status"] == "ready"
    assert proxied.get(f"{PREFIX}/metrics").status_code == 200
    assert proxied.post(f"{PREFIX}/mcp", json={}).status_code == 401
    assert proxied.get("/account").status_code in (200, 404), "not Braid's"


def test_what_has_other_programs_open_files_again_does_not_end_the_server(
    served: Served, proxied: httpx.Client
) -> None:
    log = served.data_dir.parent / "server.log"
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        served.process.send_signal(number)
        eventually(lambda said=f"event=hangup_ignored signal={number.name}": said in log.read_text())
    assert re.search(r"event=started version=\S+ database=sqlite embedding_model=\S+ url=http://", log.read_text())
    assert proxied.get(f"{PREFIX}/healthz").status_code == 200
