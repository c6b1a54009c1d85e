"""Clients that put, upload, search and open pages without end, and what they were answered."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from braid.core.ledger.outages import TEXT_OF
from tests.worlds import eventually

PACE_S = 0.05
"""Pause of a client between its rounds."""
PAGES = ("/account", "/datasets", "/admin/", "/search?q=paper")
KINDS = ("put", "upload", "search", "page")
AGAIN = 3
"""Good answers of each kind after which all is well."""
GOOD = (200, 201, 202)


@dataclass(frozen=True)
class Place:
    """A server, the browser of its administrator, and the id of a dataset for the drill."""

    url: str
    cookies: Mapping[str, str]
    csrf_token: str
    dataset: int

    def client(self) -> httpx.Client:
        """Another tab of the browser."""
        headers = {"X-CSRFToken": self.csrf_token, "Accept-Language": "en"}
        return httpx.Client(base_url=self.url, cookies=dict(self.cookies), headers=headers, timeout=60)

    @property
    def documents(self) -> str:
        """The path of the dataset's documents in the API."""
        return f"/api/v1/datasets/{self.dataset}/documents"

    def items(self, path: str) -> list[dict[str, Any]]:
        """Everything that a list of the API has."""
        found: list[dict[str, Any]] = []
        with self.client() as http:
            while path:
                page = http.get(path).raise_for_status().json()
                found += page["items"]
                path = page.get("next") or ""
        return found


@dataclass(frozen=True)
class Answer:
    """One answer. ``status`` is 0 when there was none; ``said`` is then the error, of a 503 its reason."""

    kind: str
    at: float
    status: int
    retry_after: str = ""
    said: str = ""

    @property
    def is_good(self) -> bool:
        """Whether what was asked for was done."""
        return self.status in GOOD

    @property
    def text(self) -> str:
        """Kind, status and whether the client knows when to come again."""
        if self.status == 503:
            return f"{self.kind} 503 {'Retry-After' if self.retry_after else 'without Retry-After'}"
        return f"{self.kind} {self.status or self.said}"


class Load:
    """Runs from the beginning of the block to its end; ``stored`` has the sources that were acknowledged."""

    def __init__(self, place: Place, *, clients: int = 3) -> None:
        self.answers: list[Answer] = []
        self.stored: set[str] = set()
        self._place = place
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n,), daemon=True) for n in range(clients)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_well(self, since: float, seconds: float = 60) -> float:
        """Wait until each kind of request has succeeded again; return when the last one failed, or ``since``."""

        def well() -> bool:
            return all([each.is_good for each in self._since(since, kind)][-AGAIN:] == [True] * AGAIN for kind in KINDS)

        try:
            eventually(well, seconds)
        except AssertionError:
            raise AssertionError(f"not well again: {[each.text for each in self._since(since)][-40:]}") from None
        return max([since, *(each.at for each in self._since(since) if not each.is_good)])

    def wait_answered(self, since: float, seconds: float = 60) -> None:
        """Wait until requests of each kind that came after this moment have been answered, one way or another."""
        eventually(lambda: all(len(self._since(since, kind)) >= AGAIN for kind in KINDS), seconds)

    def _since(self, moment: float, *kinds: str) -> Sequence[Answer]:
        return [each for each in list(self.answers) if each.at >= moment and each.kind in (kinds or KINDS)]

    def _run(self, client: int) -> None:
        pages = itertools.cycle(PAGES)
        with self._place.client() as http:
            for number in itertools.count(1):
                if self._stop.is_set():
                    return
                put, sent, path = f"{client}-{number}.txt", f"{client}-{number}.md", self._place.documents
                body = {"source": put, "text": f"Paper {put} lies in the tray."}
                if self._ask("put", http, "PUT", path, json=body):
                    self.stored.add(put)
                if self._ask("upload", http, "POST", path, files={"file": (sent, f"Paper {sent} lies in the tray.")}):
                    self.stored.add(sent)
                self._ask("search", http, "POST", "/api/v1/search", json={"query": "paper"})
                self._ask("page", http, "GET", next(pages), headers={"Accept": "text/html"})
                self._stop.wait(PACE_S)

    def _ask(self, kind: str, http: httpx.Client, method: str, path: str, **options: Any) -> bool:
        try:
            answer = http.request(method, path, **options)
        except httpx.HTTPError as error:
            self.answers.append(Answer(kind, time.monotonic(), 0, said=type(error).__name__))
            return False
        said = _reason(answer) if answer.status_code >= 500 else ""
        retry_after = answer.headers.get("Retry-After", "")
        found = Answer(kind, time.monotonic(), answer.status_code, retry_after, said)
        self.answers.append(found)
        return found.is_good


def _reason(answer: httpx.Response) -> str:
    """Return what a refusal says: the API's detail, or of a page the outage that it names."""
    if "json" in answer.headers.get("Content-Type", ""):
        return str(answer.json()["detail"])
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)).casefold()
    return next((words for words in TEXT_OF.values() if words.casefold() in text), text[:200])
