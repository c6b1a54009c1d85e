"""Spans for OpenTelemetry: a search is one trace from the request to its SQL, without a word of what was searched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from braid.app.opening import open_braid
from braid.config.settings import load_settings
from braid.core import spans
from braid.core.braid import Braid
from braid.core.extras import MissingExtraError
from tests.fakes import HashEmbeddings
from tests.web import csrf_token, make_app, sign_in
from tests.worlds import WAIT_S, document


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    spans.begin(SimpleSpanProcessor(exporter))
    yield exporter
    spans.end()


@pytest.fixture
def embeddings() -> HashEmbeddings:
    return HashEmbeddings()


@pytest.fixture
def searched(
    tmp_path: Path,
    embeddings: HashEmbeddings,
    exported: InMemorySpanExporter,
) -> Iterator[Callable[[], list[ReadableSpan]]]:
    """Searches over the API; gives the spans of the request's trace."""
    with Braid(tmp_path / "data", embedding_model=embeddings) as braid:
        client = sign_in(make_app(braid))
        token = csrf_token(client)
        user = braid.ledger.users()[0].id
        dataset = braid.ledger.add_dataset(user, "Giraffes").id
        braid.ledger.put_document(dataset, document("zebras.md", "The zebra drinks water."))
        assert braid.indexer.wait(WAIT_S)

        def search() -> list[ReadableSpan]:
            exported.clear()
            body = {"query": "zebra O'Neill", "dataset_ids": [dataset]}
            answer = client.post("/api/v1/search", json=body, headers={"X-CSRFToken": token})
            assert answer.status_code == 200, answer.text
            found = exported.get_finished_spans()
            (request,) = [span for span in found if span.name == "request"]
            return [span for span in found if span.context.trace_id == request.context.trace_id]

        yield search


def one(found: list[ReadableSpan], name: str) -> ReadableSpan:
    (span,) = [span for span in found if span.name == name]
    return span


def above(found: list[ReadableSpan], span: ReadableSpan) -> list[str]:
    """The names of the spans that it is within, the nearest first."""
    by_id = {each.context.span_id: each for each in found}
    names = []
    while span.parent is not None:
        span = by_id[span.parent.span_id]
        names.append(span.name)
    return names


def test_a_search_is_one_trace_across_threads(searched: Callable[[], list[ReadableSpan]]) -> None:
    found = searched()
    assert dict(one(found, "request").attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/api/v1/search",
        "http.response.status_code": 200,
    }
    told = dict(one(found, "search").attributes or {})
    assert {**told, "legs": tuple(sorted(told["legs"]))} == {
        "mode": "hybrid",
        "strategy": "basic",
        "collections": 1,
        "legs": ("bm25", "dense"),
        "degraded": 0,
        "hits": 1,
    }
    assert above(found, one(found, "search")) == ["request"]
    assert "search" in above(found, one(found, "embed")), "in another thread"
    kinds = {str((span.attributes or {})["db.operation.name"]) for span in found if span.name == "sql"}
    assert "SELECT" in kinds
    assert kinds <= spans.KINDS
    assert any("search.read" in above(found, span) for span in found if span.name == "sql")


def test_no_text_and_no_name_is_in_a_span_nor_that_of_an_error(
    searched: Callable[[], list[ReadableSpan]], embeddings: HashEmbeddings
) -> None:
    embeddings.failing = True
    found = searched()
    assert (one(found, "search").attributes or {})["degraded"] == 1
    assert (one(found, "embed").attributes or {})["error.type"] == "ConnectionError"
    for span in found:
        assert not span.events, "an exception quotes what failed"
        assert span.status.description is None
        told = f"{span.name} {dict(span.attributes or {})}".lower()
        for word in ("zebra", "neill", "giraffes", "water", "admin", "down", "select "):
            assert word not in told, told


def test_work_in_the_background_makes_no_traces(exported: InMemorySpanExporter, tmp_path: Path) -> None:
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()) as braid:
        dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id
        braid.ledger.put_document(dataset, document("a.md", "The cat sleeps."))
        assert braid.indexer.wait(WAIT_S)
    assert exported.get_finished_spans() == ()


def test_nothing_is_made_while_it_is_off() -> None:
    assert not spans.on()
    assert spans.root("search") is spans.span("sql") is spans.statement("SELECT 1") is spans.NOTHING
    assert spans.carried(len) is len
    spans.flush()
    spans.end()


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector's address, and what was sent to it."""
    sent: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", sent
        server.shutdown()


def test_the_setting_sends_them_to_a_collector_the_last_ones_at_the_end(
    tmp_path: Path, collector: tuple[str, list[tuple[str, bytes]]]
) -> None:
    address, sent = collector
    settings = load_settings({}, data_dir=tmp_path / "data", otlp_endpoint=f"{address}/")
    try:
        with open_braid(settings) as braid:
            user = braid.ledger.add_user("ann").id
            dataset = braid.ledger.add_dataset(user, "notes").id
            braid.search("zebra", user_id=user, dataset_ids=[dataset], mode="keyword")
        assert {path for path, _ in sent} == {"/v1/traces"}
        body = b"".join(content for _, content in sent)
        assert b"search.scope" in body
        assert b"zebra" not in body
    finally:
        spans.end()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingExtraError, match=r"braid-search\[otel\]"):
        spans.collector("http://127.0.0.1:4318")
