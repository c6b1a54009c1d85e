"""Addresses and lists of models of servers with OpenAI's interface."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from socket import create_server

import pytest

from braid.core.errors import InvalidInputError, ModelError
from braid.core.models.model_servers import (
    FETCH_S,
    LOCAL_SERVERS,
    checked_url,
    fetch_models,
    find_local_servers,
    server_name,
)
from tests.model_server import ModelServer, model_server

USUAL = [server.port for server in LOCAL_SERVERS]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server("fine") as running:
        yield running


@pytest.mark.parametrize(
    ("provider", "given", "url"),
    [
        ("compatible", " http://gpu-box:9000/v1/ ", "http://gpu-box:9000/v1"),
        ("compatible", "localhost:8080", "http://localhost:8080/v1"),
        ("compatible", "10.0.0.7:8080/openai", "http://10.0.0.7:8080/openai"),
        ("compatible", "api.example.org", "https://api.example.org/v1"),
        ("ollama", "", "http://127.0.0.1:11434/v1"),
        ("ollama", "http://box:11434", "http://box:11434/v1"),
        ("openai", "http://evil.example/v1", "https://api.openai.com/v1"),
    ],
)
def test_an_address_is_completed(provider: str, given: str, url: str) -> None:
    assert checked_url(provider, given) == url


@pytest.mark.parametrize(
    ("address", "remedy"),
    [
        ("", "the address is empty"),
        ("ftp://box/v1", "write it as http://localhost:8080/v1"),
        ("http://", "write it as"),
        ("http://box:99999/v1", "write it as"),
        ("http://ann:secret-word@box/v1", "leave out names, passwords"),
        ("http://box/v1?key=1", "leave out"),
        ("http://box/v1 qwen", "leave out"),
        ("http://169.254.169.254/latest", "this machine's own secrets"),
        ("http://metadata.google.internal./v1", "this machine's own secrets"),
        (f"http://{'x' * 400}/v1", "write it as"),
    ],
)
def test_what_is_no_address_is_refused_with_the_remedy(address: str, remedy: str) -> None:
    with pytest.raises(InvalidInputError, match=remedy) as raised:
        checked_url("compatible", address)
    assert "secret-word" not in str(raised.value)
    assert raised.value.field == "base_url"


@pytest.mark.parametrize("host", ["2852039166", "0xA9FEA9FE", "169.254.43518", "[::ffff:169.254.169.254]"])
def test_nothing_is_sent_to_the_clouds_interface_however_it_is_spelled(host: str) -> None:
    with pytest.raises(ModelError, match="this machine's own secrets"):
        fetch_models("compatible", f"http://{host}/v1", "key")


def test_a_server_is_named_by_its_provider_or_its_address() -> None:
    assert server_name("mistralai", checked_url("mistralai", "")) == "mistralai"
    assert server_name("compatible", "http://localhost:1234/v1") == "lm_studio"
    assert server_name("compatible", "http://gpu-box:1234/v1") == "gpu_box_1234"
    assert server_name("compatible", "http://10.0.0.7:8080/v1") == "server_10_0_0_7_8080"
    assert server_name("compatible", "http://openai/v1") == "server_openai"


def test_the_list_has_the_models_that_chat(server: ModelServer) -> None:
    server.models = ("text-embedding-3-small", "qwen3:8b", "models/gemini-flash", "whisper-1", "qwen3:8b", "")
    assert fetch_models("compatible", server.url, "a-key") == ("qwen3:8b", "gemini-flash")
    assert fetch_models("anthropic", server.url, "b-key") == ("qwen3:8b", "gemini-flash")
    assert server.keys == ["a-key", "b-key"]
    server.models = ("nomic-embed-text",)
    assert fetch_models("compatible", server.url) == ("nomic-embed-text",)


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "refuses the key"), (404, "most addresses end with /v1"), (302, "no list of models")]
)
def test_what_hinders_is_said_without_the_key(server: ModelServer, status: int, remedy: str) -> None:
    server.broken = status
    with pytest.raises(ModelError, match=remedy) as raised:
        fetch_models("compatible", server.url, "secret-key")
    assert "secret-key" not in str(raised.value)


def test_nobody_listens_or_somebody_never_answers() -> None:
    with pytest.raises(ModelError, match=r"no model server answers at 127\.0\.0\.1:9 "):
        fetch_models("compatible", "http://127.0.0.1:9/v1")
    with closing(create_server(("127.0.0.1", 0))) as silent:
        started = time.monotonic()
        with pytest.raises(ModelError, match="no model server answers"):
            fetch_models("compatible", f"http://127.0.0.1:{silent.getsockname()[1]}/v1", timeout_s=0.2)
        assert time.monotonic() - started < FETCH_S


def test_servers_on_the_usual_ports_are_found() -> None:
    with model_server("fine", ports=USUAL) as server:
        port = int(server.url.split(":")[2].split("/")[0])
        server.models = ("qwen3:8b", "llama3")
        found = {local.port: models for local, models in find_local_servers()}
        assert found[port] == ("qwen3:8b", "llama3")
        assert port not in {local.port for local, _ in find_local_servers(but_not=port)}
