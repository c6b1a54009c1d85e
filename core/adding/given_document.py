"""A document as a program gives it: a text, an object with a text, or a LangChain document."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePosixPath
from typing import Any, Protocol, runtime_checkable

from braid.core.errors import InvalidInputError, UnreadableDocumentError
from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers import ParsedDocument, Section, clean_text, read_document
from braid.core.metadata import clean_metadata
from braid.core.metadata.values import RESERVED_KEY, loaded_metadata, seconds, shown, storable
from braid.core.types import DocumentInput

MAX_SOURCE_CHARS = 2_000
PLAIN = "txt"


@runtime_checkable
class LangChainDocument(Protocol):
    """A `langchain_core.documents.Document`, by its fields, so that LangChain need not be loaded."""

    id: str | None
    page_content: str
    metadata: dict[Any, Any]


@dataclass(frozen=True, slots=True)
class GivenDocument:
    """A document that was given, checked. ``metadata`` is in its JSON form."""

    text: str
    id: str = ""
    source: str = ""
    title: str = ""
    file_type: str = PLAIN
    date: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    """Why keys of a loader's metadata were left out, one sentence each."""

    def document(self, source: str, options: IngestOptions) -> DocumentInput:
        """Return the document to store under ``source``, split into passages. Raises InvalidInputError."""
        parsed = self._parsed(options)
        chunks = chunk_sections(parsed, chunk_chars=options.chunk_chars, overlap_chars=options.chunk_overlap_chars)
        if not chunks:
            raise InvalidInputError("the text has no characters that can be read; leave the document out", field="text")
        return DocumentInput(
            source=source,
            title=self.title or parsed.title,
            file_type=parsed.file_type,
            chunks=chunks,
            content_hash=hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest(),
            size_bytes=len(self.text.encode("utf-8", "replace")),
            date=self.date,
            metadata=clean_metadata({**parsed.metadata, **self.metadata}),
        )

    def _parsed(self, options: IngestOptions) -> ParsedDocument:
        stem = PurePosixPath(self.source).stem
        if self.file_type == PLAIN:
            return ParsedDocument(stem, PLAIN, (Section(clean_text(self.text), line=1),))
        name, content = f"{stem or 'document'}.{self.file_type}", self.text.encode("utf-8", "replace")
        try:
            return read_document(name, content, max_bytes=options.max_file_bytes)
        except UnreadableDocumentError as error:
            raise InvalidInputError(str(error), field="file_type") from error


FIELDS = tuple(name for name in GivenDocument.__dataclass_fields__ if name != "left_out")


def read_given(given: object, metadata: Mapping[str, Any]) -> GivenDocument:
    """Check one document. ``metadata``, in its JSON form, is what all have. Raises InvalidInputError."""
    left_out: list[str] = []
    if isinstance(given, str):
        values: dict[str, Any] = {"text": given}
    elif isinstance(given, Mapping):
        values = dict(given)
        if unknown := [key for key in values if key not in FIELDS]:
            message = (
                f"there is no field {unknown[0]!r}; the fields are {', '.join(FIELDS)}, and others go into metadata"
            )
            raise InvalidInputError(message, field=str(unknown[0]))
    elif isinstance(given, LangChainDocument):
        values, left_out = _of_langchain(given)
    else:
        kind = type(given).__name__
        raise InvalidInputError(
            f"it is of the type {kind}; give a text, an object with a text, or a LangChain document"
        )
    own = clean_metadata(values.pop("metadata", None) or {})
    if values.get("id") and values.get("source"):
        own.setdefault("source", values["source"])
    return GivenDocument(**_checked(values), metadata={**metadata, **own}, left_out=tuple(left_out))


def _of_langchain(given: LangChainDocument) -> tuple[dict[str, Any], list[str]]:
    """Return the values of a document, without what Braid itself wrote beside them when it was found."""
    ours = given.metadata.get(RESERVED_KEY)
    found = ours if isinstance(ours, Mapping) else {}
    own = {
        key: value
        for key, value in given.metadata.items()
        if key != RESERVED_KEY and not (key in found and found[key] == value)
    }
    metadata, left_out = loaded_metadata(own)
    named = {name: given.metadata[name] for name in ("source", "title") if isinstance(given.metadata.get(name), str)}
    return {"text": given.page_content, "id": given.id, **named, "metadata": metadata}, left_out


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    text = values.get("text")
    if not isinstance(text, str):
        raise InvalidInputError(f"the text is {shown(text)}; give a str, and bytes to ingest_bytes", field="text")
    if not text.strip():
        raise InvalidInputError("the text is empty; leave the document out", field="text")
    checked: dict[str, Any] = {"text": text}
    for name in ("id", "source", "title", "file_type"):
        value = values.get(name)
        if value is not None and (not isinstance(value, str) or len(value) > MAX_SOURCE_CHARS):
            message = f"{name} is {shown(value)}; give a text of up to {MAX_SOURCE_CHARS:,} characters"
            raise InvalidInputError(message, field=name)
        if name in ("id", "source") and value and value != storable(value):
            message = f"{name} is {shown(value)}; leave out NUL characters and halves of surrogate pairs"
            raise InvalidInputError(message, field=name)
        if value and value.strip():
            checked[name] = value.lower().lstrip(".") if name == "file_type" else value
    if (moment := values.get("date")) is not None:
        checked["date"] = _date(moment)
    return checked


def _date(given: object) -> float:
    if isinstance(given, date):
        return seconds(given)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    raise InvalidInputError(f"date is {shown(given)}; give a date, or seconds since the epoch", field="date")
