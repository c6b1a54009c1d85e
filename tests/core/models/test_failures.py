"""A model that fails is seen: with the innermost cause, once a minute in the log, until a call is answered again."""

from __future__ import annotations

import datetime
import ipaddress
import logging
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from braid.core.errors import EmbeddingError, ModelError
from braid.core.models.chat import ChatModel, ModelSettings
from braid.core.models.embeddings import EmbeddingOptions, embed_query, embedding_model
from braid.core.models.failures import LOG_EVERY_S, MODEL_CALLS, RECENT_S, FailingModel, ModelCalls
from braid.core.models.reasons import loggable, safe_reason
from braid.core.models.rerank import Reranker, Rerankers
from braid.core.types import Hit, Passage, Query
from tests.core.models.test_circuit import ASK, Clock
from tests.model_server import model_server
from tests.proxies import free_port

KEY = "a-key-that-is-nobodys-business"
PUMP = Passage("c", 1, 1, "user_1", "pump.md", "Pump", "md", "", "It hums.", 0, None, None, None, None, None, {})
HIT = Hit(PUMP, 1.0, ())


class _GoneReranker:
    name = "cohere:r"

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        try:
            socket.create_connection(("127.0.0.1", free_port()))
        except OSError as error:
            raise ModelError(f"the reranker {self.name} failed: {safe_reason(error)}") from error
        raise AssertionError("nobody listens there")


class _GoneRerankers(Rerankers):
    def named(self, name: str) -> Reranker:
        return _GoneReranker()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def _nowhere(scheme: str = "http", port: int = 0) -> str:
    return f"{scheme}://127.0.0.1:{port or free_port()}/v1"


def _failure_of(base_url: str, **options: object) -> str:
    settings = ModelSettings("openai:m", base_url, KEY, 10.0, 0, pause_s=0)
    with pytest.raises(ModelError) as caught:
        ChatModel(settings, **options).complete(ASK)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.fixture
def expired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server whose certificate was good until yesterday."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=9))
        .not_valid_after(now - datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "expired.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))  # its authority is known: only the date is wrong
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_shake_hands, args=(listening, context), daemon=True).start()
        yield listening.getsockname()[1]


def _shake_hands(listening: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        try:
            context.wrap_socket(connection, server_side=True).close()
        except OSError:
            connection.close()


def test_an_expired_certificate_is_the_reason(expired: int) -> None:
    assert "certificate has expired" in _failure_of(_nowhere("https", expired))


def test_a_closed_port_is_the_reason_for_all_kinds_and_is_seen_until_it_answers() -> None:
    assert "Connection refused" in _failure_of(_nowhere())
    options = EmbeddingOptions(base_url=_nowhere(), api_key=KEY)
    with pytest.raises(EmbeddingError, match="Connection refused"):
        embed_query(embedding_model("openai:e", options=options), "pump")
    rerankers = _GoneRerankers(timeout_s=20.0)
    with pytest.raises(ModelError, match="Connection refused"):
        rerankers.rerank(Query("pump", reranker="cohere:r"), [HIT])
    rerankers.close()
    assert {(model.kind, model.name) for model in MODEL_CALLS.failing()} == {
        ("chat", "openai:m"),
        ("embedding", "openai:e"),
        ("reranker", "cohere:r"),
    }
    assert all("Connection refused" in model.reason and KEY not in model.reason for model in MODEL_CALLS.failing())
    calls, failures = MODEL_CALLS.calls(), MODEL_CALLS.failures()
    with model_server("Fish") as server:
        assert ChatModel(ModelSettings("openai:m", server.url, KEY)).complete(ASK) == "Fish"
    assert [model.kind for model in MODEL_CALLS.failing()] == ["embedding", "reranker"]
    assert MODEL_CALLS.calls()["chat"] == calls["chat"] + 1
    assert MODEL_CALLS.failures() == failures


def test_a_stream_counts_once_also_when_its_reader_leaves() -> None:
    with model_server("Fish live in water") as server:
        model = ChatModel(server.settings())
        before = MODEL_CALLS.calls()["chat"]
        assert "".join(model.stream(ASK)).strip() == "Fish live in water"
        reader = model.stream(ASK)
        next(reader)
        reader.close()
        assert MODEL_CALLS.calls()["chat"] == before + 2
        server.broken = 500
        with pytest.raises(ModelError):
            list(model.stream(ASK))
        assert MODEL_CALLS.calls()["chat"] == before + 3
        assert [model.name for model in MODEL_CALLS.failing()] == ["openai:search-model"]


def test_a_users_own_key_says_nothing_of_the_sites_model() -> None:
    before = MODEL_CALLS.calls()
    _failure_of(_nowhere(), counts=False)
    assert (MODEL_CALLS.failing(), MODEL_CALLS.calls()) == ([], before)


def test_one_line_per_cause_and_model_a_minute(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    calls = ModelCalls(clock)
    with caplog.at_level(logging.WARNING):
        for number in range(30):
            calls.failed("chat", "openai:m", f"E: refused (request {number})")
            calls.failed("chat", "openai:m", 'E: "certificate" has expired')
        clock.now += LOG_EVERY_S
        calls.failed("chat", "openai:m", "E: refused (request 99)")
    assert [record.getMessage() for record in caplog.records] == [
        'event=model_failed kind=chat model=openai:m reason="E: refused (request 0)" times=1',
        "event=model_failed kind=chat model=openai:m reason=\"E: 'certificate' has expired\" times=1",
        'event=model_failed kind=chat model=openai:m reason="E: refused (request 99)" times=30',
    ]
    assert calls.failures()["chat"] == calls.calls()["chat"] == 61


def test_a_failure_that_no_call_has_followed_is_forgotten_after_an_hour(clock: Clock) -> None:
    calls = ModelCalls(clock)
    calls.failed("reranker", "cohere:r", "E: refused")
    clock.now += RECENT_S
    assert calls.failing() == [FailingModel("reranker", "cohere:r", "E: refused")]
    clock.now += 1
    assert calls.failing() == []


def test_models_without_number_take_no_memory_without_end(clock: Clock) -> None:
    calls = ModelCalls(clock)
    for number in range(2_000):
        calls.failed("embedding", f"m{'x' * number}", "E: refused")
    assert len(calls.failing()) == 200
    assert calls.failing()[-1].name == f"m{'x' * 1_999}"


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("Incorrect API key provided: sk-proj-0123456789abcdef", "0123456789abcdef"),
        ("No such organization: org-AbCdEfGh12345678.", "AbCdEfGh12345678"),
        ("cannot reach https://root:hunter2@models.example/v1", "hunter2"),
        ("HTTP 401 for Bearer abc.def", "abc.def"),
        ("the key is given", "given"),
    ],
)
def test_a_reason_has_no_secret(said: str, secret: str) -> None:
    cause = OSError(111, f"refused: {said}")
    error = RuntimeError(said)
    error.__cause__ = cause
    reason = safe_reason(error, ("given", None, ""))
    assert secret not in reason
    assert "***" in reason


def test_a_key_that_is_none_leaves_words_whole() -> None:
    assert safe_reason(ValueError("none of them is known"), ("none", "k")) == "ValueError: none of them is known"


def test_the_innermost_cause_is_found_below_errors_that_say_nothing() -> None:
    error = RuntimeError("Connection error.")
    error.__cause__ = ValueError("no")
    error.__cause__.__context__ = socket.gaierror(-2, "Name or service not known")
    assert safe_reason(error) == "RuntimeError: Connection error. (Name or service not known)"
    error.__cause__ = error  # some libraries raise an error from itself
    assert safe_reason(error) == "RuntimeError: Connection error."


def test_the_log_does_not_repeat_what_a_provider_quotes_of_a_request() -> None:
    class RefusedError(Exception):
        status_code = 400

    error = ModelError("the model openai:m failed: RefusedError: the question 'who is ill' is too long")
    error.__cause__ = RefusedError("the question 'who is ill' is too long")
    assert loggable(error) == "RefusedError: status 400"
