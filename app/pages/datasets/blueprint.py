"""The blueprint of the dataset pages, and functions that these pages share."""

from __future__ import annotations

from braid.app.auth.access import Routes
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.user.datasets import UserDatasets, caller_datasets
from braid.core.types import Dataset

datasets = Routes("datasets", __name__, "user", url_prefix="/datasets")

ONE = "/<int(signed=True):dataset_id>"
MINE = "/mine"
"""Part of an address that means the user's first dataset, which is made when something is first added to it."""


def visible_datasets() -> UserDatasets:
    """Return the user's datasets; administrators also get shared ones that others cannot read, to fill them."""
    return caller_datasets(include_closed=True)


def audit(dataset: Dataset, action: str, detail: str = "") -> None:
    """Record an action on a dataset that is not the user's own."""
    if dataset.of_others:
        site().audit.add(identity().account.name, action, f"{dataset.id} {dataset.name}", detail)


def address(view: str, dataset_id: int, **more: int) -> str:
    """Return the address of a view of a dataset."""
    return url_for(f"braid.datasets.{view}", dataset_id=dataset_id, **more)
