"""What a stranger's 5 MB of code and 200 slow connections cost others: probes and another user's searches meanwhile."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import httpx

from benchmarks.common import arguments, note, percentiles, scratch_folder, show
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens
from braid.core.data_directory import DataDirectory
from tests.served import Served

SECONDS = 20.0
EVERY_S = 0.1
CODE = "a<b<" * 1_249_000
"""Held a parser for minutes, with 16 GB of memory."""
CONNECTIONS = 200
SENDER = """
import itertools, json, sys, httpx
url, key, code = sys.argv[1], sys.argv[2], sys.stdin.read()
headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
for n in itertools.count():
    arguments = {"text": f"{code}\\n{n}", "filepath": "evil.cpp", "file_type": "cpp"}
    params = {"name": "put_document", "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    httpx.post(url, json=call, headers=headers, timeout=120).raise_for_status()
"""
SLOW_BODY = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\na"
HEALTH_S = 1.0
SEARCH_RATIO = 2.0
COLUMNS = ("phase", "searches", "search p50 ms", "search p95 ms", "p50 : quiet", "slowest probe ms")


def main() -> None:
    """Measure quiet, under either attack, and exit with 1 when a target is missed."""
    args = arguments(__doc__ or "")
    with scratch_folder(args.scratch) as scratch, Served(scratch / "data", API_RATE_LIMIT="10000/second") as served:
        key = _attacker(served)
        _measure("warm", served, _nothing)
        phases = [
            _measure("quiet", served, _nothing),
            _measure("5 MB of code by MCP, again and again", served, lambda ended: _send_code(served, key, ended)),
            _measure(f"{CONNECTIONS} slow bodies", served, lambda ended: _hold(served, ended)),
        ]
    for phase in phases:
        phase["p50 : quiet"] = float(phase["search p50 ms"]) / float(phases[0]["search p50 ms"])
    title = f"targets: probes under {HEALTH_S:g} s, searches under {SEARCH_RATIO:g} times quiet"
    show({"phases": phases}, [(title, COLUMNS, [[p[c] for c in COLUMNS] for p in phases])], as_json=args.json)
    slow = (float(p["slowest probe ms"]) > 1000 * HEALTH_S or float(p["p50 : quiet"]) > SEARCH_RATIO for p in phases)
    if any(slow):
        sys.exit(1)


def _attacker(served: Served) -> str:
    """The token of another user than the one who searches."""
    with DataDirectory(served.data_dir) as directory:
        user = Accounts(directory.ledger).add("attacker")
        directory.ledger.add_dataset(user.id, "evil")
        return ApiTokens(directory.ledger).add(user.id, "evil", ["read", "write"], days=1)[1]


def _measure(phase: str, served: Served, attack: Callable[[threading.Event], None]) -> dict[str, str | float]:
    note(phase)
    searches, probes = list[float](), list[float]()
    with _running(attack), httpx.Client(base_url=str(served.client.base_url), timeout=60) as prober:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            query = {"q": f"printer tray {len(searches)}", "d": "-1"}
            searches.append(_ms(lambda query=query: served.client.get("/search", params=query)))  # type: ignore[misc]
            probes += [_ms(lambda path=path: prober.get(path)) for path in ("/healthz", "/readyz")]  # type: ignore[misc]
            time.sleep(EVERY_S)
    found = percentiles(searches)
    return {
        "phase": phase,
        "searches": len(searches),
        "search p50 ms": found["p50"],
        "search p95 ms": found["p95"],
        "slowest probe ms": max(probes),
    }


def _ms(ask: Callable[[], httpx.Response]) -> float:
    started = time.perf_counter()
    ask().raise_for_status()
    return 1000 * (time.perf_counter() - started)


@contextmanager
def _running(attack: Callable[[threading.Event], None]) -> Iterator[None]:
    ended = threading.Event()
    thread = threading.Thread(target=attack, args=(ended,))
    thread.start()
    time.sleep(1)
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _nothing(ended: threading.Event) -> None:
    pass


def _send_code(served: Served, key: str, ended: threading.Event) -> None:
    """Send from a process of its own: 5 MB written here would hold up the searches that are measured."""
    arguments = (f"{served.client.base_url}/mcp", key)
    with subprocess.Popen([sys.executable, "-c", SENDER, *arguments], stdin=subprocess.PIPE, text=True) as sender:
        assert sender.stdin is not None
        sender.stdin.write(CODE)
        sender.stdin.close()
        while not ended.wait(0.1):
            assert sender.poll() is None, "the attacker was refused"
        sender.kill()


def _hold(served: Served, ended: threading.Event) -> None:
    """Connections that have sent one byte of a body; one that the server closes is opened again."""
    with ExitStack() as stack:
        while not ended.is_set():
            held = [
                stack.enter_context(socket.create_connection(("127.0.0.1", served.port))) for _ in range(CONNECTIONS)
            ]
            for each in held:
                each.sendall(SLOW_BODY)
            ended.wait(10)
            stack.close()


if __name__ == "__main__":
    main()
