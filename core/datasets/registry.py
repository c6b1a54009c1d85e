"""The registry, shared_dbs.json: the shared datasets, edited by people, the admin page and several processes.

The file is validated before it takes effect, and written atomically under a lock. While the file on disk is invalid
or missing, the last valid version stays in effect and `Registry.problem` says why.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from braid.core.datasets.entry import (
    MAX_FILE_BYTES,
    SharedDataset,
    as_plain,
    decode,
    parse,
    render,
    require_size,
    validate,
)
from braid.core.errors import NotFoundError, RegistryConflictError, RegistryError
from braid.core.forks import tell_of_forks
from braid.core.ledger.durable import sync_folder

__all__ = ["Registry", "SharedDataset", "render", "validate"]

LOCK_TIMEOUT_S = 10.0
SETTLED_NS = 2_000_000_000
"""Age from which a later write shows in the file's times, however coarse the file system's clock."""

_GONE = "the file was deleted; put it back or save the list again"

logger = logging.getLogger(__name__)


class Registry:
    """The current shared datasets. Safe to use from many threads, and beside other processes.

    ``retired_ids`` returns the ids of removed datasets, which are rejected and never used again; it is called
    whenever a changed file is validated. ``used_ids`` returns every id that ever had documents; no new entry gets one
    of them, even if the file has lost it.

    >>> registry = Registry(data_dir / "shared_dbs.json")
    >>> entry = registry.add("Handbook", "shared_handbook", allowed_groups=["engineers"])
    >>> [(entry.id, entry.name) for entry in registry.entries()]
    [(-1, 'Handbook')]
    """

    def __init__(
        self,
        path: Path,
        *,
        retired_ids: Callable[[], Collection[int]] = frozenset,
        used_ids: Callable[[], Collection[int]] = frozenset,
    ) -> None:
        self.path = path
        self._retired_ids = retired_ids
        self._used_ids = used_ids
        self._lock = threading.Lock()
        self._entries: tuple[SharedDataset, ...] = ()
        self._version = 0
        self._problem: str | None = None
        self._loaded = False
        self._content: bytes | None = None
        self._signature: tuple[int, int, int] | None = None
        self._lowest_id = 0
        tell_of_forks(self)

    def before_fork(self) -> None:
        """Wait until no other thread reads the file: it would hold the lock in the child for ever."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """Go on."""
        self._lock.release()

    @property
    def version(self) -> int:
        """Number that grows with every accepted change, whoever made it."""
        with self._lock:
            self._refresh()
            return self._version

    def entries(self) -> tuple[SharedDataset, ...]:
        """Return the current entries in the order of the file, disabled ones included."""
        with self._lock:
            self._refresh()
            return self._entries

    def problem(self) -> str | None:
        """Return why the file on disk is not in effect; None when it is."""
        with self._lock:
            self._refresh()
            return self._problem

    def get(self, dataset_id: int) -> SharedDataset | None:
        """Return the entry with this id; None when there is none."""
        return next((e for e in self.entries() if e.id == dataset_id), None)

    def add(
        self,
        name: str,
        collection_name: str,
        *,
        description: str = "",
        allowed_groups: Sequence[str] = (),
        embedding_model: str = "",
    ) -> SharedDataset:
        """Add an entry with the next free negative id. Raises RegistryError, like every change of the file."""
        with self._exclusive():
            entries = self._on_disk()
            added = {
                "id": min(*(e.id for e in entries), *self._retired_ids(), *self._used_ids(), self._lowest_id, 0) - 1,
                "name": name,
                "collection_name": collection_name,
                "description": description,
                "allowed_groups": allowed_groups,
                "embedding_model": embedding_model,
            }
            return self._put([*map(as_plain, entries), added])[-1]

    def update(self, dataset_id: int, /, **changes: object) -> SharedDataset:
        """Change the named fields of an entry. Raises NotFoundError for an unknown id."""
        if "id" in changes:
            raise RegistryError(f"the id of shared dataset {dataset_id} cannot change; add a new one instead")
        with self._exclusive():
            entries = self._on_disk()
            place = entries.index(_entry_of(entries, dataset_id))
            return self._put([as_plain(e) | (changes if e.id == dataset_id else {}) for e in entries])[place]

    def remove(self, dataset_id: int) -> SharedDataset:
        """Remove an entry and return it. Raises NotFoundError for an unknown id."""
        with self._exclusive():
            entries = self._on_disk()
            removed = _entry_of(entries, dataset_id)
            self._put([as_plain(e) for e in entries if e is not removed])
            return removed

    def text(self) -> tuple[str, str]:
        """Return the file's text, valid or not, and its fingerprint; both are empty when there is no file."""
        try:
            content, _ = _read(self.path)
        except FileNotFoundError:
            return "", ""
        except OSError as error:
            raise RegistryError(f"{self.path.name}: it cannot be read: {error.strerror}; fix that") from error
        return content.decode("utf-8", "replace"), _fingerprint(content)

    def replace_text(self, text: str, *, of: str | None = None) -> None:
        """Replace the file's text, if the new one is valid; the old one need not be.

        With ``of``, the fingerprint of the version that was edited, raises RegistryConflictError when the file has
        changed since.
        """
        with self._exclusive():
            validate(text, retired_ids=self._retired_ids())
            if of is not None and self.text()[1] != of:
                raise RegistryConflictError(
                    f"{self.path.name} was changed by somebody else meanwhile; compare with its text now"
                )
            self._write(text)

    # ------------------------------------------------------------ reading

    def _refresh(self) -> None:
        """Load a changed file, or record why it cannot take effect."""
        try:
            found = self.path.stat()
            if self._signature == _signature(found):
                return
            content, found = _read(self.path)
        except FileNotFoundError:
            self._forget(_GONE if self._loaded else None)
        except OSError as error:
            self._forget(f"it cannot be read: {error.strerror}; fix that")
        else:
            if content != self._content:
                self._judge(content)
            self._content = content
            settled = time.time_ns() - found.st_mtime_ns > SETTLED_NS
            self._signature = _signature(found) if settled else None

    def _judge(self, content: bytes) -> None:
        try:
            entries = validate(decode(content), retired_ids=self._retired_ids())
        except RegistryError as error:
            self._set_problem(str(error))
            return
        self._set_problem(None)
        if entries != self._entries:
            self._entries = entries
            self._version += 1
        self._loaded = True
        self._lowest_id = min(self._lowest_id, *(e.id for e in entries), 0)

    def _forget(self, reason: str | None) -> None:
        """Record that there is no file to read, so that it is read again when it is back."""
        self._content = self._signature = None
        self._set_problem(reason)

    def _set_problem(self, reason: str | None) -> None:
        stays = "the last valid version stays in effect" if self._loaded else "no shared dataset is offered"
        problem = f"{self.path.name}: {reason}; until then {stays}" if reason else None
        if problem and problem != self._problem:
            logger.error("%s", problem)
        elif self._problem and not problem:
            logger.info("%s is in effect again", self.path.name)
        self._problem = problem

    # ------------------------------------------------------------ writing, under the file lock

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Keep other threads and processes from writing, not from reading."""
        target = self.path.resolve()
        lock = FileLock(target.with_name(f".{target.name}.lock"), timeout=LOCK_TIMEOUT_S)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            held = lock.acquire(poll_interval=0.01)
        except Timeout as error:
            raise RegistryError(
                f"{target.name} has been locked by another process for {LOCK_TIMEOUT_S:g} s; try again"
            ) from error
        except OSError as error:
            raise self._unwritable(error) from error
        with held:
            yield

    def _on_disk(self) -> tuple[SharedDataset, ...]:
        """Return the current entries, whoever wrote them. Raises RegistryError: an invalid file is not overwritten."""
        try:
            content, _ = _read(self.path)
        except FileNotFoundError:
            if self._loaded:
                raise RegistryError(f"{self.path.name}: {_GONE}") from None
            return ()
        except OSError as error:
            raise RegistryError(f"{self.path.name}: it cannot be read: {error.strerror}; fix that") from error
        return validate(decode(content))

    def _put(self, plain: list[dict[str, Any]]) -> tuple[SharedDataset, ...]:
        entries = parse(plain, self._retired_ids())
        self._write(render(entries))
        return entries

    def _write(self, text: str) -> None:
        require_size(len(text.encode()))
        try:
            _replace_file(self.path.resolve(), text.encode())
        except OSError as error:
            raise self._unwritable(error) from error
        with self._lock:
            self._refresh()

    def _unwritable(self, error: OSError) -> RegistryError:
        return RegistryError(
            f"{self.path.name} cannot be written: {error.strerror}; it is unchanged. Fix that and try again"
        )


def _entry_of(entries: Sequence[SharedDataset], dataset_id: int) -> SharedDataset:
    for entry in entries:
        if entry.id == dataset_id:
            return entry
    raise NotFoundError(f"there is no shared dataset {dataset_id}; the ids are {[e.id for e in entries]}")


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    """Read the content, cut just over the limit, and the file's state from before it was read."""
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        return file.read(MAX_FILE_BYTES + 1), found


def _fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _signature(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_mtime_ns, found.st_size, found.st_ino


def _replace_file(target: Path, content: bytes) -> None:
    """Replace the file atomically, even if the machine stops; it keeps its permissions."""
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        with temporary.open("wb") as file:
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)
