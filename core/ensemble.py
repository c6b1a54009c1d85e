"""LangChain's EnsembleRetriever over our legs. The only file that imports langchain-classic's class."""

from __future__ import annotations

from langchain_classic.retrievers.ensemble import EnsembleRetriever
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig

from braid.core.search_retriever import SearchRetriever

__all__ = ["BraidEnsembleRetriever", "EnsembleRetriever"]


class BraidEnsembleRetriever(SearchRetriever, EnsembleRetriever):
    """Holds one retriever a leg and collection; asks them in parallel and pools each leg before it fuses.

    The stock class asks one after another and fuses one list a collection, which ties every collection's first
    hit, relevant or not.
    """

    id_key: str | None = "id"

    def rank_fusion(
        self, query: str, run_manager: CallbackManagerForRetrieverRun, *, config: RunnableConfig | None = None
    ) -> list[Document]:
        """The fused hits as documents."""
        return self._get_relevant_documents(query, run_manager=run_manager)

    async def arank_fusion(
        self,
        query: str,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        *,
        config: RunnableConfig | None = None,
    ) -> list[Document]:
        """The fused hits as documents; the search runs in a thread."""
        return await self._aget_relevant_documents(query, run_manager=run_manager)
