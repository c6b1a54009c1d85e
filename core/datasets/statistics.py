"""Statistics of a dataset's documents by format and by month."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import case, func, select

from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import DocumentRow


@dataclass(frozen=True, slots=True)
class FormatCount:
    """Counts of one format."""

    file_type: str
    documents: int
    failed: int
    chunks: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DatasetStatistics:
    """Counts of a dataset's documents; ``documents`` includes ``failed`` ones."""

    formats: tuple[FormatCount, ...]

    @property
    def documents(self) -> int:
        """All documents, readable or not."""
        return sum(each.documents for each in self.formats)

    @property
    def failed(self) -> int:
        """Documents that could not be read."""
        return sum(each.failed for each in self.formats)

    @property
    def chunks(self) -> int:
        """Passages."""
        return sum(each.chunks for each in self.formats)

    @property
    def size_bytes(self) -> int:
        """Size of the original files."""
        return sum(each.size_bytes for each in self.formats)


def statistics_of(ledger: Ledger, dataset_id: int) -> DatasetStatistics:
    """Count documents by format, the most frequent first."""
    failed = func.sum(case((DocumentRow.state == "failed", 1), else_=0))
    statement = (
        select(
            DocumentRow.file_type,
            func.count().label("documents"),
            failed.label("failed"),
            func.sum(DocumentRow.chunks).label("chunks"),
            func.sum(DocumentRow.size_bytes).label("size_bytes"),
        )
        .where(DocumentRow.dataset_id == dataset_id)
        .group_by(DocumentRow.file_type)
        .order_by(func.count().desc(), DocumentRow.file_type)
    )
    rows = ledger.database.fetch(statement)
    return DatasetStatistics(tuple(FormatCount(row[0], *(int(value or 0) for value in row[1:])) for row in rows))


def months_of(ledger: Ledger, dataset_id: int) -> list[tuple[str, int]]:
    """Count documents as (``2026-03``, documents) in order, in UTC, without those that have no valid date."""
    dates = select(DocumentRow.date).where(DocumentRow.dataset_id == dataset_id, DocumentRow.date.is_not(None))
    months = Counter(_month(date) for date in ledger.database.values(dates) if date is not None)
    return sorted((month, count) for month, count in months.items() if month)


def _month(date: float) -> str:
    try:
        return datetime.fromtimestamp(date, UTC).strftime("%Y-%m")
    except (ValueError, OverflowError, OSError):
        return ""
