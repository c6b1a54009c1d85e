"""Hits: fused chunks with their passages, read from the ledger, equal texts once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from braid.core.ledger.ledger import Ledger
from braid.core.ledger.queries import PassageRow
from braid.core.search.ranking import FusedRanking
from braid.core.types import Hit, Occurrence, Query, Scope

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

        ``limit`` is ``query.candidates`` unless given.
        """
        unread = [hit.chunk_id for hit in fused.order if hit.chunk_id not in self._rows]
        found = self.ledger.passage_rows(unread, self.scope.dataset_ids, query.filters)
        self._rows.update((chunk_id, found.get(chunk_id)) for chunk_id in unread)
        rows = {hit.chunk_id: row for hit in fused.order if (row := self._rows[hit.chunk_id]) is not None}
        limit = query.candidates if limit is None else limit
        return build_hits(fused, rows, limit, by_document=query.group_by == "document")


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
