"""The page of one dataset: add documents, follow their progress, find and delete them."""

from __future__ import annotations

from dataclasses import replace

from flask import render_template
from flask_babel import format_decimal

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.pages.datasets.blueprint import ONE, datasets, visible_datasets
from braid.app.pages.datasets.document_list import FILTERS, document_list
from braid.app.site import site
from braid.core.jobs.store import OPEN, Job, JobKind, JobState
from braid.core.types import MAX_NAME_CHARS, Dataset

KIBI = 1024
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
        **_list_values(dataset),
    )


def _list_values(dataset: Dataset) -> dict[str, object]:
    task = _task(dataset) if visible_datasets().may_write(dataset) else None
    found = document_list(dataset)
    return {
        "dataset": replace(site().braid.ledger.dataset(dataset.id), description=dataset.description),
        "writable": visible_datasets().may_write(dataset),
        "listed": found,
        "filters": FILTERS,
        "task": task,
        "busy": found.overview.busy,
    }


def _task(dataset: Dataset) -> Job | None:
    """Return the user's last export, import or embedding of the dataset."""
    store = site().background.store
    found = store.of_dataset(dataset.id, kinds=TASKS, states=(*OPEN, *ENDED), limit=20)
    return next((job for job in found if job.user_id == identity().account.id), None)


@datasets.app_template_filter("size")
def size(size_bytes: int) -> str:
    """Return a size in a readable unit, in the page's language."""
    value, unit = float(size_bytes), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if value < KIBI or unit == "TB":
            break
        value /= KIBI
    return f"{format_decimal(value, format='#,##0' if unit == 'B' or value >= 10 else '#,##0.#')} {unit}"
