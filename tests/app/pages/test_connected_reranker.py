"""A reranker connected in the browser: tested first, in force at once and everywhere, its key kept to its address."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from braid.app.cli.root import cli
from braid.app.mcp.calls import Meter
from braid.app.mcp.tools import Tools
from braid.app.opening import open_braid
from braid.config.settings import Settings
from braid.core.accounts.model_connections import ModelConnections
from braid.core.braid import Braid
from braid.core.errors import ModelError
from braid.core.models.known_pairs import KNOWN
from braid.core.models.rerank import Rerankers
from braid.core.models.rerank_http import RerankServer as Connected
from braid.core.types import ChunkInput, DocumentInput
from tests.rerank_server import RerankServer, rerank_server
from tests.web import acts, add_user, bearer, make_app, post_form, sign_in, site_of, text_of
from tests.worlds import WAIT_S

KEY = "sk-very-secret-1"
TEXTS = {"a.md": "The pump stands in the hall.", "b.md": "The pump runs at twelve bar of pressure."}
QUERY = "pump pressure twelve"
FOLDER = "onnx:/nowhere"


@pytest.fixture
def reranking() -> Iterator[RerankServer]:
    with rerank_server() as running:
        yield running


@pytest.fixture
def app(braid: Braid) -> Flask:
    return with_documents(make_app(braid))


def with_documents(made: Flask) -> Flask:
    braid = site_of(made).braid
    dataset = braid.ledger.add_dataset(site_of(made).accounts.all()[0].id, "notes")
    for source, text in TEXTS.items():
        braid.ledger.put_document(dataset.id, DocumentInput(source, source, "md", (ChunkInput(text),)))
    assert braid.indexer.wait(WAIT_S)
    return made


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    return sign_in(app)


def connect(admin: FlaskClient, reranking: RerankServer, *, model: str = "m-1", key: str = KEY) -> None:
    answer = post_form(admin, "/admin/models/reranker", kind="jina", model=model, base_url=reranking.url, key=key)
    assert answer.status_code == 302, text_of(answer.text)


def searched(app: Flask, **body: object) -> dict[str, object]:
    """What the API answers to a search of the first user."""
    headers = bearer(app, site_of(app).accounts.all()[0])
    answer = app.test_client().post("/api/v1/search", json={"query": QUERY, **body}, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json
    return found


def reranked(found: dict[str, object]) -> list[float | None]:
    return [hit["rerank_score"] for hit in found["hits"]]  # type: ignore[attr-defined]


def test_it_is_tested_and_then_reranks_every_search(app: Flask, admin: FlaskClient, reranking: RerankServer) -> None:
    assert reranked(searched(app)) == [None, None]
    connect(admin, reranking)
    assert [each["query"] for each in reranking.requests] == [known.question for known in KNOWN]
    page = text_of(admin.get("/admin/models").text)
    assert "jina:m-1 now reranks every search." in page
    assert f"jina:m-1 at {reranking.url.removeprefix('http://')} · key stored, encrypted" in page
    assert "jina:m-1" in text_of(admin.get("/admin/").text)
    best, other = reranked(searched(app))
    assert best is not None
    assert other is not None
    assert best > other
    assert (reranking.requests[-1]["model"], reranking.keys[-1]) == ("m-1", f"Bearer {KEY}")
    assert "reranker" in text_of(admin.get(f"/search?q={QUERY}").text)
    headers = bearer(app, site_of(app).accounts.all()[0])
    assert app.test_client().get("/api/v1/models", headers=headers).json["reranker"] == "jina:m-1"
    before = len(reranking.requests)
    assert post_form(admin, "/chat/messages", text=QUERY, d="1").status_code == 303
    assert len(reranking.requests) > before
    entry = acts(app)[0]
    assert (entry.action, entry.target, entry.detail) == ("models.chosen", "reranker", f"jina:m-1 {reranking.url}")


def test_mcp_and_an_explanation_say_what_it_did(app: Flask, admin: FlaskClient, reranking: RerankServer) -> None:
    here = site_of(app)
    account = here.accounts.all()[0]
    meter = Meter(here.usage, account.id)
    tools = Tools(here.braid, account, Settings(), meter, is_admin=True, parse=here.background.parse_now)
    connect(admin, reranking)
    before = len(reranking.requests)
    assert tools.find_documents(QUERY)["status"] == "success"
    assert len(reranking.requests) == before + 1
    explained = tools.explain(QUERY, "a.md")["passages"][0]
    assert explained["reranker"] == "jina:m-1"
    reranking.status = 500
    explained = tools.explain(QUERY, "a.md")["passages"][0]
    assert explained["reranker"] == ""
    assert "It was not reranked: the reranker jina:m-1 failed" in explained["detail"]


@pytest.mark.one_machine
def test_the_next_start_and_the_command_line_use_it(
    app: Flask, admin: FlaskClient, reranking: RerankServer, braid: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(admin, reranking)
    data_dir, shared = braid.data_dir, braid.registry.path
    braid.close()
    settings = Settings(data_dir=data_dir, shared_dbs=shared)
    with open_braid(settings) as again:
        assert again.manager.rerankers.in_force("") == "jina:m-1"
    for name, value in {"DATA_DIR": data_dir, "SHARED_DBS": shared}.items():
        monkeypatch.setenv(f"BRAID_{name}", str(value))
    found = CliRunner().invoke(cli, ["search", QUERY, "--mode", "keyword", "--json"])
    assert json.loads(found.stdout)["hits"][0]["rerank_score"] is not None, found.output
    plain = CliRunner().invoke(cli, ["search", QUERY, "--mode", "keyword", "--json", "--reranker", ""])
    assert json.loads(plain.stdout)["hits"][0]["rerank_score"] is None
    tested = CliRunner().invoke(cli, ["models", "--json"])
    assert f"the reranker in force is jina:m-1 at {reranking.url}" in tested.stderr
    assert {row["model"] for row in json.loads(tested.stdout) if row["role"] == "reranker"} == {"jina:m-1"}
    assert KEY not in f"{found.output}{tested.output}"


def test_it_is_stopped_and_the_settings_reranker_is_the_default_below_it(braid: Braid, reranking: RerankServer) -> None:
    app = with_documents(make_app(braid, Settings(reranker=FOLDER)))
    admin = sign_in(app)
    assert f"{FOLDER} from the settings" in text_of(admin.get("/admin/models").text)
    connect(admin, reranking)
    assert f"Used instead of {FOLDER} of the settings." in text_of(admin.get("/admin/models").text)
    assert None not in reranked(searched(app))
    before = len(reranking.requests)
    stopped = post_form(admin, "/admin/models/reranker/reset")
    assert f"{FOLDER} of the settings is used again." in text_of(admin.get(stopped.headers["location"]).text)
    (part,) = searched(app)["degraded"]  # type: ignore[misc]  # there is no such folder
    assert FOLDER in part["reason"]  # type: ignore[index]
    assert len(reranking.requests) == before
    assert site_of(app).models.connections.reranker() is None


@pytest.mark.parametrize("status", [401, 500])
def test_one_that_does_not_answer_is_not_stored(
    app: Flask, admin: FlaskClient, reranking: RerankServer, status: int
) -> None:
    reranking.status = status
    form = {"kind": "jina", "model": "m", "base_url": reranking.url, "key": KEY}
    refused = post_form(admin, "/admin/models/reranker", **form)
    assert refused.status_code == 400
    assert "jina:m is not responding." in text_of(refused.text)
    assert KEY not in refused.text
    assert site_of(app).models.connections.reranker() is None


def test_one_that_knows_no_language_is_not_stored_and_one_that_knows_some_is_told(
    app: Flask, admin: FlaskClient, reranking: RerankServer
) -> None:
    reranking.results = [{"index": place, "relevance_score": place} for place in range(3)]
    form = {"kind": "jina", "model": "m", "base_url": reranking.url}
    refused = post_form(admin, "/admin/models/reranker", **form)
    assert refused.status_code == 400
    assert "puts a wrong passage first in: English, Japanese, Korean" in text_of(refused.text)
    assert site_of(app).models.connections.reranker() is None
    answers = iter([[2, 1, 0], [0, 1, 2], [0, 1, 2]])
    give = reranking.answer

    def in_turn(request: dict[str, object], path: str) -> object:
        reranking.results = [{"index": i, "relevance_score": score} for i, score in enumerate(next(answers))]
        return give(request, path)

    reranking.answer = in_turn  # type: ignore[method-assign]
    used = post_form(admin, "/admin/models/reranker", **form)
    assert used.status_code == 302
    assert "A wrong passage is first in: Japanese, Korean." in text_of(admin.get("/admin/models").text)
    assert site_of(app).reranker == "jina:m"


def test_the_same_score_is_no_mistake(app: Flask, admin: FlaskClient, reranking: RerankServer) -> None:
    form = {"role": "reranker", "kind": "jina", "model": "m", "base_url": reranking.url}
    some = text_of(post_form(admin, "/admin/models/test", **form).text)  # it counts words between blanks
    assert "jina:m puts no wrong passage first." in some
    assert "The right passage and a wrong one have the same score in: Japanese." in some
    reranking.results = [{"index": place, "relevance_score": 0.5} for place in range(3)]
    every = text_of(post_form(admin, "/admin/models/test", **form).text)
    assert "gives the right passage and a wrong one the same score in each language" in every
    assert "wrong passage first" not in every


def test_a_key_stays_with_its_address(app: Flask, admin: FlaskClient, reranking: RerankServer) -> None:
    connect(admin, reranking)
    connect(admin, reranking, model="m-2", key="")
    assert reranking.keys[-1] == f"Bearer {KEY}"
    assert site_of(app).reranker == "jina:m-2"
    with rerank_server() as other:
        connect(admin, other, key="")
        assert set(other.keys) == {""}
        searched(app)
        assert set(other.keys) == {""}


def test_a_server_that_goes_away_costs_the_order_alone(app: Flask, admin: FlaskClient) -> None:
    with rerank_server() as reranking:
        connect(admin, reranking)
    found = searched(app)
    assert reranked(found) == [None, None]
    (part,) = found["degraded"]  # type: ignore[misc]
    assert part["leg"] == "rerank"  # type: ignore[index]
    assert "check its kind, model, address and key under Administration, Models" in part["reason"]  # type: ignore[index]
    assert "The reranker jina:m-1 does not answer." in text_of(admin.get("/admin/").text)


def test_a_key_that_can_no_longer_be_read_is_told_and_nothing_is_sent(
    app: Flask, admin: FlaskClient, reranking: RerankServer
) -> None:
    connect(admin, reranking)
    here, before = site_of(app), len(reranking.requests)
    here.models.connections = ModelConnections(here.braid.ledger, b"another secret of the data dir.")
    here.models.serve(here.braid.manager)
    (part,) = searched(app)["degraded"]  # type: ignore[misc]
    assert "the key of the reranker jina:m-1 can no longer be read" in part["reason"]  # type: ignore[index]
    assert len(reranking.requests) == before
    assert "the key can no longer be read: connect again with the key" in text_of(admin.get("/admin/models").text)
    connect(admin, reranking)
    assert None not in reranked(searched(app))


def test_the_key_is_neither_shown_nor_logged_nor_stored_in_the_clear(
    app: Flask, admin: FlaskClient, reranking: RerankServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    connect(admin, reranking)
    reranking.status = 401
    found = searched(app)
    here = site_of(app)
    with here.braid.ledger.database.read() as connection:
        stored = str(connection.exec_driver_sql("SELECT * FROM app_settings").all())
    shown = "".join(admin.get(path).text for path in ("/admin/models", "/admin/audit", "/admin/", "/settings"))
    logged = "".join(str(record.__dict__) for record in caplog.records if record.name.startswith("braid"))
    assert "jina" in stored
    assert all(KEY not in text for text in (shown, logged, stored, json.dumps(found)))
    assert KEY not in repr(here.models.connections.reranker())


def test_others_see_its_name_alone_and_cannot_change_it(
    app: Flask, admin: FlaskClient, reranking: RerankServer
) -> None:
    connect(admin, reranking)
    ben = add_user(app, "Ben")
    client = sign_in(app, "Ben")
    assert "Rerank with m-1" in text_of(client.get("/search").text)
    for path in ("/search", "/settings", "/chat"):
        assert reranking.url.removeprefix("http://") not in client.get(path).text
    assert post_form(client, "/admin/models/reranker/reset").status_code == 403
    assert admin.post("/admin/models/reranker/reset").status_code == 400  # without the token of the page
    headers = bearer(app, ben)
    named = {"query": QUERY, "reranker": "jina:other"}
    refused = app.test_client().post("/api/v1/search", json=named, headers=headers)
    assert refused.status_code == 400
    assert "choose 'jina:m-1', or" in refused.json["detail"]
    assert site_of(app).reranker == "jina:m-1"


def test_one_that_is_no_longer_chosen_is_not_asked_elsewhere(reranking: RerankServer) -> None:
    chosen: list[Connected | None] = [Connected("jina", "m", reranking.url, KEY, has_key=True)]
    rerankers = Rerankers()
    rerankers.use(lambda: chosen[0])
    assert rerankers.in_force("") == "jina:m"
    assert rerankers.scores_of("jina:m", "valve", ["valve", "tank"]) == [1.0, 0.0]
    chosen[0] = None
    assert rerankers.in_force("") == ""
    with pytest.raises(ModelError, match="is no longer used here"):
        rerankers.scores_of("jina:m", "valve", ["valve", "tank"])
    chosen[0] = Connected("jina", "m", reranking.url, "another-key", has_key=True)
    rerankers.scores_of("jina:m", "valve", ["valve"])
    assert reranking.keys == [f"Bearer {KEY}", "Bearer another-key"]
    rerankers.close()
