"""Who may do what: a rule for each route, the first administrator, signing in and out, forged requests."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest
from flask import Flask

from braid.app.auth.access import rule, rule_of
from braid.app.factory import create_app, routes_of
from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.app.auth.sign_in_forms import from_address, is_signed_in, log_in, set_up
from tests.web import PASSWORD, bearer, csrf_token, fresh_app, sign_in, site_of, visited
from tests.worlds import WAIT_S

# ---------------------------------------------------------------- every route has a rule


def test_every_route_states_who_may_call_it(app: Flask) -> None:
    assert [route for endpoint, route in routes_of(app) if not _states_a_rule(app, endpoint)] == []


def _states_a_rule(app: Flask, endpoint: str) -> bool:
    return endpoint == "braid.static" or hasattr(app.view_functions[endpoint], "braid_rule")


def test_a_route_without_a_rule_is_refused(app: Flask) -> None:
    del (view := app.view_functions["braid.account.mine"]).braid_rule
    try:
        assert not _states_a_rule(app, "braid.account.mine")
        assert sign_in(app).get("/account").status_code == 403
    finally:
        rule("user")(view)


def test_only_the_way_in_is_open_to_anyone(app: Flask) -> None:
    with app.app_context():
        is_open = {
            endpoint for endpoint, _ in routes_of(app) if (stated := rule_of(endpoint)) and stated.who == "anyone"
        }
    documents = [f"braid.{each}.get_{what}" for each in ("dify", "openai_api") for what in ("docs", "openapi")]
    absent = ("braid.openai_api.nothing",)
    after_password = [f"braid.second_factor.{step}" for step in ("ask", "check", "enrol", "finish_enrolment")]
    ways_in = ("braid.sign_in.", "braid.provider.", "braid.health.", "braid.static", "braid.api")
    ways_in = (*ways_in, *after_password, *documents, *absent)
    assert [endpoint for endpoint in sorted(is_open) if not endpoint.startswith(ways_in)] == []


def test_only_the_authorization_server_and_scim_are_for_programs_that_no_user_sends(app: Flask) -> None:
    with app.app_context():
        found = {endpoint for endpoint, _ in routes_of(app) if (stated := rule_of(endpoint)) and stated.who == "client"}
    assert found == {endpoint for endpoint, _ in routes_of(app) if endpoint.startswith(("braid.oauth.", "braid.scim."))}


def test_nobody_sees_anything_else(app: Flask) -> None:
    client = app.test_client()
    with app.app_context():
        closed = [
            route
            for endpoint, route in routes_of(app)
            if "GET" in _methods(app, endpoint) and (stated := rule_of(endpoint)) and stated.who in ("user", "admin")
        ]
    assert len(closed) > 3
    answers = {route: client.get(_address(route)).status_code for route in closed}
    assert {route: status for route, status in answers.items() if status not in (302, 401)} == {}


def _address(route: str) -> str:
    """An address that the route takes."""
    return re.sub(r"<[^>]+>", "1", re.sub(r"<any\((\w+).*?>", r"\1", route))


def _methods(app: Flask, endpoint: str) -> set[str]:
    return {method for rule in app.url_map.iter_rules(endpoint) for method in rule.methods or ()}


@pytest.mark.parametrize(
    ("who", "scopes", "status"),
    [
        ("user", ("read",), 403),
        ("user", ("read", "write"), 403),
        ("admin", ("read", "write"), 403),
        ("admin", None, 200),
    ],
)
def test_administrators_routes_need_the_right_and_the_scope(
    app: Flask, new_user: Callable[[], str], who: str, scopes: tuple[str, ...] | None, status: int
) -> None:
    accounts = site_of(app).accounts
    account = accounts.all()[0] if who == "admin" else accounts.named(new_user())
    assert account is not None
    headers = bearer(app, account, *(scopes or ("admin",)))
    assert app.test_client().get("/metrics", headers=headers).status_code == status


# ---------------------------------------------------------------- the first administrator


def test_every_page_leads_to_the_first_start(new_app: Flask) -> None:
    client = new_app.test_client()
    assert client.get("/search?q=printer").headers["Location"] == "/setup"
    assert client.get("/login").headers["Location"] == "/setup"


def test_first_start_makes_an_administrator_once(new_app: Flask) -> None:
    client = new_app.test_client()
    assert set_up(client) == 302
    assert is_signed_in(client)
    (made,) = site_of(new_app).accounts.all()
    assert (made.name, made.is_admin) == ("boss", True)
    assert site_of(new_app).audit.entries()[0].action == "administrator.created"
    other = new_app.test_client()
    assert other.get("/setup").headers["Location"] == "/login"
    form = {"name": "second", "password": PASSWORD, "csrf_token": csrf_token(other, "/login")}
    assert other.post("/setup", data=form).headers["Location"] == "/login"
    assert len(site_of(new_app).accounts.all()) == 1


@pytest.mark.parametrize(
    ("name", "password"), [("boss", "short"), ("", PASSWORD), ("boss", "x" * 201), ("a\tb", PASSWORD)]
)
def test_first_start_says_what_is_wrong(new_app: Flask, name: str, password: str) -> None:
    assert set_up(new_app.test_client(), name, password) == 400
    assert site_of(new_app).accounts.need_setup()


@pytest.mark.parametrize(
    ("address", "host"), [("192.168.0.9", "localhost"), ("10.0.0.1", "braid.example"), ("127.0.0.1", "braid.example")]
)
def test_first_start_is_on_this_computer_only(braid: Braid, address: str, host: str) -> None:
    app = fresh_app(braid, Settings(allowed_hosts=("braid.example",)))
    client = app.test_client()
    elsewhere = {"environ_base": {"REMOTE_ADDR": address}, "headers": {"Host": host}}
    assert client.get("/setup", **elsewhere).status_code == 403
    form = {"name": "boss", "password": PASSWORD}
    assert client.post("/setup", data=form, **elsewhere).status_code in (400, 403)
    assert site_of(app).accounts.need_setup()


def test_forwarded_address_counts_behind_a_trusted_proxy_only(braid: Braid) -> None:
    forwarded = {"headers": {"X-Forwarded-For": "203.0.113.9"}}
    behind = create_app(Settings(trusted_proxies=1), braid)
    assert behind.test_client().get("/setup", **forwarded).status_code == 403
    local = {"headers": {"X-Forwarded-For": "127.0.0.1"}}
    assert behind.test_client().get("/setup", **local).status_code == 200


def test_who_comes_past_the_proxy_is_not_on_this_computer_whatever_they_say(braid: Braid) -> None:
    app = fresh_app(braid, Settings(trusted_proxies=1))
    forged = {"environ_base": {"REMOTE_ADDR": "10.0.0.7"}, "headers": {"X-Forwarded-For": "127.0.0.1"}}
    assert app.test_client().get("/setup", **forged).status_code == 403
    assert site_of(app).accounts.need_setup()


FORWARDED = (
    {"headers": {"X-Forwarded-For": "127.0.0.1"}},
    {"headers": {"X-Forwarded-Proto": "https"}},
    {"headers": {"Forwarded": "for=203.0.113.9"}},
    {"headers": {"X-Real-IP": "203.0.113.9"}},
    {"headers": {"Via": "1.1 proxy"}},
    {"environ_overrides": {"SERVER_PROTOCOL": "HTTP/1.0"}},  # as nginx sends it on, without any header
)


@pytest.mark.parametrize("forwarded", FORWARDED)
def test_first_start_is_not_open_behind_a_proxy_that_is_not_declared(
    new_app: Flask, forwarded: dict[str, dict[str, str]]
) -> None:
    client = new_app.test_client()
    form = {"name": "boss", "password": PASSWORD, "csrf_token": csrf_token(client, "/setup")}
    for response in (client.get("/setup", **forwarded), client.post("/setup", data=form, **forwarded)):
        assert response.status_code == 403
        assert "trusted_proxies" in response.text
        assert "user add NAME --admin" in response.text
    assert site_of(new_app).accounts.need_setup()
    assert client.post("/setup", data=form).status_code == 302


# ---------------------------------------------------------------- signing in and out


def test_login_leads_to_the_page_that_was_wanted(app: Flask) -> None:
    client = app.test_client()
    wanted = client.get("/search?q=printer&d=1").headers["Location"]
    assert wanted == "/login?next=%2Fsearch%3Fq%3Dprinter%26d%3D1"
    assert 'name="next" value="/search?q=printer&amp;d=1"' in client.get(wanted).text
    status = log_in(client, site_of(app).accounts.all()[0].name, next="/search?q=printer&d=1")
    assert status == (302, "/search?q=printer&d=1")


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "evil.example",
        "/\t/evil.example",
        "/\n//evil.example",
        " //evil.example",
        "http:evil.example",
    ],
)
def test_login_leads_to_no_other_site(app: Flask, new_user: Callable[[], str], target: str) -> None:
    assert log_in(app.test_client(), new_user(), next=target) == (302, "/")


@pytest.mark.parametrize(("name", "password"), [(None, "wrong password"), ("nobody", PASSWORD), (None, ""), ("", "")])
def test_wrong_login_does_not_say_what_is_wrong(
    app: Flask, new_user: Callable[[], str], name: str | None, password: str
) -> None:
    client, known = app.test_client(), new_user()
    form = {"name": known if name is None else name, "password": password, "csrf_token": csrf_token(client, "/login")}
    response = client.post("/login", data=form)
    assert response.status_code == 401
    assert "Wrong name or password." in response.text
    assert not is_signed_in(client)


def test_disabled_users_are_out_at_once(app: Flask, new_user: Callable[[], str]) -> None:
    name = new_user()
    client, account = sign_in(app, name), site_of(app).accounts.named(name)
    assert account is not None
    headers = bearer(app, account)
    site_of(app).accounts.set_disabled(account.id, True)
    assert not is_signed_in(client)
    assert app.test_client().get("/api/v1/me", headers=headers).status_code == 401
    assert log_in(app.test_client(), name)[0] == 401


def test_guessing_is_slowed_down(app: Flask, new_user: Callable[[], str]) -> None:
    client, name = app.test_client(), new_user()
    assert [log_in(client, name, "wrong")[0] for _ in range(11)] == [401] * 10 + [429]
    form = {"name": name, "password": PASSWORD, "csrf_token": csrf_token(client, "/login")}
    response = client.post("/login", data=form)
    assert response.status_code == 429
    assert int(response.headers["Retry-After"]) > 0
    assert log_in(client, new_user())[0] == 302


def test_strangers_do_not_keep_somebody_out_who_signed_in_here_before(app: Flask, new_user: Callable[[], str]) -> None:
    known, name = app.test_client(), new_user()
    assert log_in(known, name)[0] == 302
    known.post("/logout", data={"csrf_token": csrf_token(known)})
    for number in range(4):  # as many as may fail by the name, ten from each address
        stranger = from_address(app, f"203.0.113.{number}")
        tries = [log_in(stranger, name, "wrong")[0] for _ in range(10)]
        assert tries == ([401] * 10 if number < 3 else [429] * 10)
    assert log_in(from_address(app, "198.51.100.7"), name)[0] == 429, "a browser that nobody knows has to wait"
    assert log_in(known, name)[0] == 302
    known.post("/logout", data={"csrf_token": csrf_token(known)})
    assert log_in(known, new_user())[0] == 302, "the cookie is for one name, and no hindrance for another"


def test_one_address_alone_keeps_nobody_out(app: Flask, new_user: Callable[[], str]) -> None:
    name, stranger = new_user(), from_address(app, "203.0.113.1")
    assert [log_in(stranger, name, "wrong")[0] for _ in range(20)] == [401] * 10 + [429] * 10
    assert log_in(from_address(app, "198.51.100.7"), name)[0] == 302


def test_the_addresses_of_an_ipv6_network_fail_together(app: Flask, new_user: Callable[[], str]) -> None:
    name = new_user()
    tries = [log_in(from_address(app, f"2001:db8:1:2::{number}"), name, "wrong")[0] for number in range(11)]
    assert tries == [401] * 10 + [429]
    others = [log_in(from_address(app, f"2001:db8:1:2::{number}"), new_user(), "wrong")[0] for number in range(21)]
    assert others == [401] * 20 + [429], "thirty of one network, whatever the names"
    assert log_in(from_address(app, "2001:db8:1:3::1"), name)[0] == 302, "another network is another customer"


def test_a_known_browser_guesses_no_faster(app: Flask, new_user: Callable[[], str]) -> None:
    known, name = app.test_client(), new_user()
    assert log_in(known, name)[0] == 302
    known.post("/logout", data={"csrf_token": csrf_token(known)})
    assert [log_in(known, name, "wrong")[0] for _ in range(11)] == [401] * 10 + [429]
    forged = app.test_client()
    forged.set_cookie("braid_device", "WzEsImZvcmdlZCJd.forged")
    assert log_in(forged, new_user())[0] == 302, "a cookie that is not ours is none"


def test_only_failures_are_counted(app: Flask, new_user: Callable[[], str]) -> None:
    name = new_user()
    for _ in range(40):
        assert log_in(app.test_client(), name)[0] == 302


def test_a_failed_sign_in_leaves_a_line_and_one_that_succeeds_an_entry(
    app: Flask, new_user: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    client, name = from_address(app, "203.0.113.1"), new_user()
    assert log_in(client, 'x" level=ERROR\n' + 100 * "y", "wrong password")[0] == 401
    line = next(record.getMessage() for record in caplog.records if "sign_in_failed" in record.getMessage())
    assert line.startswith('event=sign_in_failed address=203.0.113.1 name="x\\" level=ERROR\\nyyy')
    assert len(line) < 130
    assert "wrong password" not in caplog.text
    assert log_in(client, name)[0] == 302
    entry = site_of(app).audit.entries()[0]
    assert (entry.actor, entry.action, entry.target, entry.detail) == (name, "user.signed_in", name, "203.0.113.1")


def test_guessing_is_slowed_down_whatever_address_it_claims_to_come_from(app: Flask) -> None:
    with visited(app) as address, httpx.Client(base_url=address, timeout=WAIT_S) as stranger:
        found = re.search(r'name="csrf[-_]token" (?:content|value)="([^"]+)"', stranger.get("login").text)
        assert found is not None
        tries = [
            stranger.post(
                "login",
                data={"name": f"nobody {number}", "password": "wrong", "csrf_token": found[1]},
                headers={"X-Forwarded-For": f"203.0.113.{number}"},
            ).status_code
            for number in range(31)
        ]
    assert tries == [401] * 30 + [429]


def test_guessing_is_slowed_down_however_the_name_is_written(app: Flask, new_user: Callable[[], str]) -> None:
    client, name = app.test_client(), new_user()
    tries = [log_in(client, name + number * "\0", "wrong")[0] for number in range(11)]
    assert tries == [401] * 10 + [429]


def test_an_id_that_no_column_holds_is_not_found(app: Flask) -> None:
    client, huge = sign_in(app), 10**25
    data = {"csrf_token": csrf_token(client)}
    for path in (f"/account/sessions/{huge}/end", f"/account/tokens/{huge}/revoke", f"/datasets/{huge}/export"):
        assert client.post(path, data=data).status_code == 404, path
    for path in (f"/chat/{huge}", f"/datasets/-1/documents/{huge}", f"/search/why-not?q=x&document={huge}"):
        assert client.get(path).status_code == 404, path


def test_a_session_prepared_by_somebody_else_is_worthless(app: Flask, new_user: Callable[[], str]) -> None:
    client = app.test_client()
    client.get("/login")
    prepared = client.get_cookie("braid_session")
    assert prepared is not None
    log_in(client, new_user())
    after = client.get_cookie("braid_session")
    assert after is not None
    assert after.value != prepared.value
    attacker = app.test_client()
    attacker.set_cookie("braid_session", prepared.value)
    assert not is_signed_in(attacker)


def test_signing_out_ends_the_session_and_not_the_cookie_alone(app: Flask, new_user: Callable[[], str]) -> None:
    client = sign_in(app, new_user())
    stolen = client.get_cookie("braid_session")
    assert stolen is not None
    assert client.post("/logout", data={"csrf_token": csrf_token(client)}).headers["Location"] == "/login"
    assert not is_signed_in(client)
    thief = app.test_client()
    thief.set_cookie("braid_session", stolen.value)
    assert not is_signed_in(thief)


def test_the_secret_of_the_settings_holds_for_all_apps_that_have_it(app: Flask, new_user: Callable[[], str]) -> None:
    one, other = Settings(secret_key="of-all-processes-of-the-site-0123"), Settings(secret_key="of-another-site" * 3)
    braid, name = site_of(app).braid, new_user()
    asked, same, stranger = (create_app(settings, braid) for settings in (one, one, other))
    signed_in = sign_in(asked, name).get_cookie("braid_session")
    assert signed_in is not None
    statuses = []
    for each in (same, stranger, app):
        client = each.test_client()
        client.set_cookie("braid_session", signed_in.value)
        statuses.append(client.get("/account").status_code)
    assert statuses == [200, 302, 302]
    site_of(asked).provider_keys.set(1, "openai", "sk-1")
    read = [site_of(each).provider_keys.of_user(1)["openai"] for each in (same, stranger, app)]
    site_of(asked).provider_keys.remove(1, "openai")
    assert read == ["sk-1", "", ""]


def test_a_forged_cookie_is_nobody(app: Flask) -> None:
    client = app.test_client()
    client.set_cookie("braid_session", "eyJfdXNlcl9pZCI6IjEifQ.aaaa.bbbb")
    assert not is_signed_in(client)


def test_cookies_are_for_http_and_this_site_alone(app: Flask) -> None:
    name = site_of(app).accounts.all()[0].name
    for scheme, secure in (("http", False), ("https", True)):
        client = app.test_client()
        options = {"base_url": f"{scheme}://localhost"}
        page = client.get("/login?lang=ja", **options)
        token = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
        assert token is not None
        form = {"name": name, "password": PASSWORD, "csrf_token": token[1]}
        headers = options | {"headers": {"Referer": f"{scheme}://localhost/login"}}
        cookie = client.post("/login", data=form, **headers).headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert ("Secure" in cookie) is secure


# ---------------------------------------------------------------- forged requests


def test_no_form_is_accepted_without_its_token(app: Flask) -> None:
    client = sign_in(app)
    unsafe = [
        (method, route)
        for endpoint, route in routes_of(app)
        for method in _methods(app, endpoint) - {"GET", "HEAD", "OPTIONS"}
        if not endpoint.startswith("braid.scim.")  # which no session opens: the token of the provider alone
    ]
    assert len(unsafe) > 5
    answers = {(method, route): client.open(_address(route), method=method).status_code for method, route in unsafe}
    assert {call: status for call, status in answers.items() if status != 400} == {}
    assert is_signed_in(client)


def test_a_token_of_another_visitor_is_not_accepted(app: Flask, new_user: Callable[[], str]) -> None:
    client, attacker = sign_in(app, new_user()), sign_in(app, new_user())
    assert client.post("/logout", data={"csrf_token": csrf_token(attacker)}).status_code == 400
    assert client.post("/logout", headers={"X-CSRFToken": csrf_token(client)}).status_code == 302


def test_every_form_that_changes_something_carries_the_token(app: Flask) -> None:
    client = sign_in(app)
    for path in ("/account", "/search"):
        for form in re.findall(r'<form[^>]*method="post".*?</form>', client.get(path).text, re.DOTALL):
            assert 'name="csrf_token"' in form
