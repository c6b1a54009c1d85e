"""What model servers are sent: nothing to where they redirect, no cookie; and nothing where a cloud tells secrets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import httpx
import pytest

from braid.core.errors import EmbeddingError, ModelError
from braid.core.models.chat import ChatModel, ModelSettings
from braid.core.models.embeddings import EmbeddingOptions, embedding_model
from braid.core.models.model_servers import fetch_models
from braid.core.models.rerank_http import HttpReranker
from braid.core.outgoing.model_http import follow_no_redirects, model_http
from tests.worlds import WAIT_S

SECRET = "http://169.254.169.254/v1"


@contextmanager
def http_server(status: int, headers: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """A server that answers everything alike, its address, and what it was asked: path and cookie."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            asked.append(f"{self.path} {self.headers.get('Cookie', '')}".strip())
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        do_GET = do_POST = answer

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def chat(url: str) -> object:
    return ChatModel(ModelSettings("openai:m", url, "key", WAIT_S, 0)).complete([("user", "what?")])


def stream(url: str) -> object:
    return list(ChatModel(ModelSettings("openai:m", url, "key", WAIT_S, 0)).stream([("user", "what?")]))


def embed(url: str) -> object:
    return embedding_model("openai:e", options=EmbeddingOptions(url, "key")).embed_query("what?")


def rerank(url: str) -> object:
    return HttpReranker("cohere", "r", base_url=url, api_key="key", timeout_s=WAIT_S).scores("what?", ["a"])


def models(url: str) -> object:
    return fetch_models("compatible", url, "key")


ASKS = [chat, stream, embed, rerank, models]


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_redirect_is_not_followed_and_said(ask: Callable[[str], object], status: int) -> None:
    with (
        http_server(200, {}) as (elsewhere, told),
        http_server(status, {"Location": f"{elsewhere}/x"}) as (url, asked),
        pytest.raises((ModelError, EmbeddingError)) as caught,
    ):
        ask(f"{url}/v1")
    assert len(asked) in (1, 2), "the embedding model's package asks once more"
    assert told == []
    assert str(status) in str(caught.value)
    if ask is not models:
        assert f"sends the question on to {elsewhere.removeprefix('http://')}" in str(caught.value)


@pytest.mark.parametrize("ask", ASKS)
def test_nothing_is_sent_to_an_address_of_a_clouds_secrets(ask: Callable[[str], object]) -> None:
    with pytest.raises((ModelError, EmbeddingError), match="leads to this machine's own secrets in a cloud"):
        ask(SECRET)


def test_no_server_learns_the_cookie_that_it_gave() -> None:
    with http_server(200, {"Set-Cookie": "who=me"}) as (url, asked):
        for _ in range(2):
            model_http(url).get(f"{url}/models")
    assert asked == ["/models", "/models"]


def test_the_client_is_one_for_all_servers_and_another_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert model_http("http://127.0.0.1:1/v1") is model_http("https://api.openai.com/v1")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert model_http("http://127.0.0.1:1/v1") is not model_http("https://api.openai.com/v1")
    assert model_http("https://127.0.0.1:1/v1") is model_http("http://127.0.0.1:1/v1")


def test_models_of_other_packages_follow_no_redirect_either() -> None:
    clients = [httpx.Client(follow_redirects=True) for _ in range(3)]
    follow_no_redirects(SimpleNamespace(client=clients[0], _client=SimpleNamespace(_client=clients[1])))
    follow_no_redirects(SimpleNamespace(root_client=SimpleNamespace(_client=clients[2])))
    assert [each.follow_redirects for each in clients] == [False] * 3
