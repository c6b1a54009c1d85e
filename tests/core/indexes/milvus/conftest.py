"""A Milvus server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from braid.core.braid import IndexOptions
from braid.core.indexes.milvus.options import MilvusOptions
from tests.milvus_server import MilvusLite, milvus_lite


@pytest.fixture(scope="session")
def milvus_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusLite]:
    """One server, which runs as long as the tests."""
    with milvus_lite(tmp_path_factory.mktemp("milvus")) as server:
        yield server


@pytest.fixture
def milvus(milvus_process: MilvusLite) -> MilvusLite:
    """The server, without anything in it."""
    milvus_process.clear()
    return milvus_process


@pytest.fixture
def in_milvus(milvus: MilvusLite) -> IndexOptions:
    """What opens a data directory with its indexes on the server."""
    return IndexOptions(milvus=MilvusOptions(milvus.url))
