"""Which datasets a user may read, and which they may write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.exceptions import Forbidden

from braid.app.user.datasets import UserDatasets
from braid.core.data_directory import DataDirectory
from braid.core.errors import NotFoundError
from tests.fakes import HashEmbeddings


class Town:
    """Ann's and Ben's datasets, and three shared ones, of which only the first is open to both."""

    def __init__(self, directory: DataDirectory) -> None:
        ledger, registry = directory.ledger, directory.registry
        self.directory = directory
        self.ann, self.ben = ledger.add_user("ann").id, ledger.add_user("ben").id
        self.anns, self.bens = ledger.add_dataset(self.ann, "ann's").id, ledger.add_dataset(self.ben, "ben's").id
        self.open = registry.add("Handbook", "shared_all", description="For everybody").id
        self.closed = registry.add("Board", "shared_all", allowed_groups=["board"]).id
        self.off = registry.add("Old", "shared_all").id
        registry.update(self.off, enabled=False)

    def of(self, user_id: int, *, is_admin: bool = False, include_closed: bool = False) -> UserDatasets:
        return UserDatasets(self.directory, user_id, is_admin=is_admin, include_closed=include_closed)


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with DataDirectory(tmp_path, embedding_model=HashEmbeddings()) as directory:
        yield Town(directory)


def test_own_datasets_and_open_shared_ones_are_readable(town: Town) -> None:
    personal, shared = town.of(town.ann).readable()
    assert [dataset.id for dataset in personal] == [town.anns]
    assert [(dataset.id, dataset.description) for dataset in shared] == [(town.open, "For everybody")]


@pytest.mark.parametrize("which", ["bens", "closed", "off"])
def test_what_is_not_readable_does_not_exist(town: Town, which: str) -> None:
    dataset_id = getattr(town, which)
    for refuse in (town.of(town.ann).get, town.of(town.ann).writable, town.of(town.ann).personal):
        with pytest.raises(NotFoundError, match=f"there is no dataset {dataset_id}"):
            refuse(dataset_id)


def test_only_administrators_write_to_shared_datasets(town: Town) -> None:
    assert town.of(town.ann).writable(town.anns).id == town.anns
    with pytest.raises(Forbidden, match="only administrators"):
        town.of(town.ann).writable(town.open)
    assert town.of(town.ann, is_admin=True).writable(town.open).id == town.open


def test_a_shared_dataset_is_nobodys_own(town: Town) -> None:
    assert town.of(town.ann).personal(town.anns).id == town.anns
    with pytest.raises(Forbidden, match="shared dataset"):
        town.of(town.ann, is_admin=True).personal(town.open)


def test_administrators_may_fill_what_is_closed_or_off(town: Town) -> None:
    filling = town.of(town.ann, is_admin=True, include_closed=True)
    assert [dataset.id for dataset in filling.readable().shared] == [town.open, town.closed, town.off]
    assert filling.writable(town.off).id == town.off
    with pytest.raises(NotFoundError):
        filling.get(town.bens)
    with pytest.raises(NotFoundError):
        town.of(town.ann, include_closed=True).get(town.off)
