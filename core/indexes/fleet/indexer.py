"""The indexer of a member: it follows what it has claimed, and answers from the ledger how far all indexes are."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.base import IndexName, KeywordIndex, LegIndex, VectorIndex
from braid.core.indexes.fleet.follower import FleetFollower
from braid.core.indexes.fleet.sharing import Sharing
from braid.core.indexes.follower import IndexFollower
from braid.core.indexes.indexer import POLL_S, POLLS
from braid.core.indexes.reader import ReadingIndexer
from braid.core.indexes.sources import ChunkSource
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.member import Member
from braid.core.ledger.outages import log_failure

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
        took_s = 0.0
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._before_work()
                if self._sharing.look():
                    super()._wake(self._legs)
            except Exception as error:  # the edge of a thread, which must survive an outage of the database
                log_failure(logger, "sharing the collections, which will be tried again", error)
            took_s = time.monotonic() - began
            pause_s = max(POLL_S, POLLS * took_s)
            self._look_for_work.wait(max(SLOW_POLL_S, pause_s) if self._is_woken() else pause_s)
            self._stopping.wait(POLLS * took_s)  # it is woken for each of a thousand documents
            self._look_for_work.clear()

    def _want(self, index: IndexName, collection: str, wanted: str) -> None:
        super()._want(index, collection, wanted)
        self.wake_here()
