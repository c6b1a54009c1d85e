"""A dataset as one of LangChain's vector stores: LangChain's own suites, and what they do not ask."""

from __future__ import annotations

import copy
import pickle
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_classic.retrievers import MultiVectorRetriever, ParentDocumentRetriever
from langchain_classic.retrievers.self_query.base import SelfQueryRetriever
from langchain_community.query_constructors.chroma import ChromaTranslator
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.runnables import RunnableLambda
from langchain_core.stores import InMemoryStore
from langchain_core.structured_query import Comparator, Comparison, StructuredQuery
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests.vectorstores import VectorStoreIntegrationTests
from langchain_text_splitters import CharacterTextSplitter

from braid.core.braid import Braid
from braid.core.errors import ClosedError, DegradedError, InvalidInputError, NotFoundError
from braid.core.ingest.ingest import ingest_bytes, ingest_paths
from braid.core.vector_store import BraidVectorStore
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, add_notes, catch_up, document, eventually


class SuiteEmbeddings(HashEmbeddings):
    """Of the size that the suite's own embeddings have."""

    def __init__(self) -> None:
        super().__init__(VectorStoreIntegrationTests.get_embeddings().size)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    with Braid(tmp_path_factory.mktemp("store"), embedding_model=SuiteEmbeddings()) as braid:
        add_notes(braid.ledger)
        yield braid


@pytest.fixture
def store(library: Braid) -> BraidVectorStore:
    """An empty dataset."""
    dataset = library.ledger.add_dataset(1, uuid.uuid4().hex)
    return library.vector_store(dataset, wait_s=WAIT_S)


class TestBraidVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, store: BraidVectorStore) -> VectorStore:
        return store


CATS = [
    Document("the cat sleeps on the mat", metadata={"kind": "cat", "year": 2024}, id="cat"),
    Document("the dog barks at night", metadata={"kind": "dog", "year": 2025}, id="dog"),
    Document("a bird sings in the tree", metadata={"kind": "bird", "year": 2023}, id="bird"),
]


def ids(found: list[Document]) -> list[str | None]:
    return [document.id for document in found]


def test_filters_are_chromas(store: BraidVectorStore) -> None:
    store.add_documents(CATS)
    assert ids(store.similarity_search("the dog", filter={"kind": "cat"})) == ["cat"]
    assert set(ids(store.similarity_search("the dog", filter={"year": {"$gte": 2024}}))) == {"cat", "dog"}
    both = {"$or": [{"kind": {"$eq": "cat"}}, {"kind": {"$eq": "bird"}}]}
    retriever = store.as_retriever(search_kwargs={"k": 5, "filter": both})
    assert set(ids(retriever.invoke("animal"))) == {"cat", "bird"}
    with pytest.raises(InvalidInputError, match=r"where cannot be given .* give it as filter"):
        store.similarity_search("the dog", where={})


def test_scores_and_vectors(store: BraidVectorStore) -> None:
    store.add_documents(CATS)
    (first, score), *rest = store.similarity_search_with_score("the dog barks at night")
    assert (first, score) == (CATS[1], pytest.approx(1.0, abs=1e-3))
    assert all(other < score for _, other in rest)
    assert store.similarity_search_with_relevance_scores("the dog", score_threshold=0.99) == []
    vector = store.embeddings.embed_query("the cat sleeps on the mat")
    assert ids(store.similarity_search_by_vector(vector, k=1)) == ["cat"]
    with pytest.raises(InvalidInputError, match="the vector has 3 dimensions"):
        store.similarity_search_by_vector([1.0, 2.0, 3.0])
    with pytest.raises(InvalidInputError, match="the vector is empty, zero"):
        store.similarity_search_by_vector([0.0] * len(vector))


def test_what_is_far_from_each_other_comes_first_with_mmr(store: BraidVectorStore) -> None:
    near = [Document(f"the cat sleeps on the mat {n}", id=f"cat {n}") for n in range(4)]
    store.add_documents([*near, CATS[1]])
    assert ids(store.max_marginal_relevance_search("the cat sleeps", k=2, fetch_k=5, lambda_mult=0.1))[1] == "dog"
    assert "dog" not in ids(store.max_marginal_relevance_search("the cat sleeps", k=2, fetch_k=2))
    assert len(store.as_retriever(search_type="mmr", search_kwargs={"k": 3}).invoke("cat")) == 3


def test_what_is_closed_stores_and_deletes_nothing(tmp_path: Path) -> None:
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset = add_notes(braid.ledger)
        store = braid.vector_store(dataset, wait_s=WAIT_S)
        store.add_texts(["one"], ids=["1"])
    file = tmp_path / "file.txt"
    file.write_text("four")
    calls: list[Callable[[], object]] = [
        lambda: braid.add(["two"], dataset=dataset),
        lambda: braid.get(["1"], dataset=dataset),
        lambda: braid.delete(["1"], dataset=dataset),
        lambda: braid.remove_dataset(dataset),
        lambda: ingest_bytes(braid, dataset, "three.txt", b"three"),
        lambda: ingest_paths(braid, dataset, [file]),
        lambda: store.add_texts(["five"], ids=["5"]),
        lambda: store.delete(["1"]),
        lambda: store.get_by_ids(["1"]),
        lambda: store.similarity_search("one"),
        lambda: store.embeddings.embed_query("one"),
    ]
    for call in calls:
        with pytest.raises(ClosedError, match="this Braid is closed"):
            call()
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as again:
        assert [each.source for each in again.ledger.documents(dataset)] == ["1"]


class Stopping(HashEmbeddings):
    """Begins when it may, and after a small text stops until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.may_begin, self.may_go_on, self.has_stopped = threading.Event(), threading.Event(), False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        assert self.may_begin.wait(WAIT_S)
        assert not self.has_stopped or self.may_go_on.wait(WAIT_S)
        self.has_stopped |= any("small" in text for text in texts)
        return super().embed_documents(texts)


def test_adding_waits_for_its_own_documents_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("braid.core.indexes.embedder.SLICE_S", 0.0001)  # one call to the model a turn
    for rest in ("LEAST_REST_S", "RESTS"):  # and what waits is looked up before each
        monkeypatch.setattr(f"braid.core.indexes.embedding_order.{rest}", 0)
    embeddings = Stopping()
    with Braid(tmp_path, embedding_model=embeddings) as braid, ThreadPoolExecutor(1) as thread:
        mine, other = add_notes(braid.ledger), braid.ledger.add_dataset(1, "books").id
        store = braid.vector_store(mine, wait_s=WAIT_S)
        braid.ledger.put_document(other, document("book.md", *(f"book page {n}" for n in range(400))))
        adding = thread.submit(store.add_texts, ["a small gasket"], ids=["small"])
        try:
            assert eventually(lambda: braid.get(["small"], dataset=mine))
            embeddings.may_begin.set()
            assert adding.result(2 * WAIT_S) == ["small"]
            assert "not all indexed" not in caplog.text
            strict = partial(braid.get_retriever, user_id=1, on_degraded="raise")
            assert ids(store.similarity_search("gasket")) == ["small"]
            assert [each.metadata["source"] for each in strict(dataset_ids=[mine]).invoke("gasket")] == ["small"]
            with pytest.raises(DegradedError, match="passages of user_1 are not in the dense index yet"):
                strict(dataset_ids=[other]).invoke("gasket")
        finally:
            embeddings.may_begin.set()
            embeddings.may_go_on.set()


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_mmr_of_a_text_is_in_the_stores_mode(library: Braid, mode: Any) -> None:
    store = library.vector_store(library.ledger.add_dataset(1, uuid.uuid4().hex), mode=mode, wait_s=WAIT_S)
    near = [Document(f"the cat sleeps on the mat {n}", id=f"cat {n}") for n in range(4)]
    store.add_documents([*near, Document("a cat barks at night", id="dog")])
    assert "dog" in ids(store.max_marginal_relevance_search("cat sleeps", k=2, fetch_k=5, lambda_mult=0.1))
    whole = "the cat sleeps on the mat"
    assert "dog" not in ids(store.max_marginal_relevance_search(whole, k=2, fetch_k=2, lambda_mult=0.1))
    assert ids(store.max_marginal_relevance_search("barks", k=1, filter={"source": "dog"})) == ["dog"]
    retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 3, "lambda_mult": np.float32(0.5)})
    assert len(retriever.invoke("cat")) == 3
    with pytest.raises(InvalidInputError, match=f"mode '{mode}' takes no vector"):
        store.max_marginal_relevance_search_by_vector([1.0])


def test_mmr_finds_what_has_no_vector_yet(store: BraidVectorStore, library: Braid) -> None:
    store.add_documents(CATS)
    by_word = library.vector_store(store._dataset_id, mode="keyword")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library.ledger, "embeddings", lambda *_: {})
        assert ids(by_word.max_marginal_relevance_search("dog", k=1)) == ["dog"]


def test_texts_metadata_and_ids_may_be_generators(store: BraidVectorStore) -> None:
    added = store.add_texts(
        (text for text in ("one", "two")), ({"n": n} for n in range(2)), ids=(number for number in ("a", "b"))
    )
    assert added == ["a", "b"]
    assert [each.metadata for each in store.get_by_ids(added)] == [{"n": 0}, {"n": 1}]


def test_equal_texts_are_several_documents(store: BraidVectorStore) -> None:
    store.add_texts(["same", "same"], [{"of": "a"}, {"of": "b"}], ids=["1", "2"])
    assert sorted(document.metadata["of"] for document in store.similarity_search("same")) == ["a", "b"]


def test_words_and_meaning_together(library: Braid) -> None:
    dataset = library.ledger.add_dataset(1, uuid.uuid4().hex)
    store = library.vector_store(dataset, mode="hybrid", wait_s=WAIT_S)
    store.add_texts(["valve XK-4711", "pump"], ids=["valve", "pump"])
    assert ids(store.similarity_search("XK-4711", k=1)) == ["valve"]
    with pytest.raises(InvalidInputError, match="mode 'hybrid' takes no vector"):
        store.similarity_search_by_vector([1.0])
    with pytest.raises(InvalidInputError, match="are no relevance from 0 to 1"):
        store.similarity_search_with_relevance_scores("XK-4711")


def test_an_outage_is_no_empty_list(store: BraidVectorStore, library: Braid) -> None:
    store.add_documents(CATS)
    library.model_of("user_1").failing = True  # type: ignore[attr-defined]
    try:
        with pytest.raises(DegradedError, match="nothing could be searched"):
            store.similarity_search("an elephant")
    finally:
        library.model_of("user_1").failing = False  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda store: store.delete(), "ids is None"),
        (lambda store: store.delete(["a"], where={}), "there is no option 'where'"),
        (lambda store: store.add_texts(["a"], ids=["1", "2"]), "ids has 2 for 1 texts"),
        (lambda store: store.add_texts(["a"], [{}, {}]), "metadatas has 2 for 1 texts"),
        (lambda store: store.add_texts(["a"], ({} for _ in range(2))), "metadatas has 2 for 1 texts"),
        (lambda store: store.add_texts(["a"], {"year": 1}), "metadatas has .*; give a list of objects"),
        (lambda store: store.add_texts(["a"], ["b"]), "metadatas has 'b'; give a list of objects"),
        (lambda store: store.add_texts(["a"], namespace="b"), "there is no option 'namespace'"),
        (lambda store: store.add_texts(["fine", ""]), "the text is empty"),
        (lambda store: store.add_texts(["fine"], ids=["nul\0"]), "leave out NUL"),
        (lambda store: store.add_texts("fine"), "texts has 'fine'; give a list of texts"),
        (lambda store: store.add_texts(["fine", 1]), "texts has 1; give a list of texts"),
        (lambda store: store.add_documents(Document("fine")), "give a list of LangChain documents"),
        (lambda store: store.add_documents(["fine"]), "documents has 'fine'; give a list of LangChain documents"),
        (lambda store: store.add_documents([Document("fine")], ids=[5]), "ids has 5; give a list of texts that are"),
        (lambda store: store.add_documents([Document("fine")], ids=[""]), "ids has ''; give a list of texts that are"),
        (lambda store: store.add_documents([Document("fine")], ids="a"), "ids has 'a'; give a list of texts"),
        (lambda store: store.add_documents([Document("fine")], batch_size=0), "batch_size is 0; give a whole number"),
        (lambda store: store.add_documents([Document("fine")], batch_size="9"), "batch_size is '9'"),
        (lambda store: BraidVectorStore.from_texts(["a"]), "a dataset has its data directory's embedding model"),
    ],
)
def test_what_cannot_be_done_is_refused_as_a_whole(store: BraidVectorStore, call: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        call(store)
    assert store.similarity_search("fine") == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda store, _: store.max_marginal_relevance_search("cat", k=0), "k is 0"),
        (lambda store, _: store.max_marginal_relevance_search("cat", lambda_mult=2), "lambda_mult is 2"),
        (lambda store, _: store.max_marginal_relevance_search("cat", lambda_mult="x"), "lambda_mult is 'x'"),
        (lambda store, _: store.max_marginal_relevance_search(""), "the query is empty"),
        (lambda store, _: store.max_marginal_relevance_search("cat", fetch_k=2000), "fetch_k is 2000; .*up to 1000"),
        (lambda store, _: store.max_marginal_relevance_search("cat", fetch_k="x"), "fetch_k is 'x'"),
        (lambda store, _: store.similarity_search("cat", filter={1, 2}), "filter is {1, 2}; give a Filters"),
        (
            lambda store, _: store.similarity_search("cat", filters={"kind": "cat"}),
            "filters cannot be given .* as filter",
        ),
        (lambda store, _: store.similarity_search("cat", mode="keyword"), "mode cannot be given"),
        (lambda store, _: store.similarity_search("cat", expr="year > 2020"), "expr cannot be given .* as filter"),
        (lambda store, _: store.similarity_search("cat", score_threshold=0.5), "score_threshold .*min_score"),
        (lambda store, _: store.similarity_search("cat", fetch_k=50), "fetch_k .*a filter holds for all documents"),
        (lambda store, _: store.similarity_search("cat", where_document={}), "where_document .*mode='hybrid'"),
        (lambda store, _: store.similarity_search("cat", namespace="x"), "namespace .*one dataset"),
        (lambda store, _: store.similarity_search("cat", group_by="passage"), "group_by cannot be given"),
        (
            lambda store, _: store.similarity_search_by_vector("cat"),
            "the vector is empty, zero, or has what is no number",
        ),
        (
            lambda store, near: store.similarity_search_by_vector(near, reranker="local:x"),
            "reranker 'local:x' needs a text",
        ),
    ],
)
def test_what_a_search_cannot_do_is_refused_in_words(store: BraidVectorStore, call: Any, words: str) -> None:
    store.add_documents(CATS)
    with pytest.raises(InvalidInputError, match=words):
        call(store, store.embeddings.embed_query("cat"))


def test_engine_langchain_takes_no_vector(library: Braid) -> None:
    scope = library.manager.check(user_id=1)
    with pytest.raises(InvalidInputError, match="engine 'langchain' needs a text"):
        library.manager.search_near(scope, [0.1] * 64, engine="langchain")


def test_what_other_stores_have_is_missed_with_the_way_here(store: BraidVectorStore) -> None:
    for name, remedy in (
        ("get", "get_by_ids"),
        ("update_document", "add_documents"),
        ("_collection", "counts"),
        ("add_images", "texts alone"),
    ):
        assert not hasattr(store, name)
        with pytest.raises(AttributeError, match=f"has no '{name}'; .*{remedy}"):
            getattr(store, name)
    with pytest.raises(AttributeError, match=r"has no 'nonsense'$"):
        store.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_documents_come_in_the_order_of_their_ids_without_those_that_are_not_there(store: BraidVectorStore) -> None:
    store.add_documents(CATS)
    assert ids(store.get_by_ids(["dog", "no such", "cat", "dog"])) == ["dog", "cat"]
    assert ids(store.get_by_ids("cat")) == ["cat"]  # type: ignore[arg-type]
    assert store.delete(["no such"])
    assert store.delete([])
    assert ids(store.get_by_ids(["cat", "dog", "bird"])) == ["cat", "dog", "bird"]


def test_a_store_is_copied_with_what_holds_it_and_not_pickled(store: BraidVectorStore) -> None:
    store.add_documents(CATS)
    for other in (copy.copy(store.as_retriever()), copy.deepcopy(store.as_retriever(search_kwargs={"k": 1}))):
        assert ids(other.invoke("the cat sleeps"))[0] == "cat"
    for each in (store, store.as_retriever()):
        with pytest.raises(TypeError, match="make it with vector_store where it is used"):
            pickle.dumps(each)


def test_it_is_made_of_a_dataset_that_may_be_read(library: Braid) -> None:
    with pytest.raises(NotFoundError, match="4711"):
        library.vector_store(4711)
    ben = library.ledger.add_user(f"ben {uuid.uuid4()}")
    with pytest.raises(NotFoundError, match="dataset 1: it may not be read"):
        library.vector_store(1, user_id=ben.id)


def test_who_may_no_longer_read_gets_nothing_from_a_store_that_is_open(library: Braid) -> None:
    secret = library.registry.add("HR", f"shared_{uuid.uuid4().hex[:8]}", allowed_groups=("hr",))
    library.mirror_registry()
    ann = library.ledger.add_user(f"ann {uuid.uuid4()}", groups=["hr"])
    store = library.vector_store(secret.id, user_id=ann.id)
    store.add_texts(["The director earns much."], ids=["pay"])
    assert [found.id for found in store.similarity_search("director")] == ["pay"]
    library.registry.update(secret.id, allowed_groups=["board"])
    library.mirror_registry()
    vector = store.embeddings.embed_query("director")
    for read in (
        lambda: store.similarity_search("director"),
        lambda: store.similarity_search_by_vector(vector),
        lambda: store.max_marginal_relevance_search("director"),
        lambda: store.get_by_ids(["pay"]),
    ):
        with pytest.raises(NotFoundError, match="may not be read"):
            read()


def test_no_ids_for_documents_are_refused(store: BraidVectorStore) -> None:
    with pytest.raises(InvalidInputError, match="ids has 0 for 1 documents"):
        store.add_documents([Document("fine")], ids=[])


# ---------------------------------------------------------------- what LangChain builds on a store


def test_index_adds_what_is_new_and_deletes_what_is_gone(store: BraidVectorStore) -> None:
    records = InMemoryRecordManager("notes")
    records.create_schema()

    def indexed(*texts: str) -> dict[str, int]:
        documents = [Document(text, metadata={"source": "a.txt"}) for text in texts]
        done = index(documents, records, store, cleanup="full", source_id_key="source", key_encoder="sha256")
        return {name: count for name, count in dict(done).items() if count}  # type: ignore[misc]

    assert indexed("the cat", "the dog") == {"num_added": 2}
    assert indexed("the cat", "a bird") == {"num_added": 1, "num_skipped": 1, "num_deleted": 1}
    assert sorted(each.page_content for each in store.similarity_search("animal")) == ["a bird", "the cat"]


def test_parents_of_the_pieces_that_are_found(store: BraidVectorStore) -> None:
    kept = InMemoryStore()
    retriever = ParentDocumentRetriever(
        vectorstore=store,
        docstore=kept,
        child_splitter=CharacterTextSplitter(separator=". ", chunk_size=30, chunk_overlap=0),
    )
    long = "The cat sleeps on the mat. The dog barks at night. A bird sings."
    retriever.add_documents([Document(long), Document("Nothing of the kind is here. At all.")])
    assert retriever.invoke("the dog barks at night")[0].page_content == long
    several = MultiVectorRetriever(vectorstore=store, docstore=kept, id_key="doc_id")
    assert several.invoke("the dog barks at night")[0].page_content == long


def test_a_model_that_writes_filters(store: BraidVectorStore) -> None:
    store.add_documents(CATS)
    wanted = Comparison(comparator=Comparator.GTE, attribute="year", value=2025)
    written = RunnableLambda(lambda _: StructuredQuery(query="animal", filter=wanted, limit=None))
    retriever = SelfQueryRetriever(
        vectorstore=store, query_constructor=written, structured_query_translator=ChromaTranslator()
    )
    assert ids(retriever.invoke("animals since 2025")) == ["dog"]


def test_a_filter_by_metadata_that_nothing_has_says_so(
    store: BraidVectorStore, library: Braid, caplog: pytest.LogCaptureFixture
) -> None:
    """In the dialect of another store, or misspelt, it would look like a question without an answer."""
    store.add_documents(CATS)
    elsewhere = library.vector_store(library.ledger.add_dataset(1, uuid.uuid4().hex), wait_s=WAIT_S)
    elsewhere.add_texts(["the cat elsewhere"], [{"metadata.year": 2024}])
    said = "the filters name metadata.year, and no document that was searched has such metadata"
    assert store.similarity_search("the cat", filter={"metadata.year": 2024}) == []
    assert said in caplog.text
    caplog.clear()
    for found, filter in ((0, {"year": 1999}), (3, {"metadata.year": {"$exists": False}}), (0, {"file_type": "pdf"})):
        assert len(store.similarity_search("the cat", filter=filter)) == found
    assert elsewhere.similarity_search("the cat", filter={"metadata.year": 2024})
    assert "filters name" not in caplog.text
    both = {"$or": [{"yeer": 1}, {"$and": [{"kind": "cat"}, {"metadata.year": 1}]}]}
    number = store._dataset_id
    result = library.search("the cat", user_id=1, dataset_ids=[number], filters=both)
    assert result.notes == (
        "the filters name metadata.year, yeer, and no document that was searched has such metadata",
    )
    retriever = library.get_retriever(user_id=1, dataset_ids=[number], on_degraded="ignore")
    assert retriever.invoke("the cat", filters=both) == []
    assert "filters name" not in caplog.text


@pytest.mark.parametrize("search_type", ["similarity", "mmr"])
def test_a_model_that_puts_all_of_the_question_into_the_filter(store: BraidVectorStore, search_type: str) -> None:
    """LangChain asks for a blank then, as for "I want to watch a movie rated higher than 8.5" in its own guide."""
    store.add_documents(CATS)
    wanted = Comparison(comparator=Comparator.GTE, attribute="year", value=2024)
    for limit, found in ((None, {"cat", "dog"}), (1, {"cat"})):
        written = RunnableLambda(lambda _, limit=limit: StructuredQuery(query=" ", filter=wanted, limit=limit))
        retriever = SelfQueryRetriever(
            vectorstore=store,
            query_constructor=written,
            structured_query_translator=ChromaTranslator(),
            search_type=search_type,
            use_original_query=False,
        )
        assert set(ids(retriever.invoke("since 2024"))) == found
    assert store.similarity_search_with_score("", 1, filter={"kind": "dog"}) == [(CATS[1], 0.0)]
    assert store.similarity_search("", filter={"kind": "fish"}) == []
    for wrong in ({}, {"filter": {"year": {"$near": 1}}}, {"filter": {"kind": "cat"}, "min_score": 1}):
        with pytest.raises(InvalidInputError):
            store.similarity_search("", **wrong)


# ---------------------------------------------------------------- `Braid.get` and `Braid.delete`


@pytest.fixture
def braid(tmp_path: Path) -> Iterator[Braid]:
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as opened:
        add_notes(opened.ledger)
        pages = [Document(f"page {n} of the pump", metadata={"source": "pump.pdf", "page": n}) for n in range(4)]
        opened.add(pages, dataset=1)
        opened.add([{"id": "a", "text": "the cat", "metadata": {"kind": "cat"}}, {"id": "b", "text": "dog"}], dataset=1)
        opened.add({"id": "c", "source": "pump.pdf", "text": "a note"}, dataset=1)
        catch_up(opened)
        yield opened


def test_ids_source_and_filter_name_documents(braid: Braid) -> None:
    assert [(each.id, each.text) for each in braid.get(dataset=1, ids=["b", "x", "a"])] == [
        ("b", "dog"),
        ("a", "the cat"),
    ]
    assert [each.text for each in braid.get(dataset=1, source="pump.pdf")] == [
        *(f"page {n} of the pump" for n in range(4)),
        "a note",
    ]
    assert [each.id for each in braid.get(dataset=1, filter={"kind": "cat"})] == ["a"]
    (hit,) = braid.search("the cat", user_id=1, k=1).hits
    assert [each.id for each in braid.get(dataset=1, ids=hit.passage.chunk_id)] == ["a"]


def test_what_is_deleted_is_not_found(braid: Braid) -> None:
    assert braid.delete(dataset=1, ids=["b", "x"]) == 1
    assert braid.delete(dataset=1, filter={"kind": "cat"}) == 1
    assert braid.delete(dataset=1, source="pump.pdf") == 5
    assert braid.delete(dataset=1, source="pump.pdf") == 0
    assert braid.search("the cat pump page", user_id=1).hits == ()
    assert braid.ledger.documents(1) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "nothing says which documents"),
        ({"ids": ["a"], "source": "b"}, "ids and source are given; give one"),
        ({"filter": {}}, "which selects everything"),
        ({"ids": [""]}, "give a text that is not empty"),
        ({"ids": [7.5]}, "ids has 7.5"),
        ({"ids": [True]}, "ids has True"),
        ({"ids": None, "source": 7}, "source has 7"),
        ({"ids": {"a": 1}}, "give an id, or a list of them"),
        ({"filter": ["a"]}, "give a Filters, or an object"),
    ],
)
def test_documents_are_named_in_one_way(braid: Braid, given: dict[str, Any], words: str) -> None:
    for call in (braid.get, braid.delete):
        with pytest.raises(InvalidInputError, match=words):
            call(dataset=1, **given)
    with pytest.raises(NotFoundError):
        braid.delete(dataset=7, ids=["a"])
    assert len(braid.ledger.documents(1)) == 7


def test_a_part_is_named_by_its_passage_number_or_filter_and_a_source_with_all_its_parts(braid: Braid) -> None:
    first, second, third, fourth = braid.get(dataset=1, source="pump.pdf")[:4]
    (hit,) = braid.search("page 0 of the pump", user_id=1, filters={"page": 0}, k=1).hits
    assert (hit.passage.source, second.id) == (first.id, "pump.pdf#part=2")
    assert braid.delete(hit.passage.chunk_id, dataset=1) == 1
    assert braid.delete(dataset=1, filter={"page": 1}) == 1
    assert [each.text for each in braid.get(dataset=1, source="pump.pdf")] == [third.text, fourth.text, "a note"]
    number = braid.ledger.document(1, third.id).id  # type: ignore[union-attr]
    assert [each.id for each in braid.get([number, 10**20], dataset=1)] == [third.id]
    assert braid.delete(number, dataset=1) == 1
    assert braid.delete("pump.pdf", dataset=1) == 1
    assert [each.id for each in braid.get(dataset=1, source="pump.pdf")] == ["c"]


def test_the_first_part_alone_is_deleted_where_a_filter_selects_it_alone(braid: Braid) -> None:
    assert braid.delete(dataset=1, filter={"page": 0}) == 1
    assert len(braid.get(dataset=1, source="pump.pdf")) == 4


def test_another_dataset_is_not_reached(braid: Braid) -> None:
    other = braid.ledger.add_dataset(braid.ledger.add_user("ben").id, "his")
    (hit,) = braid.search("the cat", user_id=1, k=1).hits
    for number in ("a", hit.passage.chunk_id, hit.passage.document_id):
        assert braid.get(dataset=other, ids=number) == []
        assert braid.delete(dataset=other, ids=number) == 0
    assert len(braid.ledger.documents(1)) == 7
