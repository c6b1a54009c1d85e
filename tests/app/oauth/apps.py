"""An app that connects by OAuth, request by request, and the browser of the user who lets it in."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.web import csrf_token

BACK = "https://app.example.org/back"


def query_of(address: str) -> dict[str, str]:
    """The arguments of an address."""
    return dict(parse_qsl(urlsplit(address).query))


@dataclass
class App:
    """A program that has registered itself as a public client."""

    app: Flask
    redirect_uri: str = BACK
    id: str = ""
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    def __post_init__(self) -> None:
        self.client = self.app.test_client(use_cookies=False)
        self.id = self.id or self.register().json["client_id"]  # type: ignore[index]

    def register(self, **said: Any) -> TestResponse:
        """Register a program with this metadata."""
        metadata = {
            "client_name": "Claude",
            "redirect_uris": [self.redirect_uri],
            "token_endpoint_auth_method": "none",
            **said,
        }
        return self.client.post("/oauth/register", json=metadata)

    def asks(self, **changed: str | None) -> dict[str, str]:
        """The arguments with which it sends the user to Braid; None leaves one out."""
        asked: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": self.redirect_uri,
            "scope": "read write",
            "state": "of this sign-in",
            "code_challenge": urlsafe_b64encode(sha256(self.verifier.encode()).digest()).decode().rstrip("="),
            "code_challenge_method": "S256",
            "resource": "http://localhost/mcp",
            **changed,
        }
        return {name: value for name, value in asked.items() if value is not None}

    def token(self, **form: str | None) -> TestResponse:
        """Ask for tokens; None leaves a field out."""
        fields = {"client_id": self.id, **form}
        return self.client.post(
            "/oauth/token", data={name: value for name, value in fields.items() if value is not None}
        )

    def redeem(self, code: str | None, **changed: str | None) -> TestResponse:
        """Ask for tokens with a code."""
        form: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            "resource": "http://localhost/mcp",
        }
        return self.token(**{**form, **changed})

    def refresh(self, token: str, **changed: str | None) -> TestResponse:
        """Ask for tokens with a refresh token."""
        return self.token(**{"grant_type": "refresh_token", "refresh_token": token, **changed})

    def revoke(self, token: str, **form: str) -> TestResponse:
        """Say that a token is not needed any more."""
        return self.client.post("/oauth/revoke", data={"client_id": self.id, "token": token, **form})

    def connect(self, browser: FlaskClient, *dataset_ids: int, write: bool = False) -> dict[str, Any]:
        """Have the user let it in; returns the tokens."""
        back = allow(browser, self, *dataset_ids, write=write)
        answer = self.redeem(query_of(back.headers["Location"])["code"])
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json or {}
        return found

    def call(self, token: str, path: str = "/api/v1/me", **options: Any) -> TestResponse:
        """Send a request with an access token."""
        return self.client.open(path, headers={"Authorization": f"Bearer {token}"}, **options)


def allow(
    browser: FlaskClient,
    app: App,
    *dataset_ids: int,
    write: bool = False,
    decision: str = "allow",
    **changed: str | None,
) -> TestResponse:
    """Send the form of the consent as the page does."""
    asked = app.asks(**changed)
    form: dict[str, Any] = {"csrf_token": csrf_token(browser), "d": list(map(str, dataset_ids)), "decision": decision}
    if write:
        form["write"] = "on"
    return browser.post("/oauth/authorize", query_string=asked, data=form)
