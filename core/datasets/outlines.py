"""Titles and headings of documents: of the newest ones, of one, and of what is near to passages."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import ChunkRow, DocumentRow
from braid.core.text.contents import contents_lines, has_leader
from braid.core.types import Dataset

RECENT_IDS = 2_000
"""Ids of documents, counted from the newest, among which the newest ones of the datasets are looked for."""
SEEN_PASSAGES = 90
"""Passages of a document whose headings and beginnings are read."""
SECTIONS = 60
"""Sections that a page shows of a document; `Outlines.of_document` returns up to four times as many."""
NEAR_BEFORE, NEAR_BEHIND = 10, 40
"""How many passages before and behind one the sections are looked for that are near to it."""
LONG_CHARS = 200
"""Length from which a text without a full stop is a list or a table, and no menu of a page."""
MOST_KEPT = 32
"""Selections of datasets whose outlines are kept, each of up to some MB."""
SEEN_CHARS = 400
"""Characters at the beginning of a passage that decide whether it is a menu."""
BEGINNING_CHARS = 800
"""Characters of a section's first passage that it is asked about by."""
_SENTENCE_END = re.compile(r"[.!?。！？](?=[\s”’」』\"')]|$)|[다요죠음함](?=\s|$)")
AGAIN_S = 5.0
"""Minimum seconds between two readings while the datasets keep changing, as in a long upload."""


@dataclass(frozen=True, slots=True)
class OutlineSection:
    """A part of a document under one heading, the innermost of ``path``; both are empty for what is under none.
    ``position`` is that of its first passage, and ``text`` the beginning of it.
    """

    dataset_id: int
    document_id: int
    source: str
    title: str
    heading: str
    path: str
    position: int
    page: int | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class DocumentOutline:
    """A document's title, and its first sections in order."""

    source: str
    title: str
    sections: tuple[OutlineSection, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    outlines: tuple[DocumentOutline, ...]
    heads: Mapping[str, int]
    at: float


class Outlines:
    """Outlines of the newest documents, cached until something in the datasets' collections changes."""

    def __init__(self, ledger: Ledger, *, again_s: float = AGAIN_S, recent_ids: int = RECENT_IDS) -> None:
        self._database = ledger.database
        self._changes = ChangeLog(ledger.database)
        self._again_s, self._recent_ids = again_s, recent_ids
        self._kept: dict[tuple[frozenset[int], int], _Kept] = {}
        self._lock = threading.Lock()

    def newest(self, datasets: Sequence[Dataset], *, limit: int) -> tuple[DocumentOutline, ...]:
        """Return outlines of up to ``limit`` readable documents of the datasets, the newest first."""
        filled = [dataset for dataset in datasets if dataset.chunks]
        if not filled:
            return ()
        key = frozenset(dataset.id for dataset in filled), limit
        heads, now = self._changes.heads({dataset.collection for dataset in filled}), time.monotonic()
        with self._lock:
            kept = self._kept.get(key)
        if kept is None or (kept.heads != heads and now - kept.at >= self._again_s):
            kept = _Kept(self._read(key[0], limit), heads, now)
            with self._lock:
                if len(self._kept) >= MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = kept
        return kept.outlines

    def of_document(self, document_id: int, dataset_id: int) -> tuple[OutlineSection, ...]:
        """Return the sections of a document in order, each heading once, with what is under none or under its title;
        none for a document of another dataset.
        """
        return self._sections(document_id, dataset_id, None)

    def near(self, chunk_ids: Sequence[str], dataset_ids: Collection[int]) -> tuple[OutlineSection, ...]:
        """Return the sections beside these passages, which are left out themselves; per passage the next ones first.

        Passages that are in none of the datasets have none.
        """
        columns = ChunkRow.id, ChunkRow.document_id, ChunkRow.dataset_id, ChunkRow.position, ChunkRow.heading_path
        mine = ChunkRow.id.in_(chunk_ids) & ChunkRow.dataset_id.in_(dataset_ids)
        passages = {row.id: row for row in self._database.fetch(select(*columns).where(mine))}
        own = {(row.document_id, row.heading_path) for row in passages.values()}
        found: dict[tuple[int, str], OutlineSection] = {}
        for row in (passages[chunk_id] for chunk_id in chunk_ids if chunk_id in passages):
            beside = self._sections(row.document_id, row.dataset_id, row.position)
            behind = [section for section in beside if section.position > row.position]
            before = [section for section in reversed(beside) if section.position <= row.position]
            for section in (*behind, *before):
                if section.heading and (section.document_id, section.path) not in own:
                    found.setdefault((section.document_id, section.heading), section)
        return tuple(found.values())

    def _sections(self, document_id: int, dataset_id: int, position: int | None) -> tuple[OutlineSection, ...]:
        """Return the sections of a document, or those around a position of it."""
        of_document = ChunkRow.document_id == document_id, ChunkRow.dataset_id == dataset_id
        place, page = func.min(ChunkRow.position), func.min(ChunkRow.page)
        statement = select(ChunkRow.heading_path, place, page).where(*of_document)
        if position is not None:
            statement = statement.where(ChunkRow.position.between(position - NEAR_BEFORE, position + NEAR_BEHIND))
        named = select(DocumentRow.source, DocumentRow.title).where(DocumentRow.id == document_id)
        with self._database.read() as connection:
            rows = connection.execute(
                statement.group_by(ChunkRow.heading_path).order_by(place).limit(4 * SECTIONS)
            ).all()
            document = connection.execute(named).one_or_none()
            beginning = select(ChunkRow.position, func.substr(ChunkRow.text, 1, BEGINNING_CHARS)).where(*of_document)
            starts = connection.execute(beginning.where(ChunkRow.position.in_([row[1] for row in rows]))).all()
        texts = {row[0]: str(row[1]) for row in starts}
        if document is None:
            return ()
        found: dict[str, OutlineSection] = {}
        for path, start, on_page in rows:
            heading = _heading(path, document.title)
            section = OutlineSection(
                dataset_id,
                document_id,
                document.source,
                document.title,
                heading,
                path,
                start,
                on_page,
                texts.get(start, ""),
            )
            found.setdefault(heading or path, section)
        return tuple(found.values())

    def _read(self, dataset_ids: frozenset[int], limit: int) -> tuple[DocumentOutline, ...]:
        columns = DocumentRow.id, DocumentRow.dataset_id, DocumentRow.source, DocumentRow.title
        mine = select(*columns).where(DocumentRow.dataset_id.in_(dataset_ids), DocumentRow.state == "ready")
        last = select(func.max(DocumentRow.id)).scalar_subquery()
        newest = mine.where(DocumentRow.id > last - self._recent_ids).order_by(DocumentRow.id.desc()).limit(limit)
        beginning = func.substr(ChunkRow.text, 1, BEGINNING_CHARS)
        passages = select(
            ChunkRow.document_id, ChunkRow.heading_path, ChunkRow.position, ChunkRow.page, beginning
        ).order_by(ChunkRow.position)
        with self._database.read() as connection:
            documents = {
                row.id: row for row in connection.execute(newest).all() or connection.execute(mine.limit(limit)).all()
            }
            first = ChunkRow.document_id.in_(documents), ChunkRow.position < SEEN_PASSAGES
            rows = connection.execute(passages.where(*first, ChunkRow.chunk_kind != "contents")).all()
        found: dict[int, dict[str, OutlineSection]] = {document_id: {} for document_id in documents}
        for document_id, path, position, page, text in rows:
            _, dataset_id, source, title = documents[document_id]
            if path not in found[document_id] and says_something(text):
                heading = _heading(path, title)
                found[document_id][path] = OutlineSection(
                    dataset_id, document_id, source, title, heading, path, position, page, text
                )
        return tuple(
            DocumentOutline(document.source, document.title, tuple(found[document_id].values()))
            for document_id, document in documents.items()
        )


def says_something(text: str) -> bool:
    """Return whether a text can answer a question: it has a sentence, or is long enough for a list or a table.

    The menus and footers of pages are neither, nor are tables of contents.

    >>> says_something("index | modules | next | previous"), says_something("The seal lasts a year.")
    (False, True)
    """
    text = text[:SEEN_CHARS]
    lines = [line for line in text.splitlines() if line.strip()]
    if 2 * sum(map(len, contents_lines(lines))) > len(lines) or 2 * sum(map(has_leader, lines)) > len(lines):
        return False
    return len(text) >= LONG_CHARS or _SENTENCE_END.search(text) is not None


def _heading(path: str, title: str) -> str:
    """Return the last part of a path; empty for the document's own title."""
    heading = path.rpartition(" > ")[2].strip()
    return "" if heading == title else heading
