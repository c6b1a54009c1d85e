"""The link to the process that owns the indexes: pooled connections, deadlines, and the search for the next owner."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from braid.core.errors import IndexUnavailableError
from braid.core.ledger.owners.owner import OwnerNote, read_note
from braid.core.workers.endpoint import GREETING_S, WELCOME
from braid.core.workers.wire import receive, receive_bytes, send

MOST_CALLS = 64
"""Calls of one process at a time; further ones wait for their turn."""
MOST_IDLE = 16
"""Connections that are kept open."""
CALL_S = 10.0
"""Longest time to wait for an answer."""
ANSWER_S = {"ids": 120.0, "check": 120.0}
"""Longer for methods that read a whole index, which only the doctor calls."""
PATIENCE_S = 5.0
"""Longest time to wait for an owner: one that was killed is replaced within about a second."""
RETRY_S = 0.05


class Link:
    """Calls the owner from any thread. ``on_lost`` is called whenever no owner answers.

    Raises what the call raises, and IndexUnavailableError when no owner answers in time.
    """

    def __init__(self, data_dir: Path, on_lost: Callable[[], object] = lambda: None) -> None:
        self._data_dir = data_dir
        self._on_lost = on_lost
        self._idle: list[socket.socket] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(MOST_CALLS)
        self._closed = False

    def call(
        self, name: str, /, *arguments: Any, answer_s: float = CALL_S, patience_s: float = PATIENCE_S, **options: Any
    ) -> Any:
        """Return what the owner's function returns within ``answer_s``.

        While there is no owner, or if it dies meanwhile, the next one is called for up to ``patience_s``.
        """
        deadline = time.monotonic() + patience_s
        if not self._places.acquire(timeout=max(RETRY_S, patience_s)):
            raise IndexUnavailableError(f"{MOST_CALLS} calls of this process wait for the owner of the indexes")
        try:
            while True:
                try:
                    is_value, answer = self._ask((name, arguments, options), answer_s)
                except TimeoutError:
                    raise IndexUnavailableError(
                        f"the process that owns the indexes did not answer within {answer_s:g} s"
                    ) from None
                except (OSError, EOFError, UnpicklingError) as error:
                    self._wait_for_an_owner(deadline, error)
                    continue
                if is_value:
                    return answer
                raise answer
        finally:
            self._places.release()

    def part(self, name: str) -> FarPart:
        """Return an object whose methods are called at the owner's part with this name."""
        return FarPart(self, name)

    def close(self) -> None:
        """Close the connections. Calls that wait for an owner give up."""
        with self._lock:
            self._closed = True
        self.forget()

    def forget(self) -> None:
        """Close the connections that no call uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def forget_in_child(self) -> None:
        """Close this process's copies of the connections, in the child of a fork."""
        for connection in self._idle:
            connection.close()

    def _wait_for_an_owner(self, deadline: float, error: Exception) -> None:
        self.forget()
        if self._closed or time.monotonic() >= deadline:
            raise IndexUnavailableError(
                f"no process has the indexes of {str(self._data_dir)!r} open, or it does not answer: "
                f"{type(error).__name__}"
            ) from None
        self._on_lost()
        time.sleep(RETRY_S)

    def _ask(self, call: tuple[str, tuple[Any, ...], dict[str, Any]], answer_s: float) -> tuple[bool, Any]:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or _connect(read_note(self._data_dir))
        try:
            connection.settimeout(answer_s)
            send(connection, call)
            is_value, answer = receive(connection)
        except BaseException:
            connection.close()
            raise
        with self._lock:
            is_kept = not self._closed and len(self._idle) < MOST_IDLE
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()
        return is_value, answer


class FarPart:
    """An object of the owner: its methods are called there."""

    def __init__(self, link: Link, name: str) -> None:
        self._link = link
        self._name = name

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("_"):
            raise AttributeError(method)
        return partial(self._link.call, f"{self._name}.{method}", answer_s=ANSWER_S.get(method, CALL_S))


def _connect(note: OwnerNote | None) -> socket.socket:
    """Return a connection to the owner. Raises OSError or EOFError when it does not answer."""
    if note is None or not note.address:
        raise ConnectionRefusedError("no owner is noted")
    host, _, port = note.address.rpartition(":")
    if host == "127.0.0.1":
        connection = socket.create_connection((host, int(port)), GREETING_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    else:
        connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(GREETING_S)
        if host != "127.0.0.1":
            connection.connect(note.address)
        connection.sendall(note.secret.encode())
        if receive_bytes(connection, len(WELCOME)) != WELCOME:
            raise ConnectionRefusedError("something else answers there")
    except TimeoutError as error:  # it is stopped, or hopelessly busy: not what a call's own time is meant for
        connection.close()
        raise ConnectionRefusedError("the owner does not greet") from error
    except BaseException:
        connection.close()
        raise
    return connection
