"""Background jobs: kept in the ledger, done in order and fairly, again after a crash."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.exc import OperationalError

from braid.core.datasets.listing import overviews
from braid.core.errors import InvalidInputError, NotFoundError, Reason, UnreadableDocumentError
from braid.core.jobs.runner import Handler, JobRunner, Pauses, Progress
from braid.core.jobs.store import MAX_ATTEMPTS, Job, JobState, JobStore, NewJob
from braid.core.ledger.change_log import LOCAL
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import JobRow
from tests.databases import on_both_databases
from tests.worlds import WAIT_S, document, eventually


@pytest.fixture
def store(ledger: Ledger) -> JobStore:
    for name in ("ann", "bob"):
        ledger.add_user(name)
    return JobStore(ledger)


ANN, BOB = 1, 2


def _fail_all(ledger: Ledger) -> None:
    failed = update(JobRow).where(JobRow.state == "queued").values(state="failed", error="it is damaged")
    ledger.database.change(failed)


def upload(title: str, **payload: Any) -> NewJob:
    return NewJob("upload", title, 7, payload)


# ---------------------------------------------------------------- the store


def test_jobs_are_queued_with_what_was_given(store: JobStore) -> None:
    first, second = store.add(ANN, [upload("a.pdf", file="f1"), NewJob("url", "https://example.org/", 7)])
    assert (first.kind, first.title, first.dataset_id, first.payload) == ("upload", "a.pdf", 7, {"file": "f1"})
    assert (second.kind, second.dataset_id, second.state, second.done, second.total) == ("url", 7, "queued", 0, 0)
    assert [job.id for job in store.of_user(ANN)] == [second.id, first.id]


def test_unknown_kinds_and_users_are_named_and_nothing_is_queued(store: JobStore) -> None:
    with pytest.raises(InvalidInputError, match="kind is 'dig'; choose one of upload, "):
        store.add(ANN, [upload("a"), NewJob("dig", "b", 7)])  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match="no user 99"):
        store.add(99, [upload("a")])
    assert store.all() == []
    assert store.add(ANN, []) == []


def test_a_file_that_has_passages_is_not_unread_while_its_scanned_pages_wait(store: JobStore, ledger: Ledger) -> None:
    place = ledger.add_dataset(ANN, "Scans")
    ledger.put_document(place.id, document("half.pdf", "The contract begins today.", file_type="pdf"))
    store.add(ANN, [NewJob("scan", name, place.id) for name in ("half.pdf", "pictures.pdf")])
    assert store.unread([place.id]) == 1, "the one of pictures alone"
    store.add(ANN, [NewJob("upload", "half.pdf", place.id)])
    assert store.unread([place.id]) == 2
    about = overviews(ledger.database, [place], index_names=LOCAL)[place.id]
    assert (about.jobs, about.scans, about.busy) == (1, 2, True)


@on_both_databases
def test_files_that_could_not_be_read_are_counted_once_and_not_while_they_are_tried_again(
    store: JobStore, ledger: Ledger
) -> None:
    first, second, gone = (ledger.add_dataset(ANN, name).id for name in ("First", "Second", "Gone"))
    failed = [(first, name) for name in ("a", "b", "read", "again", "stored")] + [(second, "again"), (gone, "a")]
    store.add(ANN, [NewJob("upload", name, place) for place, name in [*failed, (first, "a")]])
    _fail_all(ledger)
    ledger.put_document(first, document("read", "it was read at last"))
    ledger.put_failed(first, "stored", title="", file_type="pdf", error="it is damaged")
    ledger.put_failed(second, "pruned", title="", file_type="pdf", error="it is damaged")
    store.add(ANN, [NewJob("upload", "again", first)])
    ledger.remove_dataset(gone)
    assert store.unreadable_files() == {first: 3, second: 2}
    assert store.unreadable_files([second, gone]) == {second: 2}
    assert store.unreadable_files([]) == {}


@pytest.mark.parametrize("of_one", [False, True])
def test_failed_jobs_are_not_compared_with_each_open_one(store: JobStore, ledger: Ledger, of_one: bool) -> None:
    full, other = (ledger.add_dataset(ANN, name).id for name in ("Full", "Other"))

    def steps(jobs: int) -> int:
        """Add failed and open jobs; return what SQLite does to count, in hundreds of its instructions."""
        store.add(ANN, [NewJob("upload", f"failed {jobs} {number}", full) for number in range(jobs)])
        _fail_all(ledger)
        store.add(ANN, [NewJob("upload", f"open {jobs} {number}", full) for number in range(jobs)])
        done: list[None] = []
        with ledger.database.write() as connection:
            raw: Any = connection.connection.driver_connection
            raw.set_progress_handler(lambda: done.append(None), 100)
            found = store.unreadable_files([other] if of_one else None)
            raw.set_progress_handler(None, 0)
        assert bool(found) is not of_one
        return len(done)

    few, many = steps(30), steps(600)
    assert many < 60 * few, "twenty times as many jobs, not four hundred times the work"


def test_somebody_elses_job_is_not_found(store: JobStore) -> None:
    [job] = store.add(ANN, [upload("a")])
    for touch in (store.get, store.cancel, store.retry):
        with pytest.raises(NotFoundError, match=f"no job {job.id}"):
            touch(BOB, job.id)
    assert store.of_user(BOB) == []
    assert store.get(ANN, job.id).state == "queued"


@on_both_databases
def test_jobs_are_listed_by_dataset_and_state_in_pages(store: JobStore) -> None:
    jobs = store.add(ANN, [upload(f"{n}") for n in range(5)])
    store.add(ANN, [NewJob("upload", "elsewhere", 8)])
    store.cancel(ANN, jobs[0].id)
    assert [job.title for job in store.of_user(ANN, dataset_id=7, state="queued", limit=2, offset=1)] == ["3", "2"]
    assert store.counts(ANN)["queued"] == 5
    assert store.counts(ANN, dataset_id=7) == {"queued": 4, "running": 0, "done": 0, "failed": 0, "cancelled": 1}
    assert store.counts(BOB)["queued"] == 0


@on_both_databases
def test_users_take_turns_and_each_ones_jobs_keep_their_order(store: JobStore) -> None:
    store.add(ANN, [upload("a1"), upload("a2"), upload("a3")])
    store.add(BOB, [upload("b1"), upload("b2")])
    order, last = [], 0
    while job := store.claim(last):
        order.append(job.title)
        last = job.user_id
    assert order == ["a1", "b1", "a2", "b2", "a3"]


def test_an_ended_job_can_be_tried_again(store: JobStore) -> None:
    [job] = store.add(ANN, [upload("a")])
    with pytest.raises(InvalidInputError, match=f"job {job.id} is queued; only a failed or cancelled one"):
        store.retry(ANN, job.id)
    run = store.claim(0)
    assert run is not None
    store.fail(run, "the disk is full")
    assert (store.get(ANN, job.id).state, store.get(ANN, job.id).error) == ("failed", "the disk is full")
    again = store.retry(ANN, job.id)
    assert (again.state, again.error, again.finished_at) == ("queued", "", None)


def test_a_cancelled_run_changes_nothing_any_more(store: JobStore) -> None:
    store.add(ANN, [upload("a")])
    run = store.claim(0)
    assert run is not None
    store.cancel(ANN, run.id)
    assert not store.progress(run, 1, 2)
    store.finish(run, {"chunks": 3})
    assert (store.get(ANN, run.id).state, store.get(ANN, run.id).result) == ("cancelled", {})


@on_both_databases
def test_old_ended_jobs_are_pruned(store: JobStore) -> None:
    first, second = store.add(ANN, [upload("a", file="f1"), upload("b", file="f2")])
    store.cancel(ANN, first.id)
    assert store.kept_files() == {"f1", "f2"}
    assert store.prune(days=1, now=time.time()) == 0
    assert store.prune(days=0, now=time.time() + 1) == 1
    assert [job.id for job in store.all()] == [second.id]
    assert store.kept_files() == {"f2"}


@on_both_databases
def test_what_kills_the_process_again_and_again_is_given_up(store: JobStore) -> None:
    store.add(ANN, [upload("bomb")])
    for _ in range(MAX_ATTEMPTS):
        assert store.claim(0) is not None
        store.requeue()
    assert store.claim(0) is None
    [job] = store.all()
    assert job.state == "failed"
    assert f"stopped {MAX_ATTEMPTS} times" in job.error


@on_both_databases
def test_what_is_started_again_knows_how_far_it_had_come(store: JobStore) -> None:
    store.add(ANN, [upload("scan")])
    for done, end in ((3, lambda job: store.requeue()), (4, store.hand_over)):
        job = store.claim(0)
        assert job is not None
        store.progress(job, done, 9)
        end(job)
        [again] = store.all()
        assert (again.state, again.done, again.total) == ("queued", done, 9)


# ---------------------------------------------------------------- the runner


@pytest.fixture
def run(store: JobStore) -> Iterator[Callable[..., JobRunner]]:
    runners: list[JobRunner] = []

    def start(handler: Handler, workers: int = 1, **options: Any) -> JobRunner:
        runners.append(JobRunner(store, {"upload": handler}, workers=workers, **options))
        runners[-1].start()
        return runners[-1]

    yield start
    for runner in runners:
        runner.close(WAIT_S)


def states(store: JobStore) -> dict[str, JobState]:
    return {job.title: job.state for job in store.all()}


def test_done_failed_and_faulty_jobs_are_told_apart(
    store: JobStore, ledger: Ledger, run: Callable[..., JobRunner]
) -> None:
    def handle(job: Job, progress: Progress) -> Mapping[str, Any]:
        if job.title == "good":
            progress(3, 4)
        if job.title == "bad":
            raise UnreadableDocumentError(Reason("%(name)s is damaged; copy it again", name="bad.pdf"))
        if job.title == "old":
            raise UnreadableDocumentError("old.pdf is damaged; copy it again")
        if job.title == "bug":
            raise KeyError("secret")
        return {"chunks": 3, "failures": [{"reason": Reason("page %(number)s is damaged", number=2)}]}

    place = ledger.add_dataset(ANN, "Files").id
    store.add(ANN, [NewJob("upload", name, place) for name in ("good", "bad", "old", "bug", "last")])
    run(handle, pauses=Pauses(progress_s=0.0))
    eventually(lambda: {"queued": 0, "running": 0}.items() <= store.counts().items())
    by_title = {job.title: job for job in store.all()}
    assert states(store) == {"good": "done", "bad": "failed", "old": "failed", "bug": "failed", "last": "done"}
    result = {"chunks": 3, "failures": [{"reason": "page 2 is damaged"}]}
    assert (by_title["good"].result, by_title["good"].done, by_title["good"].total) == (result, 4, 4)
    assert by_title["good"].result["failures"][0]["reason"].parts == {"number": "2"}
    assert by_title["bad"].error == "bad.pdf is damaged; copy it again"
    assert isinstance(by_title["bad"].error, Reason)
    assert not isinstance(by_title["old"].error, Reason)
    assert store.unreadable() == 2, "and not the fault"
    store.add(ANN, [NewJob("upload", "bad", place)])
    run(handle, pauses=Pauses(progress_s=0.0))
    eventually(lambda: store.unreadable() == 3)
    assert store.unreadable_files() == {place: 2}, "one was added twice"
    assert store.unreadable_files(also_faults=True) == {place: 3}
    ledger.remove_dataset(place)
    assert store.unreadable_files() == {}, "nobody can look at them"
    assert by_title["bug"].error == f"internal error; the log says more under job {by_title['bug'].id}"


def test_the_log_of_a_fault_does_not_quote_the_document(
    store: JobStore, run: Callable[..., JobRunner], caplog: pytest.LogCaptureFixture
) -> None:
    def faulty(job: Job, progress: Progress) -> Mapping[str, Any]:
        raise ValueError("cannot read 'the secret text'")

    store.add(ANN, [upload("a.txt")])
    run(faulty)
    eventually(lambda: store.counts()["failed"] == 1)
    assert "type=ValueError at=" in caplog.text
    assert "secret" not in caplog.text


def test_a_running_job_that_is_cancelled_ends_at_its_next_step(store: JobStore, run: Callable[..., JobRunner]) -> None:
    ended = threading.Event()

    def handle(job: Job, progress: Progress) -> Mapping[str, Any]:
        try:
            while not ended.wait(0.01):
                progress(1, 1)
            raise AssertionError("it ended before")
        finally:
            ended.set()

    [job] = store.add(ANN, [upload("long")])
    run(handle)
    eventually(lambda: store.get(ANN, job.id).state == "running")
    store.cancel(ANN, job.id)
    assert ended.wait(WAIT_S)
    assert store.get(ANN, job.id).state == "cancelled"


def test_closing_finishes_what_is_at_work_and_begins_nothing_more(
    store: JobStore, run: Callable[..., JobRunner]
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def handle(job: Job, progress: Progress) -> Mapping[str, Any]:
        begun.set()
        assert go_on.wait(WAIT_S)
        return {}

    store.add(ANN, [upload("first"), upload("second")])
    runner = run(handle)
    assert begun.wait(WAIT_S)
    closing = threading.Thread(target=runner.close, args=(WAIT_S,))
    closing.start()
    eventually(runner._stopping.is_set)
    go_on.set()
    closing.join(WAIT_S)
    assert states(store) == {"first": "done", "second": "queued"}


def test_what_cannot_be_finished_in_time_is_left_to_the_next_start(
    store: JobStore, run: Callable[..., JobRunner]
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(job: Job, progress: Progress) -> Mapping[str, Any]:
        begun.set()
        go_on.wait(WAIT_S)
        return {"by": "the first run"}

    store.add(ANN, [upload("slow")])
    runner = run(slow)
    assert begun.wait(WAIT_S)
    runner.close(0.05)
    [left] = store.all()
    assert (left.state, left.attempts) == ("queued", 0)
    go_on.set()
    run(lambda job, progress: {"by": "the second run"})
    eventually(lambda: store.all()[0].state == "done")
    assert store.all()[0].result == {"by": "the second run"}


def test_what_a_killed_process_left_running_is_done_again(store: JobStore, run: Callable[..., JobRunner]) -> None:
    store.add(ANN, [upload("a")])
    assert store.claim(0) is not None  # and then the process is killed
    run(lambda job, progress: {"attempt": job.attempts})
    eventually(lambda: store.all()[0].state == "done")
    assert store.all()[0].result == {"attempt": 2}


@on_both_databases
def test_two_workers_do_each_job_once(store: JobStore, run: Callable[..., JobRunner], tmp_path: Path) -> None:
    seen: list[str] = []
    store.add(ANN, [upload(f"{n}") for n in range(20)])
    run(lambda job, progress: seen.append(job.title) or {}, workers=2)  # type: ignore[func-returns-value]
    eventually(lambda: store.counts()["done"] == 20)
    assert sorted(seen, key=int) == [f"{n}" for n in range(20)]


def test_one_users_slow_jobs_do_not_hold_everybodys(store: JobStore, run: Callable[..., JobRunner]) -> None:
    go_on, at_once = threading.Event(), [0, 0]

    def handle(job: Job, progress: Progress) -> Mapping[str, Any]:
        if job.user_id == ANN:
            at_once[0] += 1
            at_once[1] = max(at_once)
            go_on.wait(WAIT_S)
            at_once[0] -= 1
        return {}

    store.add(ANN, [upload(f"slow{n}") for n in range(4)])
    run(handle, workers=2, per_user=1)
    eventually(lambda: store.counts(ANN)["running"] == 1)
    for n in range(3):
        store.add(BOB, [upload(f"quick{n}")])
    eventually(lambda: store.counts(BOB)["done"] == 3)
    assert store.counts(ANN) == {"queued": 3, "running": 1, "done": 0, "failed": 0, "cancelled": 0}
    go_on.set()
    eventually(lambda: store.counts(ANN)["done"] == 4)
    assert at_once[1] == 1


def test_an_end_that_cannot_be_written_is_written_a_moment_later(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = ledger.add_user("ana")
    store = JobStore(ledger)
    (job,) = store.add(user.id, [NewJob("text", "a", 7)])
    finish, refusals = store.finish, [OperationalError("locked", None, Exception())] * 20  # more than there are pauses

    def busy(*args: Any) -> object:
        if refusals:
            raise refusals.pop()
        return finish(*args)

    monkeypatch.setattr(store, "finish", busy)
    pauses = Pauses(record_s=(0.01, 0.01, 0.01))
    runner = JobRunner(store, {"text": lambda job, progress: {"ok": True}}, workers=1, pauses=pauses)
    runner.start()
    eventually(lambda: store.get(user.id, job.id).state == "done")
    runner.close()
    assert store.get(user.id, job.id).result == {"ok": True}


@pytest.mark.parametrize(
    "outage", [OperationalError("disk I/O error", None, Exception()), OSError(errno.ENOSPC, "No space left on device")]
)
def test_a_job_that_an_outage_breaks_off_is_done_when_it_is_over(
    store: JobStore, run: Callable[..., JobRunner], outage: Exception
) -> None:
    outages = [outage] * (MAX_ATTEMPTS + 2)

    def handle(job: Job, progress: Progress) -> Mapping[str, Any]:
        if outages:
            raise outages.pop()
        return {"chunks": 1}

    store.add(ANN, [upload("a.txt")])
    run(handle, pauses=Pauses(outage_s=0.01))
    eventually(lambda: states(store) == {"a.txt": "done"})
    assert not outages
