"""Ten programs as somebody writes them who knows LangChain's ensemble, Chroma and BM25: each on both engines.

Nothing in them names the engine: it is given to the manager's retrievers by the fixture `get`.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from langchain_chroma import Chroma
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever, MultiQueryRetriever
from langchain_classic.retrievers.document_compressors import LLMChainExtractor
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever

from braid import (
    BasicRetrieverStrategy,
    Braid,
    ContextualCompressionRetrieverStrategy,
    HydeRetrieverStrategy,
    InvalidInputError,
    MultiQueryRetrieverStrategy,
    RetrieverManager,
)
from braid.core.models.chat import ChatModels
from braid.core.types import Engine
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S

pytestmark = pytest.mark.usefixtures("with_copy")

Get = Callable[..., Any]
TEXTS = {
    "own": ("the pump of the hall runs", "the hose is five metres long", "tea is served at four"),
    "guide": ("the pump is serviced each year", "the valve is closed by hand"),
    "rules": ("nobody opens the pump alone", "helmets are worn in the hall"),
}
SHARED = (("guide", "shared_guide"), ("rules", "shared_rules"), ("more rules", "shared_rules"))


class Own(BaseRetriever):
    """A retriever of the program."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document("MINE", metadata={"id": "mine", "source": "mine"})]


def fill(braid: Braid) -> None:
    user = braid.ledger.add_user("ann").id
    datasets = {"own": braid.ledger.add_dataset(user, "own").id}
    for name, collection in SHARED:
        datasets[name] = braid.registry.add(name, collection).id
    braid.mirror_registry()
    for name, texts in TEXTS.items():
        braid.add([{"id": f"{name}{n}", "text": text} for n, text in enumerate(texts)], dataset=datasets[name])
    assert braid.indexer.wait(WAIT_S)


@pytest.fixture(scope="module")
def braid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    """Dataset 1 is Ann's, -1 is in a collection of its own, -2 and the empty -3 share one."""
    models = ChatModels(search=FakeListChatModel(responses=["the valve\nthe helmets"]))
    with Braid(tmp_path_factory.mktemp("requested"), embedding_model=HashEmbeddings(), models=models) as opened:
        fill(opened)
        yield opened


@pytest.fixture(params=get_args(Engine))
def get(request: pytest.FixtureRequest, braid: Braid) -> Get:
    def make(strategy: str = "basic", **options: Any) -> Any:
        return braid.manager.get_retriever(strategy, engine=request.param, **options)

    return make


def sources(documents: list[Document]) -> list[str]:
    return [document.metadata["source"] for document in documents]


def test_1_a_retriever_over_personal_and_shared_datasets(get: Get) -> None:
    retriever = get("basic", user_id=1, dataset_ids=[1, -1, -2, -3])
    assert isinstance(retriever, EnsembleRetriever)
    assert len(retriever.retrievers) == 6
    assert len(set(retriever.weights)) == 1
    assert (retriever.c, retriever.id_key) == (60, "id")
    found = retriever.invoke("the pump")
    assert {"own0", "guide0", "rules0"} <= set(sources(found))
    assert {document.metadata["collection"] for document in found} == {"user_1", "shared_guide", "shared_rules"}


@pytest.mark.parametrize(
    "change",
    [
        lambda made: setattr(made, "weights", [1, 0, 0, 0]),
        lambda made: setattr(made, "id_key", "collection"),
        lambda made: made.retrievers.append(Own()) or setattr(made, "weights", [0.2] * 5),
        lambda made: [setattr(child, "k", 1) for child in made.retrievers],
        lambda made: made.retrievers.clear() or setattr(made, "weights", []),
    ],
    ids=["weights", "id_key", "retrievers", "k", "none"],
)
def test_2_what_is_set_counts(get: Get, change: Callable[[Any], object]) -> None:
    before = get(user_id=1, dataset_ids=[1, -1], k=6).invoke("the pump")
    retriever = get(user_id=1, dataset_ids=[1, -1], k=6)
    change(retriever)
    assert sources(retriever.invoke("the pump")) != sources(before)
    retriever.weights = [5]
    if len(retriever.retrievers) != 1:
        with pytest.raises(InvalidInputError, match="weights has 1 numbers"):
            retriever.invoke("the pump")


def test_3_one_of_its_retrievers_alone(get: Get) -> None:
    for child in get(user_id=1, dataset_ids=[1, -1]).retrievers:
        found = child.invoke("the pump", k=20)
        assert found
        assert {document.metadata["collection"] for document in found} == {child.scope.collection}


def test_4_the_stock_ensemble_over_its_retrievers(get: Get) -> None:
    unpooled = get(user_id=1, dataset_ids=[1, -1], pooling="none", k=20)
    retrievers = get(user_id=1, dataset_ids=[1, -1], k=50).retrievers
    stock = EnsembleRetriever(retrievers=retrievers, weights=[0.25] * 4, id_key="id")
    assert sources(stock.invoke("the pump of the hall")) == sources(unpooled.invoke("the pump of the hall"))
    outer = EnsembleRetriever(retrievers=[unpooled, Own()], weights=[0.5, 0.5], id_key="id")
    assert "mine" in sources(outer.invoke("the pump"))


def test_5_the_stock_multi_query_and_compression_over_it(get: Get) -> None:
    base = get(user_id=1, dataset_ids=[1, -1, -2], k=6)
    model = FakeListChatModel(responses=["the valve is closed\nhelmets are worn"])
    found = MultiQueryRetriever.from_llm(retriever=base, llm=model).invoke("safety")
    assert {"guide1", "rules1"} <= set(sources(found))
    extractor = LLMChainExtractor.from_llm(FakeListChatModel(responses=["closed by hand"]))
    compression = ContextualCompressionRetriever(base_compressor=extractor, base_retriever=base)
    assert {document.page_content for document in compression.invoke("valve")} == {"closed by hand"}


@pytest.mark.parametrize("name", ["basic", "multi_query", "compression", "hyde"])
def test_6_strategies_by_name_and_by_class_with_a_model_object(get: Get, braid: Braid, name: str) -> None:
    assert get(name, user_id=1, dataset_ids=[1, -1]).invoke("the pump")
    made = {
        "basic": BasicRetrieverStrategy,
        "multi_query": MultiQueryRetrieverStrategy,
        "compression": ContextualCompressionRetrieverStrategy,
        "hyde": HydeRetrieverStrategy,
    }[name](braid)
    assert made.get_retriever(1, [1, -1]).invoke("the pump")
    with pytest.raises(InvalidInputError, match=r"MultiQuery.*multi_query"):
        get("MultiQuery", user_id=1)


def test_7_a_single_one_is_itself_and_none_is_empty(get: Get, braid: Braid) -> None:
    alone = get(user_id=1, dataset_ids=[-1], mode="keyword")
    assert not isinstance(alone, EnsembleRetriever)
    assert sources(alone.invoke("valve"))[:1] == ["guide1"]
    newcomer = braid.ledger.user_named("new") or braid.ledger.add_user("new")
    assert get(user_id=newcomer.id).invoke("the pump") == []


@pytest.mark.parametrize("engine", get_args(Engine))
@pytest.mark.parametrize("content", [None, "{broken"], ids=["missing", "broken"])
def test_8_without_the_list_of_shared_datasets_the_rest_is_searched(
    tmp_path: Path, engine: Engine, content: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as opened:
        fill(opened)
    file = tmp_path / "shared_dbs.json"
    file.unlink()
    if content:
        file.write_text(content)
    with caplog.at_level(logging.WARNING), Braid(tmp_path, embedding_model=HashEmbeddings()) as opened:
        retriever = opened.get_retriever(user_id=1, dataset_ids=[1, -1], engine=engine)
        assert sources(retriever.invoke("the pump"))[:1] == ["own0"]
    assert "shared_dbs.json" in caplog.text


def test_9_the_filter_in_chroma_and_in_a_search(tmp_path: Path, get: Get) -> None:
    where: Any = {"$and": [{"user_id": 1}, {"dataset_id": {"$in": [1]}}]}
    assert sources(get(user_id=1, dataset_ids=[1], filters=where).invoke("the pump"))[:1] == ["own0"]
    model = HashEmbeddings()
    with Braid(tmp_path, embedding_model=model) as opened:
        fill(opened)
        assert opened.indexer.wait(WAIT_S, legs=("chroma",))
        folder = opened.chroma_path
    store = Chroma("user_1", model, persist_directory=str(folder), create_collection_if_not_exists=False)
    dense = store.as_retriever(search_kwargs={"k": 3, "filter": where})
    kept = store.get(where=where)
    words = BM25Retriever.from_texts(kept["documents"], metadatas=kept["metadatas"], ids=kept["ids"], k=3)
    found = EnsembleRetriever(retrievers=[dense, words], weights=[0.5, 0.5]).invoke("the pump")
    assert found[0].page_content == TEXTS["own"][0]
    store._client.close()  # type: ignore[attr-defined]


def test_10_the_manager_and_its_errors_by_either_name(get: Get, braid: Braid) -> None:
    module = importlib.import_module("core.retriever_manager")
    assert module.RetrieverManager is RetrieverManager
    assert isinstance(braid.manager, RetrieverManager)
    errors = importlib.import_module("core.errors")
    with pytest.raises(errors.InvalidInputError):
        get(user_id=1, dataset_ids=["one"])
    with pytest.raises(InvalidInputError, match=r"Braid\(path\)\.manager"):
        RetrieverManager()
