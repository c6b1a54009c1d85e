"""What a retriever says when something is missing, wrong or closed, and that it is as good as new at every call."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_classic.retrievers.multi_query import MultiQueryRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import ConfigurableField
from langchain_core.tracers.context import collect_runs

from braid.core.braid import Braid, IndexOptions
from braid.core.errors import BraidError, ClosedError, DegradedError, InvalidInputError, NotFoundError
from braid.core.types import Filters
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, ByHand, add_notes, catch_up, document

NOTES, HERS, CLOSED_TO_ANN, OPEN = 1, 2, -1, -2
"""Datasets: Ann's, Bea's, a shared one of a group without members, and one for everybody."""
TEXTS = ("the pump of hall 1 leaks", "the pump of hall 2 hums", "the pump of hall 3 is new")


@pytest.fixture(scope="module")
def model() -> HashEmbeddings:
    return HashEmbeddings()


@pytest.fixture(scope="module")
def braid(tmp_path_factory: pytest.TempPathFactory, model: HashEmbeddings) -> Iterator[Braid]:
    with ByHand(tmp_path_factory.mktemp("retriever"), embedding_model=model) as opened:
        add_notes(opened.ledger)
        add_notes(opened.ledger, "bea")
        opened.registry.add("board", "shared_board", allowed_groups=("board",))
        opened.registry.add("guide", "shared_guide")
        opened.mirror_registry()
        opened.ledger.put_document(NOTES, document("notes.md", *TEXTS))
        opened.ledger.put_document(OPEN, document("guide.md", "how to prime the pump"))
        catch_up(opened)
        yield opened


@pytest.fixture
def outage(model: HashEmbeddings) -> Iterator[None]:
    """The embedding server is down."""
    model.failing = True
    yield
    model.failing = False


# ---------------------------------------------------------------- what may be read now


def test_what_is_added_later_is_found(braid: Braid) -> None:
    user = braid.ledger.add_user("late").id
    kept = {mode: braid.get_retriever(user_id=user, mode=mode) for mode in ("hybrid", "keyword", "semantic")}
    assert [asked.invoke("pump") for asked in kept.values()] == [[], [], []]
    dataset = braid.ledger.add_dataset(user, "first").id
    braid.ledger.put_document(dataset, document("late.md", "the pump came late"))
    catch_up(braid)
    for asked in kept.values():
        assert [found.page_content for found in asked.invoke("pump")] == ["the pump came late"]
        assert [found.page_content for found in asyncio.run(asked.ainvoke("pump"))] == ["the pump came late"]


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_a_collection_that_is_opened_again_is_searched(braid: Braid, mode: Any) -> None:
    asked = braid.get_retriever(user_id=1, dataset_ids=[NOTES, OPEN], mode=mode)
    braid.registry.update(OPEN, enabled=False)
    one = braid.get_retriever(user_id=1, dataset_ids=[NOTES], mode=mode)
    assert {found.metadata["source"] for found in asked.invoke("prime the pump")} == {"notes.md"}
    braid.registry.update(OPEN, enabled=True)
    assert {found.metadata["source"] for found in asked.invoke("prime the pump")} == {"notes.md", "guide.md"}
    assert {found.metadata["source"] for found in one.invoke("prime the pump")} == {"notes.md"}


# ---------------------------------------------------------------- wrong users and datasets


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"user_id": "ann"}, InvalidInputError, "user_id is 'ann'; it must be the number of a user"),
        ({"user_id": True}, InvalidInputError, "user_id is True"),
        ({"user_id": 4711}, NotFoundError, "there is no user 4711"),
        ({"user_id": None}, InvalidInputError, "nothing could ever be found; name a user, or shared datasets"),
        ({"user_id": 1, "dataset_ids": ["notes"]}, InvalidInputError, "'notes' is not one: .*; names are no ids"),
        ({"user_id": 1, "dataset_ids": "notes"}, InvalidInputError, "it must be a list of dataset ids"),
        ({"user_id": 1, "dataset_ids": 1}, InvalidInputError, "it must be a list of dataset ids"),
        ({"user_id": 1, "dataset_ids": (n for n in [1])}, InvalidInputError, "it must be a list of dataset ids"),
    ],
)
def test_a_wrong_user_or_dataset_is_an_error(
    braid: Braid, given: dict[str, Any], error: type[BraidError], message: str
) -> None:
    with pytest.raises(error, match=message):
        braid.get_retriever(**given)


def test_nobody_learns_which_datasets_there_are(braid: Braid) -> None:
    for kind in ((HERS, 99), (CLOSED_TO_ANN, -99)):
        said = set()
        for dataset in kind:
            with pytest.raises(NotFoundError) as caught:
                braid.get_retriever(user_id=1, dataset_ids=[NOTES, dataset], on_degraded="raise")
            said.add(str(caught.value).replace(str(dataset), "N", 1))
        assert len(said) == 1


def test_a_user_or_dataset_that_goes_is_an_error_at_the_next_call(braid: Braid) -> None:
    user = braid.ledger.add_user("gone").id
    dataset = braid.ledger.add_dataset(user, "gone").id
    asked = braid.get_retriever(user_id=user, dataset_ids=[dataset])
    both = braid.get_retriever(user_id=user, dataset_ids=[dataset, OPEN], on_degraded="raise")
    assert asked.invoke("pump") == []
    braid.remove_dataset(dataset)
    with pytest.raises(NotFoundError, match=f"dataset {dataset}: there is none"):
        asked.invoke("pump")
    with pytest.raises(DegradedError, match=f"not everything could be searched: dataset {dataset}"):
        both.invoke("pump")


# ---------------------------------------------------------------- what could not be searched


class Told(BaseCallbackHandler):
    """Keeps the events of a run."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.events.append((name, data))


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.usefixtures("outage")
def test_a_leg_that_is_missing_is_told(braid: Braid, caplog: pytest.LogCaptureFixture, asynchronous: bool) -> None:
    asked, told = braid.get_retriever(user_id=1), Told()
    config: Any = {"callbacks": [told]}
    with collect_runs() as runs, caplog.at_level(logging.WARNING, "braid.core.langchain"):
        found = asyncio.run(asked.ainvoke("pump", config)) if asynchronous else asked.invoke("pump", config)
    assert len(found) == 3
    ((name, data),) = told.events
    assert name == "braid_degraded"
    assert "the model server is down" in data["missing"][0]
    assert runs.traced_runs[0].extra["metadata"]["braid_degraded"] == data["missing"]
    (record,) = [each for each in caplog.records if each.name == "braid.core.langchain"]
    assert data["missing"][0] in record.getMessage()
    assert "pump" not in record.getMessage()


def test_a_run_is_not_told_what_another_missed(braid: Braid, model: HashEmbeddings) -> None:
    asked = braid.get_retriever(user_id=1).with_config(metadata={"mine": 1})
    with collect_runs() as runs:
        model.failing = True
        asked.invoke("pump")
        model.failing = False
        asked.invoke("pump")
    missed = ["braid_degraded" in run.extra["metadata"] for run in runs.traced_runs]
    assert missed == [True, False]


@pytest.mark.usefixtures("outage")
def test_what_is_missing_can_be_ignored_or_raised(braid: Braid, caplog: pytest.LogCaptureFixture) -> None:
    asked, told = braid.get_retriever(user_id=1, on_degraded="ignore"), Told()
    assert len(asked.invoke("pump", {"callbacks": [told]})) == 3
    assert (told.events, [record for record in caplog.records if record.name == "braid.core.langchain"]) == ([], [])
    with pytest.raises(DegradedError, match="not everything could be searched: dense: the embedding model") as caught:
        asked.invoke("pump", on_degraded="raise")
    assert len(caught.value.missing) == 1
    with pytest.raises(InvalidInputError, match="on_degraded is 'shout'; choose one of warn, raise, ignore"):
        asked.invoke("pump", on_degraded="shout")


@pytest.mark.parametrize("on_degraded", ["warn", "raise", "ignore"])
@pytest.mark.parametrize("engine", ["braid", "langchain"])
@pytest.mark.usefixtures("outage")
def test_where_nothing_could_be_searched_it_raises(braid: Braid, engine: Any, on_degraded: Any) -> None:
    asked = braid.get_retriever(user_id=1, mode="semantic", engine=engine, on_degraded=on_degraded)
    with pytest.raises(DegradedError, match=r"nothing could be searched: dense.*the model server is down"):
        asked.invoke("pump")
    with pytest.raises(DegradedError, match="nothing could be searched"):
        asyncio.run(asked.ainvoke("pump"))


def test_where_there_is_nothing_it_does_not_raise(braid: Braid) -> None:
    asked = braid.get_retriever(user_id=1, mode="semantic", on_degraded="raise", filters=Filters(source_prefix="no/"))
    assert asked.invoke("pump") == []


# ---------------------------------------------------------------- documents and options


@pytest.mark.parametrize("engine", ["braid", "langchain"])
def test_one_passage_is_one_document_whatever_the_query(braid: Braid, engine: Any) -> None:
    asked = braid.get_retriever(user_id=1, engine=engine)
    writer = FakeListChatModel(responses=["leaking pump of hall 1\nhumming pump hall 2\nnew pump hall 3"])
    found = MultiQueryRetriever.from_llm(retriever=asked, llm=writer).invoke("which pump?")
    assert sorted(each.page_content for each in found) == sorted(TEXTS)


def test_scores_come_when_they_are_asked_for(braid: Braid) -> None:
    asked = braid.get_retriever(user_id=1, with_scores=True)
    assert all({"score", "legs"} <= found.metadata.keys() for found in asked.invoke("pump"))
    assert all(not {"score", "legs"} & found.metadata.keys() for found in asked.invoke("pump", with_scores=False))
    with pytest.raises(InvalidInputError, match="with_scores is 'yes'; it must be True or False"):
        braid.get_retriever(user_id=1, with_scores="yes")  # type: ignore[arg-type]


def test_options_come_as_vector_stores_take_them(braid: Braid) -> None:
    asked = braid.get_retriever(user_id=1, search_kwargs={"k": 2, "mode": "keyword", "with_scores": True})
    found = asked.invoke("pump")
    assert [set(each.metadata["legs"]) for each in found] == [{"bm25"}, {"bm25"}]
    assert len(asked.invoke("pump", search_kwargs={"k": 1})) == 1
    with pytest.raises(InvalidInputError, match="k is given twice, once in search_kwargs"):
        braid.get_retriever(user_id=1, k=3, search_kwargs={"k": 2})
    with pytest.raises(InvalidInputError, match=r"search_kwargs is \['k'\]; it must be a mapping"):
        braid.get_retriever(user_id=1, search_kwargs=["k"])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="there is no option 'kk'"):
        braid.get_retriever(user_id=1, search_kwargs={"kk": 2})


@pytest.mark.parametrize("datasets", [[NOTES, OPEN], [NOTES]])
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_fields_are_configurable(braid: Braid, datasets: list[int], mode: Any) -> None:
    asked = braid.get_retriever(user_id=1, dataset_ids=datasets, mode=mode, k=3).configurable_fields(
        k=ConfigurableField(id="k"),
        mode=ConfigurableField(id="mode"),
        filters=ConfigurableField(id="only"),
        search_kwargs=ConfigurableField(id="search_kwargs"),
    )
    assert len(asked.invoke("pump")) == 3
    assert len(asked.with_config(configurable={"k": 1}).invoke("pump")) == 1
    assert len(asked.invoke("pump", {"configurable": {"search_kwargs": {"k": 2}}})) == 2
    nothing = asked.with_config(configurable={"only": Filters(source_prefix="no/")})
    assert nothing.invoke("pump") == []
    found = asked.with_config(configurable={"mode": "semantic", "search_kwargs": {"with_scores": True}}).invoke("pump")
    assert {leg for each in found for leg in each.metadata["legs"]} == {"dense"}
    with pytest.raises(InvalidInputError, match="k is 0; it must be a whole number"):
        asked.with_config(configurable={"k": 0}).invoke("pump")


# ---------------------------------------------------------------- agents


class ScriptedModel(GenericFakeChatModel):
    """Says the messages it was given, one a call."""

    def bind_tools(self, tools: Any, **_: Any) -> ScriptedModel:  # type: ignore[override]
        return self


def called_with(**arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"id": str(arguments)[:40], "name": "search_documents", "args": arguments}])


def answers(braid: Braid, *calls: AIMessage, asynchronous: bool = False) -> list[ToolMessage]:
    """What the tool answers an agent whose model makes these calls."""
    script = iter([*calls, AIMessage("done")])
    agent = create_agent(ScriptedModel(messages=script), [braid.get_retriever(user_id=1, k=1).as_tool()])
    question: Any = {"messages": [("user", "Which pump?")]}
    messages = (asyncio.run(agent.ainvoke(question)) if asynchronous else agent.invoke(question))["messages"]
    assert messages[-1].content == "done"
    return [message for message in messages if isinstance(message, ToolMessage)]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_bad_call_of_the_tool_is_answered_and_the_agent_goes_on(braid: Braid, asynchronous: bool) -> None:
    calls = [called_with(query=""), called_with(query="x" * 20_000), called_with(q="pump"), called_with(query="hums")]
    empty, long, wrong, right = answers(braid, *calls, asynchronous=asynchronous)
    assert [said.status for said in (empty, long, wrong, right)] == ["error", "error", "error", "success"]
    assert empty.content == "the query is empty; type at least one word"
    assert "20000 characters; at most 10000" in str(long.content)
    assert "query" in str(wrong.content)
    assert right.content == "[notes.md] \nthe pump of hall 2 hums"


def test_the_tool_says_that_nothing_was_found_and_what_could_not_be_searched(
    braid: Braid, model: HashEmbeddings
) -> None:
    tool = braid.get_retriever(user_id=1, k=1, mode="keyword").as_tool()
    assert tool.invoke({"query": "zebra"}) == "No passage was found."
    model.failing = True
    try:
        (said,) = answers(braid, called_with(query="hums"))
    finally:
        model.failing = False
    assert "the pump of hall 2 hums\n\nNot everything could be searched: dense: " in str(said.content)


# ---------------------------------------------------------------- after the end


def test_a_closed_braid_says_so(tmp_path: Path) -> None:
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as closed:
        dataset = add_notes(closed.ledger)
        kept = closed.get_retriever(user_id=1)
    calls: list[Callable[[], Any]] = [
        lambda: kept.invoke("pump"),
        lambda: asyncio.run(kept.ainvoke("pump")),
        lambda: kept.as_tool().invoke({"query": "pump"}),
        lambda: closed.search("pump", user_id=1, dataset_ids=[dataset]),
        lambda: closed.get_retriever(user_id=1),
    ]
    for call in calls:
        with pytest.raises(ClosedError, match="this Braid is closed"):
            call()


class Hanging(HashEmbeddings):
    """Does not answer a query until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Event()

    def embed_query(self, text: str) -> list[float]:
        assert self.may.wait(WAIT_S)
        return super().embed_query(text)


def test_closing_does_not_wait_for_a_model_that_hangs(tmp_path: Path) -> None:
    embeddings, options = Hanging(), IndexOptions(leg_timeout_s=2.0)
    braid = ByHand(tmp_path, embedding_model=embeddings, index_options=options)
    braid.ledger.put_document(add_notes(braid.ledger), document("pump.md", "The pump runs"))
    catch_up(braid)
    found = braid.search("pump", user_id=1)
    assert [hit.passage.source for hit in found.hits] == ["pump.md"]
    assert any("took longer than 2 s" in part.reason for part in found.degraded)
    closing = threading.Thread(target=braid.close)
    closing.start()
    try:
        closing.join(WAIT_S / 2)
        assert not closing.is_alive()
    finally:
        embeddings.may.set()
        closing.join()


def test_the_process_ends_though_a_model_hangs(tmp_path: Path) -> None:
    program = f"""
import threading
from braid import Braid, IndexOptions
from tests.fakes import HashEmbeddings

class Hanging(HashEmbeddings):
    def embed_query(self, text):
        threading.Event().wait()

braid = Braid({str(tmp_path)!r}, embedding_model=Hanging(), index_options=IndexOptions(leg_timeout_s=2.0))
dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "notes").id
braid.add(["The pump runs"], dataset=dataset)
assert braid.indexer.wait(60)
print(len(braid.search("pump", user_id=1).hits))
braid.close()
"""
    ran = subprocess.run([sys.executable, "-c", program], timeout=WAIT_S, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "1\n"), ran.stderr
