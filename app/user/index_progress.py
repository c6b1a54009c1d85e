"""How far the indexes are with a user's datasets: passages of others in the same collection do not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from braid.core.braid import Braid
from braid.core.indexes.leg_progress import LegProgress
from braid.core.ledger.change_log import ChangeLog
from braid.core.types import Dataset


def progress_with(braid: Braid, datasets: Sequence[Dataset]) -> list[LegProgress]:
    """Return the progress of the indexes with these datasets, which are all that the user may read.

    While an index is rebuilt, ``pending`` of a collection with other datasets is the share that these have of it.
    """
    mine: dict[str, list[Dataset]] = {}
    for dataset in datasets:
        mine.setdefault(dataset.collection, []).append(dataset)
    progress = [part for part in braid.indexer.progress() if part.collection in mine]
    stored = braid.ledger.datasets_in({part.collection for part in progress if part.pending or part.left_out})
    readable, chunks = {dataset.id for dataset in datasets}, Counter[str]()
    for each in stored:
        chunks[each.collection] += each.chunks
    shared = {each.collection for each in stored if each.id not in readable}
    return [
        _part_of(braid, part, mine[part.collection], chunks[part.collection]) if part.collection in shared else part
        for part in progress
    ]


def _part_of(braid: Braid, part: LegProgress, mine: Sequence[Dataset], chunks: int) -> LegProgress:
    if part.state == "rebuilding":
        own = sum(dataset.chunks for dataset in mine)
        pending = min(own, -(-part.pending * own // max(1, chunks)))
    else:
        changes = ChangeLog(braid.ledger.database)
        state = changes.states(braid.index_names[part.leg]).get(part.collection)
        applied = state.applied_seq if state else 0
        pending = changes.pending(part.collection, applied, dataset_ids=[dataset.id for dataset in mine])
    return replace(part, pending=pending, seconds_left=None, left_out=0)
