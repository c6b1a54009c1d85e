"""Requests with more in them than anybody needs: refused before anything reads it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from flask import Flask

from braid.app.auth.body_limit import MAX_FIELDS
from braid.app.web.gate.connections import MAX_HEADERS, MAX_HEADERS_BYTES, MAX_PATH_BYTES, MOST_BYTES, with_sound_heads
from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.web import bearer, csrf_token, make_app, sign_in, site_of

Head = list[tuple[bytes, bytes]]
USUAL: Head = [(b"host", b"127.0.0.1"), (b"accept-language", b"ja,en;q=0.5"), (b"cookie", b"session=" + b"x" * 4000)]


def status_of(headers: Head, path: bytes = b"/search", query: bytes = b"q=tray") -> int:
    """What a request with this head is answered with, 200 by the app."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "headers": headers, "path": path.decode(), "query_string": query}
    asyncio.run(with_sound_heads(app)({**scope, "raw_path": path}, None, send))  # type: ignore[arg-type]
    return int(sent[0]["status"])


def test_usual_heads_are_let_through() -> None:
    assert status_of(USUAL) == 200
    assert status_of(USUAL, query=b"q=" + b"%E7%8C%AB" * 10_000) == 200, "a question of 10,000 characters"
    assert status_of(USUAL, query=b"d=1&" * 1_000) == 200, "a thousand datasets"


@pytest.mark.parametrize("name", sorted(MOST_BYTES))
def test_a_header_that_is_taken_apart_is_short_also_when_it_comes_in_pieces(name: bytes) -> None:
    most = MOST_BYTES[name]
    assert status_of([(name, b"x" * most)]) == 200
    assert status_of([(name, b"x" * (most + 1))]) == 431
    assert status_of([(name, b"x" * most), (name, b"x")]) == 431


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ({"headers": [(b"x-a", b"1")] * (MAX_HEADERS + 1)}, 431),
        ({"headers": [(b"x-a", b"x" * MAX_HEADERS_BYTES)]}, 431),
        ({"headers": USUAL, "path": b"/" + b"x" * MAX_PATH_BYTES}, 414),
        ({"headers": USUAL, "query": b"a=1&" * MAX_FIELDS + b"a=1"}, 400),
    ],
)
def test_heads_are_bounded_as_a_whole(head: dict[str, Any], status: int) -> None:
    assert status_of(**head) == status


@pytest.fixture
def app(shelf: Braid) -> Flask:
    return make_app(shelf, Settings())


def test_a_form_has_so_many_fields_whoever_sends_it(app: Flask) -> None:
    many = "a=1&" * MAX_FIELDS
    stranger = app.test_client()
    form = "application/x-www-form-urlencoded"
    assert stranger.post("/login", data=many + "b=1", content_type=form).status_code == 413
    client = sign_in(app)
    token = csrf_token(client)
    refused = client.post("/datasets", data=f"csrf_token={token}&name=Notes&{many}", content_type=form)
    assert refused.status_code == 413
    assert f"at most {MAX_FIELDS:,}" in refused.get_data(as_text=True)
    assert client.post("/datasets", data={"csrf_token": token, "name": "Notes"}).status_code == 302


def test_mistakes_without_number_are_counted_and_not_described(app: Flask) -> None:
    here = site_of(app)
    headers = bearer(app, here.accounts.all()[0])
    names = ", ".join(f'"x{number}": 0' for number in range(5_000))
    answer = app.test_client().post(
        "/api/v1/search", data=f"{{{names}}}", content_type="application/json", headers=headers
    )
    assert answer.status_code == 422
    assert "5,001 fields or values do not fit" in answer.get_data(as_text=True)
    assert len(answer.data) < 1_000
