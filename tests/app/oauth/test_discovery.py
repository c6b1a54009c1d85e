"""Where clients find the server: at the root, below a path, behind proxies, in a host's app; what a refusal says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask import Flask
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

from braid.app.auth.challenge import RESOURCES
from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.web import make_app, serving, site_of

SETTINGS = Settings(allowed_hosts=("braid.example.org",))
AT_PROXY = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "braid.example.org", "X-Forwarded-For": "203.0.113.9"}

# settings, headers of the proxy, the issuer, the path at which Braid is reached
PLACES = {
    "root": (SETTINGS, {}, "http://localhost", ""),
    "path, left by the proxy": (replace(SETTINGS, url_prefix="/a/braid"), {}, "http://localhost/a/braid", "/a/braid"),
    "path, taken off": (replace(SETTINGS, url_prefix="/a/braid"), {}, "http://localhost/a/braid", ""),
    "TLS at the proxy": (replace(SETTINGS, trusted_proxies=1), AT_PROXY, "https://braid.example.org", ""),
    "path and TLS": (
        replace(SETTINGS, trusted_proxies=1, url_prefix="/braid"),
        AT_PROXY,
        "https://braid.example.org/braid",
        "/braid",
    ),
}


@pytest.fixture(params=PLACES.values(), ids=PLACES)
def place(request: pytest.FixtureRequest, shelf: Braid) -> tuple[Flask, dict[str, str], str, str]:
    settings, headers, issuer, reached = request.param
    return make_app(shelf, settings), headers, issuer, reached


def test_the_server_is_described_at_both_forms_of_its_address(place: tuple[Flask, dict[str, str], str, str]) -> None:
    app, headers, issuer, reached = place
    path = re.sub("https?://[^/]*", "", issuer)
    client = app.test_client()
    found = set()
    for kind in ("oauth-authorization-server", "openid-configuration"):
        for where in (f"{reached}/.well-known/{kind}", f"/.well-known/{kind}{path}"):
            answer = client.get(where, headers=headers)
            assert (answer.status_code, answer.mimetype) == (200, "application/json"), where
            said = OAuthMetadata.model_validate(answer.json)
            assert str(said.issuer) == issuer
            found |= {str(said.token_endpoint), str(said.registration_endpoint), str(said.authorization_endpoint)}
            found.add(str(said.revocation_endpoint))
            assert said.code_challenge_methods_supported == ["S256"]
            assert said.authorization_response_iss_parameter_supported
        assert client.get(f"/.well-known/{kind}/elsewhere", headers=headers).status_code == 404
    assert found == {f"{issuer}/oauth/{name}" for name in ("token", "register", "authorize", "revoke")}
    openid = client.get(f"{reached}/.well-known/openid-configuration", headers=headers).json or {}
    assert client.get(openid["jwks_uri"].replace(issuer, reached), headers=headers).json == {"keys": []}


def test_each_resource_is_described_under_its_own_name(place: tuple[Flask, dict[str, str], str, str]) -> None:
    app, headers, issuer, reached = place
    path, client = re.sub("https?://[^/]*", "", issuer), app.test_client()
    for resource in ("", *RESOURCES):
        for where in (
            f"{reached}/.well-known/oauth-protected-resource{resource}",
            f"/.well-known/oauth-protected-resource{path}{resource}",
        ):
            said = ProtectedResourceMetadata.model_validate(client.get(where, headers=headers).json)
            assert str(said.resource) == issuer + resource, where
            assert [str(each) for each in said.authorization_servers] == [issuer]
            assert said.scopes_supported == ["read", "write"]
    assert client.get("/.well-known/oauth-protected-resource/mcp/other", headers=headers).status_code == 404


def test_a_refusal_says_where_to_ask(place: tuple[Flask, dict[str, str], str, str]) -> None:
    app, headers, issuer, reached = place
    for path, resource in (("/api/v1/me", "/api/v1"), ("/v1/models", "/v1")):
        told = f'Bearer realm="Braid", %sresource_metadata="{issuer}/.well-known/oauth-protected-resource{resource}"'
        refused = app.test_client().get(reached + path, headers=headers)
        assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, told % "")
        wrong = app.test_client().get(reached + path, headers={**headers, "Authorization": "Bearer braid_made_up"})
        assert wrong.headers["WWW-Authenticate"] == told % 'error="invalid_token", '
        where = told.partition('resource_metadata="')[2].rstrip('"').replace(issuer, reached)
        assert app.test_client().get(where, headers=headers).status_code == 200


def test_pages_say_nothing_of_it(shelf: Braid) -> None:
    answer = make_app(shelf).test_client().get("/account", headers={"Accept": "application/json"})
    assert (answer.status_code, answer.headers.get("WWW-Authenticate")) == (401, None)


def test_a_token_without_the_scope_is_told_which(shelf: Braid) -> None:
    app = make_app(shelf)
    here = site_of(app)
    _, key = here.tokens.add(here.accounts.all()[0].id, "test", ["read"])
    answer = app.test_client().post("/api/v1/datasets", json={"name": "x"}, headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 403
    assert 'error="insufficient_scope", scope="write"' in answer.headers["WWW-Authenticate"]


@pytest.fixture
def served(shelf: Braid) -> Iterator[str]:
    with serving(make_app(shelf)) as address:
        yield address


def test_mcp_says_it_too_and_believes_no_other_name(served: str) -> None:
    import httpx

    for path in ("/mcp", "/mcp/connector"):
        told = httpx.post(f"{served}{path}", json={}).headers["WWW-Authenticate"]
        assert told == f'Bearer realm="Braid", resource_metadata="{served}/.well-known/oauth-protected-resource{path}"'
        assert httpx.get(told.split('"')[-2]).json()["resource"] == f"{served}{path}"
        other = httpx.post(f"{served}{path}", json={}, headers={"Host": 'evil.example.org"'})
        assert other.headers["WWW-Authenticate"] == 'Bearer realm="Braid"'


def test_in_a_hosts_app_everything_is_below_its_path(shelf: Braid) -> None:
    host = Flask("host")
    host.secret_key = "keep it secret"
    register_braid(host, lambda: HostUser("ann"), braid=shelf, settings=Settings(), url_prefix="/docs")
    client = host.test_client()
    told = client.post("/docs/mcp", json={}, headers={"Authorization": "Bearer braid_x"}).headers["WWW-Authenticate"]
    where = told.split('"')[-2]
    assert where == "http://localhost/docs/.well-known/oauth-protected-resource/mcp"
    said = client.get(where).json or {}
    assert (said["resource"], said["authorization_servers"]) == ("http://localhost/docs/mcp", ["http://localhost/docs"])
    server = client.get("/docs/.well-known/openid-configuration").json or {}
    assert server["token_endpoint"] == "http://localhost/docs/oauth/token"
    assert client.get("/.well-known/oauth-authorization-server").status_code == 404, "the host's own"
