"""Conversations that are archived, labeled and deleted, many at once."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.web import add_user, post_form, sign_in, site_of, text_of

HIDDEN_ID = r'type="hidden" name="c" value="(\d+)"'


@pytest.fixture
def ids(app: Flask) -> list[int]:
    store = site_of(app).conversations
    return [store.create(1, title).id for title in ("Pumps", "Seals", "Gaskets")]


def listed(client: FlaskClient) -> list[str]:
    page = client.get("/chat/conversations").text
    return re.findall(r'class="title"[^>]*><span>([^<]+)</span>', page)


def test_archived_ones_leave_the_list_and_undo_brings_them_back(client: FlaskClient, ids: list[int]) -> None:
    answer = post_form(client, "/chat/shelf", act="archive", c=[str(ids[0]), str(ids[1])])
    assert listed(client) == ["Gaskets"]
    page = client.get(answer.location).text
    assert "2 conversations archived." in text_of(page)
    assert re.findall(HIDDEN_ID, page) == [str(one) for one in ids[:2]]
    assert "Pumps" in client.get("/chat/shelf?archived=1").text
    post_form(client, "/chat/shelf", act="restore", c=[str(one) for one in ids[:2]])
    assert sorted(listed(client)) == ["Gaskets", "Pumps", "Seals"]


def test_one_that_is_archived_stays_open_and_undo_leads_back_to_it(client: FlaskClient, ids: list[int]) -> None:
    answer = post_form(client, f"/chat/{ids[0]}/shelve", archived="1")
    assert answer.location == f"/chat/{ids[0]}"
    assert "1 conversation archived. Undo" in text_of(client.get(answer.location).text)
    assert "Pumps" not in listed(client)
    assert post_form(client, "/chat/shelf", act="restore", c=str(ids[0])).location == f"/chat/{ids[0]}"
    assert "Pumps" in listed(client)


def test_an_archived_one_is_found_by_its_words_and_comes_back_when_it_goes_on(
    client: FlaskClient, ids: list[int]
) -> None:
    post_form(client, "/chat/shelf", act="archive", c=str(ids[0]))
    assert "Pumps" in client.get("/chat/conversations?find=pump").text
    post_form(client, f"/chat/{ids[0]}/messages", text="How are rankings fused?", d="1")
    assert "Pumps" in listed(client)


def test_labels_group_the_list_and_an_empty_one_takes_it_away(client: FlaskClient, ids: list[int]) -> None:
    post_form(client, "/chat/shelf", act="label", label=" Plant  1 ", c=[str(one) for one in ids[:2]])
    assert "Plant 1 2" in text_of(client.get("/chat/conversations").text)
    assert 'value="Plant 1"' in client.get(f"/chat/{ids[2]}/manage").text, "offered for the next one"
    post_form(client, f"/chat/{ids[1]}/pin", pinned="1")
    assert listed(client) == ["Seals", "Seals", "Pumps", "Gaskets"], "pinned, and in its folder"
    post_form(client, f"/chat/{ids[0]}/shelve", label="")
    assert "Plant 1 1" in text_of(client.get("/chat/conversations").text)
    assert post_form(client, f"/chat/{ids[0]}/shelve", label="x" * 61).status_code == 400


def test_deleted_ones_are_gone_at_once_and_undo_brings_them_back(client: FlaskClient, ids: list[int]) -> None:
    answer = post_form(client, "/chat/shelf", act="delete", c=[str(ids[0]), str(ids[2])])
    assert listed(client) == ["Seals"]
    page = client.get(answer.location).text
    assert "2 conversations deleted." in text_of(page)
    undo = {"act": re.findall(r'name="act" value="(\w+)"[^>]*>Undo', page), "c": re.findall(HIDDEN_ID, page)}
    assert undo == {"act": ["undelete"], "c": [str(ids[0]), str(ids[2])]}
    for address in ("", "/manage", "/export.json", "/print"):
        assert client.get(f"/chat/{ids[0]}{address}").status_code == 404
    assert "Pumps" not in client.get("/chat/conversations?find=pump").text
    post_form(client, "/chat/shelf", **undo)
    assert sorted(listed(client)) == ["Gaskets", "Pumps", "Seals"]
    assert "Undo" not in client.get("/chat/shelf").text


def test_the_page_after_one_was_deleted_offers_to_undo_it_and_leads_back(client: FlaskClient, ids: list[int]) -> None:
    page = client.get(post_form(client, f"/chat/{ids[1]}/delete").location).text
    assert ("1 conversation deleted. Undo" in text_of(page), re.findall(HIDDEN_ID, page)) == (True, [str(ids[1])])
    assert post_form(client, "/chat/shelf", act="undelete", c=str(ids[1])).location == f"/chat/{ids[1]}"


def test_recently_deleted_ones_are_listed_restored_and_deleted_for_good(client: FlaskClient, ids: list[int]) -> None:
    assert "Recently deleted" not in client.get("/chat/conversations").text
    post_form(client, "/chat/shelf", act="delete", c=[str(one) for one in ids])
    assert "Recently deleted" in client.get("/chat/conversations").text
    page = client.get("/chat/shelf?deleted=1").text
    assert "can be restored for 30 days" in text_of(page)
    assert f'href="/chat/{ids[0]}"' not in page
    asked = post_form(client, "/chat/shelf", act="erase", c=[str(one) for one in ids[:2]])
    assert "Permanently delete 2 conversations?" in asked.text
    post_form(client, "/chat/shelf", act="erase", confirmed="1", c=[str(one) for one in ids[:2]])
    post_form(client, "/chat/shelf", act="undelete", c=[str(one) for one in ids])
    assert listed(client) == ["Gaskets"]


def test_only_deleted_ones_are_deleted_for_good_there(client: FlaskClient, ids: list[int]) -> None:
    post_form(client, "/chat/shelf", act="erase", confirmed="1", c=[str(one) for one in ids])
    assert len(listed(client)) == 3


def test_those_of_others_are_left_alone(app: Flask, client: FlaskClient, ids: list[int]) -> None:
    ben = add_user(app, "Ben")
    his = sign_in(app, "Ben")
    for act in ("archive", "label", "delete", "undelete", "erase"):
        post_form(his, "/chat/shelf", act=act, label="mine", confirmed="1", c=[str(one) for one in ids])
    assert sorted(listed(client)) == ["Gaskets", "Pumps", "Seals"]
    assert site_of(app).conversations.labels(1) == site_of(app).conversations.labels(ben.id) == []
    assert post_form(his, f"/chat/{ids[0]}/shelve", archived="1").status_code == 404
    post_form(client, "/chat/shelf", act="delete", c=[str(one) for one in ids])
    for act in ("undelete", "erase"):
        post_form(his, "/chat/shelf", act=act, confirmed="1", c=[str(one) for one in ids])
    assert "Pumps" not in his.get("/chat/shelf?deleted=1").text
    assert "Pumps" in client.get("/chat/shelf?deleted=1").text


def test_what_cannot_be_done_is_refused(client: FlaskClient, ids: list[int]) -> None:
    assert post_form(client, "/chat/shelf", act="burn", c=str(ids[0])).status_code == 400
    assert post_form(client, "/chat/shelf", act="archive", c=[str(one) for one in range(1, 102)]).status_code == 400
    for wrong in ("x", "-1", "9" * 30):
        refused = post_form(client, "/chat/shelf", act="archive", c=[str(ids[0]), wrong])
        assert (refused.status_code, "give the number of one on the list" in refused.text) == (400, True), wrong
    assert len(listed(client)) == 3
