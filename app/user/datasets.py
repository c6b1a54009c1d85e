"""Which datasets the pages and the API show to a user."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from braid.app.site import site
from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.datasets.scope import readable_shared
from braid.core.types import Dataset


class Readable(NamedTuple):
    """What a user may read: their own datasets, and the shared ones that are enabled and open to them."""

    personal: list[Dataset]
    shared: list[Dataset]

    @property
    def all(self) -> list[Dataset]:
        """Both kinds."""
        return [*self.personal, *self.shared]

    @property
    def by_id(self) -> dict[int, Dataset]:
        """Both kinds by their ids."""
        return {dataset.id: dataset for dataset in self.all}


def readable_datasets(account: Account) -> Readable:
    """The datasets of the picker, with their counts."""
    return datasets_of(site().braid, account.id)


def datasets_of(braid: Braid, user_id: int) -> Readable:
    """The same, outside a request."""
    braid.mirror_registry()
    entries = readable_shared(braid.ledger, braid.registry, user_id)
    stored = {d.id: d for d in braid.ledger.datasets_in({entry.collection_name for entry in entries})}
    shared = [replace(stored[entry.id], description=entry.description) for entry in entries if entry.id in stored]
    return Readable(braid.ledger.datasets(user_id), shared)
