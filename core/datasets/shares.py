"""Who may read or change a dataset, or use an assistant, besides its owner; and who asks for a dataset."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update
from sqlalchemy.orm import InstrumentedAttribute

from braid.core.datasets.assistants import Assistant
from braid.core.datasets.registry import Registry
from braid.core.datasets.scope import resolve_scope
from braid.core.datasets.shared_changes import Audit
from braid.core.errors import N_, InvalidInputError, NotFoundError, Reason, internal
from braid.core.ledger.database import storable
from braid.core.ledger.ledger import REMOVED_USER, Ledger
from braid.core.ledger.quota import one_at_a_time
from braid.core.ledger.tables import AccessRequestRow, DatasetRow, ShareRow, UserGroupRow, UserRow
from braid.core.types import Dataset

Kind = Literal["user", "group"]
Shareable = Dataset | Assistant
MOST_SHARES = 500
"""Users and groups that one dataset or assistant is shared with."""
FULL = {
    "dataset": N_(
        "the dataset is shared with %(most)s users and groups, which is the limit; share it with a group instead"
    ),
    "assistant": N_(
        "the assistant is shared with %(most)s users and groups, which is the limit; share it with a group instead"
    ),
}
MOST_REQUESTS = 100
"""Requests in one list."""
LEAST_TYPED, MOST_FOUND = 2, 8
"""Characters that are needed to find people and groups, and how many of them are found."""
_THERE = ~UserRow.name.startswith(REMOVED_USER)
_ACTIVE = _THERE, UserRow.disabled.is_(False)


@dataclass(frozen=True, slots=True)
class Share:
    """A user, or the members of a group, with whom a dataset or an assistant is shared."""

    kind: Kind
    name: str
    may_write: bool = False
    """May add and remove documents as well as read; may change the assistant as well as use it."""


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """A user who asks to read a dataset. ``created_at`` is in seconds since the epoch."""

    dataset_id: int
    dataset_name: str
    user_id: int
    user: str
    created_at: float


class Shares:
    """Shares datasets and assistants for the person named by ``by``, who may do so: that is checked where the person
    asks.

    A personal dataset is shared to be read, or also to be changed. Who reads a shared dataset is in the list of shared
    datasets; here it gets editors, who are no administrators. An assistant is shared to be used, or also to be changed;
    who uses it reads of its datasets no more than before. What is taken back ends with the next request.

    >>> shares = Shares(braid.ledger, braid.registry, audit=lambda *entry: print(entry))
    >>> ben = braid.ledger.add_user("ben")
    >>> shares.put(braid.dataset(1), Share("user", "ben"), by="ann")
    ('ann', 'dataset.shared', '1 manuals', 'user ben may read')
    >>> braid.manager.search("How long is the warranty?", user_id=ben.id, dataset_ids=[1]).unresolved_dataset_ids
    ()
    >>> shares.remove(braid.dataset(1), "user", "ben", by="ann")
    ('ann', 'dataset.unshared', '1 manuals', 'user ben')
    >>> shares.of(braid.dataset(1))
    []
    """

    def __init__(self, ledger: Ledger, registry: Registry, audit: Audit) -> None:
        self._ledger = ledger
        self._registry = registry
        self._database = ledger.database
        self._audit = audit

    def of(self, shared: Shareable) -> list[Share]:
        """Return whom a dataset or an assistant is shared with: users by name, then groups by name."""
        with self._database.read() as connection:
            return _shares(connection, shared)

    def shared_among(self, dataset_ids: Collection[int]) -> frozenset[int]:
        """Return which of these datasets are shared with anybody."""
        statement = select(ShareRow.dataset_id).where(ShareRow.dataset_id.in_(set(dataset_ids)))
        return frozenset(dataset_ids) & {row[0] for row in self._database.fetch(statement)}

    def put(self, shared: Shareable, share: Share, *, by: str) -> None:
        """Share something, or change what a user or group may do; a request of the user for it is granted by that.

        Raises InvalidInputError for a user or group that there is not, and for a shared dataset with one that may only
        read it.
        """
        _require_sharable(shared, share)
        column = _column(shared)
        with self._database.write() as connection:
            one_at_a_time(connection, f"shares {column.key} {shared.id}")
            values: dict[str, Any] = {"may_write": share.may_write, "created_at": time.time()}
            whom: ColumnElement[bool]
            if share.kind == "user":
                values["user_id"] = user_id = _user_named(connection, share.name)
                if user_id == shared.user_id:
                    told = internal(
                        "'%(name)s' is the owner of this %(kind)s; name another",
                        name=share.name,
                        kind=_kind(shared),
                    )
                    raise InvalidInputError(told, field="name")
                if isinstance(shared, Dataset):
                    asked = AccessRequestRow.dataset_id == shared.id, AccessRequestRow.user_id == user_id
                    connection.execute(delete(AccessRequestRow).where(*asked))
                whom = ShareRow.user_id == user_id
            else:
                values["group_name"] = group = _group_named(connection, share.name)
                whom = ShareRow.group_name == group
            is_new = not connection.execute(delete(ShareRow).where(column == shared.id, whom)).rowcount
            count = select(func.count()).select_from(ShareRow).where(column == shared.id)
            if is_new and connection.execute(count).scalar_one() >= MOST_SHARES:
                raise InvalidInputError(Reason(FULL[_kind(shared)], most=MOST_SHARES), field="name")
            connection.execute(insert(ShareRow).values({column: shared.id}).values(**values))
            verb = "read" if isinstance(shared, Dataset) else "use"
            allowed = f"may {verb} and change" if share.may_write else f"may {verb}"
            self._audit(by, f"{_kind(shared)}.shared", _label(shared), f"{share.kind} {share.name} {allowed}")

    def remove(self, shared: Shareable, kind: Kind, name: str, *, by: str) -> None:
        """Take back what was shared. Raises NotFoundError when it is not shared with this user or group."""
        with self._database.write() as connection:
            user_id = select(UserRow.id).where(UserRow.name == storable(name)).scalar_subquery()
            whom = ShareRow.user_id == user_id if kind == "user" else ShareRow.group_name == storable(name)
            gone = connection.execute(delete(ShareRow).where(_column(shared) == shared.id, whom)).rowcount
            if not gone:
                raise NotFoundError(f"{_kind(shared)} {shared.id} is not shared with the {kind} {name!r}")
            self._audit(by, f"{_kind(shared)}.unshared", _label(shared), f"{kind} {name}")

    def find(self, kind: Kind, typed: str, *, besides: int | None = None, or_suspended: bool = False) -> list[str]:
        """Return up to `MOST_FOUND` names of users who can sign in, or of groups, that contain what was typed.

        Those that begin with it come first. Nothing is found by fewer than `LEAST_TYPED` characters: nobody lists all
        accounts with it. ``besides`` is a user who is left out; with ``or_suspended`` also users who cannot sign in.
        """
        part = storable(typed).strip()
        if len(part) < LEAST_TYPED:
            return []
        name = UserRow.name if kind == "user" else UserGroupRow.group_name
        begins = name.istartswith(part, autoescape=True)
        statement = select(name).where(name.icontains(part, autoescape=True))
        if kind == "user":
            statement = statement.where(*([_THERE] if or_suspended else _ACTIVE), UserRow.id != (besides or 0))
        ordered = statement.group_by(name).order_by(begins.desc(), func.lower(name), name).limit(MOST_FOUND)
        return list(self._database.values(ordered))

    def user_named(self, name: str) -> int:
        """Return the id of the user with this name who can sign in. Raises InvalidInputError."""
        with self._database.read() as connection:
            return _user_named(connection, name)

    # ------------------------------------------------------------ requests

    def ask(self, user_id: int, dataset_id: int) -> None:
        """Ask those who may share a dataset for access to it. Asking again changes nothing. For a dataset that is gone,
        nobody is asked, which the user is not told.
        """
        with self._database.write() as connection:
            one_at_a_time(connection, f"shares {dataset_id}")
            there = select(DatasetRow.id).where(DatasetRow.id == dataset_id)
            asked = AccessRequestRow.dataset_id == dataset_id, AccessRequestRow.user_id == user_id
            known = connection.execute(select(AccessRequestRow.user_id).where(*asked)).first()
            if known is None and connection.execute(there).first():
                values = {"dataset_id": dataset_id, "user_id": user_id, "created_at": time.time()}
                connection.execute(insert(AccessRequestRow).values(**values))

    def requests(self, dataset_ids: Collection[int]) -> list[AccessRequest]:
        """Return the open requests for these datasets, the oldest first, up to `MOST_REQUESTS`; without those of users
        who may read the dataset meanwhile.
        """
        columns = (AccessRequestRow.dataset_id, DatasetRow.name, UserRow.id, UserRow.name, AccessRequestRow.created_at)
        statement = (
            select(*columns)
            .join(DatasetRow, DatasetRow.id == AccessRequestRow.dataset_id)
            .join(UserRow, UserRow.id == AccessRequestRow.user_id)
            .where(AccessRequestRow.dataset_id.in_(set(dataset_ids)), AccessRequestRow.declined.is_(False), *_ACTIVE)
            .where(DatasetRow.removed_at.is_(None))
            .order_by(AccessRequestRow.created_at, AccessRequestRow.user_id)
        )
        asked = [AccessRequest(*row) for row in self._database.fetch(statement.limit(MOST_REQUESTS))]
        return [each for each in asked if not self._may_read(each.user_id, each.dataset_id)]

    def _may_read(self, user_id: int, dataset_id: int) -> bool:
        scope = resolve_scope(self._ledger, self._registry, user_id=user_id, dataset_ids=[dataset_id])
        return dataset_id in scope.dataset_ids

    def asked_by(self, user_id: int) -> frozenset[int]:
        """Return the ids of the datasets for which a user has asked, also of those that were declined."""
        statement = select(AccessRequestRow.dataset_id).where(AccessRequestRow.user_id == user_id)
        return frozenset(self._database.values(statement))

    def decline(self, dataset: Dataset, user: str, *, by: str) -> None:
        """Decline a request, which the user is not told. Raises NotFoundError when there is none."""
        with self._database.write() as connection:
            asker = select(UserRow.id).where(UserRow.name == storable(user)).scalar_subquery()
            asked = (
                AccessRequestRow.dataset_id == dataset.id,
                AccessRequestRow.user_id == asker,
                AccessRequestRow.declined.is_(False),
            )
            if not connection.execute(update(AccessRequestRow).where(*asked).values(declined=True)).rowcount:
                raise NotFoundError(f"{user!r} does not ask for access to dataset {dataset.id}")
            self._audit(by, "dataset.access_declined", _label(dataset), f"user {user}")


def _column(shared: Shareable) -> InstrumentedAttribute[int | None]:
    return ShareRow.dataset_id if isinstance(shared, Dataset) else ShareRow.assistant_id


def _kind(shared: Shareable) -> str:
    return "dataset" if isinstance(shared, Dataset) else "assistant"


def _shares(connection: Connection, shared: Shareable) -> list[Share]:
    statement = (
        select(UserRow.name, ShareRow.group_name, ShareRow.may_write)
        .select_from(ShareRow)
        .outerjoin(UserRow, UserRow.id == ShareRow.user_id)
        .where(_column(shared) == shared.id)
        .order_by(ShareRow.group_name.is_not(None), UserRow.name, ShareRow.group_name)
    )
    return [
        Share("group" if user is None else "user", group or "" if user is None else user, may_write)
        for user, group, may_write in connection.execute(statement)
    ]


def _require_sharable(dataset: Shareable, share: Share) -> None:
    if not isinstance(dataset, Dataset):
        return
    if dataset.conversation_id is not None:
        raise InvalidInputError("files of a conversation are not shared; put them into a dataset", field="dataset_id")
    if dataset.shared and not share.may_write:
        raise InvalidInputError(
            "the groups of a shared dataset say who may read it; change them, or share it with somebody who may also "
            "change it",
            field="may_write",
        )


def _user_named(connection: Connection, name: str) -> int:
    found = connection.execute(select(UserRow.id).where(UserRow.name == storable(name).strip(), *_ACTIVE)).scalar()
    if found is None:
        raise InvalidInputError(
            internal(
                "there is nobody named '%(name)s' who can sign in; type a name as it is in the account",
                name=name[:40],
            ),
            field="name",
        )
    return found


def _group_named(connection: Connection, name: str) -> str:
    group = storable(name).strip()
    if connection.execute(select(UserGroupRow.user_id).where(UserGroupRow.group_name == group).limit(1)).first():
        return group
    raise InvalidInputError(
        internal(
            "there is no group named '%(name)s' with a member; name another, or share it with a person",
            name=name[:40],
        ),
        field="name",
    )


def _label(shared: Shareable) -> str:
    return f"{shared.id} {shared.name}"
