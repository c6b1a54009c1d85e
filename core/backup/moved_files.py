"""The files beside a ledger: copied into another folder, and compared by their hashes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from braid.core.backup.archive import BLOCK_BYTES
from braid.core.backup.make import Sources
from braid.core.backup.manifest import ORIGINALS, SECRET_KEY, SHARED_DBS, UPLOADS, BackupError
from braid.core.ledger.durable import owner_only, sync_folder

_UPLOAD = re.compile(r"[0-9a-f]{32}")
_ORIGINAL = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class File:
    """A file, and its place below a data directory."""

    path: Path
    place: str


def files_of(source: Sources, *, has_list: bool) -> list[File]:
    """Return the files that belong to the ledger: the secret, the list of shared datasets unless the ledger itself
    ``has_list``, originals, and what waits to be read or fetched. Indexes and pictures of pages are made again; backups
    stay where they are.
    """
    small = [File(source.data_dir / SECRET_KEY, SECRET_KEY)]
    small += [] if has_list else [File(source.shared_dbs, SHARED_DBS)]
    found = [file for file in small if file.path.is_file()]
    found += [File(path, f"{UPLOADS}{path.name}") for path in _files(source.data_dir / UPLOADS, _UPLOAD)]
    for folder in sorted((source.data_dir / ORIGINALS).glob("*")):
        found += [File(path, f"{ORIGINALS}{folder.name}/{path.name}") for path in _files(folder, _ORIGINAL)]
    return found


def copy_files(files: list[File], folder: Path, on_file: Callable[[int], object]) -> None:
    """Copy those that are not there yet; each is there whole or not at all."""
    folders: set[Path] = set()
    for number, file in enumerate(files):
        on_file(number)
        target = folder / file.place
        if target.is_file() and target.stat().st_size == file.path.stat().st_size:
            continue
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = target.with_name(f".{target.name}.moving")
        with file.path.open("rb") as old, open(partial, "wb", opener=owner_only) as new:
            shutil.copyfileobj(old, new, BLOCK_BYTES)
            new.flush()
            os.fsync(new.fileno())
        os.replace(partial, target)
        folders.add(target.parent)
    for each in folders | {folder}:
        sync_folder(each)
    on_file(len(files))


def compare_files(files: list[File], folder: Path, on_file: Callable[[int], object]) -> None:
    """Raise BackupError for the first file that is another one there, by its SHA-256."""
    for number, file in enumerate(files):
        on_file(number)
        if _sha256(file.path) != _sha256(folder / file.place):
            raise BackupError(
                f"{folder / file.place} differs from {file.path}; delete it there, and run the move again"
            )
    on_file(len(files))


def _files(folder: Path, name: re.Pattern[str]) -> list[Path]:
    """Return the files with such a name: not those that are being written."""
    return sorted(path for path in folder.iterdir() if name.fullmatch(path.name)) if folder.is_dir() else []


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
