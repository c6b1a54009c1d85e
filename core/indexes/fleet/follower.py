"""The follower of one leg in a working member: it follows what the member has claimed, and says how far it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from braid.core.errors import BraidError
from braid.core.indexes.base import LegIndex
from braid.core.indexes.fleet.claimed import INDEX, ClaimedIndex, ClaimedLog, ClaimLostError
from braid.core.indexes.follower import IndexFollower
from braid.core.indexes.leg_progress import LegProgress, ProgressBoard, ProgressState
from braid.core.indexes.sources import ChunkSource
from braid.core.ledger.change_log import IndexState
from braid.core.ledger.database import Database
from braid.core.ledger.member import Member

SAY_S = 1.0
"""Least time between two reports of how many passages are to go."""


class FleetFollower(IndexFollower):
    """Follows collections from their claim to its end."""

    def __init__(self, index: LegIndex, database: Database, source: ChunkSource, member: Member) -> None:
        self._claimed = ClaimedLog(database, member)
        self._guarded = ClaimedIndex(index, self._claimed)
        super().__init__(self._guarded, self._claimed, source, crashed=False)
        self._board: _SaidBoard = _SaidBoard(self, source.left_out)
        self._member = member

    def begin(self) -> None:
        """Do nothing: each collection is inspected when it has been claimed."""

    def work(self, stopping: threading.Event) -> bool:
        """Do one batch of work for every claimed collection that has any."""
        held, following = self._member.held(INDEX), self._claimed.following
        for collection in [name for name, claim in following.items() if held.get(name) != claim]:
            self._give_up(collection)
        for collection in held.keys() - following.keys():
            following[collection] = held[collection]
            self._board.begin(collection)
        self._guarded.set_right()
        busy = super().work(stopping)
        self.is_idle = self.is_idle and not self._guarded.is_doubtful
        return busy

    def say(self, progress: LegProgress) -> None:
        """Tell the other members how far an index is."""
        version = ""
        with suppress(BraidError):  # of a model that cannot be made, which is what there is to tell
            version = self._source.version(progress.collection)
        self._claimed.report(self.name, version, progress)

    def _fulfil(self, collection: str, wanted: str) -> bool:
        try:
            return super()._fulfil(collection, wanted)
        except ClaimLostError:
            self._give_up(collection)
            return False

    def _drop(self, collection: str) -> None:
        """Delete the collection's index. Other members use the store: it is never abandoned as a whole."""
        self.index.drop(collection)

    def _attempt(self, collection: str, state: IndexState | None, head: int) -> bool:
        try:
            return super()._attempt(collection, state, head)
        except ClaimLostError:
            self._give_up(collection)
            return False

    def _inspect(self, collection: str, state: IndexState | None, head: int, *, doubt: bool) -> tuple[IndexState, bool]:
        inspected, sound = super()._inspect(collection, state, head, doubt=doubt)
        if state is None and sound:  # a report without a state would say that nothing is known of the index
            self._claimed.set_state(self.name, collection, inspected)
        return inspected, sound

    def _give_up(self, collection: str) -> None:
        """Forget the collection, which is another member's now."""
        self._claimed.following.pop(collection, None)
        self._rebuilds.pop(collection, None)
        self._trusted.pop(collection, None)
        self._board.forget(collection)
        self._retries.retry_now(collection)
        self._retries.succeed(collection)
        with self._lock:
            self._suspects.discard(collection)
            self._wanted_rebuilds.discard(collection)


class _SaidBoard(ProgressBoard):
    """A board whose reports the other members are told: changes at once, how much is to go once a second."""

    def __init__(self, follower: FleetFollower, left_out: Callable[[str], int]) -> None:
        super().__init__(follower.leg, left_out)
        self._follower = follower
        self._said: dict[str, tuple[tuple[object, ...], float]] = {}

    def begin(self, collection: str) -> None:
        """Have an index inspected that is followed from now on; searches may use it meanwhile."""
        super().report(collection, "checking")

    def forget(self, collection: str) -> None:
        """Know nothing of a collection any more."""
        self._said.pop(collection, None)
        with self._lock:
            self._latest.pop(collection, None)

    def report(self, collection: str, state: ProgressState, *, pending: int = 0, error: str = "") -> None:
        """Replace the collection's report, and say so. Raises ClaimLostError."""
        super().report(collection, state, pending=pending, error=error)
        now = self.get(collection)
        assert now is not None, "it was reported"
        what = (state, error, now.left_out, pending > 0)
        said, at = self._said.get(collection, ((), 0.0))
        if what != said or (pending and time.monotonic() - at >= SAY_S):
            self._follower.say(now)
            self._said[collection] = what, time.monotonic()
