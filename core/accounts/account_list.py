"""Lists of accounts, a page at a time, by name and group; names by id; groups with their sizes."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import ColumnElement, func, or_, select

from braid.core.accounts.accounts import COLUMNS, Account, with_groups
from braid.core.ledger.database import Database, storable
from braid.core.ledger.ledger import REMOVED_USER
from braid.core.ledger.tables import UserGroupRow, UserRow

THERE = ~UserRow.name.startswith(REMOVED_USER)


def find_accounts(
    database: Database, *, text: str = "", group: str = "", waiting: bool = False, limit: int = 50, offset: int = 0
) -> tuple[list[Account], int]:
    """Return a page of the accounts whose name or a group contains ``text``, by name, and the number of all of them.

    With ``group``, only its members; with ``waiting``, only who waits for approval. Case is ignored as far as the
    database can: SQLite only does for a to z.
    """
    conditions: list[ColumnElement[bool]] = [THERE]
    if part := storable(text).strip():
        in_group = select(UserGroupRow.user_id).where(UserGroupRow.group_name.icontains(part, autoescape=True))
        conditions.append(or_(UserRow.name.icontains(part, autoescape=True), UserRow.id.in_(in_group)))
    if group:
        members = select(UserGroupRow.user_id).where(UserGroupRow.group_name == storable(group))
        conditions.append(UserRow.id.in_(members))
    if waiting:
        conditions.append(UserRow.waiting.is_(True))
    page = select(*COLUMNS).where(*conditions).order_by(func.lower(UserRow.name), UserRow.id)
    with database.read() as connection:
        total = connection.execute(select(func.count()).select_from(UserRow).where(*conditions)).scalar_one()
        rows = connection.execute(page.limit(limit).offset(offset)).all()
        return with_groups(connection, rows, [row.id for row in rows]), total


def count_accounts(database: Database) -> int:
    """Return the number of accounts."""
    with database.read() as connection:
        return connection.execute(select(func.count()).select_from(UserRow).where(THERE)).scalar_one()


def count_waiting(database: Database) -> int:
    """Return the number of accounts that wait for approval."""
    with database.read() as connection:
        return connection.execute(select(func.count()).select_from(UserRow).where(THERE, UserRow.waiting)).scalar_one()


def account_names(database: Database, user_ids: Collection[int]) -> dict[int, str]:
    """Return id → name of those of these users that there are."""
    if not user_ids:
        return {}
    statement = select(UserRow.id, UserRow.name).where(THERE, UserRow.id.in_(set(user_ids)))
    with database.read() as connection:
        return {row[0]: row[1] for row in connection.execute(statement)}


def users_named_like(database: Database, text: str) -> set[int]:
    """Return the ids of the users whose name contains ``text``."""
    statement = select(UserRow.id).where(THERE, UserRow.name.icontains(storable(text), autoescape=True))
    with database.read() as connection:
        return set(connection.execute(statement).scalars())


def administrators(database: Database) -> list[str]:
    """Return the names of the administrators who can sign in, the first made first."""
    statement = select(UserRow.name).where(THERE, UserRow.is_admin, ~UserRow.disabled).order_by(UserRow.id)
    with database.read() as connection:
        return list(connection.execute(statement).scalars())


def group_sizes(database: Database) -> dict[str, int]:
    """Return the number of members of each group that has any, by its name."""
    name = UserGroupRow.group_name
    statement = select(name, func.count()).group_by(name).order_by(name)
    with database.read() as connection:
        return {row[0]: row[1] for row in connection.execute(statement)}
