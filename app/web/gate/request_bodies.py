"""Request bodies between uvicorn and Flask: read without a thread, in time, and no more of them than there is room for.

A short body is read before the app is asked. The app is asked about a long one first, without it: what it refuses by
the head alone, such as a sender without an account, is never read. When it asks for the body it are left, the body is
read, in memory up to a bound and then into a file without a name, and the app is asked again.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NoReturn

from flask import g, request
from werkzeug.exceptions import (
    ClientDisconnected,
    RequestTimeout,
    ServiceUnavailable,
    TooManyRequests,
)

from braid.app.auth.identity import signed_in
from braid.core.ledger.outages import Outage, log_outage

ASGI = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]

SHORT_BYTES = 64 * 1024
"""Longest body that is read before the app is asked."""
MEMORY_BYTES = 256 * 1024
"""Bytes of a longer body that stay in memory; the rest is written to a file, as many at a time."""
LOOK_BYTES = 16 * 2**20
"""Written bytes after which the free disk space is looked at again."""
OF_A_USER = 32
OF_STRANGERS = 32
IN_ALL = 256
"""Long bodies that are read at once."""
ASKED_AGAIN = "braid.asked_again"
"""Key of the WSGI environment: the app has been asked about this request before, up to where it wanted the body."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long bodies may take."""

    silent_s: float = 30.0
    """Longest wait for the next byte, in seconds."""
    whole_s: float = 15.0
    """Seconds for the whole body, with one more for each ``bytes_per_s`` bytes received."""
    bytes_per_s: int = 4096


@dataclass(slots=True)
class Room:
    """Where long bodies are kept while they are read, and how many there may be. One object per server."""

    folder: Path | None = None
    """Folder of the files without a name; None is the system's own folder."""
    least_free_bytes: int = 0
    of_a_user: int = OF_A_USER
    of_strangers: int = OF_STRANGERS
    in_all: int = IN_ALL
    patience: Patience = field(default_factory=Patience)
    files: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4, thread_name_prefix="braid-body"))
    """Threads that write: a slow disk keeps neither the event loop nor a request waiting."""
    _read: Counter[int | None] = field(default_factory=Counter)

    @contextmanager
    def place(self, user_id: int | None) -> Iterator[None]:
        """Count one more body that is read. Raises TooManyRequests and ServiceUnavailable."""
        most = self.of_strangers if user_id is None else self.of_a_user
        if self._read[user_id] >= most and user_id is not None:
            raise TooManyRequests(f"{most} of your uploads are being received; wait for one")
        if self._read[user_id] >= most or self._read.total() >= self.in_all:
            raise ServiceUnavailable("too many uploads are being received; try again soon")
        self._read[user_id] += 1
        try:
            yield
        finally:
            self._read[user_id] -= 1
            if not self._read[user_id]:
                del self._read[user_id]

    def require_disk(self, more_bytes: int) -> None:
        """Raise ServiceUnavailable when so many bytes leave less of the disk than has to stay free."""
        left = shutil.disk_usage(self.folder or tempfile.gettempdir()).free - more_bytes
        if left < self.least_free_bytes:
            log_outage(logger, Outage("disk_full", f"{left // 2**20} MiB would be left"), "an upload")
            raise ServiceUnavailable("the disk of the server is almost full; tell the administrator")


class BodyWanted(BaseException):  # no Exception: nothing between the app's first read and the server handles it
    """The app has asked for a body that is not read yet: who sends it, and the longest that the app will take."""

    def __init__(self, user_id: int | None, most: int) -> None:
        super().__init__()
        self.user_id = user_id
        self.most = most


class Unread:
    """A body that is not read yet. Whoever reads it leaves the app by `BodyWanted`."""

    def _leave(self, *_: object) -> NoReturn:
        if trace := g.pop("braid_trace", None):
            trace.close()
        found, most = signed_in(), request.max_content_length
        raise BodyWanted(found.account.id if found else None, sys.maxsize if most is None else most)

    read = readline = readlines = __iter__ = _leave


class Body:
    """The body of one request. What is slow raises RequestTimeout, and what breaks off ClientDisconnected."""

    def __init__(self, scope: Any, receive: Any, room: Room) -> None:
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"")
        self.is_whole = self._is_given = False
        self._declared = int(declared) if declared.isdigit() else None
        self._waits = headers.get(b"expect", b"").lower() == b"100-continue"
        self._receive = receive
        self._room = room
        self._patience = room.patience
        self._started = asyncio.get_running_loop().time()
        self._size = self._looked = 0
        self._held = bytearray()
        self._file: IO[bytes] | None = None

    async def read_short(self) -> None:
        """Read a body of at most `SHORT_BYTES`, or the beginning of one of unknown length."""
        if self._declared is None and self._waits:  # to receive would ask for it
            return
        if self._declared is None or self._declared <= SHORT_BYTES:
            await self._read(SHORT_BYTES)

    async def read(self, user_id: int | None, most: int) -> None:
        """Read the rest for this user, and of more than ``most`` bytes only so much that the app sees it.

        Raises TooManyRequests and ServiceUnavailable when there is no room.
        """
        self._started = asyncio.get_running_loop().time()
        with self._room.place(user_id):
            await self._read(most)
            if self._file is not None:
                await self._write()
        self.is_whole = True

    async def receive(self) -> Any:
        """Return what was read as one message, for an ASGI app, and then what comes after it."""
        if self._is_given:
            return await self._receive()
        self._is_given = True
        if self._file is not None:
            self._file.seek(0)
        return {"type": "http.request", "body": self._file.read() if self._file else bytes(self._held)}

    def given_to(self, environ: dict[str, Any]) -> None:
        """Put what was read into a WSGI environment, which then knows its length."""
        if not self.is_whole:
            environ["wsgi.input"] = Unread()
            environ["wsgi.input_terminated"] = True
            return
        if self._file is not None:
            self._file.seek(0)
        environ["wsgi.input"] = self._file or BytesIO(bytes(self._held))
        if environ.pop("HTTP_TRANSFER_ENCODING", None) or self._declared is not None:
            environ["CONTENT_LENGTH"] = str(self._size)

    def close(self) -> None:
        """Forget what was read."""
        self._held.clear()
        if self._file is not None:
            self._file.close()

    async def gone(self) -> None:
        """Return when the client has gone. The body must be whole."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _read(self, most: int) -> None:
        while not self.is_whole and self._size <= most:
            message = await self._next()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected("the body broke off; send it again")
            self._held += message.get("body", b"")
            self._size += len(message.get("body", b""))
            self.is_whole = not message.get("more_body", False)
            if len(self._held) > MEMORY_BYTES:
                await self._write()

    async def _write(self) -> None:
        loop, held = asyncio.get_running_loop(), bytes(self._held)
        self._held.clear()

        def write() -> None:
            if self._file is None or self._size - self._looked > LOOK_BYTES:
                self._looked = self._size
                self._room.require_disk((self._declared or 0) - self._size)
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._room.folder)  # noqa: SIM115  # `close` closes it
            self._file.write(held)

        await loop.run_in_executor(self._room.files, write)

    async def _next(self) -> Any:
        until = self._started + self._patience.whole_s + self._size / self._patience.bytes_per_s
        left_s = min(self._patience.silent_s, until - asyncio.get_running_loop().time())
        try:
            async with asyncio.timeout(max(0.0, left_s)):
                return await self._receive()
        except TimeoutError:
            raise RequestTimeout("the body came too slowly; send it again") from None
