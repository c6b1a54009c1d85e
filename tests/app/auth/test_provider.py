"""Sign-in by an OpenID Connect provider: who becomes who, and everything that a provider can get wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient
from joserfc.jwk import OctKey, RSAKey
from werkzeug.test import TestResponse

from braid.app.opening import FIRST_DATASET
from braid.config.settings import Settings, load_settings
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from tests.app.auth.sign_in_forms import is_signed_in, log_in
from tests.oidc_server import CLIENT, SECRET, OidcServer, oidc_server
from tests.web import PASSWORD, acts, add_user, csrf_token, make_app, site_of


@pytest.fixture(scope="module")
def served() -> Iterator[OidcServer]:
    with oidc_server() as server:
        yield server


@pytest.fixture
def provider(served: OidcServer) -> OidcServer:
    """The provider, as it is at first."""
    address = served.issuer
    served.__init__()  # type: ignore[misc]
    served.issuer = address
    return served


@pytest.fixture
def settings(provider: OidcServer) -> Settings:
    return Settings(
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT,
        oidc_client_secret=SECRET,
        oidc_label="Main street",
        oidc_groups_claim="groups",
        sign_in_admin_group="braid-admins",
    )


@pytest.fixture
def app(braid: Braid, settings: Settings) -> Flask:
    return make_app(braid, settings)


def come_back(provider: OidcServer, client: FlaskClient, page: str = "/account") -> TestResponse:
    """Sign in at the provider, and come back from there."""
    begun = client.get("/login/provider", query_string={"next": page})
    assert begun.status_code == 302, begun.text
    back = provider.authorize(begun.headers["Location"])
    return client.get(back)


def test_who_signs_in_there_has_an_account_here(app: Flask, provider: OidcServer, braid: Braid) -> None:
    client = app.test_client()
    assert "Main street" in client.get("/login").text
    done = come_back(provider, client, "/datasets?x=1")
    assert (done.status_code, done.headers["Location"]) == (302, "/datasets?x=1")
    found = braid.ledger.user_named("ann")
    assert found is not None
    assert [each.name for each in braid.ledger.datasets(found.id)] == [FIRST_DATASET]
    assert [each.action for each in acts(app) if each.target == "ann"] == ["user.added"]
    page = client.get("/account").text
    assert 'name="old"' not in page, "there is no password to change"


def test_somebody_is_who_they_are_whatever_they_are_called(app: Flask, provider: OidcServer, braid: Braid) -> None:
    come_back(provider, app.test_client())
    provider.claims["preferred_username"] = "ann of the lab"
    come_back(provider, app.test_client())
    provider.claims = {"sub": "2002", "preferred_username": "ann"}
    refused = come_back(provider, client := app.test_client())
    assert refused.status_code == 403
    assert "exists already" in refused.text
    assert not is_signed_in(client)
    assert [each.name for each in braid.ledger.users() if each.name.startswith("ann")] == ["ann"]


def test_an_account_with_a_password_is_taken_over_only_where_that_is_said(
    braid: Braid, settings: Settings, provider: OidcServer
) -> None:
    careful, trusting = make_app(braid, settings), make_app(braid, replace(settings, oidc_take_over=True))
    account = add_user(careful, "ann")
    assert come_back(provider, careful.test_client()).status_code == 403
    assert come_back(provider, client := trusting.test_client()).status_code == 302
    assert "<h1>ann</h1>" in client.get("/account").text
    assert site_of(careful).accounts.is_provided(account.id)


def test_groups_and_administrators_follow_the_provider(app: Flask, provider: OidcServer) -> None:
    provider.claims["groups"] = ["engineers", "braid-admins", 7, ""]
    come_back(provider, client := app.test_client())
    assert client.get("/admin/").status_code == 200
    found = site_of(app).accounts.named("ann")
    assert found is not None
    assert found.groups == {"engineers", "braid-admins"}
    provider.claims["groups"] = "engineers"
    come_back(provider, again := app.test_client())
    assert again.get("/admin/").status_code == 403
    assert client.get("/admin/").status_code == 403, "in every browser"
    assert site_of(app).accounts.get(found.id).groups == {"engineers"}


def test_after_some_hours_the_provider_is_asked_again(
    app: Flask, provider: OidcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    come_back(provider, client := app.test_client())
    add_user(app, "bob")
    log_in(local := app.test_client(), "bob")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    assert not is_signed_in(client)
    assert is_signed_in(local), "who has a password here is nobody of the provider's"


def _expired(claims: dict[str, object]) -> object:
    return claims.update(exp=int(time.time()) - 3600, iat=int(time.time()) - 7200)


@pytest.mark.parametrize(
    "change",
    [
        lambda claims: claims.update(iss="https://elsewhere.example.org"),
        lambda claims: claims.update(aud="another client"),
        lambda claims: claims.update(aud=[CLIENT, "another"], azp="another"),
        lambda claims: claims.update(nonce="of another sign-in"),
        lambda claims: claims.pop("nonce"),
        lambda claims: claims.pop("sub"),
        lambda claims: claims.pop("exp"),
        _expired,
        lambda claims: claims.update(preferred_username=["ann"]),
        lambda claims: claims.update(preferred_username="  "),
        lambda claims: claims.update(groups=[f"g{n}" for n in range(1000)]),
    ],
    ids=["issuer", "audience", "party", "nonce", "no nonce", "no sub", "no exp", "expired", "list", "blank", "groups"],
)
def test_what_an_id_token_gets_wrong_signs_nobody_in(app: Flask, provider: OidcServer, change: object) -> None:
    provider.change = change  # type: ignore[assignment]
    refused = come_back(provider, client := app.test_client())
    assert refused.status_code == 502
    assert "Begin again" in refused.text
    assert not is_signed_in(client)


def test_a_signature_by_anybody_else_signs_nobody_in(app: Flask, provider: OidcServer) -> None:
    provider.signed_with = RSAKey.generate_key(2048)
    assert come_back(provider, app.test_client()).status_code == 502
    provider.algorithm, provider.signed_with = "HS256", OctKey.import_key(SECRET)  # type: ignore[assignment]
    assert come_back(provider, app.test_client()).status_code == 502


def test_new_keys_of_the_provider_are_fetched_but_not_at_each_forged_token(app: Flask, provider: OidcServer) -> None:
    come_back(provider, app.test_client())
    site_of(app).provider._keys_from = float("-inf")  # type: ignore[union-attr]
    provider.new_key()
    assert come_back(provider, app.test_client()).status_code == 302
    provider.signed_with = RSAKey.generate_key(2048)
    fetched = provider.asked.count("/keys")
    for _ in range(3):
        assert come_back(provider, app.test_client()).status_code == 502
    assert provider.asked.count("/keys") == fetched


def test_a_sign_in_counts_once_and_in_the_browser_that_began_it(app: Flask, provider: OidcServer) -> None:
    client, other = app.test_client(), app.test_client()
    back = provider.authorize(client.get("/login/provider").headers["Location"])
    assert other.get(back).status_code == 400, "somebody else's link signs nobody in"
    assert client.get(back).status_code == 302
    client.post("/logout")
    assert client.get(back).status_code == 400
    assert client.get("/login/provider/done").status_code == 400


def test_two_tabs_may_sign_in(app: Flask, provider: OidcServer) -> None:
    client = app.test_client()
    backs = [provider.authorize(client.get("/login/provider").headers["Location"]) for _ in range(2)]
    assert [client.get(back).status_code for back in backs] == [302, 302]


def test_who_says_no_there_is_told_so(app: Flask, provider: OidcServer) -> None:
    client = app.test_client()
    back = provider.authorize(client.get("/login/provider").headers["Location"])
    refused = client.get(back.replace("code=", "error=access_denied&x="))
    assert refused.status_code == 403
    assert "did not sign you in" in refused.text


@pytest.mark.parametrize("page", ["https://evil.example.org/", "//evil.example.org", "/\\evil", "javascript:1"])
def test_nobody_is_led_elsewhere_after_signing_in(app: Flask, provider: OidcServer, page: str) -> None:
    done = come_back(provider, app.test_client(), page)
    assert done.headers["Location"] in ("/", "/search")


def test_a_provider_that_calls_itself_otherwise_is_not_believed(app: Flask, provider: OidcServer) -> None:
    provider.issuer_said = "https://elsewhere.example.org"
    refused = app.test_client().get("/login/provider")
    assert refused.status_code == 502
    assert "letter by letter" in refused.text


def test_a_provider_that_is_away_is_said_to_be(braid: Braid, settings: Settings) -> None:
    with oidc_server() as gone:
        address = gone.issuer
    app = make_app(braid, replace(settings, oidc_issuer=address))
    page = app.test_client().get("/login/provider")
    assert page.status_code == 502
    assert "cannot be asked" in page.text
    assert 'href="/login"' in page.text, "passwords go on"


def test_a_key_that_the_provider_has_withdrawn_is_believed_for_an_hour_at_most(
    app: Flask, provider: OidcServer
) -> None:
    come_back(provider, app.test_client())
    provider.signed_with = provider.keys[0]
    provider.new_key()
    site_of(app).provider._until = float("-inf")  # type: ignore[union-attr]  # the hour is over
    refused = come_back(provider, client := app.test_client())
    assert refused.status_code == 502
    assert not is_signed_in(client)


def test_a_token_of_an_earlier_sign_in_signs_nobody_in(app: Flask, provider: OidcServer) -> None:
    seen: list[object] = []
    provider.change = lambda claims: seen.append(claims["nonce"])
    come_back(provider, client := app.test_client())
    client.post("/logout", data={"csrf_token": csrf_token(client)})
    provider.change = lambda claims: claims.update(nonce=seen[0])
    assert come_back(provider, client).status_code == 502
    assert not is_signed_in(client)
    assert len(seen) == 1


def test_who_is_in_no_group_any_more_reads_nothing_that_was_open_to_it(
    app: Flask, provider: OidcServer, braid: Braid
) -> None:
    shared = site_of(app).shared_datasets.add("Handbook", "shared_handbook", allowed_groups=["engineers"], by="kim")
    provider.claims["groups"] = ["engineers"]
    come_back(provider, client := app.test_client())
    assert client.get(f"/datasets/{shared.id}").status_code == 200
    del provider.claims["groups"]
    come_back(provider, app.test_client())
    found = site_of(app).accounts.named("ann")
    assert found is not None
    assert found.groups == frozenset()
    assert client.get(f"/datasets/{shared.id}").status_code == 404, "in every browser"


@pytest.mark.parametrize("after", ["begin", "code"])
def test_a_provider_that_goes_away_on_the_way_back_signs_nobody_in(
    braid: Braid, settings: Settings, after: str
) -> None:
    with oidc_server() as going:
        app = make_app(braid, replace(settings, oidc_issuer=going.issuer))
        come_back(going, early := app.test_client())
        client = app.test_client()
        back = going.authorize(client.get("/login/provider").headers["Location"])
        if after == "code":  # it answers for the code, and has no keys any more
            site_of(app).provider._keys = None  # type: ignore[union-attr]
            going.keys = []
            refused = client.get(back)
    if after == "begin":
        refused = client.get(back)
    assert refused.status_code == 502
    assert not is_signed_in(client)
    assert is_signed_in(early), "who is signed in stays so"


def test_a_wrong_secret_is_said(braid: Braid, settings: Settings, provider: OidcServer) -> None:
    app = make_app(braid, replace(settings, oidc_client_secret="another"))
    refused = come_back(provider, app.test_client())
    assert refused.status_code == 502
    assert SECRET not in refused.text


def test_passwords_can_be_off(braid: Braid, settings: Settings, provider: OidcServer) -> None:
    app = make_app(braid, replace(settings, password_sign_in=False, sign_up="open"))
    client = app.test_client()
    led = client.get("/login?next=/datasets")
    assert (
        led.headers["Location"].startswith("/login/provider?next=/datasets") or "%2Fdatasets" in led.headers["Location"]
    )
    assert client.get("/signup").status_code == 404
    add_user(app, "bob")
    assert come_back(provider, client).status_code == 302
    form = {"name": "bob", "password": PASSWORD, "csrf_token": csrf_token(client)}
    assert client.post("/login", data=form).status_code == 403
    assert "<h1>ann</h1>" in client.get("/account").text


@pytest.mark.parametrize("value", [{"oidc_issuer": "https://x.org"}, {"oidc_client_id": "braid"}, {"oidc_label": "x"}])
def test_half_a_provider_is_refused(value: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="is empty"):
        load_settings({}, **value)


@pytest.mark.parametrize("value", [{"password_sign_in": False}, {"sign_in_admin_group": "staff"}])
def test_settings_that_lock_everybody_out_are_refused(value: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="oidc_"):
        load_settings({}, **value)
