"""Filters: how long a search takes with 50, 10 and 1 % of the documents selected by metadata, by date, and with none.

One dataset of one-passage documents with five keys each. ``remembered`` is a filter that was asked for before;
``after a commit`` is when the documents that it selects are read again.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.common import RandomVectors, arguments, note, percentiles, scratch_folder, show
from braid.core.braid import Braid, IndexOptions
from braid.core.data_directory import DataDirectory
from braid.core.ledger.prepared import CHUNK_IDS
from braid.core.models.embeddings import embed_passages
from braid.core.search.filter_plan import MAX_FILTER_DOCUMENTS
from braid.core.types import ChunkInput, DocumentInput, Filters, Mode

SHARES = (50, 10, 1)
BATCH = 1_000
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
WORDS = [
    "pump",
    "valve",
    "tank",
    "pipe",
    "motor",
    "sensor",
    "cable",
    "filter",
    "nozzle",
    "gasket",
    "bolt",
    "spring",
    "lever",
    "wheel",
    "shaft",
]


def main() -> None:
    """Fill a data directory, and time searches with each filter."""
    args = arguments(__doc__ or "", add=_options)
    model = RandomVectors(64)
    with scratch_folder(args.scratch) as folder:
        data = folder / f"filters-{args.documents}"
        if not data.exists():
            with DataDirectory(data, embedding_model=model) as directory:
                _fill(directory, model, args.documents)
        with Braid(data, embedding_model=model, index_options=IndexOptions(leg_timeout_s=60)) as braid:
            assert braid.indexer.wait(600)
            rows = [_measure(braid, name, filters, args) for name, filters in _filters(args.documents).items()]
    columns = list(rows[0])
    title = f"p50 in ms, {args.documents:,} documents"
    show({"filters": rows}, [(title, columns, [list(row.values()) for row in rows])], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=60)


def _fill(directory: DataDirectory, model: RandomVectors, count: int) -> None:
    dataset = directory.ledger.add_dataset(directory.ledger.add_user("ann").id, "parts").id
    for first in range(0, count, BATCH):
        directory.ledger.put_documents(dataset, [_document(n) for n in range(first, min(first + BATCH, count))])
    ids = [row[0] for row in directory.ledger.database.rows(CHUNK_IDS, collection="user_1")]
    for first in range(0, len(ids), BATCH):
        some = ids[first : first + BATCH]
        directory.ledger.store_embeddings(model.fingerprint, some, embed_passages(model, some))
    note(f"{count:,} documents stored")


def _document(n: int) -> DocumentInput:
    words = " ".join(random.Random(n).sample(WORDS, 3))
    percent = (n * 7919) % 100
    metadata = {
        "percent": percent,
        "tenant": f"t{percent:02d}",
        "tags": [f"up to {share}" for share in SHARES if percent < share] + ["any"],
        "author": f"author {n % 500}",
        "draft": n % 2 == 0,
    }
    chunk = ChunkInput(f"Part {n}: the {words} of machine {n % 977}.")
    return DocumentInput(f"part/{n}", f"Part {n}", "txt", (chunk,), date=float(percent), metadata=metadata)


def _filters(documents: int) -> Mapping[str, Filters]:
    found = {"none": Filters()}
    for share in SHARES:
        found[f"date, {share} %"] = Filters(date_to=share - 0.5)
        found[f"number, {share} %"] = Filters(metadata={"percent": {"$lt": share}})
        found[f"text, {share} %"] = Filters(metadata={"tenant": {"$lt": f"t{share:02d}"}})
        found[f"list, {share} %"] = Filters(metadata={"tags": {"$contains": f"up to {share}"}})
        two = {"percent": {"$lt": share}, "$not": {"author": "author 7"}}
        found[f"number and not text, {share} %"] = Filters(metadata=two)
    return found


def _measure(braid: Braid, name: str, filters: Filters, args: argparse.Namespace) -> dict[str, Any]:
    """Return the p50 of the searches in ms, and of reading again which documents the filter selects."""
    row: dict[str, Any] = {"filter": name}
    for mode in MODES:
        row[f"{mode}, remembered"] = _p50(args.queries, lambda n, mode=mode: _search(braid, n, filters, mode))
    row["hybrid, after a commit"] = _p50(
        args.queries // 3, lambda n: _search(braid, n, filters, "hybrid"), before=_commit(braid)
    )
    limit = MAX_FILTER_DOCUMENTS + 1

    row["documents read again"] = _p50(
        args.queries // 3, lambda n: braid.ledger.matching_documents([1], filters, limit=limit), before=_commit(braid)
    )
    return row


def _search(braid: Braid, n: int, filters: Filters, mode: Mode) -> None:
    text = f"{WORDS[n % len(WORDS)]} of the {WORDS[(n * 4 + 1) % len(WORDS)]}"
    result = braid.search(text, user_id=1, dataset_ids=[1], filters=filters, mode=mode, k=10)
    assert not result.degraded
    assert len(result.hits) == 10


def _commit(braid: Braid) -> Callable[[], None]:
    def commit() -> None:
        with braid.ledger.database.write() as connection:
            connection.exec_driver_sql("UPDATE users SET created_at = created_at + 1")

    return commit


def _p50(times: int, act: Callable[[int], object], *, before: Callable[[], None] = lambda: None) -> float:
    took = []
    for n in range(-3, times):
        before()
        begun = time.perf_counter()
        act(n)
        took.append(1_000 * (time.perf_counter() - begun))
    return round(percentiles(took[3:])["p50"], 2)


if __name__ == "__main__":
    main()
