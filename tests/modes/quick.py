"""What needs no other process, no database server and no indexer: `make quick`, or `pytest tests --quick`.

The lane is of whole files of the rooms in `ROOMS`: those that name nothing of `STARTERS`, less the tests that ask for a
fixture in `OPENS`. A test that is about to start a process or an indexer all the same is skipped at that moment.
"""

from __future__ import annotations

import platform
import re
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
ROOMS = ("config", "core")
OPENS = frozenset({"braid", "shelf", "postgres_server", "s3_bucket", "is_long"})
"""Fixtures that start what this lane has not."""
APART = ("core/indexes/chroma", "core/indexes/milvus", "core/models/e5", "core/workers")
"""Rooms among these that are left out as they are."""
STARTERS = re.compile(
    r"\b(Braid|Background|CommandLine|CliRunner|ParsePool|Served|open_braid|open_shelf|start_process)\("
    r"|: Braid\b|\b(subprocess|multiprocessing|ProcessPoolExecutor|os\.fork)\b"
)
"""What a file names that starts something."""
STARTS = ("subprocess.Popen", "os.fork", "os.posix_spawn")
INDEXERS = ("braid-bm25", "braid-dense", "braid-chroma")


class Guard:
    """Skips the test that is watched where it starts a process or an indexer; what its threads do is their own."""

    def __init__(self) -> None:
        self.is_watching = False

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take one event of Python's audit."""
        if self.is_watching and _starts(event, arguments) and threading.current_thread() is threading.main_thread():
            pytest.skip("it starts a process or an indexer: make test runs it")


def _starts(event: str, arguments: tuple[Any, ...]) -> bool:
    if event.startswith("_thread.start"):
        return getattr(getattr(arguments[0], "__self__", None), "name", "") in INDEXERS
    return event in STARTS


GUARD = Guard()


def pytest_configure() -> None:
    """Hear of everything that is started from now on."""
    platform.processor()  # asks a process, once: clients of models tell their servers
    sys.addaudithook(GUARD.hear)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not even import the other lanes' files."""
    if not collection_path.is_relative_to(TESTS):
        return None
    file = collection_path.relative_to(TESTS).as_posix()
    if collection_path.is_dir():
        return True if _is_in(file, APART) else None
    if collection_path.name == "conftest.py":
        return None
    return None if _is_in(file, ROOMS) and not STARTERS.search(collection_path.read_text(encoding="utf-8")) else True


def _is_in(file: str, places: tuple[str, ...]) -> bool:
    return any(file == place or file.startswith(f"{place}/") for place in places)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other lanes' tests."""
    kept = [item for item in items if is_quick(item)]
    config.hook.pytest_deselected(items=list({*items} - {*kept}))
    items[:] = kept


def is_quick(item: pytest.Item) -> bool:
    """Whether the test starts nothing."""
    if any(item.get_closest_marker(name) for name in ("long", "browser")):
        return False
    parameters = getattr(item, "callspec", None)
    is_of_postgresql = parameters is not None and "postgresql" in parameters.id.split("-")
    return not is_of_postgresql and not OPENS & {*getattr(item, "fixturenames", ())}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Watch the test with its fixtures."""
    GUARD.is_watching = True
    try:
        return (yield)
    finally:
        GUARD.is_watching = False
