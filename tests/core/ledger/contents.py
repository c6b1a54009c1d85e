"""What a ledger contains, as its tests write and read it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from braid.core.ledger.ledger import Ledger
from braid.core.types import DocumentInput, Filters, Passage
from braid.core.vector import Vector
from tests import worlds


def document(source: str, *texts: str, title: str = "T", **values: Any) -> DocumentInput:
    return worlds.document(source, *texts, title=title, **values)


def passages(ledger: Ledger, dataset_id: int, source: str) -> list[Passage]:
    found = ledger.document(dataset_id, source)
    return [] if found is None else ledger.document_passages(found.id, [dataset_id])


def texts(ledger: Ledger, dataset_id: int, source: str) -> list[str]:
    return [passage.text for passage in passages(ledger, dataset_id, source)]


def ids(ledger: Ledger, dataset_id: int, source: str) -> dict[str, str]:
    """Text → chunk id."""
    return {passage.text: passage.chunk_id for passage in passages(ledger, dataset_id, source)}


def counts(ledger: Ledger, dataset_id: int) -> tuple[int, int]:
    found = ledger.dataset(dataset_id)
    return found.documents, found.chunks


def vectors(*firsts: float) -> Vector:
    return np.array([[first, 0.0] for first in firsts], dtype=np.float32)


# ---------------------------------------------------------------- metadata

STORED: Mapping[str, Mapping[str, Any]] = {
    "number": {"year": 2024, "tenant": "x", "tags": ["a", "b"], "open": True},
    "text": {"year": "2024", "tenant": "y", "tags": "a, b", "open": "true"},
    "later": {"year": 2025.5, "tenant": "x", "tags": ["ab"], "open": False, "day": date(2026, 1, 31)},
    "moment": {"day": datetime(2026, 1, 31, 18, tzinfo=UTC), "tags": [], "open": 1, "title": "own"},
    "bare": {},
}
ALL = set(STORED)


def put_stored(ledger: Ledger) -> Ledger:
    """Put one document with each of the values into a new dataset, 1; return the ledger."""
    dataset = worlds.add_notes(ledger)
    documents = [
        document(source, f"the text of {source}", title=f"T {source}", metadata=metadata)
        for source, metadata in STORED.items()
    ]
    documents[0] = document("number", "the text", file_type="pdf", date=100.0, metadata=STORED["number"])
    ledger.put_documents(dataset, documents)
    return ledger


def selected(ledger: Ledger, where: Mapping[str, Any], dataset: int = 1) -> set[str]:
    """The sources of documents that a filter selects, which the index and each single hit must agree on."""
    filters = Filters.of(where)
    ids, chunks = ledger.matching_documents([dataset], filters)
    passages = {p.chunk_id: p for document in range(1, 20) for p in ledger.document_passages(document, [dataset])}
    read = ledger.passages(list(passages), [dataset], filters)
    assert ledger.visible(list(passages), [dataset], filters) == set(read)
    assert {passage.document_id for passage in read.values()} == set(ids.tolist())
    assert chunks == len(read)
    return {passage.source for passage in read.values()}
