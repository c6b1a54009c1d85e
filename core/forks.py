"""Forks: what has threads, locks or connections gives them up before, or starts over in the child.

Only the thread that forks lives on in the child; a lock that another one held stays locked there for ever, and an open
database must not cross a fork at all.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import IO, Protocol

logger = logging.getLogger(__name__)


class Forking(Protocol):
    """What is told of forks. A method ``before_fork`` is called in the parent, if there is one, to get ready."""

    def after_fork(self, *, in_child: bool) -> None:
        """Go on in the parent, or start over in the child."""


class Use:
    """Counts the threads that use something, so that a fork can wait until none does. A context manager."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._threads = 0
        self._is_stopped = False

    def __enter__(self) -> None:
        with self._changed:
            while self._is_stopped:
                self._changed.wait()
            self._threads += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._threads -= 1
            if self._is_stopped:
                self._changed.notify_all()

    def stop(self, patience_s: float) -> None:
        """Let nobody begin, and wait until all have ended, at most ``patience_s``."""
        with self._changed:
            self._is_stopped = True
            self._changed.wait_for(lambda: not self._threads, patience_s)

    def go_on(self) -> None:
        """Let those go on that wait."""
        with self._changed:
            self._is_stopped = False
            self._changed.notify_all()


def let_go(*streams: IO[bytes] | None) -> None:
    """Lead this process's copies of a parent's pipes nowhere, so that their other end sees the parent's end.

    Closing them would write what the parent has not sent yet.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        for stream in streams:
            if stream is not None and not stream.closed:
                os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)


_numbers = itertools.count()
_told: weakref.WeakValueDictionary[int, Forking] = weakref.WeakValueDictionary()


def tell_of_forks(this: Forking) -> None:
    """Tell the object of each fork from now on as long as it lives; in the child in the order of these calls."""
    _told[next(_numbers)] = this


def _all() -> list[Forking]:
    return [this for _, this in sorted(_told.items())]


def _before() -> None:
    for this in reversed(_all()):
        _call(getattr(this, "before_fork", _nothing))


def _nothing() -> None: ...


def _call(tell: Callable[[], object]) -> None:
    """Tell one; what it raises keeps no other one from being told, whose lock would stay locked in the child."""
    try:
        tell()
    except Exception:
        logger.exception("something was not ready for a fork")


def _in_parent() -> None:
    for this in _all():
        _call(partial(this.after_fork, in_child=False))


def _in_child() -> None:
    for this in _all():
        _call(partial(this.after_fork, in_child=True))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
