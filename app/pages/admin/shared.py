"""The pages of the shared datasets: add, edit, disable and remove one."""

from __future__ import annotations

from typing import Any

from flask import render_template, request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.pages.admin.blueprint import admin, in_order, known_groups, read_groups
from braid.app.site import site
from braid.app.web.errors import refusing
from braid.core.accounts.account_list import count_accounts, count_readers, group_sizes
from braid.core.datasets.registry import SharedDataset
from braid.core.errors import InvalidInputError, NotFoundError, RegistryError
from braid.core.types import MIN_ID, Dataset

ONE = "/shared/<int(signed=True):dataset_id>"
FIELDS = ("name", "collection_name", "description", "allowed_groups", "embedding_model")


@admin.get("/shared")
def shared() -> str:
    """Show the list, with the form for another dataset."""
    return _list_page()


@admin.post("/shared")
def add_shared() -> Response:
    """Add a shared dataset."""
    with refusing(_list_page, on=RegistryError):
        fields = {**_typed_fields(), "allowed_groups": _typed_readers()}
        added = site().shared_datasets.add(**fields, by=identity().account.name)
    return admin.done(_("“%(name)s” added. Now add documents to it.", name=added.name), "shared")


@admin.get(ONE)
def shared_one(dataset_id: int) -> str:
    """Show one shared dataset, with the forms to edit, disable and remove it."""
    return _edit_page(dataset_id)


@admin.post(ONE)
def edit_shared(dataset_id: int) -> Response:
    """Change a shared dataset."""
    enabled = "enabled" in request.form
    with refusing(_edit_page, dataset_id, on=RegistryError):
        fields = {**_typed_fields(), "allowed_groups": _typed_readers()}
        after = site().shared_datasets.update(dataset_id, **fields, enabled=enabled, by=identity().account.name)
    return admin.done(_("“%(name)s” saved.", name=after.name), "shared")


@admin.post(f"{ONE}/switch")
def switch_shared(dataset_id: int) -> Response:
    """Enable or disable a shared dataset, with effect from everybody's next search."""
    enabled = request.form.get("enabled") == "1"
    entry = site().shared_datasets.switch(dataset_id, enabled=enabled, by=identity().account.name)
    if enabled:
        return admin.done(_("“%(name)s” is on.", name=entry.name), "shared")
    return admin.done(_("“%(name)s” is off. Nobody can search it now.", name=entry.name), "shared")


@admin.post(f"{ONE}/put-back")
def put_back_shared(dataset_id: int) -> Response:
    """Bring a dataset that has left the list back into it, open to those whom the form names."""
    _find_dataset(dataset_id)
    with refusing(_edit_page, dataset_id, on=RegistryError):
        fields = {"description": _typed_text("description"), "allowed_groups": _typed_readers()}
        back = site().shared_datasets.put_back(dataset_id, _typed_text("name"), by=identity().account.name, **fields)
    return admin.done(_("“%(name)s” is back in the list.", name=back.name), "shared")


@admin.post(f"{ONE}/remove")
def remove_shared(dataset_id: int) -> tuple[str, int] | Response:
    """Remove a shared dataset with all documents, if its name is typed again."""
    found = _find_dataset(dataset_id)
    if request.form.get("name", "").strip() != found.name.strip():
        problem = _("The name does not match “%(name)s”. Nothing was deleted.", name=found.name)
        return _edit_page(dataset_id, problem=problem), 400
    site().shared_datasets.remove(dataset_id, by=identity().account.name)
    return admin.done(_("“%(name)s” and all its documents have been deleted.", name=found.name), "shared")


# ---------------------------------------------------------------- what the routes share


def unlisted() -> list[Dataset]:
    """Return shared datasets whose entry is no longer in the list, so that nobody can read them."""
    listed = {entry.id for entry in site().braid.registry.entries()}
    return [dataset for dataset in site().braid.ledger.all_datasets() if dataset.shared and dataset.id not in listed]


def mixed_collections() -> list[list[str]]:
    """Return the names of the datasets of each collection whose datasets are open to different groups."""
    found: dict[str, list[SharedDataset]] = {}
    for entry in site().braid.registry.entries():
        found.setdefault(entry.collection_name, []).append(entry)
    mixed = (each for each in found.values() if len({frozenset(entry.allowed_groups) for entry in each}) > 1)
    return sorted(sorted(entry.name for entry in each) for each in mixed)


def _list_page(*, problem: str = "") -> str:
    braid = site().braid
    braid.mirror_registry()
    stored = {dataset.id: dataset for dataset in braid.ledger.all_datasets()}
    entries = braid.registry.entries()
    rows, sort = in_order(
        [(entry, stored[entry.id]) for entry in entries if entry.id in stored],
        {"name": lambda row: row[0].name.casefold(), "documents": lambda row: row[1].documents},
    )
    return render_template(
        "braid/admin/shared.html",
        rows=rows,
        sort=sort,
        unlisted=unlisted(),
        mixed=mixed_collections(),
        typed={name: _typed_text(name) for name in FIELDS},
        problem=problem,
        registry_problem=braid.registry.problem(),
        ignored_file=braid.registry.path if braid.registry.ignores_file() else None,
        collections=sorted({entry.collection_name for entry in entries}),
        groups=known_groups(),
    )


def _edit_page(dataset_id: int, *, problem: str = "") -> str:
    braid = site().braid
    stored, entry = _find_dataset(dataset_id), braid.registry.get(dataset_id)
    database = braid.ledger.database
    counts, sizes = count_readers(database), group_sizes(database)
    readers = [(name, counts.get(name, 0), sizes.get(name, 0)) for name in entry.allowed_groups] if entry else []
    return render_template(
        "braid/admin/shared_one.html",
        readers=readers or [("", count_accounts(database), 0)],
        stored=stored,
        entry=entry,
        problem=problem,
        registry_problem=braid.registry.problem(),
        collections=sorted({other.collection_name for other in braid.registry.entries()}),
        groups=known_groups(),
    )


def _find_dataset(dataset_id: int) -> Dataset:
    """Return the ledger's row of a shared dataset, listed or not."""
    site().braid.mirror_registry()
    if not MIN_ID <= dataset_id < 0:
        raise NotFoundError(f"there is no shared dataset {dataset_id}; their ids are -1, -2 and so on")
    return site().braid.ledger.dataset(dataset_id)


def _typed_fields() -> dict[str, Any]:
    return {
        "name": _typed_text("name"),
        "collection_name": _typed_text("collection_name"),
        "description": _typed_text("description"),
    }


def _typed_readers() -> list[str]:
    """Return the groups that may read it; none for everyone. Raises RegistryError when neither was chosen."""
    groups = read_groups("allowed_groups")
    if request.form.get("open_to") == "everyone":
        return []
    if not groups:
        raise RegistryError(_("Choose at least one group, or “Everyone”. Nothing has changed."))
    return groups


def _typed_text(name: str) -> str:
    """Return the text of a field, with line endings as in the file."""
    text = request.form.get(name, "").replace("\r\n", "\n").strip()
    if "\0" in text:
        raise InvalidInputError(f"{name} has a character that cannot be stored; type it again", field=name)
    return text
