"""A team of 50 at work in a directory of 1,000 people: what a search, a chat turn and a page take, and what it holds.

1,000 personal and 301 shared datasets in 1,100 collections with 2,300 documents, the default model, no chat model.
Everybody thinks for 2 to 6 seconds between requests.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from benchmarks.common import arguments, need, note, percentiles, scratch_folder, show
from braid.core.accounts.credentials import ApiTokens
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, DocumentInput
from tests.served import Served

PEOPLE = 1_000
AT_WORK = 50
SHARED = 301
SHARED_COLLECTIONS = 100
DATASETS_PER_SEARCH = 5
SECONDS = 60.0
REST_S = 180.0
THINK_S = (2.0, 6.0)
INDEXING_TIMEOUT_S = 900
P95_MS = 300.0
KINDS = {"search": 0.45, "chat": 0.2, "datasets": 0.35}
TOPICS = ("pump", "valve", "budget", "travel", "holiday", "server", "contract", "garden", "kitchen", "printer")
ENDINGS = ("is checked in spring", "costs more than last year", "needs a signature", "was moved to the cellar")


class Request(NamedTuple):
    """One request of somebody at work."""

    kind: str
    ms: float
    status: int
    degraded: bool


def main() -> None:
    """Fill the directory, let the team work, and exit with 1 when a target is missed."""
    args = arguments(__doc__ or "")
    with scratch_folder(args.scratch) as scratch:
        data_dir = scratch / "team"
        tokens = _fill(data_dir)
        with Served(data_dir, API_RATE_LIMIT="10000/second") as served:
            states = [{"when": "after the start", **_state(served.process.pid, idle=False)}]
            done = _work(str(served.client.base_url), tokens)
            states.append({"when": f"after {SECONDS:g} s of work", **_state(served.process.pid, idle=False)})
            note("rest")
            time.sleep(REST_S)
            states.append({"when": f"after {REST_S:g} s of rest", **_state(served.process.pid, idle=True)})
    kinds = [_row(kind, [each for each in done if each.kind == kind]) for kind in KINDS]
    tables = [
        (f"{AT_WORK} people, {len(done)} requests; target: p95 under {P95_MS:g} ms, none degraded", *_table(kinds)),
        ("The server", *_table(states)),
    ]
    show({"kinds": kinds, "server": states}, tables, as_json=args.json)
    if any(row["p95 ms"] > P95_MS or row["degraded"] or row["failed"] for row in kinds):
        sys.exit(1)


def _fill(data_dir: Path) -> list[dict[str, Any]]:
    """Fill a new directory, or take that of an earlier run; return who is at work: a token and dataset ids for each."""
    kept = data_dir.with_suffix(".json")
    if kept.exists():
        at_work: list[dict[str, Any]] = json.loads(kept.read_text())
        return at_work
    if data_dir.exists():
        sys.exit(f"{data_dir} is of a run that did not fill it; give a folder without it")
    dice = random.Random(7)
    with Braid(data_dir, shared_dbs=data_dir / "shared_dbs.json") as braid:
        shared = [
            braid.registry.add(f"Shared {number}", f"shared_{number % SHARED_COLLECTIONS}").id
            for number in range(SHARED)
        ]
        braid.mirror_registry()
        for dataset_id in shared:
            _put(braid.ledger, dataset_id, 1, dice)
        people = []
        for number in range(PEOPLE):
            user = braid.ledger.add_user(f"person {number}")
            own = braid.ledger.add_dataset(user.id, "notes")
            _put(braid.ledger, own.id, 2, dice)
            people.append((user.id, own.id))
        note("filled")
        if not braid.indexer.wait(INDEXING_TIMEOUT_S):
            sys.exit(f"not indexed within {INDEXING_TIMEOUT_S} s")
        note("indexed")
        if not braid.indexer.wait(INDEXING_TIMEOUT_S, ["chroma"]):
            sys.exit(f"not copied to Chroma within {INDEXING_TIMEOUT_S} s")
        note("copied")
    with DataDirectory(data_dir) as directory:
        tokens = ApiTokens(directory.ledger)
        at_work = [
            {
                "token": tokens.add(user_id, "benchmark", ["read"], days=1)[1],
                "datasets": [own, *dice.sample(shared, DATASETS_PER_SEARCH - 1)],
            }
            for user_id, own in dice.sample(people, AT_WORK)
        ]
    kept.write_text(json.dumps(at_work), encoding="utf-8")
    return at_work


def _put(ledger: Ledger, dataset_id: int, documents: int, dice: random.Random) -> None:
    for number in range(documents):
        sentences = [f"The {dice.choice(TOPICS)} {dice.randrange(1000)} {dice.choice(ENDINGS)}." for _ in range(8)]
        chunk = ChunkInput(" ".join(sentences))
        ledger.put_document(dataset_id, DocumentInput(f"note-{number}.txt", f"Note {number}", "txt", (chunk,)))


def _work(url: str, people: Sequence[dict[str, Any]]) -> list[Request]:
    note("work")
    done: list[Request] = []
    threads = [
        threading.Thread(target=_work_alone, args=(url, person, random.Random(number), done))
        for number, person in enumerate(people)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def _work_alone(url: str, person: dict[str, Any], dice: random.Random, done: list[Request]) -> None:
    until = time.monotonic() + SECONDS
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {person['token']}"}, timeout=60) as client:
        while True:
            time.sleep(dice.uniform(*THINK_S))
            if time.monotonic() > until:
                return
            done.append(_ask(client, dice.choices(list(KINDS), list(KINDS.values()))[0], person, dice))


def _ask(client: httpx.Client, kind: str, person: dict[str, Any], dice: random.Random) -> Request:
    text = f"which {dice.choice(TOPICS)} {dice.choice(ENDINGS)}"
    started = time.perf_counter()
    if kind == "datasets":
        answer = client.get("/api/v1/datasets")
    elif kind == "chat":
        answer = client.post("/api/v1/chat", json={"message": text, "dataset_ids": person["datasets"]})
    else:
        answer = client.post("/api/v1/search", json={"query": text, "dataset_ids": person["datasets"]})
    ms = 1000 * (time.perf_counter() - started)
    is_degraded = answer.is_success and bool(answer.json().get("degraded"))
    return Request(kind, ms, answer.status_code, is_degraded)


def _row(kind: str, requests: Sequence[Request]) -> dict[str, Any]:
    times = percentiles([request.ms for request in requests])
    return {
        "request": kind,
        "times": len(requests),
        "p50 ms": times["p50"],
        "p95 ms": times["p95"],
        "degraded": sum(request.degraded for request in requests),
        "failed": sum(request.status != 200 for request in requests),
    }


def _state(pid: int, *, idle: bool) -> dict[str, Any]:
    """Memory, threads and files of the process; with ``idle`` also how much of a core it takes in 30 s."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    state: dict[str, Any] = {
        "RSS MB": int(lines["VmRSS"].split()[0]) // 1024,
        "threads": int(lines["Threads"]),
        "open files": len(os.listdir(f"/proc/{pid}/fd")),
        "% of a core": "",
    }
    if idle:
        before = _cpu_s(pid)
        time.sleep(30)
        state["% of a core"] = round(100 * (_cpu_s(pid) - before) / 30, 2)
    return state


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _table(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    return list(rows[0]), [list(row.values()) for row in rows]


if __name__ == "__main__":
    need(Path("/proc/self/status"))
    main()
