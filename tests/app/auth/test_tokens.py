"""API tokens can be seen and taken back: by their owner, with a new password, and by administrators."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from unittest.mock import patch

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.pages.account.mine import FRESH_S
from braid.core.accounts.accounts import Account
from braid.core.accounts.credentials import DAY_S, TOKEN_DAYS, ApiToken
from braid.core.braid import Braid
from tests.web import PASSWORD, acts, bearer, csrf_token, make_app, sign_in, site_of

NEW_PASSWORD = "staple battery"


@pytest.fixture(scope="module")
def app(shelf: Braid) -> Flask:
    return make_app(shelf)


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def user(app: Flask, numbers: Iterator[int]) -> Account:
    return site_of(app).accounts.add(f"user {next(numbers)}", PASSWORD)


@pytest.fixture
def works(app: Flask, user: Account) -> Callable[[], bool]:
    """Make two tokens of the user; say whether both work. Raises if only one does."""
    headers = [bearer(app, user, "read") for _ in range(2)]

    def ask() -> bool:
        [status] = {app.test_client().get("/api/v1/me", headers=each).status_code for each in headers}
        return status == 200

    assert ask()
    return ask


def post(client: FlaskClient, path: str, **form: object) -> str:
    """Send a form and return the page that it leads to."""
    answer = client.post(path, data={"csrf_token": csrf_token(client), **form}, follow_redirects=True)
    assert answer.status_code in (200, 201), answer.text
    return answer.text


def tokens_of(app: Flask, account: Account) -> list[ApiToken]:
    return site_of(app).tokens.of_user(account.id)


# ---------------------------------------------------------------- one's own


def test_a_new_password_revokes_the_tokens_if_ticked(app: Flask, user: Account, works: Callable[[], bool]) -> None:
    client = sign_in(app, user.name)
    post(client, "/account/password", old=PASSWORD, password=NEW_PASSWORD)
    assert works()
    page = post(client, "/account/password", old=NEW_PASSWORD, password=PASSWORD, tokens="on")
    assert "2 API tokens revoked." in page
    assert not works()


def test_a_refused_password_revokes_nothing(app: Flask, user: Account, works: Callable[[], bool]) -> None:
    client = sign_in(app, user.name)
    for old, new in (("wrong", NEW_PASSWORD), (PASSWORD, "short")):
        form = {"old": old, "password": new, "tokens": "on", "csrf_token": csrf_token(client)}
        assert client.post("/account/password", data=form).status_code == 400
    assert works()


def test_signing_out_everywhere_revokes_the_tokens_if_ticked(
    app: Flask, user: Account, works: Callable[[], bool]
) -> None:
    post(sign_in(app, user.name), "/account/sessions/end")
    assert works()
    assert "2 API tokens revoked." in post(sign_in(app, user.name), "/account/sessions/end", tokens="on")
    assert not works()


def test_revoking_is_offered_and_ticked_where_there_are_tokens(app: Flask, user: Account) -> None:
    client = sign_in(app, user.name)
    assert 'name="tokens"' not in client.get("/account").text
    bearer(app, user)
    page = client.get("/account").text
    assert page.count('<input type="checkbox" name="tokens" checked>') == page.count('name="tokens"') == 2


def test_long_after_signing_in_a_token_takes_the_password(app: Flask, user: Account) -> None:
    client = sign_in(app, user.name)
    form = {"name": "robot", "scope": "read"}
    assert 'name="again"' not in client.get("/account").text
    post(client, "/account/tokens", **form)
    now = time.time()
    with patch("braid.app.pages.account.mine.time.time", return_value=now + FRESH_S + 1):
        assert 'name="again"' in client.get("/account").text
        for wrong in ({}, {"again": ""}, {"again": "wrong"}):
            refused = client.post("/account/tokens", data={"csrf_token": csrf_token(client), **form, **wrong})
            assert (refused.status_code, "Enter your password" in refused.text) == (400, True)
        assert len(tokens_of(app, user)) == 1
        post(client, "/account/tokens", **form, again=PASSWORD)
    assert len(tokens_of(app, user)) == 2


def test_the_password_for_a_token_cannot_be_guessed(app: Flask, user: Account) -> None:
    client = sign_in(app, user.name)
    form = {"csrf_token": csrf_token(client), "name": "robot", "scope": "read", "again": "wrong"}
    with patch("braid.app.pages.account.mine.time.time", return_value=time.time() + FRESH_S + 1):
        statuses = [client.post("/account/tokens", data=form).status_code for _ in range(12)]
    assert statuses == [400] * 10 + [429] * 2


@pytest.mark.parametrize(("sent", "days"), [({}, TOKEN_DAYS), ({"days": ""}, TOKEN_DAYS), ({"days": "7"}, 7)])
def test_a_token_expires(app: Flask, user: Account, sent: dict[str, str], days: int) -> None:
    post(sign_in(app, user.name), "/account/tokens", name="robot", scope="read", **sent)
    [token] = tokens_of(app, user)
    assert token.expires_at == token.created_at + days * DAY_S


def test_a_token_lasts_only_by_choice(app: Flask, user: Account) -> None:
    client = sign_in(app, user.name)
    post(client, "/account/tokens", name="robot", scope="read", days="never")
    assert tokens_of(app, user)[0].expires_at is None
    assert re.search(rf'<option value="{TOKEN_DAYS}" selected>', client.get("/account").text)
    for wrong in ("x", "-1", "9" * 30, "7.5"):
        form = {"csrf_token": csrf_token(client), "name": "robot", "scope": "read", "days": wrong}
        assert client.post("/account/tokens", data=form).status_code == 400


# ---------------------------------------------------------------- administrators


def test_an_administrators_new_password_revokes_the_tokens(
    app: Flask, user: Account, works: Callable[[], bool]
) -> None:
    page = post(sign_in(app), f"/admin/users/{user.id}/password", password=NEW_PASSWORD)
    assert "2 API tokens revoked." in page
    assert not works()
    assert "API tokens revoked" not in post(sign_in(app), f"/admin/users/{user.id}/password", password=PASSWORD)
    entry = acts(app)[1]
    assert (entry.action, entry.target, entry.detail) == ("user.password", user.name, "2 tokens revoked")


def test_administrators_see_and_revoke_tokens(app: Flask, user: Account) -> None:
    client, headers = sign_in(app), bearer(app, user, "read", "write")
    app.test_client().get("/api/v1/me", headers=headers)
    page = client.get(f"/admin/users/{user.id}").text
    assert re.search(r"test <span class=\"hint\">reads and writes</span>", page)
    assert "never used" not in page
    key = headers["Authorization"].removeprefix("Bearer ")
    assert key not in page
    [token] = tokens_of(app, user)
    page = post(client, f"/admin/users/{user.id}/tokens/{token.id}/revoke")
    assert "Token revoked." in page
    assert app.test_client().get("/api/v1/me", headers=headers).status_code == 401
    form = {"csrf_token": csrf_token(client)}
    assert client.post(f"/admin/users/{user.id}/tokens/{token.id}/revoke", data=form).status_code == 404


def test_the_api_lists_and_revokes_a_users_tokens(app: Flask, user: Account, numbers: Iterator[int]) -> None:
    admin = bearer(app, site_of(app).accounts.all()[0], "admin")
    headers, client = bearer(app, user, "read"), app.test_client()
    address = f"/api/v1/users/{user.id}/tokens"
    [shown] = client.get(address, headers=admin).json["items"]  # type: ignore[index]
    assert (shown["name"], shown["scopes"], shown["used_at"]) == ("test", ["read"], None)
    assert shown["created_at"] < shown["expires_at"]
    other = site_of(app).accounts.add(f"other {next(numbers)}")
    assert client.delete(f"/api/v1/users/{other.id}/tokens/{shown['id']}", headers=admin).status_code == 404
    assert client.get("/api/v1/me", headers=headers).status_code == 200
    assert client.delete(f"{address}/{shown['id']}", headers=admin).status_code == 204
    assert client.get("/api/v1/me", headers=headers).status_code == 401
    assert client.get("/api/v1/users/999999/tokens", headers=admin).status_code == 404


def test_a_new_password_by_the_api_says_how_many_tokens_it_revoked(
    app: Flask, user: Account, works: Callable[[], bool]
) -> None:
    admin, client = bearer(app, site_of(app).accounts.all()[0], "admin"), app.test_client()
    address = f"/api/v1/users/{user.id}"
    kept = client.patch(address, json={"groups": ["lab"]}, headers=admin)
    assert kept.json is not None
    assert (kept.json["revoked_tokens"], works()) == (0, True)
    changed = client.patch(address, json={"password": NEW_PASSWORD}, headers=admin)
    assert changed.json is not None
    assert (changed.json["revoked_tokens"], works()) == (2, False)
