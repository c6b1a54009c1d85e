"""The ways to search beside free text: filters, three fields, "why not?", the comparison. Only models are faked."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from braid.app.pages.search import answer
from braid.app.pages.search.compare import Move, moves
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.datasets.listing import documents_named
from braid.core.types import ChunkInput, DocumentInput, Hit, Occurrence, Passage
from tests.model_server import ModelServer, model_server
from tests.web import add_user, csrf_token, make_app, sign_in, site_of, text_of
from tests.worlds import WAIT_S

NOTES, OTHER, HANDBOOK = 1, 2, -1
Put = Callable[..., str]

LIBRARY = (
    (NOTES, "lab/alloy.pdf", "Alloy trial", "pdf", "The alloy was annealed at 450 °C for 2 h in argon.", 3),
    (NOTES, "lab/polymer.md", "Polymer film", "md", "The polymer film was cast from toluene at 25 °C.", None),
    (OTHER, "home/garden.docx", "Garden", "docx", "Tomatoes need water and sun.", 1),
    (HANDBOOK, "handbook/safety.html", "Safety", "html", "Argon displaces air: open a window.", None),
)
DAY = datetime(2026, 3, 5, 12).timestamp()


def fill(braid: Braid) -> Braid:
    """The administrator's two datasets and a shared one."""
    user = braid.ledger.add_user("ann")
    braid.ledger.add_dataset(user.id, "Laboratory")
    braid.ledger.add_dataset(user.id, "Home")
    braid.registry.add("Handbook", "shared_main_db")
    braid.dataset(HANDBOOK)
    for dataset_id, source, title, file_type, text, page in LIBRARY:
        chunk = ChunkInput(text, page=page, page_end=page)
        braid.ledger.put_document(dataset_id, DocumentInput(source, title, file_type, (chunk,), date=DAY))
    assert braid.indexer.wait(WAIT_S)
    return braid


@pytest.fixture(scope="module")
def library(shelf: Braid) -> Braid:
    """What all tests read; one that writes has `own_library`."""
    return fill(shelf)


@pytest.fixture(scope="module")
def app(library: Braid) -> Flask:
    return make_app(library)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A browser in which ann is signed in."""
    return sign_in(app)


@pytest.fixture
def own_library(braid: Braid) -> Braid:
    return fill(braid)


@pytest.fixture
def own_client(own_library: Braid) -> FlaskClient:
    return sign_in(make_app(own_library))


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


def titles(page: str) -> list[str]:
    return re.findall(r'<h\d id="title-\d+">.*?<a [^>]+>([^<]+)</a>', page)


def found(client: FlaskClient, **arguments: object) -> list[str]:
    response = client.get("/search", query_string={"d": [NOTES, OTHER, HANDBOOK], "mode": "hybrid", **arguments})
    assert response.status_code == 200
    return titles(response.text)


# ---------------------------------------------------------------- the search page


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"kind": "pdf"}, {"Alloy trial"}),
        ({"kind": ["word", "web"]}, {"Garden", "Safety"}),
        ({"source": "lab/"}, {"Alloy trial", "Polymer film"}),
        ({"source": "lab/", "kind": "text"}, {"Polymer film"}),
        ({"from": "2026-03-05", "to": "2026-03-05"}, {"Alloy trial", "Polymer film", "Garden", "Safety"}),
        ({"from": "2026-03-06"}, set()),
        ({"to": "2026-03-04"}, set()),
    ],
)
def test_filters_restrict_what_is_found(client: FlaskClient, arguments: dict[str, object], expected: set[str]) -> None:
    assert set(found(client, q="argon", mode="semantic", **arguments)) == expected


def test_filters_stay_in_the_form_and_are_named_when_nothing_is_found(client: FlaskClient) -> None:
    page = client.get("/search?q=argon&d=1&kind=mail&source=lab/&from=2026-01-01").text
    assert 'value="mail" checked' in page
    assert 'name="source" value="lab/"' in page
    assert 'name="from" value="2026-01-01"' in page
    assert "Remove filters." in page


def test_more_datasets_are_advised_only_where_there_are_more(client: FlaskClient) -> None:
    asked = {"q": "zxqvkk", "mode": "keyword"}
    some = client.get("/search", query_string={**asked, "d": [NOTES]}).text
    everything = client.get("/search", query_string={**asked, "d": "all"}).text
    assert "Select more datasets." in some
    assert "Use different or fewer words." in everything
    assert "Select more datasets." not in everything


@pytest.mark.parametrize(
    "arguments",
    [
        {"kind": "exe"},
        {"from": "yesterday"},
        {"to": "2026-02-30"},
        {"from": "2026-03-02", "to": "2026-03-01"},
        {"strategy": "magic"},
    ],
)
def test_wrong_choices_are_refused(client: FlaskClient, arguments: dict[str, str]) -> None:
    assert client.get("/search", query_string={"q": "argon", **arguments}).status_code == 400


def test_each_strategy_is_offered_with_what_it_does_and_costs(client: FlaskClient) -> None:
    page = client.get("/search").text
    offered = re.findall(r'name="strategy" value="(\w+)"( checked)?', page)
    assert offered == [
        ("basic", " checked"),
        *((name, "") for name in ("multi_query", "hyde", "step_back", "compression", "parent_document")),
    ]
    assert "Finds passages and returns the section around each, once." in page
    assert "Searches twice, without a model." in page


def test_the_part_of_a_program_is_beside_its_lines(own_library: Braid, own_client: FlaskClient) -> None:
    code = ChunkInput("def anneal(alloy): ...", line=3, line_end=3, chunk_kind="function")
    own_library.ledger.put_document(NOTES, DocumentInput("trial.py", "trial", "py", (code,)))
    assert own_library.indexer.wait(WAIT_S)
    page = own_client.get("/search", query_string={"q": "anneal alloy", "d": [NOTES], "mode": "keyword"}).text
    assert re.search(r"<span>line 3</span>\s*<span>function</span>", page)
    assert page.count("<span>function</span>") == 1
    asked = {"q": "alloy", "d": [NOTES], "mode": "keyword", "part": "function"}
    page = own_client.get("/search", query_string=asked).text
    assert titles(page) == ["trial"]
    assert re.search(r'name="part" value="function" checked', page)
    assert "part=function" in page
    assert own_client.get("/search", query_string={**asked, "part": "struct"}).status_code == 400


def test_a_comparison_keeps_the_filters_of_its_address(own_library: Braid, own_client: FlaskClient) -> None:
    chunk = (ChunkInput("The alloy of the second trial.", chunk_kind="function"),)
    own_library.ledger.put_document(NOTES, DocumentInput("b.py", "Second trial", "py", chunk, metadata={"tenant": "x"}))
    assert own_library.indexer.wait(WAIT_S)
    sides = {"a_mode": "keyword", "b_mode": "keyword", "a_d": NOTES, "b_d": NOTES}
    for filters in ({"part": "function"}, {"mkey": "tenant", "mis": "is", "mvalue": "x"}):
        page = own_client.get("/search/compare", query_string={"q": "alloy", **sides, **filters}).text
        assert page.count("Second trial</a>") == 2
        assert "Alloy trial" not in page
        assert all(f'<input type="hidden" name="{name}" value="{value}">' in page for name, value in filters.items())


def test_one_result_per_document(own_library: Braid, own_client: FlaskClient) -> None:
    texts = tuple(ChunkInput(f"The alloy trial number {number} agrees.") for number in range(3))
    own_library.ledger.put_document(NOTES, DocumentInput("trials.md", "Trials", "md", texts))
    assert own_library.indexer.wait(WAIT_S)
    asked = {"q": "alloy trial number", "d": [NOTES], "mode": "keyword", "group": "document"}
    page = own_client.get("/search", query_string=asked).text
    assert titles(page).count("Trials") == 1
    assert "2 more passages from this document" in page
    assert re.search(r'<h1 id="results-heading">\s*\d documents?\s*</h1>', page)
    assert re.search(r'<input type="checkbox"[^>]+name="group" value="document" checked>', page)
    [others] = re.findall(r'<a href="([^"]+)">2 more passages', page)
    others = html.unescape(others)
    assert ("source=trials.md" in others, "group=" in others) == (True, False)
    assert titles(own_client.get(others).text) == ["Trials"] * 3
    assert own_client.get("/search", query_string={**asked, "group": "file"}).status_code == 400
    compared = own_client.get("/search/compare", query_string=asked).text
    assert '<input type="hidden" name="group" value="document">' in compared


@pytest.mark.parametrize("strategy", ["multi_query", "hyde", "step_back", "compression", "parent_document"])
def test_every_strategy_searches(client: FlaskClient, strategy: str) -> None:
    page = client.get(f"/search?q=argon&d=1&strategy={strategy}").text
    assert "Alloy trial" in titles(page)
    assert f'value="{strategy}" checked' in page


@pytest.mark.parametrize(("alpha", "words"), [("", "70% meaning, 30% keywords"), ("0", "0% meaning, 100% keywords")])
def test_the_balance_is_said_in_words(client: FlaskClient, alpha: str, words: str) -> None:
    page = client.get("/search", query_string={"alpha": alpha}).text
    assert f'<output for="alpha">{words}</output>' in page
    assert f'aria-valuetext="{words}"' in page


def test_a_reranker_can_be_switched_off_where_there_is_one(library: Braid, client: FlaskClient) -> None:
    assert 'name="rerank"' not in client.get("/search").text
    with_reranker = sign_in(make_app(library, Settings(reranker="local:nothing")))
    assert "Rerank with nothing" in with_reranker.get("/search").text
    assert "The passages were not reranked." in with_reranker.get("/search?q=argon&d=1").text
    page = with_reranker.get("/search?q=argon&d=1&rerank=no").text
    assert "The passages were not reranked." not in page
    assert "rerank=no" in page


def test_the_users_preferences_are_the_forms_defaults(own_library: Braid) -> None:
    app = make_app(own_library)
    preferred = {"mode": "keyword", "k": 3, "alpha": 0.4, "strategy": "hyde", "dataset_ids": [OTHER]}
    site_of(app).accounts.set_preferences(1, preferred)
    client = sign_in(app)
    page = client.get("/search").text
    for checked in ('value="keyword" checked', 'value="hyde" checked', 'name="d" value="2" checked'):
        assert checked in page
    assert 'name="d" value="1" checked' not in page
    assert 'name="k" min="1" max="1000" value="3"' in page
    assert "40% meaning, 60% keywords" in page
    assert 'value="semantic" checked' in client.get("/search?mode=semantic").text


def test_searches_are_counted(own_client: FlaskClient) -> None:
    own_client.get("/search?q=argon&d=1")
    here = site_of(own_client.application)
    assert here.usage.by_user() == [(1, "search", 1)]
    assert 'braid_searches_total{mode="hybrid",strategy="basic"} 1.0' in here.metrics.text().decode()


# ---------------------------------------------------------------- a passage in its document


def test_a_cited_page_is_named(client: FlaskClient) -> None:
    page = client.get("/search?q=annealed&d=1&mode=keyword").text
    href = re.search(r'href="(/documents/passage/[^"]+)"', page)
    assert href is not None
    document = client.get(href[1].replace("&amp;", "&")).text
    assert "Cited: page 3" in text_of(document)
    assert document.index(">page 3</p>") < document.index('id="cited"')


# ---------------------------------------------------------------- three fields

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


# ---------------------------------------------------------------- why not?


def why(client: FlaskClient, name: str, **arguments: object) -> str:
    search = {"q": "annealed alloy", "d": [NOTES, OTHER], "mode": "hybrid", "name": name, **arguments}
    response = client.get("/search/why-not", query_string=search)
    assert response.status_code == 200
    return text_of(response.text)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("alloy", {}, "It is in the results, at rank 1."),
        ("handbook", {}, "Its dataset was not searched."),
        ("garden", {"kind": "pdf"}, "The filters exclude it."),
        ("garden", {"mode": "keyword"}, "The search did not reach it."),
        ("garden", {"mode": "keyword"}, "By keyword: not found, because it contains no word of the query."),
        ("garden", {"mode": "semantic", "k": 1}, "but only 1 passage is shown."),
        ("garden", {"mode": "semantic", "k": 1}, "By meaning: rank"),
    ],
)
def test_a_missing_document_is_explained(
    client: FlaskClient, name: str, arguments: dict[str, object], expected: str
) -> None:
    assert expected in why(client, name, **arguments)


@pytest.mark.parametrize(("language", "expected"), [("en", "The filters exclude it."), ("ja", None), ("ko", None)])
def test_the_explanation_is_in_the_pages_language(client: FlaskClient, language: str, expected: str | None) -> None:
    page = why(client, "garden", kind="pdf", lang=language)
    assert expected is None or expected in page


def test_equal_text_is_explained(own_client: FlaskClient, put: Put) -> None:
    put(OTHER, "copy.md", LIBRARY[0][4], title="Copied trial")
    texts = {why(own_client, name) for name in ("lab/alloy", "copy.md")}
    assert any("Another document contains the same text." in text for text in texts)
    assert any("It is in the results, at rank 1." in text for text in texts)


def test_several_documents_are_offered(client: FlaskClient) -> None:
    page = client.get("/search/why-not?q=alloy&d=1&name=lab/").text
    assert "Which of these?" in page
    hrefs = re.findall(r'<a href="(/search/why-not\?[^"]+document=\d+)">', page)
    assert len(hrefs) == 2
    assert "It is in the result" in client.get(hrefs[0].replace("&amp;", "&")).text


def test_an_unreadable_document_is_explained(own_client: FlaskClient, own_library: Braid) -> None:
    own_library.ledger.put_failed(NOTES, "broken.pdf", title="", file_type="pdf", error="broken.pdf is damaged")
    page = why(own_client, "broken")
    assert "It could not be read" in page
    assert "broken.pdf is damaged" in page


def test_unknown_names_and_empty_forms_are_answered(client: FlaskClient) -> None:
    assert "No document in your datasets has" in why(client, "zeppelin")
    offered = client.get("/search/why-not?q=alloy&d=1")
    assert offered.status_code == 200
    assert "Newest documents" in offered.text
    href = re.search(r'<a href="(/search/why-not\?[^"]+name=[^"]+)">', offered.text)
    assert href is not None
    assert "Newest documents" not in client.get(href[1].replace("&amp;", "&")).text
    assert "Enter what you searched for." in client.get("/search/why-not?name=alloy").text


def test_documents_of_others_are_neither_offered_nor_explained(
    own_client: FlaskClient, own_library: Braid, put: Put
) -> None:
    other = add_user(own_client.application, "bob")
    put(own_library.ledger.add_dataset(other.id, "Diary").id, "lab/secret.md", "The secret alloy.")
    assert "secret" not in own_client.get("/search/documents.json?name=lab").text
    assert "No document in your datasets" in why(own_client, "secret")
    (document,) = documents_named(own_library.ledger.database, {3}, "secret")
    assert own_client.get(f"/search/why-not?q=alloy&document={document.id}").status_code == 404
    assert own_library.ledger.document_with_id(document.id, {NOTES}) is None


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("lab/", ["lab/alloy.pdf", "lab/polymer.md"]),
        ("ALLOY", ["lab/alloy.pdf"]),
        ("garden", ["home/garden.docx"]),
        ("%", []),
        ("_", []),
        ("", []),
        ("\x00", []),
    ],
)
def test_names_are_offered_while_typing(client: FlaskClient, part: str, expected: list[str]) -> None:
    listed = client.get("/search/documents.json", query_string={"name": part}).json
    assert listed is not None
    assert [document["source"] for document in listed] == expected


# ---------------------------------------------------------------- the comparison


def hit(chunk_id: str, *also: str) -> Hit:
    passage = Passage(chunk_id, 1, 1, "c", "s", "t", "md", "", "x", 0, None, None, None, None, None, {})
    return Hit(passage, 1.0, (), tuple(Occurrence(each, 2, "s", "t") for each in also))


def test_what_moved_is_marked() -> None:
    first, second = [hit("a"), hit("b"), hit("c"), hit("d")], [hit("c"), hit("b"), hit("new"), hit("a")]
    left, right = moves(first, second)
    assert [move.kind for move in left] == ["kept", "kept", "kept", "gone"]
    assert right == [Move("up", 2), Move("same"), Move("new"), Move("down", 3)]


def test_equal_text_is_the_same_hit_whichever_place_stands_first() -> None:
    assert moves([hit("a", "b")], [hit("b", "a")]) == ([Move("kept")], [Move("same")])
    assert moves([], [hit("a")]) == ([], [Move("new")])
    assert moves([hit("a")], []) == ([Move("gone")], [])


def test_two_configurations_stand_side_by_side(client: FlaskClient) -> None:
    ways = {"a_mode": "keyword", "b_mode": "semantic", "a_d": [NOTES], "b_d": [NOTES, OTHER]}
    page = client.get("/search/compare", query_string={"q": "annealed alloy", **ways}).text
    first, second = page.partition('id="results"')[2].split('class="outcome"')[1:]
    assert "Alloy trial" in first
    assert "Garden" not in first
    assert 'class="move new">new' in second
    assert "1 passage is in both results" in page
    assert "same rank" in text_of(second)


def test_what_is_gone_is_marked_in_the_first_list(client: FlaskClient) -> None:
    ways = {"a_mode": "semantic", "b_mode": "keyword", "a_d": [NOTES], "b_d": [NOTES]}
    page = client.get("/search/compare", query_string={"q": "annealed", **ways}).text
    assert page.count('class="move gone">dropped out') == 1


def test_the_search_page_leads_to_the_comparison_with_its_choices(client: FlaskClient) -> None:
    page = client.get("/search?q=annealed&d=1&mode=hybrid&strategy=hyde&kind=pdf").text
    href = re.search(r'<a href="(/search/compare[^"]+)">Compare with another method', page)
    assert href is not None
    compared = client.get(href[1].replace("&amp;", "&")).text
    assert compared.count('<option value="hyde" selected>') == 2
    assert '<input type="hidden" name="kind" value="pdf">' in compared
    first, second = re.findall(r'<select name="._mode">(.*?)</select>', compared, re.DOTALL)
    assert 'value="hybrid" selected' in first
    assert 'value="keyword" selected' in second
    assert "in both results" in compared


def test_the_comparison_asks_for_a_query_first(client: FlaskClient) -> None:
    page = client.get("/search/compare").text
    assert "See what another search method changes" in page
    assert client.get("/search/compare?q=x&a_mode=wrong").status_code == 400


def test_a_near_word_is_offered_and_searched_when_it_is_chosen(client: FlaskClient) -> None:
    page = client.get("/search?q=anealed+aloy+argonn&d=1&mode=keyword&k=3")
    (link,) = re.findall(r'<p class="meant">Did you mean: <a href="([^"]*)">annealed aloy argon</a>', page.text)
    followed = client.get(html.unescape(link))
    assert "450" in text_of(followed.text)
    assert 'value="annealed aloy argon"' in followed.text


def test_more_hits_are_a_link_away_until_there_are_none(client: FlaskClient) -> None:
    asked = {"q": "annealed alloy argon", "d": "all", "k": 1}
    first = client.get("/search", query_string=asked).text
    assert re.search(r"1 passage, the best of \d+", text_of(first))
    [further] = re.findall(r'<a class="button" id="further" href="([^"]+)" data-from="2">Show more</a>', first)
    further = html.unescape(further)
    assert further.endswith("#hit-2")
    more = client.get(further.partition("#")[0]).text
    assert titles(more)[:1] == titles(first)
    assert 1 < len(titles(more)) <= 11
    assert 'name="k" min="1" max="1000" value="1"' in more  # the number that was chosen stays
    assert "more=10" in re.findall(r'<h2 id="title-1">.*?href="([^"]+)"', more)[0]  # and the way back has all of them
    words = {"q": "annealed", "d": "all", "mode": "keyword", "k": 20}
    every = client.get("/search", query_string=words).text
    assert ("No other passages match." in every, 'id="further"' in every) == (True, False)
    assert client.get("/search", query_string={**asked, "more": "many"}).status_code == 400


def test_that_nothing_else_matches_is_said_only_where_it_is_known(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"q": "annealed alloy argon", "d": "all", "k": 1}
    long = client.get("/search", query_string=asked | {"q": "annealed alloy argon " * 30}).text  # no link carries it
    monkeypatch.setattr(answer, "MAX_K", 1)
    for page in (long, client.get("/search", query_string=asked).text):
        assert 'id="further"' not in page
        assert "No other passages match." not in page
        assert re.search(r"1 passage, the best of \d+", text_of(page))


def test_hits_are_listed_by_document_or_by_passage_at_a_click(client: FlaskClient) -> None:
    asked = {"q": "alloy", "d": "all", "more": 10}
    page = client.get("/search", query_string=asked).text
    links = {
        text: html.unescape(href)
        for href, text in re.findall(r'<a href="([^"]+)"[^>]*>(By document|By passage)</a>', page)
    }
    assert ("group=document" in links["By document"], "more=" in links["By document"]) == (True, False)
    grouped = client.get(links["By document"]).text
    assert re.search(r'aria-current="true">By document<', grouped)
    assert not re.search(r'<details class="card" id="options" open>', grouped)


def test_a_document_with_the_text_is_named_once(own_library: Braid, own_client: FlaskClient) -> None:
    for source in ("a/policy.md", "b/policy.md", "c/policy.md"):
        document = DocumentInput(source, "Travel policy", "md", (ChunkInput("A hotel costs 140 EUR."),))
        own_library.ledger.put_document(NOTES, document)
    assert own_library.indexer.wait(WAIT_S)
    page = own_client.get("/search", query_string={"q": "hotel costs", "d": [NOTES], "mode": "keyword"}).text
    [also] = re.findall(r"Also in:(.*?)</p>", page, re.DOTALL)
    assert also.count("Travel policy") == 1


def test_letters_without_meaning_are_not_shown(own_library: Braid, own_client: FlaskClient) -> None:
    letters = "l i s t l i n e w i l l b e r e a d alloys"
    own_library.ledger.put_document(NOTES, DocumentInput("a.pdf", "Form", "pdf", (ChunkInput(letters, page=1),)))
    assert own_library.indexer.wait(WAIT_S)
    asked = {"q": "alloys", "d": [NOTES], "mode": "keyword"}
    for path in ("/search", "/search/compare"):
        page = own_client.get(path, query_string=asked).text
        assert "The file does not say which letters these are." in page
        assert "l i s t" not in page
    by_meaning = own_client.get("/search", query_string={**asked, "mode": "semantic"}).text
    hit = by_meaning[by_meaning.index("The file does not say") - 2000 :].partition("The file does not say")[0]
    assert hit.rpartition("<article")[2].count("weak match") == 1
