"""A personal and a shared dataset, in two collections, and models that are unlike each other."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

from braid.core.braid import Braid
from braid.core.indexes.indexer import Indexer
from braid.core.ledger.change_log import ChangeLog
from braid.core.types import Leg, Mode, SearchResult
from tests.fakes import HashEmbeddings
from tests.worlds import add_notes, document, eventually

ALL = ("bm25", "dense", "chroma")
CAT = "The cat sat on the mat"
TEXTS = (CAT, "Dogs bark at night", "吾輩は猫である。", "고양이가 매트 위에 앉았다")


class Shifted(HashEmbeddings):
    """Another model of the same dimension: its vectors mean nothing to the first, and its cosines are others."""

    def _vector(self, text: str) -> list[float]:
        vector = [(1 + place % 5) * value for place, value in enumerate(super()._vector(text))]
        return [*vector[17:], *vector[:17]]


class Refusing(HashEmbeddings):
    """Takes everything but texts with the word poison."""

    word = "poison"

    def _vector(self, text: str) -> list[float]:
        if self.word in text:
            raise ValueError("this text is not for me")
        return super()._vector(text)


@dataclass
class Shelf:
    """One personal and one shared dataset, in two collections."""

    braid: Braid
    embeddings: HashEmbeddings
    ids: tuple[int, int]

    def search(self, text: str, **options: Any) -> SearchResult:
        return self.braid.manager.search(text, **{"user_id": 1, "dataset_ids": self.ids, "k": 20} | options)

    def texts(self, text: str, **options: Any) -> set[str]:
        return {hit.passage.text for hit in self.search(text, **options).hits}

    def put(self, source: str, *texts: str, dataset: int = 0) -> None:
        self.braid.ledger.put_document(self.ids[dataset], document(source, *texts, file_type="txt"))

    @property
    def log(self) -> ChangeLog:
        return ChangeLog(self.braid.ledger.database)

    def complete(self, **options: Any) -> bool:
        """Whether everything is found, in every mode, with nothing missing."""
        results = [self.search(" ".join(TEXTS), mode=mode, **options) for mode in get_args(Mode)]
        return all({hit.passage.text for hit in r.hits} >= set(TEXTS) and not r.degraded for r in results)


def open_shelf(folder: Path, embeddings: HashEmbeddings, *, kind: type[Braid] = Braid, **options: Any) -> Shelf:
    braid = kind(folder, embedding_model=embeddings, **options)
    ledger = braid.ledger
    if ledger.users():
        return Shelf(braid, embeddings, (ledger.datasets(1)[0].id, braid.registry.entries()[0].id))
    personal = add_notes(ledger)
    shared = braid.registry.add("Guide", "shared_main").id
    braid.mirror_registry()
    shelf = Shelf(braid, embeddings, (personal, shared))
    shelf.put("a", *TEXTS[:2], dataset=0)
    shelf.put("b", *TEXTS[2:], dataset=1)
    return shelf


@contextmanager
def late_reports(indexer: Indexer, leg: Leg) -> Iterator[None]:
    """Within the block the follower of the leg reports that it has all only when somebody who waits for that has looked
    twice more, as a busy machine may let its thread wait there.
    """
    board, looks, is_over = indexer.followers[leg]._board, itertools.count(1), threading.Event()
    report, is_complete, seen = board.report, indexer._is_complete, [0]

    def report_late(*args: Any, **options: Any) -> None:
        if not options.get("pending"):
            before = seen[0]
            eventually(lambda: seen[0] > before + 1 or is_over.is_set(), pause_s=0.001)
        report(*args, **options)

    def look(*args: Any) -> bool:
        seen[0] = next(looks)
        return is_complete(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(board, "report", report_late)
        patch.setattr(indexer, "_is_complete", look)
        try:
            yield
        finally:
            is_over.set()
