"""The files that belong to a state of the ledger, held by links while they may be deleted by others."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from braid.core.backup.archive import ArchiveWriter, Progress
from braid.core.backup.manifest import ORIGINALS, SECRET_KEY, SHARED_DBS, UPLOADS
from braid.core.files.bucket import Bucket

HELD = "backup.tmp"
"""Folder in the data directory with links to the files of the backup that is being made."""


class HeldFiles:
    """Waiting uploads, originals of documents, the secret and the list of shared datasets.

    Made before the state is read: an original that a document has then is linked already when another process
    deletes it.
    """

    def __init__(self, data_dir: Path, shared_dbs: Path, *, bucket: Bucket | None = None) -> None:
        self._bucket = bucket
        self._spool, self._kept, self._held = data_dir / "uploads", data_dir / "originals", data_dir / HELD
        self._small = {SECRET_KEY: data_dir / SECRET_KEY, SHARED_DBS: shared_dbs}
        self.held_at = 0.0
        """Seconds since the epoch of the state."""
        self.missing: list[str] = []
        """Names of the files that should be there and are not."""
        self.close()  # what a backup that was killed has left
        for folder in ("", UPLOADS, ORIGINALS):
            (self._held / folder).mkdir(mode=0o700)
        self._originals: set[str] = set()
        self._uploads: dict[str, bool] = {}
        self._in_bucket: list[str] = []
        for path in _files_below(self._kept):
            _link(path, self._held / ORIGINALS / path.name)

    def hold(self, waiting: Sequence[str], others: Sequence[str]) -> None:
        """Hold uploaded files while nobody can write; those that wait are missing where they are not there.

        Those of a bucket are fetched as soon as others can, by `hold_originals`.
        """
        self.held_at = time.time()
        for name, path in self._small.items():
            with suppress(FileNotFoundError):
                shutil.copyfile(path, self._held / name)
        must_be = set(waiting)
        for name in (*waiting, *others):
            if _link_or_copy(self._spool / name, self._held / UPLOADS / name):
                continue
            if self._bucket is not None:
                self._uploads[name] = name in must_be
            elif name in must_be:
                self.missing.append(name)

    def hold_originals(self, hashes: Sequence[str]) -> None:
        """Hold those of the originals that were not there at first, and the uploads of a bucket."""
        for name, must_be in self._uploads.items():
            if not self._fetch(f"{UPLOADS}{name}", self._held / UPLOADS / name) and must_be:
                self.missing.append(name)  # or it has been read since
        for name in hashes:
            held = self._held / ORIGINALS / name
            if held.exists() or _link_or_copy(self._kept / name[:2] / name, held):
                self._originals.add(name)
            elif self._bucket is not None:
                self._in_bucket.append(name)
            else:
                self.missing.append(name)

    def write(self, archive: ArchiveWriter, on_progress: Progress) -> int:
        """Write them into the archive; return the number of originals."""
        for name in self._small:
            if (self._held / name).exists():
                archive.add_file(name, self._held / name)
        uploads, originals = sorted((self._held / UPLOADS).iterdir()), sorted(self._originals)
        total = len(uploads) + len(originals)
        for number, path in enumerate(uploads):
            on_progress("copying files", number, total)
            archive.add_file(UPLOADS + path.name, path)
        for number, name in enumerate(originals, len(uploads)):
            on_progress("copying files", number, total)
            archive.add_original(name, self._held / ORIGINALS / name)
        return len(originals) + self._write_fetched(archive, on_progress)

    def _write_fetched(self, archive: ArchiveWriter, on_progress: Progress) -> int:
        """Write the originals of the bucket, one on this disk at a time; return their number."""
        held, written = self._held / "fetched", 0
        for number, name in enumerate(self._in_bucket):
            on_progress("fetching files", number, len(self._in_bucket))
            if self._fetch(f"{ORIGINALS}{name[:2]}/{name}", held):
                archive.add_original(name, held)
                held.unlink()
                written += 1
            else:
                self.missing.append(name)
        return written

    def _fetch(self, key: str, held: Path) -> bool:
        assert self._bucket is not None, "only it has what is fetched"
        try:
            self._bucket.fetch_to(key, held)
        except FileNotFoundError:
            held.unlink(missing_ok=True)
            return False
        return True

    def close(self) -> None:
        """Let go of the files."""
        shutil.rmtree(self._held, ignore_errors=True)

    def size_bytes(self) -> int:
        """Return the bytes of all files that may be written."""
        total = 0
        for path in (*_files_below(self._kept), *(self._spool.iterdir() if self._spool.is_dir() else ())):
            with suppress(FileNotFoundError):
                total += path.stat().st_size
        return total


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the originals, which lie in folders by the beginning of their hash."""
    for inner in folder.iterdir() if folder.is_dir() else ():
        if inner.is_dir():
            yield from (path for path in inner.iterdir() if not path.name.startswith("."))


def _link(path: Path, held: Path) -> None:
    """Keep the content of a file that may be deleted meanwhile, where the system can without copying it."""
    with suppress(OSError):
        os.link(path, held)


def _link_or_copy(path: Path, held: Path) -> bool:
    """Keep the content of a file that may be deleted meanwhile. False when it is not there."""
    try:
        os.link(path, held)
    except FileNotFoundError:
        return False
    except OSError:  # a file system without hard links, or the file is held already
        with suppress(FileNotFoundError):
            if not held.exists():
                shutil.copyfile(path, held)
        return held.exists()
    return True
