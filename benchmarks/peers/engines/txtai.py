"""txtai: one embeddings database with vectors (faiss), its own BM25 and texts in SQLite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from txtai import Embeddings

from benchmarks.peers.interface import FloatVector, GivenVectors, Passage, everything


class Engine:
    """One database for all collections; it fuses scores, not ranks."""

    about = "one hybrid database with content (faiss, BM25, SQLite), SQL query"
    packages = ("txtai", "faiss-cpu", "torch")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._model = GivenVectors()
        self._embeddings = Embeddings(
            method="external",
            transform=lambda texts: self._transform(texts),  # txtai takes a function, and calls anything else
            hybrid=True,
            content=True,
        )

    def build(self, collections: Mapping[str, Sequence[Passage]]) -> None:
        passages = everything(collections)
        self._model.know(passages)
        self._embeddings.index(_rows(passages))
        self._embeddings.save(str(self._folder / "txtai"))
        self._model.forget()

    def search(self, text: str, vector: FloatVector, k: int, below: int | None) -> list[str]:
        self._model.know_query(text, vector)
        restriction = "" if below is None else f" and part < {below}"
        found = self._embeddings.search(
            f"select id, text, score from txtai where similar(:text){restriction}", k, parameters={"text": text}
        )
        return [row["id"] for row in found]

    def put(self, passage: Passage) -> None:
        self._model.know([passage])
        self._embeddings.upsert(_rows([passage]))

    def close(self) -> None:
        self._embeddings.close()

    def _transform(self, texts: Any) -> Any:
        if isinstance(texts, str):
            return np.array(self._model.embed_query(texts), dtype=np.float32)
        return np.array(self._model.embed_documents(list(texts)), dtype=np.float32)


def _rows(passages: Sequence[Passage]) -> Iterator[tuple[str, dict[str, Any]]]:
    for passage in passages:
        yield passage.id, {"text": passage.text, "part": passage.part}
