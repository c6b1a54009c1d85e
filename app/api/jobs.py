"""``/jobs``: background jobs."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, Field

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.schemas import Moment, Page, PageQuery, Shown, page_of
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.datasets import caller_datasets
from braid.core.datasets.scope import is_within
from braid.core.errors import NotFoundError
from braid.core.jobs.store import Job, JobKind, JobState
from braid.core.types import MAX_ID

resource = Resource("jobs", "Background jobs, mostly uploads. Each user sees their own.", "user")


class JobShown(Shown):
    """A job: `done` of `total` steps, 0 of 0 while the number is unknown."""

    id: int
    kind: JobKind
    dataset_id: int
    title: str
    state: JobState
    error: str
    result: dict[str, Any]
    done: int
    total: int
    attempts: int
    created_at: Moment
    started_at: Moment
    finished_at: Moment


class JobsShown(BaseModel):
    """Jobs that were queued together."""

    items: list[JobShown]


class JobsQuery(PageQuery):
    """Filters of a list of jobs."""

    dataset_id: int | None = Field(None, ge=-MAX_ID, le=MAX_ID)
    state: Literal["queued", "running", "done", "failed", "cancelled"] | None = None


@resource.get("/jobs", Page[JobShown])
def list_jobs(query: JobsQuery) -> Answered:
    """List your jobs, the newest first."""
    store = site().background.store
    read = partial(store.of_user, identity().account.id, dataset_id=query.dataset_id, state=query.state)
    return page_of(Page[JobShown], query, read, show_job)


@resource.get("/jobs/<int:job_id>", JobShown)
@rule("user", limited=True)
def get_job(job_id: int) -> JobShown:
    """Get a job: its progress, its result, or why it failed."""
    found = site().background.store.get(identity().account.id, job_id)
    if not is_within(found.dataset_id, identity().dataset_ids):
        raise NotFoundError(f"there is no job {job_id}")
    return show_job(found)


@resource.post("/jobs/<int:job_id>/cancel", JobShown)
def cancel_job(job_id: int) -> JobShown:
    """Cancel a waiting or running job. What it has stored stays; an ended job does not change."""
    return show_job(site().background.store.cancel(identity().account.id, job_id))


@resource.post("/jobs/<int:job_id>/retry", JobShown)
def retry_job(job_id: int) -> JobShown:
    """Retry a failed or cancelled job. Its dataset must still be yours to change."""
    caller_datasets().writable(site().background.store.get(identity().account.id, job_id).dataset_id)
    return show_job(site().background.retry(identity().account.id, job_id))


def show_job(job: Job) -> JobShown:
    """Return the job in the form that callers see, without the names of spooled files."""
    values = {name: getattr(job, name) for name in JobShown.model_fields}
    return JobShown(**{**values, "result": {name: value for name, value in job.result.items() if name != "file"}})
