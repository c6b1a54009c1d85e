"""A ledger with vectors, and dense indexes over it."""

from __future__ import annotations

import errno
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from braid.core.indexes import vector_block
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.dense import DenseIndex
from braid.core.ledger.change_log import ChangeLog, IndexedChunk
from braid.core.ledger.ledger import Ledger
from braid.core.vector import Vector
from tests.fakes import HashEmbeddings
from tests.worlds import document

DIM = 8

LARGE = 1024

MODEL = HashEmbeddings(DIM, fingerprint="fake:first")

OTHER = HashEmbeddings(DIM, fingerprint="fake:other")


def unit(count: int, dimension: int = DIM, *, seed: int = 0) -> Vector:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    normal: Vector = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normal


VECTORS = unit(4000)


class Shelf:
    """Collections in a ledger, whose chunks have the vectors that the test says; and the dense index over them."""

    def __init__(self, folder: Path) -> None:
        self.ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
        self.changes = ChangeLog(self.ledger.database)
        self.folder = folder / "vectors"
        self.model = MODEL
        known = {model.fingerprint: model for model in (MODEL, OTHER)}
        self.models = AnsweringModels(lambda _: self.model, known.__getitem__)
        self._opened: list[DenseIndex] = []
        self._users: dict[str, int] = {}

    def open(self, changes: ChangeLog | None = None, *, crashed: bool = False, **options: Any) -> DenseIndex:
        """Open the index, as a process does that has just begun."""
        self._opened.append(DenseIndex(changes or self.changes, self.models, folder=self.folder, **options))
        self.mend(self._opened[-1], crashed=crashed)
        return self._opened[-1]

    def reader(self) -> DenseIndex:
        """Open the index as a process does that writes no files."""
        self._opened.append(DenseIndex(self.changes, self.models, folder=self.folder))
        return self._opened[-1]

    def mend(self, index: DenseIndex, *, doubt: bool = False, crashed: bool = False) -> None:
        """Let the index look after its files, as its follower does at each look."""
        for collection, head in self.changes.heads().items():
            stopping = threading.Event()
            index.mend(collection, head=head, is_complete=True, doubt=doubt, crashed=crashed, stopping=stopping)

    def dataset(self, user: str = "ann") -> int:
        """Add a dataset to the user's collection: ``user_1`` for the first user."""
        if user not in self._users:
            self._users[user] = self.ledger.add_user(user).id
        number = len(self.ledger.datasets(self._users[user]))
        return self.ledger.add_dataset(self._users[user], f"notes {number}").id

    def put(self, dataset: int, source: str, vectors: Vector, *, model: HashEmbeddings | None = None) -> list[str]:
        """Store a document of one chunk per vector; return the chunks' ids."""
        texts = [f"{source} {number}" for number in range(len(vectors))]
        put = self.ledger.put_document(dataset, document(source, *texts))
        passages = self.ledger.document_passages(put.document_id, [dataset])
        ids = [passage.chunk_id for passage in sorted(passages, key=lambda passage: passage.position)]
        self.embed(ids, vectors, model)
        return ids

    def embed(self, ids: Sequence[str], vectors: Vector, model: HashEmbeddings | None = None) -> None:
        self.ledger.store_embeddings((model or self.model).fingerprint, list(ids), vectors)

    def indexed(self, ids: Collection[str], collection: str = "user_1") -> list[IndexedChunk]:
        return self.changes.chunks(collection, list(ids), self.model.fingerprint)

    def apply(self, index: DenseIndex, ids: Collection[str], collection: str = "user_1") -> None:
        """Let the index follow: those of the chunks that are gone are deleted."""
        present = self.indexed(ids, collection)
        index.apply(collection, present, sorted(set(ids) - {chunk.id for chunk in present}))

    def close(self) -> None:
        for index in self._opened:
            index.close()
        self.ledger.close()


def found(index: DenseIndex, vector: Vector, k: int = 1, collection: str = "user_1", **options: Any) -> list[str]:
    return [hit.chunk_id for hit in index.search(collection, vector, k, **options)]


def fill_disk(patch: pytest.MonkeyPatch, kind: str) -> None:
    """Have room for no more than the beginning of files whose names end in ``kind``."""
    write_index, write_bytes = vector_block._write_index, Path.write_bytes

    def cut_off(path: Path) -> None:
        if path.name.endswith(kind):
            write_bytes(path, b"a part")
            raise OSError(errno.ENOSPC, "No space left on device")

    def write_vectors(index: Any, path: Path) -> None:
        cut_off(path)
        write_index(index, path)

    def write(path: Path, content: bytes) -> int:
        cut_off(path)
        return write_bytes(path, content)

    patch.setattr(vector_block, "_write_index", write_vectors)
    patch.setattr(Path, "write_bytes", write)
