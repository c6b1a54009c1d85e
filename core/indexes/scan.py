"""Scans of several collections, with the help of a second thread while a processor is free for it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress

from braid.core.indexes.vector_block import Found, Probe, Selection
from braid.core.indexes.vector_files import Loaded

Processor = Callable[[], AbstractContextManager[bool]]
"""Says whether the block has a processor for itself."""

ROWS_TO_SHARE = 20_000
"""Rows from which on two threads scan: handing work to another one takes as long as scanning 3,000."""


def always() -> AbstractContextManager[bool]:
    """Return the `Processor` of a process that has enough of them."""
    return nullcontext(True)


class Scanner:
    """Scans for searches in any thread. A second thread helps one of them while it gets a ``processor``."""

    def __init__(self, processor: Processor) -> None:
        self._processor = processor
        self._scanning = threading.Lock()
        """Held by the first of the searches that scan at the same time."""
        self._helper = ThreadPoolExecutor(1, "braid-scan")

    def nearest(
        self, where: Mapping[str, tuple[Loaded, Selection]], probe: Probe, k: int, *, sample: int
    ) -> dict[str, list[Found]]:
        """Return `Loaded.nearest` of several collections."""
        found: dict[str, list[Found]] = {}
        left = deque(where.items())

        def scan_one() -> bool:
            try:
                collection, (loaded, selection) = left.popleft()
            except IndexError:  # the other thread was faster
                return False
            found[collection] = loaded.nearest(probe, k, selection, sample=sample)
            return True

        def help_scan() -> None:
            while left:
                with self._processor() as is_free:
                    if not is_free or not scan_one():
                        return

        helper, is_alone = None, self._scanning.acquire(blocking=False)
        try:
            if is_alone and len(where) > 1 and sum(loaded.rows for loaded, _ in where.values()) >= ROWS_TO_SHARE:
                with suppress(RuntimeError):  # it has just been closed
                    helper = self._helper.submit(help_scan)
            while scan_one():
                pass
            if helper is not None and len(found) < len(where):
                helper.result()
        finally:
            left.clear()  # there is something left only where this thread has failed
            if helper is not None:
                helper.cancel()
            if is_alone:
                self._scanning.release()
        return {collection: found[collection] for collection in where}

    def close(self) -> None:
        """End the second thread."""
        self._helper.shutdown(wait=True, cancel_futures=True)
