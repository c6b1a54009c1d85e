"""Braid as LangChain retrievers: what `get_retriever` gives, and that it behaves like any other retriever."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.langchain import (
    Bm25Retriever,
    BraidEnsembleRetriever,
    DenseRetriever,
    EnsembleRetriever,
    LegRetriever,
    SearchRetriever,
)
from braid.core.types import ChunkInput, DocumentInput, Engine, Filters, Mode
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, catch_up, ids

WORDS = ["cat", "dog", "bird", "fish", "tree", "rock", "sand", "lake", "moon", "star", "wind", "rain", "snow", "fire"]
NOTES, MORE, GUIDE, KITCHEN = 1, 2, -1, -2
ALL = (NOTES, GUIDE, KITCHEN)
SHARED = ("shared_guide", "shared_kitchen")
LEGS_OF = {"semantic": {"dense"}, "keyword": {"bm25"}, "hybrid": {"dense", "bm25"}}


@pytest.fixture(scope="module")
def braid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    """Three collections: datasets 1 and 2 in user_1, -1 in shared_main, -2 in shared_kitchen."""
    numbers = random.Random(5)
    with ByHand(tmp_path_factory.mktemp("ensemble"), embedding_model=HashEmbeddings()) as opened:
        user = opened.ledger.add_user("ann").id
        for name in ("notes", "more", "empty"):
            opened.ledger.add_dataset(user, name)
        for name in ("guide", "kitchen"):
            opened.registry.add(name, f"shared_{name}")
        opened.mirror_registry()
        for dataset in (NOTES, MORE, GUIDE, KITCHEN):
            texts = [" ".join(numbers.choices(WORDS, k=numbers.randint(3, 12))) + f" n{n} {dataset}" for n in range(20)]
            chunks = tuple(ChunkInput(text, f"H{n}", page=n + 1) for n, text in enumerate(texts))
            document = DocumentInput(f"{dataset}.md", f"T{dataset}", "md", chunks, metadata={"author": "Ann"})
            opened.ledger.put_document(dataset, document)
        catch_up(opened)
        yield opened


def retriever(braid: Braid, *datasets: int, **options: Any) -> Any:
    return braid.manager.get_retriever(user_id=1, dataset_ids=datasets, **options)


# ---------------------------------------------------------------- which one


@pytest.mark.parametrize(
    ("datasets", "mode", "legs"),
    [
        ((NOTES,), "hybrid", ["dense user_1", "bm25 user_1"]),
        ((NOTES, MORE), "hybrid", ["dense user_1", "bm25 user_1"]),
        ((NOTES, GUIDE), "keyword", ["bm25 user_1", "bm25 shared_guide"]),
        ((GUIDE, NOTES), "semantic", ["dense shared_guide", "dense user_1"]),
        (ALL, "hybrid", [f"{leg} {c}" for c in ("user_1", *SHARED) for leg in ("dense", "bm25")]),
    ],
)
def test_several_are_held_by_an_ensemble(braid: Braid, datasets: tuple[int, ...], mode: str, legs: list[str]) -> None:
    ensemble = retriever(braid, *datasets, mode=mode)
    assert isinstance(ensemble, BraidEnsembleRetriever)
    assert isinstance(ensemble, EnsembleRetriever)
    held = [r for r in ensemble.retrievers if isinstance(r, LegRetriever)]
    assert [f"{r.leg} {r.scope.collection}" for r in held] == legs
    assert ensemble.weights == [1 / len(legs)] * len(legs)
    assert (ensemble.c, ensemble.id_key) == (60, "id")


@pytest.mark.parametrize(("mode", "kind"), [("semantic", DenseRetriever), ("keyword", Bm25Retriever)])
def test_a_single_one_is_returned_as_it_is(braid: Braid, mode: str, kind: type) -> None:
    assert type(retriever(braid, NOTES, MORE, mode=mode)) is kind


@pytest.fixture(scope="module")
def newcomer(braid: Braid) -> int:
    """A user without a dataset."""
    return braid.ledger.add_user("bob").id


def test_where_nothing_can_be_read_yet_there_is_one_that_finds_nothing(braid: Braid, newcomer: int) -> None:
    nothing = braid.manager.get_retriever(user_id=newcomer)
    assert type(nothing) is SearchRetriever
    assert nothing.invoke("cat") == asyncio.run(nothing.ainvoke("cat")) == []


@pytest.mark.parametrize("datasets", [(99,), (-99,), (99, -99)])
def test_datasets_none_of_which_can_be_read_are_refused(braid: Braid, datasets: tuple[int, ...]) -> None:
    with pytest.raises(NotFoundError, match=r"^dataset .*99: there is none, or user 1 may not read it"):
        retriever(braid, *datasets)


@pytest.mark.parametrize("missing", [99, -99])
def test_beside_a_dataset_that_cannot_be_read_the_others_are_searched(
    braid: Braid, missing: int, caplog: pytest.LogCaptureFixture
) -> None:
    found = retriever(braid, NOTES, missing).invoke("cat")
    assert found == retriever(braid, NOTES).invoke("cat")
    assert f"dataset {missing}: there is none, or user 1 may not read it" in caplog.text
    assert ("the shared datasets are in" in caplog.text) is (missing < 0)
    with pytest.raises(NotFoundError, match=f"^dataset {missing}: there is none"):
        retriever(braid, NOTES, missing, on_degraded="raise")


def test_an_empty_dataset_is_searched_and_nothing_found(braid: Braid) -> None:
    assert retriever(braid, 3).invoke("cat") == []


# ---------------------------------------------------------------- like any other


@pytest.mark.parametrize("datasets", [(NOTES,), ALL], ids=["one collection", "three"])
@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("engine", get_args(Engine))
def test_every_call_gives_what_search_gives(braid: Braid, datasets: tuple[int, ...], mode: str, engine: str) -> None:
    options: dict[str, Any] = {"mode": mode, "engine": engine, "k": 7}
    expected = {
        query: [
            hit.passage.chunk_id for hit in braid.manager.search(query, user_id=1, dataset_ids=datasets, **options).hits
        ]
        for query in ("cat moon", "fire rain")
    }
    asked = retriever(braid, *datasets, **options)
    assert len(expected["cat moon"]) == 7
    assert ids(asked.invoke("cat moon")) == expected["cat moon"]
    assert ids(asyncio.run(asked.ainvoke("cat moon"))) == expected["cat moon"]
    assert [ids(found) for found in asked.batch(list(expected))] == list(expected.values())
    assert [ids(found) for found in asyncio.run(asked.abatch(list(expected)))] == list(expected.values())
    chain = asked | RunnableLambda(ids)
    assert chain.invoke("fire rain") == expected["fire rain"]


def test_many_threads_share_a_retriever(braid: Braid) -> None:
    asked = retriever(braid, *ALL)
    expected = ids(asked.invoke("cat moon"))
    with ThreadPoolExecutor(8) as pool:
        assert all(ids(found) == expected for found in pool.map(asked.invoke, ["cat moon"] * 24))


@pytest.mark.parametrize("datasets", [(NOTES,), (GUIDE,)])
@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_document_says_what_it_is(braid: Braid, datasets: tuple[int, ...], mode: Mode) -> None:
    (hit, *_) = braid.manager.search("cat moon", user_id=1, dataset_ids=datasets, mode=mode).hits
    (found, *_) = retriever(braid, *datasets, mode=mode, with_scores=True).invoke("cat moon")
    assert found.page_content == hit.passage.text
    assert found.id == found.metadata["id"] == hit.passage.chunk_id
    ours = {
        "id": hit.passage.chunk_id,
        "source": f"{datasets[0]}.md",
        "title": f"T{datasets[0]}",
        "heading_path": hit.passage.heading_path,
        "page": hit.passage.page,
        "dataset_id": datasets[0],
        "collection": hit.passage.collection,
        "score": hit.score,
        "legs": {leg.leg: {"rank": leg.rank, "score": leg.score, "share": leg.share} for leg in hit.legs},
    }
    assert found.metadata == {**ours, "author": "Ann", "braid": ours}
    assert set(found.metadata["legs"]) == LEGS_OF[mode]


def test_a_documents_own_metadata_cannot_pass_for_ours(braid: Braid) -> None:
    chunk = ChunkInput("forged platypus")
    forged = {"id": "x", "dataset_id": "-1", "collection": "shared_guide", "score": "9", "source": "elsewhere"}
    braid.ledger.put_document(3, DocumentInput("real.md", "Real", "md", (chunk,), metadata=forged))
    catch_up(braid)
    (found,) = retriever(braid, 3, with_scores=True).invoke("platypus")
    ours = found.metadata["braid"]
    assert (ours["source"], ours["dataset_id"], ours["id"]) == ("real.md", 3, found.id)
    assert ours["score"] != "9"
    assert {name: found.metadata[name] for name in forged} == forged
    braid.ledger.remove_document(3, "real.md")
    catch_up(braid)


def test_options_are_the_fields_of_a_query(braid: Braid) -> None:
    assert len(retriever(braid, *ALL, k=3).invoke("cat")) == 3
    only = retriever(braid, *ALL, k=50, filters=Filters(source_prefix="-1")).invoke("cat")
    assert {document.metadata["source"] for document in only} == {"-1.md"}
    assert retriever(braid, *ALL, min_score=9.9).invoke("cat") == []


def test_what_is_changed_in_a_deep_copy_is_changed_there_alone(braid: Braid) -> None:
    asked = retriever(braid, *ALL, k=3)
    expected = ids(asked.invoke("cat moon"))
    changed = copy.deepcopy(asked)
    assert ids(changed.invoke("cat moon")) == expected
    changed.retrievers.append(changed.retrievers[0])
    changed.weights.append(1.0)
    changed.retrievers[1].k = 1
    assert ids(asked.invoke("cat moon")) == expected
    assert asked.made_with == asked.fused() != changed.fused()


def test_an_empty_query_is_refused(braid: Braid) -> None:
    for mode in get_args(Mode):
        with pytest.raises(InvalidInputError, match="the query is empty"):
            retriever(braid, NOTES, mode=mode).invoke(" ")


# ---------------------------------------------------------------- callbacks


class Counting(BaseCallbackHandler):
    """Counts what a tracer would see."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.legs: dict[UUID, str] = {}
        self.found: dict[str, list[Any]] = {}
        """What each leg has found, or its error."""

    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        name: str = "",
        **_: Any,
    ) -> None:
        if parent_run_id is None:
            self.seen.append(f"start {query}")
        else:
            self.legs[run_id] = f"{name} {(tags or [''])[-1]}"

    def on_retriever_end(
        self, documents: Sequence[Document], *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        if parent_run_id is None:
            self.seen.append(f"end {len(documents)}")
        else:
            self.found[self.legs[run_id]] = [document.id for document in documents]

    def on_retriever_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        if parent_run_id is None:
            self.seen.append(f"error {type(error).__name__}")
        else:
            self.found[self.legs[run_id]] = [type(error).__name__]


@pytest.mark.parametrize(("datasets", "mode"), [(ALL, "hybrid"), ((NOTES,), "keyword"), ((), "hybrid")])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_callbacks_are_called_once(
    braid: Braid, newcomer: int, datasets: tuple[int, ...], mode: Mode, asynchronous: bool
) -> None:
    user = 1 if datasets else newcomer
    asked = braid.manager.get_retriever(user_id=user, dataset_ids=datasets, mode=mode, k=2)
    counting = Counting()
    if asynchronous:
        found = asyncio.run(asked.ainvoke("cat", {"callbacks": [counting]}))
    else:
        found = asked.invoke("cat", {"callbacks": [counting]})
    assert counting.seen == ["start cat", f"end {len(found)}"]
    if len(datasets) > 1:
        legs = [f"{leg} {name}" for name in ("user_1", *SHARED) for leg in ("dense", "bm25")]
        assert list(counting.found) == [f"{leg} retriever_{number}" for number, leg in enumerate(legs, 1)]
        assert {each for leg in counting.found.values() for each in leg} == {document.id for document in found}
    else:
        assert counting.found == {}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_legs_that_are_not_asked_or_cannot_answer_are_told_apart(braid: Braid, asynchronous: bool) -> None:
    asked, counting = retriever(braid, NOTES, GUIDE), Counting()
    config = {"callbacks": [counting]}
    if asynchronous:
        asyncio.run(asked.ainvoke("cat", config, mode="keyword"))
    else:
        asked.invoke("cat", config, mode="keyword")
    assert list(counting.found) == ["bm25 user_1 retriever_2", "bm25 shared_guide retriever_4"]


def test_the_stock_engine_runs_its_legs_itself(braid: Braid) -> None:
    counting = Counting()
    found = retriever(braid, NOTES, GUIDE, engine="langchain").invoke("cat", {"callbacks": [counting]})
    assert counting.seen == ["start cat", f"end {len(found)}"]
    assert not [name for name in counting.found if name.startswith(("dense ", "bm25 "))]
    assert counting.found


@pytest.mark.parametrize("name", ["k", "mode", "filters", "search_kwargs", "on_degraded", "engine"])
def test_options_in_the_config_are_refused(braid: Braid, name: str) -> None:
    for asked in (retriever(braid, NOTES), retriever(braid, NOTES, mode="keyword")):
        with pytest.raises(InvalidInputError, match=f"'{name}' is in the config, where it does nothing"):
            asked.invoke("cat", {name: 1})
        with pytest.raises(InvalidInputError, match="is in the config"):
            asyncio.run(asked.ainvoke("cat", {name: 1}))
        for config in ({"config": {name: 1}}, {name: 1}):
            with pytest.raises(InvalidInputError, match="is in the config"):
                asked.with_config(**config)  # type: ignore[arg-type]
    assert retriever(braid, NOTES).invoke("cat", {"thread_id": "1", "configurable": {"mode": "x"}})


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_an_error_is_called_back_once(braid: Braid, mode: str) -> None:
    counting = Counting()
    with pytest.raises(InvalidInputError, match="empty"):
        retriever(braid, NOTES, mode=mode).invoke("", {"callbacks": [counting]})
    assert counting.seen == ["start ", "error InvalidInputError"]
    assert set(map(str, counting.found.values())) <= {"['InvalidInputError']"}


# ---------------------------------------------------------------- the stock ensemble, over the same retrievers


@given(
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    datasets=st.lists(st.sampled_from([NOTES, MORE, GUIDE, KITCHEN]), min_size=1, unique=True),
    mode=st.sampled_from(["hybrid", "semantic", "keyword"]),
)
@settings(max_examples=40, deadline=None)
def test_without_pooling_the_list_is_that_of_the_stock_ensemble(
    braid: Braid, words: list[str], datasets: list[int], mode: str
) -> None:
    ours = retriever(braid, *datasets, mode=mode, pooling="none", k=200)
    single = ours.retrievers if isinstance(ours, EnsembleRetriever) else [ours]
    stock = EnsembleRetriever(retrievers=list(single), weights=[], id_key="id")
    query = " ".join(words)
    assert ids(ours.invoke(query)) == ids(stock.invoke(query))


def test_with_pooling_it_is_another_list(braid: Braid) -> None:
    ours = retriever(braid, *ALL, k=200)
    stock = EnsembleRetriever(retrievers=list(ours.retrievers), weights=[], id_key="id")
    assert ids(ours.invoke("cat moon fire")) != ids(stock.invoke("cat moon fire"))


# ---------------------------------------------------------------- fused as it says


class Fixed(BaseRetriever):
    """Finds always the same."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document("mine", metadata={"id": "mine"})]


def ensemble(braid: Braid) -> BraidEnsembleRetriever:
    made = retriever(braid, *ALL, k=6)
    assert isinstance(made, BraidEnsembleRetriever)
    return made


def test_weights_count_once_they_are_set(braid: Braid) -> None:
    changed = ensemble(braid)
    changed.weights = [1.0, *[0.0] * (len(changed.retrievers) - 1)]
    alone = changed.retrievers[0].invoke("cat")
    assert changed.invoke("cat") == asyncio.run(changed.ainvoke("cat")) == alone, "what weighs nothing adds nothing"
    assert changed.invoke("cat", k=1) == alone[:1]


@pytest.mark.parametrize("weights", [[1.0], []])
def test_a_wrong_number_of_weights_is_refused(braid: Braid, weights: list[float]) -> None:
    changed = ensemble(braid)
    changed.weights = weights
    with pytest.raises(InvalidInputError, match=rf"weights has {len(weights)} numbers for 6 retrievers"):
        changed.invoke("cat")


def test_own_retrievers_are_asked_and_c_and_id_key_count(braid: Braid) -> None:
    changed = ensemble(braid)
    changed.retrievers = [*changed.retrievers, Fixed()]
    changed.weights = [*[1.0] * (len(changed.retrievers) - 1), 10.0]
    assert "mine" in [document.page_content for document in changed.invoke("cat")]
    with pytest.raises(InvalidInputError, match="Fixed among the retrievers takes no options, so k"):
        changed.invoke("cat", k=2)
    changed = ensemble(braid)
    changed.id_key = "collection"
    assert len(changed.invoke("cat")) <= 3, "one document for each collection"


def test_what_a_leg_returns_can_be_changed(braid: Braid) -> None:
    changed = ensemble(braid)
    for each in changed.retrievers:
        each.k = 1  # type: ignore[union-attr]
    assert len(changed.invoke("cat")) <= len(changed.retrievers)


def test_one_that_is_built_by_hand_is_the_stock_ensemble(braid: Braid) -> None:
    own = list(ensemble(braid).retrievers)
    weights = [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]
    stock = EnsembleRetriever(retrievers=own, weights=weights, c=10, id_key="id")
    built = BraidEnsembleRetriever(retrievers=own, weights=weights, c=10, k=100)
    assert built.invoke("cat") == stock.invoke("cat")
