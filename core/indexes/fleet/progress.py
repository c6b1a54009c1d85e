"""How far the indexes of a fleet are, from the ledger alone: whoever asks, and whoever follows them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from braid.core.errors import BraidError
from braid.core.indexes.leg_progress import LegProgress
from braid.core.indexes.sources import ChunkSource
from braid.core.ledger import prepared
from braid.core.ledger.change_log import ChangeLog, StateName
from braid.core.ledger.database import Database
from braid.core.types import Leg

KEPT_S = 1.0
"""Time that the progress of all collections is given again: pages and probes ask for it at once."""


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
    """Reads what the followers have recorded. ``legs`` has each leg's name in the ledger, and its source of chunks."""

    def __init__(self, database: Database, legs: Mapping[Leg, tuple[StateName, ChunkSource]]) -> None:
        self._database = database
        self._changes = ChangeLog(database)
        self._legs = legs
        self._leg_of = {name: leg for leg, (name, _) in legs.items()}
        self._reading = threading.Lock()
        self._all: tuple[LegProgress, ...] = ()
        self._read_at = float("-inf")

    def of(self, leg: Leg, collection: str, head: int | None = None) -> LegProgress:
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

    def _of_search(self, leg: Leg, collection: str, row: _Row | None, head: int | None) -> LegProgress:
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
        for leg, (name, _) in self._legs.items():
            pending = dict(self._database.rows(prepared.ALL_PENDING, leg=name))
            for (of_leg, collection), row in sorted(rows.items()):
                if of_leg == leg:
                    head = heads.get(collection, row.applied_seq)
                    yield self._progress(leg, collection, row, head, pending=pending.get(collection, 0))

    def _rows(self, legs: Iterable[Leg], collections: Collection[str] | None = None) -> dict[tuple[Leg, str], _Row]:
        names = [self._legs[leg][0] for leg in legs]
        if collections is None:
            found = self._database.rows(prepared.SHARED_STATES, legs=names)
        else:
            found = self._database.rows(prepared.SHARED_STATES_OF, legs=names, collections=list(collections))
        rows = [_Row(*row) for row in found]
        return {(self._leg_of[row.leg], row.collection): row for row in rows}  # type: ignore[index]

    def _progress(
        self, leg: Leg, collection: str, row: _Row | None, head: int | None, *, pending: int | None = None
    ) -> LegProgress:
        """Judge as the follower does, see `braid.core.indexes.follower.IndexFollower.progress`."""
        if row is None:  # a new collection: its index is empty and none of its chunks are applied
            return LegProgress(leg, collection, "ready", pending=self._changes.chunk_count(collection))
        source = self._legs[leg][1]
        try:
            version = source.version(collection)
        except BraidError as error:
            return LegProgress(leg, collection, "failed", error=str(error))
        if row.wanted == "rebuild" or (row.state == "rebuilding" and not row.report):
            return LegProgress(leg, collection, "rebuilding", pending=source.to_read(collection))
        known = LegProgress(leg, collection, **{"state": "ready", **(json.loads(row.report) if row.report else {})})
        if known.state != "ready":
            return known
        if row.version != version:
            return replace(known, state="checking")
        if head is None:
            return known
        if row.applied_seq >= head and row.state == "ready":
            return replace(known, pending=0)
        if not known.pending and row.applied_seq < head:
            count = self._changes.pending(collection, row.applied_seq) if pending is None else pending
            return replace(known, pending=count)
        return known
