"""The pieces that a program can use without a data directory: over a Chroma collection, and over chunks in memory."""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import chromadb
import pytest
from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document

from braid.core.errors import ChromaDBError, ClosedError, HybridRetrieverError, InvalidInputError, ValidationError
from braid.core.indexes.bm25 import Bm25Index
from braid.core.ledger.change_log import IndexedChunk
from braid.core.standalone.chroma_reader import ROWS_PER_PAGE, ChromaReader
from braid.core.standalone.retriever import HybridRetriever
from braid.core.standalone.searcher import HybridSearcher
from braid.core.text.analyzer import Analyzer
from tests.fakes import HashEmbeddings

TEXTS = {
    "pump": "the pump of hall three runs at 12 bar",
    "valve": "valve XK-4711 is closed by hand",
    "ja": "ポンプの保証期間は三年です",
    "ko": "펌프의 보증 기간은 3년입니다",
    "tea": "tea is served in the kitchen at four",
}


@pytest.fixture
def embeddings() -> HashEmbeddings:
    return HashEmbeddings()


@pytest.fixture(params=["on disk", "in memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path, embeddings: HashEmbeddings) -> Chroma:
    """Made by plain langchain-chroma code, in Chroma's default space."""
    name = f"made-elsewhere-{uuid4()}"
    folder = str(tmp_path / "chroma") if request.param == "on disk" else None
    made = Chroma(name, embeddings, persist_directory=folder)
    made.add_texts(
        list(TEXTS.values()), [{"filepath": f"/docs/{key}.md", "kind": key[:1]} for key in TEXTS], list(TEXTS)
    )
    return made


@pytest.fixture
def retriever(store: Chroma) -> Iterator[HybridRetriever]:
    with HybridRetriever(store) as opened:
        yield opened


def ids(found: Any) -> list[str]:
    return [each["id"] for each in found]


@pytest.mark.parametrize(
    ("query", "first"), [("XK-4711", "valve"), ("hall three bar", "pump"), ("保証期間", "ja"), ("보증 기간", "ko")]
)
def test_what_fits_comes_first(retriever: HybridRetriever, query: str, first: str) -> None:
    (best, *_) = retriever.search(query, top_k=3)
    assert (best["id"], best["filepath"]) == (first, f"/docs/{first}.md")
    assert best["document"] == TEXTS[first]
    assert best["metadata"] == {"filepath": f"/docs/{first}.md", "kind": first[:1]}


def test_the_score_is_reciprocal_rank_fusion(store: Chroma) -> None:
    with HybridRetriever(store, dense_weight=0.3, sparse_weight=0.7) as retriever:
        (best, *_) = retriever.search("valve XK-4711 is closed by hand", rrf_constant=10)
    assert best["id"] == "valve"
    assert best["score"] == pytest.approx(0.3 / (10 + 1) + 0.7 / (10 + 1))


def test_a_leg_without_weight_is_not_asked(store: Chroma, embeddings: HashEmbeddings) -> None:
    embeddings.failing = True
    with HybridRetriever(store, dense_weight=0.0) as retriever:
        assert ids(retriever.search("kitchen tea")) == ["tea"]


def test_a_filter_holds_in_both_legs(retriever: HybridRetriever) -> None:
    assert ids(retriever.search("pump valve tea", where={"kind": "t"})) == ["tea"]
    assert ids(retriever.search("pump", where={"$or": [{"kind": "v"}, {"kind": "j"}]}, top_k=9)) != []
    assert retriever.search("pump", where={"kind": "none"}) == []
    assert len(retriever.search("pump", where={})) == 5


def test_it_follows_the_collection(store: Chroma, retriever: HybridRetriever) -> None:
    assert retriever.refresh() == 5
    store.add_texts(["the heron nests by the lake"], ids=["bird"])
    assert ids(retriever.search("heron"))[0] == "bird"
    assert retriever.search("heron")[0]["filepath"] == "bird"
    store.delete(["bird"])
    assert "bird" not in ids(retriever.search("heron", top_k=9))
    store.add_texts(["the otter swims"], ids=["a"])
    store.delete(["tea"])
    assert ids(retriever.search("otter"))[0] == "a"
    store.update_document("a", Document("the badger digs", metadata={"kind": "b"}))
    retriever.refresh()
    assert ids(retriever.search("badger"))[0] == "a"
    assert retriever.refresh() == 0


def test_a_text_replaced_in_place_is_seen_at_once_on_disk(tmp_path: Path, embeddings: HashEmbeddings) -> None:
    store = Chroma("one", embeddings, persist_directory=str(tmp_path))
    store.add_texts(["one otter", "two herons"], ids=["a", "b"])
    with HybridRetriever(store, dense_weight=0.0) as retriever:
        assert ids(retriever.search("otter")) == ["a"]
        store.update_document("a", Document("one badger", metadata={"kind": "b"}))
        assert retriever.search("otter") == []
        assert ids(retriever.search("badger")) == ["a"]


def test_the_collection_is_not_changed(store: Chroma, retriever: HybridRetriever) -> None:
    before = store.get(include=["documents", "metadatas", "embeddings"])
    retriever.search("pump")
    after = store.get(include=["documents", "metadatas", "embeddings"])
    assert str(before["embeddings"]) == str(after["embeddings"])
    assert all(before[part] == after[part] for part in ("ids", "documents", "metadatas"))


def test_more_rows_than_a_page(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(str(tmp_path))
    collection = client.create_collection("many", embedding_function=None)
    count = ROWS_PER_PAGE + 3
    for start in range(0, count, 5_000):
        rows = range(start, min(start + 5_000, count))
        collection.add([f"{n:05}" for n in rows], [[1.0, n / count] for n in rows], documents=[f"w{n}" for n in rows])
    assert len(dict(ChromaReader(collection).documents())) == count
    with HybridRetriever(collection, dense_weight=0.0) as retriever:
        assert [each["document"] for each in retriever.search(f"w{count - 1}", top_k=1)] == [f"w{count - 1}"]


def test_an_empty_collection(tmp_path: Path, embeddings: HashEmbeddings) -> None:
    with HybridRetriever(Chroma("empty", embeddings, persist_directory=str(tmp_path))) as retriever:
        assert retriever.search("anything") == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"query": " "}, "query is ' '"),
        ({"query": "x" * 10_001}, "at most 10000"),
        ({"top_k": 0}, "top_k is 0"),
        ({"top_k": -1}, "top_k is -1"),
        ({"rrf_constant": 0}, "rrf_constant is 0"),
        ({"where": {"a": 1, "b": 2}}, "which Chroma does not take"),
    ],
)
def test_wrong_values_are_refused(retriever: HybridRetriever, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        retriever.search(**{"query": "pump", **wrong})


@pytest.mark.parametrize("weights", [(-0.1, 0.5), (0.5, -1), (0, 0)])
def test_wrong_weights_are_refused(store: Chroma, weights: tuple[float, float]) -> None:
    with pytest.raises(InvalidInputError):
        HybridRetriever(store, dense_weight=weights[0], sparse_weight=weights[1])
    with pytest.raises(InvalidInputError):
        HybridSearcher(None, bm25_weight=weights[0], vector_weight=weights[1])


def test_outages_have_names(store: Chroma, retriever: HybridRetriever, embeddings: HashEmbeddings) -> None:
    embeddings.failing = True
    with pytest.raises(HybridRetrieverError, match="the model server is down") as failed:
        retriever.search("pump")
    assert not isinstance(failed.value, ChromaDBError)
    embeddings.failing = False
    store.delete_collection()
    with pytest.raises(ChromaDBError, match="made-elsewhere"):
        retriever.search("pump")


def test_many_threads_share_one(retriever: HybridRetriever) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert {tuple(ids(found)) for found in pool.map(retriever.search, ["pump bar"] * 24)} == {
            tuple(ids(retriever.search("pump bar")))
        }


# ---------------------------------------------------------------- chunks in memory

CHUNKS = list(TEXTS.values())


def search(searcher: HybridSearcher, *args: Any, **options: Any) -> Any:
    return asyncio.run(searcher.search(*args, **options))


def test_chunks_are_ranked_by_both_legs(embeddings: HashEmbeddings) -> None:
    (best, *others) = search(HybridSearcher(embeddings), "valve XK-4711 is closed by hand", chunks=CHUNKS)
    assert (best.index, best.chunk, best.score) == (1, TEXTS["valve"], pytest.approx(0.6 + 0.4))
    assert len(others) == 4
    assert all(hit.bm25_score is None and hit.vector_score is not None for hit in others if "XK" not in hit.chunk)


def test_documents_and_mappings_are_chunks_too(embeddings: HashEmbeddings) -> None:
    chunks = [Document(CHUNKS[0]), {"text": CHUNKS[1]}, {"content": CHUNKS[4]}]
    assert search(HybridSearcher(embeddings), "kitchen tea", 1, chunks)[0].chunk is chunks[2]
    with pytest.raises(ValidationError, match="with text or content"):
        search(HybridSearcher(embeddings), "kitchen", 5, [{"body": "x"}])


@pytest.mark.parametrize(
    ("query", "chunks", "top_k"),
    [("", CHUNKS, 5), (" ", CHUNKS, 5), ("a", [], 5), ("tea", CHUNKS, 0), ("tea", CHUNKS, -1)],
)
def test_nothing_to_search_finds_nothing(embeddings: HashEmbeddings, query: str, chunks: list[str], top_k: int) -> None:
    assert search(HybridSearcher(embeddings), query, top_k, chunks) == []


@pytest.mark.parametrize("missing", [True, False])
def test_without_its_embedder_bm25_answers_with_a_warning(
    embeddings: HashEmbeddings, missing: bool, caplog: pytest.LogCaptureFixture
) -> None:
    embeddings.failing = True
    with caplog.at_level(logging.WARNING):
        found = search(HybridSearcher(None if missing else embeddings), "kitchen tea", 5, CHUNKS)
    assert [(hit.index, hit.score) for hit in found] == [(4, 1.0)]
    assert "keyword alone" in caplog.text


def test_an_index_out_of_range_is_skipped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    hits = [(7, 0.9), (0, 0.8), (-1, 0.7), (1, 0.2)]
    found = search(HybridSearcher(None), "kitchen tea", 5, CHUNKS, vector_hits=hits)
    assert [(hit.index, hit.score) for hit in found] == [(4, 0.6), (0, 0.4), (1, 0.0)]
    assert "names chunk 7" in caplog.text
    assert "names chunk -1" in caplog.text


def test_bm25_in_memory_scores_as_the_index_does(tmp_path: Path) -> None:
    index, analyzer = Bm25Index(tmp_path, Analyzer()), Analyzer()
    texts = [f"{'pump ' * (n % 3)}bar hall {n} {'x ' * (n % 5)}" for n in range(30)]
    index.apply("c", [IndexedChunk(f"{n:02}", 0, 0, None, text) for n, text in enumerate(texts)], [])
    expected = index.search("c", dict.fromkeys(analyzer.tokens("pump hall 7"), 1.0), 30)
    ours = HybridSearcher(None).bm25("pump hall 7", texts)
    assert [f"{at:02}" for at, _ in ours[:1]] == [hit.chunk_id for hit in expected[:1]]
    assert {f"{at:02}": score for at, score in ours} == pytest.approx(
        {hit.chunk_id: hit.score for hit in expected}, rel=1e-3
    )


def test_it_is_a_langchain_retriever_too(store: Chroma, retriever: HybridRetriever) -> None:
    asked = retriever.as_retriever(top_k=2)
    found = asked.invoke("valve XK-4711 is closed by hand")
    assert (found[0].id, found[0].metadata["filepath"]) == ("valve", "/docs/valve.md")
    assert found[0].page_content == TEXTS["valve"]
    assert len(found) == 2
    assert len(asked.invoke("valve", top_k=1, where={"kind": "v"})) == 1
    assert asyncio.run(asked.ainvoke("valve XK-4711 is closed by hand")) == found
    ensemble = EnsembleRetriever(retrievers=[asked, store.as_retriever()], weights=[0.5, 0.5])
    assert ensemble.invoke("valve XK-4711 is closed by hand")[0].page_content == TEXTS["valve"]
    assert copy.deepcopy(asked).invoke("valve XK-4711 is closed by hand") == found
    with pytest.raises(TypeError, match="make it with as_retriever where it is used"):
        pickle.dumps(asked)
    with pytest.raises(ValidationError, match="there is no option 'k'; the options are top_k, where"):
        retriever.as_retriever(k=2)  # type: ignore[call-arg]
    retriever.close()
    with pytest.raises(ClosedError, match="this HybridRetriever is closed"):
        asked.invoke("valve")
