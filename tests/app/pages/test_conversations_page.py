"""The list of conversations, thumbs and clicks, and what belongs to whom."""

from __future__ import annotations

import io
import re
import time
from datetime import UTC, datetime

import pytest
from docx import Document
from flask import Flask
from flask.testing import FlaskClient
from pypdfium2 import PdfDocument
from sqlalchemy import text

from braid.app.pages.admin import activity
from braid.app.pages.chat import manage
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.feedback import FeedbackStore
from braid.core.chat.store import ConversationStore
from braid.core.chat.types import ChatRequest
from braid.core.jobs.store import NewJob
from tests.app.pages.chat.asked import QUESTION, STREAM, ask, last, post, stored
from tests.web import add_user, csrf_token, sign_in, site_of, text_of


@pytest.fixture(scope="module")
def asked_client(common_client: FlaskClient) -> FlaskClient:
    """A browser with a conversation; eve has none."""
    add_user(common_client.application, "eve")
    ask(common_client)
    return common_client


def test_conversations_are_listed_found_renamed_and_deleted(client: FlaskClient) -> None:
    ask(client, "Trains to Kyoto")
    ask(client, "予約の方法")
    listed = client.get("/chat/conversations").get_data(as_text=True)
    assert listed.index("予約の方法") < listed.index("Trains to Kyoto")
    assert "Trains" not in client.get("/chat/conversations?find=予約").get_data(as_text=True)
    assert "Trains" in client.get("/chat/conversations?find=ｔｒａｉｎｓ").get_data(as_text=True)
    assert listed.count("<h2") == 1
    assert "Today" in listed
    assert post(client, "/chat/1/pin", pinned="1").location == "/chat/1"
    listed = client.get("/chat/conversations").get_data(as_text=True)
    assert listed.index("Pinned") < listed.index("Trains to Kyoto") < listed.index("Today") < listed.index("予約の方法")
    assert post(client, "/chat/1/pin", pinned="0").status_code == 303
    assert "Pinned" not in client.get("/chat/conversations").get_data(as_text=True)
    assert post(client, "/chat/1/rename", title="Travel").status_code == 303
    assert "<h1" in (page := client.get("/chat/1").get_data(as_text=True))
    assert "Travel" in page
    assert "You can restore it for 30 days." in client.get("/chat/1/manage").get_data(as_text=True)
    assert post(client, "/chat/1/delete").location == "/chat"
    assert client.get("/chat/1").status_code == 404


def test_a_days_rows_have_all_a_time_or_none(client: FlaskClient, library: Braid) -> None:
    """They have one where two have the same title; what was searched for always has, and all say it when pointed at."""
    titles = ("Trains", "trains", "Trains", "Hotels", "Ships", "Boats")
    for title in titles:
        site_of(client.application).conversations.create(1, title)
    for number, year in ((1, 2020), (2, 2021), (3, 2021)):
        at = {"at": datetime(year, 3, 5, 20 + number, 15, tzinfo=UTC).timestamp(), "id": number}
        with library.ledger.database.write() as connection:
            connection.execute(text("UPDATE conversations SET updated_at = :at WHERE id = :id"), at)
    client.set_cookie("braid_minutes", "540")

    def times(**headers: str) -> list[str]:
        listed = client.get("/chat/conversations", headers=headers).text
        return re.findall(r'<small class="when">([^<]+)', listed)

    assert times() == ["Mar 6, 2021 8:15\u202fAM", "Mar 6, 2021 7:15\u202fAM", "Mar 6, 2020 6:15\u202fAM"]  # none today
    assert times(Accept_Language="ja")[0] == "2021年3月6日 8:15"
    assert times(Accept_Language="ko")[0] == "2021년 3월 6일 오전 8:15"
    assert 'title="Trains · Mar 6, 2020 6:15\u202fAM"' in client.get("/chat/conversations").text
    assert re.search(r'title="Boats · \d+:\d\d\s[AP]M"', client.get("/chat/conversations").text)
    post(client, "/chat/3/rename", title="Buses")
    assert times() == ["Mar 6, 2021", "Mar 6, 2021", "Mar 6, 2020"]  # the days tell them apart
    post(client, "/chat/6/rename", title="Ships")
    assert [bool(re.fullmatch(r"\d+:\d\d\s[AP]M", time)) for time in times()] == [True] * 3 + [False] * 3
    found = client.get("/chat/conversations?find=a").text
    assert len(re.findall(r'<small class="found-in">[^<]*\d+:\d\d\s[AP]M', found)) == found.count("<li>") > 1
    groups = client.get("/palette.json?q=trains").json["groups"]  # type: ignore[index]
    [told] = [[entry["about"] for entry in group["entries"]] for group in groups if group["name"] == "Conversations"]
    assert sorted(told) == ["Mar 6, 2020 6:15\u202fAM", "Mar 6, 2021 7:15\u202fAM"]


def test_an_open_conversation_has_its_title_with_share_and_rename_in_reach(client: FlaskClient) -> None:
    ask(client)
    page = client.get("/chat/1").text
    assert re.search(rf'<h1 id="chat-heading" dir="auto">{re.escape(QUESTION)}</h1>', page)
    assert 'href="/chat/1/manage#share"' in page
    assert 'id="share"' in client.get("/chat/1/manage").text
    assert '<span id="chat-acts" hidden>' in client.get("/chat").text


def test_a_conversation_in_which_nothing_was_asked_is_not_listed(client: FlaskClient, library: Braid) -> None:
    store = site_of(client.application).conversations
    empty, named, with_a_file = (store.create(user_id=1, title=title).id for title in ("", "Plans", ""))
    sent = {"file": (io.BytesIO(b"The depot is open on Sundays."), "depot.txt"), "csrf_token": csrf_token(client)}
    assert client.post(f"/chat/{with_a_file}/files", data=sent).status_code < 400
    for path in ("/chat/conversations", "/chat", "/palette.json"):
        listed = client.get(path).get_data(as_text=True)
        assert f"/chat/{empty}" not in listed
        assert f"/chat/{named}" in listed
        assert f"/chat/{with_a_file}" in listed
    assert f"/chat/{empty}" in client.get("/chat/shelf").get_data(as_text=True)  # where it can be deleted
    post(client, f"/chat/{empty}/messages", text=QUESTION)
    assert f"/chat/{empty}" in client.get("/chat/conversations").get_data(as_text=True)


def test_a_conversation_is_exported(client: FlaskClient) -> None:
    ask(client)
    markdown, as_json = client.get("/chat/1/export.md"), client.get("/chat/1/export.json")
    assert QUESTION in markdown.get_data(as_text=True)
    assert "attachment" in markdown.headers["Content-Disposition"]
    assert as_json.get_json()["messages"][0]["text"] == QUESTION
    assert client.get("/chat/1/export.exe").status_code == 404
    word = client.get("/chat/1/export.docx")
    assert word.mimetype.endswith("wordprocessingml.document")
    assert any(QUESTION in paragraph.text for paragraph in Document(io.BytesIO(word.data)).paragraphs)
    pdf = client.get("/chat/1/export.pdf")
    assert pdf.mimetype == "application/pdf"
    assert QUESTION in " ".join(PdfDocument(pdf.data)[0].get_textpage().get_text_range().split())
    links = client.get("/chat/1/manage").text
    assert 'href="/chat/1/export.pdf"' in links
    assert 'href="/chat/1/export.docx"' in links
    assert 'href="/chat/1/print"' in links


def test_a_conversation_is_a_page_to_print_with_its_sources_as_notes(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(client)
    page = client.get("/chat/1/print").text
    assert QUESTION in text_of(page)
    notes = set(re.findall(r'<li id="(note-2-\d+)"', page))
    assert notes
    assert set(re.findall(r'class="cite" href="#([^"]+)"', page)) <= notes
    monkeypatch.setattr(manage, "MAX_CHARS", 10)
    assert client.get("/chat/1/print").status_code == 400


def say(client: FlaskClient, kind: str, number: int = 1) -> int:
    headers = {"X-CSRFToken": csrf_token(client), "Accept": "application/json"}
    fields = {"kind": kind, "number": number}
    return client.post("/chat/1/messages/2/feedback", data=fields, headers=headers).status_code


def test_thumbs_and_clicks_are_stored_with_query_scope_and_ranking(client: FlaskClient, library: Braid) -> None:
    ask(client, d=["1", "-1"])
    cited = stored(library)[1].citations[0].chunk_id
    assert say(client, "up") == 204
    assert 'aria-pressed="true"' in client.get("/chat/1").get_data(as_text=True)
    assert say(client, "click") == 204
    assert say(client, "none") == 204
    assert 'aria-pressed="true"' not in client.get("/chat/1").get_data(as_text=True)
    said = list(FeedbackStore(library.ledger).all(1))
    assert [feedback.kind for feedback in said] == ["up", "click", "none"]
    assert {feedback.chunk_id for feedback in said} == {cited}
    assert said[0].scope == (1, -1)
    assert said[0].query == QUESTION
    assert cited in said[0].ranking
    assert len(said[0].ranking) == 2


def test_a_thumb_works_without_scripts(client: FlaskClient) -> None:
    ask(client)
    assert post(client, "/chat/1/messages/2/feedback", kind="down", number=1).location == "/chat/1#message-2"


def say_of_answer(client: FlaskClient, kind: str, message_id: int = 2) -> int:
    headers = {"X-CSRFToken": csrf_token(client), "Accept": "application/json"}
    return client.post(f"/chat/1/messages/{message_id}/feedback", data={"kind": kind}, headers=headers).status_code


def pressed(page: str) -> list[str]:
    """The labels of the thumbs that are given."""
    return re.findall(r'aria-pressed="true" title="([^"]+)"', page)


def test_a_thumb_on_the_answer_is_shown_again_and_can_be_taken_back(client: FlaskClient, library: Braid) -> None:
    ask(client)
    assert say_of_answer(client, "up") == 204
    assert pressed(client.get("/chat/1").text) == ["This answer is helpful"]
    assert say_of_answer(client, "down") == 204
    assert pressed(client.get("/chat/1").text) == ["This answer is not helpful"]
    assert "thumbs down)" in client.get("/chat/1/export.md").text
    assert [message["thumb"] for message in client.get("/chat/1/export.json").get_json()["messages"]] == ["", "down"]
    assert say_of_answer(client, "none") == 204
    assert pressed(client.get("/chat/1").text) == []
    assert list(FeedbackStore(library.ledger).all(1)) == []  # nothing is said of any passage


def test_a_thumb_on_the_answer_works_without_scripts(client: FlaskClient) -> None:
    ask(client)
    assert post(client, "/chat/1/messages/2/feedback", kind="up").location == "/chat/1#message-2"
    assert pressed(client.get("/chat/1").text) == ["This answer is helpful"]


@pytest.mark.parametrize(
    ("kind", "message_id", "status"),
    [("maybe", 2, 400), ("click", 2, 400), ("", 2, 400), ("up", 1, 404), ("up", 9, 404), ("up", 2**70, 404)],
)
def test_a_bad_thumb_is_refused(asked_client: FlaskClient, kind: str, message_id: int, status: int) -> None:
    """Message 1 is the question."""
    assert say_of_answer(asked_client, kind, message_id) == status


def test_administrators_see_how_answers_were_found(client: FlaskClient) -> None:
    ask(client)
    assert "Feedback on answers" not in client.get("/admin/usage").text
    say_of_answer(client, "down")
    table = client.get("/admin/usage").text.partition("Feedback on answers")[2]
    assert re.findall(r'<td class="number-cell"[^>]*>(\d+)</td>', table) == ["0", "1"]
    assert "without a language model" in table


def test_who_rates_an_answer_down_may_say_why_and_administrators_see_it_without_who(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = client.application
    add_user(app, "Eve Miller")
    eve = sign_in(app, "Eve Miller")
    ask(eve, "Which secret question?", d=["-1"])
    post(eve, "/chat/1/messages/2/feedback", kind="down")
    where = re.search(r'<details class="fault">.*?action="([^"]+)"', eve.get("/chat/1").text, re.DOTALL)
    assert where
    assert "Why answers were not helpful" not in client.get("/admin/usage").text
    said = {"kind": "down", "fault": "incomplete", "comment": "=1+1 is missing"}
    assert post(eve, where[1], **said).location == "/chat/1#message-2"
    shown = eve.get("/chat/1").text
    assert 'value="incomplete" checked' in shown
    assert 'value="=1+1 is missing"' in shown
    usage = client.get("/admin/usage").text.partition('id="faults-title"')[2].partition("</section>")[0]
    assert "It is incomplete" in usage
    assert "=1+1 is missing" in usage
    written = client.get("/admin/usage/faults.csv").text
    assert written.splitlines()[1] == "incomplete,'=1+1 is missing,extractive"
    assert "The newest" not in usage
    ask(eve, "Which secret question?", d=["-1"])
    assert post(eve, "/chat/2/messages/4/feedback", kind="down", comment="A second one.").status_code == 303
    monkeypatch.setattr(activity, "MOST_COMMENTS", 1)
    newest = client.get("/admin/usage").text
    assert "The newest 1 of 2 comments:" in newest
    assert ("A second one." in newest, "=1+1 is missing" in newest) == (True, False)
    post(eve, "/chat/2/messages/4/feedback", kind="none")
    for days in ("0", "-5", "abc", "8", "9" * 400):
        refused = client.get("/admin/usage/faults.csv", query_string={"days": days})
        assert (refused.status_code, "choose one of 7, 30, 90" in refused.text) == (400, True)
    assert not any(told in usage + written for told in ("Eve", "secret"))
    assert post(eve, where[1], kind="down", fault="ugly").status_code == 400
    assert post(eve, where[1], kind="none").status_code == 303
    assert "Why answers were not helpful" not in client.get("/admin/usage").text


@pytest.mark.parametrize(("kind", "number", "status"), [("maybe", 1, 400), ("up", 99, 400)])
def test_bad_feedback_is_refused(asked_client: FlaskClient, kind: str, number: int, status: int) -> None:
    assert say(asked_client, kind, number) == status


def test_a_deleted_passage_is_shown_as_deleted(client: FlaskClient, library: Braid) -> None:
    ask(client)
    library.ledger.remove_document(1, "fusion.md")
    page = client.get("/chat/1").get_data(as_text=True)
    assert "since deleted" in page
    assert "/documents/passage/" not in page
    assert 'name="number"' not in page  # nobody is asked what they think of it


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/chat/1"),
        ("GET", "/chat/1/manage"),
        ("GET", "/chat/1/export.md"),
        ("GET", "/chat/1/export.json"),
        ("POST", "/chat/1/messages"),
        ("POST", "/chat/1/rename"),
        ("POST", "/chat/1/delete"),
        ("POST", "/chat/1/messages/2/feedback"),
        ("GET", "/chat/1/messages/2/events"),
        ("GET", "/chat/1/messages/2/how"),
        ("POST", "/chat/1/messages/2/again"),
        ("POST", "/chat/1/messages/2/choose"),
        ("POST", "/chat/1/messages/2/continue"),
        ("POST", "/chat/1/messages/2/stop"),
        ("POST", "/chat/1/messages/1/edit"),
        ("POST", "/chat/1/pin"),
    ],
)
def test_another_users_conversation_does_not_exist(asked_client: FlaskClient, method: str, path: str) -> None:
    eve = sign_in(asked_client.application, "eve")
    fields = {"title": "mine", "text": QUESTION, "kind": "up", "number": 1}
    headers = {"X-CSRFToken": csrf_token(eve)}
    assert eve.open(path, method=method, data=fields, headers=headers).status_code == 404
    assert asked_client.get("/chat/1").status_code == 200
    assert "fused" not in eve.get("/chat/conversations").get_data(as_text=True)


def test_nobody_chats_without_signing_in(app: Flask) -> None:
    visitor = app.test_client()
    assert visitor.get("/chat").status_code == 302
    assert visitor.post("/chat/messages", data={"text": QUESTION}, headers=STREAM).status_code in (400, 401)


def test_who_is_signed_out_without_scripts_is_led_back(client: FlaskClient) -> None:
    ask(client)
    client.delete_cookie("braid_session")
    sent = {"Accept": "text/html", "Referer": "http://localhost/chat/1"}
    refused = client.post("/chat/1/messages", data={"text": QUESTION}, headers=sent)
    assert refused.status_code == 401
    assert 'href="/login?next=/chat/1"' in refused.text.replace("%2F", "/")


def test_a_long_conversation_shows_the_newest_turns_and_more_on_demand(client: FlaskClient, library: Braid) -> None:
    ask(client, "The very first")
    store = ConversationStore(library.ledger, library.registry)
    asked = ChatRequest(1, "Again?", dataset_ids=[1])
    answer = Conversation(library).ask(asked)
    for _ in range(20):
        store.add(1, asked, answer)
    page = client.get("/chat/1").get_data(as_text=True)
    assert page.count('class="question"') == 20 + 1  # and the template of the next one
    assert "Earlier questions" in page
    whole = client.get("/chat/1?turns=40").get_data(as_text=True)
    assert whole.count('class="question"') == 21 + 1
    assert "Earlier questions" not in whole


def test_the_page_is_served_quickly(client: FlaskClient) -> None:
    for number in range(5):
        ask(client, f"{QUESTION} {number}")
    took = []
    for _ in range(20):
        started = time.thread_time()  # of the processor: other work on the machine does not count
        assert client.get("/chat/1").status_code == 200
        took.append(time.thread_time() - started)
    assert sorted(took)[18] < 0.25  # 40 ms is usual


def test_an_answer_says_that_files_are_still_being_read(app: Flask, client: FlaskClient, library: Braid) -> None:
    told = "1 file is still being read and cannot be found yet."
    store = site_of(app).background.store
    assert told not in last(ask(client))["html"]
    store.add(1, [NewJob("upload", "new.pdf", 1), NewJob("export", "Notes", 1), NewJob("upload", "other.pdf", 2)])
    assert told in last(ask(client))["html"]
    both = "2 files are still being read and cannot be found yet."
    assert (client.get("/status.json").json or {})["text"] == both


def test_before_a_question_is_asked_it_is_said_which_of_its_files_are_still_being_read(
    app: Flask, client: FlaskClient, library: Braid
) -> None:
    def said(**form: object) -> str:
        answer = client.get("/chat/status.json", query_string=form)
        assert answer.status_code == 200, answer.text
        return str((answer.json or {})["text"])

    told = "{} still being read and cannot be found yet."
    other = library.ledger.add_dataset(1, "Others").id
    assert said(d="all").startswith("Ready")
    store = site_of(app).background.store
    store.add(1, [NewJob("upload", "new.pdf", 1), NewJob("upload", "a.pdf", other), NewJob("upload", "b.pdf", other)])
    assert told.format("3 files are") in client.get("/chat").text
    assert said(d="all") == told.format("3 files are")
    assert said(d="1", offered=f"1,{other}") == told.format("1 file is")
    assert said(d=other, offered=f"1,{other}") == told.format("2 files are")
    talk = site_of(app).conversations.create(1, most=9).id
    files = site_of(app).conversations.files.add_dataset(1, talk).id
    store.add(1, [NewJob("upload", "c.pdf", files)])
    assert said(d="1", offered=f"1,{other}", conversation=talk) == told.format("2 files are")
    assert told.format("4 files are") in client.get(f"/chat/{talk}").text
    assert f'name="conversation" value="{talk}"' in client.get(f"/chat/{talk}/files").text
    bob = add_user(app, "bob")
    his = site_of(app).conversations.create(bob.id, most=9).id
    secret, attached = (
        library.ledger.add_dataset(bob.id, "Secret").id,
        site_of(app).conversations.files.add_dataset(bob.id, his).id,
    )
    store.add(bob.id, [NewJob("upload", "secret.pdf", secret), NewJob("upload", "his.pdf", attached)])
    assert said(d=[1, secret], conversation=his) == told.format("1 file is")


def test_nobody_learns_of_files_in_datasets_of_others(app: Flask, client: FlaskClient, library: Braid) -> None:
    bob = add_user(app, "bob")
    other = library.ledger.add_dataset(bob.id, "Secret")
    site_of(app).background.store.add(bob.id, [NewJob("upload", "secret.pdf", other.id)])
    assert "being read" not in last(ask(client, d=["1", str(other.id)]))["html"]
    assert "being read" not in client.get("/status.json").json["text"]
