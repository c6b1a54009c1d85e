"""What a working member may touch: the change log and the indexes of the collections that it has claimed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import and_

from braid.core.indexes.base import LegIndex
from braid.core.indexes.leg_progress import LegProgress, report_of
from braid.core.ledger import prepared
from braid.core.ledger.change_log import ChangeLog, IndexedChunk, IndexState, StateName, in_collection
from braid.core.ledger.database import Database, execute
from braid.core.ledger.document_writes import lock_datasets, log_chunks
from braid.core.ledger.member import Member

INDEX = "index:"
"""Beginning of the claim of a collection's indexes."""


class ClaimLostError(Exception):
    """The collection is another member's now, or this process cannot be sure that it is its own."""


class ClaimedLog(ChangeLog):
    """The change log of the collections that this member follows. States are written under their claim alone."""

    def __init__(self, database: Database, member: Member) -> None:
        super().__init__(database)
        self._member = member
        self.following: dict[str, str] = {}
        """The name under which each collection was claimed when its follower began with it."""

    def heads(self, collections: Collection[str] | None = None) -> dict[str, int]:
        """Return the last sequence number per collection that is followed."""
        wanted = [name for name in self.following if collections is None or name in collections]
        return super().heads(wanted) if wanted else {}

    def states(self, leg: str) -> dict[str, IndexState]:
        """Return the states of the leg's indexes that are followed."""
        if not self.following:
            return {}
        rows = self._database.rows(prepared.STATES_OF_COLLECTIONS, leg=leg, collections=list(self.following))
        return {row[0]: IndexState(*row[1:]) for row in rows}

    def set_state(self, leg: str, collection: str, state: IndexState) -> None:
        """Record how far an index has followed the log. Raises ClaimLostError when another may follow it now."""
        self._write(prepared.SET_STATE_UNDER_CLAIM, leg, collection, **asdict(state))

    def report(self, leg: str, version: str, progress: LegProgress) -> None:
        """Tell the other members how far an index is. Raises ClaimLostError when another may follow it now."""
        report = report_of(progress)
        self._write(prepared.REPORT_UNDER_CLAIM, leg, progress.collection, version=version, report=report)

    def _write(self, statement: str, leg: str, collection: str, **values: str | int) -> None:
        claim = {"what": INDEX + collection, "process": self.following.get(collection, "")}
        with self._database.write() as connection:
            if not execute(connection, statement, leg=leg, collection=collection, **claim, **values).rowcount:
                raise ClaimLostError(collection)

    def wanted(self, leg: str) -> list[tuple[str, str]]:
        """Return what processes want of indexes that are followed here."""
        return [each for each in super().wanted(leg) if each[0] in self.following] if self.following else []

    def log_again(self, collection: str, chunk_ids: Sequence[str]) -> None:
        """Log these chunks again, so that the collection's follower indexes their newest state."""
        with self._database.write() as connection:
            lock_datasets(connection, and_(*in_collection(collection)))
            log_chunks(connection, collection, chunk_ids)

    def claim_of(self, collection: str) -> str:
        """Return the name under which the collection is followed. Raises ClaimLostError when that may be over."""
        name = self.following.get(collection, "")
        if not name or self._member.holder(INDEX + collection) != name:
            raise ClaimLostError(collection)
        return name

    def confirm(self, collection: str, name: str) -> None:
        """Raise ClaimLostError unless the ledger says that the collection is still claimed under this name."""
        if not self._member.is_held(INDEX + collection, name):
            raise ClaimLostError(collection)


class ClaimedIndex:
    """An index to which only what is claimed is written. What may have been written after a claim was lost is logged
    again, so that the next follower sets it right.
    """

    def __init__(self, index: LegIndex, log: ClaimedLog) -> None:
        self.name: StateName = index.name
        self.leg = index.leg
        self.stored = index.stored
        self.crash_safe, self.is_elsewhere = index.crash_safe, index.is_elsewhere
        self.count, self.ids, self.check = index.count, index.ids, index.check
        self.collections, self.is_gone = index.collections, index.is_gone
        self.rest, self.close = index.rest, index.close
        self._index = index
        self._log = log
        self._doubtful: dict[str, set[str]] = {}
        """Chunks of batches after which the claim was not confirmed, by collection."""
        self._emptied: set[str] = set()
        """Collections that were emptied, and whose claim was not confirmed afterwards."""

    def mend(self, collection: str, **looks: Any) -> None:
        """See to what the index keeps. Raises ClaimLostError before it."""
        self._log.claim_of(collection)
        self._index.mend(collection, **looks)

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids. Raises ClaimLostError before or after it."""
        name = self._log.claim_of(collection)
        doubtful = self._doubtful.setdefault(collection, set())
        doubtful.update(chunk.id for chunk in upserts)
        doubtful.update(deletes)
        self._index.apply(collection, upserts, deletes)
        self._log.confirm(collection, name)
        self._doubtful.pop(collection)

    def drop(self, collection: str) -> None:
        """Delete the collection's index. Raises ClaimLostError before or after it."""
        name = self._log.claim_of(collection)
        self._emptied.add(collection)
        self._index.drop(collection)
        self._log.confirm(collection, name)
        self._emptied.discard(collection)

    def reset(self) -> bool:
        """Return False: other members use the store."""
        return False

    @property
    def is_doubtful(self) -> bool:
        """Whether something may have been written after its claim was lost."""
        return bool(self._doubtful or self._emptied)

    def set_right(self) -> None:
        """Have the next follower look at what is doubtful in collections that are not followed here any more."""
        for collection in self._doubtful.keys() - self._log.following.keys():
            self._log.log_again(collection, sorted(self._doubtful[collection]))
            del self._doubtful[collection]
        for collection in self._emptied - self._log.following.keys():
            self._log.want(self.name, collection, "rebuild")
            self._emptied.discard(collection)
