""" "Everything" stays everything: a new dataset is searched, and what was not searched is named with a way to it."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from flask.testing import FlaskClient

from braid.app.pages.search import answer
from braid.core.braid import Braid
from braid.core.chat.quoting.match import CosineScale
from tests.app.pages.chat.asked import ask, checked, stored
from tests.web import csrf_token, site_of

Put = Callable[..., str]
GASKET = "In which hall is the gasket stored?"


def add_gaskets(library: Braid, put: Put) -> int:
    """Add a dataset with the answer to `GASKET`; return its id."""
    dataset = library.ledger.add_dataset(1, "Gaskets").id
    put(dataset, "gasket.md", "The gasket is stored in hall 4.", title="Gasket")
    return dataset


# ---------------------------------------------------------------- chat


def test_a_new_dataset_is_searched_by_whoever_had_everything_ticked(
    client: FlaskClient, library: Braid, put: Put
) -> None:
    ask(client, "How are rankings fused?", d=["1", "2", "-1"])
    new = add_gaskets(library, put)
    assert checked(client.get("/chat").text, "d") == ["1", "2", "3", "-1"], "in a new conversation"
    assert sorted(checked(client.get("/chat/1").text, "d")) == ["-1", "1", "2", "3"], "and in the same one"
    ask(client, GASKET, d=["1", "2", str(new), "-1"])
    assert "hall 4" in stored(library, 2)[1].text


def test_what_an_address_has_ticked_is_not_kept_for_other_conversations(client: FlaskClient) -> None:
    every = checked(client.get("/chat").text, "d")
    page = client.get("/chat?d=1").text
    assert checked(page, "d") == ["1"]
    ask(client, "How are rankings fused?", d=["1"])
    assert checked(client.get("/chat/1").text, "d") == ["1"]
    assert checked(client.get("/chat").text, "d") == every


def test_a_page_that_is_older_than_a_dataset_still_means_everything(
    client: FlaskClient, library: Braid, put: Put
) -> None:
    offered = re.search(r'name="offered" value="([^"]+)"', client.get("/chat").text)
    assert offered
    add_gaskets(library, put)
    ask(client, GASKET, d=offered[1].split(","), offered=offered[1])
    assert "hall 4" in stored(library)[1].text
    assert stored(library)[0].settings["everything"] is True


def test_a_choice_of_some_stays_one_in_its_conversation_alone(client: FlaskClient, library: Braid, put: Put) -> None:
    ask(client, "How are rankings fused?", d=["1"])
    add_gaskets(library, put)
    assert checked(client.get("/chat/1").text, "d") == ["1"]
    assert sorted(checked(client.get("/chat").text, "d")) == ["-1", "1", "2", "3"]


def test_a_new_conversation_begins_with_the_datasets_of_the_settings(client: FlaskClient, library: Braid) -> None:
    accounts = client.application.extensions["braid"].accounts
    accounts.set_preferences(1, {"dataset_ids": [1]})
    assert checked(client.get("/chat").text, "d") == ["1"]
    ask(client, "How are rankings fused?", d=["1", "2", "-1"])
    assert sorted(checked(client.get("/chat/1").text, "d")) == ["-1", "1", "2"]
    assert checked(client.get("/chat").text, "d") == ["1"]


def test_not_found_names_what_was_not_searched_and_searches_it_with_one_click(
    client: FlaskClient, library: Braid, put: Put
) -> None:
    add_gaskets(library, put)
    ask(client, GASKET, d=["2"])  # has no documents, so that nothing is found
    page = client.get("/chat/1").text
    assert "Not searched: Notes (1 document), Gaskets (1 document), Handbook (1 document)." in page
    form = re.search(r'<form class="unsearched" method="post" action="([^"]+)">(.*?)</form>', page, re.DOTALL)
    assert form
    fields = dict(re.findall(r'name="(d|text)" value="([^"]+)"', form[2]))
    client.post(form[1], data={**fields, "csrf_token": csrf_token(client, "/chat")})
    assert "hall 4" in stored(library)[3].text
    assert client.get("/chat/1").text.count('class="unsearched"') == 1, "the new answer needs none"


def test_not_found_offers_what_may_help_in_the_language_of_the_page(
    client: FlaskClient, library: Braid, put: Put
) -> None:
    add_gaskets(library, put)
    ask(client, GASKET, d=["2"])
    page = client.get("/chat/1", headers={"Accept-Language": "ko"}).text
    told = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[page.index('class="ways-on"') :]))
    for way in ("다른 말로 질문", "꼼꼼하게 검색", "가장 비슷한 단락 보기", "문서 추가"):
        assert way in told
    closest = re.search(r'<a class="button" href="(/search[^"]+)"', page)
    assert closest
    assert re.findall(r'name="d" value="(-?\d+)" checked', client.get(unescape(closest[1])).text) == ["2"]
    form = re.search(r'<form class="thoroughly" method="post" action="([^"]+)">(.*?)</form>', page, re.DOTALL)
    assert form
    fields = dict(re.findall(r'name="(d|pace|text)" value="([^"]+)"', form[2]))
    client.post(form[1], data={**fields, "csrf_token": csrf_token(client, "/chat")})
    asked = stored(library)[2]
    assert (asked.text, asked.settings["strategy"], asked.settings["dataset_ids"]) == (GASKET, "multi_query", [2])
    page = client.get("/chat/1").text
    assert (page.count('class="ways-on"'), page.count('class="thoroughly"')) == (2, 1), "nothing is more thorough"
    ask(client, GASKET, d=["all"])
    assert 'class="ways-on"' not in client.get("/chat/2").text


# ---------------------------------------------------------------- search


@pytest.mark.parametrize("question", ["주차장은 어디에 있나요?", "駐車場はどこですか", "Where is the parking lot?"])
def test_a_search_that_finds_nothing_near_says_so_before_the_passages(
    client: FlaskClient, library: Braid, put: Put, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    dataset = library.ledger.add_dataset(1, "Tools").id
    put(dataset, "붓.md", "붓은 어디에 있나요? 도구 상자에 있습니다.", title="붓")
    put(dataset, "筆.md", "筆はどこですか。道具箱にあります。", title="筆")
    put(dataset, "brush.md", "Where is the brush? It is in the box.", title="Brush")
    monkeypatch.setattr(answer, "SCALES", {"fake:hash-64": CosineScale(0.9, 0.99, 0.995)})
    page = client.get("/search", query_string={"q": question, "d": dataset}).text
    assert "Nothing close was found" in page
    assert page.index("Show them anyway") < page.index('<ol class="hits">') < page.rindex("</details>")
    assert page.index("the nearest ones") < page.index('<li class="hit"')
    assert page.count("chip weak") == page.count('<li class="hit"') > 0
    assert "Not searched: " in page, "and where else to look"
    near = client.get("/search", query_string={"q": "도구 상자", "d": dataset}).text
    assert "Nothing close" not in near


def test_a_search_says_how_many_hits_each_dataset_gave(client: FlaskClient) -> None:
    def searched(chosen: str, text: str) -> str:
        page = client.get("/search", query_string={"q": text, "d": chosen, "mode": "keyword"}).text
        [line] = re.findall(r'<p class="searched">(.*?)</p>', page)
        return str(line)

    assert searched("all", "trains rankings") == "in Notes (1), Empty (0), Handbook (1)"
    assert searched("1", "rankings") == "in Notes"
    assert searched("all", "zeppelin") == "in Notes, Empty, Handbook"


def test_a_search_without_hits_names_what_was_not_searched(client: FlaskClient, library: Braid, put: Put) -> None:
    add_gaskets(library, put)
    page = client.get("/search", query_string={"q": "gasket", "d": "1", "mode": "keyword"}).text
    assert "Not searched: Gaskets (1 document), Handbook (1 document)." in page
    href = re.search(r'class="unsearched">[^<]*<a href="([^"]+)">Search them too', page)
    assert href
    found = client.get(href[1].replace("&amp;", "&")).text
    assert "hall 4" in re.sub(r"<[^>]+>", "", found)
    assert sorted(re.findall(r'name="d" value="(-?\d+)" checked', found)) == ["-1", "1", "2", "3"]


def test_links_of_a_search_everywhere_have_datasets_that_are_to_come(client: FlaskClient) -> None:
    page = client.get("/search", query_string={"q": "trains", "d": ["1", "2", "-1"]}).text
    links = re.findall(r'href="(/(?:compare|search|documents)[^"]*q=trains[^"]*)"', page)
    assert links
    assert all("d=all" in link and "d=1" not in link for link in links)


def test_a_search_page_that_is_older_than_a_dataset_still_means_everything(
    client: FlaskClient, library: Braid, put: Put
) -> None:
    offered = re.search(r'name="offered" value="([^"]+)"', client.get("/search").text)
    assert offered
    add_gaskets(library, put)
    form = {"q": "gasket", "d": offered[1].split(","), "offered": offered[1]}
    page = client.get("/search", query_string=form).text
    assert "hall 4" in re.sub(r"<[^>]+>", "", page)
    assert sorted(re.findall(r'name="d" value="(-?\d+)" checked', page)) == ["-1", "1", "2", "3"]
    some = client.get("/search", query_string={**form, "d": ["1", "2"]}).text
    assert re.findall(r'name="d" value="(-?\d+)" checked', some) == ["1", "2"]


def test_a_dataset_that_cannot_be_read_is_named_beside_everything(client: FlaskClient) -> None:
    for given in (["1", "2", "-1", "-77"], ["all", "-77"]):
        page = client.get("/search", query_string={"q": "trains", "d": given}).text
        assert "Dataset -77 was skipped" in page


def test_a_link_without_datasets_searches_those_that_the_user_prefers(client: FlaskClient) -> None:
    def ticked(**arguments: object) -> list[str]:
        page = client.get("/search", query_string={"q": "rankings", **arguments}).text
        return re.findall(r'name="d" value="(-?\d+)" checked', page)

    assert ticked() == ["1", "2", "-1"], "all of them, until the user prefers others"
    accounts = site_of(client.application).accounts
    before = dict(accounts.get(1).preferences)
    accounts.set_preferences(1, {"dataset_ids": [1]})
    try:
        assert ticked() == ["1"]
        assert "in Notes" in client.get("/search", query_string={"q": "rankings"}).text
        assert ticked(d=["2"]) == ["2"]
        assert ticked(offered="1,2,-1") == ["1", "2"], "a form without a tick searches the personal ones"
    finally:
        accounts.set_preferences(1, before)
