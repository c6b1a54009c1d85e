"""Many chat answers at once and many searches beside them, against the app as it is served, over real HTTP."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.common import arguments, note, percentiles, scratch_folder, show
from braid.core.accounts.accounts import Accounts
from braid.core.data_directory import DataDirectory
from tests.model_server import model_server

STREAMS, SEARCHES = 50, 16
SECONDS = 60
USERS = 5
PASSWORD = "correct horse"
WORDS, WORD_PAUSE_S = 60, 0.05
ANSWER = "The two rankings are **fused by rank** [1]. " + " ".join(f"word{n}" for n in range(WORDS))
QUESTIONS = (
    "How are the two rankings fused?",
    "What happens when a dataset is deleted?",
    "データセットを削除するとどうなりますか",
    "파일을 읽을 수 없을 때는 어떻게 하나요?",
)
START_TIMEOUT_S = 180


@dataclass
class Figures:
    """What the clients measured, in milliseconds by kind. Safe to add to from several threads."""

    took: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, **kinds: float) -> None:
        """Milliseconds of one request."""
        with self.lock:
            for kind, milliseconds in kinds.items():
                self.took.setdefault(kind, []).append(milliseconds)

    def fail(self, reason: str) -> None:
        """One request that was not answered as it should be."""
        with self.lock:
            self.errors[reason[:120]] += 1


def main() -> None:
    """Start the app, let the clients work, print what they saw. Exits with 1 when anything failed."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--seconds", type=float, default=SECONDS, help=f"how long ({SECONDS})")

    args = arguments(f"{STREAMS} chat streams and {SEARCHES} searching clients at once.", add=add)
    with scratch_folder(args.scratch) as scratch, model_server(ANSWER) as model:
        model.delay_s = WORD_PAUSE_S
        _make_users(scratch / "streams")
        with _served(scratch / "streams", model.url) as (url, pid):
            clients = [_signed_in(url, f"user{number}") for number in range(USERS)]
            _wait_until_indexed(clients[0])
            _ask(clients[0], QUESTIONS[0], Figures())  # loads the model's package, which takes seconds
            figures, memory = _work(clients, pid, args.seconds)
    _print(figures, memory, args)
    if figures.errors:
        sys.exit(1)


def _work(clients: list[httpx.Client], pid: int, seconds: float) -> tuple[Figures, int]:
    """All clients at once; returns the figures and the most memory that the server had, in bytes."""
    figures, until = Figures(), time.monotonic() + seconds
    note(f"{STREAMS} streams and {SEARCHES} searching clients for {seconds:g} s")
    work = [_chat] * STREAMS + [_search] * SEARCHES
    browsers = itertools.cycle(clients)
    threads = [threading.Thread(target=act, args=(next(browsers), figures, until), daemon=True) for act in work]
    for thread in threads:
        thread.start()
    most = 0
    while any(thread.is_alive() for thread in threads):
        most = max(most, _memory(pid))
        time.sleep(0.5)
    return figures, most


def _chat(client: httpx.Client, figures: Figures, until: float) -> None:
    """Ask one question after another, each in a conversation of its own, and read the answers to their end."""
    for question in itertools.cycle(QUESTIONS):
        if time.monotonic() >= until:
            return
        try:
            _ask(client, question, figures)
        except httpx.HTTPError as error:
            figures.fail(f"chat: {type(error).__name__}: {error}")


def _ask(client: httpx.Client, question: str, figures: Figures) -> None:
    started, first_text, last = time.perf_counter(), 0.0, ""
    data = {"text": question, "d": ["-1"]}
    with client.stream("POST", "/chat/messages", data=data, headers={"Accept": "text/event-stream"}) as response:
        if response.status_code != 200:
            figures.fail(f"chat: status {response.status_code}: {response.read().decode()}")
            return
        for line in response.iter_lines():
            if line.startswith("event: "):
                last = line.removeprefix("event: ")
                if last == "text" and not first_text:
                    first_text = time.perf_counter()
    ended = time.perf_counter()
    if last != "answer" or not first_text:
        figures.fail(f"chat: the last event is {last!r}")
    else:
        figures.add(**{"first words": 1000 * (first_text - started), "whole answer": 1000 * (ended - started)})


def _search(client: httpx.Client, figures: Figures, until: float) -> None:
    for question in itertools.cycle(QUESTIONS):
        if time.monotonic() >= until:
            return
        started = time.perf_counter()
        try:
            response = client.get("/search", params={"q": question, "d": "-1"})
        except httpx.HTTPError as error:
            figures.fail(f"search: {type(error).__name__}: {error}")
            continue
        if response.status_code != 200 or 'id="hit-1"' not in response.text:
            figures.fail(f"search: status {response.status_code}, or nothing found")
        else:
            figures.add(search=1000 * (time.perf_counter() - started))


def _print(figures: Figures, memory: int, args: argparse.Namespace) -> None:
    rows: list[list[Any]] = []
    for kind, took in figures.took.items():
        found = percentiles(took)
        rows.append([kind, len(took), found["p50"], found["p95"]])
    failed = sum(figures.errors.values())
    result = {
        "seconds": args.seconds,
        "rows": rows,
        "errors": dict(figures.errors),
        "rss_mb": memory / 2**20,
    }
    title = f"{STREAMS} chat streams and {SEARCHES} searching clients, {args.seconds:g} s"
    ends = [["errors", failed], ["most memory of the server, MB", memory / 2**20]]
    show(
        result,
        [(title, ["what", "requests", "p50 ms", "p95 ms"], rows), ("In all", ["what", "figure"], ends)],
        as_json=args.json,
    )
    for reason, times in figures.errors.most_common():
        note(f"{times} × {reason}")


# ---------------------------------------------------------------- the app


def _make_users(data_dir: Path) -> None:
    with DataDirectory(data_dir) as braid:
        accounts = Accounts(braid.ledger)
        if accounts.need_setup():
            accounts.create_first("admin", PASSWORD)
            for number in range(USERS):
                accounts.add(f"user{number}", PASSWORD)


@contextmanager
def _served(data_dir: Path, model_url: str) -> Iterator[tuple[str, int]]:
    """The app in a process of its own: its address and process id."""
    environment = {
        **os.environ,
        "BRAID_DATA_DIR": str(data_dir),
        "BRAID_SHARED_DBS": str(data_dir / "shared_dbs.json"),
        "BRAID_PORT": str(_free_port()),
        "BRAID_SUMMARY_MODEL": "openai:benchmark",
        "BRAID_SUMMARY_MODEL_BASE_URL": model_url,
        "BRAID_SUMMARY_MODEL_API_KEY": "none",
        "BRAID_LOG_LEVEL": "WARNING",
    }
    command = [sys.executable, "-m", "app", "serve"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = next((line for line in process.stdout if "ready" in line), "")
            found = re.search(r"http://\S+", ready)
            if not found:
                sys.exit(f"the app did not start: {ready}")
            yield found[0], process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _signed_in(url: str, name: str) -> httpx.Client:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    client = httpx.Client(base_url=url, timeout=60, limits=limits)
    data = {"name": name, "password": PASSWORD, "csrf_token": _token(client, "/login")}
    response = client.post("/login", data=data)
    if response.status_code != 302:
        sys.exit(f"{name} cannot sign in: status {response.status_code}")
    client.headers["X-CSRFToken"] = _token(client, "/chat")  # once: it is made with the first page of a session
    return client


def _token(client: httpx.Client, path: str) -> str:
    found = re.search(r'name="csrf[-_]token" (?:content|value)="([^"]+)"', client.get(path).text)
    assert found, f"{path} has no token"
    return found[1]


def _wait_until_indexed(client: httpx.Client) -> None:
    note("waiting for the index")
    deadline = time.monotonic() + START_TIMEOUT_S
    while json.loads(client.get("/status.json").text)["state"] != "ready":
        if time.monotonic() > deadline:
            sys.exit("the sample is not indexed in time")
        time.sleep(1)


def _memory(pid: int) -> int:
    """Resident memory in bytes."""
    with open(f"/proc/{pid}/statm", "rb") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
