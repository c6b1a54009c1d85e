"""Ingest files and bytes in this process: plan, parse, store. A file that cannot be read never stops the others.

`braid.core.ingest.plan` chooses files and names their sources, `braid.core.ingest.parse` makes chunks of one, and
`braid.core.ingest.ingest_document` writes it to the ledger.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from braid.core.errors import InvalidInputError
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.ingest_document import StoredDocument, ingest_document, ingest_planned
from braid.core.ingest.parse import parse_and_read
from braid.core.ingest.plan import IngestOptions, plan_files, source_name
from braid.core.ingest.walk import find_files

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """``done`` of ``total`` files are finished, ``document`` was the last."""

    done: int
    total: int
    document: StoredDocument


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Counts of the files that were stored, were unchanged, could not be read, or were left out on purpose."""

    put: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[tuple[str, str], ...] = ()
    """(source, reason) of each failed file."""
    skips: Mapping[str, int] = field(default_factory=dict)
    """Files and folders that were left out: reason → how many."""
    chunks: int = 0
    """Passages added."""


def ingest_paths(
    directory: DataDirectory,
    dataset_id: int,
    paths: Sequence[str | Path],
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

    >>> folder = data_dir / "manuals"
    >>> folder.mkdir(parents=True)
    >>> for name in ("pump.txt", "tank.txt"):
    ...     characters = (folder / name).write_text(f"All about {name}.")
    >>> report = ingest_paths(braid, 1, [str(folder)], options=IngestOptions(relative=True, id_prefix="manuals/"))
    >>> report.put, report.failed
    (2, 0)
    """
    options = options or IngestOptions()
    directory.dataset(dataset_id)
    given = [str(path) for path in paths]
    found = find_files(given, ignore=options.ignore, leave_out=(os.path.abspath(directory.data_dir),))
    planned, skips = plan_files(found, options)
    counts: Counter[str] = Counter()
    failures: list[tuple[str, str]] = []
    for done, file in enumerate(planned, start=1):
        stored = ingest_planned(directory.ledger, dataset_id, file, options, parse=parse_and_read)
        if stored.state == "put":
            directory.wake()
        counts[stored.state] += 1
        counts["chunks"] += stored.added
        if stored.state == "failed":
            failures.append((stored.source, stored.reason))
        on_progress(IngestProgress(done, len(planned), stored))
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
    directory: DataDirectory,
    dataset_id: int,
    source: str,
    content: bytes,
    *,
    filename: str = "",
    date: float | None = None,
    options: IngestOptions | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> StoredDocument:
    """Store one document from memory. Of ``options``, sizes and ``id_prefix`` matter.

    ``filename`` decides the format; empty: the source does. ``metadata`` are facts of your own, by which searches are
    filtered; see `braid.core.types.DocumentInput`. Content that cannot be read is recorded as a failed
    document, as by `ingest_paths`. Raises NotFoundError when there is no such dataset, and InvalidInputError when
    ``content`` is not bytes.

    >>> stored = ingest_bytes(braid, 1, "https://example.org/tank", b"The tank holds 40 litres.", filename="tank.txt")
    >>> stored.state, stored.added
    ('put', 1)
    """
    given: object = content
    if not isinstance(given, bytes | bytearray | memoryview):
        kind = type(given).__name__
        message = f"content is of the type {kind}; give bytes, or texts and LangChain documents to braid.add"
        raise InvalidInputError(message, field="content")
    options = options or IngestOptions()
    directory.dataset(dataset_id)
    source = source_name(source, prefix=options.id_prefix)
    incoming = Incoming.from_bytes(bytes(content), source, filename=filename, date=date)
    incoming = replace(incoming, metadata=metadata or {})
    stored = ingest_document(directory.ledger, dataset_id, incoming, options, parse=parse_and_read)
    if stored.state == "put":
        directory.wake()
    return stored
