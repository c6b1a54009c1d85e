"""Searcher for the command line: this process, or the app that has the data directory open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from braid.app.cli.common import choose_user
from braid.app.opening import open_braid, open_data_directory
from braid.core.errors import NotOwnerError
from braid.core.ledger.owners.owner import owner_url

if TYPE_CHECKING:
    from braid.app.owner.client import OwnerClient
    from braid.config.settings import Settings
    from braid.core.data_directory import DataDirectory
    from braid.core.retriever_manager import RetrieverManager


@dataclass(frozen=True, slots=True)
class Searcher:
    """An open data directory, the user, and the manager that searches for this user."""

    directory: DataDirectory
    user_id: int
    manager: RetrieverManager | OwnerClient


@contextmanager
def open_searcher(settings: Settings, user: str | None) -> Iterator[Searcher]:
    """Open the data directory with its indexes; beside a running app, open its ledger and search in the app, and beside
    any other process that has the indexes open, search through it.
    """
    with ExitStack() as stack:
        try:
            braid = stack.enter_context(open_braid(settings, must_own=True))
        except NotOwnerError:
            if url := owner_url(settings.data_dir):
                yield stack.enter_context(_in_the_app(settings, user, url))
                return
            braid = stack.enter_context(open_braid(settings))
        yield Searcher(braid, choose_user(braid.ledger, user).id, braid.manager)


@contextmanager
def _in_the_app(settings: Settings, user: str | None, url: str) -> Iterator[Searcher]:
    from braid.app.owner.client import OwnerClient, short_lived_key

    with open_data_directory(settings) as directory:
        user_id = choose_user(directory.ledger, user).id
        with short_lived_key(directory.ledger, user_id, "owner") as key, OwnerClient(url, key) as manager:
            yield Searcher(directory, user_id, manager)
