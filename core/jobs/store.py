"""Background jobs in the ledger: added in one transaction, private to their user, kept over a restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    delete,
    except_,
    exists,
    func,
    insert,
    or_,
    select,
    union,
    update,
)

from braid.core.batches import batches
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.json_form import STORED_REASON, read_reason, stored_reason
from braid.core.ledger.database import ROWS_PER_STATEMENT, execute, storable, tell
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.prepared import WAIT_BRIEFLY
from braid.core.ledger.quota import require_room
from braid.core.ledger.tables import DatasetRow, DocumentRow, JobRow, ProcessRow, columns_of
from braid.core.options import require_choice

JobKind = Literal["upload", "url", "text", "reembed", "import", "export", "sync", "scan"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]

OPEN: tuple[JobState, ...] = ("queued", "running")
QUEUED: tuple[JobState, ...] = ("queued",)
FAILED: tuple[JobState, ...] = ("failed",)
ADDING: tuple[JobKind, ...] = ("upload", "text", "url", "scan")
"""Kinds of jobs that read a file."""
INTERNAL = "internal error"
"""How the error of a job begins that failed for no fault of its file."""

MAX_ATTEMPTS = 3
"""After this many interrupted attempts a job is no longer restarted automatically."""
MAX_TITLE_CHARS = 1000
SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to queue. ``payload`` is JSON for its handler; ``title`` is the file name or URL as the user gave it."""

    kind: JobKind
    title: str
    dataset_id: int
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is in the ledger. Times are seconds since the epoch."""

    id: int
    user_id: int
    kind: JobKind
    dataset_id: int
    title: str
    payload: Mapping[str, Any]
    state: JobState
    error: str
    result: Mapping[str, Any]
    done: int
    total: int
    """``done`` of ``total`` steps; 0 of 0 until the job reports progress."""
    attempts: int
    created_at: float
    started_at: float | None
    finished_at: float | None

    @property
    def ended(self) -> bool:
        """Whether the job is neither queued nor running."""
        return self.state not in OPEN


Same = Callable[[NewJob | Job], Hashable]
"""Returns a value that is equal for jobs of equal work; their kind, dataset and title are compared, too."""


class AddJobs(Protocol):
    """Queues jobs as `JobStore.add` does, and wakes who runs them."""

    def __call__(self, user_id: int, jobs: Sequence[NewJob], *, same: Same | None = None) -> list[Job]:
        """Return the jobs that were queued."""


class JobStore:
    """The ledger's jobs. A method with a user id reads and changes that user's jobs only."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def watch(self) -> Callable[[], bool]:
        """Return a function that says whether anything may have changed; see `braid.core.ledger.database`."""
        return self._ledger.database.watch()

    # ------------------------------------------------------------ for users

    def add(
        self, user_id: int, jobs: Sequence[NewJob], *, same: Same | None = None, most: int | None = None
    ) -> list[Job]:
        """Queue all of these jobs, or none. Raises NotFoundError when there is no such user.

        Raises InvalidInputError when more than ``most`` of the user's jobs would wait or have failed.

        With ``same``, those are left out of which one is queued or running already, whichever process queued it.
        """
        for job in jobs:
            require_choice("kind", job.kind, get_args(JobKind))
        if self._ledger.user(user_id) is None:
            raise NotFoundError(f"there is no user {user_id}; add one first")
        now = time.time()
        with self._ledger.database.write() as connection:
            if same is not None:
                jobs = _not_open(connection, jobs, same)
            if most is not None:
                told = Reason(
                    "%(most)s uploads wait or have failed, which is the limit; wait, or remove failed ones",
                    most=format(most, ","),
                )
                require_room(connection, user_id, _count_not_done(user_id), most - len(jobs) + 1, told, field="file")
            statement = insert(JobRow).returning(JobRow.id)
            ids = [connection.execute(statement, _values(user_id, job, now)).scalar_one() for job in jobs]
            added: dict[int, Job] = {}
            for batch in batches(ids, ROWS_PER_STATEMENT):
                added |= {row.id: _job(row) for row in connection.execute(_select().where(JobRow.id.in_(batch)))}
            tell(connection, "jobs")
        return [added[job_id] for job_id in ids]

    def of_user(
        self,
        user_id: int,
        *,
        dataset_id: int | None = None,
        state: JobState | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> list[Job]:
        """Return a user's jobs, newest first."""
        conditions = [JobRow.user_id == user_id, *_conditions(dataset_id, state)]
        return self._read(_select().where(*conditions).order_by(JobRow.id.desc()).limit(limit).offset(offset))

    def get(self, user_id: int, job_id: int, *, dataset_id: int | None = None) -> Job:
        """Return one of the user's jobs, of this dataset if one is given. Raises NotFoundError for any other."""
        conditions = _conditions(dataset_id, None)
        jobs = self._read(_select().where(JobRow.id == job_id, JobRow.user_id == user_id, *conditions))
        if not jobs:
            raise NotFoundError(f"there is no job {job_id}")
        return jobs[0]

    def cancel(self, user_id: int, job_id: int) -> Job:
        """Cancel a queued or running job; documents that it has stored stay. A job that has ended stays as it is."""
        self.get(user_id, job_id)
        self._update(job_id, JobRow.state.in_(OPEN), state="cancelled", finished_at=time.time())
        return self.get(user_id, job_id)

    def retry(self, user_id: int, job_id: int) -> Job:
        """Queue a failed or cancelled job again.

        Raises InvalidInputError for one in another state, and for a file that was added again later, which would be
        replaced by the older one.
        """
        ended = JobRow.state.in_(("failed", "cancelled"))
        job = self.get(user_id, job_id)
        later = JobRow.dataset_id == job.dataset_id, JobRow.title == job.title, JobRow.id > job_id
        added = JobRow.kind.in_(ADDING), JobRow.kind != "scan", JobRow.state != "cancelled"
        if job.kind in ADDING and self._ledger.database.value(select(func.count()).where(*later, *added)):
            told = Reason("%(name)s was added again later; retry that one", name=job.title)
            raise InvalidInputError(told, field="job_id")
        values = {"error": "", "done": 0, "total": 0, "attempts": 0, "started_at": None, "finished_at": None}
        if not self._update(job_id, ended, state="queued", **values):
            message = f"job {job_id} is {job.state}; only a failed or cancelled one can be tried again"
            raise InvalidInputError(message, field="job_id")
        return self.get(user_id, job_id)

    def forget(self, user_id: int, job_id: int) -> Job:
        """Delete and return a job that has ended. Raises InvalidInputError for a queued or running one."""
        job = self.get(user_id, job_id)
        ended = JobRow.state.not_in(OPEN)
        if not self._ledger.database.change(delete(JobRow).where(JobRow.id == job_id, ended)):
            raise InvalidInputError(f"job {job_id} is {job.state}; cancel it first", field="job_id")
        return job

    def of_dataset(
        self,
        dataset_id: int,
        *,
        kinds: Collection[JobKind],
        states: Collection[JobState],
        titles: Collection[str] | None = None,
        newest_first: bool = True,
        limit: int = 50,
    ) -> list[Job]:
        """Return all users' jobs of a dataset, of these titles if any are given. The caller checks who may see them."""
        conditions = [JobRow.dataset_id == dataset_id, JobRow.kind.in_(kinds), JobRow.state.in_(states)]
        if titles is not None:
            conditions.append(JobRow.title.in_(titles))
        order = JobRow.id.desc() if newest_first else JobRow.id
        return self._read(_select().where(*conditions).order_by(order).limit(limit))

    def unread(self, dataset_ids: Collection[int]) -> int:
        """Count the files of these datasets that no search can find yet, because they are still to be parsed.

        One that has passages is found, though scanned pages of it wait.
        """
        same = DocumentRow.dataset_id == JobRow.dataset_id, DocumentRow.source == JobRow.title, DocumentRow.chunks > 0
        is_new = or_(JobRow.kind != "scan", ~exists().where(*same))
        conditions = (JobRow.kind.in_(ADDING), JobRow.state.in_(OPEN), JobRow.dataset_id.in_(dataset_ids), is_new)
        return self._ledger.database.value(select(func.count()).select_from(JobRow).where(*conditions))

    def count_not_done(self, user_id: int) -> int:
        """Count a user's jobs that are queued, running, failed or cancelled: their files are kept in the spool."""
        return self._ledger.database.value(_count_not_done(user_id))

    def counts(self, user_id: int | None = None, *, dataset_id: int | None = None) -> dict[JobState, int]:
        """Count jobs by state, of one user or of all. Every state is a key."""
        conditions = _conditions(dataset_id, None)
        if user_id is not None:
            conditions.append(JobRow.user_id == user_id)
        statement = select(JobRow.state, func.count()).where(*conditions).group_by(JobRow.state)
        counts: dict[str, int] = {row[0]: row[1] for row in self._ledger.database.fetch(statement)}
        return {state: counts.get(state, 0) for state in get_args(JobState)}

    # ------------------------------------------------------------ for administrators

    def oldest_waiting(self) -> float | None:
        """Return when the oldest queued job was added, in seconds since the epoch; None when none is queued."""
        statement = select(func.min(JobRow.created_at)).where(JobRow.state == "queued")
        return self._ledger.database.value(statement)

    def unreadable(self) -> int:
        """Count the failed jobs whose file could not be read, which is their users' concern; not internal errors."""
        failed = (JobRow.state == "failed", JobRow.kind.in_(ADDING), ~_is_fault())
        return self._ledger.database.value(select(func.count()).select_from(JobRow).where(*failed))

    def unreadable_files(
        self, dataset_ids: Collection[int] | None = None, *, also_faults: bool = False
    ) -> dict[int, int]:
        """Count the files of each dataset, or of these, that could not be read: failed documents, and files of failed
        jobs that left no document and are not tried again. A job that ended long ago is pruned, a document stays.

        ``also_faults`` counts those with an internal error, too, which the list of a dataset shows among the others.
        """
        wanted = () if dataset_ids is None else (DatasetRow.id.in_(dataset_ids),)
        there = select(select(DatasetRow.id).where(DatasetRow.removed_at.is_(None), *wanted).cte().c.id)
        of_jobs = select(JobRow.dataset_id, JobRow.title).where(JobRow.dataset_id.in_(there), JobRow.kind.in_(ADDING))
        document = DocumentRow.dataset_id == JobRow.dataset_id, DocumentRow.source == JobRow.title
        lost = of_jobs.where(JobRow.state == "failed", ~exists().where(*document))
        if not also_faults:
            lost = lost.where(~_is_fault())
        left = except_(lost, of_jobs.where(JobRow.state.in_(OPEN))).subquery()  # sets: a job is not compared with each
        failed = select(DocumentRow.dataset_id, DocumentRow.source).where(DocumentRow.state == "failed")
        files = union(failed if dataset_ids is None else failed.where(DocumentRow.dataset_id.in_(there)), select(left))
        each = files.subquery()
        counted = select(each.c.dataset_id, func.count()).group_by(each.c.dataset_id)
        return {row[0]: row[1] for row in self._ledger.database.fetch(counted)}

    def count_open(self, kind: JobKind) -> int:
        """Count the jobs of a kind that are queued or running."""
        is_open = (JobRow.kind == kind, JobRow.state.in_(OPEN))
        return self._ledger.database.value(select(func.count()).select_from(JobRow).where(*is_open))

    def all(
        self, *, state: JobState | None = None, user_id: int | None = None, limit: int = 50, offset: int = 0
    ) -> list[Job]:
        """Return all users' jobs, or those of one, newest first."""
        if user_id is not None:
            return self.of_user(user_id, state=state, limit=limit, offset=offset)
        conditions = _conditions(None, state)
        return self._read(_select().where(*conditions).order_by(JobRow.id.desc()).limit(limit).offset(offset))

    def prune(self, days: float, *, now: float) -> int:
        """Delete jobs that ended more than ``days`` days before ``now``. Returns how many."""
        before = now - days * SECONDS_PER_DAY
        return self._ledger.database.change(delete(JobRow).where(JobRow.finished_at < before))

    def kept_files(self) -> frozenset[str]:
        """Return the names of the spooled files that jobs need: to run, to be retried, or as their result."""
        columns = select(JobRow.state, JobRow.payload, JobRow.result)
        rows = self._ledger.database.fetch(columns)
        names = (row.result.get("file") if row.state == "done" else row.payload.get("file") for row in rows)
        return frozenset(name for name in names if name)

    # ------------------------------------------------------------ for the runner

    def claim(
        self, after_user: int, *, kinds: Collection[JobKind] = get_args(JobKind), not_of: Collection[int] = ()
    ) -> Job | None:
        """Start the oldest queued job of the next user after ``after_user``, round robin, without the users ``not_of``.

        None when none is queued.
        """
        next_first = (JobRow.user_id <= after_user, JobRow.user_id, JobRow.id)
        wanted = (JobRow.state == "queued", JobRow.kind.in_(kinds), JobRow.user_id.not_in(not_of))
        statement = _select().where(*wanted).order_by(*next_first).limit(1)
        process = self._ledger.database.process_name()
        if not self._read(statement):  # which locks nothing, as a look for nothing should
            return None
        with self._ledger.database.write() as connection:
            row = connection.execute(statement.with_for_update(skip_locked=True)).one_or_none()
            if row is None:  # others start those that are queued
                return None
            job = _job(row)
            run = replace(job, state="running", attempts=job.attempts + 1, started_at=time.time())
            changed = {name: getattr(run, name) for name in ("state", "attempts", "started_at")}
            connection.execute(update(JobRow).where(JobRow.id == job.id).values(**changed, process=process))
        return run

    def is_running(self, job: Job) -> bool:
        """Return whether this run of the job is the current one: not cancelled, and not handed over."""
        return bool(self._read(_select().where(JobRow.id == job.id, _is_run(job))))

    def progress(self, job: Job, done: int, total: int) -> bool:
        """Record progress. False when the job is no longer `is_running`."""
        return self._update(job.id, _is_run(job), done=done, total=total)

    def finish(self, job: Job, result: Mapping[str, Any]) -> None:
        """Record that the job is done, unless it was cancelled meanwhile."""
        values = {"result": dict(result), "done": JobRow.total, "error": "", "finished_at": time.time()}
        self._update(job.id, _is_run(job), state="done", **values)

    def fail(self, job: Job, error: str) -> None:
        """Record that the job failed, unless it was cancelled meanwhile."""
        self._update(
            job.id, _is_run(job), state="failed", error=stored_reason(storable(error)), finished_at=time.time()
        )

    def others_wait(self, job: Job) -> bool:
        """Return whether another user has a queued job of the same kind."""
        others = (JobRow.state == "queued", JobRow.kind == job.kind, JobRow.user_id != job.user_id)
        return bool(self._read(_select().where(*others).limit(1)))

    def hand_over(self, job: Job) -> None:
        """Queue a running job again: for the next start, or after the jobs of others. The run is no attempt."""
        self._update(job.id, _is_run(job), state="queued", attempts=job.attempts - 1, started_at=None)

    def requeue(self) -> int:
        """Queue again the jobs that a dead process left running, or fail them after MAX_ATTEMPTS. Returns how many.

        Outside of a fleet every process but this one is dead.
        """
        died = Reason(
            "the server stopped %(times)s times while running this job; try it again by hand", times=MAX_ATTEMPTS
        )
        running = JobRow.state == "running"
        if self._ledger.database.process_name():
            running &= JobRow.process.not_in(select(ProcessRow.name))
        with self._ledger.database.write() as connection:
            if self._ledger.database.process_name():
                execute(connection, WAIT_BRIEFLY)
            connection.execute(
                update(JobRow)
                .where(running, JobRow.attempts >= MAX_ATTEMPTS)
                .values(state="failed", error=stored_reason(died), finished_at=time.time())
            )
            queued = connection.execute(update(JobRow).where(running).values(state="queued", started_at=None)).rowcount
            if queued:
                tell(connection, "jobs")
            return queued

    # ------------------------------------------------------------ rows

    def _read(self, statement: Select[*tuple[Any, ...]]) -> list[Job]:
        return [_job(row) for row in self._ledger.database.fetch(statement)]

    def _update(self, job_id: int, condition: ColumnElement[bool], **values: Any) -> bool:
        with self._ledger.database.write() as connection:
            if values.get("state") == "queued":
                tell(connection, "jobs")
            changed = update(JobRow).where(JobRow.id == job_id, condition).values(**values)
            return connection.execute(changed).rowcount == 1


def _is_fault() -> ColumnElement[bool]:
    return or_(*(JobRow.error.startswith(begun, autoescape=True) for begun in (STORED_REASON + INTERNAL, INTERNAL)))


def _select() -> Select[*tuple[Any, ...]]:
    return select(*columns_of(JobRow, Job))


def _job(row: Row[Any]) -> Job:
    return Job(**{**row._mapping, "error": read_reason(row.error)})


def _not_open(connection: Connection, jobs: Sequence[NewJob], same: Same) -> list[NewJob]:
    """Return the jobs of which none is open, and let nobody else ask about their datasets until the commit."""
    datasets = {job.dataset_id for job in jobs}
    connection.execute(
        select(DatasetRow.id).where(DatasetRow.id.in_(datasets)).order_by(DatasetRow.id).with_for_update()
    )
    wanted = (JobRow.dataset_id.in_(datasets), JobRow.kind.in_({job.kind for job in jobs}), JobRow.state.in_(OPEN))
    there = {_likeness(job, same) for job in map(_job, connection.execute(_select().where(*wanted)))}
    return [job for job in jobs if _likeness(job, same) not in there]


def _likeness(job: NewJob | Job, same: Same) -> tuple[Hashable, ...]:
    return job.kind, job.dataset_id, storable(job.title)[:MAX_TITLE_CHARS], same(job)


def _values(user_id: int, job: NewJob, now: float) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "kind": job.kind,
        "dataset_id": job.dataset_id,
        "title": storable(job.title)[:MAX_TITLE_CHARS],
        "payload": dict(job.payload),
        "state": "queued",
        "error": "",
        "result": {},
        "done": 0,
        "total": 0,
        "attempts": 0,
        "created_at": now,
    }


def _count_not_done(user_id: int) -> Select[int]:
    return select(func.count()).select_from(JobRow).where(JobRow.user_id == user_id, JobRow.state != "done")


def _conditions(dataset_id: int | None, state: JobState | None) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if dataset_id is not None:
        conditions.append(JobRow.dataset_id == dataset_id)
    if state is not None:
        conditions.append(JobRow.state == state)
    return conditions


def _is_run(job: Job) -> ColumnElement[bool]:
    """Return whether the row is still this run of the job: not cancelled, not started again."""
    return (JobRow.state == "running") & (JobRow.started_at == job.started_at)
