"""Who is served, and with which headers."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from braid.app.auth.access import rule_of
from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.web import make_app


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "LOCALHOST", "127.0.0.1:9000"])
def test_this_computer_is_served(client: FlaskClient, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8000",
        pytest.param(
            "localhost:8000@evil.example",
            marks=pytest.mark.in_process("Caddy refuses such a name itself", of=("caddy",)),
        ),
        "127.0.0.1:8000:8000",
        "192.168.0.7:8000",
        "0.0.0.0:8000",
        "[::2]:8000",
        pytest.param("<script>", marks=pytest.mark.in_process("Caddy refuses such a name itself", of=("caddy",))),
        pytest.param(" ", marks=pytest.mark.in_process("it refuses an empty name itself, or sends its own")),
    ],
)
@pytest.mark.parametrize("path", ["/", "/search?q=printer", "/login", "/healthz", "/static/braid.css", "/nothing"])
def test_foreign_host_is_refused_everywhere(client: FlaskClient, host: str, path: str) -> None:
    response = client.get(path, headers={"Host": host})
    assert response.status_code == 400
    assert "Braid does not answer under this name" in response.text


def test_an_allowed_name_is_served_and_no_other(shelf: Braid) -> None:
    client = make_app(shelf, Settings(allowed_hosts=("braid.example",))).test_client()
    answers = {
        host: client.get("/healthz", headers={"Host": host}).status_code
        for host in ("braid.example", "Braid.Example:8443", "evil.example", "braid.example.evil.example", "localhost")
    }
    assert answers == {
        "braid.example": 200,
        "Braid.Example:8443": 200,
        "evil.example": 400,
        "braid.example.evil.example": 400,
        "localhost": 200,
    }


@pytest.mark.parametrize(
    "path", ["/", "/search?q=printer", "/search?k=abc", "/nothing", "/status.json", "/static/braid.css", "/account"]
)
def test_security_headers_are_on_every_response(client: FlaskClient, path: str) -> None:
    with client.get(path) as response:
        headers = response.headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/search", "/search?q=printer&d=1&d=-1", "/nothing", "/search?k=abc", "/account"])
def test_pages_have_nothing_inline(client: FlaskClient, path: str) -> None:
    page = client.get(path).text
    assert re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:|https?://", page) is None


def test_search_pages_change_nothing(client: FlaskClient) -> None:
    """Three fields are sent by POST since they may be long; a token that only reads is enough for them, too."""
    app = client.application
    routes = [rule for rule in app.url_map.iter_rules() if rule.endpoint.startswith("braid.search.")]
    with app.app_context():
        sent = [rule for rule in routes if not (rule.methods or set()) <= {"GET", "HEAD", "OPTIONS"}]
        assert [(rule.rule, rule_of(rule.endpoint)) for rule in sent] == [("/search/fields", ("user", "read"))]
    assert client.post("/search").status_code == 405


def test_personal_pages_are_not_cached(client: FlaskClient) -> None:
    assert client.get("/search?q=printer").headers["Cache-Control"] == "no-store"
