"""Uploaded files: stored under random names until their job is done, with sanitized display names."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import shutil
import unicodedata
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, Self

from braid.core.errors import FilesUnavailableError, InvalidInputError, NotFoundError, Reason
from braid.core.files.bucket import Bucket
from braid.core.files.lost import Lost, Rules, with_times
from braid.core.ingest.plan import source_name
from braid.core.ledger.durable import owner_only, sync_folder
from braid.core.ledger.outages import log_failure

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory

UPLOADS = "uploads"
MAX_SOURCE_CHARS = 1000
BLOCK_BYTES = 1 << 20
_NAME = re.compile(r"[0-9a-f]{32}")
_PARTIAL = ".part"
_DRIVE = re.compile(r"[A-Za-z]:")
_DIRECTIONS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks of writing direction, which can make ``exe.pdf`` look like ``fdp.exe``."""

logger = logging.getLogger(__name__)


class Readable(Protocol):
    """A stream of bytes, such as an upload."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; empty at the end."""
        ...


@dataclass(frozen=True, slots=True)
class SpooledFile:
    """A file in the spool. ``name`` is random; the job has the name that the user gave."""

    name: str
    size_bytes: int


class Spool:
    """A folder of files that jobs have yet to read, or users have yet to download.

    With a bucket they are there, and the folder has only what is being written. What the bucket cannot do now raises
    FilesUnavailableError.
    """

    def __init__(self, folder: Path, bucket: Bucket | None = None) -> None:
        self._folder = folder
        self._bucket = bucket
        self._lost = Lost(folder.parent, UPLOADS, bucket)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @classmethod
    def of(cls, directory: DataDirectory) -> Self:
        """Return the spool of a data directory."""
        return cls(directory.data_dir / UPLOADS, directory.bucket)

    def save(self, stream: Readable, *, max_bytes: int, called: str = "the file") -> SpooledFile:
        """Store a stream, whole or not at all. Raises InvalidInputError, which names the limit, when it is too long.

        ``called`` is the file's name in that message.
        """

        def copy(file: IO[bytes]) -> None:
            left = max_bytes
            while block := stream.read(min(BLOCK_BYTES, left + 1)):
                left -= len(block)
                if left < 0:
                    raise too_large(called, max_bytes)
                file.write(block)

        return self.write(copy)

    def write(self, fill: Callable[[IO[bytes]], object]) -> SpooledFile:
        """Store what ``fill`` writes into the given file, whole or not at all; only this system user can read it."""
        name = secrets.token_hex(16)
        partial = self._folder / (name + _PARTIAL)
        try:
            with open(partial, "x+b", opener=owner_only) as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
                size = os.fstat(file.fileno()).st_size
            if self._bucket is not None:
                self._bucket.add(partial, _key(name))
            else:
                os.replace(partial, self._folder / name)
                sync_folder(self._folder)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        return SpooledFile(name, size)

    @contextlib.contextmanager
    def temporary(self, content: bytes) -> Iterator[Path]:
        """The path of a file with this content, which is deleted afterwards; only this system user can read it."""
        path = self._folder / secrets.token_hex(16)
        try:
            with open(path, "xb", opener=owner_only) as file:
                file.write(content)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def path(self, name: str) -> Path:
        """Return the path of a file. Raises NotFoundError when the file is no longer there."""
        path = self._folder / name
        if _NAME.fullmatch(name) and path.is_file():
            return path
        if _NAME.fullmatch(name) and self._bucket is not None:
            with contextlib.suppress(FileNotFoundError):
                return self._bucket.fetch(_key(name))
        raise NotFoundError(Reason("the file is not there any more; upload it, or export it, again"))

    def remove(self, name: str) -> None:
        """Delete a file, if it is there; what a bucket cannot delete now, `sweep` deletes later."""
        if not _NAME.fullmatch(name):
            return
        (self._folder / name).unlink(missing_ok=True)
        if self._bucket is not None:
            try:
                self._bucket.remove(_key(name))
            except FilesUnavailableError as error:
                log_failure(logger, "deleting a file that no job needs", error)

    def bring_in(self, names: Collection[str]) -> int:
        """Put files of the folder into the bucket, which it was before there was one; return how many.

        They stay in the folder, too, until they are removed: a job may be reading them.
        """
        paths = [self._folder / name for name in names if _NAME.fullmatch(name)]
        there = [path for path in paths if path.is_file()]
        if self._bucket is None or not there:
            return 0
        known, brought = {key for key, _ in self._bucket.below(_key(""))}, 0
        for path in there:
            if _key(path.name) not in known:
                with contextlib.suppress(FileNotFoundError):  # its job has just ended
                    self._bucket.add(path, _key(path.name), keep=True)
                    brought += 1
        return brought

    def sweep(self, keep: Collection[str], rules: Rules) -> int:
        """Take away files that are not in ``keep``, into ``lost/``, and delete partial ones; return how many."""
        there = [(key, stored.at) for key, stored in self._bucket.below(_key(""))] if self._bucket is not None else []
        gone = [key for key, at in there if key.removeprefix(_key("")) not in keep and rules.takes(at)]
        taken = 0
        for key in gone if self._lost.may_take(gone, len(there), rules) else ():
            with contextlib.suppress(FileNotFoundError):  # its job has just ended
                self._lost.take_key(key, rules.now)
                taken += 1
        self._lost.purge(rules.now)
        return self._lost.say(taken, rules.now) + self.sweep_folder(keep, rules)

    def sweep_folder(self, keep: Collection[str], rules: Rules) -> int:
        """Do the same in the folder alone, whose machine no other process of a fleet sees."""
        self._bring_back(keep)
        there, taken = list(self._folder.iterdir()), 0
        gone = [path for path, at in with_times(there) if path.name not in keep and rules.takes(at)]
        partial = [path for path in gone if path.name.endswith(_PARTIAL)]  # nobody was told that they are there
        for path in partial:
            path.unlink(missing_ok=True)
        whole = [path for path in gone if path not in partial]
        for path in whole if self._lost.may_take(whole, len(there), rules) else ():
            with contextlib.suppress(FileNotFoundError):
                self._lost.take(path, rules.now)
                taken += 1
        return self._lost.say(taken, rules.now) + len(partial)

    def newest_unknown(self, keep: Collection[str], since: float, until: float) -> float | None:
        """Return when the newest file came that is not in ``keep``, of those from after ``since``, up to ``until``."""
        return self._lost.newest_unknown(self._folder.iterdir(), keep, since, until)

    def _bring_back(self, keep: Collection[str]) -> None:
        """Put back what was taken away while the ledger was another one, or an older one."""
        found = [path for path in self._lost.files() if path.name in keep and not (self._folder / path.name).exists()]
        for path in found:
            shutil.move(path, self._folder / path.name)
        back = [(lost, key) for lost, key in self._lost.objects() if key.removeprefix(_key("")) in keep]
        for lost, key in back:
            if self._bucket is not None:
                self._bucket.move(lost, key)
        if found or back:
            logger.warning("event=found_again what=%s files=%d", UPLOADS, len(found) + len(back))


def _key(name: str) -> str:
    return f"{UPLOADS}/{name}"


def too_large(called: str, max_bytes: int) -> InvalidInputError:
    """Return the error for a file over the limit."""
    return InvalidInputError(
        Reason(
            "%(name)s has more than %(most)s bytes, which is the limit; split it",
            name=called,
            most=format(max_bytes, ","),
        ),
        field="file",
    )


def upload_source(name: str) -> str:
    """Return the source of an uploaded file: the relative path that the browser gave, without anything that leads
    elsewhere.

    Drops drives, leading slashes, ``.``, ``..`` and invisible characters; ``\\`` becomes a slash. Raises
    InvalidInputError for a name that is empty or too long.
    """
    parts = [visible(part).strip() for part in name.replace("\\", "/").split("/")]
    kept = [part for part in parts if part not in ("", ".", "..") and not _DRIVE.fullmatch(part)]
    if kept and _DRIVE.match(kept[0]):
        kept[0] = kept[0][2:].strip()
    if not any(kept):
        raise InvalidInputError(
            Reason("the file name %(name)s is empty; rename the file", name=repr(name[:40])), field="file"
        )
    source = source_name("/".join(part for part in kept if part))
    if len(source) > MAX_SOURCE_CHARS:
        told = Reason(
            "the file name %(name)s has %(count)s characters; at most %(most)s are allowed, so shorten it",
            name=f"{source[:40]!r}…",
            count=format(len(source), ","),
            most=format(MAX_SOURCE_CHARS, ","),
        )
        raise InvalidInputError(told, field="file")
    return source


def visible(text: str) -> str:
    """Return the text without control characters, unpaired surrogates, and marks of writing direction."""
    return "".join(c for c in text if c not in _DIRECTIONS and unicodedata.category(c) not in ("Cc", "Cs"))
