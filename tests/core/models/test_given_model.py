"""Chat models that a program has as LangChain's objects; and who hears of the calls to a model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableLambda

from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, ModelError
from braid.core.models.chat import ChatModel, ChatModels
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, add_notes, catch_up, document

USAGE = UsageMetadata(input_tokens=10, output_tokens=5, total_tokens=15)
QUESTION = [("user", "question")]


class Heard(BaseCallbackHandler):
    """Keeps which runs began, each with that of its parent."""

    def __init__(self) -> None:
        self.began: list[str] = []

    def on_retriever_start(self, *args: Any, **options: Any) -> None:
        self.began.append("leg" if options["parent_run_id"] else "retriever")

    def on_chat_model_start(self, *args: Any, **options: Any) -> None:
        self.began.append("model" if options["parent_run_id"] else "model alone")


def counted(*texts: str) -> GenericFakeChatModel:
    """A model that writes these, and says how many tokens it took."""
    replies = [AIMessage(text, usage_metadata=USAGE, response_metadata={"model_name": "counted"}) for text in texts]
    return GenericFakeChatModel(messages=iter(replies))


@pytest.fixture
def braid(tmp_path: Path) -> Iterator[Braid]:
    models = ChatModels(search=FakeListChatModel(responses=["pump\nvalve"]))
    with ByHand(tmp_path, embedding_model=HashEmbeddings(), models=models) as opened:
        dataset = add_notes(opened.ledger)
        opened.ledger.put_document(dataset, document("a.md", "the pump", "the valve"))
        catch_up(opened)
        yield opened


def test_a_chat_model_is_asked_for_queries(braid: Braid) -> None:
    result = braid.search("machine", user_id=1, strategy="multi_query")
    assert result.queries == ("machine", "pump", "valve")
    assert (result.generator, result.degraded) == ("fakelistchatmodel:FakeListChatModel", ())


def test_a_runnable_over_a_model_is_one() -> None:
    broken = RunnableLambda(lambda _: 1 / 0)
    models = ChatModels(summary=broken.with_fallbacks([FakeListChatModel(responses=["an answer"])]))
    assert models.summary is not None
    assert models.summary.complete(QUESTION) == "an answer"
    assert "".join(models.summary.stream(QUESTION)) == "an answer"
    alone = ChatModels(search=broken).search
    assert alone is not None
    with pytest.raises(ModelError, match=r"the model langchain:RunnableLambda failed: .*division by zero"):
        alone.complete(QUESTION)


def test_what_is_no_model_is_refused_when_it_is_given() -> None:
    with pytest.raises(InvalidInputError, match="the search model is of the type str; give one of LangChain's") as no:
        ChatModels(search="openai:gpt-4.1-mini")  # type: ignore[arg-type]
    assert no.value.field == "search"


@pytest.mark.parametrize("call", ["invoke", "ainvoke"])
def test_the_callbacks_of_a_retriever_hear_of_the_models_calls(braid: Braid, call: str) -> None:
    braid.manager.use_models(lambda: ChatModels(search=counted("valve")))
    heard, retriever = Heard(), braid.get_retriever("multi_query", user_id=1)
    with get_usage_metadata_callback() as usage:
        if call == "invoke":
            found = retriever.invoke("machine", {"callbacks": [heard]})
        else:
            found = asyncio.run(retriever.ainvoke("machine", {"callbacks": [heard]}))
    assert len(found) == 2
    assert heard.began == ["retriever", "leg", "leg", "model"]
    assert usage.usage_metadata["counted"]["total_tokens"] == USAGE["total_tokens"]


def test_searches_and_streams_belong_to_the_run_they_are_made_in(braid: Braid) -> None:
    models = ChatModels(search=counted("valve"), summary=counted("an answer"))
    braid.manager.use_models(lambda: models)
    summary = models.summary
    assert isinstance(summary, ChatModel)

    def chain(question: str) -> str:
        return f"{len(braid.search(question, user_id=1, strategy='hyde').hits)} {''.join(summary.stream(QUESTION))}"

    heard = Heard()
    assert RunnableLambda(chain).invoke("valve", {"callbacks": [heard]}) == "2 an answer"
    assert heard.began == ["model", "model"]
