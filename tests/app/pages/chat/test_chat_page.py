"""The chat page over a real Braid: asking, streaming, stopping, feedback, and what belongs to whom."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app import first_start
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.app.pages.chat.asked import QUESTION, STREAM, Put, ask, checked, events, last, post, stored
from tests.fakes import HashEmbeddings
from tests.model_server import ModelServer
from tests.web import make_app, sign_in, site_of
from tests.worlds import eventually

# ---------------------------------------------------------------- asking


def test_the_first_page_leads_to_the_chat(client: FlaskClient) -> None:
    assert client.get("/").location == "/chat"


def test_an_answer_is_streamed_with_citations_and_stored(client: FlaskClient, library: Braid) -> None:
    response = ask(client)
    assert response.mimetype == "text/event-stream"
    kinds = [kind for kind, _ in events(response)]
    assert kinds[0] == "turn"
    assert kinds[-1] == "answer"
    assert {"stage", "query", "search"} <= set(kinds)
    assert "Notes" in last(response, "search")["text"]
    answer = last(response)
    assert 'class="cite"' in answer["html"]
    assert "/documents/passage/" in answer["html"]
    assert answer["conversation"] == "/chat/1"
    question, written = stored(library)
    assert (question.text, question.settings["dataset_ids"]) == (QUESTION, [1])
    assert [citation.source for citation in written.citations] == ["fusion.md"]


def test_a_reloaded_page_shows_what_was_streamed(client: FlaskClient) -> None:
    shown = last(ask(client))["html"]
    page = client.get("/chat/1").get_data(as_text=True)
    for part in ("Rankings are fused by rank", "How this was found", "Notes", "/chat/1/messages/2/how"):
        assert part in shown
        assert part in page
    how = client.get("/chat/1/messages/2/how").get_data(as_text=True)
    for part in ("Searched for", "Notes", "contribution ", "/documents/passage/"):
        assert part in how
    assert client.get("/chat/1/messages/1/how").status_code == 404, "a question"


def test_a_citation_opens_its_passage(client: FlaskClient) -> None:
    href = re.search(r'class="cite" href="([^"#]+)', last(ask(client))["html"])
    assert href
    page = client.get(href[1].replace("&amp;", "&")).get_data(as_text=True)
    assert "Cited passage" in page
    assert '<mark id="cited">' in page


def test_questions_follow_each_other_in_a_conversation(client: FlaskClient, library: Braid) -> None:
    answer = last(ask(client))
    again = last(ask(client, "And why?", path=answer["messages"]))
    assert again["conversation"] == answer["conversation"]
    assert [message.role for message in stored(library)] == ["user", "assistant"] * 2


def test_without_scripts_the_form_answers_with_a_page(client: FlaskClient) -> None:
    response = post(client, "/chat/messages", text=QUESTION, d="1")
    assert response.status_code == 303
    assert response.location == "/chat/1#message-2"
    assert "Rankings are fused by rank" in client.get("/chat/1").get_data(as_text=True)


def test_without_a_model_the_answer_says_so_and_leads_administrators_to_the_models(client: FlaskClient) -> None:
    html = last(ask(client))["html"]
    assert "Word for word from the documents:" in html
    assert 'href="/admin/models"' in html
    assert "Quoted without a language model:" in client.get("/chat/1/export.md").text, "what is stored stays"
    for address in ("/chat/1", "/chat/1/print"):
        page = client.get(address, headers={"Accept-Language": "ja"}).text
        assert "文書からそのまま引用しました：" in page
        assert "Quoted without" not in page


def test_no_dataset_means_all_personal_ones_by_name(client: FlaskClient, library: Braid) -> None:
    ask(client, d=[])
    assert stored(library)[0].settings["dataset_ids"] == [1, 2]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": " "}, "text"),
        ({"mode": "loud"}, "mode"),
        ({"strategy": "magic"}, "strategy"),
        ({"alpha": "much"}, "alpha"),
        ({"k": "0"}, "k"),
        ({"d": ["one"]}, "dataset_ids"),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(common_client: FlaskClient, fields: dict[str, Any], field: str) -> None:
    response = ask(common_client, **fields)
    assert response.status_code == 400
    assert response.get_json()["field"] == field
    assert "Your conversations will appear here" in common_client.get("/chat/conversations").get_data(as_text=True)


def test_a_question_needs_its_token_against_forgery(client: FlaskClient) -> None:
    assert client.post("/chat/messages", data={"text": QUESTION}, headers=STREAM).status_code == 400


# ---------------------------------------------------------------- a model that writes


def test_the_answer_of_a_model_is_rendered_safely(model_client: FlaskClient, model: ModelServer) -> None:
    model.reply = lambda _: "**By rank** [1]. <script>alert(1)</script> ![x](https://evil.example/p.png)"
    html = last(ask(model_client))["html"]
    assert "<strong>By rank</strong>" in html
    assert "<script" not in html
    assert "<img" not in html
    assert "writer" in model_client.get("/chat/1/messages/2/how").text


def test_an_answer_links_to_no_address_of_the_model_anywhere(model_client: FlaskClient, model: ModelServer) -> None:
    model.reply = lambda _: "By rank [1]. ![x](https://evil.example/p.png) [bank](https://evil.example/?q=secret)"
    response = ask(model_client)
    shown = response.get_data(as_text=True)
    assert "evil.example" in shown
    assert 'href=\\"https://evil.example' not in shown, "while it is written neither"
    conversation = last(response)["conversation"]
    assert "https://evil.example" not in "".join(re.findall(r'href="([^"]*)"', model_client.get(conversation).text))
    exported = model_client.get(f"{conversation}/export.md").get_data(as_text=True)
    assert r"\![x] (https://evil.example/p.png) [bank] (https://evil.example/?q=secret)" in exported


def test_the_featured_passage_is_under_its_title_with_the_answering_sentence_in_bold(
    library: Braid, client: FlaskClient, put: Put
) -> None:
    text = "The hall is old. The gasket of the pump is changed every year. Only trained persons do it."
    put(1, "pump.md", text, title="Manual of the pump")
    put(1, "other.md", "The gasket of another pump is changed twice.", title="Another manual")
    html = last(ask(client, "How often is the gasket of the pump changed?"))["html"]
    featured, _, others = html.partition("Also in")
    assert 'class="source featured"' in featured
    assert featured.index("Manual of the pump") < featured.index(
        "<strong>The gasket of the pump is changed every year."
    )
    assert "Another manual" in others
    page = client.get("/chat/1").get_data(as_text=True)
    assert 'class="source featured"' in page, "it is stored"
    places = {text[int(start) : int(end)] for start, end in re.findall(r"said=(\d+)-(\d+)", featured)}
    assert {place.strip() for place in places} == {"The gasket of the pump is changed every year."}


def test_a_quote_of_markdown_is_shown_without_its_signs(library: Braid, client: FlaskClient, put: Put) -> None:
    text = "The hall is `old`. The **gasket** of the pump is [changed](https://a.example) every year. Keep snake_case."
    put(1, "pump.md", text, title="Manual of the pump")
    html = last(ask(client, "How often is the gasket of the pump changed?"))["html"]
    assert "<strong>The gasket of the pump is changed every year." in html
    assert "Keep snake_case." in html
    put(1, "motor.txt", "The **belt** of the motor is changed monthly.", title="Motor")
    html = last(ask(client, "How often is the belt of the motor changed?"))["html"]
    assert "The belt of the motor is changed monthly." in html, "plain text is written so, too"


def test_what_is_only_related_is_shown_once_among_the_sources(library: Braid, client: FlaskClient, put: Put) -> None:
    put(1, "gate.md", "The gate of the yard is open from 6:30 to 19:00.", title="The gate")
    html = last(ask(client, "What is the telephone number of the gate of the yard?"))["html"]
    assert "This was not found. The closest passages:" in html
    assert html.count("open from 6:30 to 19:00") == 1
    assert html.index("closest passages:") < html.index("open from 6:30") < html.index("What may help")
    assert "Show the closest passages" not in html, "they stand above"
    assert "next-questions" not in html, "there is nothing to go on with"


def test_a_question_that_goes_on_from_nothing_is_asked_back(library: Braid, client: FlaskClient, put: Put) -> None:
    put(1, "gate.md", "The gate of the yard is open from 6:30 to 19:00 after that.", title="The gate")
    html = last(ask(client, "And after that?"))["html"]
    assert "Please name what it is about." in html
    assert "open from" not in html
    assert "What may help" not in html


def test_what_was_not_found_can_be_asked_again_when_a_document_has_come_since(
    library: Braid, client: FlaskClient, put: Put
) -> None:
    put(1, "gate.md", "The gate of the yard is open from 6:30 to 19:00.", title="The gate")
    last(ask(client, "What is the telephone number of the gate of the yard?"))
    page = "/chat/1"
    assert not stored(library)[1].settings["found"]
    assert "answered before all passages" not in client.get(page).text
    put(1, "telephones.md", "The gate of the yard has the telephone number 4711.")
    assert "answered before all passages" in client.get(page).text


def test_a_failing_model_is_named_and_the_passages_are_quoted(model_client: FlaskClient, model: ModelServer) -> None:
    model.broken = 500
    html = last(ask(model_client))["html"]
    assert "The language model could not be used." in html
    assert "Rankings are fused by rank" in html


def test_a_model_that_is_busy_is_said_to_be_with_a_way_to_ask_again(
    model_client: FlaskClient, model: ModelServer
) -> None:
    model.broken = 429
    page = ask(model_client)
    html = last(page)["html"]
    assert re.search(r"The language model is busy. Try again in \d+ seconds.", html)
    assert 'formaction="/chat/1/messages/2/again">Ask again</button>' in html
    assert "Choose a model in the settings" not in html
    assert "Rate limit reached" not in page.get_data(as_text=True)
    assert "Rate limit reached" not in model_client.get("/chat/1/messages/2/how").text


def test_a_model_is_advised_below_a_quote_until_one_is_chosen(model_client: FlaskClient, put: Put) -> None:
    accounts, advice = site_of(model_client.application).accounts, "Choose a model in the settings"
    accounts.set_preferences(1, {"summary_model": "none"})
    put(1, "staff.csv", "Name | Pay\nAnna | 10 EUR\nBo | 32 EUR", title="staff", file_type="csv")
    calculated = last(ask(model_client, "What is the total pay?"))["html"]
    assert "<strong>42 EUR</strong>" in calculated
    assert advice not in calculated
    assert "SELECT" not in calculated
    assert '<code dir="ltr">SELECT SUM(&#34;Pay&#34;)' in model_client.get("/chat/1/messages/2/how").text
    assert advice in last(ask(model_client))["html"]
    accounts.set_preferences(1, {"summary_model": None})
    assert advice not in model_client.get("/chat/2").text


# ---------------------------------------------------------------- choices


def test_a_conversation_keeps_its_choices_and_a_new_one_only_how_to_search(client: FlaskClient) -> None:
    ask(client, d=["-1"], mode="hybrid", fusion="weighted", alpha="0.25", strategy="multi_query", k="7")
    ask(client, d=["1"], mode="keyword")
    first, new = (client.get(path).get_data(as_text=True) for path in ("/chat/1", "/chat"))
    assert checked(first, "mode", "strategy", "fusion", "d") == ["-1", "hybrid", "weighted", "multi_query"]
    assert 'value="0.25"' in first
    assert 'name="k" min="1" max="1000" value="7"' in first
    assert checked(new, "mode", "d") == ["1", "2", "-1", "keyword"]


def test_the_picker_shows_both_kinds_with_sizes_and_states(client: FlaskClient) -> None:
    page = client.get("/chat").get_data(as_text=True)
    personal, shared = (page.split(f'data-kind="{kind}"')[1].split("</fieldset>")[0] for kind in ("personal", "shared"))
    assert "Notes" in personal
    assert "Handbook" not in personal
    assert "1 document" in personal
    assert 'class="state' not in personal  # only what is not ready is said
    assert "empty" in personal
    assert "Handbook" in shared


def test_the_picker_names_the_languages_of_each_dataset(client: FlaskClient, library: Braid, put: Put) -> None:
    put(-1, "旅行.md", "出張の切符は、総務部の旅行窓口で予約してください。")
    put(-1, "출장.md", "출장 기차표는 총무부 여행 창구에서 예약해 주세요.")

    def languages(path: str) -> list[str]:
        return re.findall(r'<span class="languages">([^<]+)</span>', client.get(path).text)

    assert languages("/chat") == ["English", "English, Japanese, Korean"]
    assert languages("/search") == ["English", "English, Japanese, Korean"]
    assert languages("/chat?lang=ja") == ["英語", "英語、日本語、韓国語"]


def test_the_picker_says_what_is_not_indexed_yet(
    client: FlaskClient, library: Braid, embeddings: HashEmbeddings
) -> None:
    embeddings.failing = True
    library.ledger.put_document(1, DocumentInput("late.md", "Late", "md", (ChunkInput("This comes late."),)))
    eventually(lambda: "state failed" in client.get("/chat").get_data(as_text=True), pause_s=0.1)


def test_examples_are_offered_in_the_language_of_the_page(app: Flask, library: Braid) -> None:
    page = sign_in(app).get("/chat?lang=ja").get_data(as_text=True)
    assert 'value="「Fusion」はどんな内容ですか？"' in page
    assert "Braid" not in "".join(re.findall(r'name="example" value="([^"]*)"', page))


def test_the_sample_has_three_examples(braid: Braid) -> None:
    first_start.prepare(braid)
    client = sign_in(make_app(braid))
    page = client.get("/chat").get_data(as_text=True)
    assert page.count('name="example"') == 3
