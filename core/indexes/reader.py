"""How far the indexes are, from the ledger alone: for whoever asks, whoever follows them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from braid.core.errors import BraidError
from braid.core.indexes.base import IndexName, KeywordIndex, LegIndex, VectorIndex
from braid.core.indexes.chroma.copy import ChromaCopy
from braid.core.indexes.follower import IndexFollower
from braid.core.indexes.indexer import Indexer
from braid.core.indexes.leg_progress import LegProgress
from braid.core.indexes.sources import ChunkSource
from braid.core.json_form import read_json
from braid.core.ledger import prepared
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.database import Database
from braid.core.ledger.ledger import Ledger
from braid.core.types import Leg

KEPT_S = 1.0
"""Time that the progress of all collections is given again: pages and probes ask for it at once."""
ASK_AGAIN_S = 5.0
"""Least time between two requests of this process to inspect the same index."""


@dataclass(frozen=True, slots=True)
class _Row:
    """How far a follower is, and what it last said."""

    leg: str
    collection: str
    version: str
    applied_seq: int
    state: str
    wanted: str
    report: str


class SharedProgress:
    """Reads what the followers have recorded. ``legs`` has each index, and its source of chunks."""

    def __init__(self, database: Database, legs: Mapping[IndexName, tuple[LegIndex, ChunkSource]]) -> None:
        self._database = database
        self._changes = ChangeLog(database)
        self._legs = legs
        self._leg_of = {index.name: leg for leg, (index, _) in legs.items()}
        self._reading = threading.Lock()
        self._all: tuple[LegProgress, ...] = ()
        self._read_at = float("-inf")

    def of(self, leg: IndexName, collection: str, head: int | None = None) -> LegProgress:
        """Return how far one index is; with the collection's ``head`` in the log, what lacks since then counts."""
        rows = self._rows([leg], [collection])
        return self._progress(leg, collection, rows.get((leg, collection)), head)

    def states(self, legs: Sequence[tuple[Leg, str]]) -> list[LegProgress]:
        """Return how far indexes are, for a search, which itself finds out whether their server answers."""
        collections = {collection for _, collection in legs}
        if not collections:
            return []
        heads, rows = self._changes.heads(collections), self._rows(self._legs, collections)
        return [self._of_search(leg, name, rows.get((leg, name)), heads.get(name)) for leg, name in legs]

    def _of_search(self, leg: IndexName, collection: str, row: _Row | None, head: int | None) -> LegProgress:
        found = self._progress(leg, collection, row, head)
        if found.state != "failed" or row is None:
            return found
        found = replace(found, state="ready")
        if head is None or found.pending or row.applied_seq >= head:
            return found
        # it is tried again after a pause, and what has come since then is missing when the server answers again
        return replace(found, pending=self._changes.pending(collection, row.applied_seq))

    def all(self) -> tuple[LegProgress, ...]:
        """Return the progress of every index, as it was at most a second ago."""
        with self._reading:
            if time.monotonic() >= self._read_at + KEPT_S:
                self._all = tuple(self._read_all())
                self._read_at = time.monotonic()
            return self._all

    def _read_all(self) -> Iterable[LegProgress]:
        heads, rows = self._changes.heads(), self._rows(self._legs)
        for leg in ("bm25", "dense"):
            pending = dict(self._database.rows(prepared.ALL_PENDING, leg=self._legs[leg][0].name))
            for (of_leg, collection), row in sorted(rows.items()):
                if of_leg == leg:
                    head = heads.get(collection, row.applied_seq)
                    yield self._progress(leg, collection, row, head, pending=pending.get(collection, 0))

    def _rows(
        self, legs: Iterable[IndexName], collections: Collection[str] | None = None
    ) -> dict[tuple[IndexName, str], _Row]:
        names = [self._legs[leg][0].name for leg in legs]
        if collections is None:
            return self._by_leg(self._database.rows(prepared.SHARED_STATES, legs=names))
        of_these = sorted(collections)
        return self._database.remembered(self._by_leg, prepared.SHARED_STATES_OF, legs=names, collections=of_these)

    def _by_leg(self, found: Sequence[Any]) -> dict[tuple[IndexName, str], _Row]:
        rows = [_Row(*row) for row in found]
        return {(self._leg_of[row.leg], row.collection): row for row in rows}

    def _progress(
        self, name: IndexName, collection: str, row: _Row | None, head: int | None, *, pending: int | None = None
    ) -> LegProgress:
        """Judge as the follower does, see `braid.core.indexes.follower.IndexFollower.progress`."""
        index, source = self._legs[name]
        leg = index.leg
        if row is None:  # a new collection: its index is empty and none of its chunks are applied
            return LegProgress(leg, collection, "ready", pending=self._changes.chunk_count(collection))
        try:
            version = source.version(collection)
        except BraidError as error:
            return LegProgress(leg, collection, "failed", error=str(error))
        if row.wanted == "rebuild" or (row.state == "rebuilding" and not row.report and index.stored):
            return LegProgress(leg, collection, "rebuilding", pending=source.to_read(collection))
        known = LegProgress(leg, collection, **{"state": "ready", **(read_json(row.report) if row.report else {})})
        if known.state != "ready":
            return known
        if row.version != version and index.stored:
            return replace(known, state="checking")
        if not index.stored and row.state == "rebuilding":
            return known if known.pending else replace(known, pending=source.to_read(collection))
        if head is None:
            return known
        if row.applied_seq >= head and row.state == "ready":
            return replace(known, pending=0)
        if not known.pending and row.applied_seq < head:
            count = self._changes.pending(collection, row.applied_seq) if pending is None else pending
            return replace(known, pending=count)
        return known


class ReadingIndexer(Indexer):
    """Has the same calls as `Indexer`; what is to be done to an index is asked of its follower, in another process.
    ``on_use`` is called by each search.
    """

    def __init__(
        self,
        ledger: Ledger,
        bm25: KeywordIndex,
        dense: VectorIndex,
        copy: ChromaCopy | None,
        *,
        on_use: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> None:
        self._on_use = on_use
        self._database = ledger.database
        self._sources: dict[IndexName, tuple[LegIndex, ChunkSource]] = {}
        self._asked: dict[tuple[IndexName, str], float] = {}
        super().__init__(ledger, bm25, dense, copy, **options)
        self._shared = SharedProgress(self._database, self._sources)

    def _make_follower(self, index: LegIndex, source: ChunkSource, **options: Any) -> IndexFollower:
        self._sources[index.leg if index.name != "chroma" else "chroma"] = index, source
        return super()._make_follower(index, source, **options)

    def start(self) -> None:
        """Do nothing: another process follows the ledger."""

    def wake(self) -> None:
        """Have the working members of a fleet look at the log now. An owner looks at it soon by itself."""
        self._database.notify("changes")

    def progress(self) -> tuple[LegProgress, ...]:
        """Return how far the indexes of the legs are."""
        return self._shared.all()

    def states(self, legs: Sequence[tuple[Leg, str]]) -> list[LegProgress]:
        """Return how far these legs' indexes of collections are."""
        self._on_use()
        return self._shared.states(legs)

    def leg_progress(self, index: IndexName, collection: str, head: int | None = None) -> LegProgress:
        """Return how far one index is; with the collection's ``head``, what lacks since then counts."""
        return self._shared.of(index, collection, head)

    def has_stored_vectors(self, collection: str, document_ids: Collection[int]) -> bool:
        """Whether the dense index has applied the whole log: what it has beyond that, its own process alone knows."""
        return not self.leg_progress("dense", collection, self.heads([collection]).get(collection)).pending

    def suspect(self, index: IndexName, collection: str) -> None:
        """Have the index's follower check the index after a failed search, which must not fail for it."""
        now = time.monotonic()
        if now >= self._asked.get((index, collection), 0.0):
            self._asked[index, collection] = now + ASK_AGAIN_S
            with suppress(SQLAlchemyError):
                self._want(index, collection, "inspect")

    def rebuild(self, index: IndexName, collection: str) -> None:
        """Have the index's follower build the index again from the ledger, without embedding again.

        Raises EmbeddingError when the collection's model cannot be made.
        """
        rebuilt: tuple[IndexName, ...] = ("dense", "chroma") if index == "dense" else (index,)
        for name in (each for each in rebuilt if each in self._sources):
            self._sources[name][1].version(collection)
            self._want(name, collection, "rebuild")

    def _want(self, index: IndexName, collection: str, wanted: str) -> None:
        self._changes.want(self.followers[index].name, collection, wanted)
