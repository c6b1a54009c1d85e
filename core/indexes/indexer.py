"""The indexer: two legs that follow the ledger, each in a thread of its own, so that embedding never delays BM25."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence

from braid.core.indexes.base import IndexedChunk
from braid.core.indexes.bm25 import Bm25Index
from braid.core.indexes.dense import DenseIndex
from braid.core.indexes.embedder import ChunkEmbedder
from braid.core.indexes.follower import IndexFollower, LegProgress, Preparation
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.ledger import Ledger
from braid.core.models.embeddings import EmbeddingModel
from braid.core.priority import SearchPriority, lower_thread_priority
from braid.core.types import Leg

POLL_S = 0.5
FIRST_LOOK_S = 2.0
CHUNKS_PER_REBUILD_READ = 2000

logger = logging.getLogger(__name__)


class Indexer:
    """Runs the legs named by ``follow``; the index of one that is left out stays as it is, and without ``dense``
    nothing is embedded. `start` returns when each had a first look at every collection, or after 2 seconds.
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
        before_work: Callable[[], None] = lambda: None,
    ) -> None:
        self._log = ChangeLog(ledger.database)
        self._before_work = before_work
        embedder = ChunkEmbedder(ledger, self._log, priority or SearchPriority())
        self.legs: dict[Leg, IndexFollower] = {
            "bm25": IndexFollower(bm25, self._log, _keyword_preparation(self._log, analyzer_version), crashed=crashed),
            "dense": IndexFollower(
                dense, self._log, _dense_preparation(embedder, self._log, model_of), crashed=crashed
            ),
        }
        self._wakes = {leg: threading.Event() for leg in self.legs}
        self._looked = {leg: threading.Event() for leg in follow}
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(leg,), name=f"braid-{leg}", daemon=True) for leg in follow
        ]

    def start(self) -> None:
        """Begin to follow the ledger."""
        for leg in self.legs.values():
            leg.begin()
        for thread in self._threads:
            thread.start()
        deadline = time.monotonic() + FIRST_LOOK_S
        for looked in self._looked.values():
            looked.wait(max(0.0, deadline - time.monotonic()))

    def stop(self) -> None:
        """Finish the batches under way and stop; what is left is done at the next start."""
        self._stopping.set()
        self.wake()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def wake(self) -> None:
        """Look at the log now instead of at the next poll."""
        for event in self._wakes.values():
            event.set()

    def suspect(self, leg: Leg, collection: str) -> None:
        """A search failed: check the index and rebuild it if it is broken."""
        self.legs[leg].suspect(collection)
        self._wakes[leg].set()

    def rebuild(self, leg: Leg, collection: str) -> None:
        """Build one index anew from the ledger, without embedding again."""
        self.legs[leg].rebuild(collection)
        self._wakes[leg].set()

    @property
    def has_looked(self) -> bool:
        """Whether every index that was there at the start has been checked."""
        return all(progress.state != "checking" for progress in self.progress())

    def progress(self) -> tuple[LegProgress, ...]:
        """How far every index is."""
        return tuple(progress for leg in self.legs.values() for progress in leg.all_progress())

    def leg_progress(self, leg: Leg, collection: str, head: int | None = None) -> LegProgress:
        """How far one index is; with the collection's ``head`` it counts what came since the last look, too."""
        return self.legs[leg].progress(collection, head)

    def heads(self, collections: Collection[str]) -> dict[str, int]:
        """The last sequence number of each collection in the change log."""
        return self._log.heads(collections)

    def wait(self, timeout_s: float, legs: Sequence[Leg] = ("bm25", "dense")) -> bool:
        """Wait until these legs have applied all that is in the log now. False when the time is over."""
        self.wake()
        deadline = time.monotonic() + timeout_s
        heads = {name: head for name, head in self._log.heads().items() if head}
        while not all(self._is_complete(leg, heads) for leg in legs):
            if time.monotonic() >= deadline or self._stopping.is_set():
                return False
            time.sleep(0.02)
        return True

    def _is_complete(self, leg: Leg, heads: dict[str, int]) -> bool:
        states = self._log.states(leg)
        for collection, head in heads.items():
            state, progress = states.get(collection), self.leg_progress(leg, collection)
            if state is None or state.applied_seq < head or state.state != "ready" or progress.obstacle:
                return False
        return True

    def _run(self, leg: Leg) -> None:
        indexer, wake, retry_s = self.legs[leg], self._wakes[leg], POLL_S
        lower_thread_priority()
        while not self._stopping.is_set():
            wake.clear()
            busy = False
            try:
                self._before_work()
                busy = indexer.work(self._stopping)
                if not busy:
                    self._prune(indexer)
                self._looked[leg].set()
                retry_s = POLL_S
            except Exception:  # the edge of a thread: it must outlive an outage of the database
                logger.exception("the %s indexer stumbled; trying again in %.1f s", leg, retry_s)
                retry_s = min(2 * retry_s, 30.0)
            if not busy:
                wake.wait(retry_s)

    def _prune(self, indexer: IndexFollower) -> None:
        other = self.legs["dense" if indexer.leg == "bm25" else "bm25"]
        mine, theirs = self._log.states(indexer.leg), self._log.states(other.leg)
        for collection, seq in self._log.first_seqs().items():
            if collection in mine and collection in theirs:
                applied = min(mine[collection].applied_seq, theirs[collection].applied_seq)
                if 0 < seq < applied:
                    self._log.prune(collection, applied)


def _keyword_preparation(log: ChangeLog, version: str) -> Preparation:
    return Preparation(
        version=lambda _: version,
        count=log.chunk_count,
        read=lambda collection, ids: log.chunks(collection, ids),
        read_all=lambda collection: log.all_chunks(collection, CHUNKS_PER_REBUILD_READ),
        prepare=lambda _, chunks: (list(chunks), len(chunks)),
        left_out=lambda _: 0,
    )


def _dense_preparation(
    embedder: ChunkEmbedder, log: ChangeLog, model_of: Callable[[str], EmbeddingModel]
) -> Preparation:
    def fingerprint(collection: str) -> str:
        return model_of(collection).fingerprint

    def read_all(collection: str) -> Iterator[list[IndexedChunk]]:
        yield from log.all_chunks(collection, CHUNKS_PER_REBUILD_READ, fingerprint(collection))
        log.forget_other_models(collection, fingerprint(collection))

    return Preparation(
        version=fingerprint,
        count=lambda collection: log.embedded_count(collection, fingerprint(collection)),
        read=lambda collection, ids: log.chunks(collection, ids, fingerprint(collection)),
        read_all=read_all,
        prepare=lambda collection, chunks: embedder.leading(collection, model_of(collection), chunks),
        left_out=lambda collection: embedder.left_out(collection, model_of(collection)),
    )
