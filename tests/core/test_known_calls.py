"""Calls as people know them from other retriever managers and search agents, word for word where that is possible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_classic.retrievers import EnsembleRetriever

from braid.core.braid import Braid
from braid.core.chat.comparison import ThreeFields
from braid.core.chat.conversation import Conversation
from braid.core.chat.types import ChatRequest
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, catch_up, document

STRATEGIES = ("basic", "multi_query", "hyde", "compression", "parent_document")


@pytest.fixture(scope="module")
def braid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    """User 1 with datasets 1 and 2, the shared -1 and -2 in two collections, and another user's 3."""
    folder: Path = tmp_path_factory.mktemp("known")
    with ByHand(folder / "data", embedding_model=HashEmbeddings(), shared_dbs=folder / "shared_dbs.json") as opened:
        ledger = opened.ledger
        for name, datasets in (("ann", ("notes", "papers")), ("bea", ("diary",))):
            user = ledger.add_user(name).id
            for dataset in datasets:
                ledger.add_dataset(user, dataset)
        for name, collection in (("Handbook", "shared_main"), ("Rules", "shared_rules")):
            opened.registry.add(name, collection)
        opened.mirror_registry()
        for dataset in (1, 2, 3, -1, -2):
            ledger.put_document(dataset, document(f"{dataset}.md", f"the pump of dataset {dataset} runs"))
        catch_up(opened)
        yield opened


def datasets_of(documents: object) -> set[int]:
    return {found.metadata["dataset_id"] for found in documents}  # type: ignore[attr-defined]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_get_retriever_for_a_user_and_datasets_whatever_the_strategy(braid: Braid, strategy: str) -> None:
    retriever = braid.manager.get_retriever(strategy, user_id=1, dataset_ids=[1, -1, -2])
    assert isinstance(retriever, EnsembleRetriever)
    assert datasets_of(retriever.invoke("pump")) == {1, -1, -2}


def test_without_ids_the_users_own_are_searched_with_all_the_shared_too(braid: Braid) -> None:
    assert datasets_of(braid.manager.get_retriever(user_id=1).invoke("pump")) == {1, 2}
    assert datasets_of(braid.manager.get_retriever(user_id=1, dataset_ids="all").invoke("pump")) == {1, 2, -1, -2}


def test_the_parameters_of_a_strategy_by_its_configuration(braid: Braid) -> None:
    k = braid.manager.get_retriever_config("basic").parameters.get("k", 5)
    assert len(braid.manager.get_retriever("basic", user_id=1, k=k).invoke("pump")) == 2
    assert braid.manager.get_retriever_config("multi_query").parameters.get("variants", 4) == 3


def test_ensemble_with_equal_weights_and_reciprocal_ranks_per_collection(braid: Braid) -> None:
    result = braid.search("pump", user_id=1, dataset_ids="all", pooling="none", fusion="rrf")
    assert result.hits_by_dataset == {1: 1, 2: 1, -1: 1, -2: 1}
    assert {leg.share for hit in result.hits for leg in hit.legs if leg.rank == 1} == {1 / (60 + 1) / 6}


def test_three_fields_with_a_hundred_candidates_of_each_leg(braid: Braid) -> None:
    fields = ThreeFields(purpose="find the pump", materials="a pump", methods="run it")
    options = {"mode": "hybrid", "fusion": "weighted", "alpha": 0.7, "leg_depth": 100, "reranker_depth": 10, "k": 10}
    asked = ChatRequest(1, fields=fields, dataset_ids="all", options=options)
    whole = Conversation(braid).ask(asked)
    assert whole.text
    assert len(whole.search.hits) == 4
    assert (whole.search.query.fetch_k, whole.search.query.alpha) == (100, 0.7)
    assert Conversation(braid).ask(ChatRequest(1, fields=fields, options=options, evaluation_mode=True)).text == ""
