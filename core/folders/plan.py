"""The plan that makes a dataset equal to a folder: files to store, documents to rename, documents to remove."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from braid.core.ingest.plan import PlannedFile, file_type_of
from braid.core.types import Document


@dataclass(frozen=True, slots=True)
class Rename:
    """The document ``source`` is now the file ``file``, with the same bytes."""

    source: str
    file: PlannedFile


@dataclass(frozen=True, slots=True)
class Removal:
    """The document ``source`` has no file any more, or its file is now left out."""

    source: str


Step = PlannedFile | Rename | Removal
"""A file to store, a document to rename or a document to remove."""


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """The steps that would make the dataset equal to the folder."""

    puts: tuple[PlannedFile, ...] = ()
    """New or changed files."""
    renames: tuple[Rename, ...] = ()
    removals: tuple[str, ...] = ()
    """Sources whose file is gone, or is now left out."""
    unchanged: int = 0

    @property
    def steps(self) -> tuple[Step, ...]:
        """All changes in order: renames first, so that a moved document is never removed, and removals last."""
        return (*self.renames, *self.puts, *map(Removal, self.removals))


def plan_sync(
    files: Sequence[PlannedFile],
    changed: Sequence[PlannedFile],
    stored: Mapping[str, Document],
    gone: Sequence[Document],
) -> SyncPlan:
    """Plan the steps: ``changed`` are the files to read, ``stored`` the documents by source, ``gone`` those to remove.

    Files are read where a rename has to be recognized.
    """
    renames = _find_renames([file for file in changed if file.source not in stored], gone)
    moved_to = {rename.file.source for rename in renames}
    moved_from = {rename.source for rename in renames}
    return SyncPlan(
        puts=tuple(file for file in changed if file.source not in moved_to),
        renames=tuple(renames),
        removals=tuple(document.source for document in gone if document.source not in moved_from),
        unchanged=len(files) - len(changed),
    )


def file_signature(path: str) -> tuple[int, float] | None:
    """Return size in bytes and modification time, as the ledger stores them; None for a file that does not exist."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return (stat.st_size, stat.st_mtime)


def _find_renames(new: Sequence[PlannedFile], gone: Sequence[Document]) -> list[Rename]:
    """Match new files with documents that are gone, by bytes and format; each document once, by source."""
    by_size: dict[int, list[Document]] = {}
    for document in gone:
        if document.state == "ready" and document.content_hash:
            by_size.setdefault(document.size_bytes, []).append(document)
    renames: list[Rename] = []
    for file in new:
        signature = file_signature(file.path)
        candidates = by_size.get(signature[0], []) if signature is not None and not file.problem else []
        if same := _find_same(file.path, candidates):
            candidates.remove(same)
            renames.append(Rename(same.source, file))
    return renames


def _find_same(path: str, candidates: Sequence[Document]) -> Document | None:
    """Return the first document with the bytes and the format of the file."""
    if not candidates:
        return None
    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:  # storing the file reports the reason
        return None
    file_type = file_type_of(path)
    same = (d for d in candidates if d.content_hash == digest and file_type_of(d.source) == file_type)
    return next(same, None)
