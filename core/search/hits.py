"""Hits: fused chunks with their passages, read from the ledger, equal texts once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from braid.core.ledger.ledger import Ledger
from braid.core.search.ranking import FusedRanking
from braid.core.types import Hit, Occurrence, Passage, Query, Scope, ScoredChunk

READ_AHEAD = 20


@dataclass(frozen=True, slots=True)
class HitReader:
    """Reads from the ledger only what the scope and the filters allow."""

    ledger: Ledger
    scope: Scope

    def read(self, query: Query, fused: FusedRanking) -> list[Hit]:
        """Return the first ``query.candidates`` hits that may be shown, each with all other occurrences of its text.

        Reads no more than is needed for them.
        """
        passages: dict[str, Passage] = {}
        hits: list[Hit] = []
        step = 2 * query.candidates + READ_AHEAD
        for start in range(0, len(fused.order), step):
            passages |= self.passages(query, [hit.chunk_id for hit in fused.order[start : start + step]])
            hits = build_hits(fused, passages)
            if len(hits) >= query.candidates:
                deeper = [hit.chunk_id for hit in fused.order[start + step :]]
                copies = {hit.passage.text for hit in hits[: query.candidates]}
                hits = build_hits(fused, passages | self.passages(query, deeper, texts=copies))
                break
        return hits[: query.candidates]

    def passages(
        self, query: Query, chunk_ids: Iterable[str], *, texts: Collection[str] | None = None
    ) -> dict[str, Passage]:
        """Return the chunks that may be shown, by id: all, or only those with one of these texts."""
        return self.ledger.passages(list(chunk_ids), self.scope.dataset_ids, query.filters, texts=texts)


def build_hits(fused: FusedRanking, passages: Mapping[str, Passage]) -> list[Hit]:
    """Return hits in fused order. Equal texts become one hit, at its best rank, with the other occurrences."""
    equal: dict[str, list[Passage]] = {}
    best: dict[str, ScoredChunk] = {}
    for scored in fused.order:
        passage = passages.get(scored.chunk_id)
        if passage is not None:
            text = " ".join(passage.text.split())
            equal.setdefault(text, []).append(passage)
            best.setdefault(text, scored)
    return [
        Hit(
            passage=first,
            score=best[text].score,
            legs=fused.legs[first.chunk_id],
            also_in=tuple(Occurrence(p.chunk_id, p.dataset_id, p.source, p.title) for p in others),
        )
        for text, (first, *others) in equal.items()
    ]
