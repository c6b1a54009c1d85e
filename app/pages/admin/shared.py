"""Shared datasets: add, edit, switch off, remove. Their list is shared_dbs.json."""

from __future__ import annotations

from dataclasses import dataclass

from flask import render_template, request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.access import rule
from braid.app.pages.admin.blueprint import admin, audit, done, known_groups, read_groups
from braid.app.site import site
from braid.core.datasets.registry import SharedDataset
from braid.core.errors import InvalidInputError, NotFoundError, RegistryError
from braid.core.types import MIN_ID, Dataset

ONE = "/shared/<int(signed=True):dataset_id>"
FIELDS = ("name", "collection_name", "description", "allowed_groups", "embedding_model")


@dataclass(frozen=True, slots=True)
class SharedRow:
    """A shared dataset with its counts."""

    entry: SharedDataset
    stored: Dataset


@admin.get("/shared")
@rule("admin")
def shared() -> str:
    """The list, with the form for another one."""
    return _list_page()


@admin.post("/shared")
@rule("admin")
def add_shared() -> tuple[str, int] | Response:
    """Add a shared dataset."""
    try:
        added = site().braid.registry.add(
            _typed("name"),
            _typed("collection_name"),
            description=_typed("description"),
            allowed_groups=read_groups(_typed("allowed_groups")),
        )
    except RegistryError as error:
        return _list_page(problem=str(error)), 400
    site().braid.mirror_registry()
    audit("shared_db.added", _label(added), _summary(added))
    return done(_("“%(name)s” is added. Now add documents to it.", name=added.name), "shared")


@admin.get(ONE)
@rule("admin")
def shared_one(dataset_id: int) -> str:
    """One shared dataset: edit, switch off, remove."""
    return _edit_page(dataset_id)


@admin.post(ONE)
@rule("admin")
def edit_shared(dataset_id: int) -> tuple[str, int] | Response:
    """Change what stands in the list."""
    before = _entry(dataset_id)
    try:
        after = site().braid.registry.update(
            dataset_id,
            name=_typed("name"),
            collection_name=_typed("collection_name"),
            description=_typed("description"),
            allowed_groups=read_groups(_typed("allowed_groups")),
            enabled="enabled" in request.form,
        )
    except RegistryError as error:
        return _edit_page(dataset_id, problem=str(error)), 400
    site().braid.mirror_registry()
    site().braid.indexer.wake()
    audit("shared_db.changed", _label(after), _changes(before, after))
    return done(_("“%(name)s” is saved.", name=after.name), "shared")


@admin.post(f"{ONE}/switch")
@rule("admin")
def switch_shared(dataset_id: int) -> Response:
    """Switch off, or on again. It holds for the very next search of everybody."""
    enabled = request.form.get("enabled") == "1"
    entry = site().braid.registry.update(dataset_id, enabled=enabled)
    audit("shared_db.enabled" if enabled else "shared_db.disabled", _label(entry))
    if enabled:
        return done(_("“%(name)s” is switched on.", name=entry.name), "shared")
    return done(_("“%(name)s” is switched off: nobody can search it now.", name=entry.name), "shared")


@admin.post(f"{ONE}/remove")
@rule("admin")
def remove_shared(dataset_id: int) -> tuple[str, int] | Response:
    """Delete with all documents, once the name is typed again."""
    braid = site().braid
    found = _stored(dataset_id)
    if request.form.get("name", "").strip() != found.name.strip():
        problem = _("The name is not “%(name)s”; nothing was removed.", name=found.name)
        return _edit_page(dataset_id, problem=problem), 400
    braid.remove_dataset(dataset_id)
    audit("shared_db.removed", f"{found.id} {found.name}", f"{found.documents} documents, {found.chunks} passages")
    return done(_("“%(name)s” is removed, with all its documents.", name=found.name), "shared")


# ---------------------------------------------------------------- what the routes share


def unlisted() -> list[Dataset]:
    """Shared datasets with an entry no longer in the list: nobody can read them."""
    listed = {entry.id for entry in site().braid.registry.entries()}
    return [dataset for dataset in site().braid.ledger.all_datasets() if dataset.shared and dataset.id not in listed]


def _list_page(*, problem: str = "") -> str:
    braid = site().braid
    braid.mirror_registry()
    stored = {dataset.id: dataset for dataset in braid.ledger.all_datasets()}
    entries = braid.registry.entries()
    return render_template(
        "braid/admin/shared.html",
        rows=[SharedRow(entry, stored[entry.id]) for entry in entries if entry.id in stored],
        unlisted=unlisted(),
        typed={name: _typed(name) for name in FIELDS},
        problem=problem,
        registry_problem=braid.registry.problem(),
        collections=sorted({entry.collection_name for entry in entries}),
        groups=known_groups(),
    )


def _edit_page(dataset_id: int, *, problem: str = "") -> str:
    braid = site().braid
    stored, entry = _stored(dataset_id), braid.registry.get(dataset_id)
    return render_template(
        "braid/admin/shared_one.html",
        stored=stored,
        entry=entry,
        problem=problem,
        registry_problem=braid.registry.problem(),
        collections=sorted({other.collection_name for other in braid.registry.entries()}),
        groups=known_groups(),
    )


def _stored(dataset_id: int) -> Dataset:
    """The ledger's row of a shared dataset, listed or not."""
    site().braid.mirror_registry()
    if not MIN_ID <= dataset_id < 0:
        raise NotFoundError(f"there is no shared dataset {dataset_id}; their ids are -1, -2 and so on")
    return site().braid.ledger.dataset(dataset_id)


def _entry(dataset_id: int) -> SharedDataset:
    entry = site().braid.registry.get(dataset_id)
    if entry is None:
        raise NotFoundError(f"there is no shared dataset {dataset_id} in the list")
    return entry


def _typed(name: str) -> str:
    """What was typed, with the line ends that the file has."""
    text = request.form.get(name, "").replace("\r\n", "\n").strip()
    if "\0" in text:
        raise InvalidInputError(f"{name} has a character that cannot be stored; type it anew", field=name)
    return text


def _label(entry: SharedDataset) -> str:
    return f"{entry.id} {entry.name}"


def _summary(entry: SharedDataset) -> str:
    return f"{entry.collection_name}; {', '.join(entry.allowed_groups) or 'everyone'}"


def _changes(before: SharedDataset, after: SharedDataset) -> str:
    names = ("name", "collection_name", "description", "allowed_groups", "enabled")
    pairs = [(name, getattr(before, name), getattr(after, name)) for name in names]
    return "; ".join(f"{name}: {_said(old)} → {_said(new)}" for name, old, new in pairs if old != new) or "nothing"


def _said(value: object) -> str:
    return ", ".join(value) or "everyone" if isinstance(value, tuple) else str(value)[:200]
