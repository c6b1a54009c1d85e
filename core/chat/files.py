"""Files that were added to a conversation: a dataset of its own, which is searched with the chosen ones.

It is in no list, only its owner can name it, and it is deleted with the conversation unless it is kept.
"""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, insert, select, update

from braid.core.chat.turns.rows import require_conversation, touch
from braid.core.errors import NotFoundError, Reason
from braid.core.ledger.document_writes import delete_dataset
from braid.core.ledger.ledger import Ledger, checked_name, personal_collection
from braid.core.ledger.quota import require_dataset_room
from braid.core.ledger.tables import DatasetRow, JobRow
from braid.core.types import Dataset

FILES_NAME = "Files of a conversation"


class ConversationFiles:
    """The files of conversations. Raises NotFoundError for a conversation that is not the user's."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def dataset(self, user_id: int, conversation_id: int) -> Dataset | None:
        """Return the dataset with a conversation's files; None when it has none."""
        attached = self._ledger.attached_datasets(user_id)
        return next((dataset for dataset in attached if dataset.conversation_id == conversation_id), None)

    def add_dataset(self, user_id: int, conversation_id: int) -> Dataset:
        """Return the dataset with a conversation's files, which is added if there is none."""
        values = {"user_id": user_id, "name": FILES_NAME, "collection": personal_collection(user_id)}
        with self._ledger.database.write() as connection:
            require_conversation(connection, user_id, conversation_id, lock=True)
            if not has_files(connection, conversation_id):
                row = insert(DatasetRow).values(**values, created_at=time.time(), conversation_id=conversation_id)
                connection.execute(row)
            touch(connection, conversation_id)
        found = self.dataset(user_id, conversation_id)
        if found is None:
            raise NotFoundError(Reason("there is no conversation %(id)s", id=conversation_id))
        return found

    def keep(self, user_id: int, conversation_id: int, name: str, *, most: int | None = None) -> Dataset:
        """Make the files an ordinary dataset under this name, with their passages and vectors as they are.

        Raises NotFoundError when the conversation has no files, and InvalidInputError for a wrong name, or when the
        user has ``most`` datasets already.
        """
        found = self.dataset(user_id, conversation_id)
        if found is None:
            raise NotFoundError(f"conversation {conversation_id} has no files")
        present = DatasetRow.id == found.id, DatasetRow.removed_at.is_(None)
        ordinary = {"name": checked_name(name, "dataset"), "conversation_id": None}
        with self._ledger.database.write() as connection:
            require_dataset_room(connection, user_id, most)
            connection.execute(update(DatasetRow).where(*present).values(**ordinary))
        return self._ledger.dataset(found.id)


def delete_files(connection: Connection, conversation_id: int) -> None:
    """Delete a conversation's files with their passages, vectors and jobs; the indexes follow.

    Those that have been kept are no longer the conversation's.
    """
    attached = select(DatasetRow.id).where(
        DatasetRow.conversation_id == conversation_id, DatasetRow.removed_at.is_(None)
    )
    for dataset_id in connection.execute(attached.with_for_update()).scalars().all():
        delete_dataset(connection, dataset_id)
        connection.execute(delete(JobRow).where(JobRow.dataset_id == dataset_id))


def has_files(connection: Connection, conversation_id: int) -> bool:
    """Return whether there is a dataset with the conversation's files."""
    found = select(DatasetRow.id).where(DatasetRow.conversation_id == conversation_id, DatasetRow.removed_at.is_(None))
    return connection.execute(found.limit(1)).one_or_none() is not None
