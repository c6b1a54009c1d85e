"""Uploads: files, web pages and new vectors, added to datasets in the background."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from flask import request
from pydantic import Field, WithJsonSchema
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import UnsupportedMediaType

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import Given, InvalidRequestError
from braid.app.api.jobs import JobShown, JobsShown, show_job
from braid.app.auth.access import rule, takes_uploads
from braid.app.auth.identity import identity
from braid.app.auth.quotas import quotas
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.user.datasets import caller_datasets
from braid.core.background.dataset_jobs import new_reembed, new_upload, new_url
from braid.core.ingest.plan import MEBIBYTE
from braid.core.jobs.store import Job, NewJob

MULTIPART = "multipart/form-data"
MAX_FILES = 500
FORM_BYTES = 2 * MEBIBYTE
"""Allowance for the rest of the request around its files, in bytes."""

resource = Resource("uploads", "Files and web pages for datasets, read by background jobs.")

File = Annotated[bytes, WithJsonSchema({"type": "string", "format": "binary"})]


class FilesGiven(Given):
    """Files. Each name, with its folders, becomes the document's source."""

    file: list[File] = Field(min_length=1, max_length=MAX_FILES)


class UrlGiven(Given):
    """A web page."""

    url: str = Field(min_length=1, max_length=2_000, examples=["https://example.org/manual"])


@resource.post("/datasets/<int(signed=True):dataset_id>/documents", JobsShown, status=202, form=FilesGiven)
@rule("user", limited=True)
@takes_uploads(lambda settings: settings.max_file_mb * MEBIBYTE + FORM_BYTES)
def upload_documents(dataset_id: int) -> Answered:
    """Upload files, each under the field name `file`. Each becomes a job, in the order given.

    A later request for the same document wins: the job it overtakes ends, with `superseded` as the state in its result.
    """
    dataset, here = caller_datasets().writable(dataset_id), site()
    quotas().require_room(identity().account, dataset, more_bytes=request.content_length or 0)
    most, jobs = here.settings.max_file_mb * MEBIBYTE, list[NewJob]()
    try:
        for file in _files():
            jobs.append(new_upload(here.background.spool, dataset.id, file.filename or "", file.stream, max_bytes=most))
        added = here.background.add(identity().account.id, jobs)
    except BaseException:
        for job in jobs:
            here.background.spool.remove(job.payload["file"])
        raise
    here.usage.count(identity().account.id, "upload", len(added))
    where = url_for("braid.api.list_jobs", dataset_id=dataset.id)
    return Answered(JobsShown(items=[show_job(job) for job in added]), {"Location": where})


@resource.post("/datasets/<int(signed=True):dataset_id>/pages", JobShown, status=202)
@rule("user", limited=True)
def add_page(dataset_id: int, body: UrlGiven) -> Answered:
    """Fetch a web page and store it as a document. Addresses in private networks are refused."""
    dataset, settings = caller_datasets().writable(dataset_id), site().settings
    quotas().require_room(identity().account, dataset)
    job = new_url(dataset.id, body.url, allow_private=settings.allow_private_urls)
    return _queue([job])


@resource.post("/datasets/<int(signed=True):dataset_id>/reembed", JobShown, status=202)
@rule("user")
def reembed_dataset(dataset_id: int) -> Answered:
    """Embed all passages of a dataset again."""
    quotas().require_queue_room(identity().account)
    return _queue([new_reembed(site().braid, caller_datasets().writable(dataset_id).id)])


def _queue(jobs: Iterable[NewJob]) -> Answered:
    added: list[Job] = site().background.add(identity().account.id, list(jobs))
    return Answered(show_job(added[0]), {"Location": url_for("braid.api.get_job", job_id=added[0].id)})


def _files() -> list[FileStorage]:
    if request.mimetype != MULTIPART:
        raise UnsupportedMediaType(f"send files, as {MULTIPART}")
    for name in (*request.form, *request.files):
        if name != "file":
            raise InvalidRequestError(((name, "there is no such field; the files are named file"),))
    files = request.files.getlist("file")
    if not 1 <= len(files) <= MAX_FILES:
        raise InvalidRequestError((("file", f"there are {len(files)} files; send 1 to {MAX_FILES} at once"),))
    return files
