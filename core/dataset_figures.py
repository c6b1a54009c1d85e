"""When a dataset's documents are from, and how they begin."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from sqlalchemy import func, select

from core.ledger import Ledger
from core.tables import ChunkRow, DocumentRow

BEGINNING_CHARS = 400


def months_of(ledger: Ledger, dataset_id: int) -> list[tuple[str, int]]:
    """(``2026-03``, documents) in order, in UTC; documents without a date, or with one out of bounds, are left out."""
    dates = select(DocumentRow.date).where(DocumentRow.dataset_id == dataset_id, DocumentRow.date.is_not(None))
    with ledger.database.read() as connection:
        months = Counter(_month(date) for date in connection.execute(dates).scalars() if date is not None)
    return sorted((month, count) for month, count in months.items() if month)


def beginnings_of(ledger: Ledger, dataset_id: int, *, sample: int) -> list[str]:
    """How documents begin, of at most ``sample`` of them, from all over the dataset."""
    ids = select(DocumentRow.id).where(DocumentRow.dataset_id == dataset_id, DocumentRow.chunks > 0)
    with ledger.database.read() as connection:
        found = connection.execute(ids.order_by(DocumentRow.id)).scalars().all()
        chosen = found[:: max(1, -(-len(found) // sample))]
        text = select(func.substr(ChunkRow.text, 1, BEGINNING_CHARS))
        texts = text.where(ChunkRow.document_id.in_(chosen), ChunkRow.position == 0)
        return list(connection.execute(texts).scalars())


def _month(date: float) -> str:
    try:
        return datetime.fromtimestamp(date, UTC).strftime("%Y-%m")
    except (ValueError, OverflowError, OSError):
        return ""
