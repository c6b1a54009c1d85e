"""Connecting a model in the browser: in force at once and everywhere, keys kept to their address."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.mcp.calls import Meter
from braid.app.mcp.tools import Tools
from braid.app.opening import open_braid
from braid.app.user.models import choose_models
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.models.known_pairs import KNOWN
from braid.core.models.model_servers import LOCAL_SERVERS
from braid.core.types import ChunkInput, DocumentInput
from tests.model_server import ModelServer, model_server
from tests.rerank_server import RerankServer, rerank_server
from tests.web import PASSWORD, acts, add_user, bearer, csrf_token, make_app, post_form, sign_in, site_of, text_of
from tests.worlds import WAIT_S

KEY = "sk-very-secret-1"
TEXT = "The pump runs at 12 bar."


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server("At 12 bar [1].") as running:
        running.models = ("writer", "small", "nomic-embed-text")
        yield running


@pytest.fixture
def app(braid: Braid) -> Flask:
    made = make_app(braid)
    user = site_of(made).accounts.all()[0]
    dataset = braid.ledger.add_dataset(user.id, "notes")
    braid.ledger.put_document(dataset.id, DocumentInput("pump.md", "Pump", "md", (ChunkInput(TEXT),)))
    assert braid.indexer.wait(WAIT_S)
    return made


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    return sign_in(app)


def connect(admin: FlaskClient, server: ModelServer, key: str = KEY) -> str:
    """The name of the connection."""
    answer = post_form(admin, "/admin/models/servers", provider="compatible", base_url=server.url, key=key)
    assert answer.status_code == 302, answer.text
    return str(answer.headers["location"].rpartition("#server-")[2])


def use(admin: FlaskClient, name: str, model: str, *roles: str) -> None:
    answer = post_form(admin, "/admin/models/use", server=name, model=model, role=list(roles))
    assert answer.status_code == 302, answer.text


def test_a_server_is_connected_tested_and_used_without_a_restart(
    app: Flask, admin: FlaskClient, server: ModelServer
) -> None:
    name = connect(admin, server)
    page = admin.get("/admin/models").text
    assert "<option>writer</option>" in page
    assert "nomic-embed-text" not in page
    assert "key stored, encrypted" in page
    tested = post_form(admin, "/admin/models/test", test="server", server=name, model="writer", role="summary").text
    assert f"writer ({server.url.split('/')[2]}) answered in" in tested
    assert "At 12 bar" in tested
    use(admin, name, "writer", "summary", "search")
    answer = post_form(admin, "/chat/messages", text="How hard does the pump run?", d="1")
    assert answer.status_code == 303
    asked = server.calls[-1]
    assert (asked.model, asked.key, asked.stream) == ("writer", KEY, True)
    assert "At 12 bar" in admin.get(answer.headers["location"]).text
    assert [entry.action for entry in acts(app)][:3] == ["models.chosen", "models.chosen", "models.connected"]


def test_a_test_is_streamed_to_scripts(admin: FlaskClient, server: ModelServer) -> None:
    name = connect(admin, server)
    form = {"csrf_token": csrf_token(admin), "test": "server", "server": name, "model": "writer"}
    answer = admin.post("/admin/models/test", data=form, headers={"Accept": "text/event-stream"})
    steps = [json.loads(block.partition("data: ")[2]) for block in answer.text.strip().split("\n\n")]
    assert [step["text"].strip() for step in steps] == ["At", "At 12", "At 12 bar", "At 12 bar [1].", "At 12 bar [1]."]
    assert "answered in" in steps[-1]["html"]
    server.broken = 401
    failed = admin.post("/admin/models/test", data=form, headers={"Accept": "text/event-stream"}).text
    assert "is not responding" in failed
    assert KEY not in failed


@pytest.mark.one_machine
def test_the_chosen_models_serve_api_mcp_owner_and_the_next_start(
    app: Flask, admin: FlaskClient, server: ModelServer, braid: Braid
) -> None:
    name, account = connect(admin, server), site_of(app).accounts.all()[0]
    use(admin, name, "small", "search")
    use(admin, name, "writer", "summary")
    api = app.test_client()
    answered = api.post("/api/v1/chat", json={"message": "How hard?"}, headers=bearer(app, account))
    assert answered.status_code == 200, answered.text
    assert server.calls[-1].model == "writer"
    before = len(server.calls)
    tools = Tools(
        braid,
        account,
        Settings(),
        Meter(site_of(app).usage, account.id),
        is_admin=True,
        parse=site_of(app).background.parse_now,
    )
    options = {"file_type": None, "include_documents": True, "max_content_length": None, "dataset_ids": None}
    found = tools.search("pump pressure", top_k=3, mode="hybrid", strategy="multi_query", **options)
    assert found["status"] == "success"
    assert [call.model for call in server.calls[before:]] == ["small"]
    post_form(admin, "/admin/models/search/reset")
    assert braid.manager.models.search is None
    data_dir = braid.data_dir
    braid.close()
    with open_braid(Settings(data_dir=data_dir, shared_dbs=data_dir / "shared_dbs.json")) as again:
        assert again.manager.models.search is None
        assert again.manager.models.summary is not None
        assert again.manager.models.summary.name == f"{name}:writer"


def test_users_choose_a_connected_model_but_their_keys_stay_away_from_it(
    app: Flask, admin: FlaskClient, server: ModelServer
) -> None:
    name, ben = connect(admin, server), add_user(app, "Ben")
    assert post_form(admin, "/admin/models/summary", models=f"{name}:small").status_code == 302
    here = site_of(app)
    here.provider_keys.set(ben.id, name, "bens-own-key")
    here.accounts.set_preferences(ben.id, {"summary_model": f"{name}:small"})
    client = sign_in(app, "Ben")
    assert f'<option value="{name}:small" selected>' in client.get("/settings").text
    with app.app_context():
        chosen = choose_models(here.accounts.get(ben.id)).summary
    assert chosen is not None
    assert (chosen.own_key, chosen.settings.api_key, chosen.settings.base_url) == (False, KEY, server.url)
    headers = {**bearer(app, ben), "X-Summary-Model-Key": "bens-own-key"}
    body = {"message": "How hard?", "summary_llm_model": f"{name}:small"}
    refused = app.test_client().post("/api/v1/chat", json=body, headers=headers)
    assert (refused.status_code, server.calls) == (400, [])
    assert "gets no key of yours" in refused.json["detail"]


def test_keys_are_neither_shown_nor_logged_nor_sent_elsewhere(
    app: Flask, admin: FlaskClient, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    name = connect(admin, server)
    use(admin, name, "writer", "summary")
    server.broken = 401
    refused = post_form(admin, f"/admin/models/servers/{name}/fetch")
    assert refused.status_code == 400
    assert "refuses the key (401)" in refused.text
    wrong = post_form(admin, "/admin/models/servers", provider="compatible", base_url="http://a b", key=KEY)
    assert wrong.status_code == 400
    assert 'value="http://a b"' in wrong.text
    with model_server() as other:
        other.broken = 200
        connect(admin, other, key="")
        assert other.keys == [""]
    shown = "".join(admin.get(path).text for path in ("/admin/models", "/admin/audit", "/settings", "/admin/"))
    logged = "".join(str(record.__dict__) for record in caplog.records if record.name.startswith("braid"))
    assert all(KEY not in text for text in (shown, refused.text, wrong.text, logged))


def test_a_server_that_does_not_answer_is_not_stored(app: Flask, admin: FlaskClient, server: ModelServer) -> None:
    gone = post_form(admin, "/admin/models/servers", provider="compatible", base_url="http://127.0.0.1:9/v1")
    assert gone.status_code == 400
    assert "No model server answers at 127.0.0.1:9" in gone.text
    server.models = ()
    empty = post_form(admin, "/admin/models/servers", provider="compatible", base_url=server.url)
    assert "has no model yet" in empty.text
    assert site_of(app).models.connections.all() == []


def test_a_removed_server_leaves_nothing_behind(app: Flask, admin: FlaskClient, server: ModelServer) -> None:
    name = connect(admin, server)
    use(admin, name, "writer", "summary", "search")
    post_form(admin, "/admin/models/summary", models=f"{name}:small\nopenai:gpt-5")
    assert post_form(admin, f"/admin/models/servers/{name}/remove").status_code == 302
    models = site_of(app).models
    assert (models.default("summary"), models.menu("summary"), models.menu("search")) == ("", ("openai:gpt-5",), ())
    assert site_of(app).braid.manager.models.summary is None


def test_what_is_no_models_name_is_refused_with_the_remedy(admin: FlaskClient) -> None:
    wrong = post_form(admin, "/admin/models/summary", models="http://127.0.0.1:9555/v1 ux-model")
    assert wrong.status_code == 400
    assert "which is an address; connect the server under Administration, Models" in wrong.text
    unknown = post_form(admin, "/admin/models/summary", models="nobody:model")
    assert unknown.status_code == 400
    assert "neither a connected server nor a provider" in unknown.text
    missing = post_form(admin, "/admin/models/summary", models="bedrock:claude")
    assert missing.status_code == 302
    assert "-m pip install langchain-aws" in admin.get("/admin/models").text


def test_a_server_of_this_computer_is_offered_and_used_by_one_click(app: Flask) -> None:
    with model_server("fine", ports=[local.port for local in LOCAL_SERVERS]) as server:
        server.models = ("qwen3",)
        local = next(known for known in LOCAL_SERVERS if str(known.port) in server.url)
        admin = sign_in(app)
        assert f"{local.label} is running here." in admin.get("/admin/models").text
        gone = post_form(admin, f"/admin/models/local/{local.name}", model="no-such")
        assert gone.status_code == 400
        used = post_form(admin, f"/admin/models/local/{local.name}", model="qwen3")
        assert used.headers["location"] == "/chat"
        assert site_of(app).models.default("summary") == f"{local.name}:qwen3"
        assert site_of(app).models.default("search") == ""
        assert f"{local.label} is running here." not in admin.get("/admin/models").text


def test_the_line_below_an_answer_leads_to_who_can_connect_a_model(app: Flask, admin: FlaskClient) -> None:
    shared = site_of(app).braid.registry.add("Guide", "shared_guide")
    put = DocumentInput("pump.md", "Pump", "md", (ChunkInput(TEXT),))
    site_of(app).braid.mirror_registry()
    site_of(app).braid.ledger.put_document(shared.id, put)
    add_user(app, "Ben")
    assert site_of(app).braid.indexer.wait(WAIT_S)
    asked = [
        (client, post_form(client, "/chat/messages", text="How hard does the pump run?", d=str(shared.id)))
        for client in (admin, sign_in(app, "Ben"))
    ]
    mine, his = (client.get(answer.headers["location"]).text for client, answer in asked)
    assert '<a href="/admin/models">Connect a language model for written answers</a>' in mine
    assert "/admin/models" not in his
    name = site_of(app).accounts.all()[0].name
    assert f"ask {name} to connect a language model" in his
    reader, where = asked[1][0], asked[1][1].headers["location"].partition("#")[0]
    assert f"{name} さんに言語モデルの接続を" in reader.get(f"{where}?lang=ja").text
    site_of(app).accounts.add("Zoe", PASSWORD, is_admin=True)
    his = sign_in(app, "Ben").get(asked[1][1].headers["location"]).text
    assert f"ask {name} or Zoe to connect a language model" in his


# ---------------------------------------------------------------- rerankers and embedding models


@pytest.fixture
def reranking() -> Iterator[RerankServer]:
    with rerank_server() as running:
        yield running


def scored_by(reranking: RerankServer, *, reverse: bool = False) -> None:
    """Score the first passage, which is the right one, highest; or lowest."""
    reranking.results = [{"index": place, "relevance_score": place if reverse else -place} for place in range(3)]


@pytest.mark.parametrize(("kind", "path"), [("cohere", "/v2/rerank"), ("jina", "/v1/rerank"), ("voyage", "/v1/rerank")])
def test_a_reranker_is_tested_by_known_passages(
    admin: FlaskClient, reranking: RerankServer, kind: str, path: str
) -> None:
    scored_by(reranking)
    form = {"role": "reranker", "kind": kind, "model": "m-1", "base_url": reranking.url, "key": KEY}
    page = text_of(post_form(admin, "/admin/models/test", **form).text)
    assert f"{kind}:m-1 puts the right passage first in each language." in page
    assert re.search(r"Korean: right passage 0\.000, best wrong one -1\.000, in \d+ ms", page)
    assert reranking.paths == [path] * 3
    assert reranking.keys == [f"Bearer {KEY}"] * 3
    assert [each["query"] for each in reranking.requests] == [known.question for known in KNOWN]
    assert KEY not in page


def test_a_reranker_that_does_not_know_a_language_is_found_out(admin: FlaskClient, reranking: RerankServer) -> None:
    scored_by(reranking, reverse=True)
    form = {"role": "reranker", "kind": "jina", "model": "m", "base_url": reranking.url.removeprefix("http://")}
    page = text_of(post_form(admin, "/admin/models/test", **form).text)
    assert "puts a wrong passage first in: English, Japanese, Korean" in page


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "kind, model, address and key under Administration, Models"), (500, "500")]
)
def test_a_reranker_that_fails_is_told_with_the_remedy(
    admin: FlaskClient, reranking: RerankServer, status: int, remedy: str
) -> None:
    reranking.status = status
    form = {"role": "reranker", "kind": "tei", "base_url": reranking.url}
    page = text_of(post_form(admin, "/admin/models/test", **form).text)
    assert "tei:default is not responding." in page
    assert remedy in page


@pytest.mark.parametrize(("form", "said"), [
    ({"kind": "onnx", "model": "/etc"}, "choose one of cohere, jina, voyage, tei"),
    ({"kind": "jina", "model": ""}, "Write it as the server does"),
    ({"kind": "tei"}, "The address is empty"),
    ({"kind": "jina", "model": "m", "base_url": "http://169.254.169.254/x"}, "secrets in a cloud"),
    ({}, "No reranker is configured."),
])  # fmt: skip
def test_what_is_no_reranker_is_not_asked(admin: FlaskClient, form: dict[str, str], said: str) -> None:
    answer = post_form(admin, "/admin/models/test", role="reranker", **form)
    assert answer.status_code == 400
    assert said in text_of(answer.text)


def test_the_embedding_model_of_a_collection_is_tested(app: Flask, admin: FlaskClient) -> None:
    site_of(app).braid.registry.add("Own", "shared_own", embedding_model="onnx:/nowhere")
    assert 'name="collection" value="shared_own"' in admin.get("/admin/models").text
    assert post_form(admin, "/admin/models/test", role="embedding", collection="user_1").status_code == 400
    page = text_of(post_form(admin, "/admin/models/test", role="embedding").text)
    assert "dimensions" in page
    assert re.search(r"Japanese: right passage [\d.-]+, best wrong one [\d.-]+, in \d+ ms", page)
