"""How many rows of a kind a user may have, counted in the transaction that adds one: no other is added meanwhile."""

from __future__ import annotations

from sqlalchemy import Connection, Select, func, or_, select

from braid.core.errors import N_, InvalidInputError, Reason
from braid.core.ledger.tables import DatasetRow, DocumentRow

TOO_MANY_DOCUMENTS = N_(
    "you have %(most)s documents, with deleted ones that can be restored, which is the limit; delete some permanently"
)


def one_at_a_time(connection: Connection, what: str) -> None:
    """Keep other transactions that name the same thing waiting until this one of `Database.write` is committed.

    SQLite has one writer at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        statement = "SELECT pg_advisory_xact_lock(hashtextextended(%(what)s, 0))"
        connection.exec_driver_sql(statement, {"what": f"braid {what}"})


def require_room(
    connection: Connection, user_id: int, count: Select[int], most: int, told: str, *, field: str = "name"
) -> None:
    """Raise InvalidInputError, which says ``told``, when ``count`` selects ``most`` or more of the user's rows.

    The count is true until the transaction is committed.
    """
    one_at_a_time(connection, f"user {user_id}")
    if connection.execute(count).scalar_one() >= most:
        raise InvalidInputError(told, field=field)


def require_dataset_room(connection: Connection, user_id: int, most: int | None) -> None:
    """Raise InvalidInputError when the user has ``most`` datasets, without those of conversations; None is no limit."""
    if most is not None:
        own = DatasetRow.user_id == user_id, DatasetRow.removed_at.is_(None), DatasetRow.conversation_id.is_(None)
        told = Reason("you have %(most)s datasets, which is the limit; delete one first", most=format(most, ","))
        require_room(connection, user_id, select(func.count()).select_from(DatasetRow).where(*own), most, told)


def documents_of(user_id: int) -> Select[int]:
    """Return the statement that counts a user's documents, with those of deleted datasets that can be restored."""
    return select(func.coalesce(func.sum(DatasetRow.documents), 0)).where(DatasetRow.user_id == user_id)


def bytes_of(user_id: int) -> Select[int]:
    """Return the statement that sums the sizes of the files in a user's datasets, without those of conversations."""
    own = DatasetRow.user_id == user_id, DatasetRow.removed_at.is_(None), DatasetRow.conversation_id.is_(None)
    size = func.coalesce(func.sum(DocumentRow.size_bytes), 0)
    return select(size).join(DatasetRow, DatasetRow.id == DocumentRow.dataset_id).where(*own)


def documents_in(dataset_id: int) -> Select[int]:
    """Return the statement that counts a dataset's documents, with those deleted from it that can be restored."""
    of_it = or_(DatasetRow.id == dataset_id, DatasetRow.documents_of == dataset_id)
    return select(func.coalesce(func.sum(DatasetRow.documents), 0)).where(of_it)


def require_document_room(connection: Connection, dataset_id: int, most: int | None) -> None:
    """Raise InvalidInputError when the dataset's owner has ``most`` documents; None is no limit.

    Those of deleted datasets count until these can no longer be restored.
    Who writes to a shared dataset, which nobody owns, has none.
    """
    owner = select(DatasetRow.user_id).where(DatasetRow.id == dataset_id)
    if most is None or (user_id := connection.execute(owner).scalar_one_or_none()) is None:
        return
    told = Reason(TOO_MANY_DOCUMENTS, most=format(most, ","))
    require_room(connection, user_id, documents_of(user_id), most, told, field="file")
