"""What the background jobs of datasets do, and how such a job is asked for.

A file stays in the spool while its job may still need it: until it is done, or no longer listed. So every job can be
done twice, and tried again when it failed.
"""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from braid.core.errors import InvalidInputError, UnreadableDocumentError
from braid.core.indexes.progress import reembed
from braid.core.ingest.dataset_export import export_dataset
from braid.core.ingest.dataset_import import import_dataset, read_manifest
from braid.core.ingest.ingest import Incoming, IngestOptions, ingest_file
from braid.core.ingest.spool import Readable, Spool, upload_source
from braid.core.ingest.web_page import check_url, fetch_page
from braid.core.jobs.runner import Handler, Progress
from braid.core.jobs.store import Job, JobKind, NewJob
from braid.core.types import DocumentInput

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory
    from braid.core.ingest.parser import Parser

UNPACKED_FACTOR = 5
"""An export unpacks to so many times its size at most: vectors are not packed, passages 3 to 10 times."""


# ---------------------------------------------------------------- jobs to be asked for


def new_upload(
    spool: Spool, dataset_id: int, name: str, stream: Readable, *, max_bytes: int, date: float | None = None
) -> NewJob:
    """Keep an uploaded file, called by the path that the browser gives. Raises InvalidInputError (``file``)."""
    source = upload_source(name)
    filename = source.rpartition("/")[2]
    kept = spool.save(stream, max_bytes=max_bytes, called=filename)
    payload = {"file": kept.name, "size_bytes": kept.size_bytes, "source": source, "date": date}
    return NewJob("upload", source, dataset_id, payload)


def new_text(spool: Spool, dataset_id: int, title: str, text: str, *, max_bytes: int) -> NewJob:
    """Keep a text that was typed or pasted, as Markdown. Raises InvalidInputError (``title``, ``text``, ``file``)."""
    if not title.strip():
        raise InvalidInputError("the title is empty; say what the text is", field="title")
    if not text.strip():
        raise InvalidInputError("the text is empty; type or paste some", field="text")
    stream = io.BytesIO(text.encode("utf-8", "replace"))
    job = new_upload(spool, dataset_id, f"{title.strip()}.md", stream, max_bytes=max_bytes, date=time.time())
    return NewJob("text", job.title, dataset_id, job.payload)


def new_url(dataset_id: int, url: str, *, allow_private: bool = False) -> NewJob:
    """Fetch a page. Raises InvalidInputError (``url``) for an address that is never fetched."""
    address = check_url(url, allow_private=allow_private)
    return NewJob("url", address, dataset_id, {"url": address})


def new_import(
    braid: DataDirectory, spool: Spool, user_id: int, stream: Readable, *, max_bytes: int, name: str = ""
) -> NewJob:
    """Keep an export and make the dataset that it goes to, called as it was unless a name is given.

    Raises InvalidInputError (``file``, ``name``).
    """
    kept = spool.save(stream, max_bytes=max_bytes, called="the export")
    try:
        manifest = read_manifest(spool.path(kept.name), max_bytes=UNPACKED_FACTOR * max_bytes)
        dataset = braid.ledger.add_dataset(user_id, name or manifest.name)
    except BaseException:
        spool.remove(kept.name)
        raise
    return NewJob("import", dataset.name, dataset.id, {"file": kept.name, "size_bytes": kept.size_bytes})


def new_export(braid: DataDirectory, dataset_id: int) -> NewJob:
    """Write a dataset to a file; the job's result names it (``file`` in the spool, ``filename`` for the browser)."""
    return NewJob("export", braid.dataset(dataset_id).name, dataset_id)


def new_reembed(braid: DataDirectory, dataset_id: int) -> NewJob:
    """Make all vectors of a dataset anew."""
    return NewJob("reembed", braid.dataset(dataset_id).name, dataset_id)


# ---------------------------------------------------------------- what they do


def handlers(
    braid: DataDirectory,
    spool: Spool,
    parser: Parser,
    *,
    options: IngestOptions,
    max_import_bytes: int,
    url_timeout_s: float = 30.0,
    allow_private_urls: bool = False,
) -> dict[JobKind, Handler]:
    """Kind → what does it."""
    store = partial(_store_file, braid, parser, options)
    fetch = partial(
        fetch_page, max_bytes=options.max_file_bytes, timeout_s=url_timeout_s, allow_private=allow_private_urls
    )

    def upload(job: Job, progress: Progress) -> Mapping[str, Any]:
        path = spool.path(job.payload["file"])
        return store(job, progress, path, job.payload["source"], date=job.payload["date"])

    def url(job: Job, progress: Progress) -> Mapping[str, Any]:
        page = fetch(job.payload["url"])
        file = spool.save(io.BytesIO(page.content), max_bytes=len(page.content))
        try:
            path = spool.path(file.name)
            return store(job, progress, path, page.url, filename=page.filename, date=page.date)
        finally:
            spool.remove(file.name)

    return {
        "upload": upload,
        "text": upload,
        "url": url,
        "reembed": partial(_reembed, braid),
        "import": partial(_import, braid, spool, UNPACKED_FACTOR * max_import_bytes),
        "export": partial(_export, braid, spool),
    }


def _store_file(
    braid: DataDirectory,
    parser: Parser,
    options: IngestOptions,
    job: Job,
    progress: Progress,
    path: Path,
    source: str,
    *,
    filename: str = "",
    date: float | None = None,
) -> dict[str, Any]:
    """Two steps: read, stored. A file that cannot be read is recorded as a failed document, and the job fails."""
    dataset_id = job.dataset_id

    def parse(path: Path, incoming: Incoming, options: IngestOptions) -> DocumentInput:
        document = parser.parse(path, incoming, options)
        progress(1, 2)
        return document

    stored = ingest_file(braid, dataset_id, path, parse, source=source, filename=filename, date=date, options=options)
    if stored.state == "failed":
        raise UnreadableDocumentError(stored.reason)
    document = braid.ledger.document(dataset_id, stored.source)
    return {
        "document_id": document.id if document else None,
        "source": stored.source,
        "state": stored.state,
        "chunks": document.chunks if document else 0,
    }


def _reembed(braid: DataDirectory, job: Job, progress: Progress) -> dict[str, Any]:
    return {"chunks": reembed(braid, job.dataset_id)}


def _import(braid: DataDirectory, spool: Spool, max_bytes: int, job: Job, progress: Progress) -> dict[str, Any]:
    """A file that is wrong leaves nothing: the dataset that was made for it goes."""
    dataset_id, path = job.dataset_id, spool.path(job.payload["file"])
    try:
        report = import_dataset(braid, dataset_id, path, max_bytes=max_bytes, progress=progress)
    except InvalidInputError:
        braid.remove_dataset(dataset_id)
        raise
    return {"documents": report.documents, "chunks": report.chunks, "embedded": report.embedded}


def _export(braid: DataDirectory, spool: Spool, job: Job, progress: Progress) -> dict[str, Any]:
    dataset = braid.dataset(job.dataset_id)
    file = spool.write(lambda file: export_dataset(braid, dataset.id, file, progress=progress))
    return {"file": file.name, "size_bytes": file.size_bytes, "filename": f"{dataset.name}.zip"}
