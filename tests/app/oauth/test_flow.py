"""Every request of the flow that is refused, in the form that the RFCs want; and how access ends."""

from __future__ import annotations

import base64
import time
from typing import Any

import pytest
from werkzeug.test import TestResponse

from braid.app.oauth.routes import REGISTRATIONS
from braid.core.accounts.connected_apps import ACCESS_S, CODE_S, GRANT_DAYS
from braid.core.accounts.credentials import DAY_S
from tests.app.oauth.apps import BACK, App, allow, query_of
from tests.app.oauth.conftest import World
from tests.web import site_of


@pytest.fixture
def app(world: World) -> App:
    return world.new_app()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes it as many seconds later."""
    began = time.time()

    def pass_by(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: began + seconds)

    return pass_by


@pytest.fixture(autouse=True)
def nothing_is_counted(world: World) -> None:
    """Tests register more apps than one address may."""
    site_of(world.app).windows.reset()


def refused(answer: TestResponse, error: str, status: int = 400) -> str:
    """Check that an answer is an error of RFC 6749, section 5.2; return what it says."""
    assert (answer.status_code, answer.mimetype) == (status, "application/json"), answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    said: dict[str, str] = answer.json or {}
    assert said["error"] == error, said
    assert not answer.headers.get("Set-Cookie")
    return said.get("error_description", "")


def sent_back(answer: TestResponse, error: str) -> None:
    """Check that the user is sent back to the app with an error of RFC 6749, section 4.1.2.1."""
    assert answer.status_code == 302, answer.text
    where = answer.headers["Location"]
    assert where.startswith(f"{BACK}?")
    said = query_of(where)
    assert (said["error"], said["state"], said["iss"]) == (error, "of this sign-in", "http://localhost")
    assert "code" not in said


# ---------------------------------------------------------------- the way in


def test_an_app_gets_what_the_user_allows(world: World, app: App) -> None:
    browser = world.browser()
    back = query_of(allow(browser, app, world.work).headers["Location"])
    assert (back["state"], back["iss"]) == ("of this sign-in", "http://localhost")
    answer = app.redeem(back["code"])
    assert answer.status_code == 200
    tokens = answer.json or {}
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", ACCESS_S, "read")
    assert app.call(tokens["access_token"]).json == {
        "id": world.ana.id,
        "name": "Ana",
        "groups": [],
        "is_admin": False,
        "scopes": ["read"],
    }


def test_only_hashes_are_stored(world: World, app: App) -> None:
    code = query_of(allow(world.browser(), app, world.work).headers["Location"])["code"]
    tokens = app.redeem(code).json or {}
    secret = (app.register(token_endpoint_auth_method="client_secret_post").json or {})["client_secret"]
    with world.braid.ledger.database.read() as connection:
        stored = [
            str(connection.exec_driver_sql(f"SELECT * FROM {table}").all())
            for table in ("oauth_clients", "oauth_grants", "api_tokens")
        ]
    for given in (code, tokens["access_token"], tokens["refresh_token"], secret):
        assert not any(given in rows for rows in stored)


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_a_client_with_a_secret_has_to_show_it(world: World, method: str) -> None:
    app = world.new_app()
    registered = app.register(token_endpoint_auth_method=method).json or {}
    app.id, secret = registered["client_id"], registered["client_secret"]
    code = query_of(allow(world.browser(), app, world.work).headers["Location"])["code"]

    def redeem(key: str) -> TestResponse:
        if method == "client_secret_post":
            return app.redeem(code, client_secret=key)
        credentials = base64.b64encode(f"{app.id}:{key}".encode()).decode()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": app.verifier}
        return app.client.post("/oauth/token", data=form, headers={"Authorization": f"Basic {credentials}"})

    refused(app.redeem(code), "invalid_client")
    refused(redeem("guessed"), "invalid_client", 401 if method == "client_secret_basic" else 400)
    assert redeem(secret).status_code == 200


def test_a_header_that_is_no_text_is_a_client_that_is_unknown(app: App) -> None:
    headers = {"Authorization": "Basic " + base64.b64encode(b"\xff\xfe:x").decode()}
    refused(
        app.client.post("/oauth/token", data={"grant_type": "refresh_token"}, headers=headers), "invalid_client", 401
    )


# ---------------------------------------------------------------- registration


@pytest.mark.parametrize(
    "uri",
    [
        "https://claude.ai/api/mcp/auth_callback",
        "https://chatgpt.com:8443/connector?x=1",
        "http://127.0.0.1:33418/",
        "http://localhost/callback",
        "http://[::1]:7/x",
        "cursor://anysphere.cursor-mcp/oauth/callback",
    ],
)
def test_addresses_that_an_app_may_be_sent_back_to(app: App, uri: str) -> None:
    answer = app.register(redirect_uris=[uri])
    assert answer.status_code == 201, answer.text
    assert (answer.json or {})["redirect_uris"] == [uri]


@pytest.mark.parametrize(
    "uris",
    [
        ["http://app.example.org/back"],
        ["javascript:alert(1)"],
        ["data:text/html,x"],
        ["myapp://back"],
        ["https://app.example.org/back#part"],
        ["https://user@app.example.org/"],
        ["https://127.0.0.1@evil.example.org/"],
        ["http://127.0.0.1.evil.example.org/"],
        ["https://"],
        ["https:///back"],
        ["https://app.example.org:port/"],
        ["https://アプリ.example.org/"],
        ["https://app.example.org/\r\nX: y"],
        ['https://app.example.org/"'],
        ["https://app.example.org;script-src/"],
        ["/back"],
        [""],
        [],
        [1],
        ["https://app.example.org/" + "x" * 3000],
        [f"https://app.example.org/{n}" for n in range(11)],
        "https://app.example.org/back",
        {"a": 1},
        None,
    ],
    ids=lambda uris: str(uris)[:40],
)
def test_other_addresses_are_refused(app: App, uris: object) -> None:
    answer = app.register(redirect_uris=uris)
    assert (answer.json or {})["error"] in ("invalid_redirect_uri", "invalid_client_metadata"), answer.text
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "said",
    [
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"token_endpoint_auth_method": ["none"]},
        {"grant_types": ["client_credentials"]},
        {"grant_types": "authorization_code"},
        {"response_types": ["token"]},
    ],
    ids=str,
)
def test_metadata_of_another_kind_of_client_is_refused(app: App, said: dict[str, object]) -> None:
    refused(app.register(**said), "invalid_client_metadata")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"[1]", b'"x"', b"null", b"[" * 30_000, b"\xff"], ids=lambda b: b[:5]
)
def test_a_body_that_is_no_object_is_refused(app: App, body: bytes) -> None:
    refused(app.client.post("/oauth/register", data=body, mimetype="application/json"), "invalid_client_metadata")


def test_names_are_shown_as_one_line_of_visible_characters(app: App) -> None:
    answer = app.register(client_name="A\u202eB\n\n <b>\x00" + "x" * 500).json or {}
    assert answer["client_name"].startswith("AB <b>xxx")
    assert len(answer["client_name"]) == 100
    assert (app.register(client_name={"en": "A"}).json or {})["client_name"] == "?"


def test_registration_is_limited_by_address(world: World) -> None:
    app = App(world.app, id="-")
    world.app.test_client()
    app.client.environ_base["REMOTE_ADDR"] = "203.0.113.9"
    statuses = [app.register().status_code for _ in range(REGISTRATIONS.amount + 1)]
    assert statuses == [201] * REGISTRATIONS.amount + [429]


def test_a_large_body_is_refused(app: App) -> None:
    assert app.register(client_name="x" * 70_000).status_code == 413


# ---------------------------------------------------------------- the request for a code


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"scope": "read admin"}, "invalid_scope"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"resource": "https://elsewhere.example.org/mcp"}, "invalid_target"),
        ({"resource": "http://localhost/mcp/other"}, "invalid_target"),
        ({"resource": "http://localhost.evil.example.org/mcp"}, "invalid_target"),
    ],
    ids=str,
)
def test_a_wrong_request_is_sent_back_to_the_app(
    world: World, app: App, changed: dict[str, str | None], error: str
) -> None:
    browser = world.browser()
    sent_back(browser.get("/oauth/authorize", query_string=app.asks(**changed)), error)
    sent_back(allow(browser, app, world.work, **changed), error)


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "unknown"},
        {"client_id": None},
        {"client_id": 'quo"te'},
        {"redirect_uri": "https://app.example.org/other"},
        {"redirect_uri": "https://app.example.org/back/"},
        {"redirect_uri": "https://app.example.org/back?x=1"},
        {"redirect_uri": "https://evil.example.org/back"},
        {"redirect_uri": "http://app.example.org/back"},
        {"redirect_uri": "https://app.example.org:8443/back"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": "戻る"},
    ],
    ids=str,
)
def test_nobody_is_sent_to_an_address_that_is_not_the_apps(
    world: World, app: App, changed: dict[str, str | None]
) -> None:
    browser = world.browser()
    for answer in (
        browser.get("/oauth/authorize", query_string=app.asks(**changed)),
        allow(browser, app, world.work, **changed),
    ):
        assert (answer.status_code, answer.mimetype) == (400, "text/html")
        assert "Location" not in answer.headers
        assert "The app cannot be connected" in answer.text


def test_what_is_given_twice_is_refused(world: World, app: App) -> None:
    for name in ("client_id", "redirect_uri", "scope", "state", "resource", "code_challenge", "response_type"):
        asked = [*app.asks().items(), (name, app.asks()[name])]
        answer = world.browser().get("/oauth/authorize", query_string="&".join(f"{a}={b}" for a, b in asked))
        assert answer.status_code == 400, name


def test_a_program_on_this_computer_chooses_its_port_each_time(world: World) -> None:
    app = App(world.app, redirect_uri="http://127.0.0.1:1111/back")
    app.redirect_uri = "http://127.0.0.1:2222/back"
    tokens = app.connect(world.browser(), world.work)
    assert app.call(tokens["access_token"]).status_code == 200
    for other in ("http://127.0.0.1:2222/other", "http://localhost:2222/back", "http://a@127.0.0.1:1111/back"):
        assert allow(world.browser(), app, world.work, redirect_uri=other).status_code == 400


def test_without_scope_and_resource_it_reads_and_the_server_is_meant(world: World, app: App) -> None:
    back = allow(world.browser(), app, world.work, write=True, scope=None, resource=None)
    answer = app.redeem(query_of(back.headers["Location"])["code"], resource="http://localhost/")
    assert (answer.status_code, (answer.json or {})["scope"]) == (200, "read"), "it has not asked to write"


# ---------------------------------------------------------------- the code


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code": "made-up"}, "invalid_grant"),
        ({"code": None}, "invalid_request"),
        ({"redirect_uri": "https://app.example.org/other"}, "invalid_grant"),
        ({"code_verifier": "w" * 64}, "invalid_grant"),
        ({"code_verifier": "short"}, "invalid_request"),
        ({"code_verifier": None}, "invalid_request"),
        ({"resource": "https://elsewhere.example.org/mcp"}, "invalid_target"),
        ({"resource": "http://localhost/api/v1"}, "invalid_target"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": 'quo"te'}, "invalid_request"),
        ({"grant_type": None}, "unsupported_grant_type"),
        ({"client_id": "unknown"}, "invalid_client"),
    ],
    ids=str,
)
def test_a_code_is_worth_nothing_but_with_what_it_is_for(
    world: World, app: App, changed: dict[str, str | None], error: str
) -> None:
    code = query_of(allow(world.browser(), app, world.work).headers["Location"])["code"]
    refused(app.redeem(**{"code": code, **changed}), error)
    assert app.redeem(code).status_code == 200, "what was wrong is not held against the user"


def test_another_app_cannot_redeem_the_code(world: World, app: App) -> None:
    code = query_of(allow(world.browser(), app, world.work).headers["Location"])["code"]
    thief = world.new_app()
    refused(thief.redeem(code, code_verifier=app.verifier), "invalid_grant")
    assert app.redeem(code).status_code == 200


def test_a_code_that_is_used_twice_ends_what_it_gave(world: World, app: App) -> None:
    code = query_of(allow(world.browser(), app, world.work).headers["Location"])["code"]
    tokens = app.redeem(code).json or {}
    refused(app.redeem(code), "invalid_grant")
    assert app.call(tokens["access_token"]).status_code == 401
    refused(app.refresh(tokens["refresh_token"]), "invalid_grant")
    assert site_of(world.app).audit.entries(limit=1)[0].action == "app.disconnected"


def test_a_code_does_not_live_long(world: World, app: App, later: Any) -> None:
    code = query_of(allow(world.browser(), app, world.work).headers["Location"])["code"]
    later(CODE_S + 1)
    refused(app.redeem(code), "invalid_grant")


# ---------------------------------------------------------------- tokens


def test_an_access_token_ends_and_is_refreshed(world: World, app: App, later: Any) -> None:
    tokens = app.connect(world.browser(), world.work, write=True)
    later(ACCESS_S + 1)
    assert app.call(tokens["access_token"]).status_code == 401
    fresh = app.refresh(tokens["refresh_token"], resource="http://localhost/mcp").json or {}
    assert fresh["scope"] == "read write"
    assert app.call(fresh["access_token"]).status_code == 200
    less = app.refresh(fresh["refresh_token"], scope="read").json or {}
    assert app.call(less["access_token"]).json["scopes"] == ["read"]  # type: ignore[index]
    refused(app.refresh(less["refresh_token"], scope="read admin"), "invalid_scope")
    assert (app.refresh(less["refresh_token"]).json or {})["scope"] == "read write"


def test_more_than_was_granted_is_refused(world: World, app: App) -> None:
    tokens = app.connect(world.browser(), world.work)
    refused(app.refresh(tokens["refresh_token"], scope="read write"), "invalid_scope")
    refused(app.refresh(tokens["refresh_token"], resource="https://elsewhere.example.org"), "invalid_target")


def test_a_refresh_token_that_is_used_twice_ends_the_family(world: World, app: App) -> None:
    first = app.connect(world.browser(), world.work)
    second = app.refresh(first["refresh_token"]).json or {}
    third = app.refresh(second["refresh_token"]).json or {}
    assert app.call(first["access_token"]).status_code == 200, "it lives to its end"
    refused(app.refresh(first["refresh_token"]), "invalid_grant")
    for tokens in (first, second, third):
        assert app.call(tokens["access_token"]).status_code == 401
    refused(app.refresh(third["refresh_token"]), "invalid_grant")


def test_another_app_cannot_refresh_or_revoke(world: World, app: App) -> None:
    tokens, thief = app.connect(world.browser(), world.work), world.new_app()
    refused(thief.refresh(tokens["refresh_token"]), "invalid_grant")
    refused(thief.revoke(tokens["refresh_token"]), "invalid_grant")
    assert app.refresh(tokens["refresh_token"]).status_code == 200


def test_an_app_that_is_not_used_has_to_ask_again(world: World, app: App, later: Any) -> None:
    tokens = app.connect(world.browser(), world.work)
    later(GRANT_DAYS * DAY_S + 1)
    refused(app.refresh(tokens["refresh_token"]), "invalid_grant")


def test_a_grant_has_few_access_tokens_at_a_time(world: World, app: App) -> None:
    given = [app.connect(world.browser(), world.work)]
    for _ in range(7):
        given.append(app.refresh(given[-1]["refresh_token"]).json or {})
    works = [app.call(tokens["access_token"]).status_code for tokens in given]
    assert works == [401] * 3 + [200] * 5


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_an_app_that_revokes_a_token_is_out(world: World, app: App, kind: str) -> None:
    tokens = app.connect(world.browser(), world.work)
    answer = app.revoke(tokens[kind], token_type_hint="whatever")
    assert (answer.status_code, answer.json) == (200, {})
    assert app.call(tokens["access_token"]).status_code == 401
    refused(app.refresh(tokens["refresh_token"]), "invalid_grant")
    assert app.revoke(tokens[kind]).status_code == 200, "as of a token that never was"
    assert app.revoke("made-up").status_code == 200
    refused(app.client.post("/oauth/revoke", data={"client_id": app.id}), "invalid_request")
    refused(app.client.post("/oauth/revoke", data={"token": "x"}), "invalid_client")


def test_who_is_locked_out_takes_the_apps_along(world: World) -> None:
    app, here = world.new_app(), site_of(world.app)
    tokens = app.connect(world.browser(), world.work)
    code = query_of(allow(world.browser(), other := world.new_app(), world.work).headers["Location"])["code"]
    here.accounts.set_disabled(world.ana.id, True)
    try:
        assert app.call(tokens["access_token"]).status_code == 401
        refused(app.refresh(tokens["refresh_token"]), "invalid_grant")
        refused(other.redeem(code), "invalid_grant")
    finally:
        here.accounts.set_disabled(world.ana.id, False)


def test_nothing_over_a_connection_that_anybody_reads(world: World, app: App) -> None:
    asked = app.client.post("/oauth/token", data={"client_id": app.id}, base_url="http://192.168.1.5")
    assert asked.status_code in (400, 404), asked.text


# ---------------------------------------------------------------- who may ask from where


def test_pages_of_any_origin_may_ask_without_cookies(world: World, app: App) -> None:
    origin = {"Origin": "https://inspector.example.org"}
    for path in ("/oauth/token", "/oauth/register", "/oauth/revoke", "/.well-known/oauth-authorization-server"):
        asked = app.client.options(path, headers={**origin, "Access-Control-Request-Method": "POST"})
        assert asked.status_code == 200, path
        assert asked.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in asked.headers
    answer = app.client.post("/oauth/token", data={"client_id": app.id}, headers=origin)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    page = world.browser().get("/oauth/authorize", query_string=app.asks(), headers=origin)
    assert "Access-Control-Allow-Origin" not in page.headers
