"""Pages of PDF files as pictures, drawn once and remembered on the disk."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from braid.core.data_directory import PRIVATE
from braid.core.ingest.parse_pool import PagePicture

Draw = Callable[[Path, int], PagePicture]


class PagePictures:
    """A folder of pictures by content and page; the oldest go when there are more than ``most_mb`` MiB.

    ``draw`` draws a page in another process.
    """

    def __init__(self, folder: Path, *, most_mb: int = 200) -> None:
        self._folder = folder
        self._most_bytes = most_mb * 2**20

    def get(
        self,
        path: Path,
        content_hash: str,
        number: int,
        draw: Draw,
        *,
        turn: int = 0,
        hold: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext,
    ) -> PagePicture:
        """Return the page of the file at ``path``, whose bytes have this hash, and which ``draw`` turns by so many
        degrees, within ``hold``: another may have drawn the page while one waited for that. Raises as both do.
        """
        kept = self._folder / (f"{content_hash}-{number}-{turn}" if turn else f"{content_hash}-{number}")
        if there := _load(kept):
            return there
        with hold():
            if there := _load(kept):
                return there
            drawn = draw(path, number)
            with contextlib.suppress(OSError):  # without room it is drawn again the next time
                self._save(kept, drawn)
            return drawn

    def sweep(self, known: Callable[[Collection[str]], Collection[str]]) -> int:
        """Delete the pictures of contents that nobody has any more; return how many.

        ``known`` returns those of some hashes that a document has.
        """
        files = self._folder.iterdir() if self._folder.is_dir() else ()
        there = {path: path.name.partition("-")[0] for path in files if not path.name.startswith(".")}
        wanted = known(set(there.values()))
        gone = [path for path, content_hash in there.items() if content_hash not in wanted]
        for path in gone:
            path.unlink(missing_ok=True)
        return len(gone)

    def _save(self, path: Path, page: PagePicture) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        self._make_room(len(page.picture))
        partial = path.with_name(f".{secrets.token_hex(8)}")
        about = json.dumps({name: value for name, value in asdict(page).items() if name != "picture"}).encode()
        try:
            partial.write_bytes(len(about).to_bytes(4, "big") + about + page.picture)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)

    def _make_room(self, more: int) -> None:
        files = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in self._folder.iterdir())
        left = sum(size for _, size, _ in files) + more
        for _, size, path in files:
            if left <= self._most_bytes:
                return
            path.unlink(missing_ok=True)
            left -= size


def _load(path: Path) -> PagePicture | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        content = path.read_bytes()
        start = 4 + int.from_bytes(content[:4], "big")
        return PagePicture(picture=content[start:], **json.loads(content[4:start]))
    return None
