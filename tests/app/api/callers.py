"""Programs that call the API, and what they are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from braid.core.accounts.accounts import Account
from tests.web import bearer

API = "/api/v1"

Put = Callable[..., str]


class Caller:
    """A program with a token of one user."""

    def __init__(self, app: Flask, account: Account, *scopes: str) -> None:
        self.account = account
        self.client = app.test_client()
        self.headers = bearer(app, account, *scopes)

    def __call__(self, method: str, path: str, json: object = None, **headers: str) -> TestResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        arguments: dict[str, Any] = {} if json is None else {"json": json}
        path = path if path.startswith(API) else API + path
        return self.client.open(path, method=method, headers={**self.headers, **named}, **arguments)


def sources(response: TestResponse) -> list[str]:
    assert response.status_code == 200, response.text
    return [hit["passage"]["source"] for hit in response.json["hits"]]


def problem(response: TestResponse, status: int, field: str = "") -> str:
    """What the problem says, which must be one."""
    assert response.status_code == status, response.text
    assert response.mimetype == "application/problem+json"
    found = response.json
    assert (found["status"], found.get("field", "")) == (status, field), found
    assert found["title"]
    return str(found.get("detail", ""))


def events(response: TestResponse) -> list[tuple[str, dict[str, Any]]]:
    assert response.mimetype == "text/event-stream", response.text
    blocks = [block.split("\n") for block in response.text.strip().split("\n\n")]
    return [(kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in blocks]
