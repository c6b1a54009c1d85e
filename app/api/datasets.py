"""``/datasets``: personal datasets, and those that others share with the caller."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import SAYS_SOMETHING, Given
from braid.app.api.schemas import DeletionQuery, Moment, Page, PageQuery, Shown, page_of, slice_rows
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.user.datasets import caller_datasets, readable_datasets
from braid.app.user.index_progress import progress_with
from braid.app.web import transfers
from braid.core.datasets.glossary import MAX_FORM_CHARS, MAX_TERMS, Glossaries
from braid.core.datasets.statistics import statistics_of
from braid.core.text.terms import Term
from braid.core.types import MAX_NAME_CHARS, Dataset

resource = Resource(
    "datasets",
    "Datasets that you may read: your own, and those that others share: users (ids above 0), administrators (below 0).",
    "user",
)


MAX_TERMS_OF_DOCUMENTS = 1_000


class DatasetShown(Shown):
    """A dataset with its counts."""

    id: int
    name: str
    kind: Literal["personal", "shared"]
    description: str
    documents: int
    chunks: int
    owner: str = Field(description="Name of the user who shares a personal dataset with you; else empty")
    may_write: bool = Field(description="Whether you may add and remove its documents")


class DeletedDatasetShown(Shown):
    """A deleted dataset that can be restored."""

    id: int
    name: str
    documents: int
    deleted_at: Moment


class DatasetGiven(Given):
    """A personal dataset's name."""

    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=SAYS_SOMETHING, examples=["My notes"])


class FormatCount(Shown):
    """Counts per file format."""

    file_type: str
    documents: int
    chunks: int
    size_bytes: int


class LegState(Shown):
    """Progress of one leg's index of the dataset's collection."""

    leg: Literal["bm25", "dense"]
    state: str
    pending: int = Field(description="Passages of your datasets in the collection still to be indexed")
    error: str


class Statistics(BaseModel):
    """Counts of a dataset's documents and passages."""

    documents: int
    failed: int = Field(description="Documents that could not be read")
    chunks: int
    size_bytes: int
    formats: list[FormatCount]
    indexes: list[LegState]


class TermShown(Shown):
    """Two forms of the same name."""

    short: str
    long: str


class TermGiven(Given):
    """Two forms of the same name."""

    short: str = Field(min_length=1, max_length=MAX_FORM_CHARS, pattern=SAYS_SOMETHING, examples=["SLA"])
    long: str = Field(
        min_length=1, max_length=MAX_FORM_CHARS, pattern=SAYS_SOMETHING, examples=["Service Level Agreement"]
    )


class GlossaryGiven(Given):
    """All terms of a glossary."""

    terms: list[TermGiven] = Field(max_length=MAX_TERMS)


class GlossaryShown(BaseModel):
    """The terms of a dataset."""

    terms: list[TermShown]
    of_documents: list[TermShown] = Field(
        description="Abbreviations that its documents introduce, those of the most documents first; up to "
        f"{MAX_TERMS_OF_DOCUMENTS:,}"
    )


@resource.get("/datasets", Page[DatasetShown])
@rule("user", limited=True)
def list_datasets(query: PageQuery) -> Answered:
    """List the datasets that you may read, your own first."""
    return page_of(Page[DatasetShown], query, slice_rows(readable_datasets(identity().account).all), _show_dataset)


@resource.post("/datasets", DatasetShown, status=201)
def add_dataset(body: DatasetGiven) -> Answered:
    """Add a personal dataset."""
    added = site().braid.ledger.add_dataset(identity().account.id, body.name, most=site().settings.max_user_datasets)
    return Answered(_show_dataset(added), {"Location": url_for("braid.api.get_dataset", dataset_id=added.id)})


@resource.get("/datasets/<int(signed=True):dataset_id>", DatasetShown)
@rule("user", limited=True)
def get_dataset(dataset_id: int) -> DatasetShown:
    """Get a dataset."""
    return _show_dataset(caller_datasets().get(dataset_id))


@resource.patch("/datasets/<int(signed=True):dataset_id>", DatasetShown)
def rename_dataset(dataset_id: int, body: DatasetGiven) -> DatasetShown:
    """Rename a personal dataset."""
    return _show_dataset(site().braid.ledger.rename_dataset(caller_datasets().personal(dataset_id).id, body.name))


@resource.delete("/datasets/<int(signed=True):dataset_id>")
def delete_dataset(dataset_id: int, query: DeletionQuery) -> None:
    """Delete a personal dataset with its documents, immediately; for some days it can be restored.

    How many days, the setting `deleted_days` says. Meanwhile nobody finds it or lists it, and it is shared with nobody.
    """
    transfers.delete_dataset(caller_datasets().personal(dataset_id).id, for_good=query.permanently)


@resource.get("/deleted-datasets", Page[DeletedDatasetShown])
def list_deleted_datasets(query: PageQuery) -> Answered:
    """List your deleted datasets that can be restored, the one deleted last first."""
    rows = slice_rows(site().deleted_datasets.of_user(identity().account.id))
    return page_of(Page[DeletedDatasetShown], query, rows, DeletedDatasetShown.model_validate)


@resource.post("/deleted-datasets/<int:dataset_id>/restore", DatasetShown)
def restore_dataset(dataset_id: int) -> DatasetShown:
    """Restore a deleted dataset with its documents. It is shared with nobody."""
    transfers.restore_dataset(identity().account.id, dataset_id)
    return _show_dataset(caller_datasets().get(dataset_id))


@resource.delete("/deleted-datasets/<int:dataset_id>")
def erase_dataset(dataset_id: int) -> None:
    """Delete a deleted dataset permanently."""
    transfers.erase_dataset(identity().account.id, dataset_id)


@resource.get("/datasets/<int(signed=True):dataset_id>/statistics", Statistics)
@rule("user", limited=True)
def get_statistics(dataset_id: int) -> Statistics:
    """Count a dataset's documents by format, and report the progress of its indexes."""
    dataset, braid = caller_datasets().get(dataset_id), site().braid
    found = statistics_of(braid.ledger, dataset_id)
    progress = progress_with(braid, caller_datasets().readable().all)
    indexes = [LegState.model_validate(part) for part in progress if part.collection == dataset.collection]
    return Statistics(
        documents=found.documents,
        failed=found.failed,
        chunks=found.chunks,
        size_bytes=found.size_bytes,
        formats=[FormatCount.model_validate(each) for each in found.formats],
        indexes=indexes,
    )


@resource.get("/datasets/<int(signed=True):dataset_id>/glossary", GlossaryShown)
@rule("user", limited=True)
def get_glossary(dataset_id: int) -> GlossaryShown:
    """Get a dataset's glossary, and the abbreviations that its documents introduce."""
    return _show_glossary(caller_datasets().get(dataset_id).id)


@resource.put("/datasets/<int(signed=True):dataset_id>/glossary", GlossaryShown)
def put_glossary(dataset_id: int, body: GlossaryGiven) -> GlossaryShown:
    """Replace a dataset's glossary."""
    dataset = caller_datasets().writable(dataset_id)
    _glossaries().put(dataset.id, [Term(each.short, each.long) for each in body.terms])
    if dataset.of_others:
        told = f"{dataset.id} {dataset.name}"
        site().audit.add(identity().account.name, "dataset.glossary_changed", told, f"{len(body.terms)} terms")
    return _show_glossary(dataset.id)


def _show_glossary(dataset_id: int) -> GlossaryShown:
    found = _glossaries()
    return GlossaryShown(
        terms=[TermShown.model_validate(each) for each in found.terms(dataset_id)],
        of_documents=[
            TermShown.model_validate(each) for each in found.of_documents(dataset_id, limit=MAX_TERMS_OF_DOCUMENTS)
        ],
    )


def _glossaries() -> Glossaries:
    return Glossaries(site().braid.ledger.database)


def _show_dataset(dataset: Dataset) -> DatasetShown:
    """Return the dataset in the form that callers see."""
    return DatasetShown(
        id=dataset.id,
        name=dataset.name,
        kind="shared" if dataset.shared else "personal",
        description=dataset.description,
        documents=dataset.documents,
        chunks=dataset.chunks,
        owner=dataset.owner,
        may_write=caller_datasets().may_write(dataset),
    )
