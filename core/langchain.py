"""Braid's searches as LangChain retrievers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, NoReturn, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import run_in_executor
from langchain_core.tools import BaseTool, create_retriever_tool
from pydantic import BaseModel, ConfigDict, Field

from braid.core.metadata.values import RESERVED_KEY
from braid.core.search.pipeline import LegNames
from braid.core.stock_ensemble import EnsembleRetriever
from braid.core.types import LEGS_OF_MODE, CollectionScope, Leg, Mode, Scope, SearchResult

__all__ = [
    "Bm25Retriever",
    "BraidEnsembleRetriever",
    "DenseRetriever",
    "EnsembleRetriever",
    "LegRetriever",
    "NothingRetriever",
    "SearchRetriever",
    "make_retriever",
]

SearchFunction = Callable[..., SearchResult]
"""Takes the query, and as keywords the fields of `braid.core.types.SearchOptions` that differ in this call."""
TOOL_NAME = "search_documents"
TOOL_DESCRIPTION = (
    "Searches the user's documents by meaning and by keyword and returns the passages that fit best, each with the"
    " source to cite. Ask a full question or give the words that the passage would have; ask again in other words when"
    " the passages do not answer. Example: how long is the warranty of the pump?"
)
PASSAGE = PromptTemplate.from_template("[{source}] {heading_path}\n{page_content}")


class SearchRetriever(BaseRetriever):
    """A retriever that calls ``search``; without that function it finds nothing.

    Every call takes the fields of `braid.core.types.SearchOptions` as keywords: ``retriever.invoke("…", k=3)``. The
    user's datasets are not among them. Raises InvalidInputError for an empty query, and for a wrong or unknown option.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    search: SearchFunction | None = Field(default=None, exclude=True, repr=False)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the hits as documents, best first. Bypasses the stock ensemble's method, which drops the options."""
        return BaseRetriever.invoke(self, input, config, **kwargs)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the hits as documents, best first; the search runs in a thread."""
        return await BaseRetriever.ainvoke(self, input, config, **kwargs)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return [] if self.search is None else documents(self.search(query, **options))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        if self.search is None:
            return []
        search = self.search
        return documents(await run_in_executor(None, lambda: search(query, **options)))

    def as_tool(
        self,
        args_schema: type[BaseModel] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, type] | None = None,
    ) -> BaseTool:
        """Return a tool that takes a query and returns the passages as text with their sources, and the documents as
        artifact.

        With a schema or types of arguments it is LangChain's own, whose answer is the list of documents.
        """
        if args_schema is not None or arg_types is not None:
            return super().as_tool(args_schema, name=name, description=description, arg_types=arg_types)
        return create_retriever_tool(
            self,
            name or TOOL_NAME,
            description or TOOL_DESCRIPTION,
            document_prompt=PASSAGE,
            response_format="content_and_artifact",
        )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.model_copy()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: it holds the open indexes of this process; make it with"
            " get_retriever where it is used, or search through the app's API from other processes"
        )


class NothingRetriever(SearchRetriever):
    """A retriever for an empty scope, which finds nothing."""


class LegRetriever(SearchRetriever):
    """Searches one leg in one collection. Used alone it is a retriever like any other."""

    leg: ClassVar[Leg]
    scope: CollectionScope


class DenseRetriever(LegRetriever):
    """Searches one collection by meaning."""

    leg: ClassVar[Leg] = "dense"


class Bm25Retriever(LegRetriever):
    """Searches one collection by keyword."""

    leg: ClassVar[Leg] = "bm25"


class BraidEnsembleRetriever(SearchRetriever, EnsembleRetriever):
    """Holds one retriever per leg and collection; searches them in parallel and pools each leg before it fuses.

    The stock class asks its retrievers one after another and fuses one list per collection, so that the first hits of
    all collections are tied, relevant or not.
    """

    id_key: str | None = "id"

    def rank_fusion(
        self, query: str, run_manager: CallbackManagerForRetrieverRun, *, config: RunnableConfig | None = None
    ) -> list[Document]:
        """Return the fused hits as documents."""
        return self._get_relevant_documents(query, run_manager=run_manager)

    async def arank_fusion(
        self,
        query: str,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        *,
        config: RunnableConfig | None = None,
    ) -> list[Document]:
        """Return the fused hits as documents; the search runs in a thread."""
        return await self._aget_relevant_documents(query, run_manager=run_manager)


def make_retriever(scope: Scope, mode: Mode, search: Callable[..., SearchResult]) -> SearchRetriever:
    """Return an ensemble for several legs or collections, a leg's own retriever for one, or one that finds nothing.

    ``search`` takes the legs to ask, the query, and as keywords the options that differ in this call.
    """
    retrievers = [
        _leg_retriever(leg, collection, search) for collection in scope.collections for leg in LEGS_OF_MODE[mode]
    ]
    if not retrievers:
        return NothingRetriever()
    if len(retrievers) == 1:
        return retrievers[0]
    return BraidEnsembleRetriever(retrievers=list(retrievers), weights=[], search=partial(search, _names(retrievers)))


def _leg_retriever(leg: Leg, scope: CollectionScope, search: Callable[..., SearchResult]) -> LegRetriever:
    retriever = (DenseRetriever if leg == "dense" else Bm25Retriever)(scope=scope)
    retriever.search = partial(search, _names([retriever]))
    return retriever


def _names(retrievers: Sequence[LegRetriever]) -> LegNames:
    return frozenset((retriever.leg, retriever.scope.collection) for retriever in retrievers)


def documents(result: SearchResult) -> list[Document]:
    """Return the hits as LangChain documents, best first.

    What Braid knows of a passage is under ``braid``, and beside it under the names that have no value of the host's
    own: the metadata that a document was stored with is never replaced.
    """
    found = []
    for hit in result.hits:
        ours = {
            "id": hit.passage.chunk_id,
            "source": hit.passage.source,
            "title": hit.passage.title,
            "heading_path": hit.passage.heading_path,
            "page": hit.passage.page,
            "dataset_id": hit.passage.dataset_id,
            "collection": hit.passage.collection,
            "score": hit.score,
            **({} if hit.rerank_score is None else {"rerank_score": hit.rerank_score}),
            "legs": {leg.leg: {"rank": leg.rank, "score": leg.score, "share": leg.share} for leg in hit.legs},
        }
        metadata = {**ours, **hit.passage.metadata, RESERVED_KEY: ours}
        found.append(Document(id=hit.passage.chunk_id, page_content=hit.passage.text, metadata=metadata))
    return found
