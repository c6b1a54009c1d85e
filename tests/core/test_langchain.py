"""Braid in LangChain and LangGraph programs: the standard tests, chains, tools, agents, events, calls and copies."""

from __future__ import annotations

import asyncio
import copy
import itertools
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.load import dumpd, dumps, loads
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import BaseTool, create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, add_notes, catch_up, ids

NOTES, GUIDE = 1, -1
KINDS = {
    "ensemble": {"dataset_ids": (NOTES, GUIDE)},
    "dense": {"dataset_ids": (NOTES,), "mode": "semantic"},
    "bm25": {"dataset_ids": (NOTES,), "mode": "keyword"},
}
METADATA = {"id", "source", "title", "heading_path", "page", "dataset_id", "collection"}


@pytest.fixture(scope="module")
def braid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    with ByHand(tmp_path_factory.mktemp("langchain"), embedding_model=HashEmbeddings()) as opened:
        add_notes(opened.ledger)
        opened.registry.add("guide", "shared_guide")
        opened.mirror_registry()
        notes = [f"the pump of hall {n} runs at {n} bar" for n in range(1, 8)]
        guide = [f"the warranty of pump {n} lasts {n} years" for n in range(1, 8)]
        for dataset, source, texts in ((NOTES, "notes.md", notes), (GUIDE, "guide.md", guide)):
            chunks = tuple(ChunkInput(text, f"Part {n}", page=n) for n, text in enumerate(texts, start=1))
            opened.ledger.put_document(dataset, DocumentInput(source, source.title(), "md", chunks))
        catch_up(opened)
        yield opened


@pytest.fixture(params=list(KINDS))
def retriever(request: pytest.FixtureRequest, braid: Braid) -> Any:
    return braid.manager.get_retriever(user_id=1, **KINDS[request.param])


class Standard(RetrieversIntegrationTests):
    """LangChain's own tests, over what the manager makes of the options."""

    options: dict[str, Any]

    @pytest.fixture(autouse=True)
    def _manager(self, braid: Braid) -> None:
        self.manager = braid.manager

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return self.manager.get_retriever  # type: ignore[return-value]  # called like a class

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"user_id": 1, **self.options}

    @property
    def retriever_query_example(self) -> str:
        return "the pump"


class TestStandardEnsemble(Standard):
    options = KINDS["ensemble"]


class TestStandardDense(Standard):
    options = KINDS["dense"]


class TestStandardBm25(Standard):
    options = KINDS["bm25"]


# ---------------------------------------------------------------- calls


def test_a_document_tells_where_it_is_from(retriever: BaseRetriever) -> None:
    for found in retriever.invoke("warranty of the pump"):
        assert set(found.metadata) == METADATA | {"braid"}
        assert found.metadata["braid"] == {name: found.metadata[name] for name in METADATA}
        assert found.id == found.metadata["id"]
        assert found.metadata["heading_path"] == f"Part {found.metadata['page']}"


def test_options_of_one_call_hold_for_this_call(retriever: BaseRetriever) -> None:
    many = retriever.invoke("the pump", k=6)
    assert (len(many), len(retriever.invoke("the pump"))) == (6, 5)
    assert ids(retriever.bind(k=6).invoke("the pump")) == ids(many)
    assert ids(asyncio.run(retriever.ainvoke("the pump", k=6))) == ids(many)
    assert [len(found) for found in retriever.batch(["the pump", "hall"], k=2)] == [2, 2]


def test_the_mode_of_one_call_may_be_another(braid: Braid, retriever: BaseRetriever) -> None:
    (found, *_) = retriever.invoke("hall 3 bar", mode="keyword", with_scores=True)
    assert set(found.metadata["legs"]) == {"bm25"}


@pytest.mark.parametrize("option", ["user_id", "dataset_ids", "strategy", "fnord"])
def test_a_call_cannot_change_the_scope(retriever: BaseRetriever, option: str) -> None:
    with pytest.raises(InvalidInputError, match=f"there is no option '{option}'"):
        retriever.invoke("the pump", **{option: 7})


class Seen(BaseCallbackHandler):
    """Writes down what a tracer is told at the start of a retriever."""

    def __init__(self) -> None:
        self.starts: list[dict[str, Any]] = []

    def on_retriever_start(self, serialized: dict[str, Any], query: str, **told: Any) -> None:
        self.starts.append({"query": query, **told})


def is_leg(tags: Sequence[str]) -> bool:
    """Whether a run with these tags is that of a leg of an ensemble."""
    return any(tag.startswith("retriever_") for tag in tags)


def test_callbacks_tags_and_names_are_passed_on(retriever: BaseRetriever) -> None:
    seen = Seen()
    config: Any = {"callbacks": [seen], "tags": ["t"], "metadata": {"m": 1}, "run_name": "lookup"}
    retriever.with_config(tags=["always"]).invoke("the pump", config)
    (start,) = (each for each in seen.starts if not is_leg(each["tags"]))
    assert (start["query"], start["name"]) == ("the pump", "lookup")
    assert set(start["tags"]) == {"t", "always"}
    assert start["metadata"]["m"] == 1


def test_batches_are_in_order_and_take_a_config_each(retriever: BaseRetriever) -> None:
    queries, seen = ["hall 3", "warranty", "bar 5"], [Seen(), Seen(), Seen()]
    expected = [ids(retriever.invoke(query)) for query in queries]
    configs: Any = [{"callbacks": [each]} for each in seen]
    assert [ids(found) for found in retriever.batch(queries, configs)] == expected
    assert [ids(found) for found in asyncio.run(retriever.abatch(queries, {"max_concurrency": 2}))] == expected
    assert [start["query"] for each in seen for start in each.starts if not is_leg(start["tags"])] == queries


def test_one_bad_query_of_a_batch_does_not_cost_the_others(retriever: BaseRetriever) -> None:
    good, bad = retriever.batch(["the pump", " "], return_exceptions=True)
    assert len(good) == 5
    assert isinstance(bad, InvalidInputError)


def test_events_of_a_chain_name_the_retriever_and_its_documents(retriever: BaseRetriever) -> None:
    chain = retriever | RunnableLambda(ids)

    async def events() -> list[Any]:
        return [event async for event in chain.astream_events("the pump", version="v2")]

    heard = [event for event in asyncio.run(events()) if event["event"].startswith("on_retriever")]
    told = [event for event in heard if not is_leg(event["tags"])]
    legs = [event for event in heard if is_leg(event["tags"])]
    assert len(legs) in (0, 2 * len(getattr(retriever, "retrievers", ())))
    assert not legs or [each["event"] for each in heard][-1] == told[-1]["event"]
    assert [event["event"] for event in told] == ["on_retriever_start", "on_retriever_end"]
    assert told[0]["data"]["input"]["query"] == "the pump"
    assert ids(told[1]["data"]["output"]) == ids(retriever.invoke("the pump"))


# ---------------------------------------------------------------- chains


def test_a_chain_answers_from_the_passages(retriever: BaseRetriever) -> None:
    prompts: list[str] = []

    def answer(prompt: Any) -> AIMessage:
        prompts.append(prompt.to_string())
        return AIMessage("by the book")

    def joined(found: Sequence[Document]) -> str:
        return "\n".join(f"[{document.metadata['source']}] {document.page_content}" for document in found)

    prompt = ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")
    ask = {"context": retriever | joined, "question": RunnablePassthrough()}
    chain: Any = ask | prompt | RunnableLambda(answer) | StrOutputParser()
    assert chain.invoke("bar in hall 3") == "by the book"
    assert list(chain.stream("bar in hall 3")) == ["by the book"]
    assert prompts[0] == prompts[1]
    assert "[notes.md] the pump of hall 3 runs at 3 bar" in prompts[0]


# ---------------------------------------------------------------- tools and agents


def test_langchains_tool_maker_takes_it(retriever: BaseRetriever) -> None:
    tool = create_retriever_tool(retriever, "lookup", "Looks it up.")
    assert "the pump of hall 3 runs at 3 bar" in tool.invoke({"query": "bar in hall 3"})


def test_as_a_tool_it_names_sources_and_keeps_the_documents(retriever: Any) -> None:
    tool: BaseTool = retriever.as_tool()
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"query": "bar in hall 3"}}
    for said in (tool.invoke(call), asyncio.run(tool.ainvoke(call))):
        assert isinstance(said, ToolMessage)
        assert "[notes.md] Part 3\nthe pump of hall 3 runs at 3 bar" in said.content
        assert ids(said.artifact) == ids(retriever.invoke("bar in hall 3"))
    assert set(tool.args) == {"query"}
    assert (retriever.as_tool(name="pumps", description="Of pumps.").name, tool.name) == ("pumps", "search_documents")


class ScriptedModel(GenericFakeChatModel):
    """Says the messages it was given, one a call, whatever tools it is told of."""

    def bind_tools(self, tools: Any, **_: Any) -> ScriptedModel:  # type: ignore[override]
        return self


def searching(query: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"id": query, "name": "search_documents", "args": {"query": query}}])


def from_what_was_found(messages: Sequence[BaseMessage]) -> str:
    sources = {document.metadata["source"] for said in messages for document in getattr(said, "artifact", None) or []}
    return f"3 bar, 3 years {sorted(sources)}"


def test_an_agent_answers_from_two_datasets(braid: Braid) -> None:
    tool = braid.manager.get_retriever(user_id=1, dataset_ids=(NOTES, GUIDE)).as_tool()
    script = [searching("bar in hall 3"), searching("warranty of pump 3"), AIMessage("3 bar, 3 years")]
    agent = create_agent(ScriptedModel(messages=iter(script)), [tool])
    said = agent.invoke({"messages": [("user", "How long, and at what pressure?")]})["messages"]
    found = [document for message in said if isinstance(message, ToolMessage) for document in message.artifact]
    assert {document.metadata["dataset_id"] for document in found} == {NOTES, GUIDE}
    assert {"the pump of hall 3 runs at 3 bar", "the warranty of pump 3 lasts 3 years"} <= {
        document.page_content for document in found
    }
    assert said[-1].content == "3 bar, 3 years"


def test_a_graph_with_memory_keeps_the_passages(braid: Braid) -> None:
    tool = braid.manager.get_retriever(user_id=1, dataset_ids=(NOTES, GUIDE)).as_tool()
    script = itertools.cycle([searching("bar in hall 3"), None])

    def model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [next(script) or AIMessage(from_what_was_found(state["messages"]))]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([tool]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    program = graph.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    said = program.invoke({"messages": [("user", "At what pressure?")]}, thread)["messages"]
    kept = program.get_state(thread).values["messages"]
    assert said[-1].content == "3 bar, 3 years ['guide.md', 'notes.md']"
    assert [message.content for message in kept] == [message.content for message in said]
    assert [document["id"] for document in kept[2].artifact] == ids(said[2].artifact)


# ---------------------------------------------------------------- copies


@pytest.mark.filterwarnings("ignore:The function `loads` is in beta")
def test_documents_can_be_pickled_and_written_as_json(retriever: BaseRetriever) -> None:
    found = retriever.invoke("the pump")
    assert pickle.loads(pickle.dumps(found)) == found
    assert loads(dumps(found), allowed_objects="core") == found


def test_a_retriever_can_be_copied_and_described_but_not_pickled(retriever: BaseRetriever) -> None:
    expected = ids(retriever.invoke("the pump"))
    for other in (copy.copy(retriever), copy.deepcopy(retriever), retriever.model_copy()):
        assert ids(other.invoke("the pump")) == expected
    assert dumpd(retriever)["type"] == "not_implemented"
    with pytest.raises(TypeError, match="make it with get_retriever where it is used"):
        pickle.dumps(retriever)
