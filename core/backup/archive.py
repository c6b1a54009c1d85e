"""The file of a backup: a zip archive whose members are listed, with their hashes, in its manifest."""

from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Self

from braid.core.backup.manifest import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    ORIGINALS,
    BackupError,
    BackupFile,
    BackupManifest,
    read_manifest,
)

BLOCK_BYTES = 1 << 20
FASTEST = 1
"""Level of compression: vectors hardly shrink, and texts do so at any level."""

_ORIGINAL = re.compile(rf"{ORIGINALS}[0-9a-f]{{64}}")

Write = Callable[[bytes | memoryview], object]
Progress = Callable[[str, int, int], None]
"""Called with the name of a step, and how much of it is done, of how much."""


class ArchiveWriter:
    """Writes members one after the other, and counts and hashes them meanwhile.

    Used in a ``with``: what an error breaks off is let go of while the file is still open.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=FASTEST)
        self.members: dict[str, BackupFile] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with suppress(OSError, ValueError):  # of an archive that is not wanted any more; a finished one is closed
            self._zip.close()

    @contextmanager
    def member(self, name: str) -> Iterator[Write]:
        """Yield a function that adds bytes to a new member, which the manifest will list."""
        digest, size = hashlib.sha256(), 0
        with self._zip.open(name, "w", force_zip64=True) as out:

            def write(block: bytes | memoryview) -> None:
                nonlocal size
                digest.update(block)
                size += len(block)
                out.write(block)

            yield write
        self.members[name] = BackupFile(size, digest.hexdigest())

    def add_bytes(self, name: str, content: bytes) -> None:
        """Add a small file."""
        with self.member(name) as write:
            write(content)

    def add_file(self, name: str, path: Path, on_progress: Progress = lambda what, done, total: None) -> None:
        """Add a file of any size."""
        total = path.stat().st_size
        with path.open("rb") as file, self.member(name) as write:
            for number, block in enumerate(iter(lambda: file.read(BLOCK_BYTES), b"")):
                write(block)
                on_progress(name, min(total, (number + 1) * BLOCK_BYTES), total)

    def add_original(self, name: str, path: Path) -> None:
        """Add a file that is named by its hash, as it is: most such files are compressed already."""
        with path.open("rb") as file, self._zip.open(zipfile.ZipInfo(ORIGINALS + name), "w", force_zip64=True) as out:
            shutil.copyfileobj(file, out, BLOCK_BYTES)

    def finish(self, manifest: BackupManifest) -> None:
        """Add the manifest and the archive's directory. What is not finished is no archive."""
        self._zip.writestr(MANIFEST, manifest.to_bytes())
        self._zip.close()


class ArchiveReader:
    """Reads the members of a backup by their names in the manifest; nothing in the archive names a path."""

    def __init__(self, archive: zipfile.ZipFile, manifest: BackupManifest) -> None:
        self._zip = archive
        self.manifest = manifest

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a member, and raise BackupError at its end when they are not those that were written.

        No more is read than the manifest says there is.
        """
        if name.startswith(ORIGINALS):
            expected = BackupFile(self._zip.getinfo(name).file_size, name.removeprefix(ORIGINALS))
        else:
            expected = self.manifest.files[name]
        digest, size = hashlib.sha256(), 0
        try:
            with self._zip.open(name) as file:
                while block := file.read(min(BLOCK_BYTES, expected.size_bytes - size + 1)):
                    size += len(block)
                    digest.update(block)
                    if size > expected.size_bytes:
                        break
                    yield block
        except KeyError as error:
            raise BackupError(f"{name} is missing from it") from error
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise BackupError(f"{name} in it is damaged ({error})") from error
        if size != expected.size_bytes or digest.hexdigest() != expected.sha256:
            raise BackupError(f"{name} in it is damaged: its hash is not the one that was noted")

    @property
    def originals(self) -> list[str]:
        """The members that are named by their hashes."""
        return [name for name in self._zip.namelist() if _ORIGINAL.fullmatch(name)]

    def size_bytes(self) -> int:
        """Return the bytes of all members as the archive has them, unpacked."""
        return sum(info.file_size for info in self._zip.infolist())

    def strangers(self) -> list[str]:
        """Return the names of members that no backup has, or the manifest does not list."""
        known = {MANIFEST, *self.manifest.files}
        return [name for name in self._zip.namelist() if name not in known and not _ORIGINAL.fullmatch(name)]


@contextmanager
def open_backup(path: Path) -> Iterator[ArchiveReader]:
    """Open a backup. BackupError, also from what is done with it, names the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(MANIFEST)
            if info.file_size > MAX_MANIFEST_BYTES:
                raise BackupError("its manifest.json is damaged")
            yield ArchiveReader(archive, read_manifest(archive.read(info)))
    except (zipfile.BadZipFile, KeyError) as error:
        raise BackupError(f"{path} is no backup of Braid, or was cut off; nothing was changed") from error
    except BackupError as error:
        raise BackupError(f"the backup {path} cannot be used: {error}") from error
