"""Jobs of a dataset: retry, cancel, embed again, export."""

from __future__ import annotations

from contextlib import suppress

from flask import request
from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.auth.quotas import quotas
from braid.app.pages.datasets.blueprint import ONE, audit, datasets, visible_datasets
from braid.app.site import site
from braid.app.web.transfers import MOST_AT_ONCE, drop, export_file, queue_export
from braid.core.background.dataset_jobs import new_reembed, new_undo
from braid.core.errors import InvalidInputError
from braid.core.jobs.store import ADDING, FAILED, QUEUED, Job
from braid.core.types import Dataset


@datasets.post(f"{ONE}/jobs/<int:job_id>/retry")
def retry_job(dataset_id: int, job_id: int) -> Response:
    """Retry a failed upload."""
    job = _job(visible_datasets().writable(dataset_id), job_id)
    site().background.retry(job.user_id, job.id)
    return datasets.done(_("Trying “%(name)s” again.", name=job.title), "dataset", dataset_id=dataset_id)


@datasets.post(f"{ONE}/jobs/<int:job_id>/undo")
def undo_job(dataset_id: int, job_id: int) -> Response:
    """Put the version back that an upload has replaced."""
    dataset, background = visible_datasets().writable(dataset_id), site().background
    job = _job(dataset, job_id)
    background.add(job.user_id, [new_undo(job)])
    background.store.forget(job.user_id, job.id)  # its file is the new job's
    audit(dataset, "documents.added", job.title)
    return datasets.done(
        _("Restoring the earlier version of “%(name)s”.", name=job.title), "dataset", dataset_id=dataset_id
    )


@datasets.post(f"{ONE}/jobs/retry")
def retry_all(dataset_id: int) -> Response:
    """Retry all failed uploads of the user."""
    me, background = identity().account, site().background
    found = background.store.of_dataset(
        visible_datasets().writable(dataset_id).id, kinds=ADDING, states=FAILED, limit=MOST_AT_ONCE
    )
    latest = {job.title: job for job in reversed(found) if job.user_id == me.id}
    tried = 0
    for job in latest.values():
        with suppress(InvalidInputError):  # it was added again meanwhile
            background.retry(me.id, job.id)
            tried += 1
    told = ngettext("Trying %(num)s document again.", "Trying %(num)s documents again.", tried)
    return datasets.done(told, "dataset", dataset_id=dataset_id)


@datasets.post(f"{ONE}/jobs/<int:job_id>/remove")
def forget_job(dataset_id: int, job_id: int) -> Response:
    """Remove a waiting or failed job, and its file."""
    job = _job(visible_datasets().writable(dataset_id), job_id)
    drop(job)
    return datasets.done(_("“%(name)s” removed from the list.", name=job.title), "dataset", dataset_id=dataset_id)


@datasets.post(f"{ONE}/jobs/cancel")
def cancel_waiting(dataset_id: int) -> Response:
    """Remove all waiting uploads of the user."""
    me, store = identity().account, site().background.store
    waiting = store.of_dataset(
        visible_datasets().writable(dataset_id).id, kinds=ADDING, states=QUEUED, limit=MOST_AT_ONCE
    )
    mine = [job for job in waiting if job.user_id == me.id]
    for job in mine:
        drop(job)
    told = ngettext("%(num)s upload removed from the list.", "%(num)s uploads removed from the list.", len(mine))
    return datasets.done(told, "dataset", dataset_id=dataset_id)


@datasets.post(f"{ONE}/reembed")
def reembed(dataset_id: int) -> Response:
    """Embed all passages again."""
    dataset, here = visible_datasets().writable(dataset_id), site()
    quotas().require_queue_room(identity().account)
    here.background.add(identity().account.id, [new_reembed(here.braid, dataset.id)])
    audit(dataset, "dataset.reembedded", f"{dataset.chunks} passages")
    return datasets.done(
        _("Re-embedding all passages. Until this is done, searches use the old vectors."),
        "dataset",
        dataset_id=dataset_id,
    )


@datasets.post(f"{ONE}/export")
def export(dataset_id: int) -> Response:
    """Export the dataset to a file, which replaces the user's earlier export."""
    dataset, originals = visible_datasets().writable(dataset_id), "originals" in request.form
    queue_export(identity().account, dataset, originals=originals)
    return datasets.done(
        _("Preparing the export. You can download it here when it is ready."), "dataset", dataset_id=dataset_id
    )


@datasets.get(f"{ONE}/exports/<int:job_id>")
def download(dataset_id: int, job_id: int) -> Response:
    """Download a finished export."""
    return export_file(_job(visible_datasets().get(dataset_id), job_id))


# ---------------------------------------------------------------- what the routes share


def _job(dataset: Dataset, job_id: int) -> Job:
    """Return the user's job, if it is this dataset's. Raises NotFoundError."""
    return site().background.store.get(identity().account.id, job_id, dataset_id=dataset.id)
