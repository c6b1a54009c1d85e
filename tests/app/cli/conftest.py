"""A data directory of a test's own, and one that another process has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from braid.core.ledger.owners.owner import OwnerLock
from tests.app.cli.processes import NOBODY, CommandLine


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def dataset(run: CommandLine) -> int:
    """The id of an empty dataset of the only user."""
    return int(run.json("dataset", "add", "Notes")["id"])


@pytest.fixture
def owned(run: CommandLine) -> Iterator[CommandLine]:
    """A data directory whose indexes another process has, as far as anyone can tell."""
    run.data_dir.mkdir(parents=True)
    lock = OwnerLock(run.data_dir)
    lock.acquire()
    lock.announce(NOBODY)
    yield run
    lock.release()
