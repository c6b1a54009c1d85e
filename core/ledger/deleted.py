"""Datasets that their owners deleted, which are kept with their documents until they can no longer be restored.

Such a row has ``removed_at`` and still its name, which goes with the documents. Indexes have nothing of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select, update

from braid.core.errors import NotFoundError, Reason
from braid.core.ledger.document_writes import delete_dataset, erase_deletions, log_dataset, require_dataset
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.quota import require_dataset_room
from braid.core.ledger.tables import AccessRequestRow, DatasetRow, ShareRow, SyncedFolderRow
from braid.core.types import MAX_ID

MOST_DELETED = 100
"""Deleted datasets of one user that can be restored; of more the oldest are deleted for good."""
IS_DELETED = DatasetRow.removed_at.is_not(None) & (DatasetRow.name != "")
"""The condition that a dataset, or documents of one, were deleted and can be restored."""
_WHOLE = IS_DELETED & DatasetRow.documents_of.is_(None)


@dataclass(frozen=True, slots=True)
class DeletedDataset:
    """A dataset that can be restored. ``deleted_at`` is seconds since the epoch."""

    id: int
    name: str
    documents: int
    deleted_at: float


class DeletedDatasets:
    """Deletes a user's datasets so that they can be restored. Raises NotFoundError for those that are not the user's.

    >>> deleted = DeletedDatasets(braid.ledger)
    >>> deleted.discard(1)
    >>> [each.name for each in deleted.of_user(1)]
    ['manuals']
    >>> deleted.restore(1, 1)
    >>> deleted.of_user(1)
    []
    """

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def discard(self, dataset_id: int) -> None:
        """Delete a personal dataset so that it can be restored: nobody finds or lists it, and the indexes forget it.

        Its shares, requests for access and synchronized folder end for good. Files of a conversation come back as a
        dataset of their own.
        """
        row = update(DatasetRow).where(DatasetRow.id == dataset_id)
        with self._database.write() as connection:
            log_dataset(connection, dataset_id, require_dataset(connection, dataset_id))
            for table in (SyncedFolderRow, ShareRow, AccessRequestRow):
                connection.execute(delete(table).where(table.dataset_id == dataset_id))
            gone = row.values(removed_at=time.time(), conversation_id=None)
            user_id = connection.execute(gone.returning(DatasetRow.user_id)).scalar_one()
            own = select(DatasetRow.id).where(DatasetRow.user_id == user_id, _WHOLE)
            newest_first = own.order_by(DatasetRow.removed_at.desc(), DatasetRow.id.desc())
            for id_ in connection.execute(newest_first.offset(MOST_DELETED)).scalars().all():
                _erase(connection, id_)

    def of_user(self, user_id: int) -> list[DeletedDataset]:
        """Return the user's datasets that can be restored, the one deleted last first."""
        columns = DatasetRow.id, DatasetRow.name, DatasetRow.documents, DatasetRow.removed_at
        own = select(*columns).where(DatasetRow.user_id == user_id, _WHOLE)
        rows = self._database.fetch(own.order_by(DatasetRow.removed_at.desc(), DatasetRow.id.desc()))
        return [DeletedDataset(id_, name, documents, at or 0.0) for id_, name, documents, at in rows]

    def restore(self, user_id: int, dataset_id: int, *, most: int | None = None) -> None:
        """Give a dataset back with its documents; it is indexed again without being embedded again.

        Raises InvalidInputError when the user has ``most`` datasets already.
        """
        with self._database.write() as connection:
            collection = _require(connection, user_id, dataset_id)
            require_dataset_room(connection, user_id, most)
            connection.execute(update(DatasetRow).where(DatasetRow.id == dataset_id).values(removed_at=None))
            log_dataset(connection, dataset_id, collection)

    def erase(self, user_id: int, dataset_id: int) -> None:
        """Delete a dataset for good that could have been restored."""
        with self._database.write() as connection:
            _require(connection, user_id, dataset_id)
            _erase(connection, dataset_id)

    def erase_old(self, before: float) -> int:
        """Delete for good what was deleted before this time, in seconds since the epoch: datasets and documents; return
        how many deletions.
        """
        number = 0
        for row in self._database.fetch(select(DatasetRow.id).where(IS_DELETED, DatasetRow.removed_at < before)):
            with self._database.write() as connection:
                still = select(DatasetRow.id).where(DatasetRow.id == row.id, IS_DELETED, DatasetRow.removed_at < before)
                if connection.execute(still.with_for_update()).first() is not None:  # else its owner restored it
                    _erase(connection, row.id)
                    number += 1
        return number


def _require(connection: Connection, user_id: int, dataset_id: int) -> str:
    """Return the collection of a deleted dataset of this user, and lock its row."""
    found = None
    if 0 < dataset_id <= MAX_ID:
        own = DatasetRow.id == dataset_id, DatasetRow.user_id == user_id, _WHOLE
        found = connection.execute(select(DatasetRow.collection).where(*own).with_for_update()).scalar_one_or_none()
    if found is None:
        raise NotFoundError(Reason("there is no deleted dataset %(id)s that can be restored", id=dataset_id))
    return found


def _erase(connection: Connection, dataset_id: int) -> None:
    of_documents = DatasetRow.id == dataset_id, DatasetRow.documents_of.is_not(None)
    if connection.execute(select(DatasetRow.id).where(*of_documents)).first() is not None:
        erase_deletions(connection, DatasetRow.id == dataset_id)
        return
    connection.execute(update(DatasetRow).where(DatasetRow.id == dataset_id).values(removed_at=None))
    delete_dataset(connection, dataset_id)
