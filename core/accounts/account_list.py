"""Lists of accounts, a page at a time, by name and group; names by id; groups: sizes, renaming, deletion."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, and_, case, delete, func, insert, or_, select, update

from braid.core.accounts.accounts import ACCOUNTS, COLUMNS, Account, AccountState, clean_groups, with_groups
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ledger.database import Database, storable
from braid.core.ledger.ledger import REMOVED_USER
from braid.core.ledger.quota import one_at_a_time
from braid.core.ledger.tables import (
    AssistantRow,
    DatasetRow,
    ProvisionedGroupRow,
    ShareRow,
    UserGroupRow,
    UserRow,
)

THERE = ~UserRow.name.startswith(REMOVED_USER)
STATE = case(
    (UserRow.disabled & UserRow.waiting, "waiting"),
    (UserRow.disabled, "suspended"),
    (or_(UserRow.password_hash != "", UserRow.signed_in_at.is_not(None)), "active"),
    (UserRow.invited_at.is_not(None), "invited"),
    else_="new",
)
"""`Account.state` in SQL."""
Only = AccountState | Literal["expired", "administrator"]
"""Users of one state, those whose invitation is too old, or administrators."""


class Lent(NamedTuple):
    """A personal dataset or assistant that is shared with a group."""

    name: str
    owner_id: int
    owner: str
    is_assistant: bool


Order = Literal["name", "groups", "state", "signed_in"]
_NAME = func.lower(UserRow.name)
_FIRST_GROUP = select(func.min(UserGroupRow.group_name)).where(UserGroupRow.user_id == UserRow.id).scalar_subquery()
_ORDERS: Mapping[Order, ColumnElement[Any]] = {
    "name": _NAME,
    "groups": func.coalesce(_FIRST_GROUP, ""),
    "state": STATE,
    "signed_in": func.coalesce(UserRow.signed_in_at, 0.0),
}


def find_accounts(
    database: Database,
    *,
    text: str = "",
    group: str = "",
    only: Only | None = None,
    sort: Order = "name",
    descending: bool = False,
    valid_since: float = 0.0,
    limit: int = 50,
    offset: int = 0,
) -> tuple[list[Account], int]:
    """Return a page of the accounts whose name or a group contains ``text``, and the number of all of them.

    With ``group``, only its members; with ``only``, those in one state, or administrators. Invitations that were made
    before ``valid_since`` are too old. By sign-in, who never signed in counts as first; by groups, who is in none. Case
    is ignored as far as the database can: SQLite only does for a to z.
    """
    conditions: list[ColumnElement[bool]] = [THERE]
    if part := storable(text).strip():
        in_group = select(UserGroupRow.user_id).where(UserGroupRow.group_name.icontains(part, autoescape=True))
        conditions.append(or_(UserRow.name.icontains(part, autoescape=True), UserRow.id.in_(in_group)))
    if group:
        members = select(UserGroupRow.user_id).where(UserGroupRow.group_name == storable(group))
        conditions.append(UserRow.id.in_(members))
    if only:
        conditions.append(UserRow.is_admin.is_(True) if only == "administrator" else _state(valid_since).in_([only]))
    first = _ORDERS[sort].desc() if descending else _ORDERS[sort].asc()
    page = select(*COLUMNS).where(*conditions).order_by(first, _NAME, UserRow.id)
    with database.read() as connection:
        total = connection.execute(select(func.count()).select_from(UserRow).where(*conditions)).scalar_one()
        rows = connection.execute(page.limit(limit).offset(offset)).all()
        return with_groups(connection, rows, [row.id for row in rows]), total


def count_accounts(database: Database) -> int:
    """Return the number of accounts."""
    return database.value(select(func.count()).select_from(UserRow).where(THERE))


def count_states(database: Database, *, valid_since: float = 0.0) -> dict[Only, int]:
    """Return the number of accounts in each state, and of administrators, where there are any; as `find_accounts`."""
    counted: dict[Only, int] = {}
    named = select(_state(valid_since).label("state"), UserRow.is_admin).where(THERE).subquery()
    statement = select(named.c.state, named.c.is_admin, func.count()).group_by(named.c.state, named.c.is_admin)
    for state, is_admin, count in database.fetch(statement):
        counted[state] = counted.get(state, 0) + count
        if is_admin:
            counted["administrator"] = counted.get("administrator", 0) + count
    return counted


def _state(valid_since: float) -> ColumnElement[str]:
    return case((and_(STATE == "invited", UserRow.invited_at < valid_since), "expired"), else_=STATE)


def account_names(database: Database, user_ids: Collection[int]) -> dict[int, str]:
    """Return id → name of those of these users that there are."""
    if not user_ids:
        return {}
    statement = select(UserRow.id, UserRow.name).where(THERE, UserRow.id.in_(set(user_ids)))
    return {row[0]: row[1] for row in database.fetch(statement)}


def accounts_named(database: Database, names: Collection[str]) -> dict[str, int]:
    """Return name → id of those of these users that there are."""
    if not names:
        return {}
    statement = select(UserRow.name, UserRow.id).where(THERE, UserRow.name.in_({storable(name) for name in names}))
    return {row[0]: row[1] for row in database.fetch(statement)}


def users_named_like(database: Database, text: str) -> set[int]:
    """Return the ids of the users whose name contains ``text``."""
    statement = select(UserRow.id).where(THERE, UserRow.name.icontains(storable(text), autoescape=True))
    return set(database.values(statement))


def administrators(database: Database) -> list[str]:
    """Return the names of the administrators who can sign in, the first made first."""
    statement = select(UserRow.name).where(THERE, UserRow.is_admin, ~UserRow.disabled).order_by(UserRow.id)
    return list(database.values(statement))


def group_sizes(database: Database) -> dict[str, int]:
    """Return the number of members of each group that has any, by its name."""
    name = UserGroupRow.group_name
    statement = select(name, func.count()).group_by(name).order_by(name)
    return {row[0]: row[1] for row in database.fetch(statement)}


def count_readers(database: Database) -> dict[str, int]:
    """Return the number of members of each group who may sign in, by its name."""
    name = UserGroupRow.group_name
    members = (
        select(name, func.count()).join(UserRow, UserRow.id == UserGroupRow.user_id).where(THERE, ~UserRow.disabled)
    )
    return {row[0]: row[1] for row in database.fetch(members.group_by(name))}


def rename_group(database: Database, name: str, new_name: str) -> str:
    """Give a group another name, and return it as it is stored. Its members and what is shared with it stay.

    Raises NotFoundError for a group without members, and InvalidInputError for a name that another group has.
    """
    cleaned = clean_groups([new_name])
    if not cleaned:
        raise InvalidInputError(Reason("the group's name is empty; type at least one character"), field="name")
    [new] = cleaned
    if new == name:
        return new
    with database.write() as connection:
        one_at_a_time(connection, ACCOUNTS)
        if connection.execute(select(UserGroupRow.user_id).where(UserGroupRow.group_name == new).limit(1)).first():
            raise InvalidInputError(
                Reason("there is a group named '%(name)s' already; choose another name", name=new), field="name"
            )
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
        kept = update(ProvisionedGroupRow).where(ProvisionedGroupRow.name == storable(name))
        connection.execute(kept.values(name=new))
    return new


def delete_group(database: Database, name: str) -> None:
    """Take all members out of a group, and take back what is shared with it. Raises NotFoundError without members."""
    with database.write() as connection:
        one_at_a_time(connection, ACCOUNTS)
        connection.execute(delete(ShareRow).where(ShareRow.group_name == storable(name)))
        if not connection.execute(delete(UserGroupRow).where(UserGroupRow.group_name == storable(name))).rowcount:
            raise NotFoundError(f"there is no group {name!r} with members")


def shared_with_groups(database: Database) -> dict[str, list[Lent]]:
    """Return, per group, the personal datasets and assistants that are shared with it, by name."""
    name = func.coalesce(DatasetRow.name, AssistantRow.name)
    statement = (
        select(ShareRow.group_name, name, UserRow.id, UserRow.name, ShareRow.assistant_id.is_not(None))
        .outerjoin(DatasetRow, DatasetRow.id == ShareRow.dataset_id)
        .outerjoin(AssistantRow, AssistantRow.id == ShareRow.assistant_id)
        .join(UserRow, UserRow.id == func.coalesce(DatasetRow.user_id, AssistantRow.user_id))
        .where(ShareRow.group_name.is_not(None))
        .order_by(name, ShareRow.id)
    )
    found: dict[str, list[Lent]] = {}
    for row in database.fetch(statement):
        found.setdefault(str(row[0]), []).append(Lent(row[1], row[2], row[3], bool(row[4])))
    return found
