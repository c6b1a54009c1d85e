"""The app with a user who has two datasets of her own, and may read one of two shared ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from tests.app.oauth.apps import App
from tests.fakes import HashEmbeddings
from tests.web import PASSWORD, make_app, sign_in, site_of
from tests.worlds import WAIT_S, document


@dataclass
class World:
    """A served site. Every document has the word ``vault``, and says whose it is."""

    app: Flask
    braid: Braid
    ana: Account
    work: int
    diary: int
    shared: int
    closed: int

    def browser(self) -> FlaskClient:
        """Ana's, in which she has just signed in."""
        return sign_in(self.app, self.ana.name)

    def new_app(self) -> App:
        """Another program that has registered itself."""
        return App(self.app)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Braid(tmp_path_factory.mktemp("oauth") / "data", embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid)
        ana = site_of(app).accounts.add("Ana", PASSWORD)
        ledger, number = braid.ledger, count(1)
        work, diary = (ledger.add_dataset(ana.id, name).id for name in ("Work", "Diary"))
        shared = braid.registry.add("Handbook", "shared_main").id
        closed = braid.registry.add("Board", "shared_main", allowed_groups=["board"]).id
        braid.mirror_registry()
        for dataset_id, name in ((work, "work"), (diary, "diary"), (shared, "handbook"), (closed, "board")):
            ledger.put_document(
                dataset_id, document(f"{name}.md", f"The vault of the {name} opens {next(number)}.", title=name)
            )
        assert braid.indexer.wait(WAIT_S)
        yield World(app, braid, ana, work, diary, shared, closed)
