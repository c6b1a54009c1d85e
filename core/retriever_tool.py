"""A retriever as a tool for agents: what a model sends and cannot be searched for is answered, not raised."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.documents import Document
from langchain_core.prompts import PromptTemplate, format_document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from braid.core.errors import InvalidInputError
from braid.core.types import MAX_QUERY_CHARS

DEGRADED_EVENT = "braid_degraded"
"""Name of the event that tells callbacks what could not be searched, as ``{"missing": [reason, …]}``."""
TOOL_NAME = "search_documents"
TOOL_DESCRIPTION = (
    "Searches the user's documents by meaning and by keyword and returns the passages that fit best, each with the"
    " source to cite. Ask a full question or give the words that the passage would have; ask again in other words when"
    " the passages do not answer. Example: how long is the warranty of the pump?"
)
NOTHING_FOUND = "No passage was found."
PASSAGE = PromptTemplate.from_template("[{source}] {heading_path}\n{page_content}")


class SearchInput(BaseModel):
    """The arguments that a model sends."""

    query: str = Field(description=f"a question or words to search for, up to {MAX_QUERY_CHARS} characters")


def search_tool(retriever: BaseRetriever, name: str | None = None, description: str | None = None) -> BaseTool:
    """Return a tool whose answer is the passages with their sources, and whose artifact is the documents.

    A query that is refused is answered with the reason, so that the model can send another one. What could not be
    searched is named at the end of the answer.
    """

    def search(query: str, callbacks: Callbacks = None) -> tuple[str, list[Document]]:
        heard = _Missing()
        try:
            found = retriever.invoke(query, heard.config(callbacks))
        except InvalidInputError as error:
            raise _answerable(error) from error
        return _text(found, heard.missing), found

    async def asearch(query: str, callbacks: Callbacks = None) -> tuple[str, list[Document]]:
        heard = _Missing()
        try:
            found = await retriever.ainvoke(query, heard.config(callbacks))
        except InvalidInputError as error:
            raise _answerable(error) from error
        return _text(found, heard.missing), found

    return StructuredTool(
        name=name or TOOL_NAME,
        description=description or TOOL_DESCRIPTION,
        func=search,
        coroutine=asearch,
        args_schema=SearchInput,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error="the tool takes one argument, query, which is a text",
    )


def _answerable(error: InvalidInputError) -> Exception:
    """Return an error that becomes the tool's answer, if the model can do better; else the error itself."""
    return ToolException(str(error)) if error.field == "query" else error


def _text(found: list[Document], missing: list[str]) -> str:
    passages = "\n\n".join(format_document(document, PASSAGE) for document in found) or NOTHING_FOUND
    return f"{passages}\n\nNot everything could be searched: {'; '.join(missing)}" if missing else passages


class _Missing(BaseCallbackHandler):
    """Hears of one search what it could not search."""

    def __init__(self) -> None:
        self.missing: list[str] = []

    def config(self, callbacks: Callbacks) -> RunnableConfig:
        """Return a config with these callbacks and this one."""
        if not isinstance(callbacks, BaseCallbackManager):
            return {"callbacks": [*(callbacks or []), self]}
        with_this = callbacks.copy()
        with_this.add_handler(self)
        return {"callbacks": with_this}

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **_: Any) -> None:
        if name == DEGRADED_EVENT:
            self.missing += data["missing"]
