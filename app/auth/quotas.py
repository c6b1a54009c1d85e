"""Quotas per user, and the free disk space, checked before anything is accepted."""

from __future__ import annotations

import logging
import shutil

from werkzeug.exceptions import ServiceUnavailable

from braid.app.site import site
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, Reason
from braid.core.ingest.plan import MEBIBYTE
from braid.core.jobs.store import JobStore
from braid.core.ledger.outages import Outage, log_outage
from braid.core.ledger.quota import TOO_MANY_DOCUMENTS, documents_of
from braid.core.types import Dataset

logger = logging.getLogger(__name__)


class Quotas:
    """Checks the limits in the settings against the ledger and the disk."""

    def __init__(self, settings: Settings, braid: Braid) -> None:
        self._settings = settings
        self._braid = braid

    def require_dataset_room(self, account: Account) -> None:
        """Raise InvalidInputError when the user has as many datasets as allowed."""
        most = self._settings.max_user_datasets
        if len(self._braid.ledger.datasets(account.id)) >= most:
            raise InvalidInputError(
                Reason("you have %(most)s datasets, which is the limit; delete one first", most=format(most, ",")),
                field="name",
            )

    def require_room(self, account: Account, dataset: Dataset, *, source: str = "", more_bytes: int = 0) -> None:
        """Check that one more document fits in the dataset; one that replaces ``source`` is not counted again.

        Raises InvalidInputError, and ServiceUnavailable when the disk is full.
        """
        self.require_queue_room(account, more_bytes=more_bytes)
        replaces = source and self._braid.ledger.document(dataset.id, source) is not None
        if dataset.user_id is not None and not replaces:
            self.require_document_room(dataset.user_id, dataset.owner)

    def require_document_room(self, user_id: int, owner: str = "") -> None:
        """Raise InvalidInputError when the user has as many documents as allowed; ``owner`` names one who is not the
        caller.
        """
        most = self._settings.max_user_documents
        if self._braid.ledger.database.value(documents_of(user_id)) >= most:
            told = Reason(TOO_MANY_DOCUMENTS, most=format(most, ","))
            if owner:
                told = Reason(
                    "%(name)s has %(most)s documents, with deleted ones that can be restored, which is the limit; "
                    "delete some permanently",
                    name=owner,
                    most=format(most, ","),
                )
            raise InvalidInputError(told, field="file")

    def require_queue_room(self, account: Account, *, more_bytes: int = 0) -> None:
        """Check that the user may queue one more job.

        Raises InvalidInputError, and ServiceUnavailable when the disk is full.
        """
        self._require_disk(more_bytes)
        most = self._settings.max_waiting_jobs
        if JobStore(self._braid.ledger).count_not_done(account.id) >= most:
            shown = f"{most:,} uploads wait or have failed"
            raise InvalidInputError(f"{shown}, which is the limit; wait, or remove failed ones", field="file")

    def _require_disk(self, more_bytes: int) -> None:
        left = shutil.disk_usage(self._braid.data_dir).free - more_bytes
        if left < self._settings.min_free_disk_mb * MEBIBYTE:
            reason = f"{left // MEBIBYTE} MiB would be left, fewer than min_free_disk_mb"
            log_outage(logger, Outage("disk_full", reason), "a request that stores something")
            raise ServiceUnavailable("the disk of the server is almost full; tell the administrator")


def quotas() -> Quotas:
    """Return the quotas of the app that serves this request."""
    return Quotas(site().settings, site().braid)
