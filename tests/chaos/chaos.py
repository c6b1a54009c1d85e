"""The course of events: write, break, write on, check."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx

from tests.chaos.doctor import Doctor
from tests.chaos.faults import Faults
from tests.chaos.oracle import CATCH_UP_S, Client
from tests.chaos.report import Report
from tests.chaos.server import Server

FIRST_DOCUMENTS = 15
"""Per client."""
CALM_S = (1.0, 4.0)
"""Of writing before each fault."""
AFTER_S = 1.5
FROZEN_S = 30.0
MORE_THREADS, MORE_FILES = 30, 40
"""Beyond what one process had after its first fault: a leak."""


class Chaos:
    """One server and its clients. Set ``faults`` before the first round."""

    faults: Faults

    def __init__(
        self, server: Server, clients: list[Client], doctor: Doctor, report: Report, dice: random.Random
    ) -> None:
        self.server, self.clients, self.doctor, self.report, self.dice = server, clients, doctor, report, dice
        self._held: tuple[int, int] | None = None

    def begin(self) -> None:
        """Start the server, make the datasets, and put the first documents into them."""
        self.restart()

        def begin(client: Client) -> None:
            client.begin()
            for _ in range(FIRST_DOCUMENTS):
                client.put()

        with ThreadPoolExecutor(len(self.clients)) as pool:
            list(pool.map(begin, self.clients))

    def restart(self) -> None:
        """Start the server, and have the clients speak to it once it is ready."""
        self.server.start()
        self.report.ready_s.append(self.server.wait_ready())
        self._held = None
        for client in self.clients:
            client.connect(self.server.url)
        self.doctor.connect(self.server.url)

    def round(self, name: str) -> None:
        """Write, break, write on, and check."""
        fault: Callable[[], None] = getattr(self.faults, name)
        with self._writing():
            time.sleep(self.dice.uniform(*CALM_S))
            for client in self.clients:
                client.is_fault_on.set()
            fault()
            over = time.monotonic()
            time.sleep(AFTER_S)
        for client in self.clients:
            client.is_fault_on.clear()
        try:
            self._check()
        except (RuntimeError, httpx.HTTPError) as error:
            self.report.frozen.append(f"after {name}: {type(error).__name__} {error}; the log has the stacks")
            self.server.dump_stacks()
            self.server.kill()
            self.restart()
            self._check()
        self.report.whole_s[name].append(time.monotonic() - over)
        self._compare_held(name)

    def end(self) -> None:
        """Stop the server as a service manager does, and ask the doctor of the command line."""
        self.server.stop()
        if said := self.server.doctor():
            self.report.unsound.append(f"at the end: {said}")

    def _check(self) -> None:
        """Raises RuntimeError, or httpx.HTTPError, when the server does not answer."""
        self.server.wait_ready(FROZEN_S)
        with ThreadPoolExecutor(len(self.clients)) as pool:
            list(pool.map(Client.check, self.clients))
        until = time.monotonic() + CATCH_UP_S
        while said := self.doctor.findings():
            print(f"    the doctor waits for: {said}", flush=True)
            if time.monotonic() > until:
                self.report.unsound.append(said)
                break
            time.sleep(5)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        ended = threading.Event()

        def write(client: Client) -> None:
            while not ended.is_set():
                client.act()

        threads = [threading.Thread(target=write, args=(client,)) for client in self.clients]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def _compare_held(self, name: str) -> None:
        now = self.server.held()
        before = self._held = self._held or now
        threads, files = now[0] - before[0], now[1] - before[1]
        self.report.growth = max(self.report.growth[0], threads), max(self.report.growth[1], files)
        if threads > MORE_THREADS or files > MORE_FILES:
            self.report.leaks.append(
                f"after {name}: {now[0]} threads and {now[1]} files, before {before[0]} and {before[1]}"
            )
