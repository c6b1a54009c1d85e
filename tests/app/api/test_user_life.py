"""The life of a user over the API: sessions, tokens, export, transfer, import."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from braid.app.user.archive import archive
from braid.core.braid import Braid
from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.types import AnswerText, ChatRequest
from braid.core.ingest.incoming import Incoming
from braid.core.originals.store import Originals
from tests.web import acts, add_user, bearer, make_app, sign_in, site_of
from tests.worlds import document


@pytest.fixture
def app(braid: Braid) -> Flask:
    return make_app(braid)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = bearer(app, site_of(app).accounts.get(1), "admin")["Authorization"]
    return client


def send(client: FlaskClient, path: str, **body: Any) -> TestResponse:
    return client.post(f"/api/v1/users/{path}", json=body)


def test_a_lost_telephone_is_signed_out(app: Flask, client: FlaskClient) -> None:
    ann = add_user(app, "ann")
    browser, token = sign_in(app, "ann"), bearer(app, ann)
    [session] = client.get(f"/api/v1/users/{ann.id}/sessions").get_json()["items"]
    assert session["seen_at"]
    assert client.delete(f"/api/v1/users/{ann.id}/sessions").status_code == 204
    assert browser.get("/account").status_code == 302
    assert app.test_client().get("/api/v1/me", headers=token).status_code == 200
    assert client.delete(f"/api/v1/users/{ann.id}/tokens").status_code == 204
    assert app.test_client().get("/api/v1/me", headers=token).status_code == 401
    assert [entry.action for entry in acts(app)] == ["token.revoked", "user.signed_out"]


def test_the_log_has_each_change_of_a_user_by_its_own_name(app: Flask, client: FlaskClient) -> None:
    ann = add_user(app, "Ann")
    for change in ({"groups": ["lab", "desk"]}, {"disabled": True}, {"disabled": False, "is_admin": True}):
        assert client.patch(f"/api/v1/users/{ann.id}", json=change).status_code == 200
    assert [(entry.action, entry.target, entry.detail) for entry in acts(app)[:4]] == [
        ("user.enabled", "Ann", ""),
        ("user.made_administrator", "Ann", ""),
        ("user.disabled", "Ann", ""),
        ("user.groups", "Ann", "desk, lab"),
    ]


def test_everything_of_a_user_is_exported(app: Flask, client: FlaskClient, braid: Braid) -> None:
    here, ann, ben = site_of(app), add_user(app, "ann", groups=("lab",)), add_user(app, "ben")
    notes, other = braid.ledger.add_dataset(ann.id, "Notes").id, braid.ledger.add_dataset(ben.id, "Secret").id
    braid.ledger.put_document(notes, document("a.md", "The tray is empty."))
    braid.ledger.put_failed(notes, "my-diagnosis.pdf", title="", file_type="pdf", error="it has a password")
    braid.ledger.put_document(other, document("b.md", "The vault is open."))
    for user in (ann, ben):
        recorder = TurnRecorder(ChatRequest(user.id, "Why?"))
        recorder.feed(AnswerText(f"Because of {user.name}."))
        stored = here.conversations.create(user.id, f"{user.name} asks").id
        here.conversations.add(stored, ChatRequest(user.id, "Why?"), recorder.result())
    here.provider_keys.set(ann.id, "openai", "sk-very-secret")
    key = bearer(app, ann)["Authorization"].removeprefix("Bearer ")
    answer = client.get(f"/api/v1/users/{ann.id}/export")
    assert answer.is_streamed
    with zipfile.ZipFile(io.BytesIO(answer.data)) as packed:
        assert packed.testzip() is None
        files = {name: packed.read(name).decode() for name in packed.namelist()}
    assert json.loads(files["account.json"])["name"] == "ann"
    assert "Because of ann." in files["conversations.jsonl"]
    assert "The tray is empty." in files[f"datasets/{notes}/documents.jsonl"]
    assert "my-diagnosis.pdf" in files[f"datasets/{notes}/documents.jsonl"], "also what could not be read"
    assert json.loads(files["user_groups.jsonl"])["group_name"] == "lab"
    assert json.loads(files["provider_keys.jsonl"]) == {"user_id": ann.id, "provider": "openai"}
    assert json.loads(files["api_tokens.jsonl"])["name"] == "test"
    everything = "\n".join(files.values())
    for foreign in ("ben", "vault", "argon2", "sk-very", key, "token_hash"):
        assert foreign not in everything, foreign
    assert [(entry.action, entry.target) for entry in acts(app)] == [("user.exported", "ann")]
    assert client.get("/api/v1/users/77/export").status_code == 404


def test_an_export_has_nothing_of_somebody_who_had_the_name_before(app: Flask, client: FlaskClient) -> None:
    first = add_user(app, "ann")
    site_of(app).audit.add("ann", "user.signed_in", "ann", "192.0.2.7")
    site_of(app).accounts.remove(first.id)
    ann = add_user(app, "ann")
    site_of(app).audit.add("ann", "user.signed_in", "ann", "192.0.2.8")
    with zipfile.ZipFile(io.BytesIO(client.get(f"/api/v1/users/{ann.id}/export").data)) as packed:
        acts_of_ann = packed.read("audit_log.jsonl").decode()
    assert "192.0.2.8" in acts_of_ann
    assert "192.0.2.7" not in acts_of_ann


def test_the_files_that_are_kept_are_exported_under_safe_names(
    app: Flask, client: FlaskClient, braid: Braid, tmp_path: Path
) -> None:
    ann = add_user(app, "ann")
    notes = braid.ledger.add_dataset(ann.id, "Notes").id
    (tmp_path / "file").write_bytes(b"%PDF of the pump")
    incoming = Incoming.from_file(tmp_path / "file", "https://x.example/../pump?.pdf")
    put = braid.ledger.put_document(
        notes, document(incoming.source, "The pump.", content_hash=incoming.content_hash, size_bytes=16)
    )
    Originals(braid).keep(put.document_id, incoming)
    with zipfile.ZipFile(io.BytesIO(client.get(f"/api/v1/users/{ann.id}/export").data)) as packed:
        assert packed.read(f"datasets/{notes}/files/{put.document_id} pump_.pdf") == b"%PDF of the pump"


def test_a_large_file_is_exported_in_pieces(app: Flask, braid: Braid, tmp_path: Path) -> None:
    ann = add_user(app, "ann")
    notes = braid.ledger.add_dataset(ann.id, "Notes").id
    (tmp_path / "film").write_bytes(random.Random(1).randbytes(5_000_000))
    incoming = Incoming.from_file(tmp_path / "film", "film.bin")
    put = braid.ledger.put_document(
        notes, document("film.bin", "A film.", content_hash=incoming.content_hash, size_bytes=5_000_000)
    )
    Originals(braid).keep(put.document_id, incoming)
    sizes = [len(piece) for piece in archive(braid, ann.id)]
    assert sum(sizes) > 5_000_000
    assert max(sizes) < 1_200_000


def test_datasets_go_to_a_colleague(app: Flask, client: FlaskClient, braid: Braid) -> None:
    ann, ben = add_user(app, "ann"), add_user(app, "ben")
    notes = braid.ledger.add_dataset(ann.id, "Notes").id
    assert send(client, f"{ann.id}/transfer", to_user_id=77).status_code == 404
    assert send(client, f"{ann.id}/transfer", to_user_id=ben.id, dataset_ids=[99]).status_code == 404
    assert send(client, f"{ann.id}/transfer", to_user_id=ann.id).status_code == 400
    assert send(client, f"{ann.id}/transfer", to_user_id=ben.id).get_json() == {"dataset_ids": [notes]}
    assert braid.ledger.dataset(notes).user_id == ben.id
    assert client.delete(f"/api/v1/users/{ann.id}").status_code == 204
    assert braid.ledger.dataset(notes).name == "Notes"


def test_a_list_of_users_is_imported(app: Flask, client: FlaskClient) -> None:
    text = "name,password,groups\nann,correct horse,lab\n"
    planned = send(client, "import", csv=text, dry_run=True).get_json()["users"]
    assert planned == [{"line": 2, "name": "ann", "change": "added", "fields": ["groups", "password"]}]
    assert site_of(app).accounts.named("ann") is None
    assert send(client, "import", csv=text).status_code == 200
    assert sign_in(app, "ann").get("/account").status_code == 200
    refused = send(client, "import", csv="name,admin\nann,perhaps\n")
    assert refused.status_code == 400
    assert "line 2: admin is 'perhaps'" in refused.get_json()["detail"]
    assert [(entry.action, entry.target) for entry in acts(app)] == [("users.imported", "1 added, 0 changed")]
