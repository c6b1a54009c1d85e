"""Users and groups that an identity provider keeps by SCIM (RFC 7643): as it sees them, and what it changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, false, func, insert, or_, select, update

from braid.core.accounts.account_list import THERE, rename_group
from braid.core.accounts.accounts import ACCOUNTS, TAKEN, Accounts, clean_groups
from braid.core.accounts.credentials import end_programs
from braid.core.batches import batches
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ledger.database import storable
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.quota import one_at_a_time
from braid.core.ledger.tables import ProvisionedGroupRow, ProvisionedUserRow, ShareRow, UserGroupRow, UserRow
from braid.core.types import MAX_ID

IDS_PER_READ = 500


@dataclass(frozen=True, slots=True)
class ProvisionedUser:
    """An account as the provider sees it. ``groups`` are (id, name) of groups that the provider keeps."""

    id: int
    name: str
    active: bool
    external_id: str
    groups: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ProvisionedGroup:
    """A group that the provider keeps. ``members`` are (id, name) of users."""

    id: int
    name: str
    external_id: str
    members: tuple[tuple[int, str], ...] = ()


class TakenError(InvalidInputError):
    """Another user or group has this name."""


class Provisioning:
    """What the provider may see and do: every account but those that it has removed, and the groups that it has made.

    Methods raise NotFoundError for an id that there is not, `TakenError` for a name that is another's, and
    InvalidInputError for a wrong value. An account that waits for an administrator, or has a password and was not made
    by the provider, may be anybody's who chose its name: unless ``take_over`` says that they are the provider's, it is
    only ever suspended.
    """

    def __init__(self, ledger: Ledger, *, take_over: bool = False) -> None:
        self._ledger = ledger
        self._take_over = take_over
        self._database = ledger.database
        self._accounts = Accounts(ledger)

    # ------------------------------------------------------------ users

    def users(self, wanted: Mapping[str, str], *, limit: int, offset: int) -> tuple[list[ProvisionedUser], int]:
        """Return a page of the users by id, and the number of all; ``wanted`` may name an id, name or external_id."""
        columns = {"external_id": ProvisionedUserRow.external_id, "name": UserRow.name, "id": UserRow.id}
        statement = _USERS.where(*_conditions(columns, wanted))
        with self._database.read() as connection:
            total = connection.execute(select(func.count()).select_from(statement.subquery())).scalar_one()
            rows = connection.execute(statement.order_by(UserRow.id).limit(limit).offset(offset)).all()
            return _users(connection, rows), total

    def user(self, user_id: int) -> ProvisionedUser:
        """Return a user."""
        found, _ = self.users({"id": str(user_id)}, limit=1, offset=0)
        if not found:
            raise NotFoundError(Reason("there is no user %(id)s", id=user_id))
        return found[0]

    def add_user(self, name: str, external_id: str = "", *, active: bool = True) -> tuple[ProvisionedUser, bool]:
        """Add a user, without a password, and return whether the account is new.

        One that the provider has removed comes back, with what it had.
        """
        back = select(UserRow.id).join(ProvisionedUserRow, ProvisionedUserRow.user_id == UserRow.id)
        removed = ProvisionedUserRow.removed, func.lower(UserRow.name) == func.lower(storable(name).strip())
        with self._changing() as connection:
            user_id = connection.execute(back.where(THERE, *removed).order_by(UserRow.id).limit(1)).scalar_one_or_none()
            is_new = user_id is None
            if user_id is None:
                user_id = self._unless_taken(lambda: self._accounts.add(name)).id
            _keep(connection, user_id, external_id)
            if not (is_new and active):
                self._accounts.set_disabled(user_id, not active)
            return self.user(user_id), is_new

    def change_user(
        self, user_id: int, *, name: str | None = None, external_id: str | None = None, active: bool | None = None
    ) -> tuple[ProvisionedUser, ProvisionedUser]:
        """Change what is not None, and return the user before and after. Who is not active is signed out at once, and
        their tokens and apps are ended.
        """
        with self._changing() as connection:
            before = self.user(user_id)
            if (name or before.name, external_id or before.external_id) != (before.name, before.external_id) or (
                active and not before.active
            ):
                self._require_own(connection, [user_id])
            if name is not None and name.strip() != before.name:
                self._unless_taken(lambda: self._accounts.rename(user_id, name))
            if external_id is not None and external_id != before.external_id:
                _keep(connection, user_id, external_id)
            if active is not None and active != before.active:
                self._accounts.set_disabled(user_id, not active)
                if not active:
                    end_programs(connection, user_id)
            return before, self.user(user_id)

    def remove_user(self, user_id: int) -> ProvisionedUser:
        """Suspend a user, and take them out of the provider's sight and of its groups; what they own stays."""
        with self._changing() as connection:
            before, _ = self.change_user(user_id, active=False)
            _keep(connection, user_id, before.external_id, removed=True)
            connection.execute(delete(UserGroupRow).where(UserGroupRow.user_id == user_id))
        return before

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        """Have accounts be changed by one transaction at a time, and what it changes whole or not at all."""
        with self._database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            yield connection

    def _require_own(self, connection: Connection, user_ids: Collection[int]) -> None:
        of_others = and_(UserRow.password_hash != "", ProvisionedUserRow.user_id.is_(None))
        statement = select(UserRow.name).outerjoin(ProvisionedUserRow, ProvisionedUserRow.user_id == UserRow.id)
        statement = statement.where(UserRow.waiting if self._take_over else or_(UserRow.waiting, of_others))
        for some in batches(sorted(user_ids), IDS_PER_READ):
            if name := connection.execute(statement.where(UserRow.id.in_(some)).limit(1)).scalar_one_or_none():
                raise InvalidInputError(
                    f"the account {name!r} is not known to be the provider's: it waits for an administrator, or has a "
                    "password; an administrator lets it in, renames it, or sets oidc_take_over",
                    field="userName",
                )

    def _unless_taken(self, act: Any) -> Any:
        try:
            return act()
        except InvalidInputError as error:
            raise TakenError(str(error), field=error.field) if error.reason.template in TAKEN else error from None

    # ------------------------------------------------------------ groups

    def groups(
        self, wanted: Mapping[str, str], *, limit: int, offset: int, with_members: bool = True
    ) -> tuple[list[ProvisionedGroup], int]:
        """Return a page of the groups by id, and the number of all; ``wanted`` may name an id, name or external_id."""
        row = ProvisionedGroupRow
        columns = {"external_id": row.external_id, "name": row.name, "id": row.id}
        statement = select(row.id, row.name, row.external_id).where(*_conditions(columns, wanted))
        with self._database.read() as connection:
            total = connection.execute(select(func.count()).select_from(statement.subquery())).scalar_one()
            rows = connection.execute(statement.order_by(row.id).limit(limit).offset(offset)).all()
            members = _members(connection, [each.name for each in rows]) if with_members else {}
        return [ProvisionedGroup(*each, tuple(members.get(each.name, ()))) for each in rows], total

    def group(self, group_id: int, *, with_members: bool = True) -> ProvisionedGroup:
        """Return a group."""
        found, _ = self.groups({"id": str(group_id)}, limit=1, offset=0, with_members=with_members)
        if not found:
            raise NotFoundError(f"there is no group {group_id}")
        return found[0]

    def add_group(self, name: str, external_id: str = "", members: Collection[int] = ()) -> ProvisionedGroup:
        """Add a group, or take over the one that has this name in Braid, with its members."""
        name = _group_name(name)
        with self._changing() as connection:
            if connection.execute(select(ProvisionedGroupRow.id).where(ProvisionedGroupRow.name == name)).first():
                raise TakenError(
                    Reason("there is a group named '%(name)s' already; choose another name", name=name),
                    field="displayName",
                )
            values = {"name": name, "external_id": storable(external_id)}
            made = insert(ProvisionedGroupRow).values(**values).returning(ProvisionedGroupRow.id)
            group_id = connection.execute(made).scalar_one()
            self._require_own(connection, members)
            _join(connection, name, members)
        return self.group(group_id)

    def change_group(
        self,
        group_id: int,
        *,
        name: str | None = None,
        external_id: str | None = None,
        add: Collection[int] = (),
        remove: Collection[int] | None = (),
    ) -> tuple[ProvisionedGroup, ProvisionedGroup]:
        """Change what is given, and return the group before and after. Members are removed before others are added, and
        ``remove`` None removes them all.
        """
        with self._changing() as connection:
            before, own = self.group(group_id), ProvisionedGroupRow.id == group_id
            now = before.name if name is None else _group_name(name)
            if now != before.name:
                self._rename(connection, before, now)
            if external_id is not None:
                connection.execute(update(ProvisionedGroupRow).where(own).values(external_id=storable(external_id)))
            of_group = UserGroupRow.group_name == now
            if remove is None:
                connection.execute(delete(UserGroupRow).where(of_group))
            for some in batches(sorted(remove or ()), IDS_PER_READ):
                connection.execute(delete(UserGroupRow).where(of_group, UserGroupRow.user_id.in_(some)))
            self._require_own(connection, add)
            _join(connection, now, add)
            return before, self.group(group_id)

    def _rename(self, connection: Connection, before: ProvisionedGroup, name: str) -> None:
        own, taken = update(ProvisionedGroupRow).where(ProvisionedGroupRow.id == before.id), ProvisionedGroupRow.name
        if connection.execute(select(taken).where(taken == name)).first():
            raise TakenError(
                Reason("there is a group named '%(name)s' already; choose another name", name=name), field="displayName"
            )
        try:
            rename_group(self._database, before.name, name)
        except InvalidInputError as error:
            raise TakenError(str(error), field="displayName") from None
        except NotFoundError:  # it has no members
            shared = update(ShareRow).where(ShareRow.group_name == before.name)
            connection.execute(shared.values(group_name=name))
            connection.execute(own.values(name=name))

    def remove_group(self, group_id: int) -> ProvisionedGroup:
        """Take all members out of a group, take back what is shared with it, and forget it."""
        with self._changing() as connection:
            before = self.group(group_id, with_members=False)
            connection.execute(delete(ShareRow).where(ShareRow.group_name == before.name))
            connection.execute(delete(UserGroupRow).where(UserGroupRow.group_name == before.name))
            connection.execute(delete(ProvisionedGroupRow).where(ProvisionedGroupRow.id == group_id))
        return before


def _keep(connection: Connection, user_id: int, external_id: str, *, removed: bool = False) -> None:
    connection.execute(delete(ProvisionedUserRow).where(ProvisionedUserRow.user_id == user_id))
    values = {"user_id": user_id, "external_id": storable(external_id), "removed": removed}
    connection.execute(insert(ProvisionedUserRow).values(**values))


_USERS = (
    select(UserRow.id, UserRow.name, UserRow.disabled, ProvisionedUserRow.external_id)
    .outerjoin(ProvisionedUserRow, ProvisionedUserRow.user_id == UserRow.id)
    .where(THERE, ProvisionedUserRow.removed.is_not(True))
)


def _conditions(columns: Mapping[str, Any], wanted: Mapping[str, str]) -> list[ColumnElement[bool]]:
    """Return the conditions. Names are equal whatever their case, as far as the database can; ids are numbers."""
    found: list[ColumnElement[bool]] = []
    for name, value in wanted.items():
        if name == "id":
            is_id = value.isascii() and value.isdecimal() and len(value) < 19 and int(value) <= MAX_ID
            found.append(columns[name] == int(value) if is_id else false())
        elif name == "name":
            found.append((columns[name] == storable(value)) | (func.lower(columns[name]) == storable(value).lower()))
        else:
            found.append(columns[name] == storable(value))
    return found


def _users(connection: Connection, rows: Sequence[Any]) -> list[ProvisionedUser]:
    groups: dict[int, list[tuple[int, str]]] = {}
    statement = (
        select(UserGroupRow.user_id, ProvisionedGroupRow.id, ProvisionedGroupRow.name)
        .join(ProvisionedGroupRow, ProvisionedGroupRow.name == UserGroupRow.group_name)
        .where(UserGroupRow.user_id.in_([row.id for row in rows]))
        .order_by(ProvisionedGroupRow.id)
    )
    for user_id, group_id, name in connection.execute(statement):
        groups.setdefault(user_id, []).append((group_id, name))
    return [
        ProvisionedUser(row.id, row.name, not row.disabled, row.external_id or "", tuple(groups.get(row.id, ())))
        for row in rows
    ]


def _members(connection: Connection, names: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    statement = (
        select(UserGroupRow.group_name, UserRow.id, UserRow.name)
        .join(UserRow, UserRow.id == UserGroupRow.user_id)
        .where(UserGroupRow.group_name.in_(names), THERE)
        .order_by(UserRow.id)
    )
    found: dict[str, list[tuple[int, str]]] = {}
    for group, user_id, name in connection.execute(statement):
        found.setdefault(group, []).append((user_id, name))
    return found


def _join(connection: Connection, name: str, members: Collection[int]) -> None:
    """Put users into a group. Raises InvalidInputError for one that there is not."""
    for some in batches(sorted(set(members)), IDS_PER_READ):
        there = set(connection.execute(_USERS.with_only_columns(UserRow.id).where(UserRow.id.in_(some))).scalars())
        if missing := sorted(set(some) - there):
            raise InvalidInputError(f"there is no user {missing[0]}; add the user first", field="members")
        inside = select(UserGroupRow.user_id).where(UserGroupRow.group_name == name, UserGroupRow.user_id.in_(some))
        new = there - set(connection.execute(inside).scalars())
        if new:
            connection.execute(insert(UserGroupRow), [{"user_id": each, "group_name": name} for each in sorted(new)])


def _group_name(name: str) -> str:
    cleaned = clean_groups([name])
    if not cleaned:
        raise InvalidInputError("the group's name is empty; give one of at least one character", field="displayName")
    return next(iter(cleaned))
