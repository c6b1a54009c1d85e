"""What a page says of an answer's sentences, and where its citations lead."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.core.braid import Braid
from braid.core.chat.citations import Citation
from braid.core.chat.marks import CitationFilter, shown
from braid.core.chat.quoting.match import ONLY_WEAK
from braid.core.chat.store import ConversationStore
from braid.core.chat.support.check import check_answer
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.errors import Reason
from braid.core.text.analyzer import Analyzer
from braid.core.types import Query, SearchResult
from tests.worlds import document

TEXT = "The pump is sold in Japan since May 2024. Its warranty is 30 days. It has <b>no</b> filter."
MARK = '<mark class="{}">'


def answered(
    braid: Braid, said: str, generator: str = "openai:writer", others: tuple[str, ...] = (), notes: tuple[str, ...] = ()
) -> int:
    """Store an answer of a model about a pump, as a turn does; returns the id of its conversation."""
    user_id = braid.ledger.users()[0].id
    dataset = braid.ledger.add_dataset(user_id, "Pumps").id
    put = braid.ledger.put_document(dataset, document("pump.md", TEXT, *others, title="Pump"))
    passages = braid.ledger.document_passages(put.document_id, [dataset])
    citations = tuple(Citation(number, passage, passage.text) for number, passage in enumerate(passages, start=1))
    marked = CitationFilter(frozenset(each.number for each in citations)).read(said)
    text, marks = shown(marked)
    nothing = SearchResult(Query("pump"), "basic", "none", (), (), ())
    result = ChatResult(
        "pump", "pump", "none", nothing, text, generator, True, citations,
        support=check_answer(marked, citations, Analyzer()), marks=marks, notes=notes,
    )  # fmt: skip
    store = ConversationStore(braid.ledger, braid.registry)
    return store.add(store.create(user_id).id, ChatRequest(user_id, "The pump?"), result).conversation_id


def page_of(client: FlaskClient, braid: Braid, said: str, **how: Any) -> str:
    return client.get(f"/chat/{answered(braid, said, **how)}").get_data(as_text=True)


def remarks(page: str) -> list[str]:
    found = re.search(r'<ul class="checked".*?</ul>', page, re.DOTALL)
    plain = re.sub(r"<(svg|button).*?</\1>|<[^>]+>", "", found[0], flags=re.DOTALL) if found else ""
    return [line.strip() for line in plain.splitlines() if line.strip()]


@pytest.mark.parametrize(("generator", "times"), [("openai:writer", 1), ("extractive", 0)])
def test_an_answer_from_weak_matches_says_so_once(
    client: FlaskClient, library: Braid, generator: str, times: int
) -> None:
    page = page_of(client, library, "It is 30 days [1].", generator=generator, notes=(Reason(ONLY_WEAK),))
    assert page.count("Only weak matches were found, so check the answer against its sources") == times


@pytest.mark.parametrize("said", ["Its warranty is 30 days [1].", "Customers may bring it back for a month [1]."])
def test_nothing_is_said_of_what_stands_there_or_cannot_be_told(client: FlaskClient, library: Braid, said: str) -> None:
    page = page_of(client, library, said)
    assert remarks(page) == []
    assert "<mark" not in page


def test_what_differs_is_marked_and_named_with_both_wordings(client: FlaskClient, library: Braid) -> None:
    page = page_of(
        client, library, "The **pump** is sold in Japan since May 2024 [1]. Its warranty is **35 days** [1]."
    )
    assert remarks(page) == ["Differs from [1]: 35 days, there 30 days"]
    opened = MARK.format("differs")
    assert f"{opened}Its warranty is </mark><strong>{opened}35 days</mark></strong>" in page
    assert page.count("<mark") == 5, "only the sentence that differs, with its citation"
    [href] = re.findall(r'Differs from <a class="cite" href="([^"#]+)', page)
    assert "<b>Its warranty is 30 days.</b>" in client.get(href.replace("&amp;", "&")).text


def test_a_number_that_is_nowhere_is_named_quietly(client: FlaskClient, library: Braid) -> None:
    page = page_of(client, library, "Some 480 of them were shipped abroad [1].")
    assert remarks(page) == ["480: not found in [1]"]
    assert "<mark" not in page


def test_sentences_without_a_source_are_counted_and_can_be_asked_for_again(client: FlaskClient, library: Braid) -> None:
    page = page_of(client, library, "Its warranty is 30 days [1]. It is the best pump of the world.")
    assert remarks(page) == ["The underlined sentence cites no source."]
    assert f"{MARK.format('uncited')}It is the best pump of the world.</mark>" in page
    assert "Ask again, with sources" in page
    assert remarks(page_of(client, library, "Pumps are lovely things.")) == ["This answer cites no source."]
    assert remarks(page_of(client, library, "Pumps are lovely things.", generator="extractive")) == []


def test_what_stands_in_another_source_is_said_to(client: FlaskClient, library: Braid) -> None:
    page = page_of(client, library, "Rain falls [1]. Its warranty is 30 days [2].", others=("It rains on Mondays.",))
    assert remarks(page) == ["Its warranty is 30 days: in [1], not in [2]"]


def test_words_of_a_document_are_no_markup(client: FlaskClient, library: Braid) -> None:
    page = page_of(client, library, "Its warranty is <i>35 days</i> [1].")
    assert "<i>35" not in page
    assert "&lt;i&gt;35 days" in page


def test_each_citation_leads_to_the_sentence_that_supports_it(client: FlaskClient, library: Braid) -> None:
    page = page_of(client, library, "The warranty is 30 days [1]. It is sold in Japan since May 2024 [1].")
    hrefs = re.findall(r'<a class="cite" href="([^"#]+)', page)
    marked = [re.findall(r"<b>(.*?)</b>", client.get(href.replace("&amp;", "&")).text) for href in hrefs[:2]]
    assert marked == [["Its warranty is 30 days."], ["The pump is sold in Japan since May 2024."]]
    assert "<strong>Its warranty is 30 days.</strong>" in page, "the card of the source"
    place = hrefs[1].partition("said=")[2]
    (other,) = re.findall(rf'<p class="excerpt" data-said="{place}" hidden>(.*?)</p>', page)
    assert "<strong>The pump is sold in Japan since May 2024.</strong>" in other, "for a look at the second citation"


def test_the_source_of_a_quote_leads_to_its_sentence_in_bold(client: FlaskClient, library: Braid) -> None:
    """Also where a line before it is quoted, too, with the same citation."""
    said = "Quoted:\n\nThe pump is sold in Japan since May 2024. [1]\n**Its warranty is 30 days.** [1]"
    page = page_of(client, library, said, generator="extractive")
    (href,) = re.findall(r'<a href="([^"#]+)[^"]*" data-number="1" data-source', page)
    marked = re.findall(r"<b>(.*?)</b>", client.get(href.replace("&amp;", "&")).text)
    assert marked == ["Its warranty is 30 days."]


@pytest.mark.parametrize("said", ["", "5", "5-", "9-2", "0-0", "99999-999999", "x-y", "-1-5", "0-99999999"])
def test_an_address_that_names_no_sentence_shows_the_passage(
    client: FlaskClient, library: Braid, app: Flask, said: str
) -> None:
    page = page_of(client, library, "The warranty is 30 days [1].")
    href = re.findall(r'<a class="cite" href="([^"#?]+)', page)[0]
    found = client.get(f"{href}?said={said}")
    assert found.status_code == 200
    assert "has-sentence" not in found.text
    assert '<mark id="cited">' in found.text


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("ja", "[1] と異なります：回答では「35 days」、出典では「30 days」"),
        ("ko", "[1]의 내용과 달라요: 답변에는 “35 days”, 출처에는 “30 days”"),
    ],
)
def test_remarks_are_in_the_language_of_the_page(client: FlaskClient, library: Braid, language: str, told: str) -> None:
    number = answered(library, "Its warranty is 35 days [1].")
    page = client.get(f"/chat/{number}", headers={"Accept-Language": language}).get_data(as_text=True)
    assert remarks(page) == [told]
