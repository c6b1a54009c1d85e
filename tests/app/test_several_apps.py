"""Several apps over one ledger, as several processes serve it: what one of them does, the others know."""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import Client

from braid.app.first_start import begin
from braid.app.site import Site
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.chat.turns.running import RunningTurns, TurnPauses
from braid.core.data_directory import DataDirectory
from braid.core.datasets.shared_list import ListInLedger
from braid.core.doctor import examine
from tests.fakes import HashEmbeddings
from tests.model_server import ModelServer, model_server
from tests.modes.apps import ALL, rotating
from tests.web import PASSWORD, add_user, bearer, csrf_token, make_app, post_form, sign_in, site_of
from tests.worlds import WAIT_S, document, eventually

API = "/api/v1"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_server("It is empty [1].") as server:
        yield server


@pytest.fixture(scope="module")
def app(shelf: Braid, model: ModelServer) -> Iterator[Flask]:
    settings = replace(
        Settings(),
        summary_model="openai:writer",
        summary_model_base_url=model.url,
        summary_model_api_key="k",
        api_rate_limit="50/hour",
    )
    with rotating(3):
        made = make_app(shelf, settings, jobs=True)
        notes = shelf.ledger.add_dataset(1, "Manuals").id
        shelf.ledger.put_document(notes, document("printer.md", "The tray of the printer is empty."))
        shelf.indexer.wait(WAIT_S)
        yield made
        site_of(made).close()


@pytest.fixture
def listed(app: Flask) -> Iterator[None]:
    """The list of shared datasets is in the ledger, as members of a fleet have it."""
    files = [site.braid.registry._list for site in sites(app)]
    for site in sites(app):
        in_ledger = ListInLedger(site.braid.ledger.database)
        in_ledger.take_over(site.braid.data_dir / "nowhere.json", has_shared=False)
        site.braid.registry._list = in_ledger
    yield
    for site, file in zip(sites(app), files, strict=True):
        site.braid.registry._list = file


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return sign_in(app)


def apps(app: Flask) -> list[Flask]:
    return list(app.extensions[ALL])


def sites(app: Flask) -> list[Site]:
    return [site_of(each) for each in apps(app)]


def at(app: Flask, client: FlaskClient) -> Client:
    """The browser, asking this app alone."""
    browser = Client(app)
    browser._cookies = client._cookies
    return browser


def test_an_upload_is_found_and_revoked_tokens_and_users_are_refused_everywhere(app: Flask) -> None:
    ann = add_user(app, "ann")
    headers, caller = bearer(app, ann), app.test_client()
    dataset = caller.post(f"{API}/datasets", json={"name": "Notes"}, headers=headers).get_json()
    files = {"file": (io.BytesIO(b"# Printer\n\nThe tray is empty."), "printer.md")}
    where = f"{API}/datasets/{dataset['id']}/documents"
    [job] = caller.post(where, data=files, headers=headers).get_json()["items"]
    eventually(
        lambda: caller.get(f"{API}/jobs/{job['id']}", headers=headers).get_json()["state"] == "done", pause_s=0.2
    )
    assert site_of(app).braid.indexer.wait(WAIT_S)
    asked = {"query": "empty tray", "dataset_ids": [dataset["id"]]}
    for _ in range(3):
        found = caller.post(f"{API}/search", json=asked, headers=headers).get_json()
        assert [hit["passage"]["source"] for hit in found["hits"]] == ["printer.md"]
    [token] = site_of(app).tokens.of_user(ann.id)
    browser = sign_in(app, "ann")
    assert {browser.get("/account").status_code for _ in range(3)} == {200}
    sites(app)[1].tokens.revoke(ann.id, token.id)
    assert {caller.get(f"{API}/me", headers=headers).status_code for _ in range(3)} == {401}
    sites(app)[2].accounts.set_disabled(ann.id, disabled=True)
    assert {browser.get("/account").status_code for _ in range(3)} == {302}


def save_often(app: Flask) -> None:
    """Have what one process has of a running answer soon known to the others."""
    for site in sites(app):
        site.turns = RunningTurns(site.turn_store, pauses=TurnPauses(save_s=0.2))


def test_a_running_answer_is_followed_and_stopped_from_other_processes(
    app: Flask, client: FlaskClient, model: ModelServer
) -> None:
    save_often(app)
    model.reply = lambda _: " ".join(f"word{number}" for number in range(4_000))
    model.delay_s = 0.02
    headers = {"Accept": "text/event-stream", "X-CSRFToken": csrf_token(client)}
    one, two, three = (at(each, client) for each in apps(app))
    streams = dict[str, str]()

    def read(name: str, browser: Client, path: str, method: str = "GET") -> None:
        streams[name] = ""
        answer = browser.open(path, method=method, data={"text": "Is the tray empty?"}, headers=headers)
        for piece in answer.response:
            streams[name] += piece if isinstance(piece, str) else piece.decode()

    asking = threading.Thread(target=read, args=("asked", one, "/chat/messages", "POST"), daemon=True)
    asking.start()
    eventually(lambda: "event: text" in streams.get("asked", ""))
    turn = json.loads(re.findall(r"event: turn\ndata: (.*)\n", streams["asked"])[0])
    following = threading.Thread(target=read, args=("followed", two, turn["follow"]), daemon=True)
    following.start()
    eventually(lambda: streams.get("followed", "").count("event: text") >= 2)
    assert "event: answer" not in streams["followed"]
    program = bearer(app, site_of(app).accounts.all()[0])
    where = f"{API}/conversations/{re.findall(r'[0-9]+', turn['conversation'])[-1]}"
    for each in apps(app):
        [_, answer] = Client(each).get(where, headers=program).get_json()["messages"]
        assert (answer["state"], answer["text"][:5]) == ("running", "word0")
    stopped = three.post(turn["stop"], headers={**headers, "Accept": "application/json"})
    assert stopped.get_json() == {"stopped": True}
    for thread in (asking, following):
        thread.join(WAIT_S)
        assert not thread.is_alive()
    for name in ("asked", "followed"):
        assert "You stopped this answer." in streams[name].partition("event: answer")[2], streams[name][-300:]
    page = client.get(turn["conversation"]).text
    assert "word5" in page
    assert "word3999" not in page
    assert not any(site.turns.find(1, 2) for site in sites(app))
    for each in apps(app):
        assert Client(each).get(where, headers=program).get_json()["messages"][1]["state"] == "stopped"


def test_an_answer_whose_conversation_is_deleted_elsewhere_ends(
    app: Flask, client: FlaskClient, model: ModelServer
) -> None:
    save_often(app)
    model.reply = lambda _: " ".join(f"word{number}" for number in range(2000))
    model.delay_s = 0.02
    headers = {"Accept": "text/event-stream", "X-CSRFToken": csrf_token(client)}
    one, two, _ = (at(each, client) for each in apps(app))
    answer = one.post("/chat/messages", data={"text": "Is the tray empty?"}, headers=headers)
    pieces = (piece if isinstance(piece, str) else piece.decode() for piece in answer.response)
    seen = next(piece for piece in pieces if piece.startswith("event: turn"))
    turn = json.loads(re.findall(r"event: turn\ndata: (.*)\n", seen)[0])
    next(piece for piece in pieces if "event: text" in piece)
    where = f"{API}/conversations/{re.findall(r'[0-9]+', turn['conversation'])[-1]}"
    program = bearer(app, site_of(app).accounts.all()[0], "write")
    assert two.delete(where, headers=program).status_code == 204
    assert "word1999" not in "".join(pieces), "it ended long before the model did"
    answer_id = int(re.findall(r"[0-9]+", turn["stop"])[-1])
    eventually(lambda: not any(site.turns.find(1, answer_id) for site in sites(app)))


def test_shared_datasets_are_edited_and_closed_for_all(app: Flask, listed: None, client: FlaskClient) -> None:
    eve = add_user(app, "eve")
    headers, caller = bearer(app, eve), app.test_client()
    admin, new = bearer(app, site_of(app).accounts.all()[0], "admin"), {"name": "Pay", "collection_name": "shared_pay"}
    added = app.test_client().post(f"{API}/shared-databases", json=new, headers=admin)
    where, asked = added.headers["Location"], {"query": "pay", "dataset_ids": [added.get_json()["id"]]}
    for _ in range(3):
        assert caller.get(where, headers=headers).get_json()["name"] == "Pay"
        assert not caller.post(f"{API}/search", json=asked, headers=headers).get_json()["unresolved_dataset_ids"]
    for other in ("[]", None):
        file = site_of(app).braid.registry.path
        file.write_text(other) if other else file.unlink()
        told = f"run python -m app shared-db import {file};" in client.get("/admin/shared").text
        assert told == bool(other), "who edits the file finds out that it is not read"
    page = client.get("/admin/shared/file").text
    assert "List of shared datasets" in page
    form = {name: re.findall(rf'name="{name}" value="([^"]+)"', page)[0] for name in ("csrf_token", "fingerprint")}
    closed = '[{"id": %d, "name": "Pay", "collection_name": "shared_pay", "allowed_groups": ["board"]}]'
    form |= {"text": closed % added.get_json()["id"], "action": "save"}
    assert client.post("/admin/shared/file", data=form).status_code == 302
    for _ in range(3):
        assert caller.get(where, headers=headers).status_code == 404
        answer = caller.post(f"{API}/search", json=asked, headers=headers)
        assert answer.get_json()["unresolved_dataset_ids"] == asked["dataset_ids"]
    again = client.post("/admin/shared/file", data={**form, "text": "[]"})
    assert again.status_code == 409
    assert "Someone else has changed the list" in again.text


def test_of_two_that_start_at_once_one_lists_the_sample_and_adds_the_user(tmp_path: Path) -> None:
    url, model = f"sqlite:///{tmp_path / 'ledger.db'}", HashEmbeddings()
    with DataDirectory(tmp_path, database_url=url, embedding_model=model) as first:
        ListInLedger(first.ledger.database).take_over(tmp_path / "nowhere.json", has_shared=False)
    ready = threading.Barrier(4)

    def start(number: int) -> None:
        with DataDirectory(tmp_path / str(number), database_url=url, embedding_model=model) as there:
            ready.wait()
            begin(cast("Braid", there))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start, range(4)))
    with DataDirectory(tmp_path, database_url=url, embedding_model=model) as after:
        assert [entry.id for entry in after.registry.entries()] == [-1]
        assert [user.name for user in after.ledger.users()] == ["local"]
        assert [dataset.name for dataset in after.ledger.datasets(1)] == ["My documents"]


def test_limits_hold_for_all_processes_together(app: Flask) -> None:
    bob = add_user(app, "bob")
    headers, caller = bearer(app, bob), app.test_client()
    answers = [caller.get(f"{API}/me", headers=headers) for _ in range(51)]
    assert [answer.status_code for answer in answers] == [200] * 50 + [429]
    assert 3500 < int(answers[-1].headers["Retry-After"]) <= 3600
    browser = app.test_client()
    token = csrf_token(browser, "/login")
    form = {"name": "bob", "csrf_token": token}
    statuses = [browser.post("/login", data={**form, "password": "wrong"}).status_code for _ in range(11)]
    assert statuses == [401] * 10 + [429]
    assert browser.post("/login", data={**form, "password": PASSWORD}).status_code == 429


def test_a_check_is_seen_everywhere_and_runs_once(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, going_on = threading.Event(), threading.Event()

    def examine_slowly(braid: Braid) -> object:
        begun.set()
        going_on.wait(WAIT_S)
        return examine(braid, wait_s=0)

    monkeypatch.setattr("braid.core.background.checkup.examine", examine_slowly)
    post_form(client, "/admin/indexes/examine")
    begun.wait(WAIT_S)
    for _ in range(3):
        assert "Checking…" in client.get("/admin/indexes").text
    begun.clear()
    for _ in range(3):
        post_form(client, "/admin/indexes/examine")
    going_on.set()
    eventually(lambda: not sites(app)[1].checkup.state.running)
    assert not begun.is_set()
    for _ in range(3):
        assert "Checking…" not in client.get("/admin/indexes").text
    assert len({site.checkup.state.at for site in sites(app)}) == 1
