"""The inspection of an index: whether it can be followed on from its recorded state, or must be rebuilt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from braid.core.indexes.base import LegIndex
from braid.core.indexes.sources import ChunkSource
from braid.core.ledger.change_log import ChangeLog, IndexState

Verdict = Literal["follow", "follow, inspect again", "rebuild"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """Reasons to look at an index more closely than at each batch."""

    rebuild_wanted: bool = False
    """Somebody asked for a rebuild."""
    suspected: bool = False
    """A search of the index failed, or its store could not be used."""
    unseen: bool = False
    """This process has not looked at the index yet."""

    def __bool__(self) -> bool:
        return self.suspected or self.unseen


class Inspection:
    """Inspects one leg's indexes. ``crashed`` says that the last owner of the data directory was killed."""

    def __init__(self, index: LegIndex, source: ChunkSource, changes: ChangeLog, *, crashed: bool) -> None:
        self._index = index
        self._source = source
        self._changes = changes
        self._crashed = crashed

    def can_begin_empty(self, collection: str) -> bool:
        """Return whether a collection without a recorded state can be followed from the beginning of the log."""
        # A pruned log tells only the last changes, and an index that has chunks is from an unknown time. What is put
        # between the two counts is in the second, so that no log looks pruned for it.
        chunks = self._changes.chunk_count(collection)
        complete_log = self._changes.pending(collection, 0) >= chunks
        return complete_log and (not self._index.stored or self._index.count(collection) == 0)

    def verdict(self, collection: str, state: IndexState, *, head: int, version: str, doubt: Doubt) -> Verdict:
        """Decide how to go on from ``state``, given the log's last sequence number and the wanted version."""
        if doubt.rebuild_wanted or self._is_unusable(state, head, version):
            return "rebuild"
        if not self._index.stored:
            return "follow"
        if self._is_damaged(collection, doubt):
            return "rebuild"
        if doubt and state.applied_seq >= head:
            return self._compare(collection, head, version)
        if self._is_lost(collection, state, doubt):
            return "rebuild"
        return "follow, inspect again" if doubt and self._index.is_elsewhere else "follow"

    def _is_unusable(self, state: IndexState, head: int, version: str) -> bool:
        """Return whether the recorded state alone says that the index cannot be followed on."""
        if state.applied_seq > head:  # the ledger was restored from a backup that is older than the index
            return True
        if state.version != version:  # another analyzer or model: its tokens or vectors mean something else
            return True
        if state.state == "rebuilding":  # a rebuild was interrupted, so the index has a part of the chunks
            return True
        # A batch was interrupted; such an index may have a right count and wrong contents.
        return state.state == "writing" and not self._index.crash_safe

    def _is_damaged(self, collection: str, doubt: Doubt) -> bool:
        """Probe the index, which costs about a millisecond per chunk, where damage is likely."""
        likely = doubt.suspected or (doubt.unseen and self._crashed)
        return likely and bool(self._index.check(collection))

    def _compare(self, collection: str, head: int, version: str) -> Verdict:
        """Judge an index that has applied everything by its number of chunks; one that is elsewhere by which these
        are, since it may have lost some, and have others of a later time.
        """
        if self._index.count(collection) == self._source.count(collection) and (
            not self._index.is_elsewhere
            or set(self._index.ids(collection)) == self._changes.embedded_ids(collection, version)
        ):
            return "follow"
        if self._changes.heads().get(collection, 0) == head:
            return "rebuild"
        return "follow, inspect again"  # the ledger has changed since ``head``: compare when that is applied, too

    def _is_lost(self, collection: str, state: IndexState, doubt: Doubt) -> bool:
        """Return whether the index has vanished. The next `apply` would silently begin an empty one."""
        if state.applied_seq == 0 or self._index.count(collection) > 0:
            return False
        if doubt:
            return self._source.count(collection) > 0
        # Deletions may have emptied it rightly; then the collection is still there.
        return collection not in self._index.collections()
