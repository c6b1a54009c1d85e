"""Worker processes over one data directory, whose owner is killed while clients search, write and chat.

``python -m tests.chaos.workers`` runs gunicorn with four workers and eight clients and kills the owner twice. Every
request must succeed, at most at the second try; every search must find what one process finds; and what was
acknowledged must be there in the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from braid.core.accounts.credentials import ApiTokens
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from braid.core.ledger.owners.owner import read_note
from tests.fakes import HashEmbeddings
from tests.forked_children import python
from tests.worlds import WAIT_S, document, eventually

QUESTIONS = tuple(f"how does pump {number} run" for number in range(8))
RETRY_AFTER_S = 2.0
"""As clients wait before they try again."""
NOTES, MANUALS = 1, -1
ROOT = Path(__file__).parents[2]


@dataclass
class Seen:
    """What the clients saw."""

    requests: int = 0
    retries: int = 0
    failures: list[str] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)


def prepare(data_dir: Path) -> tuple[str, dict[str, list[str]]]:
    """Fill a directory in one process; return a token, and what each question finds there."""
    with Braid(data_dir, embedding_model=HashEmbeddings()) as braid:
        ann = braid.ledger.add_user("ann").id
        notes = braid.ledger.add_dataset(ann, "notes").id
        assert notes == NOTES
        manuals = braid.registry.add("manuals", "shared_manuals").id  # nothing is written beside it: it is never behind
        assert manuals == MANUALS
        braid.mirror_registry()
        for number in range(40):
            braid.ledger.put_document(manuals, document(f"pump{number}.md", f"pump {number} runs at {number} bar"))
        assert braid.indexer.wait(WAIT_S)
        asked: dict[str, Any] = {"user_id": ann, "dataset_ids": [manuals], "fusion": "auto"}
        found = {text: [hit.passage.chunk_id for hit in braid.search(text, **asked).hits] for text in QUESTIONS}
        _, token = ApiTokens(braid.ledger).add(ann, "clients", ["read", "write"])
    return token, found


@contextmanager
def gunicorn(data_dir: Path, *arguments: str) -> Iterator[str]:
    """Run gunicorn over the host app; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "-k", "gthread", "--threads", "4"]
    environment = {**os.environ, "WORKERS_DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT)}
    process = python(
        *(*command, "--log-level", "warning", *arguments, "tests.chaos.worker_app:make_host()"), env=environment
    )
    url = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: _answers(url), WAIT_S, pause_s=0.2)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/pid", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


class WorkerClient(threading.Thread):
    """Searches, writes and chats until it is told to stop; a request that fails is tried once more."""

    def __init__(self, url: str, token: str, expected: dict[str, list[str]], seen: Seen, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._api = f"{url}/braid/api/v1"
        self._headers = {"Authorization": f"Bearer {token}"}
        self._expected = expected
        self._seen = seen
        self._stop_now = stop
        self._random = random.Random()

    def run(self) -> None:
        """Send one request after the other."""
        while not self._stop_now.is_set():
            work = self._random.choices((self._search, self._put, self._chat), (6, 2, 2))[0]
            problem = work()
            with self._seen.lock:
                self._seen.requests += 1
            if problem:
                with self._seen.lock:
                    self._seen.retries += 1
                time.sleep(RETRY_AFTER_S)
                if again := work():
                    with self._seen.lock:
                        self._seen.failures.append(f"{work.__name__}: {problem}; again: {again}")

    def _send(self, method: str, path: str, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
        try:
            answer = httpx.request(method, self._api + path, json=body, headers=self._headers, timeout=30)
        except httpx.HTTPError as error:
            return {}, type(error).__name__
        return answer.json(), "" if answer.status_code < 300 else f"{answer.status_code} {answer.text[:200]}"

    def _search(self) -> str:
        text = self._random.choice(QUESTIONS)
        found, problem = self._send("POST", "/search", {"query": text, "dataset_ids": [MANUALS]})
        if problem or found["degraded"]:
            return problem or f"degraded: {found['degraded']}"
        ids = [hit["passage"]["chunk_id"] for hit in found["hits"]]
        return "" if ids == self._expected[text] else f"other hits for {text!r}: {ids}"

    def _put(self) -> str:
        source = f"note{self._random.randrange(10**9)}.md"
        body = {"source": source, "text": f"a note called {source}"}
        _, problem = self._send("PUT", f"/datasets/{NOTES}/documents", body)
        if not problem:
            with self._seen.lock:
                self._seen.stored.add(source)
        return problem

    def _chat(self) -> str:
        body = {"message": self._random.choice(QUESTIONS), "dataset_ids": [MANUALS]}
        found, problem = self._send("POST", "/chat", body)
        if problem or found["degraded"]:
            return problem or f"degraded: {found['degraded']}"
        return "" if found["text"] and found["found"] else f"no answer: {json.dumps(found)[:200]}"


def kill_owner(data_dir: Path) -> float:
    """Kill the owner; return the seconds until another one has taken over."""
    note = eventually(lambda: _serving(data_dir), WAIT_S)
    os.kill(note, signal.SIGKILL)
    started = time.monotonic()
    eventually(lambda: _serving(data_dir) not in (None, note), WAIT_S)
    return time.monotonic() - started


def _serving(data_dir: Path) -> int | None:
    note = read_note(data_dir)
    return note.pid if note and note.opened_with else None


def run(data_dir: Path, *, workers: int, clients: int, kills: int, requests: int, more: tuple[str, ...] = ()) -> Seen:
    """Run it all: ``requests`` are made before, between and after the kills. Raises AssertionError."""
    token, expected = prepare(data_dir)
    seen, stop = Seen(), threading.Event()
    with gunicorn(data_dir, "-w", str(workers), *more) as url:
        threads = [WorkerClient(url, token, expected, seen, stop) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for number in range(kills + 1):
            wanted = seen.requests + requests
            eventually(lambda wanted=wanted: seen.requests >= wanted, WAIT_S)  # type: ignore[misc]
            if number < kills:
                print(f"owner killed; the next one answers after {kill_owner(data_dir):.2f} s", flush=True)
        stop.set()
        for thread in threads:
            thread.join(WAIT_S)
    check(data_dir, seen)
    return seen


def check(data_dir: Path, seen: Seen) -> None:
    """Raise AssertionError if a request failed twice, or something that was acknowledged is not there."""
    assert not seen.failures, seen.failures[:5]
    with DataDirectory(data_dir, embedding_model=HashEmbeddings()) as directory:
        stored = {each.source for each in directory.ledger.documents(NOTES, limit=1_000_000)}
    assert seen.stored <= stored, seen.stored - stored


def main() -> None:
    """Read the arguments, run, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--requests", type=int, default=300, help="before, between and after the kills")
    parser.add_argument("--preload", action="store_true", help="fork the workers from a parent that is the owner")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="braid-") as folder:
        started = time.monotonic()
        seen = run(
            Path(folder) / "data",
            workers=given.workers,
            clients=given.clients,
            kills=0 if given.preload else given.kills,  # with its parent gunicorn ends
            requests=given.requests,
            more=("--preload",) if given.preload else (),
        )
    print(
        f"{seen.requests} requests of {given.clients} clients to {given.workers} workers in "
        f"{time.monotonic() - started:.0f} s, {given.kills} kills: {seen.retries} retries, no failure, "
        f"{len(seen.stored)} documents stored and there"
    )


if __name__ == "__main__":
    main()
