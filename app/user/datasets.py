"""Datasets that a user may read and write, for pages, API, MCP and command line alike.

`braid.core.datasets.scope` decides what is open to a user, `braid.core.datasets.shares` changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from werkzeug.exceptions import Forbidden

from braid.app.opening import FIRST_DATASET
from braid.core.accounts.account_list import account_names
from braid.core.accounts.accounts import Account
from braid.core.data_directory import DataDirectory
from braid.core.datasets.registry import SharedDataset
from braid.core.datasets.scope import is_within, may_write, readable_shared
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.options import Datasets
from braid.core.types import Dataset, Document


@dataclass(frozen=True, slots=True)
class Readable:
    """Datasets that a user may read: their own, and those that others share with them, which are its two parts."""

    personal: list[Dataset]
    shared: list[Dataset]
    """Personal datasets of other users, with their ``owner``, then the shared ones that are open to the user."""
    attached: list[Dataset]
    """Files of the user's conversations: in no list, but theirs to open and to ask."""

    def __iter__(self) -> Iterator[list[Dataset]]:
        """Yield the two lists that pages show."""
        return iter((self.personal, self.shared))

    @property
    def all(self) -> list[Dataset]:
        """Personal datasets, then those that others share."""
        return [*self.personal, *self.shared]

    def ids_of(self, chosen: Datasets) -> tuple[int, ...]:
        """Return the ids of the datasets that are meant now."""
        meant = self.all if chosen.is_everything else self.personal
        return chosen.ids or tuple(dataset.id for dataset in meant)

    @property
    def by_id(self) -> dict[int, Dataset]:
        """All datasets by their ids, those of conversations too."""
        return {dataset.id: dataset for dataset in (*self.all, *self.attached)}


@dataclass(frozen=True, slots=True)
class UserDatasets:
    """One user's datasets. Each call reads the ledger and the registry of shared datasets again.

    A shared dataset is closed to a user when it is switched off or not open to any of the user's groups. With
    ``include_closed`` administrators also get closed ones, so that they can fill them. A dataset that the user may not
    read raises NotFoundError, not Forbidden, as if it did not exist. ``within`` are the only ones that a limited token
    reads; None is no limit.
    """

    directory: DataDirectory
    user_id: int
    is_admin: bool = False
    include_closed: bool = False
    within: frozenset[int] | None = None

    def readable(self) -> Readable:
        """Return the datasets that the user may read, with their counts."""
        directory = self.directory
        directory.mirror_registry()
        shared = stored_datasets(directory, readable_shared(directory.ledger, directory.registry, self.user_id))
        if self.include_closed and self.is_admin:
            shared = self._add_closed(shared)
        ledger = directory.ledger
        others = ledger.datasets_shared_with(self.user_id)
        names = account_names(ledger.database, {each.user_id for each in others if each.user_id is not None})
        of_owners = [replace(each, owner=names.get(each.user_id or 0, str(each.user_id))) for each in others]
        found = ledger.datasets(self.user_id), [*of_owners, *shared], ledger.attached_datasets(self.user_id)
        return Readable(*([each for each in part if is_within(each.id, self.within)] for part in found))

    def get(self, dataset_id: int) -> Dataset:
        """Return a dataset that the user may read. Raises NotFoundError."""
        found = self.readable().by_id.get(dataset_id)
        if found is None:
            closed = {entry.id: entry for entry in self.directory.registry.entries()} if self.is_admin else {}
            if dataset_id in closed and closed[dataset_id].enabled and self.within is None:
                raise NotFoundError(f"dataset {dataset_id} is open to groups that you are not in; join one to use it")
            raise NotFoundError(Reason("there is no dataset %(id)s", id=dataset_id))
        return found

    def first(self) -> Dataset:
        """Return the user's oldest dataset; one that has none yet gets it, however many requests ask at once.

        Raises NotFoundError where a limited token reads none of them.
        """
        if own := self.readable().personal:
            return own[0]
        if self.within is not None:
            raise NotFoundError(Reason("this app may write to none of the user's own datasets; see list_datasets"))
        with suppress(InvalidInputError):  # another request has just added it
            return self.directory.ledger.add_dataset(self.user_id, FIRST_DATASET, most=1)
        return self.directory.ledger.datasets(self.user_id)[0]

    def writable(self, dataset_id: int | None) -> Dataset:
        """Return a dataset whose documents the user may change; without an id their first one, see `first`.

        Raises NotFoundError, and Forbidden.
        """
        if dataset_id is None:
            return self.first()
        found = self.get(dataset_id)
        if not self.may_write(found):
            if found.owner:
                raise Forbidden(Reason("%(name)s lets you read this dataset, but not change it", name=found.owner))
            raise Forbidden(Reason("only administrators and its editors may change a shared dataset"))
        return found

    def personal(self, dataset_id: int) -> Dataset:
        """Return a personal dataset of the user. Raises NotFoundError, and Forbidden for one that others share."""
        found = self.get(dataset_id)
        if found.owner:
            raise Forbidden(Reason("only its owner, %(name)s, may do this with the dataset", name=found.owner))
        if found.shared:
            raise Forbidden(
                Reason("this is a shared dataset; administrators manage it on their pages or under /shared-databases")
            )
        return found

    def sharable(self, dataset_id: int) -> Dataset:
        """Return a dataset that the user may share: a personal one, or as an administrator a shared one, which gets
        editors. Raises NotFoundError, and Forbidden.
        """
        found = self.get(dataset_id)
        return found if found.shared and self.is_admin else self.personal(dataset_id)

    def may_write(self, dataset: Dataset) -> bool:
        """Return whether the user may change the documents of a dataset that they may read."""
        ledger, registry = self.directory.ledger, self.directory.registry
        return may_write(ledger, registry, self.user_id, dataset, is_admin=self.is_admin)

    def _add_closed(self, shared: list[Dataset]) -> list[Dataset]:
        """Return all listed shared datasets, open or closed, the oldest first."""
        readable = {dataset.id: dataset for dataset in shared}
        listed = {entry.id for entry in self.directory.registry.entries()}
        stored = [dataset for dataset in self.directory.ledger.all_datasets() if dataset.id in listed]
        return [readable.get(dataset.id, dataset) for dataset in reversed(stored)]


def stored_datasets(directory: DataDirectory, entries: Iterable[SharedDataset]) -> list[Dataset]:
    """Return the entries' datasets with counts and descriptions; entries that are not mirrored yet are left out."""
    entries = list(entries)
    stored = {d.id: d for d in directory.ledger.datasets_in({entry.collection_name for entry in entries})}
    return [replace(stored[entry.id], description=entry.description) for entry in entries if entry.id in stored]


# ---------------------------------------------------------------- in a request


def caller_datasets(*, include_closed: bool = False) -> UserDatasets:
    """Return the datasets of the user who sends this request."""
    from braid.app.auth.identity import identity  # here, since the command line need not load the app
    from braid.app.site import site

    me, braid = identity(), site().braid
    return UserDatasets(braid, me.account.id, me.is_admin, include_closed=include_closed, within=me.dataset_ids)


def document_in(dataset_id: int, document_id: int) -> Document:
    """Return a document of a dataset that the user of this request may read. Raises NotFoundError."""
    from braid.app.site import site

    found = site().braid.ledger.document_with_id(document_id, [dataset_id])
    if found is None:
        raise no_document(dataset_id, document_id)
    return found


def no_document(dataset_id: int, document_id: int) -> NotFoundError:
    """Return the error for a document that is not, or no longer, in a dataset."""
    return NotFoundError(
        Reason("there is no document %(id)s in dataset %(dataset)s", id=document_id, dataset=dataset_id)
    )


def readable_datasets(account: Account) -> Readable:
    """Return the datasets that the user who sends this request may search, with their counts."""
    from braid.app.auth.identity import signed_in
    from braid.app.site import site

    me = signed_in()
    return UserDatasets(site().braid, account.id, within=me.dataset_ids if me else None).readable()
