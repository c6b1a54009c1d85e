"""LangChain's EnsembleRetriever over our legs. The only file that imports langchain-classic's class."""

from __future__ import annotations

from langchain_classic.retrievers.ensemble import EnsembleRetriever
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import run_in_executor
from pydantic import ConfigDict, Field

from core.leg_retrievers import Search, documents

__all__ = ["BraidEnsembleRetriever", "EnsembleRetriever"]


class BraidEnsembleRetriever(EnsembleRetriever):
    """Holds one retriever a leg and collection; asks them in parallel and pools each leg before it fuses.

    The stock class asks one after another and fuses one list a collection, which ties every collection's first
    hit, relevant or not.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    id_key: str | None = "id"
    search: Search = Field(exclude=True, repr=False)

    def rank_fusion(
        self, query: str, run_manager: CallbackManagerForRetrieverRun, *, config: RunnableConfig | None = None
    ) -> list[Document]:
        """The fused hits as documents."""
        return documents(self.search(query))

    async def arank_fusion(
        self,
        query: str,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        *,
        config: RunnableConfig | None = None,
    ) -> list[Document]:
        """The fused hits as documents; the search runs in a thread."""
        return documents(await run_in_executor(None, self.search, query))
