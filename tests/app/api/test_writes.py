"""Writes, limits and access over the API."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select
from werkzeug.test import TestResponse

from braid.app.auth.access import rule_of
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.ledger.document_writes import PutResult
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import IdempotencyRow
from braid.core.types import DocumentInput
from tests.app.api.callers import API, Caller, problem
from tests.modes.apps import ALL
from tests.web import PASSWORD, add_user, csrf_token, make_app, sign_in, site_of


def test_a_write_that_is_sent_again_is_not_done_again(ann: Caller, bob: Caller) -> None:
    def add(caller: Caller, name: str, key: str) -> TestResponse:
        return caller("POST", "/datasets", {"name": name}, Idempotency_Key=key)

    first, second = add(ann, "Letters", "k1"), add(ann, "Letters", "k1")
    assert (second.status_code, second.json) == (201, first.json)
    assert second.headers["Location"] == first.headers["Location"]
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert len(ann("GET", "/datasets").json["items"]) == 3
    assert "another request" in problem(add(ann, "Mail", "k1"), 409, "Idempotency-Key")
    assert add(bob, "Letters", "k1").json["id"] != first.json["id"]
    problem(add(ann, "  ", "k2"), 422, "name")
    assert add(ann, "Mail", "k2").status_code == 201, "what failed was not done, so its key is free"
    problem(add(ann, "Mail", "two words"), 422, "Idempotency-Key")
    where = first.headers["Location"]
    assert ann("DELETE", where, Idempotency_Key="k3").status_code == 204
    assert ann("DELETE", where, Idempotency_Key="k3").status_code == 204


def test_of_two_who_store_a_new_source_at_once_one_is_told_201(
    ann: Caller, braid: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Ledger.put_document

    def after_another(self: Ledger, dataset_id: int, document: DocumentInput, **more: Any) -> PutResult:
        monkeypatch.setattr(Ledger, "put_document", put)
        assert ann("PUT", "/datasets/1/documents", {"source": "lock", "text": "first"}).status_code == 201
        return put(self, dataset_id, document, **more)

    monkeypatch.setattr(Ledger, "put_document", after_another)
    assert ann("PUT", "/datasets/1/documents", {"source": "lock", "text": "second"}).status_code == 200


def test_a_password_cannot_be_tried_out_on_what_is_kept_of_a_write(admin: Caller, app: Flask, braid: Braid) -> None:
    body = {"name": "mika", "password": PASSWORD}
    first = admin("POST", "/users", body, Idempotency_Key="k")
    assert first.status_code == 201
    assert admin("POST", "/users", body, Idempotency_Key="k").json == first.json
    problem(admin("POST", "/users", {**body, "password": "another horse"}, Idempotency_Key="k"), 409, "Idempotency-Key")
    with braid.ledger.database.read() as connection:
        row = connection.execute(select(IdempotencyRow.__table__)).one()
    assert PASSWORD not in str(row)
    for each in app.extensions.get(ALL, [app]):  # with another secret the same request is not recognized
        site_of(each).secret = bytes(32)
    problem(admin("POST", "/users", body, Idempotency_Key="k"), 409, "Idempotency-Key")


def test_each_user_has_a_limit_and_is_told_of_it(braid: Braid) -> None:
    app = make_app(braid, Settings(api_rate_limit="3/minute"))
    ann, bob = Caller(app, add_user(app, "ann")), Caller(app, add_user(app, "bob"))
    left = [ann("GET", "/me").headers["RateLimit-Remaining"] for _ in range(3)]
    assert left == ["2", "1", "0"]
    refused = ann("GET", "/me")
    problem(refused, 429)
    assert refused.headers["RateLimit-Limit"] == "3"
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert int(refused.headers["RateLimit-Reset"]) <= 60
    assert bob("GET", "/me").status_code == 200


def test_a_token_needs_the_scope(app: Flask) -> None:
    reader = Caller(app, add_user(app, "cleo"), "read")
    assert reader("POST", "/search", {"query": "a"}).status_code == 200
    assert "write" in problem(reader("POST", "/datasets", {"name": "a"}), 403)
    boss = Caller(app, site_of(app).accounts.all()[0], "read", "write")
    assert "admin" in problem(boss("GET", "/users"), 403)
    problem(boss("PUT", "/datasets/-1/documents", {"source": "a", "text": "b"}), 403)


def test_nobody_gets_a_problem_not_a_page(app: Flask) -> None:
    client = app.test_client()
    assert "sign in" in problem(client.get(f"{API}/me"), 401)
    problem(client.get(f"{API}/me", headers={"Authorization": "Bearer braid_wrong"}), 401)
    problem(client.get(f"{API}/nothing"), 404)
    problem(client.put(f"{API}/search"), 405)


def test_a_browser_needs_its_token_for_what_changes_something(app: Flask) -> None:
    browser = sign_in(app, "ann")
    assert browser.get(f"{API}/me").json["name"] == "ann"
    problem(browser.post(f"{API}/datasets", json={"name": "a"}), 400, field="csrf_token")
    headers = {"X-CSRFToken": csrf_token(browser)}
    assert browser.post(f"{API}/datasets", json={"name": "a"}, headers=headers).status_code == 201


def test_ids_that_no_column_holds_are_not_found(ann: Caller) -> None:
    for path in (
        f"/datasets/{10**30}",
        f"/datasets/-{10**30}",
        f"/conversations/{2**40}",
        f"/datasets/1/documents/{2**70}",
    ):
        problem(ann("GET", path), 404)


def test_every_operation_states_its_rule(app: Flask) -> None:
    with app.app_context():
        for endpoint in app.view_functions:
            if endpoint.startswith("braid.api."):
                assert rule_of(endpoint) is not None, endpoint
