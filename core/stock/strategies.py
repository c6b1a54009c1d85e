"""LangChain's classes for multi_query, compression and hyde, over its ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langchain_classic.chains import HypotheticalDocumentEmbedder
from langchain_classic.retrievers import ContextualCompressionRetriever, MultiQueryRetriever
from langchain_classic.retrievers.document_compressors import LLMChainExtractor
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.prompt_values import PromptValue
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from braid.core.models.chat import Message
from braid.core.search.pipeline import Search

HYDE_PROMPT = "web_search"
ROLES: Mapping[str, str] = {"human": "user", "ai": "assistant"}


class AskedPrompts:
    """What one search asks of its chat model, as LangChain's classes ask it: equal prompts once.

    With ``fails``, the search is for the query alone. Raises ModelError from within LangChain's classes.
    """

    def __init__(self, search: Search, *, fails: bool = False) -> None:
        self.strategy = "basic" if fails else search.strategy_name
        self.fetch_k = search.query.fetch_k
        self.generator = "none"
        """The model's name once it has answered."""
        self._search = search
        self._answers: dict[tuple[Message, ...], str] = {}

    @property
    def model(self) -> Any:
        """The chat model for LangChain's classes: a Runnable from a prompt to a text."""
        return RunnableLambda(self._complete)

    def _complete(self, prompt: PromptValue) -> str:
        messages = tuple((ROLES.get(each.type, each.type), str(each.text)) for each in prompt.to_messages())
        model, trace = self._search.models.chat.search, self._search.trace
        assert model is not None, "the request was checked"
        if messages not in self._answers:
            trace.model_calls += 1
            with trace.stage("model"):
                self._answers[messages] = model.complete(messages)
            self.generator = model.name
        return self._answers[messages]


class First(BaseRetriever):
    """The first documents of another retriever: the ensemble has no k, and each document is a call to the model."""

    of: BaseRetriever
    k: int

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return self.of.invoke(query, {"callbacks": run_manager.get_child()})[: self.k]


def by_strategy(search: Search, asked: AskedPrompts, ensemble: BaseRetriever) -> BaseRetriever:
    """Return the retriever of the search's strategy over the ensemble; ``hyde`` is in its embeddings already."""
    if asked.strategy == "multi_query":
        return MultiQueryRetriever.from_llm(retriever=ensemble, llm=asked.model)
    if asked.strategy == "compression":
        extractor = LLMChainExtractor.from_llm(llm=asked.model)
        first = First(of=ensemble, k=search.overfetched_query.candidates)
        return ContextualCompressionRetriever(base_compressor=extractor, base_retriever=first)
    return ensemble


def embeddings_for(asked: AskedPrompts, embeddings: Embeddings) -> Embeddings:
    """Return the embeddings that queries are embedded with: of ``hyde``, of a passage that the model writes."""
    if asked.strategy != "hyde":
        return embeddings
    return cast(
        "Embeddings",
        HypotheticalDocumentEmbedder.from_llm(asked.model, base_embeddings=embeddings, prompt_key=HYDE_PROMPT),
    )
