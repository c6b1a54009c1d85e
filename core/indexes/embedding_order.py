"""The order in which passages are embedded: small documents first, so that none waits behind a book."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from braid.core.ledger.change_log import ChangeLog

CHUNKS_PER_READ = 4096
CHUNKS_PER_TURN = 64
"""More than can be embedded in one turn."""
LOG_EVERY = 4
"""Each such turn follows the change log, so that a large document goes on however many small ones come."""
LEAST_REST_S = 1.0
RESTS = 10
"""A reading is followed by a rest of so many times its duration, so that it takes little of the time: where 200,000
passages wait, it takes a second, and the log is followed until the next one.
"""


class EmbeddingOrder:
    """Chooses which passages of one collection are embedded next, ahead of the change log. Used by one thread."""

    def __init__(self, changes: ChangeLog, collection: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._changes = changes
        self._collection = collection
        self._clock = clock
        self._waiting: deque[str] = deque()
        self._rest_until = self._read_until = 0.0
        self._turn = 0
        self.ahead: set[str] = set()
        """Passages that were embedded before the log came to them."""
        self.set_aside: set[str] = set()
        """Passages that the model refused, which are left to the log."""

    def next_turn(self, applied_seq: int, model: str) -> list[str]:
        """Return the ids to embed now; empty when it is the log's turn.

        ``applied_seq`` is how far the index has followed the log, ``model`` the fingerprint of the wanted model.
        """
        self._turn += 1
        if self._turn % LOG_EVERY == 0:
            return []
        if self._clock() >= (self._read_until if self._waiting else self._rest_until):
            self._read(applied_seq, model)
        return [self._waiting[place] for place in range(min(CHUNKS_PER_TURN, len(self._waiting)))]

    def done(self, tried: int, embedded: set[str]) -> None:
        """Take the first ``tried`` ids of the turn from those that wait; others than ``embedded`` were refused."""
        for _ in range(tried):
            chunk_id = self._waiting.popleft()
            (self.ahead if chunk_id in embedded else self.set_aside).add(chunk_id)

    def passed(self, chunk_ids: set[str]) -> None:
        """Forget passages that the log has come to."""
        self.ahead -= chunk_ids
        self.set_aside -= chunk_ids

    def _read(self, applied_seq: int, model: str) -> None:
        started = self._clock()
        found = self._changes.unembedded_changes(self._collection, applied_seq, model, CHUNKS_PER_READ)
        self._waiting = deque(chunk_id for chunk_id in found if chunk_id not in self.set_aside)
        finished = self._clock()
        self._rest_until = finished + RESTS * (finished - started)
        self._read_until = max(self._rest_until, finished + LEAST_REST_S)
