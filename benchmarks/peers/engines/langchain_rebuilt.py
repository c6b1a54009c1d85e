"""LangChain's EnsembleRetriever as chat applications use it: BM25Retriever is built for each query."""

from __future__ import annotations

from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableLambda

from benchmarks.peers.engines import langchain_kept
from benchmarks.peers.interface import DEPTH

PASSAGES_PER_PAGE = 10_000


class Engine(langchain_kept.Engine):
    """Keeps no keyword retriever: nothing to bring up to date, and filters are applied before it is built."""

    about = "EnsembleRetriever over Chroma, and BM25Retriever built per query from all texts in Chroma"

    def _keep(self, name: str) -> None:
        self._documents[name] = []

    def _keyword(self, name: str, below: int | None) -> Runnable[str, list[Document]]:
        where = None if below is None else {"part": {"$lt": below}}
        documents: list[Document] = []
        while not len(documents) % PASSAGES_PER_PAGE:
            page = self._stores[name].get(where=where, limit=PASSAGES_PER_PAGE, offset=len(documents))
            if not page["ids"]:
                break
            pairs = zip(page["documents"], page["metadatas"], strict=True)
            documents += [Document(text, metadata=metadata) for text, metadata in pairs]
        if not documents:
            return RunnableLambda(lambda _: [])  # BM25Retriever cannot be built from nothing
        return BM25Retriever.from_documents(documents, k=DEPTH)
