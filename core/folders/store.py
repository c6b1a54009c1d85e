"""Folders on the server that datasets are kept equal to: which there are, and which there may be."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Row, Select, delete, insert, select
from sqlalchemy.exc import IntegrityError

from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ingest.plan import IngestOptions, source_name
from braid.core.ingest.walk import find_files
from braid.core.ledger.tables import DatasetRow, SyncedFolderRow

MAX_FOLDER_CHARS = 1000
MAX_PREFIX_CHARS = 200
MAX_PATTERNS = 100


@dataclass(frozen=True, slots=True)
class WantedFolder:
    """A folder, an absolute path, and the dataset that is to be equal to it."""

    dataset_id: int
    folder: str
    ignore: tuple[str, ...] = ()
    """gitignore patterns, relative to the folder."""
    id_prefix: str = ""
    """Sources are this and the path within the folder; without it absolute paths."""

    @property
    def sources_begin_with(self) -> str:
        """What tells the folder's documents from others of the dataset."""
        return source_name(self.id_prefix or os.path.join(self.folder, "").replace(os.sep, "/"))

    def options(self, reading: IngestOptions) -> IngestOptions:
        """Its own, with how files are read and cut."""
        return replace(reading, ignore=self.ignore, id_prefix=self.id_prefix)


@dataclass(frozen=True, slots=True)
class SyncedFolder(WantedFolder):
    """One that is kept. ``user_id`` is the administrator who added it."""

    id: int = 0
    user_id: int = 0
    created_at: float = 0.0


class SyncedFolders:
    """The ledger's list of folders. It is for administrators: who may read files of the server is not asked here."""

    def __init__(self, braid: DataDirectory) -> None:
        self._braid = braid
        self._database = braid.ledger.database

    def all(self) -> list[SyncedFolder]:
        """Those of datasets that there are, by id."""
        statement = _select().join(DatasetRow, DatasetRow.id == SyncedFolderRow.dataset_id)
        with self._database.read() as connection:
            rows = connection.execute(statement.where(DatasetRow.removed_at.is_(None)).order_by(SyncedFolderRow.id))
            return [_folder(row) for row in rows]

    def get(self, folder_id: int) -> SyncedFolder:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            row = connection.execute(_select().where(SyncedFolderRow.id == folder_id)).one_or_none()
        if row is None:
            raise NotFoundError(f"no folder {folder_id} is kept in sync")
        return _folder(row)

    def checked(self, user_id: int, wanted: WantedFolder) -> WantedFolder:
        """The folder as it would be added: a shared dataset's, or one of the user's own.

        Raises NotFoundError for another dataset, and InvalidInputError for what cannot be kept.
        """
        dataset = self._braid.dataset(wanted.dataset_id)
        if not dataset.shared and dataset.user_id != user_id:
            raise NotFoundError(f"there is no dataset {wanted.dataset_id}")
        ignore = tuple(pattern for pattern in (line.strip() for line in wanted.ignore) if pattern)
        wanted = replace(wanted, folder=_path(wanted.folder), ignore=ignore, id_prefix=wanted.id_prefix.strip())
        _require_printable(wanted)
        self.require_outside(wanted.folder)
        find_files([wanted.folder], ignore=ignore)  # which says what is wrong with a pattern
        for other in self.all():
            if other.dataset_id == wanted.dataset_id:
                _require_apart(wanted, other)
        return wanted

    def add(self, user_id: int, wanted: WantedFolder) -> SyncedFolder:
        """Raises as `checked` does."""
        checked = self.checked(user_id, wanted)
        values = {
            "user_id": user_id,
            "dataset_id": checked.dataset_id,
            "folder": checked.folder,
            "ignore": list(checked.ignore),
            "id_prefix": checked.id_prefix,
            "created_at": time.time(),
        }
        try:
            with self._database.write() as connection:
                statement = insert(SyncedFolderRow).values(**values).returning(SyncedFolderRow.id)
                folder_id = connection.execute(statement).scalar_one()
        except IntegrityError:  # added by somebody else a moment ago
            raise _taken(checked, checked) from None
        return self.get(folder_id)

    def remove(self, folder_id: int) -> SyncedFolder:
        """Take it off the list; its documents stay. Raises NotFoundError."""
        found = self.get(folder_id)
        with self._database.write() as connection:
            connection.execute(delete(SyncedFolderRow).where(SyncedFolderRow.id == folder_id))
        return found

    def require_outside(self, folder: str) -> None:
        """Raises InvalidInputError when the folder, or what it links to now, is in the data directory or around it."""
        real, data_dir = Path(folder).resolve(), self._braid.data_dir
        if real.is_relative_to(data_dir):
            message = f"{folder!r} is in the data directory, which holds keys and the documents of all; choose another"
            raise InvalidInputError(message, field="folder")
        if data_dir.is_relative_to(real):  # every pass would write there, which calls for the next
            message = f"the data directory {str(data_dir)!r} is in {folder!r}; choose a folder beside it"
            raise InvalidInputError(message, field="folder")


def _select() -> Select[*tuple[Any, ...]]:
    columns = (getattr(SyncedFolderRow, name) for name in SyncedFolder.__dataclass_fields__)
    statement: Select[*tuple[Any, ...]] = select(*columns)
    return statement


def _folder(row: Row[Any]) -> SyncedFolder:
    return SyncedFolder(**{**row._mapping, "ignore": tuple(row.ignore)})


def _path(typed: str) -> str:
    path = typed.strip()
    if not os.path.isabs(path):
        message = f"the folder {path[:100]!r} is not an absolute path; write it from the root of the server's disk"
        raise InvalidInputError(message, field="folder")
    path = os.path.abspath(path)
    if os.path.dirname(path) == path:
        raise InvalidInputError(f"the folder {path!r} is the whole disk; choose one on it", field="folder")
    if not os.path.isdir(path):
        raise InvalidInputError(f"there is no folder {path!r} on the server; make it first", field="folder")
    return path


def _require_printable(wanted: WantedFolder) -> None:
    for field, value, most in (
        ("folder", wanted.folder, MAX_FOLDER_CHARS),
        ("id_prefix", wanted.id_prefix, MAX_PREFIX_CHARS),
        *(("ignore", pattern, MAX_FOLDER_CHARS) for pattern in wanted.ignore),
    ):
        if len(value) > most or not value.isprintable():
            message = f"{field} is {value[:40]!r}; at most {most} visible characters are taken"
            raise InvalidInputError(message, field=field)
    if len(wanted.ignore) > MAX_PATTERNS:
        message = f"{len(wanted.ignore)} patterns are more than {MAX_PATTERNS}; put them into a .braidignore"
        raise InvalidInputError(message, field="ignore")


def _require_apart(wanted: WantedFolder, other: SyncedFolder) -> None:
    """Of two folders with the same sources each would remove the other's documents."""
    mine, theirs = wanted.sources_begin_with, other.sources_begin_with
    if wanted.folder == other.folder or mine.startswith(theirs) or theirs.startswith(mine):
        raise _taken(wanted, other)


def _taken(wanted: WantedFolder, other: WantedFolder) -> InvalidInputError:
    return InvalidInputError(
        f"dataset {wanted.dataset_id} is kept equal to {other.folder!r} already, with sources that begin with "
        f"{other.sources_begin_with!r}; give another prefix, or choose another dataset",
        field="folder" if wanted.folder == other.folder else "id_prefix",
    )
