"""What LangChain tests of its EnsembleRetriever and MultiQueryRetriever, of Braid's: merging, ranks, ties, lines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever

from braid.core.braid import Braid
from braid.core.langchain import BraidEnsembleRetriever
from braid.core.models.chat import ChatModels
from braid.core.models.replies import parse_queries
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, add_notes, document


class Listed(BaseRetriever):
    """Finds the same documents whatever is asked."""

    found: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.found


def listed(texts: str, *, by: str = "", first: int = 1) -> Listed:
    """A retriever of one document per letter, which has a number under the key."""
    numbers = range(first, first + len(texts))
    return Listed(
        found=[Document(text, metadata={by: n} if by else {}) for text, n in zip(texts, numbers, strict=True)]
    )


def both(retrievers: Sequence[BaseRetriever], weights: list[float], **options: Any) -> list[str]:
    """The texts that Braid's ensemble finds, by a call and by an awaited one, which are those of the stock ensemble."""
    ours = BraidEnsembleRetriever(retrievers=list(retrievers), weights=weights, k=100, **options)
    stock = EnsembleRetriever(retrievers=list(retrievers), weights=weights, **options)
    found = ours.invoke("_")
    assert found == asyncio.run(ours.ainvoke("_")) == stock.invoke("_")
    return [each.page_content for each in found]


def test_what_both_find_comes_first_and_once() -> None:
    assert both([listed("abc"), listed("b")], [0.5, 0.5], id_key=None) == ["b", "a", "c"]


def test_what_one_finds_alone_keeps_its_rank() -> None:
    assert both([listed("abc"), listed("d")], [0.5, 0.5], id_key=None) == ["a", "d", "b", "c"]


def test_documents_are_the_same_by_the_key_that_is_named() -> None:
    found = both([listed("abc", by="id"), listed("de", by="id", first=2)], [0.5, 0.5], id_key="id")
    assert found == ["b", "c", "a"]


def test_a_heavier_one_decides() -> None:
    assert both([listed("ab"), listed("ba")], [0.9, 0.1], id_key=None) == ["a", "b"]
    assert both([listed("ab"), listed("ba")], [0.1, 0.9], id_key=None) == ["b", "a"]


def test_c_says_how_much_the_first_place_is_worth() -> None:
    retrievers, weights = [listed("axxb".replace("x", "c")), listed("cb"), listed("db")], [0.5, 0.25, 0.25]
    assert both(retrievers, weights, id_key=None, c=60)[0] == "c"
    assert both([listed("ab"), listed("cb"), listed("db")], [0.4, 0.3, 0.3], id_key=None, c=0)[0] == "b"


def test_nothing_of_nothing() -> None:
    assert both([listed(""), listed("")], [0.5, 0.5], id_key=None) == []


def test_a_number_of_weights_that_does_not_fit() -> None:
    for made in (EnsembleRetriever, BraidEnsembleRetriever):
        with pytest.raises(ValueError, match="match number of retrievers"):
            made(retrievers=[listed("a"), listed("b")], weights=[1.0])


# ---------------------------------------------------------------- several queries


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("foo\nbar\nbaz", ["foo", "bar", "baz"]),
        ("foo\nbar\nbaz\n", ["foo", "bar", "baz"]),
        ("foo\n\nbar", ["foo", "bar"]),
        ("1. foo\n2. bar", ["foo", "bar"]),
        ("foo", ["foo"]),
        ("", None),
    ],
)
def test_a_reply_is_read_line_by_line(reply: str, expected: list[str] | None) -> None:
    assert parse_queries(reply, question="what", limit=5) == expected


@pytest.fixture
def braid(tmp_path: Path) -> Iterator[Braid]:
    models = ChatModels(search=FakeListChatModel(responses=["the dog\nthe cat"]))
    with Braid(tmp_path, embedding_model=HashEmbeddings(), models=models) as opened:
        dataset = add_notes(opened.ledger)
        opened.ledger.put_document(dataset, document("a.md", "the cat", "the dog", "a bird"))
        assert opened.indexer.wait(WAIT_S)
        yield opened


@pytest.mark.parametrize("engine", ["braid", "langchain"])
def test_what_several_queries_find_is_there_once(braid: Braid, engine: Any) -> None:
    found = braid.get_retriever("multi_query", user_id=1, engine=engine, k=10).invoke("animals")
    assert sorted(each.page_content for each in found) == ["a bird", "the cat", "the dog"]
    again = asyncio.run(braid.get_retriever("multi_query", user_id=1, engine=engine, k=10).ainvoke("animals"))
    assert again == found
