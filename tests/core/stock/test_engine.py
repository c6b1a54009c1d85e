"""Engine `langchain` is plain LangChain over the caller's scope: the stock classes are the oracle."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from langchain_chroma import Chroma
from langchain_classic.retrievers import MultiQueryRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field

from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from braid.core.langchain import EnsembleRetriever
from braid.core.ledger.change_log import ChangeLog
from braid.core.models.chat import ChatModels
from braid.core.search.context import SearchModels
from braid.core.stock import engine
from braid.core.stock.scratch import FOLDER, remove_abandoned
from braid.core.types import ChunkInput, DocumentInput, Filters, Mode, Query, SearchResult
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, add_notes, catch_up, chunk_ids, document

WORDS = ["cat", "dog", "bird", "fish", "tree", "rock", "sand", "lake", "moon", "star", "wind", "rain", "snow", "fire"]
QUERIES = ("cat moon", "fire fire", "rain rain snow fire", "bird lake iron star wind", "猫 cat")


class Scattered(HashEmbeddings):
    """Every text somewhere else, so that no two are equally near."""

    def _vector(self, text: str) -> list[float]:
        seed = int(hashlib.md5(text.encode()).hexdigest(), 16)
        return np.random.default_rng(seed).normal(size=self.size).tolist()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def embeddings() -> HashEmbeddings:
    return Scattered()


@pytest.fixture(scope="module")
def braid(tmp_path_factory: pytest.TempPathFactory, embeddings: HashEmbeddings) -> Iterator[Braid]:
    """Datasets 1 and 2 in user_1, and -1 in shared_main; no two passages score alike."""
    numbers = random.Random(3)
    with ByHand(tmp_path_factory.mktemp("stock"), embedding_model=embeddings) as opened:
        user = opened.ledger.add_user("ann").id
        ids = [opened.ledger.add_dataset(user, name).id for name in ("one", "two")]
        ids.append(opened.registry.add("Guide", "shared_main").id)
        opened.mirror_registry()
        for dataset in ids:
            for source in ("a.md", "b.txt"):
                texts = [
                    " ".join(numbers.choices(WORDS, k=numbers.randint(5, 25))) + f" unique{dataset}{source[0]}{n}"
                    for n in range(9)
                ]
                chunks = tuple(ChunkInput(text, f"H{n % 3}") for n, text in enumerate(texts))
                opened.ledger.put_document(dataset, DocumentInput(source, "Title", source[-2:], chunks))
        catch_up(opened)
        yield opened


def search(braid: Braid, text: str, *datasets: int, **options: Any) -> SearchResult:
    return braid.manager.search(text, user_id=1, dataset_ids=datasets, engine="langchain", **options)


# ---------------------------------------------------------------- the oracle


def documents(braid: Braid, collection: str, datasets: Sequence[int]) -> list[Document]:
    batches = ChangeLog(braid.ledger.database).all_chunks(collection, 1000)
    return [
        Document(id=chunk.id, page_content=chunk.text, metadata={"id": chunk.id})
        for batch in batches
        for chunk in batch
        if chunk.dataset_id in datasets
    ]


def stock_bm25(braid: Braid, given: list[Document], k: int) -> BaseRetriever:
    return BM25Retriever.from_documents(given, preprocess_func=braid.analyzer.tokens, k=k)


def stock_dense(embeddings: Embeddings, given: list[Document], k: int) -> BaseRetriever:
    store = InMemoryVectorStore(embeddings)
    store.add_documents(given)
    return store.as_retriever(search_kwargs={"k": k})


def ids_of(found: Sequence[Document]) -> list[str]:
    return [document.metadata["id"] for document in found]


COLLECTIONS = {(1,): ["user_1"], (1, 2): ["user_1"], (2, -1): ["user_1", "shared_main"], (-1,): ["shared_main"]}
each_scope = pytest.mark.parametrize("datasets", COLLECTIONS, ids=str)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("datasets", [(1,), (1, 2), (-1,)], ids=str)
def test_keyword_is_langchains_bm25_retriever(braid: Braid, query: str, datasets: tuple[int, ...]) -> None:
    (collection,) = COLLECTIONS[datasets]
    fetched = Query(query, k=20).fetch_k
    expected = ids_of(stock_bm25(braid, documents(braid, collection, datasets), fetched).invoke(query))
    assert chunk_ids(search(braid, query, *datasets, mode="keyword", k=20)) == expected[:20]


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("query", QUERIES)
@each_scope
def test_every_mode_is_the_stock_ensemble(
    braid: Braid, embeddings: HashEmbeddings, query: str, datasets: tuple[int, ...], mode: Mode
) -> None:
    fetched = Query(query, k=30).fetch_k
    retrievers: list[BaseRetriever] = []
    for collection in COLLECTIONS[datasets]:
        given = documents(braid, collection, datasets)
        if mode != "keyword":
            retrievers.append(stock_dense(embeddings, given, fetched))
        if mode != "semantic":
            retrievers.append(stock_bm25(braid, given, fetched))
    ensemble = EnsembleRetriever(retrievers=list(retrievers), weights=[], id_key="id")
    assert chunk_ids(search(braid, query, *datasets, mode=mode, k=30)) == ids_of(ensemble.invoke(query))[:30]


def test_filters_come_before_the_ranking(braid: Braid) -> None:
    """So that what they select is found however deep it lies."""
    filters = Filters(frozenset({"md"}), source_prefix="a")
    for mode in get_args(Mode):
        result = search(braid, "cat", 1, 2, mode=mode, k=5, filters=filters)
        assert len(result.hits) == 5
        assert {hit.passage.source for hit in result.hits} == {"a.md"}
    only = {p.chunk_id for p in braid.ledger.document_passages(1, [1])}
    given = [d for d in documents(braid, "user_1", [1]) if d.metadata["id"] in only]
    expected = ids_of(stock_bm25(braid, given, 50).invoke("cat moon"))
    found = search(braid, "cat moon", 1, mode="keyword", k=20, filters=filters)
    assert chunk_ids(found) == expected


# ---------------------------------------------------------------- what is cached


def put(braid: Braid, source: str, *texts: str, title: str = "T") -> None:
    braid.ledger.put_document(1, document(source, *texts, title=title, file_type="txt"))


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[tuple[Braid, HashEmbeddings]]:
    model = HashEmbeddings()
    with ByHand(tmp_path, embedding_model=model) as opened:
        add_notes(opened.ledger)
        yield opened, model


@pytest.mark.parametrize("mode", get_args(Mode))
def test_what_changes_is_found(fresh: tuple[Braid, HashEmbeddings], mode: Mode) -> None:
    braid, _ = fresh

    def texts() -> set[str]:
        catch_up(braid)
        return {hit.passage.text for hit in search(braid, "cat dog", 1, mode=mode).hits}

    put(braid, "a", "the cat", "the dog")
    assert texts() == {"the cat", "the dog"}
    put(braid, "b", "another cat")
    assert texts() == {"the cat", "the dog", "another cat"}
    put(braid, "a", "the dog alone")
    assert texts() == {"the dog alone", "another cat"}
    braid.ledger.remove_document(1, "b")
    assert texts() == {"the dog alone"}
    braid.remove_dataset(1)
    assert texts() == set()


def test_vectors_that_arrive_later_are_found_and_until_then_named(fresh: tuple[Braid, HashEmbeddings]) -> None:
    braid, model = fresh
    model.delay_s = 0.3
    put(braid, "a", "the cat", "the dog")
    early = search(braid, "cat", 1, mode="semantic")
    assert early.hits == ()
    ((leg, collection, reason),) = [(d.leg, d.collection, d.reason) for d in early.degraded]
    assert (leg, collection) == ("dense", "user_1")
    assert "2 passages of user_1 have no vector yet" in reason
    catch_up(braid)
    late = search(braid, "cat", 1, mode="semantic")
    assert ({hit.passage.text for hit in late.hits}, late.degraded) == ({"the cat", "the dog"}, ())


def test_another_model_is_not_asked_for_the_vectors_of_the_first(tmp_path: Path) -> None:
    for model in (HashEmbeddings(64, fingerprint="fake:64"), HashEmbeddings(32, fingerprint="fake:32")):
        model.delay_s = 0.5  # from the start: embedding begins by itself
        with ByHand(tmp_path, embedding_model=model) as braid:
            if not braid.ledger.users():
                add_notes(braid.ledger)
                put(braid, "a", "the cat", "the dog")
            meanwhile = search(braid, "cat", 1)
            assert {hit.passage.text for hit in meanwhile.hits} >= {"the cat"}
            assert {d.leg for d in meanwhile.degraded} == {"dense"}
            model.delay_s = 0.0
            catch_up(braid)
            assert search(braid, "the cat", 1, mode="semantic").hits[0].passage.text == "the cat"


# ---------------------------------------------------------------- edges


@pytest.mark.parametrize("mode", get_args(Mode))
def test_passages_without_words(fresh: tuple[Braid, HashEmbeddings], mode: Mode) -> None:
    """rank-bm25 divides by the number of words."""
    braid, _ = fresh
    put(braid, "a", "🎉🎉", "!?", title="")
    catch_up(braid)
    result = search(braid, "cat", 1, mode=mode)
    assert result.degraded == ()
    assert {hit.passage.text for hit in result.hits} <= {"🎉🎉", "!?"}


def test_a_failing_model_is_named(fresh: tuple[Braid, HashEmbeddings]) -> None:
    braid, model = fresh
    put(braid, "a", "the cat", "the dog", "a bird")
    catch_up(braid)
    model.failing = True
    result = search(braid, "cat", 1)
    assert result.hits[0].passage.text == "the cat"
    assert [(d.leg, d.collection) for d in result.degraded] == [("dense", "user_1")]
    assert "the model server is down" in result.degraded[0].reason


# ---------------------------------------------------------------- as another program writes it


@pytest.mark.parametrize("datasets", [(1,), (2, -1)], ids=str)
def test_it_is_chroma_and_bm25_with_the_usual_filters(
    braid: Braid, embeddings: HashEmbeddings, tmp_path: Path, datasets: tuple[int, ...]
) -> None:
    retrievers: list[BaseRetriever] = []
    for collection in COLLECTIONS[datasets]:
        store = Chroma(
            collection,
            embeddings,
            persist_directory=str(tmp_path),
            collection_configuration={"hnsw": {"space": "cosine"}},
        )
        for batch in ChangeLog(braid.ledger.database).all_chunks(collection, 1000):
            owners = [{} if chunk.user_id is None else {"user_id": chunk.user_id} for chunk in batch]
            ids = [chunk.id for chunk in batch]
            own = [
                {"id": chunk.id, "dataset_id": chunk.dataset_id} | owner
                for chunk, owner in zip(batch, owners, strict=True)
            ]
            store.add_texts([chunk.text for chunk in batch], own, ids)
        mine = {"dataset_id": {"$in": list(datasets)}}
        where = mine if collection.startswith("shared_") else {"$and": [{"user_id": 1}, mine]}
        retrievers.append(store.as_retriever(search_kwargs={"k": 50, "filter": where}))
        stored = store.get(where=where)  # type: ignore[arg-type]
        texts = [
            Document(id=number, page_content=text, metadata=metadata)
            for number, text, metadata in zip(stored["ids"], stored["documents"], stored["metadatas"], strict=True)
        ]
        retrievers.append(stock_bm25(braid, sorted(texts, key=lambda each: str(each.id)), 50))
    equal = [1 / len(retrievers)] * len(retrievers)
    ensemble = EnsembleRetriever(retrievers=list(retrievers), weights=equal, id_key="id")
    for query in QUERIES:
        expected = ids_of(ensemble.invoke(query))[:30]
        assert ids_of(braid.get_retriever(user_id=1, dataset_ids=datasets, engine="langchain", k=30).invoke(query)) == (
            expected
        )


def test_weights_count(braid: Braid) -> None:
    both = {leg: chunk_ids(search(braid, "cat moon", 1, mode=leg, k=9)) for leg in ("semantic", "keyword")}
    assert both["semantic"] != both["keyword"]
    assert chunk_ids(search(braid, "cat moon", 1, dense_weight=1.0, k=9)) == both["semantic"]
    assert chunk_ids(search(braid, "cat moon", 1, dense_weight=0.0, k=9)) == both["keyword"]
    assert chunk_ids(search(braid, "cat moon", 1, dense_weight=0.9, k=1)) == both["semantic"][:1]
    retriever = braid.get_retriever(user_id=1, dataset_ids=[1], engine="langchain", k=9)
    assert isinstance(retriever, EnsembleRetriever)
    assert (retriever.weights, retriever.c, retriever.id_key) == ([0.5, 0.5], 60, "id")
    retriever.weights = [0.0, 1.0]
    assert ids_of(retriever.invoke("cat moon")) == both["keyword"]


def test_its_older_name_is_taken(braid: Braid) -> None:
    older: Any = "reference"
    result = braid.search("cat moon", user_id=1, dataset_ids=[1], engine=older)
    assert result.query.engine == "langchain"
    assert chunk_ids(result) == chunk_ids(search(braid, "cat moon", 1))


def test_what_is_built_is_built_once_a_change(fresh: tuple[Braid, HashEmbeddings]) -> None:
    braid, _ = fresh
    put(braid, "a", "the cat", "the dog")
    catch_up(braid)
    for _ in range(3):
        search(braid, "cat", 1)
    engine = braid.manager._stock
    (built,) = engine._cache._values.values()
    kept = engine._stores._kept["user_1"]
    search(braid, "dog", 1)
    assert list(engine._cache._values.values()) == [built]
    assert engine._stores._kept["user_1"] is kept
    stamp = kept.stamp
    put(braid, "b", "a bird")
    catch_up(braid)
    assert "a bird" in {hit.passage.text for hit in search(braid, "bird", 1).hits}
    assert engine._stores._kept["user_1"] is kept
    assert kept.stamp != stamp
    assert list(engine._cache._values.values()) != [built]


def test_a_dataset_that_moves_is_followed_however_the_log_is_pruned(
    fresh: tuple[Braid, HashEmbeddings],
) -> None:
    """The log forgets what every index of the owner has applied; the engine is none of them."""
    braid, _ = fresh
    put(braid, "a", "the cat")
    catch_up(braid)
    assert search(braid, "cat", 1).hits
    for number in range(5):
        put(braid, "b", f"bird {number}")
    catch_up(braid)
    log = ChangeLog(braid.ledger.database)
    log.prune("user_1", log.heads()["user_1"])
    assert {hit.passage.text for hit in search(braid, "bird 4", 1).hits} == {"the cat", "bird 4"}


# ---------------------------------------------------------------- LangChain's own strategies


class Counting(FakeListChatModel):
    """Says how often it was asked."""

    asked: list[str] = Field(default_factory=list)

    def _call(self, messages: Any, *args: Any, **options: Any) -> str:
        self.asked.append(messages[-1].text)
        return super()._call(messages, *args, **options)


@pytest.fixture
def modelled(fresh: tuple[Braid, HashEmbeddings]) -> tuple[Braid, HashEmbeddings]:
    braid, model = fresh
    put(braid, "a", "the cat sleeps", "the dog barks", "a bird sings")
    catch_up(braid)
    return braid, model


def models(*replies: str) -> tuple[SearchModels, Counting]:
    model = Counting(responses=list(replies))
    return SearchModels(ChatModels(search=model)), model


def test_multi_query_is_langchains_own(modelled: tuple[Braid, HashEmbeddings]) -> None:
    braid, _ = modelled
    given, model = models("the dog barks\na bird sings\n")
    result = search(braid, "animals", 1, strategy="multi_query", models=given, k=3)
    base = braid.get_retriever(user_id=1, engine="langchain", k=50)
    stock = MultiQueryRetriever.from_llm(
        retriever=base, llm=FakeListChatModel(responses=["the dog barks\na bird sings"])
    )
    assert [hit.passage.text for hit in result.hits] == [each.page_content for each in stock.invoke("animals")]
    assert result.queries == ("the dog barks", "a bird sings")
    assert (result.generator, result.model_calls) == ("counting:Counting", 1)
    assert "You are an AI language model assistant" in model.asked[0]
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


def test_hyde_embeds_the_models_passage_in_place_of_the_query(modelled: tuple[Braid, HashEmbeddings]) -> None:
    braid, embeddings = modelled
    given, model = models("the dog barks")
    result = search(braid, "animals", 1, strategy="hyde", models=given, mode="semantic", k=1)
    assert [hit.passage.text for hit in result.hits] == ["the dog barks"]
    assert len(model.asked) == 1
    embeddings.queries_embedded = 0
    hybrid = search(braid, "sings", 1, strategy="hyde", models=models("the dog barks")[0], k=2)
    assert {hit.passage.text for hit in hybrid.hits} == {"the dog barks", "a bird sings"}
    assert embeddings.queries_embedded == 0


def test_compression_shows_what_the_model_extracts(modelled: tuple[Braid, HashEmbeddings]) -> None:
    braid, _ = modelled
    given, model = models("barks", "NO_OUTPUT")
    result = search(braid, "dog", 1, strategy="compression", models=given, k=2)
    assert [hit.passage.text for hit in result.hits] == ["barks"]
    assert len(model.asked) == 2


def test_a_chat_model_that_fails_is_named_and_the_query_alone_is_searched_for(
    modelled: tuple[Braid, HashEmbeddings],
) -> None:
    braid, _ = modelled
    failing = RunnableLambda(lambda _: 1 / 0)
    given = SearchModels(ChatModels(search=failing))
    for strategy in ("multi_query", "hyde", "compression"):
        result = search(braid, "the dog", 1, strategy=strategy, models=given)
        assert chunk_ids(result) == chunk_ids(search(braid, "the dog", 1))
        assert [each.leg for each in result.degraded] == ["model"]
        assert "the query alone was searched for" in result.degraded[0].reason


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"strategy": "step_back"}, "strategy", "knows the strategies basic, multi_query, compression, hyde"),
        ({"strategy": "hyde"}, "strategy", "asks a search model, and there is none"),
        ({"strategy": "hyde", "generator": "feedback"}, "generator", "always asks a model"),
        ({"strategy": "multi_query", "parameters": {"variants": 2}}, "parameters", "variants would do nothing"),
        ({"fusion": "weighted"}, "fusion", "knows fusion 'rrf' only"),
        ({"group_by": "document"}, "group_by", "gives passages only"),
    ],
)
def test_what_langchain_cannot_do_is_refused(
    fresh: tuple[Braid, HashEmbeddings], given: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words) as refused:
        search(fresh[0], "cat", 1, **given)
    assert refused.value.field == field


def test_its_stores_are_in_the_data_directory_and_those_of_killed_processes_go(tmp_path: Path) -> None:
    home = tmp_path / FOLDER
    left = home / "store-left"
    left.mkdir(parents=True)
    (left / "chroma.sqlite3").write_text("of a process that was killed")
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        assert not left.exists()
        add_notes(braid.ledger)
        put(braid, "a", "the cat")
        catch_up(braid)
        assert search(braid, "cat", 1).hits
        (folder,) = home.glob("store-*")
        assert (folder / "chroma.sqlite3").exists()
        remove_abandoned(tmp_path)
        assert search(braid, "cat", 1).hits
        assert folder.exists()
    assert list(home.glob("store-*")) == []


def test_passages_without_vectors_are_counted_up_to_a_bound(
    fresh: tuple[Braid, HashEmbeddings], monkeypatch: pytest.MonkeyPatch
) -> None:
    braid, model = fresh
    monkeypatch.setattr(engine, "MOST_COUNTED", 3)
    model.failing = True
    put(braid, "a.md", *(f"the cat {n}" for n in range(5)))
    put(braid, "b.md", "the dog")
    told = "".join(each.reason for each in search(braid, "cat", 1).degraded)
    assert "3 or more passages of user_1 have no vector yet" in told
    filtered = search(braid, "dog", 1, filters=Filters(source_prefix="b"))
    assert "1 passages of user_1" in "".join(each.reason for each in filtered.degraded)
