"""What all our retrievers share as LangChain retrievers: options for one call, a tool for agents, copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import run_in_executor
from langchain_core.tools import BaseTool, create_retriever_tool
from pydantic import BaseModel, ConfigDict, Field

from braid.core.types import SearchResult

Search = Callable[..., SearchResult]
"""From the query, and as keywords the fields of `braid.core.types.Query` that are to be others in this call."""
TOOL_NAME = "search_documents"
TOOL_DESCRIPTION = (
    "Searches the user's documents by meaning and by keyword and returns the passages that fit best, each with the"
    " source to cite. Ask a full question or give the words that the passage would have; ask again in other words when"
    " the passages do not answer. Example: how long is the warranty of the pump?"
)
PASSAGE = PromptTemplate.from_template("[{source}] {heading_path}\n{page_content}")


class SearchRetriever(BaseRetriever):
    """A retriever that asks ``search``; without one it finds nothing.

    Every call takes the fields of `braid.core.types.Query` as keywords: ``retriever.invoke("…", k=3)``. What the user
    may
    read is none of them. Raises InvalidInputError for an empty query, and an option that is wrong or unknown.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    search: Search | None = Field(default=None, exclude=True, repr=False)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The hits as documents, best first; the base class's own, because the stock ensemble's drops the options."""
        return BaseRetriever.invoke(self, input, config, **kwargs)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """`invoke`, with the search in a thread."""
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
        """A tool that takes a query and gives the passages as text with their sources, and the documents as artifact.

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
    """Finds nothing: the scope is empty."""


def documents(result: SearchResult) -> list[Document]:
    """The hits as LangChain documents, best first."""
    return [
        Document(
            id=hit.passage.chunk_id,
            page_content=hit.passage.text,
            metadata={
                **hit.passage.metadata,
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
            },
        )
        for hit in result.hits
    ]
