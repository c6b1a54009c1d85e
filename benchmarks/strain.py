"""Strain by others, as much as they may and more: what another user's searches and the probes take meanwhile."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from benchmarks.common import arguments, note, percentiles, scratch_folder, show
from benchmarks.strain_clients import Plan
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens
from braid.core.data_directory import DataDirectory
from braid.core.types import ChunkInput, DocumentInput
from tests.served import Served

SECONDS = 15.0
SEARCH_EVERY_S, PROBE_EVERY_S = 0.1, 0.05
PHASES = (
    ("4 users × 32 slow uploads", "uploads", 128),
    ("100 slow streams of 4 users", "streams", 100),
    ("32 × explain of one user", "explain", 32),
    ("32 × k = 1,000 of one user", "thousand", 32),
    ("32 × chat, k = 1,000, of one user", "chats", 32),
    ("24 forms of 180,000 fields", "forms", 24),
    ("110 sign-ins, each from elsewhere", "sign_ins", 110),
)
"""What is said of a strain, its function in `benchmarks.strain_clients`, and how many clients it has."""
TIMEOUT_S, SETTLE_S = 15.0, 60.0
SEARCH_P95_S, HEALTH_S, MEMORY_MB = 0.5, 0.2, 1000
USERS = 5
DOCUMENTS, PASSAGES = 40, 50
COLUMNS = (
    "phase",
    "searches",
    "p50 ms",
    "p95 ms",
    "p95 : quiet",
    "/healthz ms",
    "memory MB",
    "over after s",
    "missed",
    "answered",
)
QUIET_SEARCHES = 10
"""Searches one after the other of which none takes twice as long as the slowest did before: the strain is over."""


def main() -> None:
    """Measure quiet and under each strain, and exit with 1 when an aim is missed."""
    args = arguments(__doc__ or "", add=_options)
    rows: list[dict[str, Any]] = []
    with scratch_folder(args.scratch) as scratch, _model() as url:
        settings: dict[str, Any] = {
            "API_RATE_LIMIT": "100000/second",
            "TRUSTED_PROXIES": 1,
            "SUMMARY_MODEL": "openai:slow",
            "SUMMARY_MODEL_BASE_URL": url,
            "SUMMARY_MODEL_API_KEY": "none",
        }
        with Served(scratch / "data", **settings) as served:
            plan, key = _prepare(served)
            _measure(served, key, 3)
            rows.append({"phase": "quiet", **_measure(served, key, args.seconds), "answers": {}, "over after s": 0.0})
            for phase, kind, count in PHASES:
                if args.only and kind not in args.only:
                    continue
                note(phase)
                with _clients(kind, count, plan) as answers:
                    figures = _measure(served, key, args.seconds)
                over = _settle(served, key, rows[0]["p95 ms"])
                rows.append({"phase": phase, **figures, "answers": answers, "over after s": over})
    for row in rows:
        row["p95 : quiet"] = row["p95 ms"] / rows[0]["p95 ms"]
        row["missed"] = ", ".join(_missed(row)) or "–"
        row["answered"] = ", ".join(f"{count} × {status}" for status, count in row["answers"].items())
    aims = f"aims: searches p95 under {SEARCH_P95_S:g} s, /healthz under {HEALTH_S:g} s, memory under {MEMORY_MB} MB"
    show({"phases": rows}, [(aims, COLUMNS, [[row[name] for name in COLUMNS] for row in rows])], as_json=args.json)
    if any(_missed(row) for row in rows):
        sys.exit(1)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"of each strain ({SECONDS:g})")
    parser.add_argument("--only", nargs="+", choices=[kind for _, kind, _ in PHASES], help="these strains alone")


def _missed(row: dict[str, Any]) -> list[str]:
    found = {
        "searches": row["p95 ms"] > 1000 * SEARCH_P95_S,
        "/healthz": row["/healthz ms"] > 1000 * HEALTH_S,
        "memory": row["memory MB"] > MEMORY_MB,
    }
    return [name for name, is_missed in found.items() if is_missed]


# ---------------------------------------------------------------- what is there


def _prepare(served: Served) -> tuple[Plan, str]:
    """Make the users of the plan, and another one who searches; return the plan and the key of that one."""
    with DataDirectory(served.data_dir) as directory:
        ledger, accounts, tokens = directory.ledger, Accounts(directory.ledger), ApiTokens(directory.ledger)
        users = []
        for number in range(USERS):
            user = accounts.add(f"strain {number}")
            if number == 0:
                accounts.set_preferences(user.id, {"summary_model": "none"})
            dataset = ledger.add_dataset(user.id, "valves").id
            ledger.put_document(dataset, DocumentInput("a.txt", "a", "txt", (ChunkInput("The valve is blue."),)))
            users.append((tokens.add(user.id, "strain", ["read", "write"], days=1)[1], dataset))
        for number in range(DOCUMENTS):
            chunks = tuple(ChunkInput(_passage(number * PASSAGES + each)) for each in range(PASSAGES))
            ledger.put_document(users[0][1], DocumentInput(f"{number}.txt", f"Manual {number}", "txt", chunks))
        other = tokens.add(accounts.add("searcher").id, "searches", ["read"], days=1)[1]
    body = {"query": "printer tray", "dataset_ids": [users[0][1]]}
    with _api(served, users[0][0]) as http:
        note("waiting for the index")
        while (found := http.post("/search", json=body).json())["degraded"] or not _is_ready(served):
            time.sleep(1)
        hits = found["hits"]
    return Plan(served.port, users, hits[0]["passage"]["chunk_id"]), other


def _passage(number: int) -> str:
    return (
        f"Printer {number} shows an error when tray {number % 17} is empty and valve {number % 23} is open. "
        f"Close the valve, fill the tray with paper of {number % 90 + 60} grams, and start it again. "
    ) * 3


def _is_ready(served: Served) -> bool:
    return bool(served.client.get("/status.json").json()["state"] == "ready")


def _api(served: Served, key: str) -> httpx.Client:
    address = f"http://127.0.0.1:{served.port}/api/v1"
    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_S)


@contextmanager
def _model() -> Iterator[str]:
    """A slow chat model in a process of its own; its address."""
    with _child("model") as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


@contextmanager
def _clients(kind: str, count: int, plan: Plan) -> Iterator[dict[str, int]]:
    """The clients of one kind at work; at the end, how often they were answered with which status."""
    answers: dict[str, int] = {}
    with _child(kind, str(count), json.dumps(asdict(plan))) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "begun\n", "the clients do not start"
        time.sleep(1)
        yield answers
        process.stdin.close()
        answers |= json.loads(process.stdout.readline())


@contextmanager
def _child(*given: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.strain_clients", *given]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


# ---------------------------------------------------------------- what it costs


def _measure(served: Served, key: str, seconds: float) -> dict[str, Any]:
    """Search as another user, and ask the probe beside it; return milliseconds, and the server's most memory in MB."""
    until, searches, probes, memory = time.monotonic() + seconds, list[float](), list[float](), list[int]()

    def probe() -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", timeout=TIMEOUT_S) as http:
            while time.monotonic() < until:
                probes.append(_ms(lambda: http.get("/healthz")))
                memory.append(_memory_mb(served.process.pid))
                time.sleep(PROBE_EVERY_S)

    prober = threading.Thread(target=probe)
    prober.start()
    with _api(served, key) as http:
        while time.monotonic() < until:
            body = {"query": f"how are passages {len(searches)} found", "dataset_ids": [-1]}
            searches.append(_ms(lambda body=body: http.post("/search", json=body)))  # type: ignore[misc]
            time.sleep(SEARCH_EVERY_S)
    prober.join()
    found = percentiles(searches)
    return {
        "searches": len(searches),
        "p50 ms": found["p50"],
        "p95 ms": found["p95"],
        "/healthz ms": max(probes),
        "memory MB": max(memory),
    }


def _settle(served: Served, key: str, quiet_ms: float) -> float:
    """Wait until searches take no longer than before the strain; return the seconds, at most a minute.

    What the clients had asked for and left may still be at work: it is none of the next strain's.
    """
    started, quiet = time.monotonic(), 0
    with _api(served, key) as http:
        while quiet < QUIET_SEARCHES and time.monotonic() - started < SETTLE_S:
            body = {"query": f"is it over after {time.monotonic()}", "dataset_ids": [-1]}
            took_ms = _ms(lambda body=body: http.post("/search", json=body))  # type: ignore[misc]
            quiet = quiet + 1 if took_ms <= 2 * quiet_ms else 0
            time.sleep(SEARCH_EVERY_S)
    return time.monotonic() - started - QUIET_SEARCHES * SEARCH_EVERY_S


def _ms(ask: Callable[[], httpx.Response]) -> float:
    """Return the milliseconds of a request; those of `TIMEOUT_S` for one that is not answered, or refused."""
    started = time.perf_counter()
    try:
        ask().raise_for_status()
    except httpx.HTTPError:
        return 1000 * TIMEOUT_S
    return 1000 * (time.perf_counter() - started)


def _memory_mb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
