"""Background jobs of datasets: the functions that describe a new job, and `DatasetJobs`, which does them.

A file stays in the spool until its job is done or no longer listed. So a job can run again after a crash or a failure.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from braid.core.accounts.accounts import Accounts
from braid.core.datasets.scope import may_write
from braid.core.errors import InvalidInputError, NotFoundError, Reason, UnreadableDocumentError, internal
from braid.core.indexes.reembed import reembed
from braid.core.ingest.exports.dataset_export import export_dataset
from braid.core.ingest.exports.dataset_import import KeepOriginals, import_dataset
from braid.core.ingest.exports.export_form import Manifest, ReadExport
from braid.core.ingest.incoming import Incoming, Parse
from braid.core.ingest.ingest_document import StoredDocument, ingest_document
from braid.core.ingest.plan import IngestOptions, source_name
from braid.core.ingest.spool import Readable, Spool, upload_source
from braid.core.jobs.runner import Handler, Progress
from braid.core.jobs.store import Job, JobKind, NewJob
from braid.core.originals.store import Originals

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory

QueueScan = Callable[[Job, int, Incoming], None]
"""Called with the job that stored a document, the document's id and its file."""

UNDONE: tuple[JobKind, ...] = ("upload", "text")
UNPACKED_FACTOR = 5
"""Largest allowed ratio of unpacked to packed size of an export. Vectors hardly shrink, passages 3 to 10 times."""


# ---------------------------------------------------------------- new jobs


def new_upload(
    spool: Spool, dataset_id: int, name: str, stream: Readable, *, max_bytes: int, date: float | None = None
) -> NewJob:
    """Spool an uploaded file; its source is the path that the browser gives. Raises InvalidInputError (``file``)."""
    source = upload_source(name)
    filename = source.rpartition("/")[2]
    kept = spool.save(stream, max_bytes=max_bytes, called=filename)
    payload = {"file": kept.name, "size_bytes": kept.size_bytes, "source": source, "date": date}
    return NewJob("upload", source, dataset_id, payload)


def undoable(job: NewJob) -> NewJob:
    """Return the job of a file or text as one that says what it replaces, and keeps its file for `new_undo`."""
    return replace(job, payload={**job.payload, "keeps_replaced": True})


def new_undo(job: Job) -> NewJob:
    """Describe a job that puts the version back which an upload has replaced; it can be undone itself.

    Raises InvalidInputError when that version was not kept.
    """
    if job.kind not in UNDONE or job.state != "done" or not job.result.get("file"):
        raise InvalidInputError(f"job {job.id} has not kept an earlier version; upload it again", field="job_id")
    payload = {name: job.result[name] for name in ("file", "size_bytes", "date")}
    return undoable(NewJob("upload", job.title, job.dataset_id, {**payload, "source": job.payload["source"]}))


def new_text(spool: Spool, dataset_id: int, title: str, text: str, *, max_bytes: int) -> NewJob:
    """Spool a typed or pasted text as Markdown. Raises InvalidInputError (``title``, ``text``, ``file``)."""
    if not title.strip():
        raise InvalidInputError(internal("the title is empty; say what the text is"), field="title")
    if not text.strip():
        raise InvalidInputError(internal("the text is empty; type or paste some"), field="text")
    stream = io.BytesIO(text.encode("utf-8", "replace"))
    job = new_upload(spool, dataset_id, f"{title.strip()}.md", stream, max_bytes=max_bytes, date=time.time())
    return NewJob("text", job.title, dataset_id, job.payload)


def new_url(dataset_id: int, url: str, *, allow_private: bool = False) -> NewJob:
    """Describe a job that fetches a page. Raises InvalidInputError (``url``) for an address that is never fetched."""
    from braid.core.ingest.web_page import check_url  # here, because the HTTP client takes a while to load

    address = check_url(url, allow_private=allow_private)
    return NewJob("url", address, dataset_id, {"url": address})


def new_export(directory: DataDirectory, dataset_id: int, *, originals: bool = True) -> NewJob:
    """Describe a job that exports a dataset, with the originals unless they are left out. Its result has ``file`` in
    the spool, ``filename`` for the browser, and what is in it.
    """
    return NewJob("export", directory.dataset(dataset_id).name, dataset_id, {"originals": originals})


def new_reembed(directory: DataDirectory, dataset_id: int) -> NewJob:
    """Describe a job that embeds all passages of a dataset again."""
    return NewJob("reembed", directory.dataset(dataset_id).name, dataset_id)


# ---------------------------------------------------------------- doing them


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetJobs:
    """Does the jobs of datasets. ``parse`` reads a file; ``options`` say how it is cut; ``read_export`` reads an
    exported dataset; ``originals`` has the files, new ones only if ``keeps_originals``; ``queue_scan`` queues the
    reading of scanned pages.
    """

    directory: DataDirectory
    spool: Spool
    parse: Parse
    read_export: ReadExport
    options: IngestOptions
    originals: Originals
    queue_scan: QueueScan
    max_import_bytes: int
    keeps_originals: bool = True
    most_documents: int | None = None
    """Documents that a user may have."""
    url_timeout_s: float = 30.0
    allow_private_urls: bool = False

    def handlers(self) -> dict[JobKind, Handler]:
        """Return the method for each kind of job."""
        handlers: dict[JobKind, Handler] = {
            "upload": self.store_upload,
            "text": self.store_upload,
            "url": self.store_page,
            "reembed": self.reembed_dataset,
            "import": self.import_spooled,
            "export": self.export_to_spool,
        }
        return {kind: partial(self._run_allowed, handler) for kind, handler in handlers.items()}

    def _run_allowed(self, handler: Handler, job: Job, progress: Progress) -> Mapping[str, Any]:
        """Run a job, unless its user may no longer change the dataset: what was shared may be taken back meanwhile."""
        ledger, registry = self.directory.ledger, self.directory.registry
        dataset, account = self.directory.dataset(job.dataset_id), Accounts(ledger).get(job.user_id)
        if not may_write(ledger, registry, account.id, dataset, is_admin=account.is_admin):
            raise NotFoundError(
                Reason(
                    "%(name)s may no longer change dataset %(number)s; ask its owner to share it",
                    name=account.name,
                    number=dataset.id,
                )
            )
        return handler(job, progress)

    def store_upload(self, job: Job, progress: Progress) -> dict[str, Any]:
        """Parse and store a spooled file."""
        path, source = self.spool.path(job.payload["file"]), job.payload["source"]
        return self._ingest(job, progress, replace(Incoming.from_file(path, source), date=job.payload["date"]))

    def store_page(self, job: Job, progress: Progress) -> dict[str, Any]:
        """Fetch a page, then parse and store it under its address."""
        from braid.core.ingest.web_page import fetch_page

        page = fetch_page(
            job.payload["url"],
            max_bytes=self.options.max_file_bytes,
            timeout_s=self.url_timeout_s,
            allow_private=self.allow_private_urls,
        )
        with self.spool.temporary(page.content) as path:
            incoming = Incoming.from_file(path, source_name(page.url), filename=page.filename)
            return self._ingest(job, progress, replace(incoming, date=page.date))

    def _ingest(self, job: Job, progress: Progress, incoming: Incoming) -> dict[str, Any]:
        """Parse and store, in two steps, unless a later request has written the document meanwhile.

        A file that cannot be read is recorded as a failed document, and the job fails.

        The indexer is not woken: it polls twice per second, and indexes many small files faster together than one by
        one.
        """
        ledger, dataset_id = self.directory.ledger, self.directory.dataset(job.dataset_id).id
        replaced = dict[str, Any]()

        def before_store() -> None:
            progress(1, 2)  # raises if the job was cancelled while the file was parsed
            replaced.update(self._replaced(job, dataset_id, incoming))

        stored = ingest_document(
            ledger,
            dataset_id,
            incoming,
            self.options,
            parse=self.parse,
            before_store=before_store,
            by_job=job.id,
            most=self.most_documents,
        )
        self._keep(job, stored, incoming)
        if stored.state == "failed":
            raise UnreadableDocumentError(stored.reason)
        if stored.document_id is not None:
            self.queue_scan(job, stored.document_id, incoming)
        told = {name: getattr(stored, name) for name in ("document_id", "source", "state", "chunks")}
        return {**told, **replaced}

    def _replaced(self, job: Job, dataset_id: int, incoming: Incoming) -> dict[str, Any]:
        """Return when the version was stored that is about to be replaced, and, in the spool, the file it is from."""
        earlier = self.directory.ledger.document(dataset_id, incoming.source)
        if not job.payload.get("keeps_replaced") or earlier is None or earlier.state != "ready":
            return {}
        told, path = {"replaced": earlier.updated_at, "date": earlier.date}, self.originals.find(earlier)
        if path is None or earlier.content_hash == incoming.content_hash:
            return told if path is None else {}
        with path.open("rb") as file:
            kept = self.spool.save(file, max_bytes=earlier.size_bytes, called=earlier.source)
        return {**told, "file": kept.name, "size_bytes": kept.size_bytes}

    def _keep(self, job: Job, stored: StoredDocument, incoming: Incoming) -> None:
        """Keep the file, also one that cannot be read; a typed text is no file. After a crash the job runs again."""
        if self.keeps_originals and job.kind != "text" and stored.document_id is not None:
            self.originals.keep(stored.document_id, incoming)

    def reembed_dataset(self, job: Job, progress: Progress) -> dict[str, Any]:
        """Embed all passages of a dataset again."""
        return {"chunks": reembed(self.directory, job.dataset_id)}

    def import_spooled(self, job: Job, progress: Progress) -> dict[str, Any]:
        """Store an export. If the file is wrong, the dataset that was added for it is removed."""
        dataset_id, path = job.dataset_id, self.spool.path(job.payload["file"])
        try:
            with self.spool.temporary(b"") as unpack_to:
                originals = KeepOriginals(self.originals.keep, unpack_to, self.options.max_file_bytes)
                report = import_dataset(
                    self.directory,
                    dataset_id,
                    path,
                    read=self.read_export,
                    max_bytes=UNPACKED_FACTOR * self.max_import_bytes,
                    originals=originals if self.keeps_originals else None,
                    progress=progress,
                    most=self.most_documents,
                )
        except InvalidInputError:
            self.directory.remove_dataset(dataset_id)
            raise
        return asdict(report)

    def export_to_spool(self, job: Job, progress: Progress) -> dict[str, Any]:
        """Write a dataset to a file in the spool."""
        dataset = self.directory.dataset(job.dataset_id)
        with_originals = job.payload.get("originals", True)
        manifests: list[Manifest] = []

        def write(file: IO[bytes]) -> None:
            with self.spool.temporary(b"") as copy:
                place = partial(self.originals.place, to=copy) if with_originals else lambda document: None
                manifests.append(export_dataset(self.directory, dataset.id, file, originals=place, progress=progress))

        file = self.spool.write(write)
        told = {name: getattr(manifests[0], name) for name in ("documents", "chunks", "originals", "lost_originals")}
        return {"file": file.name, "size_bytes": file.size_bytes, "filename": f"{dataset.name}.zip", **told}
