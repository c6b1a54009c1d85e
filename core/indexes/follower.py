"""One leg's index follows the ledger: replay of the change log, rebuild, recovery."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from braid.core.errors import BraidError, EmbeddingError, IndexUnavailableError
from braid.core.indexes.base import IndexedChunk, LegIndex
from braid.core.ledger.change_log import Change, ChangeLog, IndexState
from braid.core.types import Leg

CHANGES_PER_READ = 512
FIRST_RETRY_S = 1.0
LAST_RETRY_S = 60.0

ProgressState = Literal["checking", "ready", "rebuilding", "failed"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LegProgress:
    """How far one leg's index of one collection is."""

    leg: Leg
    collection: str
    state: ProgressState
    pending: int = 0
    """Chunks still to be applied."""
    seconds_left: float | None = None
    error: str = ""
    left_out: int = 0
    """Chunks that could not be indexed and are not tried again by themselves."""

    @property
    def obstacle(self) -> str:
        """Why the index must not be searched now, in one sentence; empty when it may be."""
        if self.state == "failed":
            return self.error
        if self.state == "checking":
            return f"the {self.leg} index of {self.collection} is being checked"
        if self.state == "rebuilding":
            return f"the {self.leg} index of {self.collection} is being rebuilt, {self.pending} passages to go"
        return ""

    @property
    def shortfall(self) -> str:
        """What a search of the index misses though it may be searched, in one sentence; empty when nothing."""
        if self.state == "ready" and self.left_out and not self.pending:
            return f"{self.left_out} passages of {self.collection} were refused by the embedding model"
        if self.state != "ready" or not self.pending:
            return ""
        missing = f"{self.pending} passages of {self.collection} are not in the {self.leg} index yet"
        return f"{missing}: {self.error}" if self.error else missing


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a leg does to chunks before it indexes them."""

    version: Callable[[str], str]
    """Collection → analyzer version or model fingerprint."""
    count: Callable[[str], int]
    """Collection → chunks that a complete index has."""
    read: Callable[[str, Sequence[str]], list[IndexedChunk]]
    read_all: Callable[[str], Iterator[list[IndexedChunk]]]
    prepare: Callable[[str, Sequence[IndexedChunk]], tuple[list[IndexedChunk], int]]
    """Chunks → those of the leading ones that can be indexed, and how many leading ones that covers (at least
    one; the rest is for the next call). May raise EmbeddingError."""
    left_out: Callable[[str], int]
    """Collection → chunks that were covered, but could not be indexed."""


class IndexFollower:
    """Keeps one leg's index equal to the ledger. `work` runs in one thread; the rest may be asked from any."""

    def __init__(self, index: LegIndex, log: ChangeLog, preparation: Preparation, *, crashed: bool) -> None:
        self.index = index
        self.leg: Leg = index.leg
        self._log = log
        self._leg = preparation
        self._crashed = crashed
        self._progress: dict[str, LegProgress] = {}
        self._rebuilds: dict[str, Iterator[int]] = {}
        self._versions: dict[str, str] = {}
        self._suspects: set[str] = set()
        self._wanted_rebuilds: set[str] = set()
        self._retry_at: dict[str, float] = {}
        self._retry_after: dict[str, float] = {}
        self._store_is_broken = False
        self._applied: dict[str, int] = {}
        self._rate = 0.0
        self._lock = threading.Lock()

    # ------------------------------------------------------------ asked from any thread

    def progress(self, collection: str, head: int | None = None) -> LegProgress:
        """How far a collection is. An index of another version than is wanted now must not be searched.

        With its ``head``, the last sequence number in the log, what came since the last look is pending, too.
        """
        known = self._known(collection)
        if known is None:
            return LegProgress(self.leg, collection, "ready", pending=self._log.chunk_count(collection))
        try:
            version = self._leg.version(collection)
        except BraidError as error:
            return replace(known, state="failed", error=str(error))
        with self._lock:
            valid = self._versions.get(collection) == version and collection not in self._wanted_rebuilds
        if known.state != "ready":
            return known
        if not valid:
            return replace(known, state="checking")
        applied = self._applied.get(collection, 0)
        if head is not None and head > applied and not known.pending:
            return replace(known, pending=self._log.pending(collection, applied))
        return known

    def all_progress(self) -> list[LegProgress]:
        """How far every collection is, by name."""
        with self._lock:
            names = sorted(self._progress)
        return [self.progress(name) for name in names]

    def _known(self, collection: str) -> LegProgress | None:
        """What was last reported; None before the first look."""
        with self._lock:
            return self._progress.get(collection)

    def _state(self, collection: str) -> ProgressState:
        known = self._known(collection)
        return known.state if known else "ready"

    def suspect(self, collection: str) -> None:
        """A search failed: look at the index, and rebuild it if it is broken."""
        with self._lock:
            self._suspects.add(collection)
            self._retry_at.pop(collection, None)

    def rebuild(self, collection: str) -> None:
        """Build the collection's index anew from the ledger."""
        with self._lock:
            self._wanted_rebuilds.add(collection)
        self._log.set_state(self.leg, collection, IndexState(self._leg.version(collection), 0, "rebuilding"))
        self.suspect(collection)

    # ------------------------------------------------------------ the work

    def begin(self) -> None:
        """Mark what must not be searched until it is checked. Called once, before searches."""
        for collection in self._log.states(self.leg):
            self._report(collection, "checking")

    def work(self, stopping: threading.Event) -> bool:
        """One batch for every collection that has something to do. False when there is nothing left to do now."""
        heads, states = self._log.heads(), self._log.states(self.leg)
        busy = False
        # Collections that only need a look come before those with much to do.
        for collection in sorted(heads, key=lambda name: (self._state(name) == "ready", name)):
            if stopping.is_set():
                return False
            state, head = states.get(collection), heads[collection]
            if time.monotonic() >= self._retry_at.get(collection, 0.0):
                busy |= self._attempt(collection, state, head)
        return busy

    def _settled(self, collection: str, state: IndexState | None, head: int) -> bool:
        """Whether nothing has happened since the collection was last found complete."""
        with self._lock:
            progress = self._progress.get(collection)
            if progress is None or progress.state != "ready" or progress.pending or collection in self._suspects:
                return False
        if state is None:
            return head == 0
        return state.state == "ready" and state.applied_seq >= head and state.version == self._leg.version(collection)

    def _attempt(self, collection: str, state: IndexState | None, head: int) -> bool:
        try:
            busy = not self._settled(collection, state, head) and self._advance(collection, state, head)
        except BraidError as error:
            self._failed(collection, error)
            return False
        return busy

    def _failed(self, collection: str, error: BraidError) -> None:
        delay = min(2 * self._retry_after.get(collection, FIRST_RETRY_S / 2), LAST_RETRY_S)
        logger.warning("%s index of %s: %s; trying again in %.0f s", self.leg, collection, error, delay)
        self._retry_after[collection] = delay
        self._retry_at[collection] = time.monotonic() + delay
        before = self._known(collection) or LegProgress(self.leg, collection, "ready")
        was_rebuilding = before.state == "rebuilding"
        if isinstance(error, EmbeddingError) and not was_rebuilding and before.state == "ready":
            pending = max(before.pending, 1)  # what is indexed already can still be searched
            self._report(collection, "ready", pending=pending, error=str(error))
            return
        if isinstance(error, IndexUnavailableError):
            self._store_is_broken = was_rebuilding
            with self._lock:
                self._suspects.add(collection)
        self._report(collection, "failed", pending=before.pending, error=str(error))

    def _advance(self, collection: str, state: IndexState | None, head: int) -> bool:
        if collection not in self._rebuilds:
            state, sound = self._inspect(collection, state, head)
            if sound:
                self._versions[collection] = state.version
                self._applied[collection] = state.applied_seq
                return self._replay(collection, state, head)
            self._rebuilds[collection] = self._rebuild(collection, head)
        rebuild = self._rebuilds.pop(collection)
        pending = next(rebuild, None)
        if pending is None:
            self._report(collection, "ready")
        else:
            self._rebuilds[collection] = rebuild
            self._report(collection, "rebuilding", pending=pending)
        return True

    def _inspect(self, collection: str, state: IndexState | None, head: int) -> tuple[IndexState, bool]:
        """The state to go on from, and whether the index can be trusted."""
        version = self._leg.version(collection)
        if state is None:
            state = IndexState(version, 0, "ready")
            complete_log = self._log.pending(collection, 0) >= self._log.chunk_count(collection)
            return state, complete_log and self.index.count(collection) == 0
        with self._lock:
            suspected = collection in self._suspects
            self._suspects.discard(collection)
            rebuild_wanted = collection in self._wanted_rebuilds
        from_another_ledger = state.applied_seq > head  # restored from an older backup
        if rebuild_wanted or from_another_ledger or state.version != version or state.state == "rebuilding":
            return state, False
        if state.state == "writing" and not self.index.crash_safe:
            return state, False
        unseen = self._state(collection) == "checking"
        if (suspected or (unseen and self._crashed)) and self.index.check(collection):
            return state, False
        if (suspected or unseen) and state.applied_seq >= head:
            if self.index.count(collection) == self._leg.count(collection):
                return state, True
            if self._log.heads().get(collection, 0) == head:
                return state, False
            with self._lock:  # somebody has written meanwhile: look again when that is applied
                self._suspects.add(collection)
            return state, True
        if (suspected or unseen) and state.applied_seq > 0 and self.index.count(collection) == 0:
            return state, self._leg.count(collection) == 0
        return state, state.applied_seq == 0 or not self._is_lost(collection)

    def _is_lost(self, collection: str) -> bool:
        """Whether the index has vanished: another `apply` would begin an empty one without a word."""
        return self.index.count(collection) == 0 and collection not in self.index.collections()

    def _replay(self, collection: str, state: IndexState, head: int) -> bool:
        changes = self._log.after(collection, state.applied_seq, CHANGES_PER_READ)
        if not changes:
            self._retry_after.pop(collection, None)
            self._report(collection, "ready")
            return False
        known = self._known(collection)
        if known is None or not known.pending:  # until the first batch is done, which may take seconds
            self._report(collection, "ready", pending=self._log.pending(collection, state.applied_seq))
        started = time.monotonic()
        applied = self._apply(collection, state, changes)
        self._measure(collection, len(applied), time.monotonic() - started)
        done = applied[-1].seq
        pending = self._log.pending(collection, done) if done < head else 0
        self._report(collection, "ready", pending=pending)
        return True

    def _apply(self, collection: str, state: IndexState, changes: Sequence[Change]) -> Sequence[Change]:
        found = {chunk.id: chunk for chunk in self._leg.read(collection, list({c.chunk_id for c in changes}))}
        wanted = [found[key] for key in dict.fromkeys(c.chunk_id for c in changes) if key in found]
        ready, covered = self._leg.prepare(collection, wanted) if wanted else ([], 0)
        if covered < len(wanted):  # stop before the first that is left for later
            later = wanted[covered].id
            changes = changes[: next(i for i, change in enumerate(changes) if change.chunk_id == later)]
        deletes = [key for key in dict.fromkeys(c.chunk_id for c in changes) if key not in found]
        # The version from before the chunks were read and embedded: one that came since calls for a rebuild.
        if not self.index.crash_safe:
            self._log.set_state(self.leg, collection, replace(state, state="writing"))
        self.index.apply(collection, ready, deletes)
        self._log.set_state(self.leg, collection, replace(state, applied_seq=changes[-1].seq, state="ready"))
        self._applied[collection] = changes[-1].seq
        return changes

    def _rebuild(self, collection: str, head: int) -> Iterator[int]:
        """Yields the number of chunks to go after each batch."""
        version = self._leg.version(collection)
        logger.info("rebuilding the %s index of %s", self.leg, collection)
        self._log.set_state(self.leg, collection, IndexState(version, 0, "rebuilding"))
        pending = self._log.chunk_count(collection)
        self._report(collection, "rebuilding", pending=pending)
        with self._lock:  # now that everybody can see that it is under way
            self._wanted_rebuilds.discard(collection)
        yield pending
        self._drop(collection)
        for batch in self._leg.read_all(collection):
            rest: Sequence[IndexedChunk] = batch
            while rest:
                started = time.monotonic()
                ready, covered = self._leg.prepare(collection, rest)
                self.index.apply(collection, ready, ())
                self._measure(collection, covered, time.monotonic() - started)
                rest = rest[covered:]
                pending = max(0, pending - covered)
                yield pending
        self._log.set_state(self.leg, collection, IndexState(version, head, "ready"))
        self._versions[collection] = version
        self._applied[collection] = head

    def _drop(self, collection: str) -> None:
        if not self._store_is_broken:
            try:
                return self.index.drop(collection)
            except IndexUnavailableError as error:
                logger.warning("%s", error)
        self._store_is_broken = False
        states, before = self._log.states(self.leg), dict(self._progress)
        for name in states.keys() - {collection}:  # before they are empty, so that no search takes that for an answer
            self._report(name, "rebuilding", pending=self._log.chunk_count(name))
        if not self.index.reset():
            with self._lock:
                self._progress.update(before)
            return self.index.drop(collection)
        logger.warning("the %s store is broken as a whole; rebuilding all its collections", self.leg)
        for name, state in states.items():
            self._log.set_state(self.leg, name, replace(state, state="rebuilding"))
            if name != collection:
                self._rebuilds.pop(name, None)

    # ------------------------------------------------------------ progress

    def _measure(self, collection: str, chunks: int, seconds: float) -> None:
        self._retry_after.pop(collection, None)
        rate = chunks / max(seconds, 1e-6)
        self._rate = rate if self._rate == 0.0 else 0.8 * self._rate + 0.2 * rate

    def _report(
        self,
        collection: str,
        state: ProgressState,
        *,
        pending: int = 0,
        error: str = "",
    ) -> None:
        left = pending / self._rate if pending and self._rate else None
        left_out = self._leg.left_out(collection) if state == "ready" and not pending else 0
        with self._lock:
            self._progress[collection] = LegProgress(self.leg, collection, state, pending, left, error, left_out)
