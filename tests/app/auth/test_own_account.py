"""What users do with their own accounts: signing up, passwords, API tokens."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from unittest.mock import patch

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.accounts.credentials import DAY_S
from braid.core.braid import Braid
from tests.app.auth.sign_in_forms import is_signed_in, log_in
from tests.web import PASSWORD, bearer, csrf_token, make_app, sign_in, site_of

NEW_PASSWORD = "staple battery"


# ---------------------------------------------------------------- signing up


def test_sign_up_is_closed_unless_it_is_opened(app: Flask) -> None:
    client = app.test_client()
    assert client.get("/signup").status_code == 404
    form = {"name": "visitor", "password": PASSWORD, "csrf_token": csrf_token(client, "/login")}
    assert client.post("/signup", data=form).status_code == 404
    assert "/signup" not in client.get("/login").text


def test_open_sign_up_makes_an_ordinary_user_with_a_dataset(braid: Braid) -> None:
    app = make_app(braid, Settings(sign_up="open"))
    client = app.test_client()
    assert "/signup" in client.get("/login").text
    form = {"name": "visitor", "password": PASSWORD, "csrf_token": csrf_token(client, "/signup")}
    assert client.post("/signup", data=form).status_code == 302
    assert is_signed_in(client)
    made = site_of(app).accounts.named("visitor")
    assert made is not None
    assert not made.is_admin
    assert len(braid.ledger.datasets(made.id)) == 1
    taken = app.test_client().post("/signup", data=form)
    assert taken.status_code == 400
    assert made == site_of(app).accounts.named("visitor")


def test_administrators_open_and_close_sign_up(braid: Braid) -> None:
    app = make_app(braid)
    site_of(app).app_settings.set("sign_up", "open")
    assert app.test_client().get("/signup").status_code == 200
    site_of(app).app_settings.set("sign_up", "closed")
    assert app.test_client().get("/signup").status_code == 404


# ---------------------------------------------------------------- one's own account


def test_a_new_password_signs_all_other_browsers_out(app: Flask, new_user: Callable[[], str]) -> None:
    name = new_user()
    here, there = sign_in(app, name), sign_in(app, name)
    form = {"old": PASSWORD, "password": NEW_PASSWORD, "csrf_token": csrf_token(here)}
    assert here.post("/account/password", data=form).status_code == 302
    assert is_signed_in(here)
    assert not is_signed_in(there)
    assert log_in(app.test_client(), name)[0] == 401
    assert log_in(app.test_client(), name, NEW_PASSWORD)[0] == 302


@pytest.mark.parametrize(("old", "new"), [("wrong password", NEW_PASSWORD), (PASSWORD, "short"), ("", NEW_PASSWORD)])
def test_a_password_is_changed_only_by_one_who_knows_it(
    app: Flask, new_user: Callable[[], str], old: str, new: str
) -> None:
    name = new_user()
    client = sign_in(app, name)
    form = {"old": old, "password": new, "csrf_token": csrf_token(client)}
    assert client.post("/account/password", data=form).status_code == 400
    assert log_in(app.test_client(), name)[0] == 302


def test_one_browser_or_all_can_be_signed_out(app: Flask, new_user: Callable[[], str]) -> None:
    name = new_user()
    here, there, third = (sign_in(app, name) for _ in range(3))
    account = site_of(app).accounts.named(name)
    assert account is not None
    sessions = site_of(app).sessions.of_user(account.id)
    stranger = sign_in(app, new_user())
    stranger.post(f"/account/sessions/{sessions[0].id}/end", data={"csrf_token": csrf_token(stranger)})
    assert all(map(is_signed_in, (here, there, third)))
    oldest = min(session.id for session in sessions)
    third.post(f"/account/sessions/{oldest}/end", data={"csrf_token": csrf_token(third)})
    assert [is_signed_in(client) for client in (here, there, third)] == [False, True, True]
    third.post("/account/sessions/end", data={"csrf_token": csrf_token(third)})
    assert [is_signed_in(client) for client in (there, third)] == [False, False]


# ---------------------------------------------------------------- API tokens


def new_token(client: FlaskClient, *scopes: str, days: str = "7") -> str:
    form = {"name": "robot", "scope": list(scopes), "days": days, "csrf_token": csrf_token(client)}
    page = client.post("/account/tokens", data=form)
    assert page.status_code == 201
    found = re.search(r'class="key">(braid_[^<]+)<', page.text)
    assert found is not None
    return found[1]


def status_with(app: Flask, key: str, path: str = "/api/v1/me") -> int:
    return app.test_client().get(path, headers={"Authorization": f"Bearer {key}"}).status_code


def test_a_token_is_shown_once_and_stored_hashed(app: Flask, new_user: Callable[[], str], shelf: Braid) -> None:
    client = sign_in(app, new_user())
    key = new_token(client, "read")
    assert status_with(app, key) == 200
    page = client.get("/account").text
    assert "robot" in page
    assert key not in page
    with shelf.ledger.database.read() as connection:
        stored = connection.exec_driver_sql("SELECT * FROM api_tokens").all()
    assert key not in str(stored)


def test_a_token_does_what_its_scopes_say(app: Flask, new_user: Callable[[], str]) -> None:
    client = sign_in(app, new_user())
    only_writes = new_token(client, "write")
    assert status_with(app, only_writes) == 403
    only_reads = {"Authorization": f"Bearer {new_token(client, 'read')}"}
    assert app.test_client().post("/logout", headers=only_reads).status_code == 403


def test_only_administrators_make_administrators_tokens(app: Flask, new_user: Callable[[], str]) -> None:
    client = sign_in(app, new_user())
    form = {"name": "robot", "scope": ["admin"], "days": "7", "csrf_token": csrf_token(client)}
    assert client.post("/account/tokens", data=form).status_code == 403
    assert status_with(app, new_token(sign_in(app), "admin"), "/metrics") == 200


@pytest.mark.parametrize("form", [{"scope": []}, {"name": ""}, {"days": "0"}, {"days": "99999"}, {"scope": ["root"]}])
def test_a_wrong_token_form_is_refused(app: Flask, new_user: Callable[[], str], form: dict[str, object]) -> None:
    client = sign_in(app, new_user())
    data = {"name": "robot", "scope": ["read"], "days": "7", "csrf_token": csrf_token(client)} | form
    assert client.post("/account/tokens", data=data).status_code == 400


def test_a_token_opens_no_page_and_makes_no_other_token(app: Flask, new_user: Callable[[], str]) -> None:
    name = new_user()
    account = site_of(app).accounts.named(name)
    assert account is not None
    headers = bearer(app, account, "read", "write")
    client, form = app.test_client(), {"name": "for ever", "scope": ["read", "write"]}
    assert client.post("/account/tokens", data=form, headers=headers).status_code == 403
    assert client.get("/account", headers=headers).status_code == 403
    assert client.post("/settings/keys/openai", data={"key": "sk-x"}, headers=headers).status_code == 403
    assert len(site_of(app).tokens.of_user(account.id)) == 1
    assert client.get("/api/v1/me", headers=headers).status_code == 200


def test_an_expired_token_is_worthless(app: Flask, new_user: Callable[[], str]) -> None:
    key, lasting = (
        new_token(sign_in(app, new_user()), "read"),
        new_token(sign_in(app, new_user()), "read", days="never"),
    )
    later = time.time() + 7 * DAY_S + 1
    with patch("braid.core.accounts.credentials.time.time", return_value=later):
        assert (status_with(app, key), status_with(app, lasting)) == (401, 200)


def test_a_revoked_token_is_worthless_and_only_its_owner_revokes_it(app: Flask, new_user: Callable[[], str]) -> None:
    name = new_user()
    owner, stranger = sign_in(app, name), sign_in(app, new_user())
    key = new_token(owner, "read")
    account = site_of(app).accounts.named(name)
    assert account is not None
    path = f"/account/tokens/{site_of(app).tokens.of_user(account.id)[0].id}/revoke"
    assert stranger.post(path, data={"csrf_token": csrf_token(stranger)}).status_code == 404
    assert status_with(app, key) == 200
    owner.post(path, data={"csrf_token": csrf_token(owner)})
    assert status_with(app, key) == 401


@pytest.mark.parametrize("header", ["Bearer braid_wrong", "Bearer ", "Basic YWRtaW46YWRtaW4=", "Bearer é"])
def test_a_wrong_token_is_nobody_though_the_browser_is_signed_in(
    app: Flask, new_user: Callable[[], str], header: str
) -> None:
    response = sign_in(app, new_user()).get("/status.json", headers={"Authorization": header})
    assert response.status_code == 401
    assert response.mimetype == "application/problem+json"
