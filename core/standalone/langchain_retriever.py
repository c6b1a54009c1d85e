"""`HybridRetriever` as one of LangChain's retrievers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, Self

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field


class HybridChromaRetriever(BaseRetriever):
    """Returns what `HybridRetriever.search` finds as documents, best first; a call may change the options of `search`:
    ``retriever.invoke("…", top_k=3)``. Made by `HybridRetriever.as_retriever`.
    """

    hybrid: Any = Field(exclude=True, repr=False)
    """The `HybridRetriever`."""
    options: Mapping[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        found = self.hybrid.search(query, **{**self.options, **options})
        return [Document(hit["document"], metadata=dict(hit["metadata"]), id=hit["id"]) for hit in found]

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.model_copy(update={"options": dict(self.options)})

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: it holds an open collection of this process; make it with"
            " as_retriever where it is used"
        )
