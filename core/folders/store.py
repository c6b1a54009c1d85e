"""The list of synced folders in the ledger, and the rules for a folder that is to be added."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Row, Select, delete, insert, select
from sqlalchemy.exc import IntegrityError

from braid.core.accounts.app_settings import AppSettings
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.folders.rules import FolderRules
from braid.core.ingest.plan import IngestOptions, source_name
from braid.core.ingest.walk import find_files
from braid.core.ledger.tables import DatasetRow, SyncedFolderRow, columns_of

MAX_FOLDER_CHARS = 1000
MAX_PREFIX_CHARS = 200
MAX_PATTERNS = 100
PROBLEMS = "folder_problems"
"""Name of the problems in the ledger's values."""


@dataclass(frozen=True, slots=True)
class NewSyncedFolder:
    """A folder to keep in sync: its absolute path, and the dataset that gets its files."""

    dataset_id: int
    folder: str
    ignore: tuple[str, ...] = ()
    """gitignore patterns, relative to the folder."""
    id_prefix: str = ""
    """The beginning of each source, before the path within the folder; empty means absolute paths."""

    @property
    def source_prefix(self) -> str:
        """The beginning of the sources of all documents of the folder."""
        return source_name(self.id_prefix or os.path.join(self.folder, "").replace(os.sep, "/"))

    def options(self, base: IngestOptions) -> IngestOptions:
        """Return the given sizes and limits with the patterns and the prefix of this folder."""
        return replace(base, ignore=self.ignore, id_prefix=self.id_prefix)


@dataclass(frozen=True, slots=True)
class SyncedFolder(NewSyncedFolder):
    """A folder on the list. ``user_id`` is the administrator who added it."""

    id: int = 0
    user_id: int = 0
    created_at: float = 0.0


class SyncedFolders:
    """The ledger's list of folders. For administrators: does not check whether a caller may read the server's files."""

    def __init__(self, directory: DataDirectory, rules: FolderRules | None = None) -> None:
        self.rules = rules or FolderRules(directory.data_dir)
        self._directory = directory
        self._database = directory.ledger.database
        self._settings = AppSettings(directory.ledger)

    def all(self) -> list[SyncedFolder]:
        """Return all folders whose dataset exists, by id."""
        statement = _select().join(DatasetRow, DatasetRow.id == SyncedFolderRow.dataset_id)
        there = statement.where(DatasetRow.removed_at.is_(None)).order_by(SyncedFolderRow.id)
        return [_folder(row) for row in self._database.fetch(there)]

    def get(self, folder_id: int) -> SyncedFolder:
        """Return the folder with this id. Raises NotFoundError."""
        row = self._database.row(_select().where(SyncedFolderRow.id == folder_id))
        if row is None:
            raise NotFoundError(f"no folder {folder_id} is kept in sync")
        return _folder(row)

    def validate(self, user_id: int, new: NewSyncedFolder) -> NewSyncedFolder:
        """Return the folder as `add` would store it, with stripped values.

        Raises NotFoundError unless the dataset is shared or the user's own, and InvalidInputError for a folder that
        cannot be kept in sync.
        """
        dataset = self._directory.dataset(new.dataset_id)
        if not dataset.shared and dataset.user_id != user_id:
            raise NotFoundError(Reason("there is no dataset %(id)s", id=new.dataset_id))
        ignore = tuple(pattern for pattern in (line.strip() for line in new.ignore) if pattern)
        folder = _absolute(new.folder)
        self.rules.require_root(folder)  # before anything is said about what is there
        _require_folder(folder)
        new = replace(new, folder=folder, ignore=ignore, id_prefix=new.id_prefix.strip())
        _require_printable(new)
        self.rules.require_public(new.folder)
        find_files([new.folder], ignore=ignore)  # raises for a wrong pattern; finds nothing until it is iterated
        for other in self.all():
            if other.dataset_id == new.dataset_id:
                _require_apart(new, other)
        return new

    def add(self, user_id: int, new: NewSyncedFolder) -> SyncedFolder:
        """Add a folder to the list. Raises as `validate` does."""
        new = self.validate(user_id, new)
        values = {
            "user_id": user_id,
            "dataset_id": new.dataset_id,
            "folder": new.folder,
            "ignore": list(new.ignore),
            "id_prefix": new.id_prefix,
            "created_at": time.time(),
        }
        try:
            with self._database.write() as connection:
                statement = insert(SyncedFolderRow).values(**values).returning(SyncedFolderRow.id)
                folder_id = connection.execute(statement).scalar_one()
        except IntegrityError:  # another request has added it since the check
            raise _overlap_error(new, new) from None
        return self.get(folder_id)

    def remove(self, folder_id: int) -> SyncedFolder:
        """Take a folder off the list; its documents stay. Raises NotFoundError."""
        folder = self.get(folder_id)
        self._database.change(delete(SyncedFolderRow).where(SyncedFolderRow.id == folder_id))
        return folder

    def problems(self) -> dict[int, str]:
        """Return why folders are not watched, by id, as the process that watches them has said last."""
        return {int(folder_id): problem for folder_id, problem in self._settings.get(PROBLEMS, {}).items()}

    def note_problems(self, problems: Mapping[int, str]) -> None:
        """Have all processes know the problems of all folders; the ledger is written to when they are others."""
        if problems != self.problems():
            self._settings.set(PROBLEMS, {str(folder_id): problem for folder_id, problem in problems.items()})


def _select() -> Select[*tuple[Any, ...]]:
    return select(*columns_of(SyncedFolderRow, SyncedFolder))


def _folder(row: Row[Any]) -> SyncedFolder:
    return SyncedFolder(**{**row._mapping, "ignore": tuple(row.ignore)})


def _absolute(folder: str) -> str:
    path = folder.strip()
    if not os.path.isabs(path):
        message = Reason(
            "the folder %(folder)s is not an absolute path; write it from the root of the server's disk",
            folder=repr(path[:100]),
        )
        raise InvalidInputError(message, field="folder")
    return os.path.abspath(path)


def _require_folder(path: str) -> None:
    if os.path.dirname(path) == path:
        raise InvalidInputError(
            Reason("the folder %(folder)s is the whole disk; choose one on it", folder=repr(path)), field="folder"
        )
    if not os.path.isdir(path):
        raise InvalidInputError(
            Reason("there is no folder %(folder)s on the server; make it first", folder=repr(path)), field="folder"
        )


def _require_printable(new: NewSyncedFolder) -> None:
    for field, value, most in (
        ("folder", new.folder, MAX_FOLDER_CHARS),
        ("id_prefix", new.id_prefix, MAX_PREFIX_CHARS),
        *(("ignore", pattern, MAX_FOLDER_CHARS) for pattern in new.ignore),
    ):
        if len(value) > most or not value.isprintable():
            message = f"{field} is {value[:40]!r}; at most {most} visible characters are taken"
            raise InvalidInputError(message, field=field)
    if len(new.ignore) > MAX_PATTERNS:
        message = Reason(
            "%(count)s patterns are more than %(most)s; put them into a .braidignore",
            count=len(new.ignore),
            most=MAX_PATTERNS,
        )
        raise InvalidInputError(message, field="ignore")


def _require_apart(new: NewSyncedFolder, other: SyncedFolder) -> None:
    """Raises InvalidInputError for overlapping sources: each folder's sync would remove the other's documents."""
    mine, theirs = new.source_prefix, other.source_prefix
    if new.folder == other.folder or mine.startswith(theirs) or theirs.startswith(mine):
        raise _overlap_error(new, other)


def _overlap_error(new: NewSyncedFolder, other: NewSyncedFolder) -> InvalidInputError:
    return InvalidInputError(
        f"dataset {new.dataset_id} is kept equal to {other.folder!r} already, with sources that begin with "
        f"{other.source_prefix!r}; give another prefix, or choose another dataset",
        field="folder" if new.folder == other.folder else "id_prefix",
    )
