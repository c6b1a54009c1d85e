"""``/shared-databases``: the entries of shared_dbs.json."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import Given
from braid.app.api.schemas import Page, PageQuery, Shown, page_of, slice_rows
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.core.datasets.entry import (
    COLLECTION_PATTERN,
    LINE_PATTERN,
    MAX_COLLECTION_CHARS,
    MAX_DESCRIPTION_CHARS,
    TEXT_PATTERN,
)
from braid.core.datasets.registry import SharedDataset
from braid.core.errors import NotFoundError
from braid.core.types import MAX_NAME_CHARS

resource = Resource("shared databases", "Datasets for everybody, or for groups; administrators manage them.", "user")

Group = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=LINE_PATTERN)]


class SharedDatabaseShown(Shown):
    """A shared dataset. Its configuration is null for callers who are not administrators."""

    id: int
    name: str
    description: str
    documents: int
    chunks: int
    collection_name: str | None
    allowed_groups: list[str] | None
    enabled: bool | None
    embedding_model: str | None


class SharedDatabaseChanges(Given):
    """The fields to change; the others stay."""

    name: str | None = Field(None, max_length=MAX_NAME_CHARS, pattern=LINE_PATTERN)
    collection_name: str | None = Field(None, max_length=MAX_COLLECTION_CHARS, pattern=COLLECTION_PATTERN)
    description: str | None = Field(None, max_length=MAX_DESCRIPTION_CHARS, pattern=TEXT_PATTERN)
    allowed_groups: list[Group] | None = Field(
        None, max_length=100, description="Groups that may read it; [] for everybody"
    )
    embedding_model: str | None = Field(None, max_length=MAX_NAME_CHARS, pattern=TEXT_PATTERN)
    enabled: bool | None = None


class SharedDatabaseGiven(Given):
    """A new shared dataset. Several may share a collection."""

    name: str = Field(max_length=MAX_NAME_CHARS, pattern=LINE_PATTERN, examples=["Handbook"])
    collection_name: str = Field(
        max_length=MAX_COLLECTION_CHARS, pattern=COLLECTION_PATTERN, examples=["shared_main_db"]
    )
    description: str = Field("", max_length=MAX_DESCRIPTION_CHARS, pattern=TEXT_PATTERN)
    allowed_groups: list[Group] = Field([], max_length=100, description="Groups that may read it; [] for everybody")
    embedding_model: str = Field("", max_length=MAX_NAME_CHARS, pattern=TEXT_PATTERN)


@resource.get("/shared-databases", Page[SharedDatabaseShown])
def list_shared_databases(query: PageQuery) -> Answered:
    """List the shared databases that you may read; administrators see all, including disabled ones."""
    return page_of(Page[SharedDatabaseShown], query, slice_rows(_visible_entries()), lambda entry: entry)


@resource.get("/shared-databases/<int(signed=True):dataset_id>", SharedDatabaseShown)
def get_shared_database(dataset_id: int) -> SharedDatabaseShown:
    """Get a shared database."""
    for entry in _visible_entries():
        if entry.id == dataset_id:
            return entry
    raise NotFoundError(f"there is no shared database {dataset_id}")


@resource.post("/shared-databases", SharedDatabaseShown, status=201)
@rule("admin")
def add_shared_database(body: SharedDatabaseGiven) -> Answered:
    """Add a shared database. Its id is the next free one below 0."""
    entry = site().shared_datasets.add(**body.model_dump(), by=identity().account.name)
    where = url_for("braid.api.get_shared_database", dataset_id=entry.id)
    return Answered(get_shared_database(entry.id), {"Location": where})


@resource.patch("/shared-databases/<int(signed=True):dataset_id>", SharedDatabaseShown)
@rule("admin")
def change_shared_database(dataset_id: int, body: SharedDatabaseChanges) -> SharedDatabaseShown:
    """Change a shared database. A new collection moves its documents there."""
    site().shared_datasets.update(dataset_id, **body.model_dump(exclude_none=True), by=identity().account.name)
    return get_shared_database(dataset_id)


@resource.delete("/shared-databases/<int(signed=True):dataset_id>")
@rule("admin")
def remove_shared_database(dataset_id: int) -> None:
    """Remove a shared database with its documents, immediately and permanently."""
    if site().braid.registry.get(dataset_id) is None:
        raise NotFoundError(f"there is no shared database {dataset_id}")
    site().shared_datasets.remove(dataset_id, by=identity().account.name)


def _visible_entries() -> list[SharedDatabaseShown]:
    braid = site().braid
    braid.mirror_registry()
    entries = {entry.id: entry for entry in braid.registry.entries()}
    if not identity().is_admin:
        readable = {dataset.id for dataset in readable_datasets(identity().account).shared}
        return [_show_entry(entry, full=False) for entry in entries.values() if entry.id in readable]
    return [_show_entry(entry, full=True) for entry in entries.values()]


def _show_entry(entry: SharedDataset, *, full: bool) -> SharedDatabaseShown:
    stored = site().braid.ledger.dataset(entry.id)
    return SharedDatabaseShown(
        id=entry.id,
        name=entry.name,
        description=entry.description,
        documents=stored.documents,
        chunks=stored.chunks,
        collection_name=entry.collection_name if full else None,
        allowed_groups=list(entry.allowed_groups) if full else None,
        enabled=entry.enabled if full else None,
        embedding_model=entry.embedding_model if full else None,
    )
