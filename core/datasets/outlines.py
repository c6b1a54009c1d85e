"""Titles and headings of the newest documents, from which questions to begin with are made."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import ChunkRow, DocumentRow
from braid.core.types import Dataset

RECENT_IDS = 2_000
"""Ids of documents, counted from the newest, among which the newest ones of the datasets are looked for."""
SEEN_PASSAGES = 40
"""Passages of a document whose headings are read."""
HEADINGS = 8
"""Headings of a document, at most."""
MOST_KEPT = 256
AGAIN_S = 5.0
"""Minimum seconds between two readings while the datasets keep changing, as in a long upload."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A document's title and the headings of its first passages, in order; each heading is the innermost one."""

    dataset_id: int
    source: str
    title: str
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    outlines: tuple[Outline, ...]
    heads: Mapping[str, int]
    at: float


class Outlines:
    """Outlines of the newest documents, cached until something in the datasets' collections changes."""

    def __init__(self, ledger: Ledger, *, again_s: float = AGAIN_S, recent_ids: int = RECENT_IDS) -> None:
        self._database = ledger.database
        self._changes = ChangeLog(ledger.database)
        self._again_s, self._recent_ids = again_s, recent_ids
        self._kept: dict[tuple[frozenset[int], int], _Kept] = {}
        self._lock = threading.Lock()

    def newest(self, datasets: Sequence[Dataset], *, limit: int) -> tuple[Outline, ...]:
        """Return outlines of up to ``limit`` readable documents of the datasets, the newest first."""
        filled = [dataset for dataset in datasets if dataset.chunks]
        if not filled:
            return ()
        key = frozenset(dataset.id for dataset in filled), limit
        heads, now = self._changes.heads({dataset.collection for dataset in filled}), time.monotonic()
        with self._lock:
            kept = self._kept.get(key)
        if kept is None or (kept.heads != heads and now - kept.at >= self._again_s):
            kept = _Kept(self._read(key[0], limit), heads, now)
            with self._lock:
                if len(self._kept) >= MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = kept
        return kept.outlines

    def _read(self, dataset_ids: frozenset[int], limit: int) -> tuple[Outline, ...]:
        columns = DocumentRow.id, DocumentRow.dataset_id, DocumentRow.source, DocumentRow.title
        mine = select(*columns).where(DocumentRow.dataset_id.in_(dataset_ids), DocumentRow.state == "ready")
        last = select(func.max(DocumentRow.id)).scalar_subquery()
        newest = mine.where(DocumentRow.id > last - self._recent_ids).order_by(DocumentRow.id.desc()).limit(limit)
        with self._database.read() as connection:
            documents = connection.execute(newest).all() or connection.execute(mine.limit(limit)).all()
            place = func.min(ChunkRow.position)
            found = connection.execute(
                select(ChunkRow.document_id, ChunkRow.heading_path)
                .where(
                    ChunkRow.document_id.in_([row[0] for row in documents]),
                    ChunkRow.position < SEEN_PASSAGES,
                    ChunkRow.heading_path != "",
                )
                .group_by(ChunkRow.document_id, ChunkRow.heading_path)
                .order_by(place)
            ).all()
        paths: dict[int, list[str]] = {}
        for document_id, path in found:
            paths.setdefault(document_id, []).append(path)
        return tuple(
            Outline(dataset_id, source, title, _innermost(paths.get(document_id, ()), title))
            for document_id, dataset_id, source, title in documents
        )


def _innermost(paths: Sequence[str], title: str) -> tuple[str, ...]:
    """Return the last part of each path, once, without the document's title."""
    last = dict.fromkeys(path.rpartition(" > ")[2].strip() for path in paths)
    return tuple(heading for heading in last if heading and heading != title)[:HEADINGS]
