"""Filters that questions ask for, on pages, over HTTP, for tools and on the command line."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from flask.testing import FlaskClient

from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.store import ConversationStore
from braid.core.chat.types import ChatRequest
from braid.core.errors import InvalidInputError
from tests.web import csrf_token, make_app, sign_in
from tests.worlds import WAIT_S, document

QUESTION = "What is the rate of the hotel in the spreadsheets?"
SAID = "in the spreadsheets"


@pytest.fixture
def library(braid: Braid) -> Braid:
    user = braid.ledger.add_user("local")
    notes = braid.ledger.add_dataset(user.id, "Travel notes").id
    for file_type in ("xlsx", "md"):
        said = "The rate of the hotel in {} is {} in {}."
        texts = tuple(said.format(city, number, file_type) for number, city in enumerate("ABCDEFG"))
        stored = document(f"rates.{file_type}", *texts, title="Rates", file_type=file_type)
        braid.ledger.put_document(notes, stored)
    assert braid.indexer.wait(WAIT_S)
    return braid


@pytest.fixture
def client(library: Braid) -> FlaskClient:
    return sign_in(make_app(library))


def ask(client: FlaskClient, path: str, **fields: Any) -> str:
    """The page after a turn, without scripts."""
    headers, data = {"Accept": "text/html"}, {"text": QUESTION, **fields, "csrf_token": csrf_token(client)}
    response = client.post(path, data=data, headers=headers, follow_redirects=True)
    assert response.status_code == 200
    return response.text


def chips(page: str) -> list[tuple[str, str, str]]:
    """Of each chip its text, the name of its button and the words."""
    lists = "".join(re.findall(r'<ul class="chips read-filters".*?</ul>', page, re.DOTALL))
    found = re.findall(r'<span[^>]*>(.*?)</span>.*?name="(filter_o\w+)" value="([^"]*)"', lists, re.DOTALL)
    return [tuple(map(unescape, each)) for each in found]  # type: ignore[misc]


def file_types(library: Braid) -> set[str]:
    """The types of the files that the newest answer was written from."""
    answer = ConversationStore(library.ledger, library.registry).messages(1, 1)[-1]
    return {hit["source"].rpartition(".")[2] for hit in answer.settings["search"]["hits"]}


def test_a_chip_is_taken_off_and_put_on_again(client: FlaskClient, library: Braid) -> None:
    page = ask(client, "/chat/messages")
    assert chips(page) == [("Files: Tables", "filter_off", SAID)]
    assert file_types(library) == {"xlsx"}
    again = re.search(r'class="again"[^>]*formaction="([^"]*)"', page)
    assert again is not None
    page = ask(client, again[1], filter_off=SAID)
    assert chips(page) == [("Files: Tables", "filter_on", SAID)]
    assert file_types(library) == {"xlsx", "md"}
    newest = ConversationStore(library.ledger, library.registry).messages(1, 1)[-1].id
    page = ask(client, f"/chat/1/messages/{newest}/again")
    assert chips(page) == [("Files: Tables", "filter_on", SAID)], "asked again, it is as the user left it"
    newest = ConversationStore(library.ledger, library.registry).messages(1, 1)[-1].id
    page = ask(client, f"/chat/1/messages/{newest}/again", filter_on=SAID)
    assert chips(page) == [("Files: Tables", "filter_off", SAID)]
    assert file_types(library) == {"xlsx"}


def test_how_an_answer_was_found_says_what_was_read(client: FlaskClient) -> None:
    ask(client, "/chat/messages")
    page = client.get("/chat/1/messages/2/how").text
    assert "Your question asks for it. It leaves 7 passages." in page


def test_the_search_page_has_links(client: FlaskClient) -> None:
    page = client.get("/search", query_string={"q": QUESTION}).text
    link = re.search(r'<ul class="chips read-filters".*?<a href="([^"]*)"', page, re.DOTALL)
    assert link is not None
    assert "rates.md" not in page
    assert "rates.md" in client.get(unescape(link[1])).text


@pytest.mark.parametrize(
    ("language", "shown"),
    [("ja", "表"), ("ko", "스프레드시트")],
)
def test_chips_are_in_the_language_of_the_page(client: FlaskClient, language: str, shown: str) -> None:
    page = client.get("/search", query_string={"q": QUESTION}, headers={"Accept-Language": language}).text
    chip = re.search(r'<ul class="chips read-filters".*?</ul>', page, re.DOTALL)
    assert chip is not None
    assert shown in chip[0]
    assert "Files" not in chip[0]


def test_the_api_reads_when_it_is_told_to_and_in_a_chat(client: FlaskClient) -> None:
    token = {"X-CSRFToken": csrf_token(client)}

    def post(path: str, **body: Any) -> Any:
        return client.post(f"/api/v1/{path}", json=body, headers=token)

    assert post("search", query=QUESTION).json["read_filters"] == []
    found = post("search", query=QUESTION, question_filters="on").json
    [read] = found["read_filters"]
    assert (read["kind"], read["said"], read["applied"], read["passages"]) == ("file_type", SAID, True, 7)
    assert {hit["passage"]["file_type"] for hit in found["hits"]} == {"xlsx"}
    off = post("search", query=QUESTION, question_filters="on", filter_words={SAID: False}, top_k=14).json
    assert {hit["passage"]["file_type"] for hit in off["hits"]} == {"xlsx", "md"}
    assert post("search", query=QUESTION, filter_words={SAID: False}).status_code == 400
    assert [each["applied"] for each in post("chat", message=QUESTION).json["search"]["read_filters"]] == [True]
    assert post("chat", message=QUESTION, question_filters="off").json["search"]["read_filters"] == []
    assert post("search", purpose="hotels", question_filters="on").status_code == 400


def test_all_that_a_turn_reads_is_within_the_filters(library: Braid) -> None:
    request = ChatRequest(1, QUESTION, options={"k": 3})
    result = Conversation(library).ask(request)
    assert {hit.passage.file_type for hit in result.search.hits} == {"xlsx"}
    assert [each.said for each in result.search.read_filters] == [SAID]
    unread = ChatRequest(1, QUESTION, options={"question_filters": "off"}, filter_words={SAID: True})
    with pytest.raises(InvalidInputError, match="not read for filters"):
        Conversation(library).ask(unread)
