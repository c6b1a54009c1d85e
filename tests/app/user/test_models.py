"""Which models a user may choose, whose key is used, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask import Flask
from sqlalchemy import select

from braid.app.user.models import choose_models, model_shelf, offered_models
from braid.app.user.preferences import preferences_of
from braid.config import models as config_models
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.accounts.model_connections import ProviderKeys
from braid.core.braid import Braid
from braid.core.chat.types import ChatRequest
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import ProviderKeyRow
from braid.core.models.chat import ChatModels
from braid.core.models.model_servers import PROVIDERS
from braid.core.options import Datasets
from tests.databases import on_both_databases
from tests.model_server import ModelServer, model_server
from tests.web import add_user, make_app, site_of

HELLO = [("user", "hello")]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server("fine") as running:
        yield running


@pytest.fixture
def app(braid: Braid, server: ModelServer) -> Iterator[Flask]:
    made = make_app(
        braid,
        Settings(
            search_model="openai:small",
            search_model_base_url=server.url,
            search_model_api_key="the-sites",
            summary_model="openai:large",
            summary_model_base_url=server.url,
            summary_model_api_key="the-sites",
        ),
    )
    site_of(made).app_settings.set("search_models", ["openai:other", "anthropic:claude"])
    with made.app_context():
        yield made


@pytest.fixture
def ben(app: Flask) -> Account:
    return add_user(app, "Ben")


def test_a_menu_begins_with_what_is_configured(app: Flask) -> None:
    offered = offered_models()
    assert offered.search == ("openai:small", "openai:other", "anthropic:claude")
    assert offered.summary == ("openai:large",)


def test_the_request_wins_over_the_preference_and_that_over_the_site(app: Flask, ben: Account) -> None:
    assert _names(ben) == ("openai:small", "openai:large")
    ben = _prefer(app, ben, search_model="openai:other", summary_model="none")
    assert _names(ben) == ("openai:other", None)
    assert _names(ben, search_model="openai:small", summary_model="openai:large") == ("openai:small", "openai:large")


def test_a_preference_that_is_no_longer_offered_counts_as_none(app: Flask, ben: Account) -> None:
    ben = _prefer(app, ben, search_model="openai:other")
    site_of(app).app_settings.set("search_models", [])
    assert _names(ben)[0] == "openai:small"


def test_a_choice_that_is_not_offered_is_refused(app: Flask, ben: Account) -> None:
    with pytest.raises(InvalidInputError, match="'openai:o9', which is not offered") as raised:
        model_shelf().models(choose_models(ben, summary_model="openai:o9"))
    assert raised.value.field == "summary_model"


def test_the_sites_address_and_key_go_to_no_other_provider(app: Flask, ben: Account, server: ModelServer) -> None:
    ours, other = choose_models(ben, "openai:other").search, choose_models(ben, "anthropic:claude").search
    assert ours
    assert (ours.settings.base_url, ours.settings.api_key) == (server.url, "the-sites")
    assert other
    assert (other.settings.base_url, other.settings.api_key) == ("", "")


def test_an_own_key_goes_to_its_provider_and_the_sites_address_gets_the_sites(
    app: Flask, ben: Account, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for provider in ("openai", "anthropic"):
        site_of(app).provider_keys.set(ben.id, provider, "bens-own")
    model = model_shelf().models(choose_models(ben)).summary
    assert model
    assert model.complete(HELLO) == "fine"
    assert [call.key for call in server.calls] == ["the-sites"], "the settings' server, which no user gave a key for"
    with model_server("thought") as provider_server:
        there = replace(PROVIDERS["anthropic"], base_url=provider_server.url)
        monkeypatch.setattr(config_models, "PROVIDERS", {**PROVIDERS, "anthropic": there})
        monkeypatch.setenv("ANTHROPIC_API_URL", server.url)
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        for keys in (None, {"anthropic": "of-the-request"}):
            model = model_shelf().models(choose_models(ben, "anthropic:claude", api_keys=keys)).search
            assert model
            assert model.complete(HELLO) == "thought"
        assert [call.key for call in provider_server.calls] == ["bens-own", "of-the-request"]
    assert len(server.calls) == 1


def test_what_is_made_with_an_own_key_is_not_kept(app: Flask, ben: Account) -> None:
    keys = {"anthropic": "of-the-request"}
    shelf, own = model_shelf(), choose_models(ben, "anthropic:claude", api_keys=keys)
    assert shelf.models(choose_models(ben)).search is shelf.models(choose_models(ben)).search
    assert shelf.conversation(choose_models(ben)) is shelf.conversation(choose_models(ben))
    assert shelf.search_models(choose_models(ben)).chat.search is shelf.search_models(choose_models(ben)).chat.search
    assert shelf.models(own).search is not shelf.models(own).search
    assert shelf.conversation(own) is not shelf.conversation(own)
    assert shelf.search_models(own).chat.search is not shelf.search_models(own).chat.search


def test_searches_and_conversations_ask_the_chosen_model(app: Flask, ben: Account, server: ModelServer) -> None:
    braid = site_of(app).braid
    dataset = braid.ledger.add_dataset(ben.id, "notes")
    models = model_shelf().search_models(choose_models(ben, "openai:other"))
    braid.manager.search("what", user_id=ben.id, dataset_ids=[dataset.id], strategy="multi_query", models=models)
    model_shelf().conversation(choose_models(ben, "openai:other")).ask(ChatRequest(ben.id, "what is that?"))
    assert [call.model for call in server.calls] == ["other", "other"]


def test_the_sites_choice_is_not_read_for_a_search_that_needs_none_of_it(app: Flask, ben: Account) -> None:
    manager, reads = site_of(app).braid.manager, []

    def chosen() -> ChatModels:
        reads.append(1)
        return ChatModels()

    manager.use_models(chosen)
    own = model_shelf().search_models(choose_models(ben))
    manager.search("what", user_id=ben.id)
    manager.search("what", user_id=ben.id, strategy="multi_query", generator="feedback")
    manager.search("what", user_id=ben.id, strategy="multi_query", models=own)
    assert not reads
    manager.search("what", user_id=ben.id, strategy="multi_query")
    assert len(reads) == 1


@on_both_databases
def test_a_key_is_encrypted_for_its_user_and_provider(ledger: Ledger) -> None:
    ana, ben = ledger.add_user("Ana"), ledger.add_user("Ben")
    keys = ProviderKeys(ledger, b"s" * 32)
    keys.set(ana.id, "openai", " sk-1234 ")
    keys.set(ana.id, "openai", "sk-5678")
    assert dict(keys.of_user(ana.id)) == {"openai": "sk-5678"}
    assert dict(ProviderKeys(ledger, b"t" * 32).of_user(ana.id)) == {"openai": ""}
    with ledger.database.write() as connection:
        stored = connection.execute(select(ProviderKeyRow.secret)).scalar_one()
        assert "sk-5678" not in stored
        connection.execute(ProviderKeyRow.__table__.insert().values(user_id=ben.id, provider="openai", secret=stored))
    assert dict(keys.of_user(ben.id)) == {"openai": ""}
    keys.remove(ana.id, "openai")
    with pytest.raises(NotFoundError):
        keys.remove(ana.id, "openai")


@pytest.mark.parametrize(("provider", "key"), [("OpenAI", "k"), ("", "k"), ("openai", ""), ("openai", "two words")])
def test_a_wrong_key_is_refused_without_repeating_it(ledger: Ledger, provider: str, key: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        ProviderKeys(ledger, b"s" * 32).set(ledger.add_user("Ana").id, provider, key)
    assert "two words" not in str(raised.value)


def test_preferences_that_are_not_valid_count_as_none(app: Flask, ben: Account) -> None:
    nothing = preferences_of(ben)
    assert (nothing.mode, nothing.alpha, nothing.strategy, nothing.datasets) == (
        "hybrid",
        0.7,
        "basic",
        Datasets.everything(),
    )
    wrong = {"mode": "best", "alpha": 2, "k": "5", "strategy": "none such", "language": "xx", "dataset_ids": [0]}
    assert preferences_of(_prefer(app, ben, **wrong)) == nothing
    mine = preferences_of(_prefer(app, ben, mode="keyword", alpha=0.2, k=9, strategy="hyde", dataset_ids=[3, -1]))
    assert (mine.mode, mine.alpha, mine.k, mine.strategy, mine.datasets) == (
        "keyword",
        0.2,
        9,
        "hyde",
        Datasets.of([3, -1]),
    )


def _prefer(app: Flask, account: Account, **changes: object) -> Account:
    site_of(app).accounts.set_preferences(account.id, changes)
    return site_of(app).accounts.get(account.id)


def _names(account: Account, **choices: str) -> tuple[str | None, str | None]:
    models = model_shelf().models(choose_models(account, **choices))
    return models.search and models.search.name, models.summary and models.summary.name
