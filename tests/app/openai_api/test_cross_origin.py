"""Pages of other origins ask from a browser only if the setting names them, and without cookies."""

from __future__ import annotations

import pytest

from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.web import add_user, bearer, make_app

CHAT = "https://chat.example.org"
ASKS = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}


@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions", "/v1/models/braid:all", "/v1/nothing"])
def test_a_named_origin_may_ask_with_a_token(braid: Braid, path: str) -> None:
    client = make_app(braid, Settings(api_origins=(CHAT,))).test_client()
    found = client.options(path, headers={"Origin": CHAT, **ASKS})
    assert found.status_code == 204
    assert found.headers["Access-Control-Allow-Origin"] == CHAT
    assert found.headers["Access-Control-Allow-Headers"] == ASKS["Access-Control-Request-Headers"]
    assert "POST" in found.headers["Access-Control-Allow-Methods"]
    assert "Access-Control-Allow-Credentials" not in found.headers


@pytest.mark.parametrize(
    ("named", "origin"),
    [((), CHAT), ((CHAT,), "https://evil.example"), ((CHAT,), "null"), ((CHAT,), f"{CHAT}.evil.example")],
)
def test_another_origin_may_not(braid: Braid, named: tuple[str, ...], origin: str) -> None:
    app = make_app(braid, Settings(api_origins=named))
    client, key = app.test_client(), bearer(app, add_user(app, "eve"))
    for found in (
        client.options("/v1/models", headers={"Origin": origin, **ASKS}),
        client.get("/v1/models", headers={"Origin": origin, **key}),
    ):
        assert not [name for name, _ in found.headers if name.startswith("Access-Control")]


def test_answers_and_errors_can_be_read_there_and_nothing_else_can(braid: Braid) -> None:
    app = make_app(braid, Settings(api_origins=(CHAT,)))
    client, key = app.test_client(), bearer(app, add_user(app, "eve"))
    found = client.get("/v1/models", headers={"Origin": CHAT, **key})
    refused = client.get("/v1/models", headers={"Origin": CHAT})
    assert (found.status_code, refused.status_code) == (200, 401)
    for each in (found, refused):
        assert each.headers["Access-Control-Allow-Origin"] == CHAT
        assert "Origin" in each.headers["Vary"]
        assert "Access-Control-Allow-Credentials" not in each.headers
    for path in ("/api/v1/me", "/search", "/healthz"):
        assert "Access-Control-Allow-Origin" not in client.get(path, headers={"Origin": CHAT, **key}).headers
        preflight = client.options(path, headers={"Origin": CHAT, **ASKS})
        assert "Access-Control-Allow-Origin" not in preflight.headers
