"""What a turn costs through OpenAI's interface and a retrieval through Dify's, beside the same through the API."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from benchmarks.common import arguments, judged_sets, note, percentiles, scratch_folder, show
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.evaluation.beir import JudgedSet
from braid.core.types import ChunkInput, DocumentInput
from tests.served import Served

SETS = ("scifact", "gimphelp-ja", "gimphelp-ko")
PASSAGES = 300
QUERIES = 100
WARM_UP = 5
INDEXING_TIMEOUT_S = 1_800
PAIRS = {"OpenAI's chat": "API's chat", "OpenAI's chat, streamed": "API's chat", "Dify's retrieval": "API's search"}


def main() -> None:
    """Ask each way in turn, query by query, so that what else the machine does touches all of them alike."""
    args = arguments("A turn without a chat model through each interface.", add=_options)
    sets = judged_sets(SETS)
    in_turn = zip(*(found.queries.values() for found in sets), strict=False)
    queries = [text for texts in in_turn for text in texts][: args.queries + WARM_UP]
    with scratch_folder(args.scratch) as scratch:
        dataset_id = _fill(scratch / "data", sets, args.passages)
        with Served(scratch / "data", API_RATE_LIMIT="1000000/second") as served:
            with DataDirectory(served.data_dir) as beside:
                _, token = ApiTokens(beside.ledger).add(_admin(beside), "benchmark", ["read"])
            milliseconds = _in_turn(_ways(served.port, token, dataset_id), queries)
    figures = {way: percentiles(of_way) for way, of_way in milliseconds.items()}
    rows = [
        [way, own["p50"], own["p95"], own["p50"] / figures[PAIRS[way]]["p50"] if way in PAIRS else 1.0]
        for way, own in figures.items()
    ]
    title = f"{args.passages} passages in three languages, {args.queries} questions, no chat model"
    show(figures, [(title, ["way", "p50 ms", "p95 ms", "p50 : the API's"], rows)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--passages", type=int, default=PASSAGES)
    parser.add_argument("--queries", type=int, default=QUERIES)


def _fill(data_dir: Path, sets: list[JudgedSet], passages: int) -> int:
    """Make the administrator and a dataset of passages, indexed; return its id."""
    with Served(data_dir):
        pass
    each = passages // len(sets)
    documents = [
        DocumentInput(f"{found.name}/{document.id}", document.title, "txt", (ChunkInput(document.text),))
        for found in sets
        for document in found.documents[:each]
    ]
    with Braid(data_dir) as braid:
        dataset = braid.ledger.add_dataset(_admin(braid), "Benchmark")
        braid.ledger.put_documents(dataset.id, documents)
        note("embedding")
        if not braid.indexer.wait(INDEXING_TIMEOUT_S):
            sys.exit(f"not indexed within {INDEXING_TIMEOUT_S} s")
    return dataset.id


def _admin(braid: DataDirectory) -> int:
    return next(account.id for account in Accounts(braid.ledger).all() if account.is_admin)


def _ways(port: int, token: str, dataset_id: int) -> Mapping[str, Callable[[str], Any]]:
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {token}"}, timeout=60)

    def post(path: str, body: dict[str, Any]) -> None:
        client.post(path, json=body).raise_for_status().read()

    def chat(text: str, **more: Any) -> dict[str, Any]:
        return {"model": f"braid:{dataset_id}", "messages": [{"role": "user", "content": text}], **more}

    ids = [dataset_id]
    return {
        "API's chat": lambda text: post("/api/v1/chat", {"message": text, "dataset_ids": ids}),
        "OpenAI's chat": lambda text: post("/v1/chat/completions", chat(text)),
        "OpenAI's chat, streamed": lambda text: post("/v1/chat/completions", chat(text, stream=True)),
        "API's search": lambda text: post("/api/v1/search", {"query": text, "dataset_ids": ids}),
        "Dify's retrieval": lambda text: post("/dify/retrieval", {"knowledge_id": str(dataset_id), "query": text}),
    }


def _in_turn(ways: Mapping[str, Callable[[str], Any]], queries: list[str]) -> dict[str, list[float]]:
    """Milliseconds by way. Each query begins with another way, since the first one pays for what is remembered."""
    found: dict[str, list[float]] = {way: [] for way in ways}
    names = list(ways)
    for number, query in enumerate(queries):
        first = number % len(names)
        for way in names[first:] + names[:first]:
            started = time.perf_counter()
            ways[way](query)
            if number >= WARM_UP:
                found[way].append(1000 * (time.perf_counter() - started))
    return found


if __name__ == "__main__":
    main()
