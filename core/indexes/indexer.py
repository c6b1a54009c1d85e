"""The indexer: one follower per leg, each in a thread of its own, so that embedding never delays BM25."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence

from braid.core.indexes.bm25 import Bm25Index
from braid.core.indexes.dense import DenseIndex
from braid.core.indexes.embedder import ChunkEmbedder
from braid.core.indexes.follower import IndexFollower
from braid.core.indexes.leg_progress import LegProgress
from braid.core.indexes.sources import Bm25Source, DenseSource
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.ledger import Ledger
from braid.core.models.embeddings import EmbeddingModel
from braid.core.priority import SearchPriority, lower_thread_priority
from braid.core.types import Leg

POLL_S = 0.5
LOOK_ANYWAY_S = 10.0
"""Longest time between two looks at every collection, whatever the database says."""
FIRST_LOOK_S = 2.0

logger = logging.getLogger(__name__)


class Indexer:
    """Runs the followers of the legs in ``follow``. The indexes of another leg stay as they are; without ``dense``
    nothing is embedded. `start` returns when each of its followers has looked at every collection, or after 2 seconds.

    ``crashed`` says that the last owner of the data directory was killed; ``before_work`` is called twice a second and
    returns the version of what model each collection has.
    """

    def __init__(
        self,
        ledger: Ledger,
        bm25: Bm25Index,
        dense: DenseIndex,
        *,
        analyzer_version: str,
        model_of: Callable[[str], EmbeddingModel],
        crashed: bool,
        priority: SearchPriority | None = None,
        follow: Sequence[Leg] = ("bm25", "dense"),
        before_work: Callable[[], object] = lambda: None,
    ) -> None:
        self._changes = ChangeLog(ledger.database)
        self._before_work = before_work
        embedder = ChunkEmbedder(ledger, self._changes, priority or SearchPriority())
        bm25_source = Bm25Source(self._changes, analyzer_version)
        dense_source = DenseSource(self._changes, embedder, model_of)
        self.followers: dict[Leg, IndexFollower] = {
            "bm25": IndexFollower(bm25, self._changes, bm25_source, crashed=crashed),
            "dense": IndexFollower(dense, self._changes, dense_source, crashed=crashed),
        }
        self._wakes = {leg: threading.Event() for leg in self.followers}
        self._looked = {leg: threading.Event() for leg in follow}
        self._stopping = threading.Event()
        self._threads = {
            leg: threading.Thread(target=self._run, args=(leg,), name=f"braid-{leg}", daemon=True) for leg in follow
        }

    def start(self, *, later: Collection[Leg] = ()) -> None:
        """Begin to follow the ledger, in the legs of ``later`` from `start_later` on: until then they are checking."""
        for follower in self.followers.values():
            follower.begin()
        legs = [leg for leg in self._threads if leg not in later]
        for leg in legs:
            self._threads[leg].start()
        deadline = time.monotonic() + FIRST_LOOK_S
        for leg in legs:
            self._looked[leg].wait(max(0.0, deadline - time.monotonic()))

    def start_later(self) -> None:
        """Begin with the legs that `start` has left for later, without waiting for their first look."""
        for thread in self._threads.values():
            if thread.ident is None and not self._stopping.is_set():
                thread.start()

    def stop(self) -> None:
        """Finish the running batches and stop; what is left is done at the next start."""
        self._stopping.set()
        self.wake()
        for thread in self._threads.values():
            if thread.ident is not None:
                thread.join()

    def wake(self) -> None:
        """Look at the log now instead of at the next poll."""
        for event in self._wakes.values():
            event.set()

    def suspect(self, leg: Leg, collection: str) -> None:
        """Have an index checked after a failed search, and rebuilt if it is broken."""
        self.followers[leg].suspect(collection)
        self._wakes[leg].set()

    def rebuild(self, leg: Leg, collection: str) -> None:
        """Have one index built again from the ledger, without embedding again."""
        self.followers[leg].rebuild(collection)
        self._wakes[leg].set()

    @property
    def has_looked(self) -> bool:
        """Whether every index that was there at the start has been checked."""
        return all(progress.state != "checking" for progress in self.progress())

    def progress(self) -> tuple[LegProgress, ...]:
        """Return how far every index is."""
        return tuple(progress for follower in self.followers.values() for progress in follower.all_progress())

    def leg_progress(self, leg: Leg, collection: str, head: int | None = None) -> LegProgress:
        """Return how far one index is; with the collection's ``head``, changes since the last look count, too."""
        return self.followers[leg].progress(collection, head)

    def heads(self, collections: Collection[str]) -> dict[str, int]:
        """Return the last sequence number of each collection in the change log."""
        return self._changes.heads(collections)

    def wait(self, timeout_s: float, legs: Sequence[Leg] = ("bm25", "dense")) -> bool:
        """Wait until these legs have applied all that is in the log now. False after ``timeout_s``."""
        self.wake()
        deadline = time.monotonic() + timeout_s
        heads = {name: head for name, head in self._changes.heads().items() if head}
        while not all(self._is_complete(leg, heads) for leg in legs):
            if time.monotonic() >= deadline or self._stopping.is_set():
                return False
            time.sleep(0.02)
        return True

    def _is_complete(self, leg: Leg, heads: dict[str, int]) -> bool:
        states = self._changes.states(leg)
        for collection, head in heads.items():
            state, progress = states.get(collection), self.leg_progress(leg, collection, head)
            if state is None or state.applied_seq < head or state.state != "ready":
                return False
            if progress.obstacle or progress.pending:  # as the next search sees it
                return False
        return True

    def _run(self, leg: Leg) -> None:
        wake, retry_s = self._wakes[leg], POLL_S
        look = _Look(self.followers[leg], self._changes, self._before_work)
        lower_thread_priority()
        while not self._stopping.is_set():
            woken, busy = wake.is_set(), False
            if woken:
                wake.clear()
            try:
                if look.is_needed(woken):
                    busy = look.follower.work(self._stopping)
                    if not busy:
                        self._prune(look.follower)
                    look.done()
                self._looked[leg].set()
                retry_s = POLL_S
            except Exception:  # the edge of a thread, which must survive an outage of the database
                logger.exception("indexing %s failed; trying again in %.1f s", leg, retry_s)
                retry_s = min(2 * retry_s, 30.0)
            if not busy:
                wake.wait(retry_s)

    def _prune(self, follower: IndexFollower) -> None:
        """Remove from the log what both legs have applied."""
        other: Leg = "dense" if follower.leg == "bm25" else "bm25"
        mine, theirs = self._changes.states(follower.leg), self._changes.states(other)
        for collection, seq in self._changes.first_seqs().items():
            if collection in mine and collection in theirs:
                applied = min(mine[collection].applied_seq, theirs[collection].applied_seq)
                if 0 < seq < applied:
                    self._changes.prune(collection, applied)


class _Look:
    """Says whether a follower must look at its collections again, so that one with nothing to do asks one question."""

    def __init__(self, follower: IndexFollower, changes: ChangeLog, version: Callable[[], object]) -> None:
        self.follower = follower
        self._watch = changes.watch
        self._changed: Callable[[], bool] | None = None
        self._version = version
        self._seen: object = None
        self._until = 0.0

    def is_needed(self, woken: bool) -> bool:
        """Whether anything may have changed since `done`. To be called before each look, never after it has begun."""
        if woken:
            self._until = 0.0  # also for the next call, should this one raise
        if self._changed is None:  # in the thread that asks, where an outage of the database is survived
            self._changed = self._watch()
        version, changed = self._version(), self._changed()
        needed = woken or changed or version != self._seen or time.monotonic() >= self._until
        if needed:
            self._seen, self._until = version, 0.0
        return needed

    def done(self) -> None:
        """Note that the look has ended. One that failed or left something for later is made again at the next poll."""
        self._until = time.monotonic() + LOOK_ANYWAY_S if self.follower.is_idle else 0.0
