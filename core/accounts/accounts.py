"""Accounts: users with their passwords, groups, administrator rights and preferences."""

from __future__ import annotations

import hashlib
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from argon2 import PasswordHasher, profiles
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, Row, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from braid.core.accounts.credentials import end_programs
from braid.core.admission import Admission
from braid.core.errors import N_, InvalidInputError, NotFoundError, Reason, TooManyError, internal
from braid.core.ledger import prepared
from braid.core.ledger.database import execute, storable
from braid.core.ledger.deleted import IS_DELETED, DeletedDatasets
from braid.core.ledger.ledger import REMOVED_USER, Ledger
from braid.core.ledger.queries import json_of
from braid.core.ledger.quota import one_at_a_time
from braid.core.ledger.tables import DatasetRow, UserGroupRow, UserIdentityRow, UserRow, WebSessionRow
from braid.core.types import MAX_NAME_CHARS

MIN_PASSWORD_CHARS = 8
MAX_PASSWORD_CHARS = 200
"""Longest password; hashing a longer one would only cost time."""
TAKEN = (
    "a user named %(name)s exists already; choose another name",
    N_("an account named %(name)s exists already, and is not known to be yours; ask an administrator"),
)
"""Templates of reasons that a name is another user's."""

ACCOUNTS = "accounts"
"""The name of a lock: accounts are changed by one transaction at a time, so that no two have the same name, and one
administrator is left."""
_ALIKE = ("LATIN", "CYRILLIC", "GREEK")
"""Alphabets with letters that look the same; Japanese and Korean names may have Latin letters."""
_FILLERS = "\u115f\u1160\u3164\uffa0\u2800"
"""Letters and signs without a mark, which Python calls printable."""

HASHES_AT_ONCE = 2
"""Passwords of the whole process that are hashed at a time; each takes 64 MiB and a tenth of a second."""
HASHES_WAITING = 16
"""Passwords that wait for it, of strangers and of users who are known; more are refused."""
HASH_PATIENCE_S = 10.0

_HASHER = PasswordHasher.from_parameters(profiles.RFC_9106_LOW_MEMORY)
"""The second choice of RFC 9106, section 4: 64 MiB of memory, 3 passes, 4 lanes."""
_INITIAL_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
"""For initial passwords of many users at once, 19 MiB of memory, the least that OWASP's Password Storage Cheat Sheet
recommends: a seventh of the time. The first sign-in stores a hash by `_HASHER`."""
_HASHING = Admission(HASHES_AT_ONCE, waiting_of_one=HASHES_WAITING)
COLUMNS = (
    UserRow.id,
    UserRow.name,
    UserRow.password_hash,
    UserRow.is_admin,
    UserRow.disabled,
    UserRow.preferences,
    UserRow.waiting,
    UserRow.signed_in_at,
    UserRow.invited_at,
)
AccountState = Literal["active", "invited", "new", "waiting", "suspended"]
"""``active``: has a password or has signed in; ``new``: neither, and was never invited; ``waiting``: for approval."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user as the app sees them. ``preferences`` hold no secret."""

    id: int
    name: str
    is_admin: bool = False
    disabled: bool = False
    has_password: bool = False
    groups: frozenset[str] = frozenset()
    preferences: Mapping[str, Any] = field(default_factory=dict)
    waiting: bool = False
    """Signed up and not approved yet; disabled until then."""
    signed_in_at: float | None = None
    """When a browser was last signed in, or came by a proxy or a host app, which is noted once a day; in seconds since
    the epoch, None if that never was.
    """
    invited_at: float | None = None
    """When the newest invitation was made, in seconds since the epoch; None without one."""

    @property
    def state(self) -> AccountState:
        """Whether the user can sign in, and if not, what is missing; `account_list.STATE` says the same in SQL."""
        if self.disabled:
            return "waiting" if self.waiting else "suspended"
        if self.has_password or self.signed_in_at is not None:
            return "active"
        return "new" if self.invited_at is None else "invited"


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account to be added. Without a password nobody can sign in to it."""

    name: str
    groups: frozenset[str] = frozenset()
    is_admin: bool = False
    disabled: bool = False
    password_hash: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class AccountChange:
    """Changes of an existing account; fields that are None stay as they are."""

    user_id: int
    groups: frozenset[str] | None = None
    is_admin: bool | None = None
    disabled: bool | None = None


class _DryRunEndedError(Exception):
    """Undoes what a dry run has written."""


class Accounts:
    """The ledger's users as accounts.

    Methods raise NotFoundError for an unknown user, and InvalidInputError with the field's name for a wrong value.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def need_setup(self) -> bool:
        """Return whether nobody can sign in yet."""
        return not self._ledger.database.rows(prepared.WITH_PASSWORD)

    def create_first(self, name: str, password: str) -> Account:
        """Create the administrator of a new data directory; takes over a user that the command line made."""
        hashed = _hash_password(password)
        name = _clean_name(name)
        with self._ledger.database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            if execute(connection, prepared.WITH_PASSWORD).first():
                raise InvalidInputError("there is an administrator already; sign in instead", field="name")
            first = connection.execute(select(UserRow.id).order_by(UserRow.id).limit(1)).scalar_one_or_none()
            values = {"name": name, "password_hash": hashed, "is_admin": True, "disabled": False}
            user_id = _add(connection, values) if first is None else first
            if first is not None:
                _change(connection, first, values)
        return self.get(user_id)

    def add(self, name: str, password: str = "", *, is_admin: bool = False, groups: Iterable[str] = ()) -> Account:
        """Add a user; without a password nobody can sign in as them."""
        hashed = _hash_password(password) if password else ""
        groups = clean_groups(groups)
        with self._ledger.database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            values = {"name": _free_name(connection, name), "password_hash": hashed, "is_admin": is_admin}
            user_id = _add(connection, values)
            _set_groups(connection, user_id, groups)
        return self.get(user_id)

    def sign_up(self, name: str, password: str, *, most: int = 0, waiting: bool = False) -> Account:
        """Add a user who comes by themselves; ``waiting`` until an administrator approves, which is `set_disabled`.

        Raises InvalidInputError, also when there are ``most`` accounts; 0 sets no limit; TooManyError as `verify`.
        """
        hashed = _hash_password(password, known=False)
        with self._ledger.database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            there = select(func.count()).select_from(UserRow).where(~UserRow.name.startswith(REMOVED_USER))
            if most and connection.execute(there).scalar_one() >= most:
                raise InvalidInputError(
                    internal(
                        "there are %(most)s accounts, which is the limit; ask an administrator", most=format(most, ",")
                    )
                )
            values = {"name": _free_name(connection, name), "password_hash": hashed, "is_admin": False}
            user_id = _add(connection, {**values, "disabled": waiting, "waiting": waiting})
        return self.get(user_id)

    def password_mark(self, user_id: int) -> str:
        """Return a text that is another one after each change of the password, and tells nothing of it."""
        with self._ledger.database.read() as connection:
            return _mark(connection, user_id)

    def hash_initial_password(self, password: str) -> str:
        """Return a hash for `write_all`, which the user's first sign-in replaces by a costlier one.

        Raises InvalidInputError for a password that is too short or too long.
        """
        return _hash_password(password, _INITIAL_HASHER)

    def write_all(
        self,
        new: Iterable[NewAccount],
        changes: Iterable[AccountChange],
        *,
        dry_run: bool = False,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        """Add and change accounts in one transaction, all or none; with ``dry_run`` only check them. ``then`` is called
        in the transaction, and what it raises undoes it.
        """
        with suppress(_DryRunEndedError), self._ledger.database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            had_one = _count_administrators(connection) > 0
            names = {_folded(taken): taken for taken in connection.execute(select(UserRow.name)).scalars()}
            rows, groups = [], []
            for each in new:
                name = _visible_name(each.name)
                if (taken := names.setdefault(_folded(name), name)) is not name:
                    raise _taken_error(taken)
                values = {"is_admin": each.is_admin, "disabled": each.disabled, "password_hash": each.password_hash}
                rows.append({"name": name, "created_at": time.time(), **values})
                groups.append(clean_groups(each.groups))
            _insert_all(connection, rows, groups)
            for change in changes:
                _apply(connection, change)
            if had_one:
                _require_an_administrator(connection)
            if dry_run:
                raise _DryRunEndedError
            then()

    def verify(self, name: str, password: str, *, or_waiting: bool = False, known: bool = False) -> Account | None:
        """Return the account with this name and password, unless it is disabled; as slow for an unknown name.

        With ``or_waiting`` also one that waits for approval. ``known`` says that the caller has been signed in as this
        user before: they do not wait behind strangers. Raises TooManyError when too many passwords are to be hashed.
        """
        row = self._ledger.database.row(select(*COLUMNS).where(UserRow.name == storable(name.strip())))
        with _turn_to_hash(known):
            stored = row.password_hash if row and row.password_hash else _nobodys_hash()
            matches, is_old = _matches(stored, password), _HASHER.check_needs_rehash(stored)
            if not matches and is_old:
                _matches(_nobodys_hash(), password)  # a hash that is quicker to check does not tell the name exists
            hashed = _HASHER.hash(password) if matches and is_old else ""
        if row is None or not matches or not row.password_hash:
            return None
        if row.disabled and not (row.waiting and or_waiting):
            return None
        if hashed:
            as_read = UserRow.id == row.id, UserRow.password_hash == row.password_hash
            is_stored = self._ledger.database.change(update(UserRow).where(*as_read).values(password_hash=hashed))
            if not is_stored:  # it has been changed meanwhile
                return self.verify(name, password, or_waiting=or_waiting, known=known)
        return self.get(row.id)

    def get(self, user_id: int) -> Account:
        """Return the account with this id."""
        rows = self._ledger.database.remembered_rows(prepared.ACCOUNT, user_id=user_id)
        if not rows or rows[0][0].startswith(REMOVED_USER):
            raise NotFoundError(Reason("there is no user %(id)s", id=user_id))
        name, is_admin, disabled, has_password, preferences, waiting, signed_in_at, invited_at, _ = rows[0]
        flags = bool(is_admin), bool(disabled), bool(has_password)
        groups = frozenset(group for *_, group in rows if group is not None)
        return Account(user_id, name, *flags, groups, json_of(preferences), bool(waiting), signed_in_at, invited_at)

    def named(self, name: str) -> Account | None:
        """Return the account with this name; None when there is none."""
        user = self._ledger.user_named(name)
        return None if user is None else self.get(user.id)

    def all(self) -> list[Account]:
        """Return all accounts by id."""
        statement = select(*COLUMNS).where(~UserRow.name.startswith(REMOVED_USER)).order_by(UserRow.id)
        with self._ledger.database.read() as connection:
            return with_groups(connection, connection.execute(statement).all(), None)

    def set_password(self, user_id: int, password: str, *, revoke_tokens: bool = True, mark: str | None = None) -> int:
        """Set a new password, and sign the user out everywhere; return how many API tokens were revoked with it.

        Without ``revoke_tokens`` whoever has a token goes on having the user's documents. With ``mark``, a
        `password_mark`, NotFoundError is raised when the password is another one by now.
        """
        return self.store_password(user_id, self.hash_password(password), revoke_tokens=revoke_tokens, mark=mark)

    def hash_password(self, password: str) -> str:
        """Return a hash for `store_password`: it takes a tenth of a second, which no transaction is to wait for.

        Raises InvalidInputError for a password that is too short or too long.
        """
        return _hash_password(password)

    def store_password(self, user_id: int, hashed: str, *, revoke_tokens: bool = True, mark: str | None = None) -> int:
        """Set a new password as `set_password` does, by its hash."""
        with self._ledger.database.write() as connection:
            _change(connection, user_id, {})  # locks the row
            if mark is not None and _mark(connection, user_id) != mark:
                raise NotFoundError("the password has been changed meanwhile")
            _change(connection, user_id, {"password_hash": hashed})
            connection.execute(delete(WebSessionRow).where(WebSessionRow.user_id == user_id))
            return end_programs(connection, user_id) if revoke_tokens else 0

    def note_invitation(self, user_id: int) -> None:
        """Keep that an invitation was made now."""
        self._set(user_id, invited_at=time.time())

    def note_sign_in(self, user_id: int) -> None:
        """Keep that the user came now, whom a host app or a proxy signs in: they have no session of Braid's."""
        self._set(user_id, signed_in_at=time.time())

    def rename(self, user_id: int, name: str) -> None:
        """Rename the user. The name must be free."""
        with self._ledger.database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            _change(connection, user_id, {"name": _free_name(connection, name, besides=user_id)})

    def set_groups(self, user_id: int, groups: Iterable[str]) -> None:
        """Make the user a member of exactly these groups."""
        groups = clean_groups(groups)
        with self._ledger.database.write() as connection:
            _change(connection, user_id, {})
            connection.execute(delete(UserGroupRow).where(UserGroupRow.user_id == user_id))
            _set_groups(connection, user_id, groups)

    def change_groups(self, user_id: int, *, add: Collection[str] = (), remove: Collection[str] = ()) -> frozenset[str]:
        """Put the user into groups, and take them out of others; return those that they are in then."""
        with self._ledger.database.write() as connection:
            _change(connection, user_id, {})  # locks the row: nobody else changes the groups meanwhile
            of_user = UserGroupRow.user_id == user_id
            before = connection.execute(select(UserGroupRow.group_name).where(of_user)).scalars()
            groups = clean_groups({*before, *add} - set(remove))
            connection.execute(delete(UserGroupRow).where(of_user))
            _set_groups(connection, user_id, groups)
        return groups

    def set_admin(self, user_id: int, is_admin: bool) -> None:
        """Grant or revoke administrator rights; the last administrator keeps them."""
        with self._ledger.database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            had_one = _count_administrators(connection) > 0
            _change(connection, user_id, {"is_admin": is_admin})
            if had_one:
                _require_an_administrator(connection)

    def mirror(self, name: str) -> Account:
        """Add a user under the name that a host app gives, which has rules of its own for names."""
        with self._ledger.database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            user_id = _add(connection, {"name": _clean_name(name), "password_hash": "", "is_admin": False})
        return self.get(user_id)

    def provided(self, subject: str, name: str, *, take_over: bool) -> tuple[Account, bool]:
        """Return the account of whom a provider signed in, and whether it was added now.

        ``subject`` is who they are to the provider for ever; an account of that name counts at their first sign-in
        alone. Raises InvalidInputError when it is somebody else's: when it belongs to another subject, or has a
        password and ``take_over`` is false.
        """
        with self._ledger.database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            known = select(UserIdentityRow.user_id).where(UserIdentityRow.subject == subject)
            if (user_id := connection.execute(known).scalar_one_or_none()) is not None:
                return self.get(user_id), False
            name = _clean_name(name)
            named = select(UserRow.id, UserRow.password_hash, UserIdentityRow.subject).outerjoin(
                UserIdentityRow, UserIdentityRow.user_id == UserRow.id
            )
            found = connection.execute(named.where(UserRow.name == name)).first()
            if found and (found.subject or (found.password_hash and not take_over)):
                raise InvalidInputError(Reason(TAKEN[1], name=repr(name)), field="name")
            user_id = found.id if found else _add(connection, {"name": name, "password_hash": "", "is_admin": False})
            connection.execute(insert(UserIdentityRow).values(subject=subject, user_id=user_id))
        return self.get(user_id), found is None

    def is_provided(self, user_id: int) -> bool:
        """Return whether a provider signs this user in."""
        with self._ledger.database.read() as connection:
            found = select(UserIdentityRow.user_id).where(UserIdentityRow.user_id == user_id)
            return connection.execute(found.limit(1)).first() is not None

    def mirror_admin(self, user_id: int, is_admin: bool) -> None:
        """Copy the right from a host app, which has administrators of its own."""
        self._set(user_id, is_admin=is_admin)

    def set_disabled(self, user_id: int, disabled: bool) -> None:
        """Lock a user out at once, or let them in: again, or after they signed up.

        The last administrator cannot be locked out.
        """
        with self._ledger.database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            had_one = _count_administrators(connection) > 0
            _change(connection, user_id, {"disabled": disabled, "waiting": False})
            if had_one:
                _require_an_administrator(connection)
            if disabled:
                connection.execute(delete(WebSessionRow).where(WebSessionRow.user_id == user_id))

    def require_removable(self, user_id: int) -> bool:
        """Raise InvalidInputError for the last administrator; return whether the user is one who can sign in."""
        account = self.get(user_id)
        is_needed = account.is_admin and account.has_password and not account.disabled
        if is_needed:
            with self._ledger.database.read() as connection:
                _require_an_administrator(connection, besides=user_id)
        return is_needed

    def remove(self, user_id: int) -> None:
        """Delete a user with all they own: datasets, conversations, sessions and tokens.

        The row stays, without its name, so that the id and the collection are never used again.
        """
        is_needed = self.require_removable(user_id)
        own, left = DatasetRow.user_id == user_id, DatasetRow.removed_at.is_(None)
        for row in self._ledger.database.fetch(select(DatasetRow.id).where(own, left)):
            self._ledger.remove_dataset(row.id)
        deleted = DeletedDatasets(self._ledger)
        for dataset in deleted.of_user(user_id):
            deleted.erase(user_id, dataset.id)
        with self._ledger.database.write() as connection:
            one_at_a_time(connection, ACCOUNTS)
            if connection.execute(select(DatasetRow.id).where(own, or_(left, IS_DELETED)).limit(1)).first() is not None:
                raise InvalidInputError("a dataset was added meanwhile; delete the user again", field="user_id")
            _forget(connection, user_id)
            if is_needed:
                _require_an_administrator(connection)

    def set_preferences(
        self, user_id: int, changes: Mapping[str, Any], *, check: Callable[[Mapping[str, Any]], None] = lambda all: None
    ) -> Mapping[str, Any]:
        """Change some preferences, None resets one to its default; return all. Raises what ``check`` of all raises."""
        with self._ledger.database.write() as connection:
            statement = select(UserRow.preferences).where(UserRow.id == user_id).with_for_update()
            stored = connection.execute(statement).scalar_one_or_none()
            if stored is None:
                raise NotFoundError(Reason("there is no user %(id)s", id=user_id))
            merged = {name: value for name, value in {**stored, **changes}.items() if value is not None}
            check(merged)
            _change(connection, user_id, {"preferences": merged})
        return merged

    def _set(self, user_id: int, **values: Any) -> None:
        with self._ledger.database.write() as connection:
            _change(connection, user_id, values)


def with_groups(connection: Connection, rows: Iterable[Row[Any]], user_ids: Collection[int] | None) -> list[Account]:
    """Return rows of `COLUMNS` as accounts; ``user_ids`` None reads the groups of all users."""
    memberships = select(UserGroupRow.user_id, UserGroupRow.group_name)
    if user_ids is not None:
        memberships = memberships.where(UserGroupRow.user_id.in_(user_ids))
    groups: dict[int, set[str]] = {}
    for member, group in connection.execute(memberships):
        groups.setdefault(member, set()).add(group)
    return [_account(row, groups.get(row.id, ())) for row in rows]


def _account(row: Row[Any], groups: Iterable[str]) -> Account:
    has_password, preferences = bool(row.password_hash), row.preferences or {}
    return Account(
        row.id,
        row.name,
        row.is_admin,
        row.disabled,
        has_password,
        frozenset(groups),
        preferences,
        row.waiting,
        row.signed_in_at,
        row.invited_at,
    )


def _add(connection: Connection, values: dict[str, Any]) -> int:
    try:
        statement = insert(UserRow).values(created_at=time.time(), **values).returning(UserRow.id)
        return connection.execute(statement).scalar_one()
    except IntegrityError:
        raise _taken_error(values["name"]) from None


def _insert_all(connection: Connection, rows: Sequence[Mapping[str, Any]], groups: Sequence[frozenset[str]]) -> None:
    if not rows:
        return
    statement = insert(UserRow).returning(UserRow.id, sort_by_parameter_order=True)
    ids = connection.execute(statement, rows).scalars().all()
    members = [
        {"user_id": user_id, "group_name": name}
        for user_id, names in zip(ids, groups, strict=True)
        for name in sorted(names)
    ]
    if members:
        connection.execute(insert(UserGroupRow), members)


def _apply(connection: Connection, change: AccountChange) -> None:
    waiting = False if change.disabled is False else None  # who is let in does not wait any more
    values = {"is_admin": change.is_admin, "disabled": change.disabled, "waiting": waiting}
    _change(connection, change.user_id, {name: value for name, value in values.items() if value is not None})
    if change.groups is not None:
        connection.execute(delete(UserGroupRow).where(UserGroupRow.user_id == change.user_id))
        _set_groups(connection, change.user_id, clean_groups(change.groups))
    if change.disabled:
        connection.execute(delete(WebSessionRow).where(WebSessionRow.user_id == change.user_id))


def _change(connection: Connection, user_id: int, values: dict[str, Any]) -> None:
    known = connection.execute(
        select(UserRow.name).where(UserRow.id == user_id, ~UserRow.name.startswith(REMOVED_USER)).with_for_update()
    ).first()
    if known is None:
        raise NotFoundError(Reason("there is no user %(id)s", id=user_id))
    try:
        if values:
            connection.execute(update(UserRow).where(UserRow.id == user_id).values(**values))
    except IntegrityError:
        raise _taken_error(values["name"]) from None


def _mark(connection: Connection, user_id: int) -> str:
    row = connection.execute(select(UserRow.password_hash, UserRow.created_at).where(UserRow.id == user_id)).one()
    return hashlib.sha256(f"{row.created_at} {row.password_hash}".encode()).hexdigest()[:32]


def _taken_error(name: str) -> InvalidInputError:
    return InvalidInputError(Reason(TAKEN[0], name=repr(name)), field="name")


def _set_groups(connection: Connection, user_id: int, groups: frozenset[str]) -> None:
    if groups:
        connection.execute(insert(UserGroupRow), [{"user_id": user_id, "group_name": name} for name in sorted(groups)])


def _forget(connection: Connection, user_id: int) -> None:
    """Remove the user's name, password and everything else that is theirs."""
    _change(connection, user_id, {"name": f"{REMOVED_USER}{user_id}", "password_hash": "", "is_admin": False})
    nothing = {"disabled": True, "preferences": {}, "signed_in_at": None, "invited_at": None}
    connection.execute(update(UserRow).where(UserRow.id == user_id).values(**nothing))
    for table in UserRow.metadata.sorted_tables:
        if "user_id" in table.columns and table.name != DatasetRow.__tablename__:
            connection.execute(table.delete().where(table.columns.user_id == user_id))


def _require_an_administrator(connection: Connection, *, besides: int = 0) -> None:
    """Raise InvalidInputError when no administrator but ``besides`` could sign in; that undoes the transaction."""
    if not _count_administrators(connection, besides=besides):
        raise InvalidInputError(internal("this is the last administrator; make another one first"), field="user_id")


def _count_administrators(connection: Connection, *, besides: int = 0) -> int:
    able = select(func.count()).where(UserRow.is_admin, ~UserRow.disabled, UserRow.password_hash != "")
    return connection.execute(able.where(UserRow.id != besides)).scalar_one()


@cache
def _nobodys_hash() -> str:
    return _HASHER.hash("nobody's password")


def _matches(hashed: str, password: str) -> bool:
    try:
        return _HASHER.verify(hashed, password[: MAX_PASSWORD_CHARS + 1])
    except (VerificationError, InvalidHashError):
        return False


@contextmanager
def _turn_to_hash(known: bool) -> Iterator[None]:
    """Have a few passwords hashed at a time, so that many take no more memory; users and strangers in turn."""
    with ExitStack() as turn:
        try:
            has_turn = turn.enter_context(_HASHING.hold(known, HASH_PATIENCE_S))
        except TooManyError:
            has_turn = False
        if not has_turn:
            raise TooManyError("too many passwords are being checked; try again in a moment")
        yield


def password_error(password: str) -> InvalidInputError:
    """Return the error for a password that is too short or too long."""
    told = internal(
        "the password has %(count)s characters; %(least)s to %(most)s are needed",
        count=len(password),
        least=MIN_PASSWORD_CHARS,
        most=MAX_PASSWORD_CHARS,
    )
    return InvalidInputError(told, field="password")


def _hash_password(password: str, hasher: PasswordHasher | None = None, *, known: bool = True) -> str:
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise password_error(password)
    with _turn_to_hash(known):
        return (hasher or _HASHER).hash(password)


def _clean_name(name: str) -> str:
    name = storable(name).strip()
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise InvalidInputError(
            internal(
                "the name of a user must have 1 to %(most)s visible characters, not %(name)s",
                most=MAX_NAME_CHARS,
                name=repr(name[:40]),
            ),
            field="name",
        )
    return name


def _free_name(connection: Connection, name: str, *, besides: int = 0) -> str:
    """Return the name, cleaned. Raises InvalidInputError unless it differs visibly from every other user's."""
    name = _visible_name(name)
    for user_id, taken in connection.execute(select(UserRow.id, UserRow.name)):
        if user_id != besides and _folded(taken) == _folded(name):
            raise _taken_error(taken)
    return name


def _visible_name(name: str) -> str:
    name = _clean_name(name)
    scripts = {script for character in name if (script := unicodedata.name(character, "").split(" ")[0]) in _ALIKE}
    if len(scripts) > 1 or any(character in _FILLERS for character in name):
        raise InvalidInputError(
            Reason(
                "the name %(name)s mixes alphabets that look alike, or has characters that cannot be seen; write it in "
                "one alphabet",
                name=repr(name[:40]),
            ),
            field="name",
        )
    return name


def _folded(name: str) -> str:
    """Return the form in which names are equal that differ in capitals and widths only."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def clean_groups(groups: Iterable[str]) -> frozenset[str]:
    """Return the names of groups as they are stored, without empty ones. Raises InvalidInputError for a wrong one."""
    cleaned = frozenset(name for name in (storable(group).strip() for group in groups) if name)
    for name in cleaned:
        if len(name) > MAX_NAME_CHARS or not name.isprintable():
            raise InvalidInputError(f"the group {name[:40]!r} is too long or not printable", field="groups")
    return cleaned
