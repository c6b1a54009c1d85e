"""Files in and out of datasets: uploads, web pages and new vectors; exports, and datasets that are made from them."""

from __future__ import annotations

from typing import IO, Annotated

from flask import Response, request
from pydantic import Field, WithJsonSchema
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import UnsupportedMediaType

from braid.app.api.framework.openapi import ZIP
from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import Given, InvalidRequestError
from braid.app.api.jobs import JobShown, JobsShown, show_job
from braid.app.auth.access import rule, takes_uploads
from braid.app.auth.identity import identity
from braid.app.auth.quotas import quotas
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.user.datasets import caller_datasets
from braid.app.web.transfers import (
    export_file,
    import_bytes,
    queue_export,
    queue_import,
    queue_spooled,
    require_import_room,
)
from braid.core.background.dataset_jobs import new_reembed, new_upload, new_url
from braid.core.ingest.plan import MEBIBYTE
from braid.core.jobs.store import Job, NewJob
from braid.core.types import MAX_NAME_CHARS

MULTIPART = "multipart/form-data"
MAX_FILES = 500
FORM_BYTES = 2 * MEBIBYTE
"""Allowance for the rest of the request around its files, in bytes."""

uploads = Resource("uploads", "Files and web pages for datasets, read by background jobs.", "user")

File = Annotated[bytes, WithJsonSchema({"type": "string", "format": "binary"})]


class FilesGiven(Given):
    """Files. Each name, with its folders, becomes the document's source."""

    file: list[File] = Field(min_length=1, max_length=MAX_FILES)


class UrlGiven(Given):
    """A web page."""

    url: str = Field(min_length=1, max_length=2_000, examples=["https://example.org/manual"])


@uploads.post("/datasets/<int(signed=True):dataset_id>/documents", JobsShown, status=202, form=FilesGiven)
@rule("user", limited=True)
@takes_uploads(lambda settings: settings.max_file_mb * MEBIBYTE + FORM_BYTES)
def upload_documents(dataset_id: int) -> Answered:
    """Upload files, each under the field name `file`. Each becomes a job, in the order given.

    A later request for the same document wins: the job it overtakes ends, with `superseded` as the state in its result.
    """
    dataset, here = caller_datasets().writable(dataset_id), site()
    quotas().require_room(identity().account, dataset, more_bytes=request.content_length or 0)
    spool, most = here.background.spool, here.settings.max_file_mb * MEBIBYTE
    added = queue_spooled(
        new_upload(spool, dataset.id, file.filename or "", file.stream, max_bytes=most) for file in _files()
    )
    where = url_for("braid.api.list_jobs", dataset_id=dataset.id)
    return Answered(JobsShown(items=[show_job(job) for job in added]), {"Location": where})


@uploads.post("/datasets/<int(signed=True):dataset_id>/pages", JobShown, status=202)
@rule("user", limited=True)
def add_page(dataset_id: int, body: UrlGiven) -> Answered:
    """Fetch a web page and store it as a document. Addresses in private networks are refused."""
    dataset, settings = caller_datasets().writable(dataset_id), site().settings
    quotas().require_room(identity().account, dataset)
    job = new_url(dataset.id, body.url, allow_private=settings.allow_private_urls)
    return _queue(job)


@uploads.post("/datasets/<int(signed=True):dataset_id>/reembed", JobShown, status=202)
def reembed_dataset(dataset_id: int) -> Answered:
    """Embed all passages of a dataset again."""
    quotas().require_queue_room(identity().account)
    return _queue(new_reembed(site().braid, caller_datasets().writable(dataset_id).id))


def _queue(job: NewJob) -> Answered:
    return _show_queued(site().background.add(identity().account.id, [job])[0])


def _show_queued(job: Job) -> Answered:
    return Answered(show_job(job), {"Location": url_for("braid.api.get_job", job_id=job.id)})


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


# ---------------------------------------------------------------- datasets as files


transfers = Resource("transfers", "Datasets as files, with their vectors, to move to another Braid or to keep.", "user")


class ExportGiven(Given):
    """An export of a dataset."""

    file: File = Field(examples=["notes.zip"])
    name: str = Field("", max_length=MAX_NAME_CHARS, description="Name of the new dataset; by default the export's")


class ExportQuery(Given):
    """What an export has in it."""

    originals: bool = Field(
        True, description="With the files that the documents were read from, as far as they are kept"
    )


@transfers.post("/datasets/<int(signed=True):dataset_id>/exports", JobShown, status=202)
def export_dataset(dataset_id: int, query: ExportQuery) -> Answered:
    """Export a dataset to a file, which replaces your earlier export of it.

    When the job is done, get the file at `/datasets/{dataset_id}/exports/{job_id}`. Its result counts the documents
    whose original is in the file (`originals`), and those whose original is gone or damaged (`lost_originals`).
    """
    dataset = caller_datasets().writable(dataset_id)
    return _show_queued(queue_export(identity().account, dataset, originals=query.originals))


@transfers.get("/datasets/<int(signed=True):dataset_id>/exports/<int:job_id>", None, media_types=(ZIP,))
def get_export(dataset_id: int, job_id: int) -> Response:
    """Download a finished export, a zip archive. It is kept as long as its job is listed."""
    dataset = caller_datasets().get(dataset_id)
    return export_file(site().background.store.get(identity().account.id, job_id, dataset_id=dataset.id))


@transfers.post("/imports", JobShown, status=202, form=ExportGiven)
@takes_uploads(import_bytes)
def import_dataset() -> Answered:
    """Create a personal dataset from an export. The job names its `dataset_id` at once, and fills it.

    Its result counts the documents whose original is kept (`originals`), and the others by reason
    (`originals_not_kept`): `missing`, `damaged`, `too_large`, `off` by setting.
    """
    me = identity().account
    require_import_room(me)
    return _show_queued(queue_import(me, _export_given(), name=request.form.get("name", "").strip()))


def _export_given() -> IO[bytes]:
    if request.mimetype != MULTIPART:
        raise UnsupportedMediaType(f"send the export in the field file, as {MULTIPART}")
    files, names = request.files.getlist("file"), request.form.getlist("name")
    for name in ({*request.form} - {"name"}) | ({*request.files} - {"file"}):
        raise InvalidRequestError(((name, "there is no such field; send file, and optionally name"),))
    if len(files) != 1:
        raise InvalidRequestError((("file", f"there are {len(files)} files; send one export at a time"),))
    if len(names) > 1:
        raise InvalidRequestError((("name", f"was sent {len(names)} times; send it once"),))
    return files[0].stream
