"""Watches one folder of the file system and calls back after its changes."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable
from typing import Self

from watchdog.events import (
    EVENT_TYPE_CLOSED_NO_WRITE,
    EVENT_TYPE_OPENED,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

QUIET_S = 0.5
"""Seconds without a change before the callback runs: changes come in bursts."""
LONGEST_WAIT_S = 5.0
"""Longest wait, in seconds, for the end of a burst."""
LOOK_S = 0.2
RESCAN_S = 300.0
"""Seconds between two calls without changes: the system loses events when there are too many."""


class RegularWatch:
    """Calls back every `RESCAN_S` seconds, for what cannot say that it has changed."""

    def __init__(self) -> None:
        self.stopping = False

    def follow(self, on_change: Callable[[], object]) -> None:
        """Call ``on_change`` now and again and again, until `stop`."""
        while not self.stopping:
            on_change()
            end = time.monotonic() + RESCAN_S
            while not self.stopping and time.monotonic() < end:
                time.sleep(LOOK_S)

    def stop(self) -> None:
        """End `follow` after the running callback, within a second; safe in any signal handler."""
        self.stopping = True


class FolderWatch(FileSystemEventHandler):
    """Watches a folder within a ``with`` block. Raises OSError when the system cannot watch it.

    A folder that is mounted or made in its place later is watched from then on.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._changed = threading.Event()
        self.stopping = False
        self._last_change = 0.0
        self._observer = Observer()
        self._watched = _identity(folder)
        self._observer.schedule(self, folder, recursive=True)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Note a change. Opening or reading a file is not a change."""
        if event.event_type not in (EVENT_TYPE_OPENED, EVENT_TYPE_CLOSED_NO_WRITE):
            self._last_change = time.monotonic()
            self._changed.set()

    def follow(self, on_change: Callable[[], object]) -> None:
        """Call ``on_change`` now and after changes, until `stop`."""
        while not self.stopping:
            self._changed.clear()
            on_change()
            self._wait_for_change()
            self._wait_for_quiet()

    def stop(self) -> None:
        """End `follow` after the running callback, within a second.

        Safe in any thread and any signal handler: it takes no lock that the interrupted thread might hold.
        """
        self.stopping = True

    def _wait_for_change(self) -> None:
        end = time.monotonic() + RESCAN_S
        while not self.stopping and time.monotonic() < end and not self._changed.wait(LOOK_S):
            if _identity(self._folder) != self._watched:
                self._watch_again()
                return

    def _watch_again(self) -> None:
        """Watch the folder that is there now: the system reports no event when a folder is replaced or removed."""
        self._observer.unschedule_all()
        self._watched = _identity(self._folder)
        if self._watched is None:
            return
        try:
            self._observer.schedule(self, self._folder, recursive=True)
        except FileNotFoundError:  # gone again; `_wait_for_change` notices the next one
            self._watched = None

    def _wait_for_quiet(self) -> None:
        end = time.monotonic() + LONGEST_WAIT_S
        while not self.stopping and time.monotonic() < min(end, self._last_change + QUIET_S):
            time.sleep(LOOK_S)

    def __enter__(self) -> Self:
        # watchdog warns at length when folders come and go quickly; nothing is wrong then
        warnings.filterwarnings("ignore", message="Callback with id", category=RuntimeWarning)
        self._observer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._observer.stop()
        self._observer.join()


def _identity(folder: str) -> tuple[int, int] | None:
    """Return device and inode, which differ for another folder of the same name; None without a folder."""
    try:
        stat = os.stat(folder)
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino)
