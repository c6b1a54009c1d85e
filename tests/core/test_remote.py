"""RemoteBraid: the results and errors of the Braid that serves, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from braid.core.accounts.credentials import ApiTokens
from braid.core.braid import Braid
from braid.core.errors import BraidError, IndexUnavailableError, InvalidInputError
from braid.core.remote import RemoteBraid
from braid.core.types import ChunkInput, DocumentInput, Filters, SearchResult
from tests.web import make_app, serving
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
