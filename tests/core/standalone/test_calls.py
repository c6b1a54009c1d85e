"""A retriever and a searcher, called as programs that have a Chroma collection or a list of code passages call them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import chromadb
import numpy as np
import pytest
from langchain_chroma import Chroma
from langchain_core.vectorstores import InMemoryVectorStore

from braid.core.errors import ChromaDBError, HybridRetrieverError, ValidationError
from braid.core.standalone.retriever import MOST_FETCHED, HybridRetriever
from braid.core.standalone.scorer import Bm25Scorer
from braid.core.standalone.searcher import HybridSearcher
from tests.fakes import HashEmbeddings

MANUAL = [
    ("/docs/pump.md", "the pump of hall three runs at 12 bar"),
    ("/docs/pump.md", "the warranty of the pump lasts three years"),
    ("/docs/valve.md", "the valve of the pump is closed by hand"),
    ("", "tea is served beside the pump"),
]


@pytest.fixture(scope="module")
def embeddings() -> HashEmbeddings:
    return HashEmbeddings()


@pytest.fixture(scope="module")
def manager(embeddings: HashEmbeddings) -> Chroma:
    store = Chroma(f"manual-{uuid4()}", embeddings)
    metadata = [{"filepath": path, "kind": "doc"} if path else {"kind": "doc"} for path, _ in MANUAL]
    store.add_texts([text for _, text in MANUAL], metadata, [f"chunk-{n}" for n in range(len(MANUAL))])
    return store


@pytest.fixture(scope="module")
def retriever(manager: Chroma) -> Iterator[HybridRetriever]:
    with HybridRetriever(manager, 0.5, 0.5) as opened:
        yield opened


# ---------------------------------------------------------------- the retriever


def test_weights_by_position_are_the_dense_and_the_sparse_one(manager: Chroma) -> None:
    def best(*weights: float, **named: float) -> Any:
        with HybridRetriever(manager, *weights, **named) as retriever:
            return retriever.search("the warranty of the pump lasts three years", top_k=4, rrf_constant=10)

    assert best(0.2, 0.8) == best(dense_weight=0.2, sparse_weight=0.8)
    assert best(0.2, 0.8)[0]["score"] == pytest.approx((0.2 + 0.8) / 11)
    assert [hit["id"] for hit in best(0.0, 1.0)] == [hit["id"] for hit in best(0.0)]
    with pytest.raises(ValidationError, match="sparse_weight is -1"):
        HybridRetriever(manager, 0.5, -1)


def deleted(embeddings: HashEmbeddings) -> Chroma:
    store = Chroma(f"gone-{uuid4()}", embeddings)
    store.delete_collection()
    return store


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda _: None, "the store is a NoneType"),
        (lambda _: "manual", "the store is a str"),
        (lambda _: chromadb.EphemeralClient(), "the store is a Client"),
        (deleted, "the Chroma store is not open"),
    ],
)
def test_a_store_that_is_not_open_is_refused_at_construction(
    given: Callable[[HashEmbeddings], Any], message: str, embeddings: HashEmbeddings
) -> None:
    with pytest.raises(HybridRetrieverError, match=message) as refused:
        HybridRetriever(given(embeddings))
    assert not isinstance(refused.value, ChromaDBError)


def test_a_collection_that_cannot_be_read_is_refused_at_construction() -> None:
    client = chromadb.EphemeralClient()
    collection = client.create_collection(f"gone-{uuid4()}")
    client.delete_collection(collection.name)
    with pytest.raises(ChromaDBError, match=collection.name) as refused:
        HybridRetriever(collection)
    assert isinstance(refused.value, HybridRetrieverError)


def test_one_result_per_document_with_the_others_counted(retriever: HybridRetriever) -> None:
    passages = retriever.search("warranty of the pump", top_k=4, where={"kind": "doc"})
    assert passages[0]["id"] == "chunk-1"
    assert len(passages) == 4
    assert all("more_in_document" not in hit for hit in passages)
    documents = retriever.search("warranty of the pump", top_k=4, where={"kind": "doc"}, group_by="document")
    assert {hit["id"]: hit["more_in_document"] for hit in documents} == {
        "/docs/pump.md": 1,
        "/docs/valve.md": 0,
        "chunk-3": 0,
    }
    assert (documents[0]["document"], documents[0]["score"]) == (passages[0]["document"], passages[0]["score"])
    assert [hit["score"] for hit in documents] == sorted((hit["score"] for hit in documents), reverse=True)
    (best,) = retriever.search("warranty of the pump", top_k=1, group_by="document")
    assert (best["id"], best["filepath"], best["more_in_document"]) == ("/docs/pump.md", "/docs/pump.md", 1)


def test_a_long_document_does_not_keep_others_out(embeddings: HashEmbeddings) -> None:
    """The first fifty chunks of both legs are of one document: the retriever looks deeper."""
    collection = chromadb.EphemeralClient().create_collection(f"long-{uuid4()}")
    texts = [*(f"pump pump {n}" for n in range(80)), "pump and tea in the kitchen", "pump and milk in the kitchen too"]
    paths = [*["/long.md"] * 80, "/tea.md", "/milk.md"]
    collection.add(
        [f"{n:03}" for n in range(82)],
        embeddings=embeddings.embed_documents(texts),
        documents=texts,
        metadatas=[{"filepath": path} for path in paths],
    )
    assert MOST_FETCHED >= 82
    with HybridRetriever(collection, embeddings=embeddings) as retriever:
        assert {hit["filepath"] for hit in retriever.search("pump", top_k=50)} == {"/long.md"}
        found = retriever.search("pump", top_k=3, group_by="document")
    assert [(hit["id"], hit["more_in_document"]) for hit in found[:1]] == [("/long.md", 79)]
    assert {hit["id"] for hit in found} == {"/long.md", "/tea.md", "/milk.md"}


def test_an_unknown_grouping_is_refused(retriever: HybridRetriever) -> None:
    with pytest.raises(ValidationError, match="group_by is 'file'; it must be 'passage' or 'document'"):
        retriever.search("pump", group_by="file")  # type: ignore[arg-type]


# ---------------------------------------------------------------- the searcher

CODE = [
    {"text": "def open_valve(name): return VALVES[name].open()", "path": "valves.py", "line": 3},
    {"text": "class Pump: pressure = 12", "path": "pumps.py", "line": 1},
    {"text": "def warm_up(): wait_until_hot()", "path": "pumps.py", "line": 9},
]


class Switched(HashEmbeddings):
    """An embedder that says whether it is there."""

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.is_available = answer


def run(found: Awaitable[Any]) -> Any:
    async def wait() -> Any:
        return await found

    return asyncio.run(wait())


def test_hits_unpack_as_chunk_and_score(embeddings: HashEmbeddings) -> None:
    searcher = HybridSearcher(embeddings, bm25_weight=0.6, vector_weight=0.4)
    results = run(searcher.search("open_valve", 2, CODE))
    pairs = [(chunk["path"], score) for chunk, score in results]
    assert pairs[0] == ("valves.py", pytest.approx(1.0))
    assert [hit.score for hit in results] == [score for _, score in pairs]
    assert results == run(searcher.search(query="open_valve", chunks=CODE, top_k=2))


@pytest.mark.parametrize(
    ("given", "message"),
    [((CODE,), "top_k is a list"), ((True, CODE), "top_k is a bool"), ((3,), "chunks is missing")],
)
def test_arguments_in_another_order_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message) as refused:
        run(HybridSearcher(None).search("open_valve", *given))
    assert "search(query, top_k, chunks)" in str(refused.value)


async def later() -> bool:
    return False


@pytest.mark.parametrize("answer", [False, lambda: False, later], ids=["value", "method", "coroutine"])
def test_an_embedder_that_is_not_available_is_not_asked(answer: object, caplog: pytest.LogCaptureFixture) -> None:
    embedder = Switched(answer)
    with caplog.at_level(logging.WARNING):
        results = run(HybridSearcher(embedder).search("open_valve", 3, CODE))
    assert [(hit.index, hit.score, hit.vector_score) for hit in results] == [(0, 1.0, None)]
    assert "the embedder is not available" in caplog.text
    embedder.is_available = True
    assert len(run(HybridSearcher(embedder).search("open_valve", 3, CODE))) == 3


def test_an_embedder_without_is_available_counts_as_available(embeddings: HashEmbeddings) -> None:
    assert not hasattr(embeddings, "is_available")
    assert all(hit.vector_score is not None for hit in run(HybridSearcher(embeddings).search("open_valve", 3, CODE)))


def test_a_fitted_scorer_is_kept_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = Bm25Scorer(CODE)
    searcher = HybridSearcher(None, scorer=scorer)
    fresh = [run(HybridSearcher(None).search(query, 3, CODE)) for query in ("open_valve", "warm_up", "pressure")]
    monkeypatch.setattr(Bm25Scorer, "__init__", None)  # fitting another one fails from here on
    assert [run(searcher.search(query, 3, CODE)) for query in ("open_valve", "warm_up", "pressure")] == fresh
    assert [len(found) for found in fresh] == [1, 1, 1]


# ---------------------------------------------------------------- scorer, store, embedder


@dataclass
class CodeChunk:
    content: str


class Awaited:
    """An embedder whose methods are coroutines."""

    def __init__(self) -> None:
        self.inner = HashEmbeddings()

    async def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.inner.embed_documents(texts)

    async def embed_query(self, text: str) -> list[float]:
        return self.inner.embed_query(text)


class Embeds:
    """An embedder with one method, for several texts."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        return HashEmbeddings().embed_documents(texts)


class Indexed:
    """A store that has the vectors of the chunks in their order."""

    def __init__(self, texts: list[str]) -> None:
        self.vectors = np.array(HashEmbeddings().embed_documents(texts))

    def search(self, vector: list[float], k: int) -> list[tuple[int, float]]:
        scores = self.vectors @ np.array(vector)
        return [(int(index), float(scores[index])) for index in np.argsort(-scores)[:k]]


CHUNKS = [CodeChunk(str(chunk["text"])) for chunk in CODE]
TEXTS = [chunk.content for chunk in CHUNKS]


def test_a_scorer_a_store_and_an_embedder_by_position(embeddings: HashEmbeddings) -> None:
    expected = [hit.index for hit in run(HybridSearcher(embeddings).search("def warm_up()", 3, CHUNKS))]
    in_memory = InMemoryVectorStore(embeddings)
    in_memory.add_texts(TEXTS)
    for store in (None, Indexed(TEXTS), in_memory):
        for embedder in (embeddings, Awaited(), Embeds()):
            found = run(HybridSearcher(Bm25Scorer(CHUNKS), store, embedder).search("def warm_up()", 3, CHUNKS))
            assert [hit.index for hit in found][:1] == expected[:1] == [2]
            assert found[0].chunk is CHUNKS[2]
            assert None not in (found[0].bm25_score, found[0].vector_score)
    before = embeddings.documents_embedded
    run(HybridSearcher(None, Indexed(TEXTS), embeddings).search("warm_up", 3, CHUNKS))
    assert embeddings.documents_embedded == before


def test_an_embedder_that_is_awaited_is_given_alone_too() -> None:
    hits = run(HybridSearcher(Awaited()).search("def warm_up()", 3, CHUNKS))
    assert [hit.index for hit in hits] == [
        hit.index for hit in run(HybridSearcher(HashEmbeddings()).search("def warm_up()", 3, CHUNKS))
    ]


def test_what_a_store_or_an_embedder_raises_is_said(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Awaited):
        async def embed_query(self, text: str) -> list[float]:
            raise OSError("no network")

    class Gone:
        def search(self, vector: list[float], k: int) -> list[tuple[int, float]]:
            raise OSError("no disk")

    for searcher, words in (
        (HybridSearcher(None, None, Broken()), "Broken failed: OSError: no network"),
        (HybridSearcher(None, Gone(), HashEmbeddings()), "Gone failed: OSError: no disk"),
    ):
        with caplog.at_level(logging.WARNING):
            assert [hit.index for hit in run(searcher.search("warm_up", 3, CHUNKS))] == [2]
        assert words in caplog.text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("scorer", None, None), "scorer is a str, which has no rank"),
        ((None, "store", HashEmbeddings()), "store is a str"),
        ((None, Indexed(TEXTS), None), "a store is given without an embedder"),
    ],
)
def test_parts_of_another_kind_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        HybridSearcher(*given)


def test_a_manager_that_has_the_store(manager: Chroma) -> None:
    class Manager:
        vectorstore = manager

    with HybridRetriever(Manager()) as retriever:  # type: ignore[arg-type]
        assert retriever.search("the warranty of the pump lasts three years", top_k=1)[0]["id"] == "chunk-1"


def test_a_scorer_of_the_program_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    class Longest:
        def rank(self, query: str) -> list[tuple[int, float]]:
            return [(1, float(len(query))), (9, 1.0)]

    with caplog.at_level(logging.WARNING):
        (hit,) = run(HybridSearcher(None, scorer=Longest()).search("abc", 3, CODE))
    assert (hit.index, hit.bm25_score) == (1, 3.0)
    assert "the bm25 ranking names chunk 9" in caplog.text
