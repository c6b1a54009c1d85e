"""Runs the queued jobs in threads of its own: in order, users in turn, and again after a crash."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from braid.core.errors import BraidError, Reason, traced
from braid.core.jobs.store import Job, JobKind, JobStore
from braid.core.ledger.outages import is_outage, log_failure
from braid.core.priority import SearchPriority, lower_thread_priority

FEW_STEPS = 20
"""Jobs with at most this many steps check for cancellation at every step."""

Progress = Callable[[int, int], None]
"""Called with (done, total), in steps of the job. Raises `JobStopped` when the job was cancelled or is handed over."""
Handler = Callable[[Job, Progress], Mapping[str, Any]]
"""Runs a job and returns its result as JSON. Running it twice must be harmless: a crash may come at any point."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long a runner pauses, in seconds."""

    poll_s: float = 1.0
    """Between two looks for jobs that another process has queued."""
    slow_poll_s: float = 10.0
    """Between two looks in a process that is woken when a job is queued."""
    progress_s: float = 0.5
    """Between two times that the progress of a job is written."""
    record_s: tuple[float, ...] = (0.5, 2.0, 10.0)
    """Between attempts to record how a job ended. The last one repeats."""
    outage_s: float = 2.0
    """Before a job that an outage of the database or a full disk broke off is queued again."""


class JobStopped(BaseException):
    """The job was cancelled, or is left to the next start. Raised in the handler; not an error."""


@dataclass(slots=True)
class _Lane:
    """The kinds of jobs that some threads run, and the user whose job came last."""

    kinds: tuple[JobKind, ...]
    last_user: int = 0


class JobRunner:
    """Runs from `start` to `close`. One runner at a time per ledger: jobs that it finds running were left by a crash.

    ``on_done`` is called with a job that succeeded, after that is recorded. Each of the kinds ``apart`` has a
    thread of its own: such jobs may take an hour, and others do not wait for them. Of the others one user has at most
    ``per_user`` running, so with more workers than that nobody waits for the slow jobs of one other user. ``is_woken``
    says whether `wake` is called for jobs that other processes queue.
    """

    def __init__(
        self,
        store: JobStore,
        handlers: Mapping[JobKind, Handler],
        *,
        workers: int = 2,
        per_user: int | None = None,
        apart: Collection[JobKind] = (),
        on_done: Callable[[Job], None] = lambda job: None,
        priority: SearchPriority | None = None,
        is_woken: Callable[[], bool] = lambda: False,
        pauses: Pauses = Pauses(),
    ) -> None:
        self._pauses = pauses
        self._store = store
        self._handlers = handlers
        self._on_done = on_done
        self._per_user = per_user or workers
        self._priority = priority or SearchPriority()
        self._stopping = threading.Event()
        self._abandoned = threading.Event()
        self._is_woken = is_woken
        self._wake = threading.Condition()
        self._wakes = 0
        """How often it was woken: a thread that was looking meanwhile looks again."""
        self._claiming = threading.Lock()
        self._running: dict[int, Job] = {}
        shared = _Lane(tuple(kind for kind in get_args(JobKind) if kind not in apart))
        lanes = [*[shared] * workers, *(_Lane((kind,)) for kind in apart)]
        self._threads = [
            threading.Thread(target=self._run_lane, args=(lane,), name=f"braid-job-{number}", daemon=True)
            for number, lane in enumerate(lanes, start=1)
        ]

    def start(self) -> None:
        """Queue again the jobs that ran when the last process died, and start the threads."""
        if count := self._store.requeue():
            logger.info("event=jobs_requeued count=%d", count)
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look for jobs now instead of within a second."""
        with self._wake:
            self._wakes += 1
            self._wake.notify_all()

    def close(self, timeout_s: float = 10.0) -> None:
        """Start no more jobs. Wait up to ``timeout_s`` for the running ones, then queue them for the next start."""
        self._stopping.set()
        self.wake()
        deadline = time.monotonic() + timeout_s
        started = [thread for thread in self._threads if thread.ident is not None]
        for thread in started:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._abandoned.set()
        for job in list(self._running.values()):
            logger.info("event=job_handed_over job=%d kind=%s", job.id, job.kind)
            self._store.hand_over(job)

    # ------------------------------------------------------------ in the threads

    def _run_lane(self, lane: _Lane) -> None:
        lower_thread_priority()
        changed: Callable[[], bool] | None = None
        look = True
        while not self._stopping.is_set():
            seen = self._wakes
            try:
                changed = changed or self._store.watch()
                if changed() or look:
                    look = True  # again, if it fails
                    job = self._claim(lane)
                    if job is not None:
                        self._run_job(job)
                        self._priority.rest()
                        continue
                    look = False
            except Exception as error:  # the edge of a thread: it must outlive an outage of the database
                log_failure(logger, "looking for jobs", error)
            pause_s = self._pauses.slow_poll_s if self._is_woken() and not look else self._pauses.poll_s
            with self._wake:
                look |= self._wake.wait_for(partial(self._is_woken_since, seen), pause_s)

    def _is_woken_since(self, seen: int) -> bool:
        return self._stopping.is_set() or self._wakes != seen

    def _claim(self, lane: _Lane) -> Job | None:
        with self._claiming:
            running = Counter(job.user_id for job in list(self._running.values()) if job.kind in lane.kinds)
            busy = [user_id for user_id, count in running.items() if count >= self._per_user]
            job = self._store.claim(lane.last_user, kinds=lane.kinds, not_of=busy)
            if job is not None:
                lane.last_user = job.user_id
                self._running[job.id] = job
            return job

    def _run_job(self, job: Job) -> None:
        try:
            progress = _ThrottledProgress(self._store, job, self._abandoned, self._pauses.progress_s)
            result = self._handlers[job.kind](job, progress)
        except JobStopped:
            logger.info("event=job_stopped job=%d kind=%s", job.id, job.kind)
        except Exception as error:  # the edge of a thread: log the fault and go on with the next job
            if isinstance(error, BraidError) and self._stopping.is_set():
                self._record(lambda: self._store.hand_over(job))  # perhaps the reason; if not, it fails after the start
            elif is_outage(error):
                log_failure(logger, f"job {job.id}, which will be tried again", error)
                self._stopping.wait(self._pauses.outage_s)
                self._record(lambda: self._store.hand_over(job))
            elif isinstance(error, BraidError):
                reason = str(error)
                self._record(lambda: self._store.fail(job, reason))
            elif not self._abandoned.is_set():
                logger.error("event=job_failed job=%d kind=%s %s", job.id, job.kind, traced(error))
                reason = Reason("internal error; the log says more under job %(job)s", job=job.id)
                self._record(lambda: self._store.fail(job, reason))
        else:
            self._record(lambda: self._store.finish(job, result))
            self._on_done(job)
        finally:
            self._running.pop(job.id, None)

    def _record(self, write: Callable[[], object]) -> None:
        """Record how a job ended; try until the database takes it, or the job would seem to run for ever.

        Waiting costs nothing: without the database no other job can start, either.
        """
        pauses = self._pauses.record_s
        for pause in itertools.chain(pauses, itertools.repeat(pauses[-1])):
            try:
                write()
            except Exception as error:
                if not is_outage(error) or self._abandoned.is_set():  # the next start runs a running job again
                    raise
                log_failure(logger, "recording how a job ended", error)
                self._abandoned.wait(pause)
            else:
                return


class _ThrottledProgress:
    """Writes a job's progress every ``every_s`` seconds, and never for a shorter job."""

    def __init__(self, store: JobStore, job: Job, abandoned: threading.Event, every_s: float) -> None:
        self._store = store
        self._job = job
        self._abandoned = abandoned
        self._every_s = every_s
        self._next = time.monotonic() + every_s

    def __call__(self, done: int, total: int) -> None:
        if self._abandoned.is_set() or not self._may_continue(done, total):
            raise JobStopped

    def _may_continue(self, done: int, total: int) -> bool:
        if time.monotonic() < self._next:
            return total > FEW_STEPS or self._store.is_running(self._job)
        self._next = time.monotonic() + self._every_s
        return self._store.progress(self._job, done, total)
