"""The follower of one leg: keeps the leg's indexes equal to the ledger by replaying the change log and by rebuilds."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from braid.core.errors import BraidError, EmbeddingError, IndexUnavailableError, StoreUnreachableError
from braid.core.indexes.base import LegIndex
from braid.core.indexes.inspection import Doubt, Inspection
from braid.core.indexes.leg_progress import LegProgress, ProgressBoard, ToldBoard
from braid.core.indexes.retries import LAST_RETRY_S, OUTAGE_RETRY_S, Retries
from braid.core.indexes.sources import ChunkSource, Rebuild
from braid.core.ledger.change_log import Change, ChangeLog, IndexState
from braid.core.ledger.outages import log_outage, outage_of

logger = logging.getLogger(__name__)


class IndexFollower:
    """Keeps one leg's indexes, one per collection, equal to the ledger.

    `work` is called by one thread only; `progress`, `all_progress`, `suspect` and `rebuild` may be called by any.
    ``heads`` returns how far each collection may be followed, the whole log unless given. ``keep(collection, version)``
    says whether what was made under that version still answers while another version is made.
    """

    def __init__(
        self,
        index: LegIndex,
        changes: ChangeLog,
        source: ChunkSource,
        *,
        crashed: bool,
        heads: Callable[[], dict[str, int]] | None = None,
        keep: Callable[[str, str], bool] = lambda collection, version: False,
    ) -> None:
        self.index = index
        self.name = index.name
        self.leg = index.leg
        self._changes = changes
        self._heads = heads or changes.heads
        self._keep = keep
        self._crashed = crashed
        self._source = source
        self._inspection = Inspection(index, source, changes, crashed=crashed)
        self._board: ProgressBoard = ToldBoard(index.leg, source.left_out, partial(changes.say, index.name))
        self._retries = Retries()
        self._rebuilds: dict[str, Rebuild] = {}
        self._trusted: dict[str, IndexState] = {}
        self._stopping = threading.Event()
        self._store_is_broken = False
        self._suspects: set[str] = set()
        self._uncounted: set[str] = set()
        """Collections of which `work` has not counted yet what was left out."""
        self._wanted_rebuilds: set[str] = set()
        self._lock = threading.Lock()
        self.is_idle = False
        """Whether the last `work` found nothing to do, and nothing to try again later."""

    # ------------------------------------------------------------ from any thread

    def version(self, collection: str) -> str:
        """Return the analyzer version or model fingerprint that the collection's index must have. Raises EmbeddingError
        when its model cannot be made.
        """
        return self._source.version(collection)

    def storing(self, collection: str) -> Collection[tuple[int, int]]:
        """Return datasets and documents with vectors in the ledger that the index may not have yet."""
        return self._source.storing(collection)

    def progress(self, collection: str, head: int | None = None) -> LegProgress:
        """Return how much of a collection its index has, and whether it may be searched.

        An index made with another analyzer or model than the collection has now is reported as ``checking``; where the
        ledger itself is searched, all that is to be made again counts as pending. With ``head``, the collection's last
        sequence number in the change log, changes that are not applied yet count as pending even if `work` has not seen
        them.
        """
        known = self._board.get(collection)
        if known is None:  # a new collection: its index is empty and none of its chunks are applied
            return LegProgress(self.leg, collection, "ready", pending=self._changes.chunk_count(collection))
        try:
            version = self._source.version(collection)
        except BraidError as error:
            return replace(known, state="failed", error=str(error))
        with self._lock:
            trusted = None if collection in self._wanted_rebuilds else self._trusted.get(collection)
        if known.state != "ready":
            return known
        if self.index.stored and (trusted is None or trusted.version != version):
            return replace(known, state="checking")
        if trusted is None:
            return known
        if trusted.version != version:
            return known if known.pending else replace(known, pending=self._source.to_read(collection))
        if head is None:
            return known
        if known.pending and trusted.applied_seq >= head and trusted.state == "ready":  # the report is about to come
            return replace(known, pending=0)
        if not known.pending and trusted.applied_seq < head:
            return replace(known, pending=self._changes.pending(collection, trusted.applied_seq))
        return known

    def all_progress(self) -> list[LegProgress]:
        """Return the progress of every collection, sorted by name; one that is gone from disk has failed.

        One that all datasets have left is not inspected again, and left out.
        """
        names = self._board.collections()
        gone = {name for name in names if self.index.is_gone(name)}  # before the states, which a rebuild changes first
        found = [self.progress(name) for name in names]
        if any(each.state == "checking" for each in found):
            heads = self._heads()
            found = [each for each in found if each.state != "checking" or each.collection in heads]
        failed = {each.collection for each in found if each.state == "ready"} & gone
        return [replace(one, state="failed", error=_gone(one)) if one.collection in failed else one for one in found]

    def _is_gone(self, progress: LegProgress) -> bool:
        return progress.state == "ready" and self.index.is_gone(progress.collection)

    def suspect(self, collection: str) -> None:
        """Ask for an inspection of the index after a failed search; `work` then rebuilds the index if it is broken."""
        with self._lock:
            self._suspects.add(collection)
        self._retries.retry_now(collection)

    def rebuild(self, collection: str) -> None:
        """Ask for a rebuild of the index from the ledger; `work` does it, and until then no search uses the index."""
        with self._lock:
            self._wanted_rebuilds.add(collection)
        self._changes.set_state(self.name, collection, IndexState(self._source.version(collection), 0, "rebuilding"))
        self.suspect(collection)

    # ------------------------------------------------------------ in the follower's thread

    def begin(self) -> None:
        """Report every stored index as ``checking``, so that none is searched before `work` has inspected it.

        Call it once, before the first search.
        """
        self._board.know(self._changes.reports(self.name))
        for collection, state in self._changes.states(self.name).items():
            if self.index.stored:
                self._board.report(collection, "checking")
            else:
                self._trusted[collection] = state
                with suppress(BraidError):
                    if state.version == self._source.version(collection) or self._source.to_read(collection):
                        self._keep(collection, state.version)
                self._board.assume_ready(collection)
                self._uncounted.add(collection)

    def work(self, stopping: threading.Event) -> bool:
        """Do one batch of work for every collection that has any; return False when nothing is left to do now."""
        self._hear()
        heads, states, self._stopping = self._heads(), self._changes.states(self.name), stopping
        self.is_idle, busy = True, False
        # Collections that are not ready come first: no search uses their indexes until they are inspected or rebuilt.
        for collection in sorted(heads, key=lambda name: (self._board.state(name) == "ready", name)):
            if stopping.is_set():
                return False
            if not self._retries.is_due(collection):
                self.is_idle = False
            else:
                busy |= self._attempt(collection, states.get(collection), heads[collection])
        return busy

    def _hear(self) -> None:
        """Begin what other processes want."""
        for collection, wanted in self._changes.wanted(self.name):
            if self._fulfil(collection, wanted):
                self._changes.heard(self.name, collection, wanted)

    def _fulfil(self, collection: str, wanted: str) -> bool:
        try:
            (self.rebuild if wanted == "rebuild" else self.suspect)(collection)
        except BraidError as error:  # a model that cannot be made
            self._fail(collection, error)
        return True

    def _attempt(self, collection: str, state: IndexState | None, head: int) -> bool:
        try:
            doubt = collection in self._suspects
            self._look_after(collection, state, head, doubt=doubt)
            if self._is_settled(collection, state, head):
                return False
            self.is_idle = False
            return self._advance(collection, state, head, doubt=doubt)
        except BraidError as error:
            self.is_idle = False
            if not self._stopping.is_set():  # else the index may have been closed amid a call
                self._fail(collection, error)
            return False

    def _look_after(self, collection: str, state: IndexState | None, head: int, *, doubt: bool) -> None:
        is_complete = state is not None and state.state == "ready" and state.applied_seq >= head
        self.index.mend(
            collection,
            head=head,
            is_complete=is_complete,
            doubt=doubt,
            stopping=self._stopping,
            crashed=self._crashed,
        )

    def _is_settled(self, collection: str, state: IndexState | None, head: int) -> bool:
        """Return whether the index is ready, is at ``head`` and no further, and is not suspected of damage."""
        if collection in self._uncounted:
            self._uncounted.discard(collection)
            return False
        progress = self._board.get(collection)
        if progress is None or progress.state != "ready" or progress.pending or collection in self._suspects:
            return False
        if self._is_gone(progress):
            with self._lock:
                self._suspects.add(collection)
            return False
        if state is None:
            return head == 0
        version = self._source.version(collection)
        return state.state == "ready" and state.applied_seq == head and state.version == version

    def _fail(self, collection: str, error: BraidError) -> None:
        """Report the error, and have the collection tried again after a pause."""
        is_away = isinstance(error, StoreUnreachableError)
        pause = self._retries.postpone(collection, most_s=OUTAGE_RETRY_S if is_away else LAST_RETRY_S)
        if outage := outage_of(error):
            log_outage(logger, outage, f"the {self.name} index of {collection}, which will be tried again")
        else:
            inner = f" reason={error.inner!r}" if isinstance(error, IndexUnavailableError) and error.inner else ""
            logger.warning("%s index of %s: %s; trying again in %.0f s%s", self.name, collection, error, pause, inner)
        before = self._board.get(collection) or LegProgress(self.leg, collection, "ready")
        if isinstance(error, EmbeddingError) and before.state == "ready":  # what is indexed can still be searched
            self._board.report(collection, "ready", pending=max(before.pending, 1), error=str(error))
            return
        if isinstance(error, IndexUnavailableError):
            # A rebuild begins with an empty collection; when even that fails, the store of all collections is broken.
            # A later failure of another collection may clear the flag: the rebuild's next attempt sets it again.
            self._store_is_broken = before.state == "rebuilding"
            with self._lock:
                self._suspects.add(collection)
        self._board.report(collection, "failed", pending=before.pending, error=str(error))

    def _advance(self, collection: str, state: IndexState | None, head: int, *, doubt: bool) -> bool:
        """Do one batch: of the collection's rebuild, or of the changes after its state. False when there was none."""
        rebuild = self._rebuilds.pop(collection, None)
        if rebuild is not None and rebuild.version == self._source.version(collection):
            self._continue_rebuild(collection, rebuild)
            return True
        state, sound = self._inspect(collection, state, head, doubt=doubt)
        if not sound:
            self._begin_rebuild(collection, head)
            return True
        self._trusted[collection] = state
        return self._replay(collection, state, head)

    def _inspect(self, collection: str, state: IndexState | None, head: int, *, doubt: bool) -> tuple[IndexState, bool]:
        """Return the state to replay the log from, and whether the index is sound; if not, it must be rebuilt.

        ``doubt`` says that the index was told to look at its files. A suspicion that came since then is kept for the
        next look where only that would find what is wrong.
        """
        version = self._source.version(collection)
        if state is None:
            return IndexState(version, 0, "ready"), self._inspection.can_begin_empty(collection)
        with self._lock:
            suspected = collection in self._suspects
            if doubt or self.index.stored:
                self._suspects.discard(collection)
            rebuild_wanted = collection in self._wanted_rebuilds
        doubts = Doubt(rebuild_wanted, suspected, unseen=self._board.state(collection) == "checking")
        verdict = self._inspection.verdict(collection, state, head=head, version=version, doubt=doubts)
        if verdict == "follow, inspect again":
            with self._lock:
                self._suspects.add(collection)
        return state, verdict != "rebuild"

    def _replay(self, collection: str, state: IndexState, head: int) -> bool:
        """Apply one batch of the changes after ``state``; return False when there are none."""
        changes = self._changes.after(collection, state.applied_seq, self._source.changes_per_read)
        changes = [change for change in changes if change.seq <= head]
        if not changes:
            self._retries.succeed(collection)
            self._board.report(collection, "ready")
            return False
        known = self._board.get(collection)
        if known is None or not known.pending:  # the first batch may take seconds
            self._board.report(collection, "ready", pending=self._changes.pending(collection, state.applied_seq))
        started = time.monotonic()
        if ahead := self._source.ahead(collection, state.applied_seq):
            self.index.apply(collection, ahead, ())
            self._source.applied(collection)
            covered, done = len(ahead), state.applied_seq
        else:
            applied = self._apply(collection, state, changes)
            covered, done = len(applied), applied[-1].seq
        self._retries.succeed(collection)
        self._board.measure(covered, time.monotonic() - started)
        pending = self._changes.pending(collection, done) if done < head else 0
        self._board.report(collection, "ready", pending=self._source.waiting(collection, pending))
        return True

    def _apply(self, collection: str, state: IndexState, changes: Sequence[Change]) -> Sequence[Change]:
        """Apply the changes up to the first chunk that is not prepared yet, record that, and return those applied.

        The dense leg prepares, that is embeds, only a few chunks per call.
        """
        present = {chunk.id: chunk for chunk in self._source.read(collection, _chunk_ids(changes))}
        wanted = [present[chunk_id] for chunk_id in _chunk_ids(changes) if chunk_id in present]
        ready, covered = self._source.prepare(collection, wanted) if wanted else ([], 0)
        if covered < len(wanted):  # stop before the first chunk that is left for later
            changes = changes[: [change.chunk_id for change in changes].index(wanted[covered].id)]
        deletes = [chunk_id for chunk_id in _chunk_ids(changes) if chunk_id not in present]
        # The recorded version is from before the chunks were embedded: a newer one calls for a rebuild.
        if not self.index.crash_safe:
            self._changes.set_state(self.name, collection, replace(state, state="writing"))
        self.index.apply(collection, ready, deletes)
        self._source.applied(collection)
        state = replace(state, applied_seq=changes[-1].seq, state="ready")
        self._trusted[collection] = state
        self._changes.set_state(self.name, collection, state)
        return changes

    def _begin_rebuild(self, collection: str, head: int) -> None:
        """Report and record a rebuild. Only the next batch empties the index, when no search uses it any more."""
        pending = self._source.to_read(collection)
        rebuild = Rebuild(collection, self.index, self._source, head=head, pending=pending)
        logger.info("rebuilding the %s index of %s", self.name, collection)
        before = self._trusted.get(collection)
        if not self.index.stored and (collection in self._wanted_rebuilds or (before and before.applied_seq > head)):
            self.index.drop(collection)
        is_needed = before is not None and (before.version == rebuild.version or pending > 0)
        if before is not None and is_needed and self._keep(collection, before.version):  # it answers until the end
            state = replace(before, state="rebuilding")
        else:
            state = IndexState(rebuild.version, 0, "rebuilding")
        self._changes.set_state(self.name, collection, state)
        if not self.index.stored:
            self._trusted[collection] = state
        self._report_rebuild(collection, pending)
        with self._lock:  # after the report, so that `progress` never says that the index may be searched
            self._wanted_rebuilds.discard(collection)
        self._rebuilds[collection] = rebuild

    def _continue_rebuild(self, collection: str, rebuild: Rebuild) -> None:
        """Index the next chunks of a rebuild; when none are left, record the index as ready.

        A rebuild whose step raises, or whose version is not the wanted one any more, is given up for another.
        """
        if not rebuild.begun and self.index.stored:
            self._drop(collection)
        started = time.monotonic()
        if covered := rebuild.step():
            self._retries.succeed(collection)
            self._board.measure(covered, time.monotonic() - started)
            self._rebuilds[collection] = rebuild
            self._report_rebuild(collection, rebuild.pending)
            return
        self._source.complete(collection, rebuild.version)
        self._look_after(collection, None, rebuild.head, doubt=False)  # who waits for the end finds by the new model
        state = IndexState(rebuild.version, rebuild.head, "ready")
        self._trusted[collection] = state
        self._changes.set_state(self.name, collection, state)
        self._board.report(collection, "ready")

    def _report_rebuild(self, collection: str, pending: int) -> None:
        """Report a rebuild. What the ledger itself has is searched meanwhile, and lacks the pending chunks."""
        self._board.report(collection, "rebuilding" if self.index.stored else "ready", pending=pending)

    def _drop(self, collection: str) -> None:
        """Delete the collection's index; where that fails, reset the store, and have all its collections rebuilt."""
        if not self._store_is_broken:
            try:
                return self.index.drop(collection)
            except IndexUnavailableError as error:
                if self._stopping.is_set():
                    raise
                logger.warning("%s", error)
        self._store_is_broken = False
        states = self._changes.states(self.name)
        others = states.keys() - {collection}
        before = [report for report in map(self._board.get, others) if report]
        for name in others:  # first, so that no search takes an emptied index for an answer
            self._board.report(name, "rebuilding", pending=self._source.to_read(name))
        if not self.index.reset():
            self._board.restore(before)
            return self.index.drop(collection)
        logger.warning("the %s store is broken as a whole; rebuilding all its collections", self.name)
        for name, state in states.items():
            self._changes.set_state(self.name, name, replace(state, state="rebuilding"))
            self._rebuilds.pop(name, None)


def _gone(progress: LegProgress) -> str:
    return f"the {progress.leg} index of {progress.collection} was removed from disk; it is being rebuilt"


def _chunk_ids(changes: Sequence[Change]) -> list[str]:
    """List the ids of the changed chunks, each once, in order."""
    return list(dict.fromkeys(change.chunk_id for change in changes))
