"""One document: parse it with what the caller gives, and store it, or the reason why it cannot be read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from braid.core.errors import Reason, ScannedDocumentError, UnreadableDocumentError
from braid.core.ingest.incoming import Incoming, Parse
from braid.core.ingest.plan import IngestOptions, PlannedFile, escape, file_type_of
from braid.core.ledger.ledger import Ledger
from braid.core.metadata import clean_metadata
from braid.core.metadata.gaps import PAGES_TO_READ


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The outcome for one document."""

    source: str
    state: Literal["put", "unchanged", "failed"]
    reason: str = ""
    """Why it failed."""
    document_id: int | None = None
    """None where a failure leaves no row in the ledger."""
    chunks: int = 0
    """Passages it has now."""
    added: int = 0
    """Passages that were not there before."""


def ingest_planned(
    ledger: Ledger, dataset_id: int, file: PlannedFile, options: IngestOptions, *, parse: Parse
) -> StoredDocument:
    """Store one file of `braid.core.ingest.plan.plan_files`, or record why it cannot be read. Wakes no indexer."""
    if file.problem and not file.recorded:
        return StoredDocument(file.source, "failed", file.problem)
    filename = os.path.basename(file.path)
    try:
        _require_readable(file, options.max_file_bytes)
        incoming = Incoming.from_file(Path(file.path), file.source, filename=filename)
        return ingest_document(ledger, dataset_id, incoming, options, parse=parse)
    except FileNotFoundError:
        return StoredDocument(file.source, "failed", f"{filename} vanished before it was read")
    except OSError as error:
        reason = f"{filename} cannot be read: {error.strerror}"
    except UnreadableDocumentError as error:
        reason = str(error)
    return _store_failure(ledger, dataset_id, Incoming(file.source, filename), reason)


def ingest_document(
    ledger: Ledger,
    dataset_id: int,
    incoming: Incoming,
    options: IngestOptions,
    *,
    parse: Parse,
    before_store: Callable[[], object] = lambda: None,
    by_job: int | None = None,
    most: int | None = None,
) -> StoredDocument:
    """Parse and store one document unless it is stored already; one that cannot be read is recorded as failed.

    With metadata of its own it is parsed again. ``before_store`` is called once it is parsed; nothing is stored when it
    raises. Uploads of this source that are still to be read end: all, or those accepted before the job ``by_job``.
    Raises NotFoundError without the dataset, JobCancelledError, and InvalidInputError when the metadata cannot be
    stored, and for a new document when the dataset's owner has ``most`` already.
    """
    metadata = clean_metadata(incoming.metadata)
    if not metadata and (unchanged := _keep_unchanged(ledger, dataset_id, incoming, by_job)):
        return unchanged
    try:
        document = parse(incoming, options)
    except UnreadableDocumentError as error:
        waiting = error.pages if isinstance(error, ScannedDocumentError) else 0
        return _store_failure(ledger, dataset_id, incoming, str(error), waiting=waiting, by_job=by_job, most=most)
    before_store()
    file_type = incoming.file_type or document.file_type
    document = replace(document, file_type=file_type, metadata={**document.metadata, **metadata})
    put = ledger.put_document(dataset_id, document, by_job=by_job, most=most)
    return StoredDocument(
        document.source, "put", document_id=put.document_id, chunks=put.added + put.kept, added=put.added
    )


def _require_readable(file: PlannedFile, max_bytes: int) -> None:
    """Raises UnreadableDocumentError for a known problem and for a file over the limit; OSError without the file."""
    if file.problem:
        raise UnreadableDocumentError(file.problem)
    size_bytes = os.stat(file.path).st_size
    if size_bytes > max_bytes:
        told = Reason(
            "%(name)s has %(size)s bytes; at most %(most)s are read, so split it",
            name=os.path.basename(file.path),
            size=format(size_bytes, ","),
            most=format(max_bytes, ","),
        )
        raise UnreadableDocumentError(told)


def _keep_unchanged(ledger: Ledger, dataset_id: int, incoming: Incoming, by_job: int | None) -> StoredDocument | None:
    """Return the stored document, with the new date, if it has the same bytes and label; None if it is to be parsed."""
    stored = ledger.document(dataset_id, incoming.source)
    if stored is None or stored.state != "ready" or stored.content_hash != incoming.content_hash:
        return None
    if incoming.file_type not in ("", stored.file_type):
        return None
    if ledger.supersede_uploads(dataset_id, incoming.source, by_job=by_job):
        return _keep_unchanged(ledger, dataset_id, incoming, by_job)  # one may just have been stored
    if incoming.date is not None and incoming.date != stored.date:
        ledger.set_date(stored.id, incoming.date)
    return StoredDocument(incoming.source, "unchanged", document_id=stored.id, chunks=stored.chunks)


def _store_failure(
    ledger: Ledger,
    dataset_id: int,
    incoming: Incoming,
    reason: str,
    *,
    waiting: int = 0,
    by_job: int | None = None,
    most: int | None = None,
) -> StoredDocument:
    """Record why a document cannot be read, and how many of its pages are scanned and ``waiting`` to be read.

    The ledger keeps the passages of an earlier version; the reason says so.
    """
    earlier = ledger.document(dataset_id, incoming.source)
    chunks = earlier.chunks if earlier is not None else 0
    if chunks:
        reason = f"{reason} (the version stored earlier stays searchable)"
    document_id = ledger.put_failed(
        dataset_id,
        incoming.source,
        title=escape(incoming.filename),
        file_type=escape(file_type_of(incoming.filename)),
        error=reason,
        size_bytes=incoming.size_bytes,
        content_hash=incoming.content_hash,
        metadata={PAGES_TO_READ: waiting} if waiting else {},
        by_job=by_job,
        most=most,
    )
    return StoredDocument(incoming.source, "failed", reason, document_id, chunks)
