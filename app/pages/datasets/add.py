"""Adds documents: files, pasted text and web pages. Each becomes a job that is run in the background."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO

from flask import Response, flash, jsonify, request
from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as AnyResponse

from braid.app.auth.access import takes_uploads, wants_json
from braid.app.auth.identity import identity
from braid.app.auth.quotas import quotas
from braid.app.mounted import url_for
from braid.app.pages.datasets.blueprint import MINE, ONE, audit, datasets, visible_datasets
from braid.app.pages.datasets.dataset import dataset_page
from braid.app.site import site
from braid.app.web.transfers import queue_spooled
from braid.config.settings import Settings
from braid.core.background.dataset_jobs import new_text, new_upload, new_url, undoable
from braid.core.errors import InvalidInputError, Reason
from braid.core.ingest.plan import MEBIBYTE
from braid.core.ingest.spool import upload_source
from braid.core.jobs.store import Job, NewJob
from braid.core.types import Dataset

FORM_BYTES = MEBIBYTE
"""Allowance for the form around the file, in bytes."""
MAX_TEXT_MB = 4
LATEST_DATE = 2.0**36
"""Latest date accepted for a file, in seconds since the epoch; a browser's later date is ignored."""


def read_file() -> tuple[str, IO[bytes]]:
    """Return name and content of the uploaded file, from the body or a form.

    Raises InvalidInputError without a file.
    """
    if request.mimetype != "multipart/form-data":
        return request.args.get("name", ""), request.stream
    file = request.files.get("file")
    if file is None or not file.filename:
        raise InvalidInputError(Reason("no file was chosen; choose one"), field="file")
    return file.filename, file.stream


def _file_bytes(settings: Settings) -> int:
    return settings.max_file_mb * MEBIBYTE


def form_bytes(settings: Settings) -> int:
    """Return the largest size of a request with one file in a form, in bytes."""
    return _file_bytes(settings) + FORM_BYTES


@datasets.post(f"{ONE}/files")
@datasets.post(f"{MINE}/files")
@takes_uploads(_file_bytes)
def upload(dataset_id: int | None = None) -> tuple[Response, int]:
    """Upload one file as the body of the request.

    Its name is a query argument, and optionally its date, in milliseconds since the epoch.
    """
    dataset = visible_datasets().writable(dataset_id)
    name, stream = read_file()
    [job] = queue_jobs(dataset, [undoable(spool_upload(dataset, name, stream, date=_date()))])
    return jsonify(job=job.id, name=job.title), 202


@datasets.post(f"{ONE}/files/form")
@datasets.post(f"{MINE}/files/form")
@takes_uploads(form_bytes)
def upload_form(dataset_id: int | None = None) -> tuple[str, int] | AnyResponse:
    """Upload files of a form, from a browser without scripts."""
    files = [file for file in request.files.getlist("file") if file.filename]
    if not files and dataset_id is None:
        raise InvalidInputError(Reason("no file was chosen; choose one"), field="file")
    dataset = visible_datasets().writable(dataset_id)
    if not files:
        return _answer_refused(dataset, _("Choose a file first."))
    try:
        spooled = (undoable(spool_upload(dataset, file.filename or "", file.stream)) for file in files)
        return _answer_added(dataset, queue_jobs(dataset, spooled))
    except InvalidInputError as error:
        return _answer_refused(dataset, str(error))


@datasets.post(f"{ONE}/text")
@datasets.post(f"{MINE}/text")
@takes_uploads(lambda settings: 2 * MAX_TEXT_MB * MEBIBYTE)
def add_text(dataset_id: int | None = None) -> tuple[str, int] | AnyResponse:
    """Add a typed or pasted text."""
    dataset = visible_datasets().writable(dataset_id)
    title, text = request.form.get("title", ""), request.form.get("text", "").replace("\r\n", "\n")
    here = site()
    try:
        quotas().require_room(identity().account, dataset, more_bytes=len(text))
        job = new_text(here.background.spool, dataset.id, title, text, max_bytes=MAX_TEXT_MB * MEBIBYTE)
    except InvalidInputError as error:
        return _answer_refused(dataset, str(error))
    jobs = queue_jobs(dataset, [undoable(job)])
    asked = request.form.get("asked", "")
    if asked and identity().is_admin:  # it is the answer to a question of the usage page, where it is asked again
        flash(ngettext("Reading %(num)s document.", "Reading %(num)s documents.", len(jobs)))
        return redirect(url_for("braid.admin.usage", again=asked, _anchor="unanswered-title"))
    return _answer_added(dataset, jobs)


@datasets.post(f"{ONE}/url")
@datasets.post(f"{MINE}/url")
def add_url(dataset_id: int | None = None) -> tuple[str, int] | AnyResponse:
    """Add a web page, which is fetched in the background."""
    dataset = visible_datasets().writable(dataset_id)
    try:
        quotas().require_room(identity().account, dataset)
        job = new_url(dataset.id, request.form.get("url", ""), allow_private=site().settings.allow_private_urls)
    except InvalidInputError as error:
        return _answer_refused(dataset, str(error))
    return _answer_added(dataset, queue_jobs(dataset, [job]))


# ---------------------------------------------------------------- what the routes share


def spool_upload(dataset: Dataset, name: str, stream: IO[bytes], *, date: float | None = None) -> NewJob:
    """Spool one uploaded file of the request. Raises InvalidInputError for one that is refused, or over a quota."""
    here, most = site(), _file_bytes(site().settings)
    more_bytes = request.content_length or 0
    quotas().require_room(identity().account, dataset, source=upload_source(name), more_bytes=more_bytes)
    return new_upload(here.background.spool, dataset.id, name, stream, max_bytes=most, date=date)


def _date() -> float | None:
    """Return when the file was last changed, in seconds since the epoch, as the browser says; None if unknown."""
    date = request.args.get("date", type=float)
    return date / 1000 if date is not None and 0 <= date / 1000 < LATEST_DATE else None


def queue_jobs(dataset: Dataset, jobs: Iterable[NewJob]) -> list[Job]:
    """Queue what is spooled, all or nothing. Raises InvalidInputError."""
    added = queue_spooled(jobs)
    for job in added:
        audit(dataset, "documents.added", job.title)
    return added


def _answer_added(dataset: Dataset, jobs: Sequence[Job]) -> AnyResponse:
    told = ngettext("Reading %(num)s document.", "Reading %(num)s documents.", len(jobs))
    return datasets.done(told, "dataset", dataset_id=dataset.id)


def _answer_refused(dataset: Dataset, problem: str) -> tuple[str, int]:
    if wants_json():
        raise InvalidInputError(problem, field="file")
    return dataset_page(dataset, problem=problem), 400
