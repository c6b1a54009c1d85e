"""Original files on the pages and in the API: for readers of the document alone, and nothing in them runs."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import lxml.html
import pytest
from flask import Flask
from flask.testing import FlaskClient
from PIL import Image
from sqlalchemy import event

from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse_pool import PagePicture, ParsePool
from braid.core.ledger.database import Database
from braid.core.originals.pages import PagePictures
from braid.core.types import ChunkInput, DocumentInput
from tests import samples
from tests.fakes import HashEmbeddings
from tests.web import PASSWORD, bearer, make_app, sign_in, site_of
from tests.worlds import WAIT_S, eventually

EVIL = b"<script>alert(1)</script>"
Add = Callable[..., tuple[int, int, str]]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with Braid(tmp_path_factory.mktemp("data"), embedding_model=HashEmbeddings()) as braid:
        yield make_app(braid, Settings())


@pytest.fixture(scope="module")
def browser(app: Flask) -> FlaskClient:
    return sign_in(app)


@pytest.fixture
def add(app: Flask, tmp_path_factory: pytest.TempPathFactory) -> Add:
    """Store a file as an upload does; returns (dataset id, document id, chunk id)."""
    here, folder = site_of(app), tmp_path_factory.mktemp("files")
    dataset = here.braid.ledger.add_dataset(here.accounts.all()[0].id, "files")

    def store(
        source: str,
        content: bytes,
        file_type: str,
        *,
        kept: bool = True,
        text: str = "The tray.",
        page: int | None = None,
    ) -> tuple[int, int, str]:
        path = folder / "spooled"
        path.write_bytes(content)
        incoming = Incoming.from_file(path, source)
        document = DocumentInput(
            source, source, file_type, (ChunkInput(text, page=page),), content_hash=incoming.content_hash
        )
        put = here.braid.ledger.put_document(dataset.id, document)
        if kept:
            here.background.originals.keep(put.document_id, incoming)
        [passage] = here.braid.ledger.document_passages(put.document_id, [dataset.id])
        return dataset.id, put.document_id, passage.chunk_id

    return store


@pytest.mark.parametrize(
    ("source", "file_type", "shown_as"),
    [
        ("a/図書館.pdf", "pdf", "application/pdf"),
        ("scan.PNG", "png", "image/png"),
        ("notes.md", "md", "text/plain"),
        ("page.html", "html", ""),
        ("drawing.svg", "svg", ""),
        ("https://example.org/tank", "html", ""),
    ],
)
def test_a_file_is_shown_only_where_a_browser_runs_nothing_of_it(
    browser: FlaskClient, add: Add, source: str, file_type: str, shown_as: str
) -> None:
    dataset_id, document_id, chunk_id = add(source, EVIL, file_type)
    for address in (
        f"/datasets/{dataset_id}/documents/{document_id}/original",
        f"/documents/passage/{chunk_id}/original",
    ):
        response = browser.get(address, buffered=True)
        assert (response.status_code, response.data) == (200, EVIL)
        assert response.mimetype == (shown_as or "application/octet-stream")
        assert response.headers["Content-Disposition"].startswith("inline" if shown_as else "attachment")
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert policy.endswith("sandbox") == (shown_as != "application/pdf")


def test_a_part_of_a_file_can_be_asked_for(browser: FlaskClient, add: Add) -> None:
    dataset_id, document_id, _ = add("long.pdf", b"0123456789", "pdf")
    response = browser.get(
        f"/datasets/{dataset_id}/documents/{document_id}/original", headers={"Range": "bytes=2-4"}, buffered=True
    )
    assert (response.status_code, response.data) == (206, b"234")
    beyond = browser.get(
        f"/datasets/{dataset_id}/documents/{document_id}/original",
        headers={"Range": "bytes=90-", "Accept": "application/json"},
    )
    assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, "bytes */10")
    assert beyond.json["detail"] == "there is nothing in this Range; there are 10 bytes"


def test_pages_lead_to_the_file_where_there_is_one(browser: FlaskClient, add: Add) -> None:
    for source, kept in (("kept.pdf", True), ("typed.md", False)):
        dataset_id, document_id, chunk_id = add(source, source.encode(), "pdf", kept=kept)
        own = f"/datasets/{dataset_id}/documents/{document_id}"
        assert (f"{own}/original" in browser.get(own).text) == kept
        cited = f"/documents/passage/{chunk_id}"
        assert (f"{cited}/original" in browser.get(f"{cited}?as=text").text) == kept
        assert browser.get(f"{own}/original", buffered=True).status_code == (200 if kept else 404)


def test_a_program_downloads_the_file(app: Flask, add: Add) -> None:
    dataset_id, document_id, _ = add("fees.pdf", b"%PDF", "pdf")
    headers = bearer(app, site_of(app).accounts.all()[0], "read")
    address = f"/api/v1/datasets/{dataset_id}/documents/{document_id}/original"
    response = app.test_client().get(address, headers=headers, buffered=True)
    assert (response.data, response.mimetype) == (b"%PDF", "application/octet-stream")
    site_of(app).braid.ledger.remove_document(dataset_id, "fees.pdf")
    assert app.test_client().get(address, headers=headers).status_code == 404


def test_what_is_not_ones_own_takes_the_work_of_what_does_not_exist(app: Flask, add: Add) -> None:
    here = site_of(app)
    dataset_id, document_id, chunk_id = add("secret.pdf", samples.pdf(PAGES), "pdf", page=1)
    eve = here.accounts.add("eve", PASSWORD)
    browser, read = sign_in(app, "eve"), {"headers": bearer(app, eve, "read")}
    mine = here.braid.ledger.add_dataset(eve.id, "mine").id
    asked: list[str] = []
    in_dialect, me = Database._in_dialect, threading.get_ident()

    def work(path: str) -> tuple[int, list[str], list[str]]:
        options = read if path.startswith("/api") else {}
        asked.clear()
        answer = (app.test_client() if options else browser).get(path, **options)
        said = re.sub(r"(document(?:s/| ))\d+", r"\1n", answer.text)
        said = re.sub(r"[\w-]{100,}=*|(?<=\"request_id\": \")\w+", "other each time", said)
        return answer.status_code, list(asked), said.splitlines()

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if threading.get_ident() == me:
            asked.append(statement)

    def noted(database: Database, statement: str, parameters: Any) -> Any:  # also where the answer is remembered
        note(None, None, statement)
        return in_dialect(database, statement, parameters)

    def draw(*_: object, **__: object) -> PagePicture:
        raise AssertionError("nobody may see this page")

    event.listen(here.braid.ledger.database.engine, "before_cursor_execute", note)
    try:
        with patch.object(ParsePool, "draw_page", draw), patch.object(Database, "_in_dialect", noted):
            assert (work("/datasets")[0], work("/api/v1/datasets")[0]) == (200, 200)  # the first use is noted
            for ending in ("", "/original", "/page/1", "/page/1.png"):
                theirs, nobodys = f"/documents/passage/{chunk_id}{ending}", f"/documents/passage/{'0' * 32}{ending}"
                assert work(theirs) == work(nobodys), ending
                assert work(theirs)[0] == 404
            for page in ("/datasets/{}/documents/{}", "/datasets/{}/documents/{}/original"):
                for api, dataset in (("", dataset_id), ("", mine), ("/api/v1", dataset_id), ("/api/v1", mine)):
                    theirs = f"{api}{page}".format(dataset, document_id)
                    nobodys = f"{api}{page}".format(dataset, document_id + 7)
                    assert work(theirs) == work(nobodys), theirs
                    assert work(theirs)[0] == 404
    finally:
        event.remove(here.braid.ledger.database.engine, "before_cursor_execute", note)


# ---------------------------------------------------------------- pages as they look

PAGES = [["The printer", "The tray holds forty sheets."], ["図書館の貸出は一人につき十冊まで、", "期間は二週間です。"]]


def test_the_cited_page_is_shown_with_the_passage_marked(browser: FlaskClient, add: Add) -> None:
    passage = "図書館の貸出は一人につき十冊まで、期間は二週間です。"
    _, _, chunk_id = add("図書館.pdf", samples.pdf(PAGES), "pdf", text=passage, page=2)
    cited = f"/documents/passage/{chunk_id}"
    assert browser.get(cited).location == f"{cited}/page/2"
    assert f'href="{cited}/page/2"' in browser.get(f"{cited}?as=text").text
    shown = lxml.html.fromstring(browser.get(f"{cited}/page/2").text)
    marks = shown.xpath("//svg//rect[@class='mark']")
    assert len(marks) == 2, "one for each line"
    left, top, width, height = (int(marks[0].get(name)) for name in ("x", "y", "width", "height"))
    assert (left, 200 < top < 600, width > 1000, height < 200) == (500, True, True, True), "where samples.pdf writes it"
    assert "".join(text.text for text in shown.xpath("//svg//text")) == "".join(PAGES[1])


def test_letters_are_under_the_mark(browser: FlaskClient, add: Add) -> None:
    """In a font that PDFium has: for those of other scripts that a file does not bring, a package is installed."""
    _, _, chunk_id = add("printer.pdf", samples.pdf(PAGES), "pdf", text=PAGES[0][1], page=1)
    shown = lxml.html.fromstring(browser.get(f"/documents/passage/{chunk_id}/page/1").text)
    [mark] = shown.xpath("//svg//rect[@class='mark']")
    left, top, width, height = (int(mark.get(name)) for name in ("x", "y", "width", "height"))
    [image] = shown.xpath("//svg//image")
    picture = browser.get(image.get("href"))
    assert picture.mimetype == "image/png"
    with Image.open(io.BytesIO(picture.data)) as drawn:
        assert max(drawn.size) == 1600
        scale = 1600 / max(int(image.get(name)) for name in ("width", "height"))
        inside = drawn.convert("L").crop([round(each * scale) for each in (left, top, left + width, top + height)])
        assert min(inside.tobytes()) < 100


def test_other_pages_are_turned_to_and_nothing_is_marked_there(browser: FlaskClient, add: Add) -> None:
    _, _, chunk_id = add("two.pdf", samples.pdf(PAGES), "pdf", text="期間は二週間です。", page=2)
    first = browser.get(f"/documents/passage/{chunk_id}/page/1?zoom=200").text
    assert "mark" not in first.partition("<svg")[2].partition("</svg>")[0]
    assert "cannot be placed" not in first
    assert f"/documents/passage/{chunk_id}/page/2?zoom=200" in first
    assert browser.get(f"/documents/passage/{chunk_id}/page/3").status_code == 404
    assert browser.get(f"/documents/passage/{chunk_id}/page/0").status_code == 404


def test_a_passage_that_cannot_be_placed_is_said_and_not_marked(browser: FlaskClient, add: Add) -> None:
    _, _, chunk_id = add("other.pdf", samples.pdf(PAGES), "pdf", text="Nothing of this stands on the page.", page=1)
    shown = browser.get(f"/documents/passage/{chunk_id}/page/1").text
    assert "cannot be placed on this page" in shown
    assert 'class="mark"' not in shown


def test_a_page_is_drawn_once(app: Flask, browser: FlaskClient, add: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, chunk_id = add("once.pdf", samples.pdf([["Only once is this page drawn."]]), "pdf", page=1)
    first = browser.get(f"/documents/passage/{chunk_id}/page/1")
    assert first.status_code == 200
    monkeypatch.setattr(ParsePool, "draw_page", None)
    again = browser.get(f"/documents/passage/{chunk_id}/page/1")
    assert again.text.partition("<svg viewBox")[2].partition("</svg>") == first.text.partition("<svg viewBox")[
        2
    ].partition("</svg>")


def test_a_page_that_is_being_drawn_is_waited_for_by_a_click_and_not_by_what_asks_ahead(
    app: Flask, browser: FlaskClient, add: Add
) -> None:
    """A click draws nothing again, and what asks ahead is not among the few requests that a user may wait with."""
    _, _, chunk_id = add("ahead.pdf", samples.pdf([["Drawn ahead."], ["The second page."]]), "pdf", page=1)
    begun, go_on, drawn = threading.Event(), threading.Event(), list[int]()
    address, ahead = f"/documents/passage/{chunk_id}/page/1", {"Purpose": "prefetch"}
    visitors = [sign_in(app) for _ in range(2)]
    draw_page, admission = ParsePool.draw_page, site_of(app).background.parse_now._admission

    def draw(pool: ParsePool, path: Path, number: int, **options: Any) -> PagePicture:
        drawn.append(number)
        begun.set()
        assert go_on.wait(WAIT_S)
        return draw_page(pool, path, number, **options)

    with patch.object(ParsePool, "draw_page", draw), ThreadPoolExecutor() as threads:
        first = threads.submit(visitors[0].get, address, headers=ahead)
        assert begun.wait(WAIT_S)
        second_page = browser.get(address.replace("page/1", "page/2"), headers=ahead)
        click = threads.submit(visitors[1].get, address)
        eventually(lambda: admission._waiting)
        go_on.set()
        assert (first.result().status_code, click.result().status_code) == (200, 200)
    assert (drawn, second_page.status_code) == ([1], 503)


def test_a_file_that_is_no_pdf_inside_has_no_page(browser: FlaskClient, add: Add) -> None:
    _, _, chunk_id = add("broken.pdf", b"%PDF-1.4 and no more", "pdf", page=1)
    assert browser.get(f"/documents/passage/{chunk_id}/page/1").status_code == 404
    shown = browser.get(f"/documents/passage/{chunk_id}")
    assert shown.status_code == 200
    assert "cannot be shown as it looks. This is its text." in shown.text
    assert "The tray." in shown.text


def test_old_pictures_make_room(tmp_path: Path) -> None:
    picture = PagePicture(b"x" * 600_000, 1, 10, 10, "", ())
    pictures = PagePictures(tmp_path, most_mb=1)
    for number in (1, 2, 3):
        pictures.get(tmp_path, "0" * 64, number, lambda path, page: picture)
    assert [path.name for path in tmp_path.iterdir()] == ["0" * 64 + "-3"]


def test_pictures_go_with_the_last_document_that_has_the_file(tmp_path: Path) -> None:
    picture = PagePicture(b"x", 1, 10, 10, "", ())
    pictures = PagePictures(tmp_path / "pages")
    assert pictures.sweep(lambda hashes: hashes) == 0, "there is no folder yet"
    for content, number in (("0" * 64, 1), ("0" * 64, 2), ("1" * 64, 1)):
        pictures.get(tmp_path, content, number, lambda path, page: picture)
    assert pictures.sweep(lambda hashes: {"1" * 64}) == 2
    assert [path.name for path in (tmp_path / "pages").iterdir()] == ["1" * 64 + "-1"]
