"""Changes of the shared datasets: each writes the list of them, the ledger's mirror of it and the audit log.

What somebody changes in the file itself is noticed, and written to the audit log, too.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from braid.core.datasets.entry import as_plain, parse, with_group_renamed
from braid.core.datasets.registry import Registry, SharedDataset
from braid.core.ledger.ledger import Ledger
from braid.core.models.embeddings import embedding_model
from braid.core.types import Dataset

COMPARED = ("name", "collection_name", "description", "allowed_groups", "embedding_model", "enabled")
MAX_DETAIL_CHARS = 200
"""Longest part of a field's value in the audit log."""

NOTED = "shared_list"
"""The name under which the list is remembered as the audit log knows it."""

Known = dict[int, SharedDataset]
"""The list by id, as the audit log knows it."""

Audit = Callable[[str, str, str, str], None]
"""Takes actor, action, target and detail, as `braid.core.accounts.audit.AuditLog.add` does."""


class DirectoryParts(Protocol):
    """The parts of an open data directory that changes of shared datasets need."""

    ledger: Ledger
    registry: Registry

    def mirror_registry(self) -> object:
        """Bring the ledger's mirror of the shared datasets up to date with the list of them."""

    def remove_dataset(self, dataset_id: int) -> None:
        """Delete a dataset with its documents, and its entry."""

    def wake(self) -> None:
        """Index what was written now instead of at the next poll."""


class Memory(Protocol):
    """Keeps JSON values by name, as `braid.core.accounts.app_settings.AppSettings` does."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value, or the default when none is set."""

    def change(self, name: str, default: Any, act: Callable[[Any], Any]) -> None:
        """Set what ``act`` makes of the value, while nobody else does."""


class SharedDatasets:
    """Adds, updates, switches and removes shared datasets for the person named by ``by``.

    With a ``memory``, `note_changes` tells what the file's editors changed.

    All methods raise RegistryError when the list cannot be changed so, and then change nothing.

    >>> audit = lambda *entry: print(entry)
    >>> handbook = SharedDatasets(braid, audit).add("Handbook", "shared_handbook", by="ann")
    ('ann', 'shared_db.added', '-1 Handbook', 'shared_handbook; everyone')
    >>> braid.dataset(handbook.id).name
    'Handbook'
    """

    def __init__(self, directory: DirectoryParts, audit: Audit, memory: Memory | None = None) -> None:
        self._directory = directory
        self._registry = directory.registry
        self._audit = audit
        self._memory = memory if directory.registry.is_file else None

    def note_changes(self) -> None:
        """Write to the audit log, as the file's, what it says otherwise than when it was noted last.

        A list that is not in effect is left for later, and what is there when nothing was noted yet is no change. A
        list that a fleet has in the ledger nobody changes elsewhere.
        """
        if self._memory is None or self._registry.problem():
            return
        noted = self._memory.get(NOTED)
        if noted is None or parse(noted) != self._registry.entries():
            self._note(None, self._registry.name)

    def _note(self, known: Known | None, by: str) -> Known:
        """Write to the audit log what ``by`` changed since the list was as known, or without as it was noted last.

        Returns the list as it is noted now. Who notes at the same time waits until the transaction has ended.
        """
        now: Known = {}

        def tell(noted: Any) -> Any:
            in_effect = self._registry.problem() is None
            entries = self._registry.entries()
            before = _by_id(entries if noted is None else parse(noted))
            now.update(_by_id(entries) if in_effect else before)
            if in_effect:
                self._tell(before if known is None else known, now, by)
            return [as_plain(entry) for entry in now.values()] if in_effect else noted

        if self._memory is not None:
            self._memory.change(NOTED, None, tell)
        return now

    def _tell(self, before: Known, now: Known, by: str) -> None:
        for entry in now.values():
            if entry.id not in before:
                detail = f"{entry.collection_name}; {_audit_text(entry.allowed_groups)}"
                self._audit(by, "shared_db.added", _label(entry), detail)
            elif entry != before[entry.id]:
                self._audit(by, "shared_db.changed", _label(entry), _differences(before[entry.id], entry))
        for entry in before.values():
            if entry.id not in now:
                self._audit(by, "shared_db.unlisted", _label(entry), "")

    @contextmanager
    def _changing(self) -> Iterator[Known]:
        """Have what the block changes in the list be written together with its lines of the audit log.

        What others changed before is told first. The block is given the list as it is noted, and changes it alike: what
        else is in the list then others have changed meanwhile. A change whose lines could not be written, because the
        machine stopped between, is told as the file's.
        """
        with self._directory.ledger.database.write():
            known = self._note(None, self._registry.name)
            yield known
            self._note(known, self._registry.name)
        self._directory.mirror_registry()
        self._directory.wake()

    def rename_group(self, name: str, new_name: str, *, by: str) -> None:
        """Name a group by its new name wherever a shared dataset is open to it."""
        with self._changing() as known:
            opened = [entry for entry in self._registry.entries() if name in entry.allowed_groups]
            for before in opened:
                after = with_group_renamed(before, name, new_name)
                self._record(known, by, "shared_db.changed", after, _differences(before, after))
            if opened:  # last, because a file is not rolled back
                self._registry.rename_group(name, new_name)

    def add(self, name: str, collection_name: str, *, by: str, **fields: Any) -> SharedDataset:
        """Add a shared dataset with the next free negative id. ``fields`` are those of `Registry.add`."""
        _require_model(fields.get("embedding_model"))
        with self._changing() as known:
            added = self._registry.add(name, collection_name, **fields)
            detail = f"{collection_name}; {_audit_text(added.allowed_groups)}"
            self._record(known, by, "shared_db.added", added, detail)
        return added

    def put_back(self, dataset_id: int, name: str, *, by: str, **fields: Any) -> SharedDataset:
        """Bring a dataset that has left the list back into it, with its documents. Raises NotFoundError.

        ``fields`` are description and allowed_groups of `Registry.add`: what they were, the list alone knew.
        """
        collection = self._directory.ledger.dataset(dataset_id).collection
        with self._changing() as known:
            added = self._registry.add(name, collection, dataset_id=dataset_id, **fields)
            self._record(known, by, "shared_db.restored", added, _audit_text(added.allowed_groups))
        return added

    def update(self, dataset_id: int, *, by: str, **changes: object) -> SharedDataset:
        """Change the named fields. With another collection the dataset moves there. Raises NotFoundError."""
        _require_model(changes.get("embedding_model"))
        with self._changing() as known:
            before = self._registry.get(dataset_id)
            after = self._registry.update(dataset_id, **changes)
            # ``before`` is None when the entry was added to the file only after it was read for `get`.
            self._record(known, by, "shared_db.changed", after, _differences(before or after, after))
        return after

    def switch(self, dataset_id: int, *, enabled: bool, by: str) -> SharedDataset:
        """Switch a dataset on or off, which holds for everybody's next search. Raises NotFoundError."""
        with self._changing() as known:
            switched = self._registry.update(dataset_id, enabled=enabled)
            self._record(known, by, "shared_db.enabled" if enabled else "shared_db.disabled", switched)
        return switched

    def remove(self, dataset_id: int, *, by: str) -> Dataset:
        """Delete a dataset with its documents, also one that is no longer listed. Raises NotFoundError."""
        self._directory.mirror_registry()  # the file may have entries that the ledger does not know yet
        with self._changing() as known:
            removed = self._directory.ledger.dataset(dataset_id)
            self._directory.remove_dataset(dataset_id)
            known.pop(dataset_id, None)
            detail = f"{removed.documents} documents, {removed.chunks} passages"
            self._audit(by, "shared_db.removed", f"{removed.id} {removed.name}", detail)
        return removed

    def replace_text(self, text: str, *, expected_fingerprint: str, by: str) -> None:
        """Replace the text of the list, which was read with ``expected_fingerprint``.

        Raises RegistryConflictError when the list has another fingerprint by now.
        """
        before, _ = self._registry.text()
        with self._changing() as known:
            self._registry.replace_text(text, of=expected_fingerprint)
            now = self._note(known, by)
            known.clear()
            known.update(now)
            self._audit(by, "shared_dbs.saved", self._registry.name, _line_counts(before, text))

    def _record(self, known: Known, by: str, action: str, entry: SharedDataset, detail: str = "") -> None:
        """Write a change to the audit log, and that it is known."""
        known[entry.id] = entry
        self._audit(by, action, _label(entry), detail)


def _require_model(name: object) -> None:
    """Raise InvalidInputError for a name that is not of a known form.

    The registry accepts any text as a model's name; with a wrong one nothing of the collection would be indexed.
    """
    if isinstance(name, str) and name:
        embedding_model(name)


def _by_id(entries: Iterable[SharedDataset]) -> Known:
    return {entry.id: entry for entry in entries}


def _label(entry: SharedDataset) -> str:
    return f"{entry.id} {entry.name}"


def _differences(before: SharedDataset, after: SharedDataset) -> str:
    pairs = [(name, getattr(before, name), getattr(after, name)) for name in COMPARED]
    changes = [f"{name}: {_audit_text(old)} → {_audit_text(new)}" for name, old, new in pairs if old != new]
    return "; ".join(changes) or "nothing"


def _audit_text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "everyone"
    return str(value)[:MAX_DETAIL_CHARS]


def _line_counts(before: str, after: str) -> str:
    """Count the lines that were added and deleted, as ``+1 -1 lines``; ends of lines do not count."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    changed = [codes for codes in matcher.get_opcodes() if codes[0] != "equal"]
    added = sum(end - start for _, _, _, start, end in changed)
    deleted = sum(end - start for _, start, end, _, _ in changed)
    return f"+{added} -{deleted} lines"
