"""Several processes that serve one port: forked before anything is opened, started again when one dies."""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import threading
import time
from dataclasses import dataclass

from braid.core.errors import InvalidInputError

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 30.0
"""Shortest and longest time before a process is started for one that died soon after its own start."""
SOON_S = 10.0
STOP_S = 30.0
"""Time that the processes have to end; then they are killed."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Worker:
    """One of the processes that serve the port, as this process sees itself."""

    is_first: bool
    """Whether this process opens the data directory before the others."""
    ready: int
    """The file descriptor to which this process writes a byte as soon as it answers; negative for none."""

    def say_ready(self) -> None:
        """Let the parent start the others."""
        if self.ready >= 0:
            os.write(self.ready, b"r")
            os.close(self.ready)


def fork_workers(count: int) -> Worker | None:
    """Fork ``count`` processes, and return in each of them. Return None in the parent, once it was told to stop and all
    have ended.

    The first one answers before the others are started; when it ends before that, the parent ends like it. A process
    whose parent is gone is told to stop. Raises InvalidInputError where processes cannot be forked.
    """
    if not hasattr(os, "fork"):
        raise InvalidInputError(
            f"workers is {count}, but this system cannot fork processes; leave it out, or set it to 1", field="workers"
        )
    return _Parent(count).run()


class _Parent:
    def __init__(self, count: int) -> None:
        self._count = count
        self._started: dict[int, float] = {}
        self._stopping = False
        self._lifeline = os.pipe()
        self._pause_s = FIRST_PAUSE_S

    def run(self) -> Worker | None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        listening, ready = os.pipe()
        if worker := self._fork(ready):
            os.close(listening)
            return worker
        os.close(ready)
        is_ready = False
        while not is_ready:
            select.select([listening], [], [])
            is_ready = bool(os.read(listening, 1))
            if not is_ready:  # it has ended, and said why
                (pid,) = self._started
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                if self._stopping:
                    return None
                sys.exit(status if status > 0 else 1)
        os.close(listening)
        while not self._stopping:
            while len(self._started) < self._count:
                if worker := self._fork(-1):
                    return worker
            self._wait_for_an_end()
        self._end()
        return None

    def _fork(self, ready: int) -> Worker | None:
        """Return the worker in the child, None in the parent."""
        pid = os.fork()
        if pid:
            self._started[pid] = time.monotonic()
            return None
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.close(self._lifeline[1])
        threading.Thread(
            target=_end_with_the_parent, args=(self._lifeline[0],), name="braid-parent", daemon=True
        ).start()
        return Worker(is_first=ready >= 0, ready=ready)

    def _wait_for_an_end(self) -> None:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            time.sleep(FIRST_PAUSE_S)
            return
        started = self._started.pop(pid, 0.0)
        if self._stopping:
            return
        log.warning("event=worker_ended pid=%d status=%d", pid, os.waitstatus_to_exitcode(status))
        if time.monotonic() - started < SOON_S:
            time.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        else:
            self._pause_s = FIRST_PAUSE_S

    def _stop(self, _number: int, _frame: object) -> None:
        self._stopping = True
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        for pid in list(self._started):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                self._started.pop(pid, None)

    def _end(self) -> None:
        self._signal(signal.SIGTERM)  # also those that were being started when it was told to stop
        deadline = time.monotonic() + STOP_S
        while self._started:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            self._started.pop(pid, None)
            if not pid:
                time.sleep(FIRST_PAUSE_S)
            if time.monotonic() > deadline:
                log.error("event=stop_overdue pids=%s", sorted(self._started))
                self._signal(signal.SIGKILL)
                deadline += STOP_S


def _end_with_the_parent(lifeline: int) -> None:
    os.read(lifeline, 1)  # nobody writes: it ends with the parent
    os.kill(os.getpid(), signal.SIGTERM)
