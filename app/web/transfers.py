"""Uploads, exports, imports and original files, and what is deleted with a dataset or a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import PurePosixPath
from typing import IO, Any, cast, get_args

from flask import Response, flash, request, send_file
from flask_babel import gettext as _

from braid.app.auth.identity import identity
from braid.app.auth.quotas import quotas
from braid.app.site import site
from braid.app.web.pdf import as_pdf
from braid.app.web.word import as_word
from braid.app.words.languages import current_language
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.background.dataset_jobs import new_export
from braid.core.chat.export import as_json, as_markdown
from braid.core.chat.store import StoredConversation
from braid.core.chat.texts import Language
from braid.core.datasets.listing import overviews
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ingest.incoming import last_part
from braid.core.ingest.plan import MEBIBYTE
from braid.core.jobs.store import ADDING, OPEN, Job, JobKind, JobState, NewJob
from braid.core.types import MAX_ID, Dataset, Document

PDF_TYPE = "application/pdf"
WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FORM_BYTES = MEBIBYTE
"""Allowance for the form around the file, in bytes."""
MOST_AT_ONCE = 10_000
EXPORTS: tuple[JobKind, ...] = ("export",)
DONE: tuple[JobState, ...] = ("done",)


def import_bytes(settings: Settings) -> int:
    """Return the largest size of a request with an export, in bytes."""
    return settings.max_import_mb * MEBIBYTE + FORM_BYTES


def queue_export(account: Account, dataset: Dataset, *, originals: bool = True) -> Job:
    """Queue an export of the dataset, with the files of its documents unless they are left out; it replaces the user's
    earlier one.

    Raises InvalidInputError over a quota, and ServiceUnavailable when the files do not fit on the disk.
    """
    here = site()
    braid = here.braid
    about = overviews(braid.ledger.database, [dataset], index_names=braid.index_names)[dataset.id]
    size_bytes = about.size_bytes if originals else 0
    quotas().require_queue_room(account, more_bytes=size_bytes)
    for earlier in here.background.store.of_dataset(dataset.id, kinds=EXPORTS, states=DONE, limit=MOST_AT_ONCE):
        if earlier.user_id == account.id:
            drop(earlier)
    [job] = here.background.add(account.id, [new_export(here.braid, dataset.id, originals=originals)])
    if dataset.of_others:
        here.audit.add(account.name, "dataset.exported", f"{dataset.id} {dataset.name}")
    return job


def queue_spooled(jobs: Iterable[NewJob]) -> list[Job]:
    """Queue the caller's jobs once all are spooled, and count them in the caller's usage.

    Where one is refused none is queued, and no file is kept.
    """
    user_id, here, spooled = identity().account.id, site(), list[NewJob]()
    try:
        for job in jobs:
            spooled.append(job)
        added = here.background.add(user_id, spooled)
    except BaseException:
        for job in spooled:
            here.background.spool.remove(str(job.payload.get("file", "")))
        raise
    here.usage.count(user_id, "upload", len(added))
    return added


def export_file(job: Job) -> Response:
    """Return a finished export as a download. Raises NotFoundError for any other job, and if the file is gone."""
    if job.kind != "export" or job.state != "done":
        raise NotFoundError(f"there is no finished export {job.id}")
    path = site().background.spool.path(job.result["file"])
    return send_file(path, "application/zip", as_attachment=True, download_name=printable(job.result["filename"]))


def printable(filename: str) -> str:
    """The name with spaces for line breaks, which datasets of earlier versions may have in theirs."""
    return "".join(character if character.isprintable() else " " for character in filename)


def require_import_room(account: Account) -> None:
    """Check that one more dataset may be imported, before the body is read. Raises InvalidInputError over a quota."""
    quotas().require_dataset_room(account)
    quotas().require_document_room(account.id)
    kept_bytes = request.content_length or 0  # of the originals in it, when the archive is still there
    quotas().require_queue_room(account, more_bytes=(request.content_length or 0) + kept_bytes)


def queue_import(account: Account, stream: IO[bytes], *, name: str = "") -> Job:
    """Add a dataset and queue a job that fills it from an export. The job names the dataset's id.

    The dataset keeps the name in the export unless one is given. Raises InvalidInputError (``file``, ``name``), also
    over a quota.
    """
    here = site()
    most = here.settings.max_import_mb * MEBIBYTE
    most_datasets = here.settings.max_user_datasets
    asked = here.background.new_import(account.id, stream, max_bytes=most, name=name, most_datasets=most_datasets)
    try:
        [job] = here.background.add(account.id, [asked])
    except BaseException:  # nothing fills the dataset
        here.background.spool.remove(asked.payload["file"])
        here.braid.remove_dataset(asked.dataset_id)
        raise
    return job


def export_conversation(user_id: int, conversation_id: int, kind: str) -> Response:
    """Return a conversation as a download: ``md`` and ``json`` are written a message at a time as they are sent, and
    ``docx`` and ``pdf`` are made as a whole. Raises InvalidInputError for a conversation that is too long for that.
    """
    store = site().conversations
    found, (path, others) = store.conversation(user_id, conversation_id), store.ids(user_id, conversation_id)
    messages = store.each(user_id, conversation_id, path)
    [named] = titled([found])
    if kind == "json":
        pieces = as_json(found, messages, store.each(user_id, conversation_id, others))
        response = Response(pieces, mimetype="application/json")
    elif kind == "docx":
        response = Response(as_word(named, messages), mimetype=WORD_TYPE)
    elif kind == "pdf":
        response = Response(as_pdf(named, messages), mimetype=PDF_TYPE)
    else:
        response = Response(
            as_markdown(named, messages, language=cast(Language, current_language())), mimetype="text/markdown"
        )
    response.headers["Content-Disposition"] = f"attachment; filename=braid-conversation-{conversation_id}.{kind}"
    return response


def titled(conversations: Sequence[StoredConversation]) -> list[StoredConversation]:
    """Return the conversations of one user with the titles that they are shown by.

    Those in which nothing was asked yet are called by a file of theirs.
    """
    here, names = site(), dict[int, str]()
    untitled = {one.id: one.user_id for one in conversations if not one.title}
    for user_id in set(untitled.values()):
        for dataset in here.braid.ledger.attached_datasets(user_id):
            if dataset.conversation_id in untitled:
                # The jobs first: one that ends meanwhile has stored its document before.
                jobs = here.background.store.of_dataset(dataset.id, kinds=ADDING, states=OPEN, limit=1)
                sources = (each.source for each in here.braid.ledger.documents(dataset.id))
                names[dataset.conversation_id] = next(chain(sources, (job.title for job in jobs)), "")
    return [one if one.title else replace(one, title=names.get(one.id) or _("Untitled")) for one in conversations]


def delete_conversation(user_id: int, conversation_id: int, *, for_good: bool = False) -> None:
    """Delete a conversation with its files, so that it can be restored unless it is deleted ``for_good``.

    What still waits to be read or was exported of the files goes for good at once.
    """
    here = site()
    here.turns.stop_all(user_id, conversation_id)
    files = here.conversations.files.dataset(user_id, conversation_id)
    if files is not None:
        drop_all(files.id)
    if for_good:
        here.conversations.delete(user_id, conversation_id)
        here.braid.wake()
    else:
        here.conversations.discard(user_id, conversation_id)


def delete_dataset(dataset_id: int, *, for_good: bool = False) -> None:
    """Delete a personal dataset, so that it can be restored unless it is deleted ``for_good``; what still waits to be
    read, or was exported, goes for good at once.
    """
    here = site()
    drop_all(dataset_id)
    if for_good:
        here.braid.remove_dataset(dataset_id)
    else:
        here.deleted_datasets.discard(dataset_id)
        here.braid.wake()


def restore_dataset(user_id: int, dataset_id: int) -> None:
    """Restore a deleted dataset of a user. Raises NotFoundError, and InvalidInputError where the user has too many."""
    here = site()
    here.deleted_datasets.restore(user_id, dataset_id, most=here.settings.max_user_datasets)
    here.braid.wake()
    here.background.scans.queue_waiting(user_id, dataset_ids=[dataset_id])


def erase_dataset(user_id: int, dataset_id: int) -> None:
    """Delete a deleted dataset of a user for good. Raises NotFoundError."""
    site().deleted_datasets.erase(user_id, dataset_id)
    site().braid.wake()


def drop_all(dataset_id: int) -> None:
    """Remove all jobs of a dataset that is about to be deleted, with their files, exports too."""
    kinds, states = get_args(JobKind), get_args(JobState)
    for job in site().background.store.of_dataset(dataset_id, kinds=kinds, states=states, limit=MOST_AT_ONCE):
        drop(job)


def drop(job: Job) -> None:
    """Remove a job from the list, whatever its state, with its files."""
    background = site().background
    background.store.cancel(job.user_id, job.id)
    background.store.forget(job.user_id, job.id)
    for kept in (job.payload, job.result):
        background.spool.remove(str(kept.get("file", "")))


def chosen_ids(field: str, *, most: int) -> list[int]:
    """Return the ids that the form names, sorted. Raises InvalidInputError for what is none, and for too many."""
    given = set(request.form.getlist(field))
    for each in given:
        if not (each.isascii() and each.isdecimal() and len(each) <= len(str(MAX_ID)) and 0 < int(each) <= MAX_ID):
            raise InvalidInputError(f"{field} is {each[:20]!r}; give the number of one on the list", field=field)
    if len(given) > most:
        told = Reason(
            "%(count)s are selected; at most %(most)s can be", count=format(len(given), ","), most=format(most, ",")
        )
        raise InvalidInputError(told, field=field)
    return sorted(map(int, given))


def flash_undo(text: str, url: str, act: str, ids: Sequence[int]) -> None:
    """Say this on the next page, beside a button that posts ``act`` and the ids, as ``c``, to the address."""
    message: Any = {"text": text, "url": url, "act": act, "ids": list(ids)}
    flash(message, "undo")


BYTES, PDF = "application/octet-stream", "application/pdf"
SHOWN = {
    ".pdf": PDF,
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".txt": "text/plain",
    ".md": "text/plain",
    ".csv": "text/plain",
}
"""Media types by suffix that a browser shows without running anything; all others are saved."""
NOTHING_RUNS = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
SANDBOX = f"{NOTHING_RUNS}; sandbox"


def original_file(document: Document, *, download: bool = False) -> Response:
    """Return the file that the document was read from, to be saved where ``download`` says so or no browser shows it.

    Raises NotFoundError where it is not kept.
    """
    path = site().background.originals.find(document)
    if path is None:
        raise NotFoundError(f"the file of document {document.id} is not kept, or it has changed since it was read")
    name = printable(filename(document))
    kind = None if download else SHOWN.get(PurePosixPath(name).suffix.lower())
    response = send_file(path, kind or BYTES, as_attachment=kind is None, download_name=name, etag=False)
    response.cache_control.private = True
    # A browser's viewer of PDF files does not start in a sandbox of ours; it has one of its own.
    response.headers["Content-Security-Policy"] = NOTHING_RUNS if kind == PDF else SANDBOX
    return response


def filename(document: Document) -> str:
    """Return the name under which the file is saved: the last part of the source, with the suffix of its format."""
    name = last_part(document.source.rstrip("/")) or "document"
    if PurePosixPath(name).suffix or not document.file_type:
        return name
    return f"{name}.{document.file_type}"
