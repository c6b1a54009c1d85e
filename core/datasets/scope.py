"""The scope of a request, which is what the caller may read: decided here and nowhere else, default-deny.

Administrators' additional access to closed shared datasets, for filling them, is in `braid.app.user.datasets`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from braid.core.datasets.registry import Registry, SharedDataset
from braid.core.errors import InvalidInputError
from braid.core.ledger.ledger import Ledger
from braid.core.types import ALL, CollectionScope, DatasetIds, Scope, plain_number

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
    user may read, personal and shared. Datasets with the files of a conversation are in it only if they are named.
    ``within`` are the only datasets that a program with a limited token may read, and then what no ids mean; None for
    no such limit.

    Ids that do not exist, are disabled or are not the caller's are listed as unresolved, without saying which of
    the three. Raises InvalidInputError for an id that is 0 or not a whole number.
    """
    user_id = plain_number(user_id)
    _require_user_id(user_id)
    wanted = [] if dataset_ids == ALL else _distinct(dataset_ids)
    everything = dataset_ids == ALL or (within is not None and not wanted)
    personal = {dataset.id: dataset for dataset in ledger.datasets(user_id)} if user_id is not None else {}
    if not wanted:
        wanted = list(personal)
    elif user_id is not None and any(dataset_id > 0 and dataset_id not in personal for dataset_id in wanted):
        personal |= {dataset.id: dataset for dataset in ledger.attached_datasets(user_id)}
    needs_shared = everything or _has_shared(wanted)
    shared = {entry.id: entry for entry in _open_to(ledger, registry, user_id)} if needs_shared else {}
    personal, shared = _within(personal, within), _within(shared, within)
    if everything:
        wanted = [*personal, *shared]
    allowed: dict[tuple[str, int | None], set[int]] = {}
    unresolved: list[int] = []
    for dataset_id in wanted:
        if dataset_id in personal:
            allowed.setdefault((personal[dataset_id].collection, user_id), set()).add(dataset_id)
        elif dataset_id in shared:
            allowed.setdefault((shared[dataset_id].collection_name, None), set()).add(dataset_id)
        else:
            unresolved.append(dataset_id)
    readable: dict[str, set[int]] = {}
    for entry in shared.values():
        readable.setdefault(entry.collection_name, set()).add(entry.id)
    collections = tuple(
        CollectionScope(collection, frozenset(ids), owner, frozenset(readable[collection]) if owner is None else None)
        for (collection, owner), ids in allowed.items()
    )
    return Scope(collections, tuple(unresolved), user_id)


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


def _distinct(dataset_ids: DatasetIds) -> list[int]:
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
