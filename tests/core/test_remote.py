"""RemoteBraid: the results and errors of the Braid that serves, over HTTP."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from braid.core.accounts.credentials import ApiTokens
from braid.core.braid import Braid
from braid.core.errors import BraidError, ClosedError, IndexUnavailableError, InvalidInputError, NotFoundError
from braid.core.remote import RemoteBraid
from braid.core.types import ChunkInput, DocumentInput, Filters, SearchResult
from tests.web import make_app, serving, visited
from tests.worlds import catch_up, document


@pytest.fixture(scope="module")
def pair(shelf: Braid) -> Iterator[tuple[Braid, RemoteBraid]]:
    app = make_app(shelf)
    shelf.ledger.add_dataset(1, "notes")
    for number in range(8):
        texts = (f"the pump number {number} runs", "a copy that all have")
        shelf.ledger.put_document(1, document(f"d{number}.md", *texts, date=1_700_000_000.5 + number))
    code = ChunkInput("def pump(number): ...", chunk_kind="function")
    shelf.ledger.put_document(1, DocumentInput("pump.py", "pump", "py", (code,)))
    catch_up(shelf)
    _, token = ApiTokens(shelf.ledger).add(1, "remote", ["read"])
    with serving(app) as url, RemoteBraid(url, token) as remote:
        yield shelf, remote


def plain(result: SearchResult) -> tuple[Any, ...]:
    """What must be the same: not the timings, nor each passage's collection, which the API does not tell."""
    hits = [replace(hit, passage=replace(hit.passage, collection="")) for hit in result.hits]
    return hits, result.query, result.degraded, result.collections, result.queries, result.unresolved_dataset_ids


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "keyword", "k": 3},
        {"mode": "semantic", "min_score": 0.2},
        {"fusion": "auto"},
        {"fusion": "weighted", "alpha": 0.3},
        {"fusion": "weighted"},
        {"filters": Filters(frozenset({"md"}), "d", 1_700_000_002.0, 1_700_000_006.0)},
        {"dataset_ids": [1, 99]},
        {"dataset_ids": "all"},
        {"group_by": "document", "k": 3},
        {"filters": {"chunk_kinds": ["function"]}},
        {"strategy": "multi_query", "parameters": {"feedback_terms": 3}, "leg_depth": 100, "reranker_depth": 10},
        {"strategy": "parent_document", "generator": "feedback"},
    ],
)
def test_results_are_the_same(pair: tuple[Braid, RemoteBraid], options: dict[str, Any]) -> None:
    here, there = pair
    assert plain(there.search("pump number 3", user_id=1, **options)) == plain(
        here.search("pump number 3", user_id=1, **options)
    )


def test_a_retriever(pair: tuple[Braid, RemoteBraid]) -> None:
    here, there = pair
    found = there.get_retriever(k=2).invoke("pump number 3", mode="keyword")
    expected = here.get_retriever(user_id=1, k=2).invoke("pump number 3", mode="keyword")
    assert [(each.id, each.page_content) for each in found] == [(each.id, each.page_content) for each in expected]


@pytest.mark.parametrize(
    ("text", "options", "field"),
    [
        ("", {}, "query"),
        ("x", {"k": 0}, "k"),
        ("x", {"mode": "nonsense"}, "mode"),
        ("x", {"kk": 1}, "kk"),
        ("x", {"strategy": "nonsense"}, "strategy"),
        ("x", {"engine": "langchain"}, "engine"),
        ("x", {"user_id": 7}, "user_id"),
        ("x", {"dataset_ids": 1}, "dataset_ids"),
        ("x", {"dataset_ids": "1"}, "dataset_ids"),
        ("x", {"dataset_ids": ["a"]}, "dataset_ids"),
    ],
)
def test_errors_are_the_same(pair: tuple[Braid, RemoteBraid], text: str, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        pair[1].search(text, **options)
    assert caught.value.field == field


def test_what_is_wrong_with_the_other_side_is_said(pair: tuple[Braid, RemoteBraid]) -> None:
    with RemoteBraid(pair[1].url, "braid_nobody") as stranger, pytest.raises(InvalidInputError, match="token"):
        stranger.search("x")
    with (
        RemoteBraid("http://127.0.0.1:9", "braid_x") as gone,
        pytest.raises(IndexUnavailableError, match="9/ does not answer"),
    ):
        gone.search("x")
    with pytest.raises(BraidError, match="http://"):
        RemoteBraid("localhost:8000", "braid_x")


@pytest.mark.parametrize("url", ["localhost:8000", "http://[::1", "http://", "http:///pages", "", None])
def test_an_address_without_a_scheme_or_a_host_is_refused(url: Any) -> None:
    with pytest.raises(InvalidInputError, match="http://") as caught:
        RemoteBraid(url, "braid_x")
    assert caught.value.field == "url"


def test_a_token_that_is_not_set_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="token"):
        RemoteBraid("http://127.0.0.1:9", None)  # type: ignore[arg-type]


def test_a_scheme_is_read_in_either_case(pair: tuple[Braid, RemoteBraid]) -> None:
    there = pair[1]
    with RemoteBraid(there.url.replace("http", "HTTP"), there._token) as shouted:
        assert plain(shouted.search("pump")) == plain(there.search("pump"))


def test_half_a_surrogate_pair_is_searched_for_as_here(pair: tuple[Braid, RemoteBraid]) -> None:
    found = [side.search("pump \ud800 3", user_id=1).hits for side in pair]
    here, there = ([hit.passage.chunk_id for hit in hits] for hits in found)
    assert here == there != []


@pytest.mark.parametrize(
    ("status", "body"),
    [(502, '["bad gateway"]'), (500, '"oops"'), (200, "null"), (200, '{"ok": true}'), (200, "<html>")],
)
def test_what_answers_in_the_place_of_the_site_is_no_answer(status: int, body: str) -> None:
    gateway = Flask("gateway")
    gateway.add_url_rule("/<path:_>", "all", lambda _: (body, status), methods=["GET", "POST"])
    with visited(gateway) as url, RemoteBraid(url, "braid_x") as remote:
        for ask in (lambda: remote.search("x"), lambda: remote.search("x", user_id=1)):
            with pytest.raises(IndexUnavailableError, match=str(status)):
                ask()


def test_after_close_every_call_raises_closed_error(pair: tuple[Braid, RemoteBraid]) -> None:
    with RemoteBraid(pair[1].url, pair[1]._token) as remote:
        retriever = remote.get_retriever()
    calls = [lambda: remote.search("x"), remote.get_retriever, lambda: retriever.invoke("x")]
    for call in calls:
        with pytest.raises(ClosedError, match="before close"):
            call()


def test_a_pickle_is_refused_with_what_to_do(pair: tuple[Braid, RemoteBraid]) -> None:
    with pytest.raises(TypeError, match="make it where it is used"):
        pickle.dumps(pair[1])


def test_a_retriever_refuses_what_its_searches_would(pair: tuple[Braid, RemoteBraid]) -> None:
    there = pair[1]
    with pytest.raises(InvalidInputError, match="pooling") as caught:
        there.get_retriever(pooling="none")
    assert caught.value.field == "pooling"
    with pytest.raises(InvalidInputError, match="list of dataset ids"):
        there.get_retriever(dataset_ids="1")  # type: ignore[arg-type]


def test_a_retriever_of_datasets_that_are_not_there_finds_no_empty_list(pair: tuple[Braid, RemoteBraid]) -> None:
    here, there = pair
    with pytest.raises(NotFoundError, match="dataset 4711"):
        here.get_retriever(user_id=1, dataset_ids=[4711])
    with pytest.raises(NotFoundError, match="dataset 4711"):
        there.get_retriever(dataset_ids=[4711], on_degraded="ignore").invoke("pump")
    assert there.get_retriever(dataset_ids=[4711, 1], on_degraded="ignore", k=1).invoke("pump")
