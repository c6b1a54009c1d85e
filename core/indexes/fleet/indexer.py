"""The indexer of a member: it claims its part of the collections that have work, follows those, and answers from the
ledger how far all indexes are.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from braid.core.errors import BraidError
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.base import IndexName, KeywordIndex, LegIndex, VectorIndex
from braid.core.indexes.fleet.claimed import INDEX
from braid.core.indexes.fleet.follower import FleetFollower
from braid.core.indexes.follower import IndexFollower
from braid.core.indexes.indexer import POLL_S, POLLS
from braid.core.indexes.reader import ReadingIndexer
from braid.core.indexes.sources import ChunkSource
from braid.core.ledger import prepared
from braid.core.ledger.change_log import StateName
from braid.core.ledger.database import Database
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.member import Member
from braid.core.ledger.outages import log_failure

IDLE_S = 10.0
"""Time after which a collection without work is given back: to claim it again costs an inspection."""


class Sharing:
    """Claims and gives back. ``versions`` returns for each leg the version that a collection's index must have."""

    def __init__(self, database: Database, member: Member, versions: Mapping[StateName, Callable[[str], str]]) -> None:
        self._database = database
        self._member = member
        self._versions = versions
        self._worked_at: dict[str, float] = {}

    def look(self) -> bool:
        """Take what is free and has work, up to this member's part, and give back what is idle or too much.

        Returns whether it tried to take any: another member may have been quicker. One that is not sure that it is not
        declared dead leaves all as it is.
        """
        if not self._member.is_sure:
            return False
        work, now = self._with_work(), time.monotonic()
        mine = set(self._member.held(INDEX))
        self._worked_at = {name: self._worked_at.get(name, now) for name in mine}
        self._worked_at.update(dict.fromkeys(mine & work.keys(), now))
        idle = {name for name in mine if now - self._worked_at[name] >= IDLE_S}
        busy = sorted(mine & work.keys())
        part = -(-len(work) // max(1, self._member.living().working))
        # One more than its part stays, or collections would wander; and a rebuild would begin again elsewhere.
        too_many = [name for name in busy[part + 1 :] if not work[name]]
        if idle or too_many:
            self._member.release([INDEX + name for name in (*idle, *too_many)])
        claims, name_here = self._member.claims(), self._member.name
        # A claim of this process that it does not know: an answer of the database was lost.
        free = [name for name in work.keys() - mine if claims.get(INDEX + name, name_here) == name_here]
        taken = random.sample(free, min(len(free), max(0, part - len(busy))))
        if taken:
            self._member.claim([INDEX + name for name in taken])
        return bool(taken)

    def _with_work(self) -> dict[str, bool]:
        """Return the collections that have work in a leg, and whether one of their indexes is being rebuilt."""
        found: dict[str, bool] = {}
        for leg, version_of in self._versions.items():
            for collection, *found_state in self._database.rows(prepared.TO_FOLLOW, leg=leg):
                head, version, applied, state, wanted, report = found_state
                if state is None:
                    has_work = head > 0
                else:
                    has_work = bool(wanted) or state != "ready" or applied != head or _is_ill(report)
                    has_work = has_work or _is_other(version, version_of, collection)
                if has_work:
                    found[collection] = found.get(collection, False) or state == "rebuilding"
        return found


def _is_ill(report: str) -> bool:
    """Return whether the follower's last word was not that the index is ready: it is tried again until it is."""
    return bool(report) and json.loads(report).get("state", "ready") != "ready"


def _is_other(version: str, version_of: Callable[[str], str], collection: str) -> bool:
    try:
        return version != version_of(collection)
    except BraidError:  # a model that cannot be made: nothing can be done for the collection
        return False


SLOW_POLL_S = 10.0
"""Time between two looks for work of a member that is woken when there is some."""

logger = logging.getLogger(__name__)


class FleetIndexer(ReadingIndexer):
    """Follows the ledger as `Indexer` does, in a member that works. ``is_woken`` says whether it is woken for work."""

    def __init__(
        self,
        ledger: Ledger,
        bm25: KeywordIndex,
        dense: VectorIndex,
        *,
        member: Member,
        models: AnsweringModels,
        is_woken: Callable[[], bool],
        **options: Any,
    ) -> None:
        self._member = member
        self._is_woken = is_woken
        super().__init__(
            ledger, bm25, dense, None, keyword_version=bm25.version, models=models, crashed=False, **options
        )
        followers = {leg: self.followers[leg] for leg in self._legs}
        self._sharing = Sharing(
            self._database, member, {each.name: self._sources[leg][1].version for leg, each in followers.items()}
        )
        self._look_for_work = threading.Event()
        self._sharing_thread = threading.Thread(target=self._share, name="braid-sharing", daemon=True)

    def _make_follower(self, index: LegIndex, source: ChunkSource, **_options: Any) -> IndexFollower:
        self._sources[index.leg] = index, source
        return FleetFollower(index, self._database, source, self._member)

    def start(self) -> None:
        """Begin to follow the ledger, in a member that works."""
        if self._member.works:
            self._follow()
            self._sharing_thread.start()

    def stop(self) -> None:
        """Finish the running batches and stop."""
        self._stopping.set()
        self._look_for_work.set()
        super().stop()
        if self._sharing_thread.ident is not None:
            self._sharing_thread.join()

    def wake(self) -> None:
        """Have the working members look at the log now."""
        self.wake_here()
        super().wake()

    def wake_here(self) -> None:
        """Look at the log now in this member."""
        self._wake(self._legs)

    def wait(
        self,
        timeout_s: float,
        legs: Sequence[IndexName] = ("bm25", "dense"),
        *,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> bool:
        """Wait until the fleet has applied all that is in the log now to these legs. False after ``timeout_s``."""
        self._database.notify("changes")
        return super().wait(timeout_s, legs, on_progress=on_progress)

    def _pause_s(self, index: IndexName, took_s: float = 0.0) -> float:
        pause_s = super()._pause_s(index, took_s)
        return max(SLOW_POLL_S, pause_s) if self._is_woken() and self.followers[index].is_idle else pause_s

    def _wake(self, names: Sequence[IndexName]) -> None:
        self._look_for_work.set()
        super()._wake(names)

    def _share(self) -> None:
        """Claim and give back, at once when there may be work."""
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._before_work()
                if self._sharing.look():
                    super()._wake(self._legs)
                    self._look_for_work.set()  # for what is left where another was quicker
                is_woken = self._is_woken()
            except Exception as error:  # the edge of a thread, which must survive an outage of the database
                log_failure(logger, "sharing the collections, which will be tried again", error)
                is_woken = False  # for this once more
            took_s = time.monotonic() - began
            pause_s = max(POLL_S, POLLS * took_s)
            self._look_for_work.wait(max(SLOW_POLL_S, pause_s) if is_woken else pause_s)
            self._stopping.wait(POLLS * took_s)  # it is woken for each of a thousand documents
            self._look_for_work.clear()

    def _want(self, index: IndexName, collection: str, wanted: str) -> None:
        super()._want(index, collection, wanted)
        self.wake_here()
