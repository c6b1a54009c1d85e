"""Groups as a whole: renames one, or deletes it, with all that is opened to its members in the ledger."""

from __future__ import annotations

from sqlalchemy import delete, insert, select, update

from braid.core.accounts.accounts import ACCOUNTS, clean_groups
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.database import Database, storable
from braid.core.ledger.quota import one_at_a_time
from braid.core.ledger.tables import DatasetRow, ShareRow, UserGroupRow, UserRow


def rename_group(database: Database, name: str, new_name: str) -> str:
    """Give a group another name, and return it as it is stored. Its members and what is shared with it stay.

    Raises NotFoundError for a group without members, and InvalidInputError for a name that another group has.
    """
    cleaned = clean_groups([new_name])
    if not cleaned:
        raise InvalidInputError("the group's name is empty; type at least one character", field="name")
    [new] = cleaned
    if new == name:
        return new
    with database.write() as connection:
        one_at_a_time(connection, ACCOUNTS)
        if connection.execute(select(UserGroupRow.user_id).where(UserGroupRow.group_name == new).limit(1)).first():
            raise InvalidInputError(f"there is a group named {new!r} already; choose another name", field="name")
        members = connection.execute(
            select(UserGroupRow.user_id).where(UserGroupRow.group_name == storable(name))
        ).scalars()
        rows = [{"user_id": user_id, "group_name": new} for user_id in members]
        if not rows:
            raise NotFoundError(f"there is no group {name!r} with members")
        connection.execute(insert(UserGroupRow), rows)
        connection.execute(delete(UserGroupRow).where(UserGroupRow.group_name == storable(name)))
        shared = update(ShareRow).where(ShareRow.group_name == storable(name))
        connection.execute(shared.values(group_name=new))
    return new


def delete_group(database: Database, name: str) -> None:
    """Take all members out of a group, and take back what is shared with it. Raises NotFoundError without members."""
    with database.write() as connection:
        one_at_a_time(connection, ACCOUNTS)
        connection.execute(delete(ShareRow).where(ShareRow.group_name == storable(name)))
        if not connection.execute(delete(UserGroupRow).where(UserGroupRow.group_name == storable(name))).rowcount:
            raise NotFoundError(f"there is no group {name!r} with members")


def shared_with_groups(database: Database) -> dict[str, list[tuple[str, str]]]:
    """Return, per group, name and owner of the personal datasets that are shared with it, by name."""
    statement = (
        select(ShareRow.group_name, DatasetRow.name, UserRow.name)
        .join(DatasetRow, DatasetRow.id == ShareRow.dataset_id)
        .join(UserRow, UserRow.id == DatasetRow.user_id)
        .where(ShareRow.group_name.is_not(None))
        .order_by(DatasetRow.name, DatasetRow.id)
    )
    found: dict[str, list[tuple[str, str]]] = {}
    with database.read() as connection:
        for group, dataset, owner in connection.execute(statement):
            found.setdefault(str(group), []).append((dataset, owner))
    return found
