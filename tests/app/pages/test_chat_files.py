"""Files in the chat: added, read, asked together with the chosen datasets, kept or deleted; nobody else's."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from braid.app.auth.quotas import Quotas
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.web import add_user, bearer, csrf_token, make_app, post_form, sign_in, site_of, text_of
from tests.worlds import WAIT_S, eventually

FILE = b"The valve XK-4711 is closed by hand."


@pytest.fixture
def app(braid: Braid) -> Iterator[Flask]:
    made = make_app(braid, Settings(max_user_documents=3, max_file_mb=1), jobs=True)
    yield made
    site_of(made).close()


@pytest.fixture
def ana(app: Flask) -> FlaskClient:
    account = add_user(app, "Ana")
    dataset = site_of(app).braid.ledger.add_dataset(account.id, "notes")
    put = DocumentInput("pump.md", "Pump", "md", (ChunkInput("The pump runs at 12 bar."),))
    site_of(app).braid.ledger.put_document(dataset.id, put)
    return sign_in(app, "Ana")


def upload(
    client: FlaskClient, path: str = "/chat/files", name: str = "valve.txt", content: bytes = FILE
) -> TestResponse:
    headers = {"X-CSRFToken": csrf_token(client), "Accept": "application/json"}
    return client.post(
        path, query_string={"name": name}, data=content, headers=headers, content_type="application/octet-stream"
    )


def read(app: Flask, client: FlaskClient, address: str) -> str:
    """The list of the files, once all are read."""
    eventually(lambda: 'data-waiting="0"' in client.get(f"{address}/files").text)
    assert site_of(app).braid.indexer.wait(WAIT_S)
    return client.get(f"{address}/files").text


@pytest.mark.parametrize("chosen", [{}, {"dataset_ids": [1]}])
def test_the_api_asks_the_files_of_a_conversation_too(
    app: Flask, ana: FlaskClient, chosen: dict[str, list[int]]
) -> None:
    address = upload(ana).json["conversation"]
    read(app, ana, address)
    for question, source in (
        ("Which valve is closed by hand?", FILE.decode()),
        ("At how many bar does the pump run?", "12 bar"),
    ):
        answer = app.test_client().post(
            f"/api/v1/conversations/{address.rpartition('/')[2]}/messages",
            json={"message": question, **chosen},
            headers=bearer(app, site_of(app).accounts.named("Ana")),
        )
        assert source in answer.json["text"]


def test_a_file_is_asked_together_with_the_chosen_datasets(app: Flask, ana: FlaskClient) -> None:
    added = upload(ana)
    assert added.status_code == 202, added.text
    address = added.json["conversation"]
    assert "valve.txt" in read(app, ana, address)
    for question, source in (
        ("At how many bar does the pump run?", "The pump runs at 12 bar."),
        ("Which valve is closed by hand?", FILE.decode()),
    ):
        answer = post_form(ana, added.json["messages"], text=question, d="1")
        assert source in text_of(ana.get(answer.headers["location"]).text)
    page = ana.get(address).text
    assert "Files of a conversation" not in text_of(ana.get("/datasets").text)
    assert 'value="2"' not in page.partition('id="picker"')[2].partition('id="options"')[0]
    for chosen in ({"d": "1"}, {"d": "1", "offered": "1"}, {"d": "all"}):  # as the page sends all that it shows
        elsewhere = post_form(ana, "/chat/messages", text="Which valve is closed by hand?", **chosen)
        shown = text_of(ana.get(elsewhere.headers["location"]).text)
        assert FILE.decode() not in shown
        assert "Files of a conversation" not in shown
    assert FILE.decode() not in text_of(ana.get("/search?q=valve+closed+by+hand&d=all").text)


def test_a_conversation_of_a_file_alone_is_called_by_it_everywhere(app: Flask, ana: FlaskClient) -> None:
    address = upload(ana).json["conversation"]
    paths = (address, f"{address}/manage", f"{address}/print", "/chat/shelf", "/chat/conversations", "/palette.json")
    for path in (*paths, f"{address}/export.md"):
        shown = ana.get(path).text
        assert "valve.txt" in shown, path
        assert "Untitled" not in shown, path


def test_a_file_is_removed_by_the_button_beside_it(app: Flask, ana: FlaskClient) -> None:
    added = upload(ana).json
    upload(ana, added["files"], name="pump.txt", content=b"The pump has two valves.")
    listed = read(app, ana, added["conversation"])
    found = re.search(r'formaction="([^"]+)"[^>]*value="(\d+)" aria-label="Remove valve.txt"', listed)
    assert "Questions go to these files and to the selected datasets." in listed
    post_form(ana, found[1], document=found[2])
    left = ana.get(added["files"]).text
    assert "valve.txt" not in left
    assert "pump.txt" in left


def test_two_files_of_one_name_are_two(app: Flask, ana: FlaskClient) -> None:
    other = b"The valve XK-4712 is closed by a motor."
    added = upload(ana).json
    assert upload(ana, added["files"], content=other).json["name"] == "valve (2).txt"
    listed = read(app, ana, added["conversation"])
    assert text_of(listed).count("valve") == 2
    for how, text in (("hand", FILE), ("a motor", other)):
        answer = post_form(ana, added["messages"], text=f"Which valve is closed by {how}?").headers["location"]
        assert text.decode() in text_of(ana.get(answer).text)


def test_a_conversation_without_a_question_is_named_after_its_file(app: Flask, ana: FlaskClient) -> None:
    added = upload(ana).json
    for _ in range(2):  # while the file waits, and when it has been read
        assert "<span>valve.txt</span>" in ana.get("/chat/conversations").text
        read(app, ana, added["conversation"])
    post_form(ana, added["messages"], text="Which valve is closed by hand?")
    assert "<span>Which valve is closed by hand?</span>" in ana.get("/chat/conversations").text


def test_the_same_file_again_is_one_and_one_that_failed_gives_way(app: Flask, ana: FlaskClient) -> None:
    added = upload(ana).json
    upload(ana, added["files"], name="table.xlsx", content=b"no table")
    read(app, ana, added["conversation"])
    assert upload(ana, added["files"]).json["name"] == "valve.txt"
    assert upload(ana, added["files"], name="table.xlsx", content=b"still none").json["name"] == "table.xlsx"


def test_nobody_else_opens_searches_or_fills_it(app: Flask, ana: FlaskClient) -> None:
    added = upload(ana)
    address = added.json["conversation"]
    read(app, ana, address)
    here, ben = site_of(app), add_user(app, "Ben")
    dataset = here.conversations.files.dataset(here.accounts.named("Ana").id, 1)
    assert dataset is not None
    assert ana.get(f"/datasets/{dataset.id}").status_code == 200
    assert ana.get(f"/datasets/{dataset.id}/documents/2").status_code == 200
    for other in (sign_in(app, "Ben"), sign_in(app)):
        assert other.get(f"/datasets/{dataset.id}").status_code == 404
        assert other.get(f"/datasets/{dataset.id}/documents/2").status_code == 404
        assert other.get(f"{address}/files").status_code == 404
        assert upload(other, f"{address}/files").status_code == 404
        assert post_form(other, f"{address}/files/keep", name="mine").status_code == 404
        asked = post_form(other, "/chat/messages", text="Which valve is closed by hand?", d=str(dataset.id))
        assert FILE.decode() not in text_of(other.get(asked.headers["location"]).text)
        assert "Files of a conversation" not in other.get("/admin/indexes").text
    api = app.test_client()
    body = {"query": "valve", "dataset_ids": [dataset.id]}
    found = api.post("/api/v1/search", json=body, headers=bearer(app, ben)).json
    assert (found["hits"], found["unresolved_dataset_ids"]) == ([], [dataset.id])
    listed = api.get("/api/v1/datasets", headers=bearer(app, here.accounts.named("Ana"))).json
    assert [each["name"] for each in listed["items"]] == ["notes"]


def test_it_is_deleted_with_the_conversation_with_files_and_exports(app: Flask, ana: FlaskClient) -> None:
    here = site_of(app)
    address = upload(ana).json["conversation"]
    read(app, ana, address)
    [dataset] = here.braid.ledger.attached_datasets(here.accounts.named("Ana").id)
    post_form(ana, f"/datasets/{dataset.id}/export")
    spool = here.braid.data_dir / "uploads"
    eventually(lambda: "Download the export" in ana.get(f"/datasets/{dataset.id}").text)
    assert list(spool.iterdir())
    assert post_form(ana, f"{address}/delete").status_code == 303
    assert ana.get(f"/datasets/{dataset.id}").status_code == 404
    assert list(spool.iterdir()) == []
    post_form(ana, "/chat/shelf", act="erase", confirmed="1", c=address.rpartition("/")[2])
    assert here.braid.indexer.wait(WAIT_S)
    assert here.braid.bm25.count(dataset.collection) == 1


def test_kept_files_are_an_ordinary_dataset(app: Flask, ana: FlaskClient) -> None:
    address = upload(ana).json["conversation"]
    read(app, ana, address)
    kept = post_form(ana, f"{address}/files/keep", name="Valves")
    assert "Valves" in text_of(ana.get(kept.headers["location"]).text)
    assert "Valves" in text_of(ana.get("/datasets").text)
    assert "valve.txt" not in ana.get(f"{address}/files").text
    post_form(ana, f"{address}/delete")
    assert "Valves" in text_of(ana.get("/datasets").text)


def test_quotas_and_checks_hold_and_leave_no_conversation(app: Flask, ana: FlaskClient, braid: Braid) -> None:
    too_large = upload(ana, content=b"x" * (1024 * 1024 + 1))
    assert too_large.status_code in (400, 413)
    assert upload(ana, name="").status_code == 400
    account = site_of(app).accounts.named("Ana")
    assert site_of(app).conversations.conversations(account.id) == []
    address = upload(ana).json["conversation"]
    unreadable = upload(ana, f"{address}/files", "picture.png", b"\x89PNG\r\n\x1a\n")
    assert unreadable.status_code == 202
    shown = read(app, ana, address)
    assert "unreadable" in shown
    assert 'class="reason"' in shown
    refused = upload(ana, f"{address}/files", "third.txt", b"three")
    assert (refused.status_code, "3 documents, with deleted ones" in refused.json["detail"]) == (400, True)
    assert upload(ana).status_code == 400
    assert len(site_of(app).conversations.conversations(account.id)) == 1
    Quotas(Settings(max_user_datasets=2), braid).require_dataset_room(account)  # files of conversations do not count


def test_without_scripts_a_file_is_sent_by_a_form(app: Flask, ana: FlaskClient) -> None:
    import io

    form = {"csrf_token": csrf_token(ana), "file": (io.BytesIO(FILE), "valve.txt")}
    sent = ana.post("/chat/files", data=form, content_type="multipart/form-data")
    assert sent.status_code == 303
    read(app, ana, sent.headers["location"])
    assert "valve.txt" in ana.get(sent.headers["location"]).text


def test_a_dataset_is_asked_alone_in_a_new_conversation(app: Flask, ana: FlaskClient) -> None:
    account = site_of(app).accounts.named("Ana")
    other = site_of(app).braid.ledger.add_dataset(account.id, "other")
    assert re.search(r'href="/chat\?d=1"><svg.*?</svg> Ask this dataset', ana.get("/datasets/1").text)
    picker = ana.get("/chat?d=1").text.partition('id="picker"')[2]
    assert _is_ticked(picker, 1)
    assert not _is_ticked(picker, other.id)
    assert not _is_ticked(ana.get("/chat?d=999").text, 999)


def _is_ticked(html: str, dataset_id: int) -> bool:
    box = html.partition(f'name="d" value="{dataset_id}"')[2].partition(">")[0]
    return "checked" in box
