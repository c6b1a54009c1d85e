"""Hits: fused chunks with their passages, read from the ledger, equal texts once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from braid.core.ledger.ledger import Ledger
from braid.core.ledger.queries import PassageRow
from braid.core.search.ranking import FusedRanking
from braid.core.types import Hit, Occurrence, Query, Scope

SPARE = 5
"""Passages that are read beyond the wanted ones, in place of equal texts."""
WORDS_TO_COMPARE = 3
"""Words at the beginning of a text that tell most texts apart."""


@dataclass(frozen=True, slots=True)
class HitReader:
    """Reads from the ledger only what the scope and the filters of one search allow, and each passage once."""

    ledger: Ledger
    scope: Scope
    _rows: dict[str, PassageRow | None] = field(default_factory=dict)
    """What was read, by chunk id; None for what is not allowed, or not there."""

    def read(self, query: Query, fused: FusedRanking, *, limit: int | None = None) -> list[Hit]:
        """Return the first ``limit`` hits that may be shown, each with all other occurrences of its text.

        ``limit`` is ``query.candidates`` unless given. Where a hit is a passage, those behind the last one are only
        looked through for equal texts.
        """
        limit = query.candidates if limit is None else limit
        ids = [hit.chunk_id for hit in fused.order]
        by_document = query.group_by == "document"
        end = len(ids) if by_document else min(len(ids), limit + SPARE)
        hits = self._hits(query, fused, ids[:end], limit, by_document)
        while len(hits) < limit and end < len(ids):
            end = min(len(ids), 2 * end)
            hits = self._hits(query, fused, ids[:end], limit, by_document)
        unread = [chunk_id for chunk_id in ids[end:] if chunk_id not in self._rows]
        if hits and self._read_copies(query, unread, hits):
            hits = self._hits(query, fused, ids[:end], limit, by_document)
        return hits

    def _hits(self, query: Query, fused: FusedRanking, ids: Sequence[str], limit: int, by_document: bool) -> list[Hit]:
        unread = [chunk_id for chunk_id in ids if chunk_id not in self._rows]
        if unread:
            found = self.ledger.passage_rows(unread, self.scope.dataset_ids, query.filters)
            self._rows.update((chunk_id, found.get(chunk_id)) for chunk_id in unread)
        rows = {chunk_id: row for chunk_id, row in self._rows.items() if row is not None}
        return build_hits(fused, rows, limit, by_document=by_document)

    def _read_copies(self, query: Query, ids: Sequence[str], hits: Sequence[Hit]) -> bool:
        """Read those of the ids whose text may equal that of a hit; return whether there are any."""
        words = {(hit.passage.text.split(None, 1) or [""])[0] for hit in hits}
        found = self.ledger.passage_rows(ids, self.scope.dataset_ids, query.filters, first_words=words)
        self._rows.update(found)
        return bool(found)


def build_hits(
    fused: FusedRanking, rows: Mapping[str, PassageRow], limit: int, *, by_document: bool = False
) -> list[Hit]:
    """Return up to ``limit`` hits in fused order.

    Equal texts become one hit, at its best rank, with the other occurrences. White space does not count. With
    ``by_document``, a document is shown by its first hit, and its other texts are counted.
    """
    equal: dict[str, list[PassageRow]] = {}
    best: dict[str, float] = {}
    beginnings: set[tuple[str, ...]] = set()
    more: dict[int, int] = {}
    for scored in fused.order:
        row = rows.get(scored.chunk_id)
        if row is None:
            continue
        beginning = tuple(row.text.split(None, WORDS_TO_COMPARE)[:WORDS_TO_COMPARE])
        is_counted = by_document and row.document_id in more
        if beginning not in beginnings and (is_counted or len(equal) == limit):
            if is_counted:
                more[row.document_id] += 1
            continue  # no copy of a hit, which spares the comparison of whole texts
        text = " ".join(row.text.split())
        if text in equal:
            equal[text].append(row)
        elif is_counted:
            more[row.document_id] += 1
        elif len(equal) < limit:
            equal[text], best[text], more[row.document_id] = [row], scored.score, 0
            beginnings.add(beginning)
    return [
        Hit(
            passage=first.passage(),
            score=best[text],
            legs=fused.legs[first.chunk_id],
            also_in=tuple(Occurrence(row.chunk_id, row.dataset_id, row.source, row.title) for row in others),
            more_in_document=more[first.document_id] if by_document else 0,
        )
        for text, (first, *others) in equal.items()
    ]
