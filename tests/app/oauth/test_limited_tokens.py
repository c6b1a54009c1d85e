"""What an app's token reads and writes: what its user may, in the datasets that were picked, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from braid.app.auth.authenticate import identity_of_token
from braid.app.factory import routes_of
from tests.app.oauth.apps import App
from tests.app.oauth.conftest import World
from tests.web import site_of

QUESTION = "When does the vault open?"


@pytest.fixture(scope="module")
def token(world: World) -> str:
    """Of an app that may read and write in ``work`` alone."""
    return str(App(world.app).connect(world.browser(), world.work, write=True)["access_token"])


@pytest.fixture
def client(world: World, token: str) -> FlaskClient:
    found = world.app.test_client(use_cookies=False)
    found.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return found


def asked(world: World) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Requests of every kind that read, for each way to name datasets."""
    for ids in ([], ["all"], [world.work, world.diary, world.shared, world.closed], [world.diary]):
        chosen: Any = "all" if ids == ["all"] else ids
        named = ",".join(map(str, ids)) or ""
        yield "POST", "/api/v1/search", {"query": QUESTION, "dataset_ids": chosen, "search_mode": "keyword"}
        yield "POST", "/api/v1/chat", {"message": QUESTION, "dataset_ids": chosen}
        for model in ("braid", "braid:all", f"braid:{named}"):
            messages = [{"role": "user", "content": QUESTION}]
            yield "POST", "/v1/chat/completions", {"model": model, "messages": messages}
            yield "POST", "/v1/responses", {"model": model, "input": QUESTION}
        yield "POST", "/dify/retrieval", {"knowledge_id": named or "all", "query": QUESTION}
    yield "GET", "/api/v1/datasets", {}
    yield "GET", "/v1/models", {}


def test_nothing_but_the_picked_dataset_comes_out(world: World, client: FlaskClient) -> None:
    found = 0
    for method, path, body in asked(world):
        answer = client.open(path, method=method, json=body or None)
        said = answer.get_data(as_text=True)
        for secret in (
            "vault of the diary",
            "vault of the handbook",
            "vault of the board",
            "Diary",
            "Handbook",
            "Board",
        ):
            assert secret not in said, (path, body, said)
        assert answer.status_code in (200, 404), (path, body, said)
        found += "vault of the work" in said
    assert found > 8, "and what was picked does come out, also where nothing is named"


def test_other_datasets_are_not_there(world: World, client: FlaskClient) -> None:
    for dataset_id in (world.diary, world.shared, world.closed, 10**9):
        base, name = f"/api/v1/datasets/{dataset_id}", {"ids": ["x"]}
        reads = [client.get(f"{base}{rest}") for rest in ("", "/statistics", "/documents", "/documents/1")]
        reads += [client.post(f"{base}/documents/get", json=name)]
        writes = [client.put(f"{base}/documents", json={"source": "x", "text": "y"})]
        writes += [client.post(f"{base}/documents/delete", json=name), client.delete(f"{base}/documents/1")]
        writes += [client.post(f"{base}/pages", json={"url": "https://example.org"})]
        assert {answer.status_code for answer in reads + writes} == {404}
    answer = client.post("/api/v1/search", json={"query": "x", "dataset_ids": [world.diary]})
    assert (answer.json or {})["unresolved_dataset_ids"] == [world.diary]
    passage = world.braid.ledger.document_passages(2, [world.diary])[0]
    body = {"query": QUESTION, "chunk_id": passage.chunk_id, "dataset_ids": "all"}
    explained = client.post("/api/v1/explain", json=body).get_data(as_text=True)
    assert "out_of_scope" in explained or "404" in explained or "vault" not in explained


def test_it_writes_where_it_may(world: World, client: FlaskClient) -> None:
    base = f"/api/v1/datasets/{world.work}/documents"
    put = client.put(base, json={"source": "new.md", "text": "A new note."})
    assert put.status_code == 201, put.text
    assert client.delete(f"{base}/{(put.json or {})['id']}").status_code == 204


def test_an_app_that_only_reads_cannot_write(world: World) -> None:
    app = App(world.app)
    token = app.connect(world.browser(), world.work, world.shared)["access_token"]
    for method, path, body in (
        ("PUT", f"/api/v1/datasets/{world.work}/documents", {"source": "x", "text": "y"}),
        ("POST", "/api/v1/datasets", {"name": "x"}),
    ):
        assert app.call(token, path, method=method, json=body).status_code == 403
    found = (
        app.call(token, "/api/v1/search", method="POST", json={"query": QUESTION, "search_mode": "keyword"}).json or {}
    )
    assert {hit["dataset"]["id"] for hit in found["hits"]} == {world.work, world.shared}, "all that was picked"


def test_it_never_reads_more_than_its_user(world: World) -> None:
    """What is ticked counts only as far as the user may read it, when it is ticked and later."""
    here, app = site_of(world.app), App(world.app)
    here.accounts.set_groups(world.ana.id, ["board"])
    token = app.connect(world.browser(), world.closed, world.work)["access_token"]

    def read() -> set[int]:
        return {each["id"] for each in (app.call(token, "/api/v1/datasets").json or {})["items"]}

    assert read() == {world.closed, world.work}
    here.accounts.set_groups(world.ana.id, [])
    assert read() == {world.work}
    ticked_blind = App(world.app).connect(world.browser(), world.closed, world.work)["access_token"]
    found = identity_of_token(here, ticked_blind)
    assert found is not None
    assert found.dataset_ids == {world.work}


def test_an_administrators_app_is_no_administrator(world: World) -> None:
    from tests.web import sign_in

    app = App(world.app)
    token = app.connect(sign_in(world.app), world.shared, write=True)["access_token"]
    assert (app.call(token).json or {})["is_admin"], "the account is one"
    put = app.call(token, f"/api/v1/datasets/{world.shared}/documents", method="PUT", json={"source": "x", "text": "y"})
    assert put.status_code == 403
    assert app.call(token, "/api/v1/users").status_code == 403
    assert app.call(token, "/metrics").status_code == 403


def test_what_one_token_asked_is_not_answered_to_another(world: World, client: FlaskClient) -> None:
    """An answer that is kept for a repeated request is for tokens that read the same."""
    url, body = f"/api/v1/datasets/{world.work}/documents", {"source": "once.md", "text": "Once."}
    headers = {"Idempotency-Key": "the-same"}
    assert client.put(url, json=body, headers=headers).status_code == 201
    other = App(world.app).connect(world.browser(), world.work, world.diary, write=True)["access_token"]
    again = world.app.test_client().put(url, json=body, headers={**headers, "Authorization": f"Bearer {other}"})
    assert again.status_code == 409
    assert client.put(url, json=body, headers=headers).headers["Idempotency-Replayed"] == "true"


def test_every_other_route_is_closed(world: World, client: FlaskClient, token: str) -> None:
    """A route lets a limited token in only where it says so; these do."""
    views, allowed = world.app.view_functions, set()
    for endpoint, path in routes_of(world.app):
        if getattr(views[endpoint], "braid_limited", False):
            allowed.add(re.sub(r"<[^>]*?(\w+)>", r"{\1}", path))
    assert allowed == {
        "/api/v1/search",
        "/api/v1/chat",
        "/api/v1/check",
        "/api/v1/explain",
        "/api/v1/strategies",
        "/api/v1/models",
        "/api/v1/me",
        "/api/v1/assistants",
        "/api/v1/assistants/{assistant_id}",
        "/api/v1/datasets",
        "/api/v1/datasets/{dataset_id}",
        "/api/v1/datasets/{dataset_id}/glossary",
        "/api/v1/datasets/{dataset_id}/statistics",
        "/api/v1/datasets/{dataset_id}/documents",
        "/api/v1/datasets/{dataset_id}/documents/get",
        "/api/v1/datasets/{dataset_id}/documents/delete",
        "/api/v1/datasets/{dataset_id}/documents/{document_id}",
        "/api/v1/datasets/{dataset_id}/documents/{document_id}/passages",
        "/api/v1/datasets/{dataset_id}/documents/{document_id}/original",
        "/api/v1/datasets/{dataset_id}/deleted-documents",
        "/api/v1/datasets/{dataset_id}/deleted-documents/restore",
        "/api/v1/datasets/{dataset_id}/deleted-documents/{document_id}",
        "/api/v1/datasets/{dataset_id}/pages",
        "/api/v1/jobs/{job_id}",
        "/v1/models",
        "/v1/models/{model}",
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/embeddings",
        "/dify/retrieval",
    }
    for path in ("/api/v1/conversations", "/api/v1/jobs", "/api/v1/feedback", "/api/v1/me/choices", "/", "/account"):
        assert client.get(path).status_code == 403, path
    assert client.post("/api/v1/datasets", json={"name": "x"}).status_code == 403
    assert client.delete(f"/api/v1/datasets/{world.work}").status_code == 403
    conversation = site_of(world.app).conversations.create(world.ana.id, "Vault")
    assert client.get(f"/api/v1/conversations/{conversation.id}").status_code == 403


def test_a_job_of_another_dataset_is_not_there(world: World, client: FlaskClient) -> None:
    from braid.core.jobs.store import NewJob

    store = site_of(world.app).background.store
    mine, other = store.add(world.ana.id, [NewJob("upload", "a.md", world.work), NewJob("upload", "b.md", world.diary)])
    assert client.get(f"/api/v1/jobs/{mine.id}").status_code == 200
    assert client.get(f"/api/v1/jobs/{other.id}").status_code == 404
    assert json.loads(client.get(f"/api/v1/jobs/{mine.id}").text)["title"] == "a.md"
