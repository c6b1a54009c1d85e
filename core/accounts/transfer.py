"""Gives datasets to another user, with their documents, vectors and waiting jobs; and assistants."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, Select, delete, or_, select, update

from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ledger.document_writes import log_dataset, require_dataset
from braid.core.ledger.ledger import Ledger, personal_collection
from braid.core.ledger.tables import (
    AccessRequestRow,
    AssistantRow,
    DatasetRow,
    JobRow,
    ShareRow,
    SyncedFolderRow,
)


def transfer_datasets(
    ledger: Ledger, from_user: int, to_user: int, dataset_ids: Collection[int] | None = None
) -> list[int]:
    """Give personal datasets of a user, or all of them with all assistants, to another; return the datasets' ids. The
    indexes follow.

    Nothing is embedded again, and whom a dataset is shared with stays. Files of conversations stay where the
    conversation is; a folder that a dataset is synced with is taken off the list, because the right to it was the first
    user's. Raises NotFoundError for an unknown user, or a dataset that is not the first user's, and InvalidInputError
    for one user twice; then nothing has changed.
    """
    if from_user == to_user:
        raise InvalidInputError(Reason("the datasets are this user's already; name another one"), field="to_user_id")
    for user_id in (from_user, to_user):
        if ledger.user(user_id) is None:
            raise NotFoundError(Reason("there is no user %(id)s", id=user_id))
    owned = [dataset.id for dataset in ledger.datasets(from_user)]
    wanted = owned if dataset_ids is None else list(dict.fromkeys(dataset_ids))
    if foreign := [str(each) for each in wanted if each not in owned]:
        raise NotFoundError(f"user {from_user} has no dataset {', '.join(foreign)}")
    collection = personal_collection(to_user)
    with ledger.database.write() as connection:
        for dataset_id in wanted:
            before = require_dataset(connection, dataset_id)
            owner = select(DatasetRow.user_id).where(DatasetRow.id == dataset_id)
            if connection.execute(owner).scalar_one() != from_user:
                raise NotFoundError(f"user {from_user} has no dataset {dataset_id}")
            log_dataset(connection, dataset_id, before)
            values = {"user_id": to_user, "collection": collection}
            with_deleted = or_(DatasetRow.id == dataset_id, DatasetRow.documents_of == dataset_id)
            connection.execute(update(DatasetRow).where(with_deleted).values(**values))
            log_dataset(connection, dataset_id, collection)
            connection.execute(update(JobRow).where(JobRow.dataset_id == dataset_id).values(user_id=to_user))
            for table in (ShareRow, AccessRequestRow):  # the new owner needs neither
                connection.execute(delete(table).where(table.dataset_id == dataset_id, table.user_id == to_user))
            connection.execute(delete(SyncedFolderRow).where(SyncedFolderRow.dataset_id == dataset_id))
        if dataset_ids is None:
            for assistant_id in connection.execute(_assistants_of(from_user)).scalars().all():
                give_assistant(connection, assistant_id, to_user)
    return wanted


def give_assistant(connection: Connection, assistant_id: int, to_user: int) -> None:
    """Make a user the owner of an assistant, who then needs no share of it."""
    needless = ShareRow.assistant_id == assistant_id, ShareRow.user_id == to_user
    connection.execute(delete(ShareRow).where(*needless))
    connection.execute(update(AssistantRow).where(AssistantRow.id == assistant_id).values(user_id=to_user))


def _assistants_of(user_id: int) -> Select[int]:
    return select(AssistantRow.id).where(AssistantRow.user_id == user_id)
