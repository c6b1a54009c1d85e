"""One user's way to the fleet: each request goes to another web process, and what comes back is judged."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from tests.chaos.fleet.machines import Fleet, Process
from tests.chaos.fleet.outages import Outages
from tests.chaos.oracle import LIMITS, Figures, reason_of

TIMEOUT_S = 90.0
"""Longer than an answer takes whose parts have all the time that they may have."""
NOBODY_S = 0.1
LOOK_AGAIN_S = 0.3


@dataclass
class FleetFigures(Figures):
    """Counted over all clients."""

    leaked: list[str] = field(default_factory=list)
    """What a user was shown and may not read."""
    silent: list[str] = field(default_factory=list)
    """Answers that lack something and do not say so."""
    unrefused: list[str] = field(default_factory=list)
    """Answers other than 503 while the database was not there."""
    hanging: list[str] = field(default_factory=list)
    """Answers to questions that do not end."""
    refused: int = 0
    """Requests that were answered with 503 while the database was not there, or just after."""
    named: int = 0
    """Searches that said that something was missing while Milvus was not there."""
    checked_s: list[float] = field(default_factory=list)
    """How long each check of a client took until all was found, and nothing was said to be missing."""
    broken_off: int = 0
    """Requests without an answer because their process was killed."""

    def add(self, kind: str, what: str) -> None:
        """Note a fault of this kind."""
        with self.lock:
            getattr(self, kind).append(f"{datetime.now(UTC):%H:%M:%S} {what}")


class Caller:
    """Asks as a user with an API token. ``owners`` are the first words of texts that the user may see."""

    def __init__(
        self, fleet: Fleet, outages: Outages, figures: FleetFigures, *, key: str, owners: Collection[str]
    ) -> None:
        self.fleet, self.outages, self.figures = fleet, outages, figures
        self.owners = tuple(owners)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = httpx.Client(timeout=TIMEOUT_S, limits=LIMITS, headers=headers)
        self._turn = itertools.count(random.randrange(100))

    def next_web(self, *, but: Process | None = None) -> Process:
        """Return the next web process that answers, another one than this where there is another."""
        while not (webs := self.fleet.webs):
            time.sleep(NOBODY_S)
        others = [each for each in webs if each is not but] or webs
        return others[next(self._turn) % len(others)]

    def ask(
        self,
        kind: str,
        method: str,
        path: str,
        *,
        at: Process | None = None,
        expected: Collection[int] = (),
        again: bool = False,
        **options: Any,
    ) -> httpx.Response:
        """Send a request; with ``again`` once more where the process was killed, as proxies do with what only reads.

        Raises httpx.HTTPError when there is no answer, or one that is neither of success nor ``expected``.
        """
        while True:
            web, started = at or self.next_web(), time.monotonic()
            try:
                with self.judged(kind, web):
                    response = self.http.request(method, f"{web.url}{path}", **options)
            except httpx.HTTPError:
                if again and at is None and web.was_down(started, time.monotonic()):
                    continue
                raise
            self.judge(kind, web, started, response, expected=expected)
            if response.status_code not in expected:
                response.raise_for_status()
            with self.figures.lock:
                self.figures.acknowledged[kind] += 1
            return response

    @contextmanager
    def judged(self, kind: str, web: Process) -> Iterator[None]:
        """Note a request that is not answered. It may be so when its process was killed, and never otherwise."""
        started = time.monotonic()
        try:
            yield
        except httpx.TransportError as error:
            with self.figures.lock:
                if web.was_down(started, time.monotonic()):
                    self.figures.broken_off += 1
                else:
                    self.figures.errors[f"{kind}: {type(error).__name__} of {web.name}"] += 1
            raise

    def judge(
        self, kind: str, web: Process, started: float, response: httpx.Response, *, expected: Collection[int] = ()
    ) -> None:
        """Note an answer that should be another one."""
        ended, status = time.monotonic(), response.status_code
        what = f"{kind} at {web.name}: {status}"
        if self.outages.covered("postgres", started, ended) and status != 503:
            self.figures.add("unrefused", what)
        if status == 503 and self.outages.touched("postgres", started, ended):
            with self.figures.lock:
                self.figures.refused += 1
        elif status >= 400 and status not in expected:
            with self.figures.lock:
                self.figures.errors[f"{kind}: {status} {reason_of(response)}"] += 1
        elif status < 300 and "json" in response.headers.get("Content-Type", ""):
            self._judge_content(what, response.json(), started, ended)

    def _judge_content(self, what: str, content: Any, started: float, ended: float) -> None:
        if not isinstance(content, dict) or "degraded" not in content:
            return
        texts = [each["text"] for each in content.get("citations", ())]
        texts += [hit["passage"]["text"] for hit in content.get("hits", ())]
        for text in texts:
            if not text.startswith(self.owners):
                self.figures.add("leaked", f"{what}: {text[:60]!r} to one who may see {self.owners}")
        search = content.get("search", content)
        # without collections there was nothing that the user may read
        if search["collections"] and self.outages.covered("milvus", started, ended):
            if content["degraded"] and not search["answered"]:
                with self.figures.lock:
                    self.figures.named += 1
            else:
                self.figures.add("silent", f"{what} while Milvus is not there: nothing is said to be missing")
