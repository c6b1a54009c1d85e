"""LangChain's EnsembleRetriever: a Chroma collection and a BM25Retriever per collection, both kept between queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableLambda

from benchmarks.peers.interface import DEPTH, FloatVector, GivenVectors, Passage, everything

PASSAGES_PER_ADD = 5_000


class Engine:
    """Two retrievers per collection. BM25Retriever knows no filter, so its hits are filtered afterwards."""

    about = "EnsembleRetriever over Chroma and BM25Retriever, both kept; one pair per collection"
    packages = ("langchain-classic", "langchain-chroma", "langchain-community", "rank-bm25")

    def __init__(self, folder: Path) -> None:
        self._model = GivenVectors()
        self._client = chromadb.PersistentClient(folder / "chroma", Settings(anonymized_telemetry=False))
        self._stores: dict[str, Chroma] = {}
        self._documents: dict[str, list[Document]] = {}
        self._bm25: dict[str, BM25Retriever] = {}

    def build(self, collections: Mapping[str, Sequence[Passage]]) -> None:
        self._model.know(everything(collections))
        for name, passages in collections.items():
            cosine = {"hnsw": {"space": "cosine"}}
            store = Chroma(name, self._model, client=self._client, collection_configuration=cosine)
            self._stores[name] = store
            documents = [_document(passage) for passage in passages]
            for start in range(0, len(documents), PASSAGES_PER_ADD):
                store.add_documents(documents[start : start + PASSAGES_PER_ADD])
            self._documents[name] = documents
            self._keep(name)
        self._model.forget()

    def search(self, text: str, vector: FloatVector, k: int, below: int | None) -> list[str]:
        self._model.know_query(text, vector)
        retrievers: list[Runnable[str, list[Document]]] = []
        for name in self._stores:
            retrievers += [self._dense(name, below), self._keyword(name, below)]
        ensemble = EnsembleRetriever(retrievers=retrievers, id_key="id")
        return [document.metadata["id"] for document in ensemble.invoke(text)][:k]

    def put(self, passage: Passage) -> None:
        self._model.know([passage])
        document = _document(passage)
        self._stores[passage.collection].add_documents([document])
        self._documents[passage.collection].append(document)
        self._keep(passage.collection)

    def close(self) -> None:
        self._client.close()

    def _keep(self, name: str) -> None:
        """Build the keyword retriever, which cannot be added to."""
        self._bm25[name] = BM25Retriever.from_documents(self._documents[name], k=DEPTH)

    def _dense(self, name: str, below: int | None) -> Runnable[str, list[Document]]:
        options: dict[str, Any] = {"k": DEPTH}
        if below is not None:
            options["filter"] = {"part": {"$lt": below}}
        return self._stores[name].as_retriever(search_kwargs=options)

    def _keyword(self, name: str, below: int | None) -> Runnable[str, list[Document]]:
        kept = self._bm25[name]
        if below is None:
            return kept
        deeper = kept.model_copy(update={"k": len(self._documents[name])})
        return deeper | RunnableLambda(lambda found: [hit for hit in found if hit.metadata["part"] < below][:DEPTH])


def _document(passage: Passage) -> Document:
    return Document(passage.text, id=passage.id, metadata={"id": passage.id, "part": passage.part})
