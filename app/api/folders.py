"""``/folders``: folders on the server that datasets are kept equal to."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from flask import url_for
from pydantic import BaseModel, Field

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import Given
from braid.app.api.jobs import JobShown, show_job
from braid.app.api.schemas import DatasetId, Moment, Page, PageQuery, Shown, page_of, slice_rows
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.datasets import caller_datasets
from braid.core.folders.store import MAX_FOLDER_CHARS, MAX_PATTERNS, MAX_PREFIX_CHARS, NewSyncedFolder, SyncedFolder

ONE_LINE = r"^[^\x00-\x1f\x7f]*$"

resource = Resource("folders", "Folders on the server that datasets are kept equal to; for administrators.")

Pattern = Annotated[str, Field(min_length=1, max_length=MAX_FOLDER_CHARS, pattern=ONE_LINE)]


class FolderGiven(Given):
    """A folder and the dataset that is to be equal to it: a shared one, or one of yours."""

    dataset_id: DatasetId
    folder: str = Field(min_length=1, max_length=MAX_FOLDER_CHARS, pattern=ONE_LINE, description="An absolute path")
    ignore: list[Pattern] = Field([], max_length=MAX_PATTERNS, description="What to leave out, as in .gitignore")
    id_prefix: str = Field(
        "",
        max_length=MAX_PREFIX_CHARS,
        pattern=ONE_LINE,
        description="Sources are this and the path within the folder; without it absolute paths",
    )


class FolderShown(Shown):
    """A folder as it is kept. ``problem`` says why it is not followed now; empty when it is."""

    id: int
    user_id: int
    dataset_id: int
    folder: str
    ignore: list[str]
    id_prefix: str
    created_at: Moment
    problem: str
    last_pass: JobShown | None
    """The pass that is under way, else the last one that has ended."""


class RenameShown(BaseModel):
    """A document under a new source."""

    source: str
    becomes: str


class PlanShown(BaseModel):
    """What the first pass would do: sources of documents."""

    put: list[str]
    rename: list[RenameShown]
    remove: list[str]
    unchanged: int


class SyncStarted(BaseModel):
    """Whether a pass was queued, or is under way already."""

    state: Literal["queued", "under way"]
    job: JobShown | None


@resource.get("/folders", Page[FolderShown])
@rule("admin")
def list_folders(query: PageQuery) -> Answered:
    """List the folders in sync."""
    return page_of(Page[FolderShown], query, slice_rows(site().background.folders.all()), _show_folder)


@resource.get("/folders/<int:folder_id>", FolderShown)
@rule("admin")
def get_folder(folder_id: int) -> FolderShown:
    """Get a folder: how its last pass ended."""
    return _show_folder(site().background.folders.get(folder_id))


@resource.post("/folders", FolderShown, status=201)
@rule("admin")
def add_folder(body: FolderGiven) -> Answered:
    """Keep a dataset equal to a folder from now on.

    Documents of the dataset whose source begins with the prefix, or with the folder, and whose file is not there are
    removed: see `/folders/plan` before.
    """
    folder = site().background.supervisor.add(identity().account.id, _new_folder(body))
    _record("added", folder)
    return Answered(_show_folder(folder), {"Location": url_for("braid.api.get_folder", folder_id=folder.id)})


@resource.post("/folders/plan", PlanShown, repeatable=False)
@rule("admin")
def plan_folder(body: FolderGiven) -> PlanShown:
    """Show what the first pass over a folder would do; nothing is changed."""
    plan = site().background.sync_jobs.plan(identity().account.id, _new_folder(body))
    return PlanShown(
        put=[file.source for file in plan.puts],
        rename=[RenameShown(source=rename.source, becomes=rename.file.source) for rename in plan.renames],
        remove=list(plan.removals),
        unchanged=plan.unchanged,
    )


@resource.post("/folders/<int:folder_id>/sync", SyncStarted, status=202)
@rule("admin")
def sync_folder(folder_id: int) -> SyncStarted:
    """Have a pass over a folder now. While one waits or is at work there is no second."""
    background = site().background
    folder = background.folders.get(folder_id)
    job = background.sync_jobs.queue(folder)
    if job is not None:
        return SyncStarted(state="queued", job=show_job(job))
    found = background.sync_jobs.find_active(folder)
    return SyncStarted(state="under way", job=show_job(found) if found else None)


@resource.delete("/folders/<int:folder_id>")
@rule("admin")
def remove_folder(folder_id: int) -> None:
    """Keep a folder in sync no longer. Its documents stay."""
    _record("removed", site().background.supervisor.remove(folder_id))


def _new_folder(body: FolderGiven) -> NewSyncedFolder:
    """Raises NotFoundError for a dataset that is not the caller's to fill."""
    return NewSyncedFolder(
        caller_datasets().writable(body.dataset_id).id, body.folder, tuple(body.ignore), body.id_prefix
    )


def _show_folder(folder: SyncedFolder) -> FolderShown:
    background = site().background
    job = background.sync_jobs.find_active(folder) or background.sync_jobs.find_last(folder)
    values = {
        **asdict(folder),
        "problem": background.sync_jobs.refusal(folder) or background.supervisor.problem(folder.id),
        "last_pass": show_job(job) if job else None,
    }
    return FolderShown.model_validate(values)


def _record(what: str, folder: SyncedFolder) -> None:
    site().audit.add(identity().account.name, f"folder.{what}", folder.folder, f"dataset {folder.dataset_id}")
