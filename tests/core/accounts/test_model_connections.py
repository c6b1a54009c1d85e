"""Connections to model servers: what is kept, and that a key goes to no other address."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.core.accounts.app_settings import AppSettings
from braid.core.accounts.model_connections import MAX_CONNECTIONS, RERANKER, SETTING, ModelConnections
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.models.rerank_http import RerankServer
from tests.databases import on_both_databases

SECRET = b"s" * 32


@pytest.fixture
def connections(ledger: Ledger) -> ModelConnections:
    return ModelConnections(ledger, SECRET)


@on_both_databases
def test_a_connection_is_kept_with_its_key_encrypted(connections: ModelConnections, ledger: Ledger) -> None:
    made = connections.prepare("openai", "", " sk-1234 ")
    assert (made.name, made.base_url, made.key) == ("openai", "https://api.openai.com/v1", "sk-1234")
    connections.put(replace(made, models=("gpt-5",)))
    assert connections.all() == [replace(made, models=("gpt-5",))]
    assert "sk-1234" not in repr(connections.all())
    assert "sk-1234" not in str(AppSettings(ledger).get(SETTING))


def test_the_key_stays_with_its_address_and_goes_with_it(connections: ModelConnections) -> None:
    connections.put(connections.prepare("ollama", "http://box:11434", "k-1"))
    assert connections.prepare("ollama", "http://box:11434/v1").key == "k-1"
    moved = connections.prepare("ollama", "http://other:11434")
    assert (moved.name, moved.key) == ("ollama", "")
    connections.put(moved)
    (kept,) = connections.all()
    assert (kept.key, kept.has_key) == ("", False)


def test_a_key_that_was_moved_to_another_address_cannot_be_read(connections: ModelConnections, ledger: Ledger) -> None:
    connections.put(connections.prepare("compatible", "http://box:9000/v1", "k-1"))
    stored = AppSettings(ledger).get(SETTING)
    stored["box_9000"]["base_url"] = "http://evil:9000/v1"
    AppSettings(ledger).set(SETTING, stored)
    (found,) = connections.all()
    assert (found.key, found.has_key) == ("", True)
    assert ModelConnections(ledger, b"t" * 32).all()[0].key == ""


def test_what_is_refused(connections: ModelConnections) -> None:
    with pytest.raises(InvalidInputError, match="OpenAI needs a key"):
        connections.prepare("openai", "")
    with pytest.raises(InvalidInputError, match="a key is one word") as raised:
        connections.prepare("openai", "", "two words")
    assert "two words" not in str(raised.value)
    with pytest.raises(InvalidInputError, match="the provider is 'none'"):
        connections.prepare("none", "")
    with pytest.raises(NotFoundError):
        connections.remove("openai")
    for number in range(MAX_CONNECTIONS):
        connections.put(connections.prepare("compatible", f"http://box:{9000 + number}"))
    with pytest.raises(InvalidInputError, match="remove one first"):
        connections.put(connections.prepare("compatible", "http://box:8999"))


def test_a_removed_connection_is_gone(connections: ModelConnections) -> None:
    connections.put(connections.prepare("mistralai", "", "k"))
    assert connections.remove("mistralai").base_url == "https://api.mistral.ai/v1"
    assert connections.all() == []
    assert connections.get("mistralai") is None


@on_both_databases
def test_the_server_of_the_reranker_is_kept_with_its_key_encrypted_for_its_address(
    connections: ModelConnections, ledger: Ledger
) -> None:
    assert connections.reranker() is None
    server = RerankServer("cohere", "rerank-v3.5", "", "sk-1234", has_key=True)
    connections.put_reranker(server)
    other = ModelConnections(ledger, SECRET)  # of another process
    assert other.reranker() == server
    stored = AppSettings(ledger).get(RERANKER)
    assert "sk-1234" not in f"{stored}{other.reranker()!r}"
    AppSettings(ledger).set(RERANKER, {**stored, "base_url": "http://evil:9000"})
    moved = other.reranker()
    assert moved is not None
    assert (moved.key, moved.has_key) == ("", True)
    other.put_reranker(RerankServer("tei", "default", "http://box:8080"))
    kept = connections.reranker()
    assert kept is not None
    assert (kept.name, kept.address, kept.has_key) == ("tei:default", "http://box:8080", False)
    connections.put_reranker(None)
    assert other.reranker() is None
