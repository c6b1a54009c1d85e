"""Clients at work, each in a thread of its own, and processes that are killed meanwhile."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import httpx

from tests.chaos.fleet.clients import FleetClient
from tests.chaos.fleet.leases import Leases
from tests.chaos.fleet.machines import Fleet

PAUSE_S = (2.0, 8.0)
"""Between two kills."""
CHECK_S = (25.0, 45.0)
"""Between two checks of a client, which go on while others write and processes are killed."""
REST_S = (0.0, 0.3)
"""Between two operations of a client: two computers' processors are one machine's here."""


@contextmanager
def writing(clients: Sequence[FleetClient]) -> Iterator[None]:
    """Have the clients work until the end of the block."""
    ended = threading.Event()

    def write(client: FleetClient) -> None:
        due = time.monotonic() + client.dice.uniform(*CHECK_S)
        while not ended.is_set():
            client.act()
            if time.monotonic() > due:
                client.check()
                due = time.monotonic() + client.dice.uniform(*CHECK_S)
            ended.wait(client.dice.uniform(*REST_S))

    def write_safely(client: FleetClient) -> None:
        try:
            write(client)
        except (httpx.HTTPError, AssertionError, KeyError, ValueError) as error:  # of the client's own
            client.caller.figures.add("hanging", f"{client.name} ended with {type(error).__name__} {error}")
            raise

    threads = [threading.Thread(target=write_safely, args=(client,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


class Killer:
    """Kills a random process every few seconds, from `start` to `stop`; one web process at least goes on to answer."""

    def __init__(self, fleet: Fleet, leases: Leases, dice: random.Random) -> None:
        self.kills: dict[str, int] = {}
        self.resting = threading.Event()
        """While it is set, nothing is killed."""
        self._fleet, self._leases, self._dice = fleet, leases, dice
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._dice.uniform(*PAUSE_S)):
            if self.resting.is_set():
                continue
            webs = self._fleet.webs
            alone = webs[0] if len(webs) == 1 else None
            victim = self._dice.choice([each for each in self._fleet.processes if each is not alone])
            number = self._fleet.kill(victim)
            self._leases.killed(victim.name, number)
            self.kills[victim.name] = self.kills.get(victim.name, 0) + 1
