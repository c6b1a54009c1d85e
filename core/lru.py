"""What is kept: values in a cache of limited size, the least recently used going first, and computed attributes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, Self, TypeVar, overload

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
T = TypeVar("T")


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


class lazy(Generic[T]):  # used as a decorator
    """Compute an attribute when it is first read; two threads that read it at once may both compute it.

    `functools.cached_property` of Python 3.11 has one lock for all objects of a class, and holds it while one computes.
    A thread that the garbage collector then has wait for another one, which needs the same lock, would wait for ever.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        """Return the value, which the object then has itself."""
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value
