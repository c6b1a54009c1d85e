"""The ways to search beside free text: filters, three fields, "why not?", the comparison. Only models are faked."""

from __future__ import annotations

import html
import re

import pytest
from flask.testing import FlaskClient

from braid.app.pages.search import answer
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.app.pages.search.searched import HANDBOOK, NOTES, OTHER, titles
from tests.web import make_app, sign_in, site_of, text_of
from tests.worlds import WAIT_S


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
