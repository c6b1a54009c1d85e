"""Files → sections → chunks → ledger. One file that cannot be read never stops the others."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.plan import MEBIBYTE, IngestOptions, PlannedFile, escaped, file_type_of, plan_files, source_name
from braid.core.ingest.readers import read_document
from braid.core.ingest.walk import find_files
from braid.core.types import DocumentInput

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory

__all__ = [
    "MEBIBYTE",
    "Incoming",
    "IngestOptions",
    "IngestProgress",
    "IngestReport",
    "IngestedFile",
    "Parse",
    "incoming_file",
    "ingest_bytes",
    "ingest_file",
    "ingest_paths",
    "ingest_planned",
    "parse_content",
    "parse_file",
    "source_name",
]


@dataclass(frozen=True, slots=True)
class IngestedFile:
    """What became of one file. ``chunks`` is how many passages were added."""

    source: str
    state: Literal["put", "unchanged", "failed"]
    reason: str = ""
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """``done`` of ``total`` files are finished, ``file`` was the last."""

    done: int
    total: int
    file: IngestedFile


@dataclass(frozen=True, slots=True)
class IngestReport:
    """How many files were stored, were as before, could not be read, or were left out on purpose."""

    put: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[tuple[str, str], ...] = ()
    """(source, reason) of each failed file."""
    skips: Mapping[str, int] = field(default_factory=dict)
    """Why files and folders were left out: reason → how many."""
    chunks: int = 0
    """Passages added."""


def ingest_paths(
    braid: DataDirectory,
    dataset_id: int,
    paths: Sequence[str],
    *,
    options: IngestOptions | None = None,
    on_progress: Callable[[IngestProgress], None] = lambda progress: None,
) -> IngestReport:
    """Store the files at these paths (files, folders, globs; see `braid.core.ingest.walk.find_files`) in a dataset.

    Each file is one transaction, so stopping in between loses nothing, and running again skips what is
    stored. A file that cannot be read is recorded as a failed document with the reason; what an earlier,
    readable version of it stored stays searchable. Two files that would get the same source: the first is
    stored, the others fail. A file that vanishes before it is read fails without leaving a document.

    Raises NotFoundError when there is no such dataset and InvalidInputError when a path or an option is
    wrong, both before anything is stored.
    """
    options = options or IngestOptions()
    braid.dataset(dataset_id)
    found = find_files(paths, ignore=options.ignore, leave_out=(os.path.abspath(braid.data_dir),))
    planned, skips = plan_files(found, options)
    counts: Counter[str] = Counter()
    failures: list[tuple[str, str]] = []
    for done, file in enumerate(planned, start=1):
        result = ingest_planned(braid, dataset_id, file, options)
        counts[result.state] += 1
        counts["chunks"] += result.chunks
        if result.state == "failed":
            failures.append((result.source, result.reason))
        on_progress(IngestProgress(done, len(planned), result))
    return IngestReport(
        put=counts["put"],
        unchanged=counts["unchanged"],
        failed=counts["failed"],
        skipped=skips.total(),
        failures=tuple(failures),
        skips=dict(skips),
        chunks=counts["chunks"],
    )


def ingest_bytes(
    braid: DataDirectory,
    dataset_id: int,
    source: str,
    content: bytes,
    *,
    filename: str = "",
    date: float | None = None,
    options: IngestOptions | None = None,
) -> IngestedFile:
    """Store one document from memory, an upload for instance. Of ``options``, sizes and ``id_prefix`` matter.

    ``filename`` tells the format; empty: the source does. Content that cannot be read is recorded as a failed
    document, as by `ingest_paths`. Raises NotFoundError when there is no such dataset.
    """
    options = options or IngestOptions()
    braid.dataset(dataset_id)
    source = source_name(source, prefix=options.id_prefix)
    filename = filename or source.rpartition("/")[2]
    return _store_content(braid, dataset_id, Incoming(source, filename, date), content, options)


def ingest_file(
    braid: DataDirectory,
    dataset_id: int,
    path: Path,
    parse: Parse,
    *,
    source: str,
    filename: str = "",
    date: float | None = None,
    options: IngestOptions | None = None,
) -> IngestedFile:
    """`ingest_bytes` for a file that ``parse`` reads, in another process for instance; here it is only hashed.

    The indexer is not woken: it looks twice a second, and takes many small files better together than one by one.
    """
    options = options or IngestOptions()
    braid.dataset(dataset_id)
    source = source_name(source, prefix=options.id_prefix)
    incoming = replace(incoming_file(path, source), filename=filename or source.rpartition("/")[2], date=date)
    return _store(braid, dataset_id, incoming, lambda: parse(path, incoming, options))


# ---------------------------------------------------------------- one file


@dataclass(frozen=True, slots=True)
class Incoming:
    """What one document is called, and what is known of its content."""

    source: str
    filename: str
    """Tells the format."""
    date: float | None = None
    content_hash: str = ""
    """SHA-256 of the content; empty while nothing is read."""
    size_bytes: int = 0


Parse = Callable[[Path, Incoming, IngestOptions], DocumentInput]
"""Reads the file at a path. Raises UnreadableDocumentError."""


def ingest_planned(
    braid: DataDirectory, dataset_id: int, file: PlannedFile, options: IngestOptions, *, parse: Parse | None = None
) -> IngestedFile:
    """Store one file of `braid.core.ingest.plan.plan_files`, in one transaction; one that cannot be read is recorded
    so.

    With ``parse`` it reads the file, and here it is only hashed.
    """
    if file.problem and not file.recorded:
        return IngestedFile(file.source, "failed", file.problem)
    incoming = Incoming(file.source, os.path.basename(file.path))
    try:
        if file.problem:
            raise UnreadableDocumentError(file.problem)
        if parse is not None:
            return _store_file(braid, dataset_id, file, options, parse)
        content, date = _read(file.path, options.max_file_bytes)
    except FileNotFoundError:
        return IngestedFile(file.source, "failed", f"{incoming.filename} vanished before it was read")
    except OSError as error:
        return _fail(braid, dataset_id, incoming, f"{incoming.filename} cannot be read: {error.strerror}")
    except UnreadableDocumentError as error:
        return _fail(braid, dataset_id, incoming, str(error))
    return _store_content(braid, dataset_id, replace(incoming, date=date), content, options)


def _read(path: str, max_bytes: int) -> tuple[bytes, float]:
    """The file's bytes and modification time; its size is checked before anything is read."""
    with open(path, "rb") as file:
        stat = os.fstat(file.fileno())
        _require_size(path, stat.st_size, max_bytes)
        return file.read(max_bytes + 1), stat.st_mtime


def _require_size(path: str, size_bytes: int, max_bytes: int) -> None:
    if size_bytes > max_bytes:
        size = f"{os.path.basename(path)} has {size_bytes:,} bytes"
        raise UnreadableDocumentError(f"{size}; at most {max_bytes:,} are read, so split it")


def incoming_file(path: Path, source: str) -> Incoming:
    """A file with its hash. When it changes while it is read, its modification time tells so later. Raises OSError."""
    with path.open("rb") as opened:
        stat = os.fstat(opened.fileno())
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return Incoming(source, path.name, stat.st_mtime, digest, stat.st_size)


def _store_file(
    braid: DataDirectory, dataset_id: int, file: PlannedFile, options: IngestOptions, parse: Parse
) -> IngestedFile:
    _require_size(file.path, os.stat(file.path).st_size, options.max_file_bytes)
    path = Path(file.path)
    incoming = incoming_file(path, file.source)
    return _store(braid, dataset_id, incoming, lambda: parse(path, incoming, options))


def _store_content(
    braid: DataDirectory, dataset_id: int, incoming: Incoming, content: bytes, options: IngestOptions
) -> IngestedFile:
    digest = hashlib.sha256(content).hexdigest()
    incoming = replace(incoming, content_hash=digest, size_bytes=len(content))
    stored = _store(braid, dataset_id, incoming, lambda: parse_content(incoming, content, options))
    if stored.state == "put":
        braid.wake()
    return stored


def _store(
    braid: DataDirectory, dataset_id: int, incoming: Incoming, parse: Callable[[], DocumentInput]
) -> IngestedFile:
    stored = braid.ledger.document(dataset_id, incoming.source)
    if stored is not None and stored.state == "ready" and stored.content_hash == incoming.content_hash:
        if incoming.date is not None and incoming.date != stored.date:
            braid.ledger.set_date(stored.id, incoming.date)
        return IngestedFile(incoming.source, "unchanged")
    try:
        document = parse()
    except UnreadableDocumentError as error:
        return _fail(braid, dataset_id, incoming, str(error))
    result = braid.ledger.put_document(dataset_id, document)
    return IngestedFile(incoming.source, "put", chunks=result.added)


def parse_file(path: Path, incoming: Incoming, options: IngestOptions) -> DocumentInput:
    """`parse_content` of a file. Raises OSError, too."""
    return parse_content(incoming, path.read_bytes(), options)


def parse_content(incoming: Incoming, content: bytes, options: IngestOptions) -> DocumentInput:
    """Read and cut one document. Raises UnreadableDocumentError."""
    parsed = read_document(incoming.filename, content, max_bytes=options.max_file_bytes)
    chunks = chunk_sections(parsed, chunk_chars=options.chunk_chars, overlap_chars=options.chunk_overlap_chars)
    if not chunks:
        raise UnreadableDocumentError(f"{incoming.filename} has no text in it")
    return DocumentInput(
        source=incoming.source,
        title=parsed.title,
        file_type=parsed.file_type,
        chunks=chunks,
        content_hash=incoming.content_hash,
        size_bytes=incoming.size_bytes,
        date=incoming.date,
        metadata=parsed.metadata,
    )


def _fail(braid: DataDirectory, dataset_id: int, incoming: Incoming, reason: str) -> IngestedFile:
    """Record the failure. The ledger keeps the passages of an earlier version, and the reason says so."""
    stored = braid.ledger.document(dataset_id, incoming.source)
    if stored is not None and stored.chunks:
        reason = f"{reason} (the version stored earlier stays searchable)"
    braid.ledger.put_failed(
        dataset_id,
        incoming.source,
        title=escaped(incoming.filename),
        file_type=escaped(file_type_of(incoming.filename)),
        error=reason,
        size_bytes=incoming.size_bytes,
        content_hash=incoming.content_hash,
    )
    return IngestedFile(incoming.source, "failed", reason)
