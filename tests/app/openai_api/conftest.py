"""The town, and two who ask it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.app.openai_api.town import PRINTER, TRAVEL, Town
from tests.model_server import model_server
from tests.web import add_user, make_app, serving, site_of
from tests.worlds import WAIT_S, document


@pytest.fixture(scope="module")
def town(shelf: Braid) -> Iterator[Town]:
    with model_server("The tray is empty [1]. The fair is far [2]. Nothing [9].") as model:
        given: dict[str, Any] = {
            f"{role}_model{part}": value
            for role in ("search", "summary")
            for part, value in (("", "openai:search-model"), ("_base_url", model.url), ("_api_key", "secret-key"))
        }
        app = make_app(shelf, Settings(**given, api_rate_limit="100000/second"))
        people = {name: add_user(app, name) for name in ("ann", "eve", "bob")}
        ledger = shelf.ledger
        for name in ("ann", "bob"):
            site_of(app).accounts.set_preferences(people[name].id, {"search_model": "none", "summary_model": "none"})
        site_of(app).app_settings.set("summary_models", ["openai:frail"])
        notes = ledger.add_dataset(people["ann"].id, "Notes")
        ledger.add_dataset(people["eve"].id, "Eve's")
        ledger.put_document(notes.id, document("printer.md", PRINTER, title="The ![manual](http://evil.example/x)"))
        ledger.put_document(2, document("printer.md", PRINTER, title="Manual"))
        shelf.registry.add("Handbook", "shared_main_db")
        shelf.mirror_registry()
        ledger.put_document(-1, document("travel.md", TRAVEL, title="Travel"))
        assert shelf.indexer.wait(WAIT_S)
        with serving(app) as address:
            yield Town(app, address, model, people)


@pytest.fixture
def ann(town: Town) -> Iterator[openai.OpenAI]:
    with town.client("ann") as client:
        yield client


@pytest.fixture
def eve(town: Town) -> Iterator[openai.OpenAI]:
    town.model.calls.clear()
    with town.client("eve") as client:
        yield client
    town.model.finish = "stop"
    town.model.unfinished = town.model.broken = town.model.fails_after = 0
