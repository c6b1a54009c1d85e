"""The page of one dataset: add documents, follow their progress, find and delete them."""

from __future__ import annotations

from dataclasses import replace

from flask import render_template

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.pages.datasets.blueprint import ONE, datasets, visible_datasets
from braid.app.pages.datasets.document_list import FILTERS, DocumentList, document_list
from braid.app.pages.datasets.readers import sharing_of
from braid.app.pages.search.blueprint import status_of
from braid.app.site import site
from braid.app.user.questions import tried
from braid.core.jobs.store import OPEN, Job, JobKind, JobState
from braid.core.ledger.deleted_documents import DeletedDocument
from braid.core.types import MAX_NAME_CHARS, Dataset

QUESTIONS = 3
SEEN_DOCUMENTS = 5
"""Documents at the top of the list that are asked about."""
SHOWN_DELETED = 100
TASKS: tuple[JobKind, ...] = ("export", "import", "reembed")
ENDED: tuple[JobState, ...] = ("done", "failed")


@datasets.get(ONE)
@rule("user")
def dataset(dataset_id: int) -> str:
    """Show a dataset with its documents."""
    return dataset_page(visible_datasets().get(dataset_id))


@datasets.get(f"{ONE}/live")
@rule("user")
def live(dataset_id: int) -> str:
    """Render the list of documents alone, for the page's script."""
    return render_template("braid/datasets/_documents.html", **_list_values(visible_datasets().get(dataset_id)))


def dataset_page(dataset: Dataset, *, problem: str = "") -> str:
    """Render the page of a dataset, with a problem if there is one."""
    settings = site().settings
    return render_template(
        "braid/datasets/dataset.html",
        problem=problem,
        max_file_mb=settings.max_file_mb,
        max_name=MAX_NAME_CHARS,
        embedding_model=settings.embedding_model,
        sharing=sharing_of(dataset, visible_datasets()),
        deleted=_deleted(dataset),
        most_deleted=SHOWN_DELETED,
        **_list_values(dataset),
    )


def _deleted(dataset: Dataset) -> list[DeletedDocument]:
    """Return deleted documents that the user may restore, the last ones first."""
    if not visible_datasets().may_write(dataset):
        return []
    return site().deleted_documents.of_dataset(dataset.id, limit=SHOWN_DELETED + 1)


def _list_values(dataset: Dataset) -> dict[str, object]:
    found = document_list(dataset)
    task = _task(dataset) if visible_datasets().may_write(dataset) else None  # if nothing was busy, it is final
    return {
        "dataset": replace(
            site().braid.ledger.dataset(dataset.id), description=dataset.description, owner=dataset.owner
        ),
        "writable": visible_datasets().may_write(dataset),
        "listed": found,
        "filters": FILTERS,
        "task": task,
        "busy": found.overview.busy,
        "questions": [] if found.overview.busy or found.arguments or found.page else _questions(dataset, found),
        "status": status_of(site(), [dataset]) if found.overview.busy else None,
    }


def _questions(dataset: Dataset, found: DocumentList) -> list[str]:
    """Return questions that the documents at the top of the list answer, one about each."""
    asked = [row for row in found.rows if row.document_id and row.chunks][:SEEN_DOCUMENTS]
    return tried(
        [site().outlines.of_document(row.document_id, dataset.id) for row in asked], most=min(QUESTIONS, len(asked))
    )


def _task(dataset: Dataset) -> Job | None:
    """Return the user's last export, import or embedding of the dataset."""
    store = site().background.store
    found = store.of_dataset(dataset.id, kinds=TASKS, states=(*OPEN, *ENDED), limit=20)
    return next((job for job in found if job.user_id == identity().account.id), None)
