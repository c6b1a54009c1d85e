"""What a search costs as an MCP call: over HTTP and over stdio, next to the same search in process."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from benchmarks.common import arguments, judged_sets, note, percentiles, scratch_folder, show
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.evaluation.beir import JudgedSet
from braid.core.types import ChunkInput, DocumentInput
from tests.served import ROOT, Served

SETS = ("scifact", "gimphelp-ja", "gimphelp-ko")
PASSAGES = 300
QUERIES = 150
WARM_UP = 5
AT_ONCE = 100
K = 5
INDEXING_TIMEOUT_S = 1_800
THREADS = 1
"""Of each embedding model: threads of the one that has just answered would wait actively beside the next."""

Search = Callable[[str], Awaitable[Mapping[str, Any]]]


def main() -> None:
    """Ask each way in turn, query by query, so that what else the machine does touches all of them alike."""
    args = arguments(f"A search as an MCP call; {PASSAGES} passages in three languages.", add=_options)
    sets = judged_sets(SETS)
    with scratch_folder(args.scratch) as scratch:
        filled, dataset_id = _filled(scratch / "filled", sets, args.passages)
        for name in ("process", "app", "stdio"):  # a data directory has one owner
            shutil.rmtree(scratch / name, ignore_errors=True)
            shutil.copytree(filled, scratch / name)
        figures = asyncio.run(_measured(scratch, dataset_id, _queries(sets, args.queries + WARM_UP)))
    columns = ["search", "p50 ms", "p95 ms", "p50 : in process", "p95 : in process", f"errors of {AT_ONCE} at once"]
    rows = [[way, *(row[column] for column in columns[1:])] for way, row in figures.items()]
    show(figures, [(f"{args.passages} passages, {args.queries} queries", columns, rows)], as_json=args.json)
    if any(row[columns[-1]] for row in figures.values()):
        sys.exit("some of the calls failed")


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--passages", type=int, default=PASSAGES)
    parser.add_argument("--queries", type=int, default=QUERIES)


# ---------------------------------------------------------------- the passages


def _filled(data_dir: Path, sets: list[JudgedSet], passages: int) -> tuple[Path, int]:
    """A data directory with an administrator's dataset of passages, indexed; its id."""
    if not data_dir.exists():
        with Served(data_dir):
            pass  # it makes the administrator
    with Braid(data_dir, embedding_threads=THREADS) as braid:
        admin = _admin(braid)
        named = [dataset for dataset in braid.ledger.datasets(admin) if dataset.name == "Benchmark"]
        dataset = named[0] if named else braid.ledger.add_dataset(admin, "Benchmark")
        braid.ledger.put_documents(dataset.id, _documents(sets, passages))
        note("embedding")
        if not braid.indexer.wait(INDEXING_TIMEOUT_S):
            sys.exit(f"not indexed within {INDEXING_TIMEOUT_S} s: {braid.indexer.progress()}")
    return data_dir, dataset.id


def _admin(braid: DataDirectory) -> int:
    return next(account.id for account in Accounts(braid.ledger).all() if account.is_admin)


def _documents(sets: list[JudgedSet], passages: int) -> list[DocumentInput]:
    each = passages // len(sets)
    return [
        DocumentInput(f"{found.name}/{document.id}", document.title, "txt", (ChunkInput(document.text),))
        for found in sets
        for document in found.documents[:each]
    ]


def _queries(sets: list[JudgedSet], number: int) -> list[str]:
    """Of each set in turn."""
    in_turn = [text for texts in zip(*(found.queries.values() for found in sets), strict=False) for text in texts]
    return in_turn[:number]


# ---------------------------------------------------------------- the calls


async def _measured(scratch: Path, dataset_id: int, queries: list[str]) -> dict[str, dict[str, float]]:
    with (
        Braid(scratch / "process", embedding_threads=THREADS) as braid,
        Served(scratch / "app", EMBEDDING_THREADS=THREADS) as served,
    ):
        with DataDirectory(served.data_dir) as beside:
            _, token = ApiTokens(beside.ledger).add(_admin(beside), "benchmark", ["read"])
        async with (
            _over_http(f"http://127.0.0.1:{served.port}/mcp", token) as http,
            Client(_command(scratch / "stdio")) as stdio,
            Client(_command(scratch / "app")) as bridge,
        ):
            ways: dict[str, Search] = {
                "in process": _in_process(braid, dataset_id),
                "MCP over HTTP": _call(http, dataset_id),
                "MCP over stdio": _call(stdio, dataset_id),
                "MCP over stdio, passed on to a running app": _call(bridge, dataset_id),
            }
            milliseconds = await _in_turn(ways, queries)
            errors = {way: await _at_once(search, queries) for way, search in ways.items()}
    base = percentiles(milliseconds["in process"])
    return {
        way: {
            "p50 ms": own["p50"],
            "p95 ms": own["p95"],
            "p50 : in process": own["p50"] / base["p50"],
            "p95 : in process": own["p95"] / base["p95"],
            f"errors of {AT_ONCE} at once": errors[way],
        }
        for way in ways
        for own in [percentiles(milliseconds[way])]
    }


@asynccontextmanager
async def _over_http(url: str, token: str) -> AsyncIterator[Client]:
    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def _command(data_dir: Path) -> StdioServerParameters:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    settings = {
        "DATA_DIR": data_dir,
        "SHARED_DBS": data_dir / "shared_dbs.json",
        "EMBEDDING_THREADS": THREADS,
    }
    environment |= {f"BRAID_{name}": str(value) for name, value in settings.items()}
    return StdioServerParameters(command=sys.executable, args=["-m", "app", "mcp"], env=environment, cwd=ROOT)


def _in_process(braid: Braid, dataset_id: int) -> Search:
    user_id = _admin(braid)

    async def search(query: str) -> Mapping[str, Any]:
        result = await asyncio.to_thread(
            braid.manager.search, query, user_id=user_id, dataset_ids=[dataset_id], mode="hybrid", k=K
        )
        return {"status": "error" if result.degraded else "success", "found": [h.passage.source for h in result.hits]}

    return search


def _call(client: Client, dataset_id: int) -> Search:
    async def search(query: str) -> Mapping[str, Any]:
        answered = await client.call_tool("search", {"query": query, "top_k": K, "dataset_ids": [dataset_id]})
        told = json.loads(answered.content[0].text)  # type: ignore[union-attr]
        found = [result["filepath"] for result in told.get("results", ())]
        return {"status": "error" if told.get("degraded") else told["status"], "found": found}

    return search


async def _in_turn(ways: Mapping[str, Search], queries: list[str]) -> dict[str, list[float]]:
    milliseconds: dict[str, list[float]] = {way: [] for way in ways}
    for number, query in enumerate(queries):
        answers = []
        for way in [*ways][number % len(ways) :] + [*ways][: number % len(ways)]:
            started = time.perf_counter()
            answers.append(await ways[way](query))
            if number >= WARM_UP:
                milliseconds[way].append((time.perf_counter() - started) * 1000)
        assert all(answer == answers[0] for answer in answers), (query, answers)
        assert answers[0]["status"] == "success", (query, answers[0])
    return milliseconds


async def _at_once(search: Search, queries: list[str]) -> int:
    """How many of 100 concurrent searches fail."""
    asked = [queries[number % len(queries)] for number in range(AT_ONCE)]
    answers = await asyncio.gather(*(search(query) for query in asked), return_exceptions=True)
    return sum(isinstance(answer, BaseException) or answer["status"] != "success" for answer in answers)


if __name__ == "__main__":
    main()
