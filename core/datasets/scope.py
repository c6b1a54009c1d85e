"""The scope of a request, which is what the caller may read: decided here and nowhere else, default-deny.

A user may read their own personal datasets, those that their owners share with them or with one of their groups, and
the shared datasets that are open to them. Who may change what they may read is decided here, too.

Administrators' additional access to closed shared datasets, for filling them, is in `braid.app.user.datasets`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from braid.core.datasets.registry import Registry, SharedDataset
from braid.core.errors import InvalidInputError
from braid.core.ledger.ledger import Ledger
from braid.core.types import ALL, CollectionScope, Dataset, DatasetIds, Scope, plain_number

MAX_DATASET_IDS = 1_000

T = TypeVar("T")


def resolve_scope(
    ledger: Ledger,
    registry: Registry,
    *,
    user_id: int | None,
    dataset_ids: DatasetIds,
    within: Collection[int] | None = None,
) -> Scope:
    """Return the scope of a request. No ids means all personal datasets of the user, and ``all`` everything that the
    user may read, also what others share. Datasets with the files of a conversation are in it only if they are named.
    ``within`` are the only datasets that a program with a limited token may read, and then what no ids mean; None for
    no such limit.

    Ids that do not exist, are disabled or are not the caller's are listed as unresolved, without saying which of
    the three. Raises InvalidInputError for an id that is 0 or not a whole number.
    """
    user_id = plain_number(user_id)
    _require_user_id(user_id)
    wanted = [] if dataset_ids == ALL else selected_ids(dataset_ids)
    everything = dataset_ids == ALL or (within is not None and not wanted)
    own = {dataset.id: dataset.collection for dataset in ledger.datasets(user_id)} if user_id is not None else {}
    others: dict[int, tuple[str, int | None]] = {}  # collection and owner of what is not the caller's
    if user_id is not None and (everything or any(each > 0 and each not in own for each in wanted)):
        others = {each.id: (each.collection, each.user_id) for each in ledger.datasets_shared_with(user_id)}
        if not everything:
            own |= {dataset.id: dataset.collection for dataset in ledger.attached_datasets(user_id)}
    if everything or _has_shared(wanted):
        others |= {entry.id: (entry.collection_name, None) for entry in _open_to(ledger, registry, user_id)}
    own, others = _within(own, within), _within(others, within)
    if not wanted:
        wanted = [*own, *others] if everything else list(own)
    allowed: dict[tuple[str, int | None], set[int]] = {}
    unresolved: list[int] = []
    for dataset_id in wanted:
        if dataset_id in own:
            allowed.setdefault((own[dataset_id], user_id), set()).add(dataset_id)
        elif dataset_id in others:
            allowed.setdefault(others[dataset_id], set()).add(dataset_id)
        else:
            unresolved.append(dataset_id)
    return Scope(_collections(allowed, others), tuple(unresolved), user_id)


def scope_of_group(ledger: Ledger, registry: Registry, group: str) -> Scope:
    """Return what somebody may read as a member of a group alone: personal datasets that are shared with it, and shared
    datasets that are open to it, or to everyone.
    """
    others: dict[int, tuple[str, int | None]] = {
        each.id: (each.collection, each.user_id) for each in ledger.datasets_shared_with_group(group)
    }
    for entry in registry.entries():
        if entry.enabled and (not entry.allowed_groups or group in entry.allowed_groups):
            others[entry.id] = entry.collection_name, None
    allowed: dict[tuple[str, int | None], set[int]] = {}
    for dataset_id, place in others.items():
        allowed.setdefault(place, set()).add(dataset_id)
    return Scope(_collections(allowed, others))


def _collections(
    allowed: Mapping[tuple[str, int | None], set[int]], others: Mapping[int, tuple[str, int | None]]
) -> tuple[CollectionScope, ...]:
    """Return the parts of a scope: ``allowed`` by collection and owner; ``others`` are all datasets that are not the
    caller's own and that the caller may read.
    """
    readable: dict[str, frozenset[int]] = {}
    for dataset_id, (collection, _owner) in others.items():
        readable[collection] = readable.get(collection, frozenset()) | {dataset_id}
    return tuple(
        CollectionScope(collection, frozenset(ids), owner, readable.get(collection))
        for (collection, owner), ids in allowed.items()
    )


def may_write(ledger: Ledger, registry: Registry, user_id: int, dataset: Dataset, *, is_admin: bool) -> bool:
    """Return whether a user may change the documents of a dataset: their own ones, shared ones as an administrator, and
    those that they may read and that were opened to them, or to one of their groups, for that.
    """
    if dataset.user_id == user_id or (dataset.shared and is_admin):
        return True
    if dataset.id not in ledger.ids_opened_for_changes(user_id):
        return False
    return dataset.id in resolve_scope(ledger, registry, user_id=user_id, dataset_ids=[dataset.id]).dataset_ids


def is_within(dataset_id: int, within: Collection[int] | None) -> bool:
    """Return whether a token's limit lets a dataset be read; None is no limit."""
    return within is None or dataset_id in within


def _within(datasets: Mapping[int, T], within: Collection[int] | None) -> dict[int, T]:
    return {dataset_id: found for dataset_id, found in datasets.items() if is_within(dataset_id, within)}


def _has_shared(dataset_ids: Iterable[int]) -> bool:
    return any(dataset_id < 0 for dataset_id in dataset_ids)


def readable_shared(ledger: Ledger, registry: Registry, user_id: int | None) -> list[SharedDataset]:
    """Return the shared datasets that a user may select."""
    return list(_open_to(ledger, registry, user_id))


def _open_to(ledger: Ledger, registry: Registry, user_id: int | None) -> Iterable[SharedDataset]:
    """Yield the enabled entries that are open to everyone, or to a group of the user."""
    groups: frozenset[str] | None = None
    for entry in registry.entries():
        if not entry.enabled:
            continue
        if entry.allowed_groups and groups is None:
            user = ledger.user(user_id) if user_id is not None else None
            groups = user.groups if user else frozenset()
        if not entry.allowed_groups or (groups and groups & set(entry.allowed_groups)):
            yield entry


def _require_user_id(user_id: object) -> None:
    if user_id is not None and (isinstance(user_id, bool) or not isinstance(user_id, int)):
        raise InvalidInputError(
            f"user_id is {user_id!r}; it must be the number of a user, such as braid.ledger.user_named('ann').id, or "
            "None for nobody",
            field="user_id",
        )


def selected_ids(dataset_ids: DatasetIds) -> list[int]:
    """Return the ids, each once. Raises InvalidInputError for what is no list of them."""
    if dataset_ids is not None and (isinstance(dataset_ids, str | bytes) or not isinstance(dataset_ids, Collection)):
        raise InvalidInputError(
            f"dataset_ids is {dataset_ids!r}; it must be a list of dataset ids, such as [1, -1], or 'all'",
            field="dataset_ids",
        )
    ids = list(dict.fromkeys(map(plain_number, dataset_ids or ())))
    if len(ids) > MAX_DATASET_IDS:
        raise InvalidInputError(
            f"{len(ids)} datasets are selected; at most {MAX_DATASET_IDS} are allowed", field="dataset_ids"
        )
    for dataset_id in ids:
        if isinstance(dataset_id, bool) or not isinstance(dataset_id, int) or dataset_id == 0:
            raise InvalidInputError(
                f"dataset id {dataset_id!r} is not one: personal ids are 1, 2, …, shared ids are -1, -2, …; names are "
                "no ids",
                field="dataset_ids",
            )
    return ids
