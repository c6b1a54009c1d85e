"""The vectors of collections in files, which one process writes and any number map.

A collection's folder has *segments*, which are written once, for each large one a file with the first stage of its
scan, for each with deleted rows a file that names them, and a manifest that says which files count. The manifest is
replaced atomically, and files that it names no more are deleted: who has them mapped goes on. All of it is derived from
the ledger, and nothing waits for the disk: after a power cut the checksums, or the number of rows, tell that a
collection has to be written again.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from braid.core.indexes.base import Unusable
from braid.core.indexes.vector_block import SAMPLE, Found, Probe, Selection, VectorBlock

MANIFEST = "manifest"
COARSE = ".coarse"
"""Added to a segment's name for the first stage of its scan."""
FORMAT = 1
LOOKS = 20
"""Times that a manifest is read whose files have just been merged into others."""
HEAD_BYTES = 96
"""Bytes at the beginning of a segment that are checked before anything is made of it."""
READ_BYTES = 2**22
STAGED_ROWS = 2**17
"""Rows from which on a block has the first stage of its scan at once, not only when its collection is at rest."""

Signature = tuple[int, int, int]


class FileNote(NamedTuple):
    """What the manifest says of a file: its bytes, and the checksums of its beginning and of all of it."""

    size: int
    head: int
    whole: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """A collection's vectors, mapped: replaced, never changed."""

    version: str
    """Fingerprint of the model that made the vectors."""
    blocks: tuple[VectorBlock, ...] = ()
    generation: int = 0
    """Rises with each change."""
    files: Mapping[str, FileNote] | None = None

    @property
    def rows(self) -> int:
        """Count the rows, those that were deleted included."""
        return sum(len(block) for block in self.blocks)

    @property
    def living(self) -> int:
        """Count the rows that were not deleted."""
        return sum(len(block) - block.deleted for block in self.blocks)

    def nearest(self, probe: Probe, k: int, selection: Selection, *, sample: int = SAMPLE) -> list[Found]:
        """Return what `VectorBlock.nearest` returns, of each block."""
        return [block.nearest(probe, k, selection, sample=sample) for block in self.blocks]


class VectorFiles:
    """Maps and writes the collections' files in ``folder``, those of at most ``max_open`` collections at a time.

    `load` comes from any thread of any process; `write` and `drop` from one thread of one process.
    Raises IndexUnavailableError.
    """

    def __init__(self, folder: Path, *, max_open: int = 128) -> None:
        self._folder = folder
        self._max_open = max_open
        self._opened: OrderedDict[str, tuple[Signature, Loaded]] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, collection: str) -> Loaded | None:
        """Return the collection's vectors as they are now; None where there is no manifest."""
        with _unusable(collection):
            for _ in range(LOOKS):
                signature = self.signature(collection)
                with self._lock:
                    opened = self._opened.get(collection)
                    if opened is not None and opened[0] == signature:
                        self._opened.move_to_end(collection)
                        return opened[1]
                if signature is None:
                    return None
                try:
                    loaded = self._map(collection, opened[1] if opened else None)
                except FileNotFoundError:  # the file was merged into another one since the manifest was read
                    continue
                self._keep(collection, signature, loaded)
                return loaded
            raise FileNotFoundError("a file that the manifest names")

    def signature(self, collection: str) -> Signature | None:
        """Return a value that changes with the manifest; None where there is none."""
        try:
            stat = os.stat(f"{self._folder}/{collection}/{MANIFEST}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        return (stat.st_mtime_ns, stat.st_size, stat.st_ino)

    def _keep(self, collection: str, signature: Signature, loaded: Loaded) -> None:
        with self._lock:
            self._opened[collection] = signature, loaded
            self._opened.move_to_end(collection)
            while len(self._opened) > self._max_open:
                self._opened.popitem(last=False)

    def _map(self, collection: str, before: Loaded | None) -> Loaded:
        """Map what the manifest names; what is mapped already stays."""
        folder = self._folder / collection
        told = _read_manifest(folder / MANIFEST)
        files = {name: FileNote(*note) for name, note in told["files"].items()}
        mapped = {block.file: block for block in before.blocks} if before else {}
        blocks = []
        for name, rows, scale, gone in told["segments"]:
            block = mapped.get(name)
            if block is None:
                _require_beginning(folder / name, files[name])
                block = VectorBlock.read(folder / name, rows, scale)
                if (len(block), block.dimension, block.index.ntotal) != (rows, told["dimension"], rows):
                    raise OSError(f"{name} has other rows than the manifest says")
                if coarse := files.get(f"{name}{COARSE}"):
                    block = _with_coarse(block, folder, coarse)
            if block.gone != gone:
                living = _read_living(folder / gone, files[gone], rows) if gone else None
                block = replace(block, alive=living, gone=gone)
            blocks.append(block)
        return Loaded(told["model"], tuple(blocks), told["generation"], files)

    # ------------------------------------------------------------ by the process that writes

    def write(self, collection: str, loaded: Loaded, *, at_rest: bool = False) -> Loaded:
        """Make these the collection's vectors: what is in no file yet is written. Return them mapped. Of a collection
        ``at_rest`` each block gets the first stage of its scan, if it is to have one.
        """
        folder = self._folder / collection
        with self.whole(collection):
            folder.mkdir(parents=True, exist_ok=True)
            files = dict(loaded.files or {})
            staged_rows = 0 if at_rest else STAGED_ROWS
            blocks = tuple(_written(block, folder, files, staged_rows) for block in loaded.blocks)
            kept = {name for block in blocks for name in (block.file, block.gone) if name}
            kept |= {block.coarse for block in blocks if block.coarse}
            files = {name: note for name, note in files.items() if name in kept}
            written = Loaded(loaded.version, blocks, max(loaded.generation + 1, time.time_ns()), files)
            signature = _write_manifest(folder, written)
            _delete_others(folder, kept)
        self._keep(collection, signature, written)
        return written

    @contextmanager
    def whole(self, collection: str) -> Iterator[None]:
        """Delete the files that were begun inside unless a new manifest names them: on a full disk each attempt would
        leave some.
        """
        with _unusable(collection):
            folder, signature = self._folder / collection, self.signature(collection)
            before = os.listdir(folder) if folder.is_dir() else []
            try:
                yield
            finally:
                if self.signature(collection) == signature:
                    _delete_others(folder, before)

    def stage(self, collection: str, block: VectorBlock, files: dict[str, FileNote]) -> VectorBlock:
        """Write a block that a later `write` is given, with ``files``, and return it mapped; both inside of `whole`."""
        with _unusable(collection):
            (self._folder / collection).mkdir(parents=True, exist_ok=True)
            return _written(block, self._folder / collection, files)

    def drop(self, collection: str) -> None:
        """Delete the collection's files."""
        self.forget(collection)
        with suppress(OSError):
            os.unlink(self._folder / collection / MANIFEST)  # first, so that nobody takes a part for the whole
        shutil.rmtree(self._folder / collection, ignore_errors=True)

    # ------------------------------------------------------------ inspecting

    def damage(self, collection: str) -> str:
        """Return which file is not as it was written, in one sentence; empty when all are. Reads all of them."""
        folder = self._folder / collection
        for _ in range(LOOKS):
            signature = self.signature(collection)
            if signature is None:
                return ""
            try:
                files = _read_manifest(folder / MANIFEST)["files"]
                wrong = [name for name, note in files.items() if _note_of(folder / name) != FileNote(*note)]
                if not wrong:
                    return ""
                said = f"{len(wrong)} of {len(files)} files with the vectors of {collection} are damaged"
            except OSError as error:
                said = f"the vectors of {collection} are damaged: {_words(error)}"
            if signature == self.signature(collection):
                return said
        return f"the vectors of {collection} are written all the time, and were not checked"

    def collections(self) -> list[str]:
        """Return the names of the collections that have files, sorted."""
        return sorted(path.name for path in self._folder.iterdir() if path.is_dir()) if self._folder.is_dir() else []

    def forget(self, collection: str) -> None:
        """Give back what is mapped of a collection."""
        with self._lock:
            self._opened.pop(collection, None)

    def close(self) -> None:
        """Give back what is mapped."""
        with self._lock:
            self._opened.clear()


def _written(
    block: VectorBlock, folder: Path, files: dict[str, FileNote], staged_rows: int = STAGED_ROWS
) -> VectorBlock:
    """Return the block with its rows, those that were deleted, and from ``staged_rows`` on the first stage of its scan
    in files, which are added to ``files``.
    """
    if not block.file:
        path = folder / f"{secrets.token_hex(8)}.rows"  # never a name that a process has mapped
        block.write(path)
        files[path.name] = _note_of(path)
        block = replace(VectorBlock.read(path, len(block), block.scale), alive=block.alive)
    if block.is_large and not block.coarse and len(block) >= staged_rows:
        coarse = folder / f"{block.file}{COARSE}"
        block.write_coarse(coarse)
        files[coarse.name] = _note_of(coarse)
        block = block.with_coarse(coarse)
    if block.alive is not None and not block.gone:
        path = folder / f"{secrets.token_hex(8)}.gone"
        path.write_bytes(np.packbits(~block.alive).tobytes())
        files[path.name] = _note_of(path)
        block = replace(block, gone=path.name)
    return block


def _delete_others(folder: Path, kept: Collection[str]) -> None:
    """Delete what is neither kept nor the manifest; what cannot be deleted is left for the next time."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name not in kept and path.name != MANIFEST:
                with suppress(OSError):  # Windows deletes nothing that somebody has mapped
                    path.unlink()


def _write_manifest(folder: Path, loaded: Loaded) -> Signature:
    """Replace the manifest, and return its signature, which no other one has: the time is made a new one."""
    told = {
        "format": FORMAT,
        "model": loaded.version,
        "generation": loaded.generation,
        "dimension": loaded.blocks[0].dimension if loaded.blocks else 0,
        "segments": [[block.file, len(block), block.scale, block.gone] for block in loaded.blocks],
        "files": loaded.files or {},
    }
    text = json.dumps(told).encode()
    new = folder / f"{MANIFEST}.new"
    new.write_bytes(b"%08x\n" % zlib.crc32(text) + text)
    os.utime(new, ns=(loaded.generation, loaded.generation))
    stat = new.stat()
    new.replace(folder / MANIFEST)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _read_manifest(path: Path) -> dict[str, Any]:
    checksum, _, text = path.read_bytes().partition(b"\n")
    if checksum != b"%08x" % zlib.crc32(text):
        raise OSError("the manifest is not as it was written")
    told: dict[str, Any] = json.loads(text)
    if told.get("format") != FORMAT:
        raise OSError(f"the manifest is of format {told.get('format')}, not {FORMAT}")
    return told


def _note_of(path: Path) -> FileNote:
    head = whole = size = 0
    with path.open("rb") as file:
        while part := file.read(READ_BYTES):
            head = head if size else zlib.crc32(part[:HEAD_BYTES])
            whole, size = zlib.crc32(part, whole), size + len(part)
    return FileNote(size, head, whole)


def _require_beginning(path: Path, note: FileNote) -> None:
    """Raise OSError where a file is shorter or longer than it was, or begins in another way."""
    with path.open("rb") as file:
        head, size = zlib.crc32(file.read(HEAD_BYTES)), os.fstat(file.fileno()).st_size
    if (size, head) != (note.size, note.head):
        raise OSError(f"{path.name} is not as it was written")


def _with_coarse(block: VectorBlock, folder: Path, note: FileNote) -> VectorBlock:
    path = folder / f"{block.file}{COARSE}"
    if _note_of(path) != note:
        raise OSError(f"{path.name} is not as it was written")
    return block.with_coarse(path)


def _read_living(path: Path, note: FileNote, rows: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if _note_of(path) != note:
        raise OSError(f"{path.name} is not as it was written")
    living: np.ndarray[tuple[int], np.dtype[np.bool_]] = ~np.unpackbits(np.fromfile(path, np.uint8), count=rows).view(
        np.bool_
    )
    return living


def _unusable(collection: str) -> Unusable:
    return Unusable("the vectors of %(collection)s", collection, (OSError,))


def _words(error: OSError) -> str:
    return error.strerror or str(error)
