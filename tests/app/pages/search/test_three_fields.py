"""The form with three fields, and the comparison of what it finds with them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.app.pages.search.searched import HANDBOOK, NOTES, OTHER, titles
from tests.model_server import ModelServer, model_server
from tests.web import csrf_token, make_app, sign_in, text_of


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model that knows one sentence."""
    with model_server(lambda messages: "The alloy trial agrees [1]. <script>alert(1)</script>") as running:
        yield running


@pytest.fixture
def model_client(library: Braid, model: ModelServer) -> FlaskClient:
    """The same browser, where the site has a model for answers."""
    settings = Settings(summary_model="openai:summary", summary_model_base_url=model.url, summary_model_api_key="key")
    return sign_in(make_app(library, settings))


FIELDS = {"purpose": "harder alloy", "materials": "argon", "methods": "anneal at 450 °C", "d": [NOTES, OTHER]}


def send(client: FlaskClient, accept: str = "text/html", **fields: object) -> TestResponse:
    data = {"purpose": "", "csrf_token": csrf_token(client), **fields}
    return client.post("/search/fields", data=data, headers={"Accept": accept})


def events(response: TestResponse) -> list[tuple[str, dict[str, Any]]]:
    pairs = re.findall(r"^event: (\w+)\ndata: (.*)$", response.text, re.MULTILINE)
    return [(kind, json.loads(data)) for kind, data in pairs]


def test_three_fields_begin_with_the_semantic_mode(client: FlaskClient) -> None:
    page = client.get("/search/fields").text
    assert 'value="semantic" checked' in page
    assert "Instructions for the comparison" in page


@pytest.mark.parametrize(("language", "badge"), [("en", "recommended"), ("ja", "おすすめ"), ("ko", "권장")])
@pytest.mark.parametrize("path", ["/search/fields", "/search"])
def test_hybrid_is_the_recommended_mode_of_every_form(
    client: FlaskClient, path: str, language: str, badge: str
) -> None:
    page = client.get(path, headers={"Accept-Language": language}).text
    [marked] = re.findall(
        rf'<label class="choice" for="mode-(\w+)">(?:(?!</label>).)*<em>{badge}</em>', page, re.DOTALL
    )
    assert marked == "hybrid"


def test_fields_become_one_query_and_passages_are_compared_with_them(client: FlaskClient) -> None:
    page = send(client, **FIELDS).text
    shown = text_of(page)
    assert "Searched for: harder alloy argon anneal at 450 °C" in shown
    assert "Alloy trial" in titles(page)
    assert "agrees: 450 °C" in shown.replace("agrees : ", "agrees: ")
    assert re.search(r'<a class="cite" href="/documents/passage/[^"]+purpose=harder', page)


def test_a_model_compares_and_its_text_is_tame(model_client: FlaskClient, model: ModelServer) -> None:
    page = send(model_client, **FIELDS, instruction="Look at the temperature.").text
    assert "The alloy trial agrees" in page
    assert "Written by openai:summary" in page
    assert "<script>alert" not in page
    assert any("Look at the temperature." in text for call in model.calls for _, text in call.messages)


def test_a_script_sees_the_comparison_as_it_comes_about(model_client: FlaskClient) -> None:
    response = send(model_client, "text/event-stream", **FIELDS)
    assert response.mimetype == "text/event-stream"
    told = events(response)
    kinds = [kind for kind, _ in told]
    assert kinds[0] == "stage"
    assert list(dict.fromkeys(kinds)) == ["stage", "query", "search", "text", "answer"]
    assert [values["text"] for kind, values in told if kind == "stage"] == [
        "Reading the fields…",
        "Writing the query…",
        "Searching…",
        "Comparing…",
    ]
    assert titles(told[-1][1]["html"])[0] == "Alloy trial"


def test_an_outage_of_the_model_is_named_and_the_passages_are_compared_without_it(
    model_client: FlaskClient, model: ModelServer
) -> None:
    model.broken = 500
    page = send(model_client, **FIELDS).text
    assert "The language model could not be used." in page
    assert "agrees" in text_of(page)


def test_the_way_back_fills_the_form_in_and_searches_nothing(client: FlaskClient) -> None:
    page = send(client, **FIELDS).text
    href = re.search(r'href="(/documents/passage/[^"]+)"', page)
    assert href is not None
    document = client.get(href[1].replace("&amp;", "&")).text
    back = re.search(r'<a href="(/search/fields[^"]+)">Back to the search', document)
    assert back is not None
    form = client.get(back[1].replace("&amp;", "&")).text
    assert re.search(r'<textarea id="materials"[^>]*>argon</textarea>', form)
    assert "data-starts" in form
    assert titles(form) == []


def test_datasets_with_results_are_named_and_the_others_counted(client: FlaskClient) -> None:
    asked = {"q": "tomatoes", "d": [NOTES, OTHER, HANDBOOK], "mode": "keyword"}
    for language, said in (("en", "in Home (1), no matches in 2 others"), ("ja", "Home（1）、ほか 2 件は該当なし")):
        page = client.get("/search", query_string=asked, headers={"Accept-Language": language}).text
        assert said in page


def test_long_fields_are_searched_but_not_repeated_in_links(client: FlaskClient) -> None:
    page = send(client, purpose="alloy " * 600, d=[NOTES]).text
    assert "Alloy trial" in titles(page)
    assert max(map(len, re.findall(r'href="([^"]*)"', page))) < 500


@pytest.mark.parametrize(
    "fields", [{}, {"purpose": " "}, {"instruction": "compare"}, {"purpose": "x" * 10_001}, {"purpose": "x", "k": "0"}]
)
@pytest.mark.parametrize("accept", ["text/html", "text/event-stream"])
def test_wrong_fields_are_refused(client: FlaskClient, fields: dict[str, str], accept: str) -> None:
    assert send(client, accept, **fields).status_code == 400


def test_fields_need_the_forms_token(client: FlaskClient) -> None:
    assert client.post("/search/fields", data={"purpose": "alloy"}).status_code == 400
