"""Hits: fused chunks with their passages, read from the ledger, equal texts once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from operator import itemgetter

from braid.core.ledger.ledger import Ledger
from braid.core.ledger.queries import PassageRow
from braid.core.metadata.versions import version_order
from braid.core.search.ranking import FusedRanking
from braid.core.text.identifiers import LiteralSearch
from braid.core.text.letters import is_garbled
from braid.core.types import Hit, LegScore, Occurrence, Passage, Query, Scope, indexed_text

SPARE = 5
"""Passages that are read beyond the wanted ones, in place of equal texts."""


@dataclass(slots=True)
class EqualTexts:
    """The passages of one text, best first, which make one hit."""

    rows: list[PassageRow]
    score: float
    """Fused score of the first."""
    more_in_document: int = 0
    """Other texts of the first one's document; counted only in a search for documents."""


@dataclass(frozen=True, slots=True)
class HitReader:
    """Reads from the ledger only what the scope and the filters of one search allow, and each passage once."""

    ledger: Ledger
    scope: Scope
    _rows: dict[str, PassageRow | None] = field(default_factory=dict)
    """What was read, by chunk id; None for what is not allowed, or not there."""

    def read(self, query: Query, fused: FusedRanking, *, limit: int | None = None) -> list[Hit]:
        """Return the first ``limit`` hits that may be shown, each with all other occurrences of its text.

        Of passages that say the same of several versions of a document, the one in force comes first, or that of the
        year asked for. ``limit`` is ``query.candidates`` unless given. Where a hit is a passage, those behind the last
        one are only looked through for equal texts.
        """
        limit = query.candidates if limit is None else limit
        ids = list(map(itemgetter(0), fused.order))
        by_document = query.group_by == "document"
        end = len(ids) if by_document else min(len(ids), limit + SPARE)
        found = self._read_and_group(query, fused, ids[:end], limit, by_document)
        while len(found) < limit and end < len(ids):
            end = min(len(ids), 2 * end)
            found = self._read_and_group(query, fused, ids[:end], limit, by_document)
        unread = set(ids[end:]).difference(self._rows)
        if found and self._read_copies(query, unread, found):
            found = self._read_and_group(query, fused, ids[:end], limit, by_document)
        if query.pooling == "none":
            return build_hits(fused, found)
        for each in found:
            if len(each.rows) > 1:
                each.rows = [each.rows[place] for place in _version_order([row.passage() for row in each.rows], query)]
        return _by_version(build_hits(fused, found), query)

    def having(self, literal: LiteralSearch, query: Query, fused: FusedRanking) -> list[str]:
        """Return the chunks of the list that may be shown and whose title, headings or text have the identifier."""
        ids = list(map(itemgetter(0), fused.order))
        self._read_rows(query, ids)
        rows = ((chunk_id, self._rows[chunk_id]) for chunk_id in ids)
        return [
            chunk_id
            for chunk_id, row in rows
            if row is not None and literal.is_in(indexed_text(row.title, row.heading_path, row.text))
        ]

    def _read_and_group(
        self, query: Query, fused: FusedRanking, ids: Sequence[str], limit: int, by_document: bool
    ) -> list[EqualTexts]:
        self._read_rows(query, ids)
        contents_last = query.pooling != "none"  # that is the order of LangChain's own classes
        return group_equal_texts(
            fused, self._rows, limit, end=len(ids), by_document=by_document, contents_last=contents_last
        )

    def _read_rows(self, query: Query, ids: Sequence[str]) -> None:
        unread = [chunk_id for chunk_id in ids if chunk_id not in self._rows]
        if unread:
            found = self.ledger.passage_rows(unread, self.scope.dataset_ids, query.filters)
            self._rows.update((chunk_id, found.get(chunk_id)) for chunk_id in unread)

    def _read_copies(self, query: Query, ids: Collection[str], shown: Sequence[EqualTexts]) -> bool:
        """Read those of the ids whose text has the hash of one that is shown; return whether there are any."""
        same = self.ledger.having_hashes(ids, {each.rows[0].text_hash for each in shown})
        found = self.ledger.passage_rows(same, self.scope.dataset_ids, query.filters)
        self._rows.update(found)
        return bool(found)


def _by_version(hits: list[Hit], query: Query) -> list[Hit]:
    """Return the hits with newer versions first, of those that are shown or reranked."""
    first = hits[: query.candidates]
    order = _version_order([hit.passage for hit in first], query)
    return [*(first[place] for place in order), *hits[len(first) :]]


def _version_order(passages: Sequence[Passage], query: Query) -> list[int]:
    return version_order(passages, query.text, date.today().isoformat())


def group_equal_texts(
    fused: FusedRanking,
    rows: Mapping[str, PassageRow | None],
    limit: int,
    *,
    end: int,
    by_document: bool = False,
    contents_last: bool = True,
) -> list[EqualTexts]:
    """Return up to ``limit`` texts in fused order, each at its best rank with all passages that have it; tables of
    contents, and letters without meaning that have no word of the query, behind all other texts among the first ``end``
    chunks.

    White space is ignored. Texts are compared where their hashes are equal. After the first ``end`` chunks, some of
    which may not have been read, rows only add copies. With ``by_document``, a document is shown by its first text, and
    its others are counted. The same file in another dataset is another place of it, not a document of its own, as long
    as it says nothing else.
    """
    found: list[EqualTexts] = []
    last: list[EqualTexts] = []
    by_hash: dict[int, list[EqualTexts]] = {}
    first_of: dict[int, EqualTexts] = {}
    places = {chunk_id: place for place, (chunk_id, _) in enumerate(fused.order) if chunk_id in rows}
    texts_of: dict[tuple[int, int], list[PassageRow]] = {}
    for row in filter(None, map(rows.get, places if by_document else ())):
        texts_of.setdefault((row.document_id, row.text_hash), []).append(row)
    for row in filter(None, map(rows.get, places)):
        place = places[row.chunk_id]
        known = _same_text(row, by_hash.get(row.text_hash, ()), of_file=by_document)
        if known is not None:
            known.rows.append(row)
            first_of.setdefault(row.document_id, known)
        elif by_document and (shown := first_of.get(row.document_id)) and _is_said_in(row, shown.rows[0], texts_of):
            shown.more_in_document += row.document_id == shown.rows[0].document_id
        elif len(found) < limit and place < end:
            new = EqualTexts([row], fused.order[place].score)
            (last if contents_last and _is_last(row, fused.legs) else found).append(new)
            by_hash.setdefault(row.text_hash, []).append(new)
            first_of[row.document_id] = new
    return [*found, *last][:limit]


def _is_last(row: PassageRow, legs: Mapping[str, Sequence[LegScore]]) -> bool:
    """Return whether the passage is a table of contents, or of letters without meaning, near as they may be."""
    if row.chunk_kind == "contents":
        return True
    return is_garbled(row.text, row.file_type) and not _has_words(legs[row.chunk_id])


def _has_words(legs: Sequence[LegScore]) -> bool:
    return any(each.leg == "bm25" for each in legs)


def is_letters_alone(hit: Hit) -> bool:
    """Return whether a hit is of letters without meaning and was found by meaning alone, which says nothing then."""
    return not _has_words(hit.legs) and is_garbled(hit.passage.text, hit.passage.file_type)


def _same_text(row: PassageRow, known: Sequence[EqualTexts], *, of_file: bool) -> EqualTexts | None:
    """Return the known text that is the row's, with ``of_file`` in the row's file alone; None for none."""
    text = _without_spacing(row.text) if known else ""
    near = (each for each in known if not of_file or _is_of_file(row, each.rows[0]))
    return next((each for each in near if _without_spacing(each.rows[0].text) == text), None)


def _is_said_in(row: PassageRow, shown: PassageRow, texts_of: Mapping[tuple[int, int], Sequence[PassageRow]]) -> bool:
    """Return whether the row's text is in the document that is shown: its own, or a copy of its file."""
    if row.document_id == shown.document_id:
        return True
    text = _without_spacing(row.text)
    same = texts_of.get((shown.document_id, row.text_hash), ())
    return any(_without_spacing(each.text) == text for each in same)


def _is_of_file(row: PassageRow, other: PassageRow) -> bool:
    """Return whether both are of one document, or of a file of the same name and title in two datasets."""
    if row.document_id == other.document_id or row.dataset_id == other.dataset_id:
        return row.document_id == other.document_id
    return (row.title, row.source.rpartition("/")[2]) == (other.title, other.source.rpartition("/")[2])


def _without_spacing(text: str) -> str:
    return " ".join(text.split())


def build_hits(fused: FusedRanking, found: Iterable[EqualTexts]) -> list[Hit]:
    """Return a hit for each text: its first passage, with the other occurrences."""
    return [
        Hit(
            passage=(first := each.rows[0]).passage(),
            score=each.score,
            legs=fused.legs[first.chunk_id],
            also_in=tuple(Occurrence(row.chunk_id, row.dataset_id, row.source, row.title) for row in each.rows[1:]),
            more_in_document=each.more_in_document,
        )
        for each in found
    ]
