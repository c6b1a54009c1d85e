"""A shelf whose indexes have all that there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.indexes.shelves import Shelf, open_shelf
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S


@pytest.fixture(scope="module", autouse=True)
def copied(with_copy: None) -> None:
    """The copy in Chroma is one of the indexes."""


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    opened = open_shelf(tmp_path, HashEmbeddings())
    with opened.braid:
        assert opened.braid.indexer.wait(WAIT_S)
        assert opened.complete()
        yield opened
