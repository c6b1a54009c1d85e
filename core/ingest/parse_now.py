"""What a request carries, parsed while it waits: few at a time, users in turn, in the processes of a `ParsePool`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from braid.core.admission import Admission
from braid.core.errors import Reason, TooManyError
from braid.core.ingest.exports.export_form import Manifest
from braid.core.ingest.incoming import Incoming, Parse
from braid.core.ingest.parse_pool import PagePicture, ParsePool, ParserUnavailableError
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.spool import Spool
from braid.core.types import DocumentInput

ANSWER_S = 30.0
"""Longest time to wait for a place, and again for the parsed document."""
PAGE_S = 10.0
"""Longest time to draw a page."""
MAX_PER_USER = 4
"""Requests of one user that may wait or be parsed at a time; each holds a thread of the server."""


class ParseNow:
    """Parses for requests. One user has one place at a time, so their slow text never takes the places of others."""

    def __init__(self, pool: ParsePool, spool: Spool, *, places: int = 0, wait_s: float = ANSWER_S) -> None:
        self._pool = pool
        self._spool = spool
        places = places or max(2, (os.cpu_count() or 1) // 2)
        self._admission = Admission(places, of_one=1, waiting_of_one=MAX_PER_USER - 1)
        self._wait_s = wait_s

    def of_user(self, user_id: int) -> Parse:
        """The function that parses documents in memory for this user.

        It raises ParserUnavailableError when it is not this user's turn in time.
        """
        return partial(self._parse, user_id)

    def read_manifest(self, user_id: int, path: Path, *, max_bytes: int) -> Manifest:
        """Read the manifest of an exported dataset. Raises as `ParsePool.read_manifest`, and as `of_user`."""
        with self.turn(user_id):
            return self._pool.read_manifest(path, max_bytes=max_bytes)

    def draw_page(self, path: Path, number: int, *, filename: str, turn: int = 0) -> PagePicture:
        """Draw a page of a PDF or image file, in a user's `turn`. Raises as `ParsePool.draw_page`."""
        return self._pool.draw_page(path, number, filename=filename, timeout_s=PAGE_S, turn=turn)

    def _parse(self, user_id: int, incoming: Incoming, options: IngestOptions) -> DocumentInput:
        with self.turn(user_id), self._spool.temporary(incoming.content or b"") as path:
            return self._pool.parse(replace(incoming, path=path, content=None), options, timeout_s=self._wait_s)

    @contextmanager
    def turn(self, user_id: int, *, waits: bool = True) -> Iterator[None]:
        """Hold this user's place until the block ends. Raises as `of_user`, at once unless it ``waits``."""
        with ExitStack() as turn:
            try:
                is_admitted = turn.enter_context(self._admission.hold(user_id, self._wait_s if waits else 0.0))
            except TooManyError:
                raise ParserUnavailableError(
                    Reason("%(most)s texts of yours are being read; send this one after them", most=MAX_PER_USER)
                ) from None
            if not is_admitted:
                raise ParserUnavailableError(Reason("others are being read; send this again in a moment"))
            yield
