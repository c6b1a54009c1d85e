"""``/folders``: folders on the server that datasets are kept in sync with."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import Given
from braid.app.api.jobs import JobShown, show_job
from braid.app.api.schemas import DatasetId, Moment, Page, PageQuery, Shown, page_of, slice_rows
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.user.datasets import caller_datasets
from braid.core.folders.store import MAX_FOLDER_CHARS, MAX_PATTERNS, MAX_PREFIX_CHARS, NewSyncedFolder, SyncedFolder

ONE_LINE = r"^[^\x00-\x1f\x7f]*$"

resource = Resource(
    "folders", "Folders on the server that datasets are kept in sync with; for administrators.", "admin"
)

Pattern = Annotated[str, Field(min_length=1, max_length=MAX_FOLDER_CHARS, pattern=ONE_LINE)]


class FolderGiven(Given):
    """A folder and the dataset to keep in sync with it: a shared one, or one of yours."""

    dataset_id: DatasetId
    folder: str = Field(min_length=1, max_length=MAX_FOLDER_CHARS, pattern=ONE_LINE, description="An absolute path")
    ignore: list[Pattern] = Field([], max_length=MAX_PATTERNS, description="Patterns to leave out, as in .gitignore")
    id_prefix: str = Field(
        "",
        max_length=MAX_PREFIX_CHARS,
        pattern=ONE_LINE,
        description="Sources are this prefix and the path within the folder; without it absolute paths",
    )


class FolderShown(Shown):
    """A synced folder. ``problem`` says why it cannot be synced now; empty if it can."""

    id: int
    user_id: int
    dataset_id: int
    folder: str
    ignore: list[str]
    id_prefix: str
    created_at: Moment
    problem: str
    last_pass: JobShown | None
    """The running pass, else the last one that has ended."""


class RenameShown(BaseModel):
    """A document that gets a new source."""

    source: str
    becomes: str


class PlanShown(BaseModel):
    """Planned changes of the first pass, as sources of documents."""

    put: list[str]
    rename: list[RenameShown]
    remove: list[str]
    unchanged: int


class SyncStarted(BaseModel):
    """The pass, and whether it was queued now or is running already."""

    state: Literal["queued", "under way"]
    job: JobShown | None


@resource.get("/folders", Page[FolderShown])
def list_folders(query: PageQuery) -> Answered:
    """List the synced folders."""
    return page_of(Page[FolderShown], query, slice_rows(site().background.folders.all()), _show_folder)


@resource.get("/folders/<int:folder_id>", FolderShown)
def get_folder(folder_id: int) -> FolderShown:
    """Get a synced folder and its last pass."""
    return _show_folder(site().background.folders.get(folder_id))


@resource.post("/folders", FolderShown, status=201)
def add_folder(body: FolderGiven) -> Answered:
    """Start to keep a dataset in sync with a folder.

    Removes documents of the dataset whose source begins with the prefix, or with the folder, and whose file does not
    exist: see `/folders/plan` first.
    """
    folder = site().background.supervisor.add(identity().account.id, _new_folder(body))
    _record("added", folder)
    return Answered(_show_folder(folder), {"Location": url_for("braid.api.get_folder", folder_id=folder.id)})


@resource.post("/folders/plan", PlanShown, repeatable=False)
def plan_folder(body: FolderGiven) -> PlanShown:
    """Show what the first pass over a folder would do, without changing anything."""
    plan = site().background.sync_jobs.plan(identity().account.id, _new_folder(body))
    return PlanShown(
        put=[file.source for file in plan.puts],
        rename=[RenameShown(source=rename.source, becomes=rename.file.source) for rename in plan.renames],
        remove=list(plan.removals),
        unchanged=plan.unchanged,
    )


@resource.post("/folders/<int:folder_id>/sync", SyncStarted, status=202)
def sync_folder(folder_id: int) -> SyncStarted:
    """Queue a pass over a folder now, unless one is waiting or running."""
    background = site().background
    folder = background.folders.get(folder_id)
    job = background.sync_jobs.queue(folder)
    if job is not None:
        return SyncStarted(state="queued", job=show_job(job))
    found = background.sync_jobs.find_active(folder)
    return SyncStarted(state="under way", job=show_job(found) if found else None)


@resource.delete("/folders/<int:folder_id>")
def remove_folder(folder_id: int) -> None:
    """Stop keeping a folder in sync. Its documents stay."""
    _record("removed", site().background.supervisor.remove(folder_id))


def _new_folder(body: FolderGiven) -> NewSyncedFolder:
    """Read the folder from the body. Raises NotFoundError for a dataset that the caller may not fill."""
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
