"""The floor: tantivy and Chroma themselves, one index of each per collection, fused by rank."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import chromadb
import tantivy
from chromadb.config import Settings

from benchmarks.peers.interface import DEPTH, FloatVector, Passage, fuse

PASSAGES_PER_ADD = 5_000
WRITER_BYTES = 50_000_000
WORD = re.compile(r"\w+")


class Engine:
    """No ledger, no users, no texts kept outside the indexes: what a search costs at the least."""

    about = "one tantivy index (en_stem) and one Chroma collection per collection, asked one after the other"
    packages = ("tantivy", "chromadb")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client = chromadb.PersistentClient(folder / "chroma", Settings(anonymized_telemetry=False))
        self._vectors: dict[str, chromadb.Collection] = {}
        self._texts: dict[str, tantivy.Index] = {}

    def build(self, collections: Mapping[str, Sequence[Passage]]) -> None:
        for name, passages in collections.items():
            self._vectors[name] = self._client.create_collection(
                name, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
            )
            (self._folder / name).mkdir()
            self._texts[name] = tantivy.Index(_schema(), str(self._folder / name))
            self._add(name, passages)

    def attach(self, collections: Sequence[str]) -> None:
        """Open the indexes of another process."""
        for name in collections:
            self._vectors[name] = self._client.get_collection(name, embedding_function=None)
            self._texts[name] = tantivy.Index(_schema(), str(self._folder / name))

    def search(self, text: str, vector: FloatVector, k: int, below: int | None) -> list[str]:
        near: list[tuple[float, str]] = []
        words: list[tuple[float, str]] = []
        for name in self._texts:
            near += self._nearest(name, vector, below)
            words += self._by_keyword(name, text, below)
        rankings = [[found for _, found in sorted(scored, reverse=True)[:DEPTH]] for scored in (near, words)]
        return fuse(rankings, k)

    def put(self, passage: Passage) -> None:
        self._add(passage.collection, [passage])

    def close(self) -> None:
        self._client.close()

    def _add(self, name: str, passages: Sequence[Passage]) -> None:
        for start in range(0, len(passages), PASSAGES_PER_ADD):
            batch = passages[start : start + PASSAGES_PER_ADD]
            self._vectors[name].add(
                ids=[passage.id for passage in batch],
                embeddings=[passage.vector for passage in batch],
                metadatas=[{"part": passage.part} for passage in batch],
            )
        writer = self._texts[name].writer(WRITER_BYTES)
        for passage in passages:
            writer.add_document(tantivy.Document(id=passage.id, part=passage.part, text=passage.text))
        writer.commit()
        writer.wait_merging_threads()
        self._texts[name].reload()

    def _nearest(self, name: str, vector: FloatVector, below: int | None) -> list[tuple[float, str]]:
        where = None if below is None else {"part": {"$lt": below}}
        found = self._vectors[name].query(
            query_embeddings=[vector], n_results=DEPTH, where=where, include=["distances"]
        )
        return [(-far, known) for far, known in zip(found["distances"][0], found["ids"][0], strict=True)]

    def _by_keyword(self, name: str, text: str, below: int | None) -> list[tuple[float, str]]:
        index = self._texts[name]
        query = index.parse_query(" ".join(WORD.findall(text)).lower(), ["text"])
        if below is not None:
            parts = tantivy.Query.range_query(_schema(), "part", tantivy.FieldType.Integer, 0, below - 1)
            query = tantivy.Query.boolean_query(
                [(tantivy.Occur.Must, query), (tantivy.Occur.Must, tantivy.Query.const_score_query(parts, 0.0))]
            )
        searcher = index.searcher()
        return [(score, searcher.doc(place)["id"][0]) for score, place in searcher.search(query, DEPTH).hits]


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_integer_field("part", stored=False, indexed=True, fast=True)
    builder.add_text_field("text", stored=True, tokenizer_name="en_stem")
    return builder.build()
