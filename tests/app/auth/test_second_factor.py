"""Signing in with a second factor: set up, asked for, lost, required."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from html import unescape
from unittest.mock import patch

import pytest
import segno
from flask import Flask
from flask.testing import FlaskClient

from braid.app.auth import attempts
from braid.app.auth.attempts import BY_CODE
from braid.app.pages.account.mine import FRESH_S
from tests.app.auth.sign_in_forms import is_signed_in, log_in
from tests.authenticator import code_of
from tests.web import PASSWORD, add_user, bearer, csrf_token, post_form, sign_in, site_of

STEP_S = 30


class Phone:
    """An authenticator app, whose clock goes on by a step after each code."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self.now = time.time()
        self.secret = ""
        site_of(app).second_factors._clock = lambda: self.now

    def code(self) -> str:
        self.now += 2 * STEP_S
        return code_of(self.secret, self.now)

    def read(self, page: str) -> None:
        """Take the secret from a page."""
        found = re.search(r'<code class="key">([A-Z2-7 ]+)</code>', page)
        assert found, page
        self.secret = found[1].replace(" ", "")
        assert f"secret={self.secret}" in page
        address = unescape(re.findall(r'href="(otpauth:[^"]+)"', page)[0])
        assert segno.make(address, micro=False).svg_inline(scale=4, border=3, light="#fff") in page


@pytest.fixture
def phone(app: Flask) -> Phone:
    return Phone(app)


def set_up(client: FlaskClient, phone: Phone) -> list[str]:
    """Turn it on as the page does; returns the recovery codes."""
    phone.read(post_form(client, "/account/second-factor").text)
    assert post_form(client, "/account/second-factor/confirm", code="000000").status_code == 400
    shown = post_form(client, "/account/second-factor/confirm", code=phone.code())
    assert shown.status_code == 201
    return re.findall(r"<code>([A-Z2-7-]+)</code>", shown.text)


def show(client: FlaskClient, code: str, at: str = "/login/code") -> int:
    """Send a code in the second step of signing in."""
    return client.post(at, data={"code": code, "csrf_token": csrf_token(client, at)}).status_code


def test_a_code_is_asked_for_after_the_password(app: Flask, new_user: Callable[[], str], phone: Phone) -> None:
    name = new_user()
    codes = set_up(sign_in(app, name), phone)
    assert len(codes) == 10
    client = app.test_client()
    assert log_in(client, name, next="/chat") == (302, "/login/code")
    assert not is_signed_in(client)
    assert show(client, "000000") == 401
    assert not is_signed_in(client)
    code = phone.code()
    answer = client.post("/login/code", data={"code": code, "csrf_token": csrf_token(client, "/login/code")})
    assert answer.location == "/chat"
    assert is_signed_in(client)
    again = app.test_client()
    log_in(again, name)
    assert show(again, code) == 401, "nobody uses it twice"
    assert show(again, codes[0].lower()) == 302
    assert "9 recovery codes left" in again.get("/account").text
    third = app.test_client()
    log_in(third, name)
    assert show(third, codes[0]) == 401
    acts = [entry.action for entry in site_of(app).audit.entries() if entry.actor == name]
    assert {"second_factor.on", "second_factor.recovery"} <= set(acts)


def test_without_the_password_there_is_no_second_step(app: Flask, new_user: Callable[[], str], phone: Phone) -> None:
    name = new_user()
    set_up(sign_in(app, name), phone)
    client = app.test_client()
    assert client.get("/login/code").location == "/login"
    form = {"code": phone.code(), "csrf_token": csrf_token(client, "/login")}
    assert client.post("/login/code", data=form).location == "/login"
    assert client.post("/login/second-factor", data=form).location == "/login"
    assert log_in(client, name, "wrong password")[0] == 401
    assert client.get("/login/code").location == "/login"


@pytest.mark.parametrize("change", ["password", "suspended", "late", "off"])
def test_the_second_step_is_over_when_something_changes(
    app: Flask, new_user: Callable[[], str], phone: Phone, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    name, here = new_user(), site_of(app)
    set_up(sign_in(app, name), phone)
    client = app.test_client()
    log_in(client, name)
    account = here.accounts.named(name)
    assert account is not None
    token = csrf_token(client, "/login/code")
    if change == "password":
        here.accounts.set_password(account.id, "another password")
    elif change == "suspended":
        here.accounts.set_disabled(account.id, True)
    elif change == "late":
        monkeypatch.setattr(attempts, "PATIENCE_S", -1)
    else:
        here.second_factors.reset(account.id)
    answer = client.post("/login/code", data={"code": phone.code(), "csrf_token": token})
    assert answer.location == "/login"
    assert not is_signed_in(client)


def test_codes_cannot_be_guessed(app: Flask, new_user: Callable[[], str], phone: Phone) -> None:
    name = new_user()
    codes = set_up(known := sign_in(app, name), phone)
    client = app.test_client()
    log_in(client, name)
    statuses = [show(client, f"{number:06}") for number in range(BY_CODE.amount + 1)]
    assert statuses[:-1] == [401] * BY_CODE.amount
    assert statuses[-1] == 429
    site_of(app).windows.reset()  # the minutes of passwords are over; those of codes would not be
    for _number in range(BY_CODE.amount):
        site_of(app).limiter.hit(BY_CODE, "login-code", name.casefold())
    stranger = app.test_client()
    log_in(stranger, name)
    assert show(stranger, codes[0]) == 429
    post_form(known, "/logout")
    log_in(known, name)
    assert show(known, codes[0]) == 302, "in a browser of theirs the user signs in all the same"


def test_an_invitation_does_not_go_around_it(app: Flask, new_user: Callable[[], str], phone: Phone) -> None:
    name = new_user()
    set_up(sign_in(app, name), phone)
    account = site_of(app).accounts.named(name)
    assert account is not None
    page = post_form(sign_in(app), f"/admin/users/{account.id}/invite").text
    link = re.search(r"/invitation/[\w.\-]+", page)
    assert link
    client = app.test_client()
    form = {"password": "another password", "csrf_token": csrf_token(client, link[0])}
    assert client.post(link[0], data=form).location == "/login/code"
    assert not is_signed_in(client)
    assert show(client, phone.code()) == 302


def test_tokens_are_not_asked(app: Flask, new_user: Callable[[], str], phone: Phone) -> None:
    name = new_user()
    account = site_of(app).accounts.named(name)
    assert account is not None
    key = bearer(app, account, "read")
    set_up(sign_in(app, name), phone)
    assert app.test_client().get("/api/v1/me", headers=key).status_code == 200


def test_it_is_turned_off_and_codes_are_renewed_by_a_code(
    app: Flask, new_user: Callable[[], str], phone: Phone
) -> None:
    name = new_user()
    client = sign_in(app, name)
    codes = set_up(client, phone)
    for act in ("codes", "off"):
        assert post_form(client, f"/account/second-factor/{act}", code="000000").status_code == 400
    renewed = post_form(client, "/account/second-factor/codes", code=codes[0])
    assert renewed.status_code == 201
    assert post_form(client, "/account/second-factor/off", code=codes[1]).status_code == 400
    assert post_form(client, "/account/second-factor/off", code=phone.code()).status_code == 302
    assert not is_signed_in(client)
    assert log_in(client, name)[1] != "/login/code"


def test_a_session_that_is_old_gives_the_password_first(app: Flask, new_user: Callable[[], str], phone: Phone) -> None:
    name = new_user()
    client = sign_in(app, name)
    with patch("braid.app.pages.account.mine.time.time", return_value=time.time() + FRESH_S + 1):
        assert post_form(client, "/account/second-factor").status_code == 400
        assert post_form(client, "/account/second-factor", again="wrong password").status_code == 400
        assert post_form(client, "/account/second-factor", again=PASSWORD).status_code == 200


def test_administrators_require_it(app: Flask, new_user: Callable[[], str], phone: Phone) -> None:
    name, here = new_user(), site_of(app)
    boss, user = sign_in(app), sign_in(app, name)
    try:
        assert "your own second factor first" in post_form(boss, "/admin/users/second-factor", required="1").text
        assert not here.second_factor_required
        set_up(boss, phone)
        assert post_form(boss, "/admin/users/second-factor", required="1").status_code == 302
        assert is_signed_in(boss)
        assert not is_signed_in(user), "who has none is signed out"
        assert log_in(user, name) == (302, "/login/second-factor")
        assert not is_signed_in(user)
        hers = Phone(app)
        hers.read(user.get("/login/second-factor").text)
        assert show_new(user, "000000", hers) == 400
        done = user.post("/login/second-factor", data={"code": hers.code(), "csrf_token": csrf_token(user, "/login")})
        assert done.status_code == 201
        assert "Recovery codes" in done.text
        assert is_signed_in(user)
        assert "cannot be turned off" in post_form(user, "/account/second-factor/off", code=hers.code()).text
        assert here.second_factors.is_on(here.shares.user_named(name))
    finally:
        here.app_settings.set("second_factor_required", None)
        here.second_factors.reset(here.accounts.all()[0].id)


def show_new(client: FlaskClient, code: str, phone: Phone) -> int:
    """Send a first code; the page shows the same secret again."""
    token = csrf_token(client, "/login")
    answer = client.post("/login/second-factor", data={"code": code, "csrf_token": token})
    before = phone.secret
    phone.read(answer.text)
    assert phone.secret == before
    return answer.status_code


def test_administrators_reset_it(app: Flask, new_user: Callable[[], str], phone: Phone) -> None:
    name, here = new_user(), site_of(app)
    client = sign_in(app, name)
    set_up(client, phone)
    user_id, boss = here.shares.user_named(name), sign_in(app)
    assert "Reset second factor" in boss.get(f"/admin/users/{user_id}").text
    assert post_form(boss, f"/admin/users/{user_id}/second-factor/reset").status_code == 302
    assert not is_signed_in(client)
    assert log_in(client, name)[1] != "/login/code"
    assert post_form(boss, f"/admin/users/{user_id}/second-factor/reset").status_code == 404


def test_who_signs_in_elsewhere_has_none_here(app: Flask) -> None:
    here = site_of(app)
    account = here.accounts.named("nobody's") or add_user(app, "nobody's")
    client = sign_in(app, account.name)
    token = csrf_token(client)
    with here.braid.ledger.database.write() as connection:
        connection.exec_driver_sql(f"UPDATE users SET password_hash = '' WHERE id = {account.id}")
    assert "authenticator" not in client.get("/account").text
    assert client.get("/account/second-factor").status_code == 404
    assert client.post("/account/second-factor", data={"csrf_token": token}).status_code == 404


def test_a_secret_that_another_browser_began_is_neither_shown_nor_confirmed(app: Flask, phone: Phone) -> None:
    add_user(app, "una")
    first, later = sign_in(app, "una"), sign_in(app, "una")
    phone.read(post_form(first, "/account/second-factor").text)
    answer = post_form(later, "/account/second-factor/confirm", code="000000")
    assert (answer.status_code, answer.location) == (302, "/account/second-factor")
    assert post_form(later, "/account/second-factor/confirm", code=phone.code()).status_code == 302
    assert post_form(first, "/account/second-factor/confirm", code=phone.code()).status_code == 201
