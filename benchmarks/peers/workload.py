"""What is stored and asked: made once in Braid's environment, as files that every peer's process reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.interface import FloatVector, Passage

PASSAGES_PER_DOCUMENT = 10
PARTS = 100
TEXTS, VECTORS, QUERIES, QUERY_VECTORS = "passages.jsonl", "vectors.npy", "queries.jsonl", "query-vectors.npy"
LANGUAGES = ("en", "ja", "ko")


@dataclass(frozen=True, slots=True)
class Query:
    """A text with its vector; ``language`` is that of the passage that it is from."""

    text: str
    language: str
    vector: FloatVector


def write_scale(folder: Path, *, size: int, collections: int, queries_per_language: int) -> None:
    """Real passages in equal collections, low-rank vectors, and queries of six words from passages of each language."""
    from benchmarks.passages import LowRankVectors, scale_rows, word_queries

    rows = list(scale_rows(size))
    texts = [f"{row['title']} {row['text']}" for row in rows]
    model = LowRankVectors()
    _write_passages(folder, list(_placed(texts, collections)), model.matrix(texts))
    queries = []
    for language in LANGUAGES:
        spoken = [row["text"] for row in rows if row["metadata"]["lang"] == language]
        queries += [(text, language) for text in word_queries(spoken, queries_per_language)]
    _write_queries(folder, queries, model.matrix([text for text, _ in queries]))


def write_judged(folder: Path, judged_folder: Path, queries: int) -> list[str]:
    """A judged set with its real vectors. Returns the ids of the queries, in their order here."""
    from braid.core.evaluation.beir import read_set

    judged = read_set(judged_folder)
    with np.load(judged_folder / "vectors.npz") as arrays:
        vectors = dict(zip(arrays["ids"].tolist(), _unit(arrays["V"]), strict=True))
        query_vectors = dict(zip(arrays["qids"].tolist(), _unit(arrays["QV"]), strict=True))
    rows = [
        {
            "id": f"{document.id}#0",
            "collection": f"c-{document.collection or 'all'}",
            "text": f"{document.title} {document.text}".strip(),
            "part": number % PARTS,
        }
        for number, document in enumerate(judged.documents)
    ]
    _write_passages(folder, rows, np.stack([vectors[document.id] for document in judged.documents]))
    chosen = spread(list(judged.queries), queries)
    _write_queries(
        folder, [(judged.queries[key], judged.name) for key in chosen], np.stack([query_vectors[key] for key in chosen])
    )
    return chosen


def spread(names: Sequence[str], count: int) -> list[str]:
    """``count`` of the names at equal distances, or all of them."""
    if not 0 < count < len(names):
        return list(names)
    return [names[number * len(names) // count] for number in range(count)]


def read_collections(folder: Path) -> dict[str, list[Passage]]:
    """The passages by collection; their vectors are read from the file when they are used."""
    vectors = np.load(folder / VECTORS, mmap_mode="r")
    collections: dict[str, list[Passage]] = {}
    for row, vector in zip(_lines(folder / TEXTS), vectors, strict=True):
        collections.setdefault(row["collection"], []).append(Passage(**row, vector=np.asarray(vector)))
    return collections


def read_queries(folder: Path) -> list[Query]:
    """The queries with their vectors."""
    vectors = np.load(folder / QUERY_VECTORS)
    rows = _lines(folder / QUERIES)
    return [Query(row["text"], row["language"], vector) for row, vector in zip(rows, vectors, strict=True)]


def _placed(texts: Sequence[str], collections: int) -> Iterator[dict[str, Any]]:
    """Consecutive passages make a document; the documents of a collection have the parts 0 to 99 in turn."""
    each = len(texts) // collections
    for number in range(each * collections):
        collection, place = divmod(number, each)
        document, position = divmod(place, PASSAGES_PER_DOCUMENT)
        yield {
            "id": f"c{collection}d{document}#{position}",
            "collection": f"c-{collection}",
            "text": texts[number],
            "part": document % PARTS,
        }


def _write_passages(folder: Path, rows: Sequence[Mapping[str, Any]], vectors: FloatVector) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / TEXTS).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    np.save(folder / VECTORS, vectors[: len(rows)])


def _write_queries(folder: Path, queries: Sequence[tuple[str, str]], vectors: FloatVector) -> None:
    with (folder / QUERIES).open("w", encoding="utf-8") as file:
        for text, language in queries:
            file.write(json.dumps({"text": text, "language": language}, ensure_ascii=False) + "\n")
    np.save(folder / QUERY_VECTORS, vectors)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _unit(vectors: Any) -> FloatVector:
    exact = np.asarray(vectors, dtype=np.float32)
    return exact / np.linalg.norm(exact, axis=1, keepdims=True)
