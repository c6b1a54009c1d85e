"""Which datasets the caller may read and write; what is not theirs does not exist to them."""

from __future__ import annotations

from werkzeug.exceptions import Forbidden

from braid.app.auth.identity import identity
from braid.app.user.datasets import readable_datasets
from braid.core.errors import NotFoundError
from braid.core.types import Dataset


def readable(dataset_id: int) -> Dataset:
    """A dataset that the caller may read. Raises NotFoundError."""
    found = readable_datasets(identity().account).by_id.get(dataset_id)
    if found is None:
        raise NotFoundError(f"there is no dataset {dataset_id}")
    return found


def writable(dataset_id: int) -> Dataset:
    """A dataset whose documents the caller may change: their own, or as an administrator a shared one."""
    found = readable(dataset_id)
    if found.shared and not identity().is_admin:
        raise Forbidden("only administrators may change shared datasets")
    return found


def own(dataset_id: int) -> Dataset:
    """A personal dataset of the caller's. A shared one is managed under ``/shared-databases``."""
    found = readable(dataset_id)
    if found.shared:
        raise Forbidden("this is a shared dataset; see /shared-databases")
    return found
