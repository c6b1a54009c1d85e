"""Chroma's files, read without Chroma to see whether a vector index is complete.

A process that is killed while Chroma saves an index leaves files of two ages. Chroma loads them silently, then
misses vectors, gives them to other ids, crashes, or grows ``link_lists.bin`` to hundreds of gigabytes.
An index is saved in the order header, vectors, lengths, links, ids; nothing of that is atomic.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

DATABASE = "chroma.sqlite3"
_IDS = "index_metadata.pickle"
_HEADER = struct.Struct("<iQQQQQQiIQQQdQ")
_ENTRY_SIZE = struct.Struct("<I")
_PICKLE_STOP = b"."
_NO_IDS_BYTES = 140
"""An id map without ids is shorter; Chroma then loads no index and begins new files."""
_SEGMENTS = """
    SELECT collections.name, segments.id, coalesce(max_seq_id.seq_id, 0)
    FROM segments JOIN collections ON collections.id = segments.collection
    LEFT JOIN max_seq_id ON max_seq_id.segment_id = segments.id
    WHERE segments.scope = 'VECTOR'
"""


class _Header(NamedTuple):
    """header.bin of Chroma's hnswlib, field by field."""

    version: int
    offset_level0: int
    capacity: int
    entries: int
    bytes_per_entry: int
    label_offset: int
    data_offset: int
    highest_level: int
    entry_point: int
    links_per_level: int
    links_at_level0: int
    m: int
    mult: float
    ef_construction: int

    @classmethod
    def read(cls, folder: Path) -> Self:
        return cls(*_HEADER.unpack((folder / "header.bin").read_bytes()))


@dataclass(frozen=True, slots=True)
class Segment:
    """The vector index of one collection: a folder of five files, or none while it is small and only in the log."""

    folder: Path
    saved: bool
    """Whether Chroma's database records that the index was saved, and so dropped its vectors from the log."""

    def entries(self) -> int:
        """Count the vectors in the saved index, those of deleted chunks included."""
        return _Header.read(self.folder).entries if self._ids_size() else 0

    def fault(self) -> str:
        """Return what is wrong with the files, in a few words; empty when they can be loaded."""
        try:
            size = self._ids_size()
            if size is None:
                return "its index files are missing" if self.saved else ""
            return self._age_fault(has_ids=size > _NO_IDS_BYTES) or self._size_fault()
        except (OSError, struct.error) as error:
            return f"its index files cannot be read: {error}"

    def _ids_size(self) -> int | None:
        """Return the size of the id map in bytes; None when the index was never saved."""
        ids = self.folder / _IDS
        return ids.stat().st_size if ids.exists() else None

    def _age_fault(self, *, has_ids: bool) -> str:
        ids = self.folder / _IDS
        if ids.read_bytes()[-1:] != _PICKLE_STOP:
            return "saving its index was interrupted"
        saved_at = ids.stat().st_mtime_ns
        parts = [self.folder / name for name in ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin")]
        newer = any(part.stat().st_mtime_ns > saved_at for part in parts)
        return "saving its index was interrupted" if newer and has_ids else ""

    def _size_fault(self) -> str:
        header = _Header.read(self.folder)
        links = self.folder / "link_lists.bin"
        bytes_per_level = 4 + 4 * header.links_per_level
        most = bytes_per_level * max(header.highest_level, 0)
        if links.stat().st_size > header.entries * (4 + most):
            return f"its {links.name} has grown to {links.stat().st_size:,} bytes"
        if (self.folder / "data_level0.bin").stat().st_size < header.entries * header.bytes_per_entry:
            return "its data_level0.bin is cut off"
        if (self.folder / "length.bin").stat().st_size < header.entries * 4:
            return "its length.bin is cut off"
        return _links_fault(links.read_bytes(), header.entries, bytes_per_level, most)


def _links_fault(links: bytes, entries: int, bytes_per_level: int, most: int) -> str:
    """Return what is wrong with link_lists.bin, which has a size and as many bytes per entry."""
    at = 0
    for _ in range(entries):
        if at + _ENTRY_SIZE.size > len(links):
            return "its link_lists.bin is cut off"
        (size,) = _ENTRY_SIZE.unpack_from(links, at)
        if size > most or size % bytes_per_level:
            return "its link_lists.bin is garbled"
        at += _ENTRY_SIZE.size + size
    return "" if at <= len(links) else "its link_lists.bin is cut off"


def read_segments(store: Path) -> dict[str, Segment]:
    """Return collection → its vector index. The store must not be open. Raises sqlite3.Error when it is broken."""
    with closing(sqlite3.connect(store / DATABASE)) as connection:
        rows = connection.execute(_SEGMENTS).fetchall()
    return {name: Segment(store / segment_id, bool(seq_id)) for name, segment_id, seq_id in rows}


def remove_leftovers(store: Path, segments: dict[str, Segment]) -> None:
    """Delete the folders of dropped collections, which Chroma leaves behind. The store must not be open."""
    used = {segment.folder.name for segment in segments.values()}
    for folder in store.iterdir():
        if folder.is_dir() and folder.name not in used:
            shutil.rmtree(folder, ignore_errors=True)
