"""A cache of limited size, from which the least recently used entry goes first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LeastRecentlyUsed(Generic[Key, Value]):
    """At most ``size`` values by key. Safe to use from several threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, key: Key) -> Value | None:
        """Return the value, which is then the most recently used one; None when it is not kept."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: Key, value: Value) -> Value:
        """Keep the value, and return it. Evicts what was not used for the longest time."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
            return value

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value, made if it is not kept. Threads wait, so that none is made twice."""
        with self._lock:
            kept = self.get(key)
            return self.put(key, make()) if kept is None else kept
