"""Changes of the shared datasets: each writes the list of them, the ledger's mirror of it and the audit log."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Protocol

from braid.core.datasets.entry import with_group_renamed
from braid.core.datasets.registry import Registry, SharedDataset
from braid.core.ledger.ledger import Ledger
from braid.core.models.embeddings import embedding_model
from braid.core.types import Dataset

COMPARED = ("name", "collection_name", "description", "allowed_groups", "embedding_model", "enabled")
MAX_DETAIL_CHARS = 200
"""Longest part of a field's value in the audit log."""

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


class SharedDatasets:
    """Adds, updates, switches and removes shared datasets for the person named by ``by``.

    All methods raise RegistryError when the list cannot be changed so, and then change nothing.

    >>> audit = lambda *entry: print(entry)
    >>> handbook = SharedDatasets(braid, audit).add("Handbook", "shared_handbook", by="ann")
    ('ann', 'shared_db.added', '-1 Handbook', 'shared_handbook; everyone')
    >>> braid.dataset(handbook.id).name
    'Handbook'
    """

    def __init__(self, directory: DirectoryParts, audit: Audit) -> None:
        self._directory = directory
        self._registry = directory.registry
        self._audit = audit

    def rename_group(self, name: str, new_name: str, *, by: str) -> None:
        """Name a group by its new name wherever a shared dataset is open to it."""
        opened = [entry for entry in self._registry.entries() if name in entry.allowed_groups]
        with self._directory.ledger.database.write():
            for before in opened:
                after = with_group_renamed(before, name, new_name)
                self._audit(by, "shared_db.changed", _label(after), _differences(before, after))
            if opened:  # last, because a file is not rolled back
                self._registry.rename_group(name, new_name)

    def add(self, name: str, collection_name: str, *, by: str, **fields: Any) -> SharedDataset:
        """Add a shared dataset with the next free negative id. ``fields`` are those of `Registry.add`."""
        _require_model(fields.get("embedding_model"))
        added = self._registry.add(name, collection_name, **fields)
        self._publish(by, "shared_db.added", _label(added), f"{collection_name}; {_audit_text(added.allowed_groups)}")
        return added

    def put_back(self, dataset_id: int, name: str, *, by: str, **fields: Any) -> SharedDataset:
        """Bring a dataset that has left the list back into it, with its documents. Raises NotFoundError.

        ``fields`` are description and allowed_groups of `Registry.add`: what they were, the list alone knew.
        """
        collection = self._directory.ledger.dataset(dataset_id).collection
        added = self._registry.add(name, collection, dataset_id=dataset_id, **fields)
        self._publish(by, "shared_db.restored", _label(added), _audit_text(added.allowed_groups))
        return added

    def update(self, dataset_id: int, *, by: str, **changes: object) -> SharedDataset:
        """Change the named fields. With another collection the dataset moves there. Raises NotFoundError."""
        _require_model(changes.get("embedding_model"))
        before = self._registry.get(dataset_id)
        after = self._registry.update(dataset_id, **changes)
        # ``before`` is None when the entry was added to the file only after it was read for `get`.
        self._publish(by, "shared_db.changed", _label(after), _differences(before or after, after))
        return after

    def switch(self, dataset_id: int, *, enabled: bool, by: str) -> SharedDataset:
        """Switch a dataset on or off, which holds for everybody's next search. Raises NotFoundError."""
        switched = self._registry.update(dataset_id, enabled=enabled)
        self._publish(by, "shared_db.enabled" if enabled else "shared_db.disabled", _label(switched))
        return switched

    def remove(self, dataset_id: int, *, by: str) -> Dataset:
        """Delete a dataset with its documents, also one that is no longer listed. Raises NotFoundError."""
        self._directory.mirror_registry()  # the file may have entries that the ledger does not know yet
        removed = self._directory.ledger.dataset(dataset_id)
        self._directory.remove_dataset(dataset_id)
        detail = f"{removed.documents} documents, {removed.chunks} passages"
        self._publish(by, "shared_db.removed", f"{removed.id} {removed.name}", detail)
        return removed

    def replace_text(self, text: str, *, expected_fingerprint: str, by: str) -> None:
        """Replace the text of the list, which was read with ``expected_fingerprint``.

        Raises RegistryConflictError when the list has another fingerprint by now.
        """
        before, _ = self._registry.text()
        self._registry.replace_text(text, of=expected_fingerprint)
        self._publish(by, "shared_dbs.saved", self._registry.name, _line_counts(before, text))

    def _publish(self, by: str, action: str, target: str, detail: str = "") -> None:
        self._directory.mirror_registry()
        self._directory.wake()
        self._audit(by, action, target, detail)


def _require_model(name: object) -> None:
    """Raise InvalidInputError for a name that is not of a known form.

    The registry accepts any text as a model's name; with a wrong one nothing of the collection would be indexed.
    """
    if isinstance(name, str) and name:
        embedding_model(name)


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
