"""Admission: who may use what there is little of, and who waits: keys, mostly users, in turn."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from braid.core.errors import TooManyError

LEASE_S = 0.25
"""Time after which a place counts as free if its thread waits for something and does not compute."""
COMPUTES = 0.01
"""Part of that time that a thread needs on a processor to count as one that computes."""
QUANTUM_S = 0.02
"""Time after which a request gives way to another user's between two stages; most searches need less in all."""
RECENTLY_S = 1.0
"""Time after which a user who was here counts as gone."""
LONGEST_S = 30.0
"""Longest time that a request waits for a place, where it has no limit of its own."""
NOBODY, NO_KEY = object(), object()


class Stay:
    """One request of a key, from `Admission.ask` to `Admission.leave`."""

    __slots__ = ("clock_id", "grant", "key", "since", "used")

    def __init__(self, key: Hashable, grant: Callable[[], object], clock_id: int | None) -> None:
        self.key = key
        self.grant = grant
        self.clock_id = clock_id
        """The processor time of the thread that asked, where the system tells."""
        self.since = self.used = 0.0


class Admission:
    """Admits ``places`` requests at a time: a key at a time in turn, and first one that has nothing yet.

    ``of_one`` are the places that one key may have, ``waiting_of_one`` its requests that may wait; more are refused.
    A key takes memory only while it has requests here, and giving a place takes the same time however many wait.
    """

    def __init__(self, places: int, *, of_one: int | None = None, waiting_of_one: int | None = None) -> None:
        self._places = places
        self._of_one = places if of_one is None else of_one
        self._waiting_of_one = waiting_of_one
        self.start_over()

    def start_over(self) -> None:
        """Forget everybody, in the child of a fork: they are the parent's threads."""
        self._lock = threading.Lock()
        self._held: dict[Stay, None] = {}
        self._count: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, deque[Stay]] = {}
        self._new: dict[Hashable, None] = {}
        """Keys that wait and had nothing when they came, in order."""
        self._turn: dict[Hashable, None] = {}
        """The other keys that wait; the one whose turn is next comes first."""
        self._new_came_last = False

    def ask(self, key: Hashable, grant: Callable[[], object], *, goes_on: bool = False) -> Stay:
        """Have ``grant`` called as soon as it is the turn of this request, perhaps at once; it must not wait.

        Raises TooManyError when too many of the key's requests wait, and this one does not go on with what it was
        admitted for before. `leave` has to be called in any case else.
        """
        stay = Stay(key, grant, self._clock_id())
        with self._lock:
            self._came(key)
            queue = self._waiting.setdefault(key, deque())
            queue.append(stay)
            if len(queue) == 1:
                (self._turn if self._count[key] else self._new)[key] = None
            self._admit()
            if self._waiting_of_one is not None and not goes_on and len(queue) > self._waiting_of_one:
                self._withdraw(stay)
                most = self._waiting_of_one + self._count[key]
                raise TooManyError(f"{most} of your requests are being answered; wait for one")
        return stay

    def leave(self, stay: Stay) -> None:
        """Give the place back, or wait for it no longer. Does nothing for one that has left."""
        with self._lock:
            if stay in self._held:
                self._give_back(stay)
            elif stay in self._waiting.get(stay.key, ()):
                self._withdraw(stay)
            self._admit()

    def has(self, stay: Stay) -> bool:
        """Return whether the request has a place now."""
        return stay in self._held

    @contextmanager
    def hold(self, key: Hashable, longest_s: float) -> Iterator[bool]:
        """Hold a place until the block ends; say whether there was one within ``longest_s`` seconds.

        Raises TooManyError when too many of the key's requests wait.
        """
        stay = self._wait(key, longest_s)
        try:
            yield self.has(stay)
        finally:
            self.leave(stay)

    def _wait(self, key: Hashable, longest_s: float) -> Stay:
        turn = threading.Lock()
        turn.acquire()
        stay = self.ask(key, turn.release)
        end = time.monotonic() + longest_s
        while not turn.acquire(timeout=max(0.0, min(LEASE_S, end - time.monotonic()))):
            with self._lock:
                self._admit()  # somebody's lease may have ended
            if time.monotonic() >= end and not self.has(stay):
                self.leave(stay)
                break
        return stay

    # ------------------------------------------------------------ the caller holds the lock

    def _admit(self) -> None:
        while self._waiting and self._has_free() and (key := self._next()) is not NO_KEY:
            queue = self._waiting[key]
            stay = queue.popleft()
            if queue:
                self._turn[key] = None
            else:
                del self._waiting[key]
            self._held[stay] = None
            self._count[key] += 1
            self._begin(stay)
            stay.grant()

    def _next(self) -> Hashable:
        """Take out and return the key whose turn is next. One that had nothing passes others, not twice in a row."""
        lines = (self._turn, self._new) if self._new_came_last else (self._new, self._turn)
        for line in lines:
            for key in line:  # few are passed over: each has all the places that it may have
                if self._count[key] < self._most():
                    del line[key]
                    self._new_came_last = line is self._new and bool(self._turn)
                    return key
        return NO_KEY

    def _withdraw(self, stay: Stay) -> None:
        queue = self._waiting[stay.key]
        queue.remove(stay)
        if not queue:
            del self._waiting[stay.key]
            self._new.pop(stay.key, None)
            self._turn.pop(stay.key, None)
            self._forget(stay.key)

    def _give_back(self, stay: Stay) -> None:
        del self._held[stay]
        self._count[stay.key] -= 1
        self._forget(stay.key)

    def _forget(self, key: Hashable) -> None:
        if not self._count[key]:
            del self._count[key]

    # ------------------------------------------------------------ what `Places` does otherwise

    def _clock_id(self) -> int | None:
        return None

    def _came(self, key: Hashable) -> None: ...

    def _begin(self, stay: Stay) -> None: ...

    def _has_free(self) -> bool:
        return len(self._held) < self._places

    def _most(self) -> int:
        return self._of_one


class Places(Admission):
    """Lets so many threads compute at a time as there are processors: more would only take it from one another.

    Nobody waits for a thread that waits itself: its place counts as free after 0.25 seconds. While several users are
    about, each leaves one place to the others. A thread that holds a place already gives way where it asks again.
    """

    def __init__(self, count: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: Hashable = self
        self._several_at = float("-inf")
        super().__init__(count)

    @contextmanager
    def hold(self, key: Hashable, longest_s: float) -> Iterator[bool]:
        """Hold a place until the block ends, or until `let_go`; without one after ``longest_s`` seconds of waiting.

        Within another such block of the thread it begins a stage: the place is taken again if it was let go, and given
        to another user who waits if it was held for long. It is given back at the end of the outer block.
        """
        outer: _Hold | None = getattr(_here, "hold", None)
        if outer is not None and outer.places is self:
            if not self.has(outer.stay) or self._must_give_way(outer.stay):
                self.leave(outer.stay)
                outer.stay = self._wait(outer.stay.key, longest_s)
            yield self.has(outer.stay)
            return
        mine = _here.hold = _Hold(self, self._wait(key, longest_s))
        try:
            yield self.has(mine.stay)
        finally:
            _here.hold = outer
            self.leave(mine.stay)

    @contextmanager
    def hold_if_free(self) -> Iterator[bool]:
        """Hold a place until the block ends if one is free and nobody waits for it; say whether it is held."""
        stay = Stay(NOBODY, bool, self._clock_id())
        with self._lock:
            if is_free := not self._waiting and self._has_free():
                self._held[stay] = None
                self._count[NOBODY] += 1
                self._begin(stay)
        try:
            yield is_free
        finally:
            self.leave(stay)

    def _must_give_way(self, stay: Stay) -> bool:
        with self._lock:
            waits = len(self._waiting) - (stay.key in self._waiting) > 0
            return waits and self._clock() - stay.since >= QUANTUM_S

    def _came(self, key: Hashable) -> None:
        if key != self._last:
            self._several_at = self._clock() if self._last is not self else self._several_at
            self._last = key

    def _most(self) -> int:
        several = self._clock() - self._several_at < RECENTLY_S
        return max(1, self._places - 1) if several else self._places

    def _begin(self, stay: Stay) -> None:
        stay.since, stay.used = self._clock(), _processor_s(stay.clock_id)

    def _has_free(self) -> bool:
        if len(self._held) < self._places:
            return True
        now = self._clock()
        for stay in [each for each in self._held if now - each.since >= LEASE_S]:
            used = _processor_s(stay.clock_id)
            if used - stay.used < COMPUTES * (now - stay.since):
                self._give_back(stay)
            else:
                stay.since, stay.used = now, used
        return len(self._held) < self._places

    def _clock_id(self) -> int | None:
        read: Any = getattr(time, "pthread_getcpuclockid", None)
        return None if read is None else read(threading.get_ident())


class _Hold:
    """The place of a thread, from the beginning of its block to the end."""

    def __init__(self, places: Places, stay: Stay) -> None:
        self.places = places
        self.stay = stay


_here = threading.local()


def let_go() -> None:
    """Give back the place that this thread holds, if any, before it waits for something; its next stage takes one."""
    hold: _Hold | None = getattr(_here, "hold", None)
    if hold is not None and hold.places.has(hold.stay):  # looked at without the lock: it is asked at each piece of text
        hold.places.leave(hold.stay)


def give_way() -> None:
    """Begin another stage of what this thread does in its place, if it has one: others who wait may come first."""
    hold: _Hold | None = getattr(_here, "hold", None)
    if hold is not None:
        with hold.places.hold(hold.stay.key, LONGEST_S):
            pass


def _processor_s(clock_id: int | None) -> float:
    """Return the time that the thread has had on a processor; 0.0 where the system does not tell, or it has ended."""
    try:
        return 0.0 if clock_id is None else time.clock_gettime(clock_id)
    except OSError:
        return 0.0
