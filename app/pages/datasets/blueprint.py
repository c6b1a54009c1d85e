"""The blueprint of the pages of datasets, and what they share: which datasets there are for the user."""

from __future__ import annotations

from flask import Blueprint, flash, redirect, url_for
from werkzeug.exceptions import Forbidden
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.datasets import Readable, readable_datasets
from braid.core.errors import NotFoundError
from braid.core.types import Dataset

datasets = Blueprint("datasets", __name__, url_prefix="/datasets")

ONE = "/<int(signed=True):dataset_id>"


def shown_datasets() -> Readable:
    """What the user may read; administrators fill shared datasets also while others cannot read them."""
    found = readable_datasets(identity().account)
    if not identity().is_admin:
        return found
    here = site().braid
    listed = {entry.id: entry for entry in here.registry.entries()}
    shared = [dataset for dataset in here.ledger.all_datasets() if dataset.id in listed]
    read = {dataset.id: dataset for dataset in found.shared}
    return Readable(found.personal, [read.get(dataset.id, dataset) for dataset in reversed(shared)])


def shown(dataset_id: int) -> Dataset:
    """A dataset that the user may see. Raises NotFoundError for any other."""
    found = shown_datasets().by_id.get(dataset_id)
    if found is None:
        raise NotFoundError(f"there is no dataset {dataset_id}")
    return found


def writable(dataset_id: int) -> Dataset:
    """A dataset whose documents the user may change. Raises NotFoundError, and Forbidden for one to be read only."""
    found = shown(dataset_id)
    if not may_write(found):
        raise Forbidden("only administrators may change shared datasets")
    return found


def own(dataset_id: int) -> Dataset:
    """A personal dataset. What a shared one is called, and whether it stays, is for the administrators' pages."""
    found = shown(dataset_id)
    if found.shared:
        raise Forbidden("shared datasets are managed on the administrators' pages")
    return found


def may_write(dataset: Dataset) -> bool:
    """Whether the user may change the dataset's documents."""
    return not dataset.shared or identity().is_admin


def audit(dataset: Dataset, action: str, detail: str = "") -> None:
    """Note an act of an administrator on a shared dataset."""
    if dataset.shared:
        site().audit.add(identity().account.name, action, f"{dataset.id} {dataset.name}", detail)


def address(view: str, dataset_id: int, **more: int) -> str:
    """Where something of a dataset is seen or done."""
    return url_for(f"braid.datasets.{view}", dataset_id=dataset_id, **more)  # type: ignore[arg-type]


def done(text: str, view: str = "dataset", **values: int | str) -> Response:
    """Say what was done, on the page of this view."""
    flash(text)
    return redirect(url_for(f"braid.datasets.{view}", **values))  # type: ignore[arg-type]
