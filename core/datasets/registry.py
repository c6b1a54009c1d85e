"""The registry, shared_dbs.json: the shared datasets, edited by people, the admin page and several processes.

The list is validated before it takes effect, and written atomically under a lock. While it is invalid or missing, the
last valid version stays in effect and `Registry.problem` says why. A fleet has it in the ledger instead of the file.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from braid.core.datasets.entry import (
    SharedDataset,
    as_plain,
    decode,
    parse,
    render,
    require_size,
    validate,
    with_group_renamed,
)
from braid.core.datasets.shared_list import ListFile, SharedList, State, fingerprint, has_another
from braid.core.errors import NotFoundError, RegistryConflictError, RegistryError
from braid.core.forks import tell_of_forks

__all__ = ["Registry", "SharedDataset", "render", "validate"]

Put = Callable[[str], None]

logger = logging.getLogger(__name__)


class Registry:
    """The current shared datasets. Safe to use from many threads, and beside other processes.

    ``retired_ids`` returns the ids of removed datasets, which are rejected and never used again; it is called
    whenever a changed file is validated. ``used_ids`` returns every id that ever had documents; no new entry gets one
    of them, even if the list has lost it. ``kept_in`` is where the list is, if not in the file at ``path``.

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
        kept_in: SharedList | None = None,
    ) -> None:
        self.path = path
        self._list = kept_in or ListFile(path)
        self._retired_ids = retired_ids
        self._used_ids = used_ids
        self._lock = threading.Lock()
        self._entries: tuple[SharedDataset, ...] = ()
        self._models: dict[str, str] = {}
        self._version = 0
        self._changes = 0
        self._problem: str | None = None
        self._loaded = False
        self._content: bytes | None = None
        self._state: State = None
        self._lowest_id = 0
        tell_of_forks(self)

    def before_fork(self) -> None:
        """Wait until no other thread reads the list: it would hold the lock in the child for ever."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """Go on."""
        self._lock.release()

    @property
    def name(self) -> str:
        """What messages call the list: the name of its file, or where else it is."""
        return self._list.name

    @property
    def is_file(self) -> bool:
        """Whether the list is the file at `path`."""
        return isinstance(self._list, ListFile)

    def ignores_file(self) -> bool:
        """Return whether there is a file at `path` that has another list than the ledger, which has it instead."""
        return not self.is_file and has_another(self.path, self.text()[0])

    @property
    def version(self) -> int:
        """Number that grows with every accepted change, whoever made it."""
        self._refresh()
        return self._version

    def entries(self) -> tuple[SharedDataset, ...]:
        """Return the current entries in the order of the list, disabled ones included."""
        self._refresh()
        return self._entries

    def model_of(self, collection: str) -> str:
        """Return the embedding model that an entry names for the collection; empty where none does."""
        self._refresh()
        return self._models.get(collection, "")

    def problem(self) -> str | None:
        """Return why the list is not in effect as it is now; None when it is."""
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
        dataset_id: int | None = None,
    ) -> SharedDataset:
        """Add an entry with the next free negative id. Raises RegistryError, like every change of the list.

        With ``dataset_id``, of a dataset that has left the list, it is that one, with its documents.
        """
        if dataset_id is not None and dataset_id not in self._used_ids():
            raise RegistryError(f"there was no shared dataset {dataset_id}; add it without an id")
        with self._exclusive() as put:
            entries = self._now()
            added = {
                "id": dataset_id
                or min(*(e.id for e in entries), *self._retired_ids(), *self._used_ids(), self._lowest_id, 0) - 1,
                "name": name,
                "collection_name": collection_name,
                "description": description,
                "allowed_groups": allowed_groups,
                "embedding_model": embedding_model,
            }
            return self._put([*map(as_plain, entries), added], put)[-1]

    def update(self, dataset_id: int, /, **changes: object) -> SharedDataset:
        """Change the named fields of an entry. Raises NotFoundError for an unknown id."""
        if "id" in changes:
            raise RegistryError(f"the id of shared dataset {dataset_id} cannot change; add a new one instead")
        with self._exclusive() as put:
            entries = self._now()
            place = entries.index(_entry_of(entries, dataset_id))
            return self._put([as_plain(e) | (changes if e.id == dataset_id else {}) for e in entries], put)[place]

    def rename_group(self, name: str, new_name: str) -> None:
        """Name a group by its new name wherever a shared dataset is open to it, in one change."""
        with self._exclusive() as put:
            self._put([as_plain(with_group_renamed(e, name, new_name)) for e in self._now()], put)

    def remove(self, dataset_id: int) -> SharedDataset:
        """Remove an entry and return it. Raises NotFoundError for an unknown id."""
        with self._exclusive() as put:
            entries = self._now()
            removed = _entry_of(entries, dataset_id)
            self._put([as_plain(e) for e in entries if e is not removed], put)
            return removed

    def text(self) -> tuple[str, str]:
        """Return the list's text, valid or not, and its fingerprint; both are empty when there is none."""
        content = self._read()
        return ("", "") if content is None else (content.decode("utf-8", "replace"), fingerprint(content))

    def replace_text(self, text: str, *, of: str | None = None) -> None:
        """Replace the list's text, if the new one is valid; the old one need not be.

        With ``of``, the fingerprint of the version that was edited, raises RegistryConflictError when the list has
        changed since.
        """
        with self._exclusive() as put:
            validate(text, retired_ids=self._retired_ids())
            if of is not None and self.text()[1] != of:
                raise RegistryConflictError(
                    f"{self.name} was changed by somebody else meanwhile; compare with its text now"
                )
            put(text)

    # ------------------------------------------------------------ reading

    def _refresh(self) -> None:
        """Load a changed list, or record why it cannot take effect.

        A database that does not answer is waited for without the lock; who was overtaken meanwhile looks again.
        """
        while True:
            known, changes = self._state, self._changes
            try:
                found, reason = self._list.look(known), self._list.gone if self._loaded else None
            except RegistryError as error:
                found, reason = (None, None), str(error)
            with self._lock:
                if self._changes == changes:
                    if found is not None:
                        self._take(*found, reason)
                    return

    def _take(self, content: bytes | None, state: State, reason: str | None) -> None:
        """Have the content take effect; ``reason`` says why there is none."""
        if content != self._content:
            self._changes += 1
        if content is None:
            self._set_problem(reason)
        elif content != self._content:
            self._judge(content)
        self._content, self._state = content, state

    def _judge(self, content: bytes) -> None:
        try:
            entries = validate(decode(content), retired_ids=self._retired_ids())
        except RegistryError as error:
            self._set_problem(str(error))
            return
        self._set_problem(None)
        if entries != self._entries:
            self._entries = entries
            self._models = {
                each.collection_name: each.embedding_model for each in reversed(entries) if each.embedding_model
            }
            self._version += 1
        self._loaded = True
        self._lowest_id = min(self._lowest_id, *(e.id for e in entries), 0)

    def _set_problem(self, reason: str | None) -> None:
        stays = "the last valid version stays in effect" if self._loaded else "no shared dataset is offered"
        problem = f"{self.name}: {reason}; until then {stays}" if reason else None
        if problem and problem != self._problem:
            logger.error("%s", problem)
        elif self._problem and not problem:
            logger.info("%s is in effect again", self.name)
        self._problem = problem

    # ------------------------------------------------------------ writing, while nobody else does

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[Put]:
        """Keep other threads and processes from writing, not from reading; yields what replaces the text."""

        def put(text: str) -> None:
            require_size(len(text.encode()))
            write(text.encode())

        with self._list.alone() as write:
            yield put
        self._refresh()

    def _now(self) -> tuple[SharedDataset, ...]:
        """Return the current entries, whoever wrote them. Raises RegistryError: an invalid list is not overwritten."""
        content = self._read()
        if content is not None:
            return validate(decode(content))
        if self._loaded:
            raise RegistryError(f"{self.name}: {self._list.gone}")
        return ()

    def _read(self) -> bytes | None:
        try:
            return self._list.read()
        except RegistryError as error:
            raise RegistryError(f"{self.name}: {error}") from error

    def _put(self, plain: list[dict[str, Any]], put: Put) -> tuple[SharedDataset, ...]:
        entries = parse(plain, self._retired_ids())
        put(render(entries))
        return entries


def _entry_of(entries: Sequence[SharedDataset], dataset_id: int) -> SharedDataset:
    for entry in entries:
        if entry.id == dataset_id:
            return entry
    raise NotFoundError(f"there is no shared dataset {dataset_id}; the ids are {[e.id for e in entries]}")
