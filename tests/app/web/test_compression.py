"""Compressed answers: which ones, for whom, and what their lengths do not tell."""

from __future__ import annotations

import gzip
import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.app.web.static_files import static_files
from braid.core.braid import Braid
from tests.web import bearer, make_app, post_form, sign_in, site_of

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.fixture(scope="module")
def app(shelf: Braid) -> Flask:
    return make_app(shelf)


@pytest.fixture(scope="module")
def client(app: Flask) -> FlaskClient:
    return sign_in(app)


@pytest.mark.parametrize("path", ["/chat", "/search", "/datasets", "/settings", "/admin/", "/api/v1/openapi.json"])
def test_pages_and_json_are_compressed(client: FlaskClient, path: str) -> None:
    plain, packed = client.get(path), client.get(path, headers=GZIP)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Content-Length"] == str(len(packed.data))
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert "Accept-Encoding" in plain.headers["Vary"]
    assert abs(len(gzip.decompress(packed.data)) - len(plain.data)) < 200  # but for the tokens
    assert 2 * len(packed.data) < len(plain.data)


@pytest.mark.parametrize("header", ["", "identity", "br", "gzip;q=0"])
def test_who_does_not_take_gzip_gets_none(client: FlaskClient, header: str) -> None:
    assert "Content-Encoding" not in client.get("/chat", headers={"Accept-Encoding": header}).headers


def test_short_answers_and_files_go_out_as_they_are(client: FlaskClient) -> None:
    assert "Content-Encoding" not in client.get("/healthz", headers=GZIP).headers
    client.get("/static/braid.svg", headers=GZIP).close()


def test_an_event_stream_is_not_held_back(app: Flask, client: FlaskClient) -> None:
    page = client.get("/chat").text
    token = page.partition('name="csrf-token" content="')[2].partition('"')[0]
    asked = client.post(
        "/chat/messages",
        data={"text": "What is there?", "csrf_token": token},
        headers={**GZIP, "Accept": "text/event-stream"},
        buffered=False,
    )
    assert asked.mimetype == "text/event-stream"
    assert "Content-Encoding" not in asked.headers
    assert next(iter(asked.response)).startswith(b"event: turn")
    asked.close()


def test_an_answer_with_an_etag_keeps_its_bytes(app: Flask) -> None:
    account = site_of(app).accounts.all()[0]
    dataset = site_of(app).braid.ledger.add_dataset(account.id, "tagged").id
    headers = {**bearer(app, account), **GZIP}
    browser, where = app.test_client(), f"/api/v1/datasets/{dataset}/documents"
    put = browser.put(where, json={"source": "a.txt", "text": "The tray is empty. " * 200}, headers=headers)
    document = browser.get(put.headers["Location"] + "/passages", headers=headers)
    assert len(document.data) > 2_000
    assert document.headers["ETag"]
    assert "Content-Encoding" not in document.headers


def test_lengths_have_a_random_part(client: FlaskClient) -> None:
    lengths = {len(client.get("/settings", headers=GZIP).data) for _ in range(8)}
    assert len(lengths) > 3


def test_each_answer_has_another_token_and_all_are_valid(client: FlaskClient) -> None:
    tokens = {
        client.get("/settings").text.partition('name="csrf_token" value="')[2].partition('"')[0] for _ in range(3)
    }
    assert len(tokens) == 3
    for token in tokens:
        assert client.post("/datasets", data={"name": "x", "csrf_token": token}).status_code == 302
    flipped = token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB")
    for wrong in (flipped, token[:40], "", "é", "a"):
        assert client.post("/datasets", data={"name": "x", "csrf_token": wrong}).status_code == 400


def test_a_page_has_one_token_so_that_it_compresses(client: FlaskClient) -> None:
    page = client.get("/settings").text
    tokens = page.split('name="csrf_token" value="')[1:]
    assert len({token.partition('"')[0] for token in tokens}) == 1
    assert len(tokens) > 1


# ---------------------------------------------------------------- static files


@pytest.fixture
def host(shelf: Braid) -> FlaskClient:
    outer = Flask("host", static_folder=None)
    outer.secret_key = "the host's own"

    @outer.get("/static/<path:filename>", endpoint="hosts_static")
    def hosts_own(filename: str) -> str:
        return filename

    register_braid(outer, lambda: HostUser("ann"), braid=shelf, url_prefix="/tools/braid")
    return outer.test_client()


def addresses(page: str) -> list[str]:
    return [
        part.partition('"')[0]
        for part in page.replace('src="', 'href="').split('href="')[1:]
        if "/static/" in part[:60]
    ]


@pytest.mark.parametrize("where", ["alone", "in a host"])
def test_static_files_have_a_hash_and_are_kept_for_ever(client: FlaskClient, host: FlaskClient, where: str) -> None:
    browser, path = (client, "/chat") if where == "alone" else (host, "/tools/braid/chat")
    found = addresses(browser.get(path).text)
    assert len(found) >= 4
    for address in found:
        assert address.startswith(path.removesuffix("chat") + "static/")
        plain, packed = browser.get(address), browser.get(address, headers=GZIP)
        assert plain.status_code == 200
        assert plain.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert plain.headers["Vary"] == "Accept-Encoding"
        assert plain.headers["X-Content-Type-Options"] == "nosniff"
        assert "Set-Cookie" not in plain.headers
        unpacked = gzip.decompress(packed.data) if "Content-Encoding" in packed.headers else packed.data
        assert unpacked == plain.data
        assert not re.search(rb"^\s*//|^/\*", plain.data, re.MULTILINE), "comments stay on the server"
        assert browser.get(address, headers={"If-None-Match": plain.headers["ETag"]}).status_code == 304


def test_a_hosts_own_static_files_keep_their_names(host: FlaskClient) -> None:
    assert host.get("/static/braid.css").text == "braid.css"
    with host.application.test_request_context():
        assert host.application.url_for("hosts_static", filename="braid.css") == "/static/braid.css"


def test_a_file_by_its_own_name_is_asked_for_again(client: FlaskClient) -> None:
    plain = client.get("/static/braid.css")
    assert plain.headers["Cache-Control"] == "no-cache"
    assert plain.mimetype == "text/css"


@pytest.mark.parametrize("name", ["braid.0123456789.css", "nothing.css", "../site.py", "..%2fsite.py", "", "%00"])
def test_another_versions_hash_and_other_files_are_not_found(client: FlaskClient, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_forms_are_sent_with_the_token(client: FlaskClient) -> None:
    assert post_form(client, "/datasets", name="sent").status_code == 302


def test_scripts_and_styles_are_sent_without_comments_and_indentation() -> None:
    for name, file in static_files().items():
        text = file.body.decode()
        if name.endswith((".js", ".css")):
            assert re.search(r"(?m)^[ \t\n]|^//", text) is None, name
        if name.endswith(".js"):
            assert all(line.count("`") % 2 == 0 for line in text.splitlines()), f"{name}: no text of several lines"
            assert re.search(r"""(?m)\s// [^'"`\n]*$""", text) is None, name
    assert "http://www.w3.org/2000/svg" in static_files()["braid.svg"].body.decode()
