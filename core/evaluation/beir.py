"""Judged sets in the BEIR layout: a folder with corpus.jsonl, queries.jsonl and qrels.tsv, and perhaps vectors.npz."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from braid.core.errors import InvalidInputError
from braid.core.types import MAX_QUERY_CHARS
from braid.core.vector import Vector

CORPUS, QUERIES, QRELS, VECTORS = "corpus.jsonl", "queries.jsonl", "qrels.tsv", "vectors.npz"


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document of a corpus. ``collection`` is its ``metadata.collection``, empty where it has none."""

    id: str
    title: str
    text: str
    collection: str = ""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A corpus with the queries that are judged on it."""

    name: str
    """The folder's own name."""
    folder: Path
    corpus_hash: str
    """SHA-256 of corpus.jsonl."""
    documents: tuple[CorpusDocument, ...]
    queries: Mapping[str, str]
    """Query id → text, of the judged queries in the order of queries.jsonl."""
    judgements: Mapping[str, Mapping[str, int]]
    """Query id → document id → grade; above 0 is relevant."""


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """The vectors of a set under one model; each (dim,) float32 of unit length."""

    documents: Mapping[str, Vector]
    """Vectors by document id."""
    queries: Mapping[str, Vector]
    """Vectors by query text."""


def read_sets(folders: Sequence[Path]) -> list[JudgedSet]:
    """Read the sets in these folders. Raises InvalidInputError, which names the file and the line."""
    if not folders:
        raise InvalidInputError("no folder is given; name at least one with corpus.jsonl, queries.jsonl, qrels.tsv")
    sets: dict[str, JudgedSet] = {}
    for folder in folders:
        judged = read_set(Path(folder))
        if judged.name in sets:
            raise InvalidInputError(
                f"two folders are named {judged.name!r}: {sets[judged.name].folder} and {judged.folder}; rename one"
            )
        sets[judged.name] = judged
    return list(sets.values())


def read_set(folder: Path) -> JudgedSet:
    """Read the set in this folder. Raises InvalidInputError, which names the file and the line."""
    folder = folder.resolve()
    for name in (CORPUS, QUERIES, QRELS):
        if not (folder / name).is_file():
            raise InvalidInputError(f"there is no {name} in {folder}; give a folder in BEIR layout")
    documents = {document.id: document for document in _documents(folder / CORPUS)}
    queries = dict(_queries(folder / QUERIES))
    judgements = _judgements(folder / QRELS, queries, documents)
    return JudgedSet(
        name=folder.name,
        folder=folder,
        corpus_hash=hashlib.sha256((folder / CORPUS).read_bytes()).hexdigest(),
        documents=tuple(documents.values()),
        queries={query_id: text for query_id, text in queries.items() if query_id in judgements},
        judgements=judgements,
    )


def read_vectors(judged: JudgedSet, model: str) -> StoredVectors | None:
    """Read the folder's vectors if they are of this model. Raises InvalidInputError when they are damaged."""
    path = judged.folder / VECTORS
    if not path.is_file():
        return None
    try:
        with np.load(path) as arrays:
            if str(arrays["model"]) != model:
                return None
            documents = dict(zip(arrays["ids"].tolist(), _unit(arrays["V"]), strict=True))
            queries = dict(zip(arrays["qids"].tolist(), _unit(arrays["QV"]), strict=True))
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        raise InvalidInputError(
            f"{path} cannot be used: {error}; it must hold model, ids, qids, V and QV; write it again or delete it"
        ) from error
    texts = {text: queries[query_id] for query_id, text in judged.queries.items() if query_id in queries}
    return StoredVectors(documents, texts)


def _unit(vectors: Any) -> Vector:
    exact = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise ValueError("a vector is zero or not finite")
    return np.ascontiguousarray(exact / lengths, dtype=np.float32)


# ---------------------------------------------------------------- lines


def _documents(path: Path) -> Iterator[CorpusDocument]:
    for where, row in _objects(path):
        metadata = row.get("metadata") or {}
        collection = metadata.get("collection") or "" if isinstance(metadata, dict) else None
        if not isinstance(collection, str):
            raise InvalidInputError(f"{where}: metadata.collection is not a text; fix it or leave it out")
        title = row.get("title") or ""
        if not isinstance(title, str):
            raise InvalidInputError(f"{where}: title is {title!r}; it must be a text")
        yield CorpusDocument(row["_id"], title, row["text"], collection)


def _queries(path: Path) -> Iterator[tuple[str, str]]:
    for where, row in _objects(path):
        if not row["text"].strip() or len(row["text"]) > MAX_QUERY_CHARS:
            raise InvalidInputError(f"{where}: the query must have 1 to {MAX_QUERY_CHARS} characters; fix it")
        yield row["_id"], row["text"]


def _objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every line as (file and line number, object); each object has its own ``_id`` and a ``text``."""
    seen: set[str] = set()
    for where, line in _lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{where} is not JSON: {error}; write one object per line") from error
        if not isinstance(row, dict):
            raise InvalidInputError(f"{where} is not a JSON object; write one object per line")
        for key in ("_id", "text"):
            if not isinstance(row.get(key), str):
                raise InvalidInputError(f"{where}: {key} is {row.get(key)!r}; it must be a text")
        if not row["_id"].strip() or row["_id"] in seen:
            raise InvalidInputError(f"{where}: _id {row['_id']!r} is empty or used twice; give each line its own")
        seen.add(row["_id"])
        yield where, row


def _judgements(
    path: Path, queries: Mapping[str, str], documents: Mapping[str, CorpusDocument]
) -> dict[str, dict[str, int]]:
    judgements: dict[str, dict[str, int]] = {}
    lines = _lines(path)
    next(lines, None)  # the header
    for where, line in lines:
        columns = line.split("\t")
        if len(columns) != 3:
            raise InvalidInputError(
                f"{where} has {len(columns)} columns; write query id, document id, grade, with tabs"
            )
        query_id, document_id, grade = (column.strip() for column in columns)
        if query_id not in queries:
            raise InvalidInputError(f"{where}: query {query_id!r} is not in {QUERIES}; add it or drop the line")
        if document_id not in documents:
            raise InvalidInputError(f"{where}: document {document_id!r} is not in {CORPUS}; add it or drop the line")
        judgements.setdefault(query_id, {})[document_id] = _grade(where, grade)
    if not judgements:
        raise InvalidInputError(f"{path} judges nothing; after the header write query id, document id, grade per line")
    return judgements


def _grade(where: str, grade: str) -> int:
    try:
        return int(grade)
    except ValueError:
        raise InvalidInputError(
            f"{where}: grade {grade!r} is not a whole number; write 1, or 0 for irrelevant"
        ) from None


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (file and line number, text) of every line that is not blank."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            where = f"{path}, line {number}"
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InvalidInputError(f"{where} is not UTF-8: {error.reason}; save the file as UTF-8") from error
            if text.strip():
                yield where, text.rstrip("\r\n")
