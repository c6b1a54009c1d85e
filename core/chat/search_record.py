"""What is kept of a search beside an answer: enough to say later how its passages were found, but not their text."""

from __future__ import annotations

from typing import Any

from braid.core.types import Hit, SearchResult

MAX_QUERY_CHARS = 300
"""Of each query that was searched for; a hypothetical passage is long."""
MAX_HITS = 100


def search_record(result: SearchResult) -> dict[str, Any]:
    """The search as JSON values. Times are milliseconds a stage."""
    return {
        "strategy": result.strategy,
        "mode": result.query.mode,
        "generator": result.generator,
        "queries": [query[:MAX_QUERY_CHARS] for query in result.queries],
        "unresolved_dataset_ids": list(result.unresolved_dataset_ids),
        "timings_ms": {stage: round(ms, 1) for stage, ms in result.timings_ms.items()},
        "hits": [_hit(hit) for hit in result.hits[:MAX_HITS]],
    }


def _hit(hit: Hit) -> dict[str, Any]:
    passage = hit.passage
    return {
        "chunk_id": passage.chunk_id,
        "dataset_id": passage.dataset_id,
        "source": passage.source,
        "title": passage.title,
        "score": hit.score,
        "rerank_score": hit.rerank_score,
        "legs": [
            {
                "leg": leg.leg,
                "rank": leg.rank,
                "score": leg.score,
                "share": leg.share,
                "query": leg.query[:MAX_QUERY_CHARS],
            }
            for leg in hit.legs
        ],
    }
