"""The page on which a user lets an app in, and the page of connected apps."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.app.pages.account.mine import FRESH_S
from braid.config.settings import Settings
from braid.core.accounts.connected_apps import ConnectedApps
from braid.core.braid import Braid
from tests.app.oauth.apps import BACK, App, allow, query_of
from tests.app.oauth.conftest import World
from tests.oidc_server import CLIENT, SECRET, oidc_server
from tests.web import PASSWORD, acts, csrf_token, make_app, sign_in, site_of, text_of


@pytest.fixture(autouse=True)
def nothing_is_counted(world: World) -> None:
    site_of(world.app).windows.reset()


def ask(browser: FlaskClient, app: App, lang: str = "en", **changed: str | None) -> str:
    """The page of the consent."""
    page = browser.get("/oauth/authorize", query_string=app.asks(**changed) | {"lang": lang})
    assert page.status_code == 200, page.text
    return page.text


@pytest.mark.parametrize(
    ("lang", "said"),
    [("en", "Connect “Claude”?"), ("ja", "「Claude」を接続しますか"), ("ko", "“Claude”")],
)
def test_it_says_who_asks_for_what_and_where_it_leads(world: World, lang: str, said: str) -> None:
    page = ask(world.browser(), world.new_app(), lang)
    assert said in text_of(page)
    assert "app.example.org" in page
    offered = {int(found) for found in re.findall(r'name="d" value="(-?\d+)"', page)}
    assert offered == {world.work, world.diary, world.shared}, "those that she may read"
    assert not re.findall(r'name="d" value="[^"]*" checked', page), "nothing is picked for her"
    assert 'name="write"' in page
    assert 'name="again"' not in page, "she has just signed in"


def test_it_does_not_offer_what_is_not_asked_for(world: World) -> None:
    assert 'name="write"' not in ask(world.browser(), world.new_app(), scope="read")


def test_a_name_is_never_markup(world: World) -> None:
    app = world.new_app()
    app.id = (app.register(client_name="<script>alert(1)</script>").json or {})["client_id"]
    page = ask(world.browser(), app)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    ("uri", "sources"),
    [
        (BACK, "'self' https: "),
        ("http://127.0.0.1:7/back", "'self' http://127.0.0.1:7 https: "),
        ("http://[::1]:7/back", "'self' http: https: "),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "'self' https: "),
    ],
)
def test_browsers_follow_the_form_to_the_app_and_on_from_there(world: World, uri: str, sources: str) -> None:
    app = App(world.app, redirect_uri=uri)
    answer = world.browser().get("/oauth/authorize", query_string=app.asks())
    policy = answer.headers["Content-Security-Policy"]
    [actions] = re.findall(r"form-action ([^;]*);", policy)
    assert actions.startswith(sources)
    assert {"cursor:", "vscode:"} <= set(actions.split())
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_no_site_may_frame_it(world: World) -> None:
    app = make_app(world.braid, Settings(frame_ancestors=("https://intranet.example.org",)))
    answer = sign_in(app, "Ana").get("/oauth/authorize", query_string=App(app).asks())
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_a_form_that_the_page_has_not_made_lets_nobody_in(world: World) -> None:
    browser, app = world.browser(), world.new_app()
    form = {"d": [str(world.work)], "decision": "allow"}
    for token in ({}, {"csrf_token": "made-up"}, {"csrf_token": csrf_token(world.browser())}):
        answer = browser.post("/oauth/authorize", query_string=app.asks(), data={**form, **token})
        assert answer.status_code == 400
        assert "Location" not in answer.headers
    assert browser.get("/oauth/authorize", query_string={**app.asks(), **form}).status_code == 200, "only a page"


def test_who_says_no_is_sent_back_without_a_code(world: World) -> None:
    for decision in ("deny", ""):
        back = allow(world.browser(), world.new_app(), world.work, decision=decision)
        said = query_of(back.headers["Location"])
        assert (said["error"], said["state"], said["iss"]) == ("access_denied", "of this sign-in", "http://localhost")
        assert "code" not in said


@pytest.mark.parametrize("ticked", [(), (10**9,), (0,)])
def test_at_least_one_dataset_has_to_be_picked(world: World, ticked: tuple[int, ...]) -> None:
    answer = allow(world.browser(), world.new_app(), *ticked)
    assert answer.status_code == 400
    assert "Select at least one dataset." in answer.text


def test_what_was_picked_stays_picked_when_something_is_missing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    browser, app = world.browser(), world.new_app()
    late = time.time() + FRESH_S + 1
    monkeypatch.setattr(time, "time", lambda: late)
    assert 'name="again"' in ask(browser, app)
    answer = allow(browser, app, world.diary, write=True)
    assert answer.status_code == 400
    assert "Your password is wrong." in answer.text
    assert re.findall(r'name="d" value="(-?\d+)" checked', answer.text) == [str(world.diary)]
    assert 'name="write" checked' in answer.text
    form = {"csrf_token": csrf_token(browser), "d": str(world.diary), "decision": "allow", "again": PASSWORD}
    assert browser.post("/oauth/authorize", query_string=app.asks(), data=form).status_code == 302


def test_the_limit_of_apps_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    here = site_of(world.app)
    monkeypatch.setattr(here, "connected_apps", ConnectedApps(world.braid.ledger, most_apps=0))
    answer = allow(world.browser(), world.new_app(), world.work)
    assert answer.status_code == 400
    assert "as many apps as possible" in answer.text


# ---------------------------------------------------------------- every way of signing in


def back_from_sign_in(browser: FlaskClient, app: App) -> str:
    """Where the sign-in leads to, which the request for a code leads to."""
    led = browser.get("/oauth/authorize", query_string=app.asks())
    assert led.status_code == 302
    return parse_qs(urlsplit(led.headers["Location"]).query)["next"][0]


def test_with_a_password_one_comes_back_to_the_request(world: World) -> None:
    browser, app = world.app.test_client(), world.new_app()
    there = back_from_sign_in(browser, app)
    form = {"name": "Ana", "password": PASSWORD, "next": there, "csrf_token": csrf_token(browser, "/login")}
    done = browser.post("/login", data=form)
    assert done.headers["Location"] == there
    assert "Connect “Claude”?" in browser.get(there).text
    assert query_of(there) == app.asks()


def test_with_a_provider_one_comes_back_to_the_request(world: World) -> None:
    with oidc_server() as provider:
        settings = Settings(
            oidc_issuer=provider.issuer, oidc_client_id=CLIENT, oidc_client_secret=SECRET, password_sign_in=False
        )
        flask = make_app(world.braid, settings)
        browser, app = flask.test_client(), App(flask)
        for _unfinished in range(6):  # tabs that were left, each with a long address to come back to
            browser.get("/login/provider", query_string={"next": "/oauth/authorize?state=" + "x" * 1500})
        there = back_from_sign_in(browser, app)
        begun = browser.get("/login/provider", query_string={"next": there})
        done = browser.get(provider.authorize(begun.headers["Location"]))
        assert (done.status_code, done.headers["Location"]) == (302, there)
        cookies = [each for each in done.headers.getlist("Set-Cookie") if each.startswith("braid_session=")]
        assert all(len(each) < 4000 for each in cookies), "browsers keep no larger ones"
        assert "Connect “Claude”?" in browser.get(there).text


def test_with_a_proxy_one_is_there_at_once(world: World) -> None:
    flask = make_app(world.braid, Settings(sign_in_header="Remote-User", sign_in_proxies=("127.0.0.1",)))
    browser = flask.test_client()
    browser.environ_base["HTTP_REMOTE_USER"] = "Ana"
    app = App(flask)
    assert "Connect “Claude”?" in ask(browser, app)
    tokens = app.connect(browser, world.work)
    assert app.call(tokens["access_token"]).status_code == 200


def test_in_a_hosts_app_one_signs_in_there(world: World) -> None:
    host, signed_in = Flask("host"), False
    host.secret_key = "keep it secret"
    fresh = False

    def user() -> HostUser | None:
        return HostUser("Ana", fresh=fresh) if signed_in else None

    register_braid(
        host, user, braid=world.braid, settings=Settings(), url_prefix="", login_url="https://host.example.org/in"
    )
    browser, app = host.test_client(), App(host)
    led = browser.get("/oauth/authorize", query_string=app.asks())
    assert led.headers["Location"].startswith("https://host.example.org/in?next=%2Foauth%2Fauthorize")
    signed_in = True
    page = ask(browser, app)
    assert "Sign in again to connect an app." in page
    assert 'name="again"' not in page, "her password is the host's"
    assert allow(browser, app, world.work).status_code == 400
    fresh = True
    tokens = app.connect(browser, world.work)
    assert app.call(tokens["access_token"]).status_code == 200


# ---------------------------------------------------------------- connected apps


def test_apps_are_listed_with_what_they_read_and_disconnected(world: World) -> None:
    browser, app = world.browser(), world.new_app()
    tokens = app.connect(browser, world.work, world.shared, write=True)
    page = browser.get("/account/apps").text
    shown = text_of(page[page.index("<main") :])
    for part in ("Claude", "app.example.org", "Work", "Handbook", "reads and writes", "never used"):
        assert part in shown
    assert "Diary" not in shown
    assert app.call(tokens["access_token"]).status_code == 200
    assert "last used" in text_of(browser.get("/account/apps").text)
    assert "Claude" in browser.get("/account").text
    [grant] = [each for each in site_of(world.app).connected_apps.of_user(world.ana.id) if each.app_id == app.id]
    end = f"/account/apps/{grant.id}/disconnect"
    assert browser.post(end, data={}).status_code == 400, "a forged form"
    assert sign_in(world.app).post(end, data={"csrf_token": "x"}).status_code == 400
    done = browser.post(end, data={"csrf_token": csrf_token(browser)}, follow_redirects=True)
    assert "Claude is disconnected." in done.text
    assert app.call(tokens["access_token"]).status_code == 401
    told = [(entry.action, entry.actor, entry.detail) for entry in acts(world.app)[:2]]
    assert told == [
        ("app.disconnected", "Ana", "'Claude', by the user"),
        ("app.connected", "Ana", "'Claude' at app.example.org, read write, 2 datasets"),
    ]


def test_a_dataset_that_is_lost_is_said_without_its_name(world: World) -> None:
    here, app = site_of(world.app), world.new_app()
    here.accounts.set_groups(world.ana.id, ["board"])
    browser = world.browser()
    app.connect(browser, world.closed)
    here.accounts.set_groups(world.ana.id, [])
    page = browser.get("/account/apps").text
    assert "Board" not in page
    assert "1 dataset that you can no longer read" in text_of(page)


def test_a_new_password_can_disconnect_them(world: World) -> None:
    here = site_of(world.app)
    user = here.accounts.add("Cleo", PASSWORD)
    dataset = world.braid.ledger.add_dataset(user.id, "Mine").id
    browser, app = sign_in(world.app, "Cleo"), world.new_app()
    tokens = app.connect(browser, dataset)
    assert "Also revoke all API tokens and disconnect all apps" in browser.get("/account").text
    form = {"old": PASSWORD, "password": "staple battery", "csrf_token": csrf_token(browser)}
    browser.post("/account/password", data=form)
    assert app.call(tokens["access_token"]).status_code == 200, "the box was cleared"
    here.accounts.set_password(user.id, "staple battery", revoke_tokens=True)
    assert app.call(tokens["access_token"]).status_code == 401


def test_a_site_behind_a_path_leads_back_to_the_path(shelf: Braid) -> None:
    flask = make_app(shelf, replace(Settings(), url_prefix="/braid"))
    browser = flask.test_client()
    app = App(flask)
    led = browser.get("/braid/oauth/authorize", query_string=app.asks(resource="http://localhost/braid/mcp"))
    there = parse_qs(urlsplit(led.headers["Location"]).query)["next"][0]
    assert there.startswith("/braid/oauth/authorize?")
