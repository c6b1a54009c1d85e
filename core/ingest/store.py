"""Store: a parsed document, or the reason why there is none, goes into the ledger in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from braid.core.errors import BraidError, ScannedDocumentError
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.plan import escape, file_type_of
from braid.core.ledger.ledger import Ledger
from braid.core.metadata.gaps import PAGES_TO_READ
from braid.core.types import DocumentInput


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


def keep_unchanged(
    ledger: Ledger, dataset_id: int, incoming: Incoming, *, by_job: int | None = None
) -> StoredDocument | None:
    """Return the stored document, with the new date, if it has the same bytes and label; None if it is to be parsed.

    Earlier uploads that are still to be read are superseded, as by `store`.
    """
    stored = ledger.document(dataset_id, incoming.source)
    if stored is None or stored.state != "ready" or stored.content_hash != incoming.content_hash:
        return None
    if incoming.file_type not in ("", stored.file_type):
        return None
    if ledger.supersede_uploads(dataset_id, incoming.source, by_job=by_job):
        return keep_unchanged(ledger, dataset_id, incoming, by_job=by_job)  # one may just have been stored
    if incoming.date is not None and incoming.date != stored.date:
        ledger.set_date(stored.id, incoming.date)
    return StoredDocument(incoming.source, "unchanged", document_id=stored.id, chunks=stored.chunks)


def store(
    ledger: Ledger,
    dataset_id: int,
    document: DocumentInput,
    *,
    by_job: int | None = None,
    most: int | None = None,
) -> StoredDocument:
    """Store a parsed document in place of the one with its source, and end the uploads of it that are still to be
    read: all, or those accepted before the job ``by_job``.

    Raises NotFoundError without the dataset, JobCancelledError, and InvalidInputError for a new document when the
    dataset's owner has ``most`` already.
    """
    put = ledger.put_document(dataset_id, document, by_job=by_job, most=most)
    return StoredDocument(
        document.source, "put", document_id=put.document_id, chunks=put.added + put.kept, added=put.added
    )


def store_failure(
    ledger: Ledger,
    dataset_id: int,
    incoming: Incoming,
    reason: str | BraidError,
    *,
    by_job: int | None = None,
    most: int | None = None,
) -> StoredDocument:
    """Record why a document cannot be read. The ledger keeps the passages of an earlier version; the reason says so.

    Of a file of scanned pages it is recorded how many they are. Supersedes and raises as `store`.
    """
    waiting = reason.pages if isinstance(reason, ScannedDocumentError) else 0
    reason = str(reason)
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
