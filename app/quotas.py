"""What one user may keep, and the room that the disk must have left. Checked before anything is taken in."""

from __future__ import annotations

import shutil

from werkzeug.exceptions import ServiceUnavailable

from app.site import site
from core.accounts import Account
from core.errors import InvalidInputError
from core.ingest import MEBIBYTE
from core.types import Dataset


def require_dataset_room(account: Account) -> None:
    """Raises InvalidInputError when the user has as many datasets as are allowed."""
    most = site().settings.max_user_datasets
    if len(site().braid.ledger.datasets(account.id)) >= most:
        raise InvalidInputError(f"you have {most:,} datasets, which is the limit; delete one first", field="name")


def require_room(account: Account, dataset: Dataset, *, more_bytes: int = 0) -> None:
    """For one more document in the dataset. Raises InvalidInputError, and ServiceUnavailable when the disk is full."""
    require_queue_room(account, more_bytes=more_bytes)
    if not dataset.shared:
        require_document_room(account)


def require_document_room(account: Account) -> None:
    """Raises InvalidInputError when the user has as many documents as are allowed."""
    most = site().settings.max_user_documents
    if sum(each.documents for each in site().braid.ledger.datasets(account.id)) >= most:
        raise InvalidInputError(f"you have {most:,} documents, which is the limit; delete some first", field="file")


def require_queue_room(account: Account, *, more_bytes: int = 0) -> None:
    """For one more job of the user's. Raises InvalidInputError, and ServiceUnavailable when the disk is full."""
    _require_disk(more_bytes)
    settings = site().settings
    if site().background.store.standing(account.id) >= settings.max_waiting_jobs:
        most = f"{settings.max_waiting_jobs:,} uploads wait or have failed"
        raise InvalidInputError(f"{most}, which is the limit; wait, or remove failed ones", field="file")


def _require_disk(more_bytes: int) -> None:
    left = shutil.disk_usage(site().braid.data_dir).free - more_bytes
    if left < site().settings.min_free_disk_mb * MEBIBYTE:
        raise ServiceUnavailable("the disk of the server is almost full; tell the administrator")
