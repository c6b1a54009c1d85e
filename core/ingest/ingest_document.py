"""One document: parse it with what the caller gives, and store it, or the reason why it cannot be read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.incoming import Incoming, Parse
from braid.core.ingest.plan import IngestOptions, PlannedFile
from braid.core.ingest.store import StoredDocument, keep_unchanged, store, store_failure
from braid.core.ledger.ledger import Ledger
from braid.core.metadata import clean_metadata


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
    return store_failure(ledger, dataset_id, Incoming(file.source, filename), reason)


def ingest_document(
    ledger: Ledger,
    dataset_id: int,
    incoming: Incoming,
    options: IngestOptions,
    *,
    parse: Parse,
    most: int | None = None,
) -> StoredDocument:
    """Parse and store one document unless it is stored already; one that cannot be read is recorded as failed.

    With metadata of its own it is parsed again. Raises InvalidInputError when that cannot be stored, and for a new
    document when the dataset's owner has ``most`` already.
    """
    metadata = clean_metadata(incoming.metadata)
    if not metadata and (unchanged := keep_unchanged(ledger, dataset_id, incoming)):
        return unchanged
    try:
        document = parse(incoming, options)
    except UnreadableDocumentError as error:
        return store_failure(ledger, dataset_id, incoming, error, most=most)
    file_type = incoming.file_type or document.file_type
    document = replace(document, file_type=file_type, metadata={**document.metadata, **metadata})
    return store(ledger, dataset_id, document, most=most)


def _require_readable(file: PlannedFile, max_bytes: int) -> None:
    """Raises UnreadableDocumentError for a known problem and for a file over the limit; OSError without the file."""
    if file.problem:
        raise UnreadableDocumentError(file.problem)
    size_bytes = os.stat(file.path).st_size
    if size_bytes > max_bytes:
        size = f"{os.path.basename(file.path)} has {size_bytes:,} bytes"
        raise UnreadableDocumentError(f"{size}; at most {max_bytes:,} are read, so split it")
