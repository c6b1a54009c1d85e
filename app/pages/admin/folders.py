"""Synced folders on the server: add one after a preview of the changes, sync now, remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask import render_template, request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.pages.admin.blueprint import admin, audit
from braid.app.pages.datasets.blueprint import visible_datasets
from braid.app.site import site
from braid.core.accounts.account_list import account_names
from braid.core.errors import InvalidInputError
from braid.core.folders.plan import SyncPlan
from braid.core.folders.store import NewSyncedFolder, SyncedFolder
from braid.core.jobs.store import Job
from braid.core.types import Dataset

ONE = "/folders/<int:folder_id>"
MOST_NAMES = 20
"""Names shown per kind of change."""
FIELDS = ("folder", "dataset_id", "ignore", "id_prefix")


@dataclass(frozen=True, slots=True)
class FolderRow:
    """A folder with its state. ``dataset`` is None if the administrator may not see it."""

    folder: SyncedFolder
    dataset: Dataset | None
    added_by: str
    problem: str
    under_way: Job | None
    last: Job | None
    changed: Job | None
    """The last pass that changed documents; None if that is ``last``."""


@dataclass(frozen=True, slots=True)
class Change:
    """A planned change of documents: ``put``, ``rename`` or ``remove``, their number, and the first names."""

    kind: str
    count: int
    names: tuple[str, ...]


@admin.get("/folders")
def folders() -> str:
    """Show the list, with the form for another folder."""
    return _list_page()


@admin.post("/folders")
def add_folder() -> tuple[str, int] | Response:
    """Show what would change; add the folder once the changes were shown."""
    wanted = _read_form()
    me, background = identity().account, site().background
    try:
        if request.form.get("action") != "add":
            plan = background.sync_jobs.plan(me.id, wanted)
            return _list_page(changes=_changes(plan), unchanged=plan.unchanged, ask=True), 200
        added = background.supervisor.add(me.id, wanted)
    except InvalidInputError as error:
        return _list_page(problem=str(error)), 400
    audit("folder.added", added.folder, _describe(added))
    return admin.done(_("“%(name)s” will be kept in sync.", name=added.folder), "folders")


@admin.post(f"{ONE}/sync")
def sync_folder(folder_id: int) -> Response:
    """Queue a pass now."""
    background = site().background
    folder = background.folders.get(folder_id)
    if background.sync_jobs.queue(folder) is None:
        return admin.done(_("“%(name)s” is already being synced.", name=folder.folder), "folders")
    return admin.done(_("Syncing “%(name)s” now.", name=folder.folder), "folders")


@admin.post(f"{ONE}/remove")
def remove_folder(folder_id: int) -> str | Response:
    """Stop syncing the folder, once that is confirmed; its documents stay."""
    background = site().background
    folder = background.folders.get(folder_id)
    if request.form.get("confirmed") != "1":
        return render_template("braid/admin/folder_remove.html", folder=folder, dataset=_dataset(folder))
    background.supervisor.remove(folder_id)
    audit("folder.removed", folder.folder, _describe(folder))
    return admin.done(_("“%(name)s” is no longer synced. Its documents are kept.", name=folder.folder), "folders")


# ---------------------------------------------------------------- what the routes share


def _list_page(*, problem: str = "", changes: Sequence[Change] = (), unchanged: int = 0, ask: bool = False) -> str:
    rows = _rows()
    return render_template(
        "braid/admin/folders.html",
        rows=rows,
        moving=any(row.under_way or not (row.last or row.problem) for row in rows),
        datasets=visible_datasets().readable(),
        typed={name: request.form.get(name, "") for name in FIELDS},
        problem=problem,
        changes=changes,
        unchanged=unchanged,
        ask=ask,
        roots=site().settings.folder_roots,
    )


def _rows() -> list[FolderRow]:
    background = site().background
    folders = background.folders.all()
    names = account_names(site().braid.ledger.database, {folder.user_id for folder in folders})
    seen = visible_datasets().readable().by_id
    rows = []
    for folder in folders:
        last, changed = background.sync_jobs.find_last(folder), background.sync_jobs.find_last_change(folder)
        rows.append(
            FolderRow(
                folder,
                seen.get(folder.dataset_id),
                names.get(folder.user_id, str(folder.user_id)),
                background.sync_jobs.refusal(folder) or background.supervisor.problem(folder.id),
                background.sync_jobs.find_active(folder),
                last,
                None if changed == last else changed,
            )
        )
    return rows


def _read_form() -> NewSyncedFolder:
    """Return the folder that the form describes, with one pattern per line."""
    given = request.form.get("dataset_id", "")
    if not given.lstrip("-").isdecimal() or given not in map(str, visible_datasets().readable().by_id):
        raise InvalidInputError(f"dataset_id is {given[:20]!r}; choose a dataset from the list", field="dataset_id")
    return NewSyncedFolder(
        int(given),
        request.form.get("folder", ""),
        tuple(request.form.get("ignore", "").splitlines()),
        request.form.get("id_prefix", ""),
    )


def _changes(plan: SyncPlan) -> list[Change]:
    puts = [file.source for file in plan.puts]
    renames = [f"{rename.source} → {rename.file.source}" for rename in plan.renames]
    found = (("put", puts), ("rename", renames), ("remove", list(plan.removals)))
    return [Change(kind, len(names), tuple(names[:MOST_NAMES])) for kind, names in found if names]


def _dataset(folder: SyncedFolder) -> Dataset:
    return site().braid.ledger.dataset(folder.dataset_id)


def _describe(folder: SyncedFolder) -> str:
    dataset = _dataset(folder)
    parts = [f"{dataset.id} {dataset.name}"]
    if folder.id_prefix:
        parts.append(f"prefix {folder.id_prefix}")
    if folder.ignore:
        parts.append(f"without {', '.join(folder.ignore)}")
    return "; ".join(parts)[:1000]
