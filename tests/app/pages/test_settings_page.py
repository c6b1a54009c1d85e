"""The settings page: what is kept, what is refused, and that keys never come back."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.user.models import choose_models
from braid.app.user.preferences import Preferences, preferences_of
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.options import Datasets
from tests.web import acts, add_user, csrf_token, make_app, post_form, sign_in, site_of

FORM = {
    "mode": "keyword",
    "fusion": "weighted",
    "alpha": "0.25",
    "k": "12",
    "strategy": "hyde",
    "search_model": "anthropic:claude",
    "summary_model": "none",
    "language": "ko",
    "theme": "dark",
    "datasets": "all",
}


@pytest.fixture
def app(braid: Braid) -> Flask:
    settings = Settings(summary_model="openai:large", summary_model_base_url="http://gateway.example/v1", k=7)
    made = make_app(braid, settings)
    site_of(made).app_settings.set("search_models", ["anthropic:claude"])
    return made


@pytest.fixture
def ben(app: Flask) -> Account:
    return add_user(app, "Ben")


@pytest.fixture
def client(app: Flask, ben: Account) -> FlaskClient:
    return sign_in(app, "Ben")


def test_what_is_saved_is_the_default_from_then_on(app: Flask, client: FlaskClient, ben: Account) -> None:
    assert post_form(client, "/settings", **FORM).status_code == 302
    mine = _preferences(app, ben)
    assert mine == Preferences(
        "keyword", "weighted", 0.25, 12, "hyde", "anthropic:claude", "none", "ko", "dark", Datasets.everything()
    )
    with app.app_context():
        assert choose_models(site_of(app).accounts.get(ben.id)).summary is None
    page = client.get("/settings").get_data(as_text=True)
    assert '<html lang="ko" data-theme="dark"' in page
    for checked in ('id="mode-keyword"', 'id="strategy-hyde"', 'id="fusion-weighted"'):
        assert re.search(f"{checked}[^>]* checked", page), checked
    assert 'value="0.25"' in page
    assert '<option value="anthropic:claude" selected>' in page


def test_japanese_sentences_follow_each_other_without_a_blank(client: FlaskClient) -> None:
    page = client.get("/settings", headers={"Accept-Language": "ja"}).text
    assert "同じモデルを使います。管理者が変更できます。" in page
    assert "。モデルを使わずに 2 回検索します。" in page
    assert ". Searches twice, without a model." in client.get("/settings", headers={"Accept-Language": "en"}).text


def test_a_section_is_saved_alone_and_the_others_stay(app: Flask, client: FlaskClient, ben: Account) -> None:
    post_form(client, "/settings", **FORM)
    answer = post_form(client, "/settings", section="look", language="ja", theme="light")
    assert (answer.status_code, answer.location) == (302, "/settings#look")
    mine = _preferences(app, ben)
    assert mine == Preferences(
        "keyword", "weighted", 0.25, 12, "hyde", "anthropic:claude", "none", "ja", "light", Datasets.everything()
    )
    assert post_form(client, "/settings", section="elsewhere").location == "/settings"


def test_a_script_is_told_of_a_mistake_in_json(app: Flask, client: FlaskClient, ben: Account) -> None:
    token = csrf_token(client)
    json = {"Accept": "application/json"}
    saved = client.post("/settings", data={"csrf_token": token, "k": "9"}, headers=json)
    refused = client.post("/settings", data={"csrf_token": token, "k": "many", "mode": "keyword"}, headers=json)
    assert (saved.status_code, saved.json) == (200, {})
    assert refused.status_code == 400
    assert "whole number" in refused.json["detail"]
    assert (_preferences(app, ben).k, _preferences(app, ben).mode) == (9, "hybrid")


def test_what_equals_the_sites_default_follows_it(app: Flask, client: FlaskClient, ben: Account) -> None:
    form = FORM | {"mode": "hybrid", "k": "7", "search_model": "", "theme": "auto", "language": ""}
    assert post_form(client, "/settings", **form).status_code == 302
    assert dict(site_of(app).accounts.get(ben.id).preferences) == {
        "fusion": "weighted",
        "alpha": 0.25,
        "strategy": "hyde",
        "summary_model": "none",
    }
    assert post_form(client, "/settings/reset").status_code == 302
    assert dict(site_of(app).accounts.get(ben.id).preferences) == {}


def test_a_reset_forgets_the_selected_datasets_too(app: Flask, client: FlaskClient, ben: Account) -> None:
    mine = site_of(app).braid.ledger.add_dataset(ben.id, "Mine").id
    assert post_form(client, "/settings", datasets="these", d=[mine]).status_code == 302
    assert _preferences(app, ben).datasets == Datasets.of([mine])
    post_form(client, "/settings/reset")
    assert _preferences(app, ben).datasets == Datasets.everything()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "best"),
        ("fusion", ""),
        ("alpha", "1.5"),
        ("alpha", "nan"),
        ("alpha", "much"),
        ("k", "0"),
        ("k", "1001"),
        ("k", "²"),
        ("strategy", "no such"),
        ("search_model", "openai:of-others"),
        ("summary_model", "anthropic:claude"),
        ("language", "xx"),
        ("theme", "pink"),
        ("datasets", "these"),
    ],
)
def test_a_wrong_value_is_refused_and_nothing_is_kept(
    app: Flask, client: FlaskClient, ben: Account, name: str, value: str
) -> None:
    answer = post_form(client, "/settings", **FORM | {name: value})
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert not site_of(app).accounts.get(ben.id).preferences


def test_what_was_typed_is_shown_again_beside_the_mistake(client: FlaskClient) -> None:
    page = post_form(client, "/settings", **FORM | {"k": "many"}).text
    assert "a whole number from 1 to 1,000" in page
    assert 'value="many"' in page
    assert re.search('id="mode-keyword"[^>]* checked', page)


def test_only_datasets_that_one_may_read_can_be_ticked(app: Flask, client: FlaskClient, ben: Account) -> None:
    ledger = site_of(app).braid.ledger
    mine, hers = ledger.add_dataset(ben.id, "mine"), ledger.add_dataset(add_user(app, "Cleo").id, "hers")
    for wrong in ("x", "--5", "9" * 5_000, "٣"):
        assert (
            post_form(client, "/settings", **FORM | {"datasets": "these", "d": [str(hers.id), wrong]}).status_code
            == 400
        )
    assert (
        post_form(client, "/settings", **FORM | {"datasets": "these", "d": [str(mine.id), str(hers.id)]}).status_code
        == 302
    )
    assert _preferences(app, ben).datasets == Datasets.of([mine.id])


def test_a_key_is_kept_and_never_sent_back(app: Flask, client: FlaskClient, ben: Account) -> None:
    assert post_form(client, "/settings/keys/anthropic", key="sk-ant-1234").status_code == 302
    assert dict(site_of(app).provider_keys.of_user(ben.id)) == {"anthropic": "sk-ant-1234"}
    page = client.get("/settings").text
    assert "sk-ant-1234" not in page
    assert "Remove the key for anthropic" in page
    assert post_form(client, "/settings/keys/anthropic/remove").status_code == 302
    assert not site_of(app).provider_keys.of_user(ben.id)
    assert post_form(client, "/settings/keys/anthropic/remove").status_code == 404
    recorded = [(entry.actor, entry.action, entry.target, entry.detail) for entry in acts(app)]
    assert recorded == [(ben.name, "key.removed", "anthropic", ""), (ben.name, "key.stored", "anthropic", "")]


@pytest.mark.parametrize(("provider", "key"), [("anthropic", "two words"), ("anthropic", ""), ("groq", "sk-1")])
def test_a_wrong_key_is_not_kept(app: Flask, client: FlaskClient, ben: Account, provider: str, key: str) -> None:
    answer = post_form(client, f"/settings/keys/{provider}", key=key)
    assert answer.status_code == 400
    assert key == "" or key not in answer.text
    assert not site_of(app).provider_keys.of_user(ben.id)


def test_a_key_of_a_provider_that_is_asked_elsewhere_is_not_sent_and_not_asked_for(
    app: Flask, client: FlaskClient, ben: Account
) -> None:
    assert "key-openai" not in client.get("/settings").text
    site_of(app).provider_keys.set(ben.id, "openai", "sk-1")
    page = client.get("/settings").text
    assert "not sent: the models are asked at gateway.example" in page
    assert 'id="key-openai"' not in page
    assert post_form(client, "/settings/keys/openai", key="sk-2").status_code == 400
    assert post_form(client, "/settings/keys/openai/remove").status_code == 302


def test_a_key_goes_with_its_user(app: Flask, client: FlaskClient, ben: Account) -> None:
    post_form(client, "/settings/keys/anthropic", key="sk-1")
    site_of(app).accounts.remove(ben.id)
    assert not site_of(app).provider_keys.of_user(ben.id)


def test_a_theme_alone_leaves_the_language_that_was_chosen_by_a_link(client: FlaskClient) -> None:
    client.get("/settings?lang=ja")
    assert post_form(client, "/settings", theme="dark").status_code == 302
    assert '<html lang="ja" data-theme="dark"' in client.get("/settings").text
    post_form(client, "/settings", section="look", language="", theme="dark")
    assert '<html lang="en"' in client.get("/settings").text


def test_a_link_to_another_language_changes_the_setting(app: Flask, client: FlaskClient, ben: Account) -> None:
    post_form(client, "/settings", **FORM)
    client.get("/settings?lang=ja")
    assert '<html lang="ja"' in client.get("/settings").text
    assert _preferences(app, ben).language == "ja"


def test_only_administrators_are_told_how_to_change_the_embedding_model(app: Flask, client: FlaskClient) -> None:
    assert "Administrators can change it." in client.get("/settings").text
    assert '<a href="/admin/models">How to change it</a>' in sign_in(app).get("/settings").text
    assert "BRAID_EMBEDDING_MODEL" in sign_in(app).get("/admin/models").text


def _preferences(app: Flask, account: Account) -> Preferences:
    with app.app_context():
        return preferences_of(site_of(app).accounts.get(account.id))


def test_a_choice_of_datasets_is_saved_for_other_apps(
    app: Flask, client: FlaskClient, ben: Account, braid: Braid
) -> None:
    mine, others = braid.ledger.add_dataset(ben.id, "Pumps").id, braid.ledger.add_dataset(1, "Secret").id
    assert post_form(client, "/settings/choices", name=" work ", d=[mine, mine]).status_code == 302
    page = client.get("/settings").get_data(as_text=True)
    assert "<code>braid:work</code>" in page
    assert "<code>braid:name</code></dt><dd>a choice that you save here" in page
    assert "http://localhost/v1</code>" in page
    assert "http://localhost/dify</code>" in page
    assert {"braid:work"} <= {model["id"] for model in client.get("/v1/models").json["data"]}  # type: ignore[index]
    for name, ids, told in (
        ("all", [mine], "Choose another name"),
        ("7", [mine], "Choose another name"),
        ("a,b", [mine], "Choose another name"),
        ("free", [], "Select at least one dataset."),
    ):
        refused = post_form(client, "/settings/choices", name=name, d=ids)
        assert refused.status_code == 400
        assert told in refused.get_data(as_text=True)
        assert f'value="{name}"' in refused.get_data(as_text=True)
    assert post_form(client, "/settings/choices", name="spy", d=[others]).status_code == 404
    post_form(client, "/settings/reset")
    assert post_form(client, "/settings/choices/work/remove").status_code == 302
    assert "braid:work" not in client.get("/settings").get_data(as_text=True)
