"""Exports of datasets to files, and datasets made from exports."""

from __future__ import annotations

from typing import IO

from flask import Response, request
from pydantic import Field
from werkzeug.exceptions import UnsupportedMediaType

from braid.app.api.framework.openapi import ZIP
from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import Given, InvalidRequestError
from braid.app.api.jobs import JobShown, show_job
from braid.app.api.uploads import MULTIPART, File
from braid.app.auth.access import rule, takes_uploads
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.user.datasets import caller_datasets
from braid.app.web.transfers import export_file, import_bytes, queue_export, queue_import, require_import_room
from braid.core.jobs.store import Job
from braid.core.types import MAX_NAME_CHARS

resource = Resource("transfers", "Datasets as files, with their vectors, to move to another Braid or to keep.")


class ExportGiven(Given):
    """An export of a dataset."""

    file: File = Field(examples=["notes.zip"])
    name: str = Field("", max_length=MAX_NAME_CHARS, description="Name of the new dataset; by default the export's")


class ExportQuery(Given):
    """What an export has in it."""

    originals: bool = Field(
        True, description="With the files that the documents were read from, as far as they are kept"
    )


@resource.post("/datasets/<int(signed=True):dataset_id>/exports", JobShown, status=202)
@rule("user")
def export_dataset(dataset_id: int, query: ExportQuery) -> Answered:
    """Export a dataset to a file, which replaces your earlier export of it.

    When the job is done, get the file at `/datasets/{dataset_id}/exports/{job_id}`. Its result counts the documents
    whose original is in the file (`originals`), and those whose original is gone or damaged (`lost_originals`).
    """
    dataset = caller_datasets().writable(dataset_id)
    return _show_queued(queue_export(identity().account, dataset, originals=query.originals))


@resource.get("/datasets/<int(signed=True):dataset_id>/exports/<int:job_id>", None, media_types=(ZIP,))
@rule("user")
def get_export(dataset_id: int, job_id: int) -> Response:
    """Download a finished export, a zip archive. It is kept as long as its job is listed."""
    dataset = caller_datasets().get(dataset_id)
    return export_file(site().background.store.get(identity().account.id, job_id, dataset_id=dataset.id))


@resource.post("/imports", JobShown, status=202, form=ExportGiven)
@rule("user")
@takes_uploads(import_bytes)
def import_dataset() -> Answered:
    """Create a personal dataset from an export. The job names its `dataset_id` at once, and fills it.

    Its result counts the documents whose original is kept (`originals`), and the others by reason
    (`originals_not_kept`): `missing`, `damaged`, `too_large`, `off` by setting.
    """
    me = identity().account
    require_import_room(me)
    return _show_queued(queue_import(me, _file(), name=request.form.get("name", "").strip()))


def _show_queued(job: Job) -> Answered:
    return Answered(show_job(job), {"Location": url_for("braid.api.get_job", job_id=job.id)})


def _file() -> IO[bytes]:
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
