"""Writes of many documents and their chunks, by a few statements for some hundreds of them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, func, select

from braid.core.ledger import prepared
from braid.core.ledger.database import execute, execute_each, storable
from braid.core.ledger.document_writes import (
    PutResult,
    add_to_counters,
    document_values,
    log_chunks,
    mark_changed,
    require_storable,
    write_metadata,
)
from braid.core.ledger.queries import is_part_of, json_of
from braid.core.ledger.tables import DocumentRow
from braid.core.metadata import clean_metadata
from braid.core.text.terms import terms_of
from braid.core.types import PART, ChunkInput, DocumentInput

DOCUMENTS_PER_BATCH = 500
CHUNKS_PER_BATCH = 5_000


def put_all(
    connection: Connection, dataset_id: int, collection: str, documents: Iterable[DocumentInput]
) -> Iterator[PutResult]:
    """Store documents in their order, each in place of the one with the same source.

    The caller has locked the dataset. Raises InvalidInputError for a source that is empty or would be stored
    as another one.
    """
    for batch in _batches(documents):
        yield from _Batch(connection, dataset_id, collection, batch).put()


def put(connection: Connection, dataset_id: int, collection: str, document: DocumentInput) -> PutResult:
    """Store one document, as `put_all` does."""
    [result] = put_all(connection, dataset_id, collection, [document])
    return result


def named_as_parts(
    connection: Connection, dataset_id: int, documents: Sequence[DocumentInput], pieces: Collection[int]
) -> list[DocumentInput]:
    """Return the documents, those at the places ``pieces`` under sources that replace nothing else.

    A piece that is stored already, with its text and metadata, keeps its source; any other becomes the next part of
    its source. The caller has locked the dataset.
    """
    named = list(documents)
    by_source: dict[str, list[int]] = {}
    for place in sorted(pieces):
        by_source.setdefault(documents[place].source, []).append(place)
    for source, places in by_source.items():
        part_of = (DocumentRow.dataset_id == dataset_id, is_part_of(source, connection.dialect.name))
        hashes = {documents[place].content_hash for place in places}
        columns = (DocumentRow.source, DocumentRow.content_hash, DocumentRow.meta)
        same = connection.execute(select(*columns).where(*part_of, DocumentRow.content_hash.in_(hashes)))
        known = {_identity(row.content_hash, row.meta): row.source for row in same}
        number = connection.execute(select(func.count()).where(*part_of)).scalar_one()
        for place in places:
            identity = _identity(documents[place].content_hash, clean_metadata(documents[place].metadata))
            while identity not in known:
                number += 1
                name = source if number == 1 else f"{source}{PART}{number}"
                if not execute(connection, prepared.STORED_DOCUMENTS, dataset_id=dataset_id, sources=[name]).all():
                    known[identity] = name
            named[place] = replace(documents[place], source=known[identity])
    return named


def _identity(content_hash: str, metadata: Mapping[str, Any]) -> str:
    return json.dumps([content_hash, metadata], sort_keys=True)


def chunk_id(document_id: int, title: str, chunk: ChunkInput, occurrence: int) -> str:
    """Return 32 hexadecimal digits that stay the same as long as the chunk's indexed text does.

    ``occurrence`` counts equal passages of one document from 0.
    """
    parts = (str(document_id), title, chunk.heading_path, chunk.text, str(occurrence))
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]


Batch = dict[str, tuple[DocumentInput, dict[str, Any]]]
"""Documents with their column values, by source, each source once."""


def _batches(documents: Iterable[DocumentInput]) -> Iterator[Batch]:
    batch: Batch = {}
    chunks = 0
    for document in documents:
        require_storable(document.source)
        values = document_values(document, state="ready", error="", chunks=len(document.chunks))
        if values["source"] in batch:
            yield batch
            batch, chunks = {}, 0
        batch[values["source"]] = (document, values)
        chunks += len(document.chunks)
        if len(batch) >= DOCUMENTS_PER_BATCH or chunks >= CHUNKS_PER_BATCH:
            yield batch
            batch, chunks = {}, 0
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class _Batch:
    """Documents of one dataset that are written together."""

    connection: Connection
    dataset_id: int
    collection: str
    documents: Batch

    def put(self) -> list[PutResult]:
        """Store the documents, and return the results in their order."""
        stored = self._stored(list(self.documents))
        same = {source for source, row in stored.items() if _is_same(row, *self.documents[source])}
        refreshed = self._refresh([stored[source] for source in same])
        self._save(stored, [source for source in self.documents if source not in same])
        new = [source for source in self.documents if source not in stored]
        ids = {source: row.id for source, row in (stored | self._stored(new)).items()}
        self._write_metadata(stored, ids)
        changes = _Changes({row.id for source, row in stored.items() if source not in same}, self.connection)
        results = []
        for source, (document, values) in self.documents.items():
            if source in same:
                kept, is_other = stored[source].chunks, source in refreshed
                results.append(PutResult(ids[source], 0, kept, unchanged=True, refreshed=is_other, source=source))
            else:
                rows = _chunk_rows(self.dataset_id, ids[source], values["title"], document)
                replaced = changes.replace(ids[source], {row["id"]: row for row in rows})
                results.append(replace(replaced, is_new=source not in stored, source=source))
        changes.write(self.collection)
        self._write_terms(stored, {result.source: result.document_id for result in results if not result.unchanged})
        added = sum(result.added - result.removed for result in results)
        if new or added:
            add_to_counters(self.connection, self.dataset_id, documents=len(new), chunks=added)
        return results

    def _stored(self, sources: Sequence[str]) -> dict[str, Row[Any]]:
        if not sources:
            return {}
        rows = execute(self.connection, prepared.STORED_DOCUMENTS, dataset_id=self.dataset_id, sources=sources)
        return {row.source: row for row in rows}

    def _refresh(self, rows: Sequence[Row[Any]]) -> set[str]:
        """Update date and metadata of documents that have not changed otherwise; return the sources where they do."""
        changed = {}
        for row in rows:
            values = self.documents[row.source][1]
            if (row.date, json_of(row.meta)) != (values["date"], values["meta"]):
                changed[row.source] = self._parameters(values)
        execute_each(self.connection, prepared.REFRESH_DOCUMENT, list(changed.values()))
        return set(changed)

    def _write_metadata(self, stored: Mapping[str, Row[Any]], ids: Mapping[str, int]) -> None:
        """Write the metadata that filters use, of documents whose own is another one than before."""
        before = {source: json_of(row.meta) for source, row in stored.items()}
        changed = {
            source: values["meta"]
            for source, (_, values) in self.documents.items()
            if values["meta"] != before.get(source, {})
        }
        had_some = [ids[source] for source in changed if before.get(source)]
        by_id = {ids[source]: metadata for source, metadata in changed.items()}
        write_metadata(self.connection, self.dataset_id, by_id, stored=had_some)

    def _write_terms(self, stored: Mapping[str, Row[Any]], ids: Mapping[str, int]) -> None:
        """Write the abbreviations that these documents introduce."""
        if before := [ids[source] for source in ids if source in stored]:
            execute(self.connection, prepared.DELETE_TERMS, document_ids=before)
        rows = [
            {"dataset_id": self.dataset_id, "document_id": ids[source], **term.row}
            for source in ids
            for term in terms_of(storable(chunk.text) for chunk in self.documents[source][0].chunks)
        ]
        execute_each(self.connection, prepared.INSERT_TERM, rows)

    def _save(self, stored: Mapping[str, Row[Any]], sources: Sequence[str]) -> None:
        """Insert or update the documents' rows."""
        inserted: list[dict[str, Any]] = []
        updated: list[dict[str, Any]] = []
        for source in sources:
            (updated if source in stored else inserted).append(self._parameters(self.documents[source][1]))
        execute_each(self.connection, prepared.INSERT_DOCUMENT, inserted)
        execute_each(self.connection, prepared.UPDATE_DOCUMENT, updated)

    def _parameters(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {**values, "meta": json.dumps(values["meta"]), "dataset_id": self.dataset_id}


def _is_same(row: Row[Any], document: DocumentInput, values: Mapping[str, Any]) -> bool:
    """Return whether putting the document would change no chunk."""
    return (
        bool(document.content_hash)
        and row.state == "ready"
        and row.content_hash == document.content_hash
        and row.title == values["title"]
        and row.file_type == values["file_type"]
    )


class _Changes:
    """The chunks that come, stay and go. ``replaced`` are the documents that are stored already."""

    def __init__(self, replaced: set[int], connection: Connection) -> None:
        self._connection = connection
        self._before: dict[int, set[str]] = {document_id: set() for document_id in replaced}
        if replaced:
            for row in execute(connection, prepared.CHUNKS_OF_DOCUMENTS, document_ids=replaced):
                self._before[row.document_id].add(row.id)
        self._added: list[dict[str, Any]] = []
        self._kept: list[dict[str, Any]] = []
        self._removed: list[str] = []
        self._logged: list[str] = []
        self._documents: list[int] = []

    def replace(self, document_id: int, rows: Mapping[str, dict[str, Any]]) -> PutResult:
        """Note that the document's chunks become these, by id; those that stay keep their vectors."""
        before = self._before.get(document_id, set())
        removed = sorted(before - rows.keys())
        added = [row for each, row in rows.items() if each not in before]
        self._kept += [row for each, row in rows.items() if each in before]
        self._added += added
        self._removed += removed
        self._logged += [*removed, *(row["id"] for row in added)]
        if removed or added:
            self._documents.append(document_id)
        return PutResult(document_id, len(added), len(rows) - len(added), len(removed))

    def write(self, collection: str) -> None:
        """Write the chunks, and record in the change log what came and went."""
        if self._removed:
            execute(self._connection, prepared.DELETE_CHUNKS, ids=self._removed)
        execute_each(self._connection, prepared.INSERT_CHUNK, self._added)
        execute_each(self._connection, prepared.MOVE_CHUNK, self._kept)
        if log_chunks(self._connection, collection, self._logged):
            mark_changed(self._connection, collection, self._documents)


def _chunk_rows(dataset_id: int, document_id: int, title: str, document: DocumentInput) -> Iterable[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for position, given in enumerate(document.chunks):
        chunk = replace(given, text=storable(given.text), heading_path=storable(given.heading_path))
        first_id = chunk_id(document_id, title, chunk, 0)
        occurrence = seen[first_id]
        seen[first_id] += 1
        yield {
            "id": first_id if occurrence == 0 else chunk_id(document_id, title, chunk, occurrence),
            "document_id": document_id,
            "dataset_id": dataset_id,
            "position": position,
            "text": chunk.text,
            "text_hash": text_hash(chunk.text),
            "heading_path": chunk.heading_path,
            "page": chunk.page,
            "page_end": chunk.page_end,
            "line": chunk.line,
            "line_end": chunk.line_end,
            "chunk_kind": chunk.chunk_kind,
            "confidence": chunk.confidence,
        }


def text_hash(text: str) -> int:
    """Return a signed number of 64 bits that texts have in common which differ in white space alone.

    Different texts may have the same by chance, or because somebody made them so: compare the texts, too. Another
    function than this one needs a migration that fills the column ``text_hash`` again.
    """
    digest = hashlib.blake2b(" ".join(text.split()).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
