"""The indexer: one follower per leg, each in a thread of its own, so that embedding never delays BM25."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.base import IndexName, KeywordIndex, LegIndex, VectorIndex
from braid.core.indexes.chroma.copy import ChromaCopy
from braid.core.indexes.embedder import ChunkEmbedder, give_back_memory
from braid.core.indexes.follower import IndexFollower
from braid.core.indexes.leg_progress import RESTS, Counting, LegProgress
from braid.core.indexes.sources import Bm25Source, ChunkSource, CopySource, DenseSource, StoredDenseSource
from braid.core.ledger.change_log import ChangeLog, IndexState
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.outages import log_failure
from braid.core.priority import SearchPriority, lower_thread_priority
from braid.core.types import Leg

POLL_S = 0.5
WATCH_S = 0.05
"""Shortest time between two looks, and that of a ledger in a file, which says in 5 µs whether a process has written."""
POLLS = 4
LONGEST_POLL_S = 2.0
"""A look at 10,000 collections takes half a second: the next comes after four times as long, or after two seconds."""
COPY_POLL_S = 10.0
"""Time between two looks at the copy in Chroma, for which nobody waits, and before the first one."""
COPY_CLOSING_S = 8.0
"""Time that the copy has to end what it does when the process stops: only to open Chroma may take longer."""
WAIT_S = 0.02
LONGEST_WAIT_S = 1.0
"""Shortest and longest seconds between two looks of a caller that waits for the indexes."""
LOOK_ANYWAY_S = 10.0
"""Longest time between two looks at every collection, whatever the database says."""
FIRST_LOOK_S = 2.0
MOST_COUNTED = 2_000
"""Passages or changes that a search looks at to say what it misses, some 3 ms while that many wait."""

logger = logging.getLogger(__name__)


class Indexer:
    """Runs the followers of the legs in ``follow``, and with ``dense`` that of the copy in Chroma. The indexes of
    another leg stay as they are; without ``dense`` nothing is embedded. `start` returns when the follower of each leg
    has looked at every collection, or after 2 seconds.

    ``crashed`` says that the last owner of the data directory was killed; ``before_work`` is called before each look,
    and returns the version of what model each collection has.
    """

    def __init__(
        self,
        ledger: Ledger,
        bm25: KeywordIndex,
        dense: VectorIndex,
        copy: ChromaCopy | None,
        *,
        keyword_version: str,
        models: AnsweringModels,
        crashed: bool,
        priority: SearchPriority | None = None,
        follow: Sequence[Leg] = ("bm25", "dense"),
        before_work: Callable[[], object] = lambda: None,
    ) -> None:
        self._changes = ChangeLog(ledger.database)
        self._poll_s = POLL_S if ledger.database.version() is None else WATCH_S
        self._before_work = before_work
        embedder = ChunkEmbedder(ledger, self._changes, priority or SearchPriority())
        bm25_source = Bm25Source(self._changes, keyword_version)
        dense_source = (StoredDenseSource if dense.stored else DenseSource)(self._changes, embedder, models)
        self.followers: dict[IndexName, IndexFollower] = {
            "bm25": self._make_follower(bm25, bm25_source, crashed=crashed),
            "dense": self._make_follower(dense, dense_source, crashed=crashed, keep=models.keep),
        }
        if copy is not None:
            source = CopySource(self._changes, models, texts=copy.texts)
            # A copy whose writing was interrupted is noted in the ledger: nothing more is to be checked after a kill.
            self.followers["chroma"] = self._make_follower(copy, source, crashed=False, heads=self._embedded_heads)
        dense.on_missing(partial(self.suspect, "dense"))
        self._wakes = {name: threading.Event() for name in self.followers}
        self._looked = {name: threading.Event() for name in self.followers}
        self._stopping = threading.Event()
        self._keywords_done = threading.Event()
        self._finished = threading.Event()
        self._legs = tuple(follow)
        followed: tuple[IndexName, ...] = (*follow, "chroma") if "dense" in follow and copy else self._legs
        self._threads = {
            name: threading.Thread(target=self._run, args=(name,), name=f"braid-{name}", daemon=True)
            for name in followed
        }

    def _make_follower(self, index: LegIndex, source: ChunkSource, **options: Any) -> IndexFollower:
        return IndexFollower(index, self._changes, source, **options)

    def start(self) -> None:
        """Begin to follow the ledger."""
        self._follow()

    def _follow(self) -> None:
        self._give_up_others()
        for follower in self.followers.values():
            follower.begin()
        for thread in self._threads.values():
            thread.start()
        deadline = time.monotonic() + FIRST_LOOK_S
        for leg in self._legs:
            self._looked[leg].wait(max(0.0, deadline - time.monotonic()))

    def stop(self) -> None:
        """Finish the running batches and stop; what is left is done at the next start. A batch of the copy that takes
        longer than `COPY_CLOSING_S` is broken off: the collection's copy is then written again as a whole.
        """
        self._stopping.set()
        deadline = time.monotonic() + COPY_CLOSING_S
        for event in (*self._wakes.values(), self._keywords_done, self._finished):
            event.set()
        for name, thread in self._threads.items():
            if thread.ident is None:
                continue
            thread.join(max(0.0, deadline - time.monotonic()) if name == "chroma" else None)
            if thread.is_alive():
                self.followers[name].index.close()
                thread.join()

    def wake(self) -> None:
        """Look at the log now instead of at the next poll."""
        self._wake(self._legs)

    def _wake(self, names: Sequence[IndexName]) -> None:
        for name in names:
            self._wakes[name].set()

    def suspect(self, index: IndexName, collection: str) -> None:
        """Have an index checked after a failed search, and rebuilt if it is broken."""
        self.followers[index].suspect(collection)
        self._wakes[index].set()

    def rebuild(self, index: IndexName, collection: str) -> None:
        """Have one index built again from the ledger, without embedding again; with the dense leg's, its copy."""
        rebuilt: tuple[IndexName, ...] = ("dense", "chroma") if index == "dense" else (index,)
        for name in (each for each in rebuilt if each in self.followers):
            self.followers[name].rebuild(collection)
            self._wakes[name].set()

    @property
    def has_looked(self) -> bool:
        """Whether every index that was there at the start has been checked."""
        return all(progress.state != "checking" for progress in self.progress())

    def progress(self) -> tuple[LegProgress, ...]:
        """Return how far the indexes of the legs are."""
        legs = (self.followers["bm25"], self.followers["dense"])
        return tuple(progress for follower in legs for progress in follower.all_progress())

    def copy_progress(self, collection: str) -> LegProgress:
        """Return how far the copy in Chroma is."""
        return self.leg_progress("chroma", collection, self._embedded_heads().get(collection, 0))

    def leg_progress(self, index: IndexName, collection: str, head: int | None = None) -> LegProgress:
        """Return how far one index is; with the collection's ``head``, changes since the last look count, too."""
        return self.followers[index].progress(collection, head)

    def heads(self, collections: Collection[str]) -> dict[str, int]:
        """Return the last sequence number of each collection in the change log."""
        return self._changes.heads(collections)

    def states(self, legs: Sequence[tuple[Leg, str]]) -> list[LegProgress]:
        """Return how far these legs' indexes of collections are; changes since the last look count, too."""
        heads = self.heads({collection for _, collection in legs})
        return [self.leg_progress(leg, collection, heads.get(collection)) for leg, collection in legs]

    def lacks(self, legs: Sequence[tuple[Leg, str]], datasets: Mapping[str, Collection[int]]) -> list[LegProgress]:
        """Return the `states` for a search of these datasets, by collection: removals do not count, which no search
        shows, nor the passages of other datasets. Where these datasets lack some and more than `MOST_COUNTED` are to
        be looked at, the number is that of the collection.
        """
        return [self._of_datasets(each, datasets[each.collection]) for each in self.states(legs)]

    def _of_datasets(self, found: LegProgress, dataset_ids: Collection[int]) -> LegProgress:
        if found.state != "ready" or found.error or not (found.pending or found.left_out):
            return found
        follower, collection = self.followers[found.leg], found.collection
        state = self._changes.state_of(follower.name, collection)
        version = follower.version(collection)
        if state is not None and (state.state == "rebuilding" or state.version != version):
            return found
        seq, model = state.applied_seq if state else 0, ""
        if found.leg == "dense" and not follower.index.stored:
            model = version
        lacking: int | None
        if model and self._changes.chunks_of(dataset_ids) <= MOST_COUNTED:  # also of those that were left out
            lacking = self._changes.unembedded_count(
                collection, model, dataset_ids=dataset_ids, document_ids=None, limit=MOST_COUNTED
            )
        elif found.pending:
            lacking = self._changes.lacking(collection, seq, dataset_ids=dataset_ids, model=model, most=MOST_COUNTED)
        else:
            return found
        if lacking is None or any(dataset_id in dataset_ids for dataset_id, _ in follower.storing(collection)):
            return found
        return replace(found, pending=lacking) if found.pending else replace(found, left_out=lacking)

    def has_stored_vectors(self, collection: str, document_ids: Collection[int]) -> bool:
        """Whether the dense index has these documents' vectors that are in the ledger."""
        return not any(document_id in document_ids for _, document_id in self.followers["dense"].storing(collection))

    def wait(
        self,
        timeout_s: float,
        legs: Sequence[IndexName] = ("bm25", "dense"),
        *,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> bool:
        """Wait until these legs, or the copy in Chroma where there is one, have applied all that is in the log now.
        False after ``timeout_s``.

        ``on_progress`` is called at first, at the end, and in between at most four times per second, with the numbers
        of changes applied and of all that were to be applied to the legs: one for each leg and new passage.
        """
        deadline = time.monotonic() + timeout_s
        counting = Counting(on_progress)
        heads = {name: head for name, head in self._changes.heads().items() if head}
        followed = [name for name in legs if name in self.followers]
        followed.sort(key=lambda each: each == "chroma")  # the copy takes what the dense leg has embedded
        for name in followed:
            self._wake([name])
            looked = time.monotonic()
            while not self._is_complete(name, heads):
                if time.monotonic() >= deadline or self._stopping.is_set():
                    return False
                # The work needs the processor, too: to look at 10,000 collections takes a while.
                now = time.monotonic()
                pause_s = min(max(WAIT_S, RESTS * (now - looked)), LONGEST_WAIT_S, max(0.0, deadline - now))
                counting.look(lambda: sum(self._pending(each, heads) for each in followed))
                rest_s = min(RESTS * (now - looked), pause_s)
                time.sleep(rest_s)
                if self._finished.wait(pause_s - rest_s):
                    self._finished.clear()
                looked = time.monotonic()
        counting.end()
        return True

    def _pending(self, index: IndexName, heads: dict[str, int]) -> int:
        return sum(self.leg_progress(index, collection, head).pending for collection, head in heads.items())

    def _is_complete(self, index: IndexName, heads: dict[str, int]) -> bool:
        states = self._changes.states(self.followers[index].name)
        for collection, head in heads.items():
            state, progress = states.get(collection), self.leg_progress(index, collection, head)
            if state is None or state.applied_seq < head or state.state != "ready":
                return False
            if progress.obstacle or progress.pending:  # as the next search sees it
                return False
        return True

    def _give_up_others(self) -> None:
        """Have indexes that an earlier owner kept written again by the next one that keeps them: the log forgets."""
        for name in self._changes.state_names() - {follower.name for follower in self.followers.values()}:
            for collection, state in self._changes.states(name).items():
                if (state.applied_seq, state.state) == (0, "rebuilding"):
                    continue
                self._changes.set_state(name, collection, IndexState(state.version, 0, "rebuilding"))

    def _embedded_heads(self) -> dict[str, int]:
        """Return how far the dense leg is in each collection, without those that it is embedding again."""
        states = self._changes.states(self.followers["dense"].name)
        return {name: state.applied_seq for name, state in states.items() if state.state == "ready"}

    def _run(self, index: IndexName) -> None:
        wake, pause_s, retry_s = self._wakes[index], self._pause_s(index), 0.0
        look = _Look(self.followers[index], self._changes, self._before_work)
        lower_thread_priority()
        if index == "chroma":
            wake.wait(pause_s)
            if "bm25" not in self._legs:
                self._keywords_done.set()
        while not self._stopping.is_set():
            woken, busy, began = wake.is_set(), False, time.monotonic()
            if woken:
                wake.clear()
            if index == "chroma":  # what answers comes before the copy, which still gets on under a stream of documents
                self._keywords_done.wait(COPY_POLL_S)
            try:
                if look.is_needed(woken):
                    if index == "bm25":
                        self._keywords_done.clear()
                    busy = look.work(self._stopping)
                    if look.has_finished:
                        self._prune()
                        self._finished.set()
                    look.done()
                self._looked[index].set()
                pause_s, retry_s = self._pause_s(index, time.monotonic() - began), 0.0
            except Exception as error:  # the edge of a thread, which must survive an outage of the database
                log_failure(logger, f"indexing {index}, which will be tried again", error)
                retry_s = min(2 * retry_s or POLL_S, 30.0)
            if not busy:
                if index == "bm25":
                    self._keywords_done.set()
                look.follower.index.rest()
                wake.wait(retry_s or pause_s)

    def _pause_s(self, index: IndexName, took_s: float = 0.0) -> float:
        return _poll_s(index, took_s, least_s=self._poll_s if self.followers[index].is_idle else POLL_S)

    def _prune(self) -> None:
        """Remove from the log what every index has applied, and give back the memory that this took."""
        states = [self._changes.states(follower.name) for follower in self.followers.values()]
        for collection, seq in self._changes.first_seqs().items():
            if all(collection in of_index for of_index in states):
                applied = min(of_index[collection].applied_seq for of_index in states)
                if 0 < seq < applied:
                    self._changes.prune(collection, applied)
        give_back_memory()


def _poll_s(index: IndexName, took_s: float = 0.0, *, least_s: float = POLL_S) -> float:
    """Return the time until the next look; with many collections each of whose looks takes long, a longer one."""
    return COPY_POLL_S if index == "chroma" else max(least_s, min(POLLS * took_s, LONGEST_POLL_S))


class _Look:
    """Says whether a follower must look at its collections again, so that one with nothing to do asks one question."""

    def __init__(
        self,
        follower: IndexFollower,
        changes: ChangeLog,
        version: Callable[[], object],
        *,
        anyway_s: float = LOOK_ANYWAY_S,
    ) -> None:
        self.follower = follower
        self.has_finished = False
        """Whether the last `work` found nothing left to do, and there was something to do before."""
        self._anyway_s = anyway_s
        self._was_busy = self._is_busy = True
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

    def work(self, stopping: threading.Event) -> bool:
        """Look, and do one batch of work; False when nothing is left to do now."""
        self._is_busy = self.follower.work(stopping)
        self.has_finished = self._was_busy and not self._is_busy
        return self._is_busy

    def done(self) -> None:
        """Note that the look has ended. One that failed or left something for later is made again at the next poll."""
        self._was_busy = self._is_busy
        self._until = time.monotonic() + self._anyway_s if self.follower.is_idle else 0.0
