"""The form of an exported dataset: the names of its parts, what they hold, and what reading one gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from braid.core.errors import InvalidInputError
from braid.core.metadata.values import clean_metadata, kept_metadata
from braid.core.types import DocumentInput, PassageKind
from braid.core.vector import Vector

VERSION = 1
MANIFEST, DOCUMENTS, EMBEDDINGS = "manifest.json", "documents.jsonl", "embeddings/0.npy"
ORIGINALS = "originals/"
"""Beginning of the names of the files that documents were read from; the SHA-256 of its bytes follows."""
MAX_PASSAGE_CHARS = 20_000
"""Longest passage of a document: no file is read into a longer one, see the setting ``chunk_chars``."""
MAX_ORIGINALS = 100_000
"""Most of them in one archive: its directory is read into memory."""

OriginalState = Literal["", "there", "missing", "damaged"]
"""What an export has of a document's original; empty where the document had none."""

Count = Annotated[int, Field(ge=0, le=2**40)]


def _metadata(given: dict[str, Any]) -> dict[str, Any]:
    """Check metadata. An export of an earlier version may have keys that can no longer be stored: they are left out."""
    try:
        return clean_metadata(kept_metadata(given))
    except InvalidInputError as error:
        raise ValueError(str(error)) from None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ExportedModel(_Strict):
    """The embedding model of the vectors in the file."""

    fingerprint: Annotated[str, Field(min_length=1, max_length=500)]
    dimensions: Annotated[int, Field(ge=1, le=65_536)]


class Manifest(_Strict):
    """The contents of ``manifest.json``."""

    format: Literal["braid-dataset"] = "braid-dataset"
    version: int = VERSION
    name: Annotated[str, Field(min_length=1, max_length=200)]
    documents: Count
    chunks: Count
    model: ExportedModel | None
    exported_at: float
    originals: Count = 0
    """Documents whose original is in the file."""
    lost_originals: Count = 0
    """Documents whose original was gone, or had other bytes, when the dataset was exported."""


class ExportedChunk(_Strict):
    """A passage; see `braid.core.types.ChunkInput`."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_PASSAGE_CHARS)]
    heading_path: Annotated[str, Field(max_length=20_000)] = ""
    page: Count | None = None
    page_end: Count | None = None
    line: Count | None = None
    line_end: Count | None = None
    chunk_kind: PassageKind = ""
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None


class ExportedDocument(_Strict):
    """A document; see `braid.core.types.DocumentInput`."""

    source: Annotated[str, Field(min_length=1, max_length=10_000)]
    title: Annotated[str, Field(max_length=10_000)]
    file_type: Annotated[str, Field(max_length=50)]
    content_hash: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")] = ""
    size_bytes: Count = 0
    date: float | None = None
    metadata: Annotated[dict[str, Any], AfterValidator(_metadata)] = {}
    original: bool = False
    """Whether its file is in the archive."""
    chunks: Annotated[list[ExportedChunk], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class ExportedPart:
    """A document of an export. ``rows``: (passages, dim) float32, zeros for one without a vector; None without any."""

    document: DocumentInput
    rows: Vector | None
    original: OriginalState = ""


@dataclass(frozen=True, slots=True)
class OpenExport:
    """An export that is being read. ``parts`` raises InvalidInputError for what is wrong in it."""

    manifest: Manifest
    parts: Iterator[ExportedPart]


class ReadExport(Protocol):
    """Reads an export: `braid.core.ingest.parse_pool.ParsePool.read_export` in another process, or
    `braid.core.ingest.exports.export_file.read_export` in this one.
    """

    def __call__(
        self, path: Path, /, *, max_bytes: int, originals_to: Path | None = None
    ) -> AbstractContextManager[OpenExport]:
        """Read an export; all its files together unpack to at most ``max_bytes``.

        An original that is there is written to ``originals_to``, a new file each time, until the next part is taken.

        Raises InvalidInputError, with the field ``file``.
        """
        ...
