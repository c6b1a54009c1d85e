"""Braid as a library: one shared dataset per collection, documents of several passages, the default options."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.peers.interface import FloatVector, GivenVectors, IncompleteError, Passage, everything
from braid import Braid, ChunkInput, DocumentInput, Filters, IndexOptions

PASSAGES_PER_PUT = 5_000
INDEXING_TIMEOUT_S = 36_000
LEG_TIMEOUT_S = 60.0
"""So many that a slow answer is measured, and not one that leaves a leg out."""


class Engine:
    """Braid. A document's part is its date, so that a filter is one by date."""

    about = "one shared dataset per collection; filter by date"
    packages = ("chromadb", "tantivy")

    def __init__(self, folder: Path) -> None:
        self._model = GivenVectors()
        options = IndexOptions(leg_timeout_s=LEG_TIMEOUT_S)
        self._braid = Braid(folder / "data", embedding_model=self._model, index_options=options)
        self._datasets: dict[str, int] = {}

    def build(self, collections: Mapping[str, Sequence[Passage]]) -> None:
        self._model.know(everything(collections))
        for name in collections:
            self._datasets[name] = self._braid.registry.add(name, f"shared_{name}").id
        self._braid.mirror_registry()
        for name, passages in collections.items():
            documents = _documents(passages)
            while batch := list(itertools.islice(documents, PASSAGES_PER_PUT)):
                self._braid.ledger.put_documents(self._datasets[name], batch)
        if not self._braid.indexer.wait(INDEXING_TIMEOUT_S):
            raise RuntimeError(f"not indexed within {INDEXING_TIMEOUT_S} s")
        self._model.forget()

    def attach(self, collections: Sequence[str]) -> None:
        """Search what another process has built, as a guest of it."""
        ids = {entry.name: entry.id for entry in self._braid.registry.entries()}
        self._datasets = {name: ids[name] for name in collections}

    def settle(self) -> None:
        """Wait for the copy of the vectors in Chroma, which no search here asks."""
        if not self._braid.indexer.wait(INDEXING_TIMEOUT_S, ["chroma"]):
            raise RuntimeError(f"not copied within {INDEXING_TIMEOUT_S} s")

    def search(self, text: str, vector: FloatVector, k: int, below: int | None) -> list[str]:
        self._model.know_query(text, vector)
        filters = Filters() if below is None else Filters(date_to=below - 0.5)
        datasets = list(self._datasets.values())
        result = self._braid.search(text, user_id=None, dataset_ids=datasets, k=k, filters=filters)
        found = []
        for hit in result.hits:
            found += [f"{hit.passage.source}#{hit.passage.position}"]
            found += [f"{other.source}#0" for other in hit.also_in]  # judged documents are of one passage
        if result.degraded:
            raise IncompleteError(result.degraded[0].reason, found[:k])
        return found[:k]

    def put(self, passage: Passage) -> None:
        self._model.know([passage])
        for document in _documents([passage]):
            self._braid.ledger.put_document(self._datasets[passage.collection], document)
        self._braid.wake()

    def close(self) -> None:
        self._braid.close()


def _documents(passages: Iterable[Passage]) -> Iterator[DocumentInput]:
    for source, group in itertools.groupby(passages, key=lambda passage: passage.document):
        members = list(group)
        chunks = tuple(ChunkInput(passage.text) for passage in members)
        yield DocumentInput(source, "", "txt", chunks, date=float(members[0].part))
