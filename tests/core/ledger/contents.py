"""What a ledger contains, as its tests write and read it."""

from __future__ import annotations

from typing import Any

import numpy as np

from braid.core.ledger.ledger import Ledger
from braid.core.types import DocumentInput, Passage
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
