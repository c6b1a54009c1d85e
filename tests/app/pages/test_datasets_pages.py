"""The pages of datasets: lists, uploads and their progress, documents, exports, what others may see."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import insert, update
from werkzeug.test import TestResponse

from braid.app.pages.datasets.document_list import DocumentList, document_list
from braid.app.site import Site
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.ledger.tables import JobRow
from braid.core.types import ChunkInput, Dataset, DocumentInput
from tests import samples
from tests.fakes import HashEmbeddings
from tests.web import add_user, csrf_token, make_app, post_form, sign_in, site_of
from tests.worlds import WAIT_S, eventually, html_page, web_site

pytestmark = pytest.mark.usefixtures("with_copy")

JAPANESE_PDF = samples.pdf([["Fees"], [samples.JAPANESE[:40]]])


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with Braid(tmp_path_factory.mktemp("datasets") / "data", embedding_model=HashEmbeddings()) as braid:
        settings = Settings(max_file_mb=1, max_import_mb=1, allow_private_urls=True)
        opened = make_app(braid, settings, jobs=True)
        yield opened
        site_of(opened).close()


@pytest.fixture
def here(app: Flask) -> Site:
    return site_of(app)


@pytest.fixture(scope="module")
def ann(app: Flask) -> FlaskClient:
    """A user who is signed in."""
    return sign_in(app, add_user(app, "ann").name)


@pytest.fixture(scope="module")
def eve(app: Flask) -> FlaskClient:
    """Another user."""
    return sign_in(app, add_user(app, "eve").name)


@pytest.fixture(scope="module")
def admin(app: Flask) -> FlaskClient:
    """The administrator."""
    return sign_in(app)


@pytest.fixture(autouse=True)
def no_message_of_an_earlier_test(ann: FlaskClient, eve: FlaskClient, admin: FlaskClient) -> None:
    """The browsers are those of all tests here, and a message waits for the next page that is shown."""
    for browser in (ann, eve, admin):
        with browser.session_transaction() as session:
            session.pop("_flashes", None)


@pytest.fixture
def dataset(ann: FlaskClient, here: Site) -> Dataset:
    """A new, empty dataset of hers."""
    post_form(ann, "/datasets", name="Notes")
    return here.braid.ledger.all_datasets()[-1]


@pytest.fixture
def shared(here: Site) -> Dataset:
    name = f"Handbook {time.time_ns()}"
    entry = here.braid.registry.add(name, "shared_main_db", description="For everybody")
    return here.braid.dataset(entry.id)


def upload(client: FlaskClient, dataset: Dataset, name: str, content: bytes, **more: object) -> TestResponse:
    """Send a file as the page's script does."""
    headers = {"X-CSRFToken": csrf_token(client), "Accept": "application/json"}
    query = {"name": name, **more}
    address = f"/datasets/{dataset.id}/files"
    return client.post(address, data=content, query_string=query, headers=headers, mimetype="application/octet-stream")


def text_of(client: FlaskClient, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, response.get_data(as_text=True)
    return response.get_data(as_text=True)


def settled(client: FlaskClient, dataset: Dataset) -> str:
    """The list of documents when nothing is under way any more."""

    def still() -> str:
        page = text_of(client, f"/datasets/{dataset.id}/live")
        return "" if 'data-busy="1"' in page else page

    return eventually(still, pause_s=0.1)


def rows(page: str) -> dict[str, str]:
    """Name → stage, of the list."""
    found = re.findall(r'<tr id="[^"]+" data-stage="(\w+)">.*?class="grow">\s*(.*?)</th>', page, re.S)
    names = ((stage, re.search(r">([^<]+)</a>", text) or re.match(r"([^<\n]+)", text)) for stage, text in found)
    return {name[1].strip(): stage for stage, name in names if name}


@pytest.fixture
def spooled(here: Site) -> Callable[[], list[Path]]:
    """What the test has put into the spool; other tests leave files there, too."""
    folder = here.braid.data_dir / "uploads"
    before = {*folder.iterdir()}
    return lambda: sorted({*folder.iterdir()} - before)


def test_a_document_that_comes_while_the_page_is_made_is_not_said_to_be_searchable(
    ann: FlaskClient, here: Site, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_and_then_put(shown: Dataset) -> DocumentList:
        found = document_list(shown)
        here.braid.ledger.put_document(shown.id, DocumentInput("late.md", "Late", "md", (ChunkInput("A late one."),)))
        return found

    pages = import_module("braid.app.pages.datasets.dataset")  # its package has a name like it
    monkeypatch.setattr(pages, "document_list", read_and_then_put)
    assert "everything is searchable" not in text_of(ann, f"/datasets/{dataset.id}")
    monkeypatch.undo()
    assert "everything is searchable" in settled(ann, dataset)


# ---------------------------------------------------------------- datasets


def test_a_dataset_is_made_renamed_and_deleted(ann: FlaskClient, here: Site, dataset: Dataset) -> None:
    assert f'href="/datasets/{dataset.id}">Notes</a>' in text_of(ann, "/datasets")
    assert post_form(ann, f"/datasets/{dataset.id}/name", name="Minutes").status_code == 302
    assert "Minutes" in text_of(ann, f"/datasets/{dataset.id}")
    assert post_form(ann, f"/datasets/{dataset.id}/delete").location == "/datasets"
    assert ann.get(f"/datasets/{dataset.id}").status_code == 404


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_name_that_cannot_be_is_refused_in_words(ann: FlaskClient, name: str) -> None:
    response = post_form(ann, "/datasets", name=name)
    assert response.status_code == 400
    assert "Enter a name of 1 to 200 visible characters." in response.get_data(as_text=True)


def test_a_full_dataset_goes_only_when_its_name_is_typed_again(ann: FlaskClient, here: Site, dataset: Dataset) -> None:
    document = DocumentInput("a.md", "A", "md", (ChunkInput("one"), ChunkInput("two")))
    here.braid.ledger.put_document(dataset.id, document)
    page = text_of(ann, f"/datasets/{dataset.id}")
    assert "This deletes 1 document and 2 passages." in page
    for wrong in ({}, {"name": "notes"}):
        response = post_form(ann, f"/datasets/{dataset.id}/delete", **wrong)
        assert response.status_code == 400
        assert "Nothing was deleted" in response.get_data(as_text=True)
    assert post_form(ann, f"/datasets/{dataset.id}/delete", name="Notes").status_code == 302
    assert ann.get(f"/datasets/{dataset.id}").status_code == 404


def test_a_deleted_dataset_is_gone_at_once_and_comes_back_with_undo(
    ann: FlaskClient, here: Site, dataset: Dataset
) -> None:
    here.braid.ledger.put_document(dataset.id, DocumentInput("a.md", "A", "md", (ChunkInput("Zircon pumps."),)))
    page = ann.get(post_form(ann, f"/datasets/{dataset.id}/delete", name="Notes").location).text
    assert "and all its documents have been deleted." in page
    assert re.search(rf'name="c" value="{dataset.id}".*?value="restore">Undo', page, re.DOTALL)
    assert "Recently deleted datasets" in page
    for address in (f"/datasets/{dataset.id}", f"/search?q=zircon&d={dataset.id}"):
        assert "Zircon" not in ann.get(address).text
    assert here.braid.indexer.wait(WAIT_S)
    assert post_form(ann, "/datasets/deleted", act="restore", c=dataset.id).location == f"/datasets/{dataset.id}"
    assert here.braid.indexer.wait(WAIT_S)
    assert "Zircon" in ann.get(f"/search?q=zircon&d={dataset.id}").text
    assert f'name="c" value="{dataset.id}"' not in ann.get("/datasets").text


def test_a_deleted_dataset_goes_for_good_when_that_is_wanted(ann: FlaskClient, here: Site, dataset: Dataset) -> None:
    post_form(ann, f"/datasets/{dataset.id}/delete")
    assert post_form(ann, "/datasets/deleted", act="burn", c=dataset.id).status_code == 400
    asked = post_form(ann, "/datasets/deleted", act="erase", c=dataset.id)
    assert "Permanently delete this dataset?" in asked.text
    still = [one.id for one in here.deleted_datasets.of_user(dataset.user_id or 0)]
    assert dataset.id in still, "it only asks"
    form = {"act": "erase", "c": dataset.id, "confirmed": 1}
    assert "permanently deleted" in text_of(ann, post_form(ann, "/datasets/deleted", **form).location)
    assert post_form(ann, "/datasets/deleted", act="erase", c=dataset.id).status_code == 404
    assert post_form(ann, "/datasets/deleted", act="restore", c=dataset.id).status_code == 404


@pytest.fixture
def english_again(ann: FlaskClient) -> Iterator[None]:
    """The page keeps the language that was chosen last."""
    yield
    ann.get("/datasets?lang=en")


@pytest.mark.usefixtures("english_again")
def test_why_a_file_failed_is_said_in_the_pages_language_and_in_english_by_the_api(
    ann: FlaskClient, dataset: Dataset
) -> None:
    upload(ann, dataset, "photo.gif", samples.GIF)
    settled(ann, dataset)
    said = {language: ann.get(f"/datasets/{dataset.id}?lang={language}").text for language in ("en", "ja", "ko")}
    assert "This file is a GIF image; save it as .png." in said["en"]
    assert "このファイルは GIF 画像です。.png として保存してください。" in said["ja"]
    assert "이 파일은 읽을 수 없는 형식이에요(GIF 이미지). .png 형식으로 저장하세요." in said["ko"]
    assert 'lang="en">this file' not in said["ja"].lower()
    documents = ann.get(f"/api/v1/datasets/{dataset.id}/documents").get_json()["items"]
    assert [document["error"][:26] for document in documents] == ["photo.gif is a GIF image; "]
    post_form(ann, f"/datasets/{dataset.id}/delete", name="Notes")


@pytest.mark.usefixtures("english_again")
def test_a_refused_upload_has_its_reason_in_both_languages(ann: FlaskClient, dataset: Dataset) -> None:
    ann.get("/datasets?lang=ja")
    refused = upload(ann, dataset, "large.txt", b"x" * 1_100_000).get_json()
    assert refused["detail"] == "at most 1,048,576 bytes are accepted at once; split it"
    assert refused["message"] == "一度に受け付けるのは 1,048,576 バイトまでです。分割してください。"


def test_a_document_is_ready_when_both_indexes_have_it_and_the_copy_too(
    ann: FlaskClient, here: Site, dataset: Dataset
) -> None:
    here.braid.ledger.put_document(dataset.id, DocumentInput("a.md", "A", "md", (ChunkInput("one"),)))
    assert here.braid.indexer.wait(WAIT_S, legs=("bm25", "dense", "chroma"))
    assert "still indexing" not in text_of(ann, f"/datasets/{dataset.id}")


def test_a_dataset_that_goes_takes_its_uploads_along(
    ann: FlaskClient, here: Site, dataset: Dataset, spooled: Callable[[], list[Path]]
) -> None:
    upload(ann, dataset, "photo.gif", samples.GIF)
    assert rows(settled(ann, dataset)) == {"photo.gif": "failed"}
    assert post_form(ann, f"/datasets/{dataset.id}/delete", name="Notes").status_code == 302
    assert here.background.store.counts(dataset_id=dataset.id)["failed"] == 0
    assert spooled() == []


# ---------------------------------------------------------------- documents come in


def test_files_become_documents_that_are_found(
    ann: FlaskClient, here: Site, dataset: Dataset, spooled: Callable[[], list[Path]]
) -> None:
    assert upload(ann, dataset, "案内/図書館.pdf", JAPANESE_PDF, date=1_700_000_000_000).status_code == 202
    assert upload(ann, dataset, "manual.docx", samples.docx_manual()).get_json()["name"] == "manual.docx"
    assert sorted(rows(settled(ann, dataset)).values()) == ["done", "done"]
    documents = {document.source: document for document in here.braid.ledger.documents(dataset.id)}
    assert documents["案内/図書館.pdf"].date == 1_700_000_000
    assert spooled() == []
    owner = dataset.user_id or 0
    hit = here.braid.manager.search(samples.JAPANESE[:20], user_id=owner, mode="keyword").hits[0]
    assert (hit.passage.source, hit.passage.page) == ("案内/図書館.pdf", 2)


def test_a_replaced_version_is_named_and_comes_back(
    ann: FlaskClient, here: Site, dataset: Dataset, spooled: Callable[[], list[Path]]
) -> None:
    first, second = b"The north office opens at 8:15.", b"The south office opens at 9:45."
    for content in (first, second):
        upload(ann, dataset, "notes.txt", content)
        page = settled(ann, dataset)
    [document] = here.braid.ledger.documents(dataset.id)

    def text() -> str:
        passages = here.braid.ledger.document_passages(document.id, [dataset.id])
        return " ".join(passage.text for passage in passages)

    kept = len(spooled())
    for expected in (first, second):  # what was put back can be taken back, too
        assert "Replaced the version of" in page
        undo = re.search(r'action="(/datasets/\d+/jobs/\d+/undo)"', page)
        assert undo, page
        assert post_form(ann, undo[1]).status_code == 302
        page = settled(ann, dataset)
        assert text() == expected.decode()
        assert len(spooled()) == kept, "of the versions that were replaced only the last is kept"
    assert post_form(ann, undo[1]).status_code == 404, "it is undone already"
    upload(ann, dataset, "notes.txt", second)
    assert "Replaced the version of" not in settled(ann, dataset), "the same file again replaces nothing"
    post_form(ann, f"/datasets/{dataset.id}/delete", name="Notes")
    assert spooled() == [], "the versions go with their dataset"


def test_one_file_and_several_come_in_without_scripts(ann: FlaskClient, dataset: Dataset) -> None:
    files = [(io.BytesIO(f"# {name}\n\nText of {name}.".encode()), f"{name}.md") for name in ("one", "two")]
    response = post_form(ann, f"/datasets/{dataset.id}/files/form", file=files)
    assert response.location == f"/datasets/{dataset.id}"
    assert "Reading 2 documents." in text_of(ann, response.location)
    assert rows(settled(ann, dataset)) == {"one": "done", "two": "done"}
    response = post_form(ann, f"/datasets/{dataset.id}/files/form")
    assert (response.status_code, "Choose a file first." in response.get_data(as_text=True)) == (400, True)


def test_of_several_files_none_stays_where_one_is_refused(
    ann: FlaskClient, here: Site, dataset: Dataset, spooled: Callable[[], list[Path]]
) -> None:
    files = [(io.BytesIO(b"Text."), f"{name}.md") for name in ("one", "x" * 1100)]
    assert post_form(ann, f"/datasets/{dataset.id}/files/form", file=files).status_code == 400
    assert spooled() == []
    assert not any(here.background.store.counts(dataset_id=dataset.id).values())


def test_pasted_text_becomes_a_document(ann: FlaskClient, dataset: Dataset) -> None:
    text = "The printer shows E-4711.\r\n\r\n## Tray\r\n\r\nFill it."
    assert post_form(ann, f"/datasets/{dataset.id}/text", title="Printer", text=text).status_code == 302
    assert rows(settled(ann, dataset)) == {"Printer.md": "done"} or rows(settled(ann, dataset)) == {"Tray": "done"}


@pytest.mark.parametrize(
    ("form", "told"),
    [({"title": " ", "text": "x"}, "Enter a title"), ({"title": "x", "text": " \n"}, "Enter or paste some text first")],
)
def test_texts_without_title_or_content_are_refused(
    ann: FlaskClient, dataset: Dataset, form: dict[str, str], told: str
) -> None:
    response = post_form(ann, f"/datasets/{dataset.id}/text", **form)
    assert (response.status_code, told in response.get_data(as_text=True)) == (400, True)


def row_of_dataset(client: FlaskClient, dataset: Dataset) -> str:
    page = client.get("/datasets").text
    (row,) = (each for each in page.split("</tr>") if f'href="/datasets/{dataset.id}"' in each)
    return row


def test_a_web_page_becomes_a_document_and_one_that_is_missing_a_reason(ann: FlaskClient, dataset: Dataset) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        page = b"<title>Travel</title><h1>Travel</h1><p>Book trains early.</p>"
        html_page(page, 200 if request.path == "/travel" else 404)(request)

    with web_site(answer) as base:
        for path in ("/travel", "/missing"):
            assert post_form(ann, f"/datasets/{dataset.id}/url", url=base + path).status_code == 302
        page = settled(ann, dataset)
    assert rows(page) == {"Travel": "done", f"{base}/missing": "failed"}
    assert "answered with status 404" in page
    listed = partial(row_of_dataset, ann, dataset)
    assert "1 unreadable" in listed()
    remove = re.search(r'action="(/datasets/\d+/jobs/\d+/remove)"', page)
    assert remove
    post_form(ann, remove[1])
    assert rows(settled(ann, dataset)) == {"Travel": "done"}
    assert "unreadable" not in listed()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/a", "javascript:alert(1)", "http://", ""])
def test_addresses_that_are_never_fetched_are_refused_at_once(ann: FlaskClient, dataset: Dataset, url: str) -> None:
    response = post_form(ann, f"/datasets/{dataset.id}/url", url=url)
    assert (response.status_code, "must begin with http://" in response.get_data(as_text=True)) == (400, True)


def test_a_failed_upload_is_tried_again_or_removed_with_its_file(
    ann: FlaskClient, here: Site, dataset: Dataset, spooled: Callable[[], list[Path]]
) -> None:
    upload(ann, dataset, "photo.pdf", samples.GIF)
    page = settled(ann, dataset)
    assert rows(page) == {"photo.pdf": "failed"}
    assert "This file is a GIF image" in page
    retry = re.search(r'action="(/datasets/\d+/jobs/\d+/retry)"', page)
    assert retry
    assert post_form(ann, retry[1]).status_code == 302
    page = settled(ann, dataset)
    assert rows(page) == {"photo.pdf": "failed"}
    ids = re.findall(r'name="document" value="(\d+)"><button', page)
    post_form(ann, f"/datasets/{dataset.id}/documents/remove", document=ids)
    assert rows(settled(ann, dataset)) == {}
    assert spooled() == []


# ---------------------------------------------------------------- the list


@pytest.fixture
def many(here: Site, dataset: Dataset) -> Dataset:
    """With 60 documents, and a failed one."""
    here.braid.ledger.put_documents(
        dataset.id,
        [DocumentInput(f"n/{i:02}.md", f"Note {i:02}", "md", (ChunkInput(f"note {i}"),)) for i in range(60)],
    )
    here.braid.ledger.put_failed(dataset.id, "scan.pdf", title="scan.pdf", file_type="pdf", error="no text in it")
    assert here.braid.indexer.wait(WAIT_S)
    return dataset


def test_an_unreadable_file_is_not_ready_and_one_that_is_read_anew_is_listed_once(
    ann: FlaskClient, here: Site, many: Dataset
) -> None:
    new = {"user_id": 1, "kind": "upload", "dataset_id": many.id, "state": "running", "error": "", "result": {}}
    new |= {"done": 0, "total": 0, "attempts": 1, "created_at": 1.0}
    with here.braid.ledger.database.write() as connection:
        connection.execute(insert(JobRow).values(title="new.pdf", payload={}, **new))
    told = text_of(ann, f"/datasets/{many.id}/live")
    assert "60 of 62 ready · 1 unreadable ·" in told
    here.braid.ledger.database.change(update(JobRow).values(title="scan.pdf"))
    page = text_of(ann, f"/datasets/{many.id}/live")
    assert "60 of 61 ready · 1 unreadable ·" in page
    assert re.findall(r'data-stage="(\w+)">[^✓]*?scan\.pdf', page.partition("Note")[0]) == ["reading"]


def test_the_list_is_paged_searched_and_filtered(ann: FlaskClient, many: Dataset) -> None:
    first, second = (rows(text_of(ann, f"/datasets/{many.id}?page={page}")) for page in (0, 1))
    assert (len(first), len(second), len(first | second)) == (50, 11, 61)
    assert rows(text_of(ann, f"/datasets/{many.id}?name=NOTE+07")) == {"Note 07": "done"}
    assert rows(text_of(ann, f"/datasets/{many.id}?state=failed")) == {"scan.pdf": "failed"}
    assert "scan.pdf" not in rows(text_of(ann, f"/datasets/{many.id}?state=done"))
    assert rows(text_of(ann, f"/datasets/{many.id}?state=waiting")) == {}
    assert "No document matches." in text_of(ann, f"/datasets/{many.id}?name=%25")
    for odd in ("page=-1", "page=x", f"page={10**30}", "state=nonsense", "name=%00"):
        assert ann.get(f"/datasets/{many.id}?{odd}").status_code == 200


def test_documents_are_deleted_and_undo_brings_them_back(ann: FlaskClient, here: Site, many: Dataset) -> None:
    where, ledger = f"/datasets/{many.id}", here.braid.ledger
    chosen = [str(document.id) for document in ledger.documents(many.id, limit=3)]
    assert post_form(ann, f"{where}/documents/remove", document=chosen).status_code == 302
    assert here.braid.dataset(many.id).documents == 58
    assert not [d for d in ledger.documents(many.id) if str(d.id) in chosen]
    told = text_of(ann, where)
    assert "3 documents deleted." in told
    [deletion] = re.findall(r'name="c" value="(\d+)">\s*<span role="status">3 documents deleted', told)
    assert 'id="deleted-documents"' in told
    assert post_form(ann, f"{where}/documents/deleted", act="undo", c=deletion).status_code == 302
    assert here.braid.dataset(many.id).documents == 61
    told = text_of(ann, where)
    assert "3 documents are back." in told
    assert 'id="deleted-documents"' not in told


def test_one_deleted_document_is_restored_or_goes_for_good(
    ann: FlaskClient, eve: FlaskClient, here: Site, dataset: Dataset
) -> None:
    ledger, where = here.braid.ledger, f"/datasets/{dataset.id}"
    ids = [
        ledger.put_document(dataset.id, DocumentInput(f"{n}.md", f"Note {n}", "md", (ChunkInput(n),))).document_id
        for n in ("one", "two")
    ]
    post_form(ann, f"{where}/documents/remove", document=[str(each) for each in ids])
    assert post_form(eve, f"{where}/documents/deleted", act="restore", c=ids[0]).status_code == 404
    assert post_form(ann, f"{where}/documents/deleted", act="other", c=ids[0]).status_code == 400
    ledger.put_document(dataset.id, DocumentInput("one.md", "Another", "md", (ChunkInput("other"),)))
    post_form(ann, f"{where}/documents/deleted", act="restore", c=ids[0])
    assert "Another document has this name now, so it stays deleted: one.md." in text_of(ann, where)
    post_form(ann, f"{where}/documents/deleted", act="restore", c=ids[1])
    assert {each.title for each in ledger.documents(dataset.id)} == {"Another", "Note two"}
    asked = post_form(ann, f"{where}/documents/deleted", act="erase", c=ids[0]).get_data(as_text=True)
    assert "Permanently delete this document?" in asked
    assert "Note one" in asked
    post_form(ann, f"{where}/documents/deleted", act="erase", c=ids[0], confirmed="1")
    assert here.deleted_documents.of_dataset(dataset.id) == []


def test_a_document_shows_the_passages_that_were_read(ann: FlaskClient, here: Site, dataset: Dataset) -> None:
    chunks = [ChunkInput(f"Passage {i}.", heading_path="Guide > Fees", page=i + 1, page_end=i + 1) for i in range(60)]
    stored = here.braid.ledger.put_document(dataset.id, DocumentInput("g.pdf", "Guide", "pdf", tuple(chunks)))
    page = text_of(ann, f"/datasets/{dataset.id}/documents/{stored.document_id}")
    assert "Fees" in page
    assert "page 50" in page
    assert "Passage 50." not in page
    assert "Passage 50." in text_of(ann, f"/datasets/{dataset.id}/documents/{stored.document_id}?start=50")


def test_what_documents_say_and_are_called_is_never_html(ann: FlaskClient, here: Site, dataset: Dataset) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    document = DocumentInput(f"{evil}.md", evil, "md", (ChunkInput(evil, heading_path=evil),))
    stored = here.braid.ledger.put_document(dataset.id, document)
    here.braid.ledger.rename_dataset(dataset.id, evil)
    pages = ["", f"/documents/{stored.document_id}", "/statistics", "/live"]
    for page in [text_of(ann, f"/datasets/{dataset.id}{path}") for path in pages] + [text_of(ann, "/datasets")]:
        assert "<script>alert" not in page
        assert "<img src=x" not in page


def test_figures_of_a_dataset(ann: FlaskClient, here: Site, many: Dataset) -> None:
    texts = (ChunkInput(samples.JAPANESE),)
    document = DocumentInput("a.txt", "A", "txt", texts, date=1_700_000_000.0, size_bytes=2048)
    here.braid.ledger.put_document(many.id, document)
    page = text_of(ann, f"/datasets/{many.id}/statistics")
    for row in (r"md</th>.*?>60<", r"pdf</th>.*?>1<", r"2023-11</th>.*?>1<", r"Japanese</th>.*?>1<"):
        assert re.search(rf'<th scope="row">{row}', page), row


# ---------------------------------------------------------------- export, import, embedding anew


def test_an_export_is_downloaded_and_imported_as_another_dataset(
    ann: FlaskClient, eve: FlaskClient, here: Site, many: Dataset
) -> None:
    assert post_form(ann, f"/datasets/{many.id}/export").status_code == 302
    link = re.compile(r'href="(/datasets/\d+/exports/\d+)"')
    found = eventually(lambda: link.search(text_of(ann, f"/datasets/{many.id}/live")), pause_s=0.05)
    with ann.get(found[1]) as download:
        assert "Notes.zip" in download.headers["Content-Disposition"]
        response = post_form(ann, "/datasets/import", file=(io.BytesIO(download.data), "x.zip"), name="Copy")
    copy = here.braid.dataset(int(response.location.rpartition("/")[2]))
    settled(ann, copy)
    assert (copy.name, here.braid.dataset(copy.id).documents) == ("Copy", 60)
    assert eve.get(found[1]).status_code == 404


def test_original_files_go_along_and_what_is_lost_is_said(ann: FlaskClient, here: Site, dataset: Dataset) -> None:
    for name in ("kept.md", "gone.md", "harmed.md"):
        upload(ann, dataset, name, f"# About {name}".encode())
    settled(ann, dataset)
    files = {each.source: here.background.originals.find(each) for each in here.braid.ledger.documents(dataset.id)}
    (files["gone.md"] or Path()).unlink()
    assert post_form(ann, f"/datasets/{dataset.id}/export", originals="on").status_code == 302
    page = settled(ann, dataset)
    assert "2 original files are in it." in page
    assert "The original file of 1 document is gone or damaged and is not in it." in page
    link = re.search(r'href="(/datasets/\d+/exports/\d+)"', page)
    with ann.get(link[1] if link else "") as download:
        content = download.data.replace(b"# About harmed.md", b"# About harmed!!!", 1)
    response = post_form(ann, "/datasets/import", file=(io.BytesIO(content), "x.zip"))
    copy = here.braid.dataset(int(response.location.rpartition("/")[2]))
    page = settled(ann, copy)
    assert "The original file of 1 document was damaged in the export." in page
    assert "The original file of 1 document was missing from the export." in page
    assert here.braid.dataset(copy.id).documents == 3, "nothing else is lost"
    statuses = {}
    for each in here.braid.ledger.documents(copy.id):
        opened = ann.get(f"/datasets/{copy.id}/documents/{each.id}/original", buffered=True)
        statuses[each.source] = (opened.status_code, opened.data if opened.status_code == 200 else b"")
    assert statuses == {"kept.md": (200, b"# About kept.md"), "gone.md": (404, b""), "harmed.md": (404, b"")}


def test_a_file_that_is_no_export_makes_no_dataset(ann: FlaskClient, here: Site) -> None:
    before = len(here.braid.ledger.all_datasets())
    response = post_form(ann, "/datasets/import", file=(io.BytesIO(b"no zip"), "x.zip"))
    assert response.status_code == 400
    assert "no zip archive" in response.get_data(as_text=True)
    assert len(here.braid.ledger.all_datasets()) == before


def test_all_passages_are_embedded_anew(ann: FlaskClient, here: Site, many: Dataset) -> None:
    model = here.braid.model_of(many.collection)
    assert isinstance(model, HashEmbeddings)
    before = model.documents_embedded
    post_form(ann, f"/datasets/{many.id}/reembed")
    settled(ann, many)
    assert model.documents_embedded - before == 60


# ---------------------------------------------------------------- who may see and do what


PATHS = (
    ("GET", ""),
    ("GET", "/live"),
    ("GET", "/statistics"),
    ("GET", "/documents/{document}"),
    ("POST", "/files"),
    ("POST", "/files/form"),
    ("POST", "/text"),
    ("POST", "/url"),
    ("POST", "/name"),
    ("POST", "/delete"),
    ("POST", "/documents/remove"),
    ("POST", "/documents/deleted"),
    ("POST", "/export"),
    ("POST", "/reembed"),
    ("POST", "/jobs/retry"),
    ("POST", "/jobs/cancel"),
)


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_datasets_of_others_do_not_exist(
    here: Site, dataset: Dataset, method: str, path: str, eve: FlaskClient, admin: FlaskClient
) -> None:
    stored = here.braid.ledger.put_document(dataset.id, DocumentInput("a.md", "A", "md", (ChunkInput("one"),)))
    address = f"/datasets/{dataset.id}{path.format(document=stored.document_id)}"
    for other in (eve, admin):
        form = {"csrf_token": csrf_token(other), "confirmed": "1", "document": str(stored.document_id)}
        response = other.get(address) if method == "GET" else other.post(address, data=form)
        assert response.status_code == 404
    assert here.braid.dataset(dataset.id).documents == 1


def test_jobs_of_others_do_not_exist(ann: FlaskClient, eve: FlaskClient, here: Site, dataset: Dataset) -> None:
    upload(ann, dataset, "photo.gif", samples.GIF)
    settled(ann, dataset)
    [job] = here.background.store.of_dataset(dataset.id, kinds=("upload",), states=("failed",))
    post_form(eve, "/datasets", name="Mine")
    own = here.braid.ledger.all_datasets()[-1]
    for address in (f"/datasets/{own.id}/jobs/{job.id}/remove", f"/datasets/{own.id}/jobs/{job.id}/retry"):
        assert post_form(eve, address).status_code == 404
    assert eve.get(f"/datasets/{own.id}/exports/{job.id}").status_code == 404


def test_shared_datasets_are_read_by_users_and_filled_by_administrators(
    ann: FlaskClient, admin: FlaskClient, here: Site, shared: Dataset
) -> None:
    assert upload(admin, shared, "travel.md", b"# Travel\n\nBook early.").status_code == 202
    assert rows(settled(admin, shared)) == {"Travel": "done"}
    actions = [each.action for each in here.audit.entries()]
    actions.remove("shared_db.added")  # the list was changed as with an editor, which is noted a moment later
    assert actions[0] == "documents.added"
    page = text_of(ann, f"/datasets/{shared.id}")
    forms = re.findall(r'<form class="([^"]*)" method="post"', page.partition("<main")[2])
    assert (rows(page), 'id="upload"' in page, forms, page.partition("<main")[2].count("csrf_token")) == (
        {"Travel": "done"},
        False,
        ["summarise", "ask-own"],
        2,
    )
    assert shared.name in text_of(ann, "/datasets")
    assert upload(ann, shared, "b.md", b"text").status_code == 403
    for path in ("/text", "/documents/remove", "/export", "/reembed", "/name", "/delete"):
        assert post_form(ann, f"/datasets/{shared.id}{path}").status_code == 403
    here.braid.registry.update(shared.id, enabled=False)
    assert ann.get(f"/datasets/{shared.id}").status_code == 404
    assert '<span class="chip">off</span>' in admin.get("/datasets").text
    assert admin.get(f"/datasets/{shared.id}").status_code == 200


@pytest.mark.one_app
def test_limits_are_said(ann: FlaskClient, here: Site, dataset: Dataset) -> None:
    limits = {"max_user_documents": 1, "max_user_datasets": 1, "max_waiting_jobs": 1, "min_free_disk_mb": 10**7}
    here.braid.ledger.put_document(dataset.id, DocumentInput("a.md", "A", "md", (ChunkInput("one"),)))
    upload(ann, dataset, "photo.gif", samples.GIF)
    settled(ann, dataset)
    before, told = here.settings, {}
    for name, value in limits.items():
        one: dict[str, Any] = {name: value}
        here.settings = Settings(**one)
        path = "/datasets" if name == "max_user_datasets" else f"/datasets/{dataset.id}/text"
        response = post_form(ann, path, name="Another", title="a", text="b")
        told[name] = (response.status_code, response.get_data(as_text=True))
    here.settings = before
    assert {name: status for name, (status, _) in told.items()} == {
        **dict.fromkeys(limits, 400),
        "min_free_disk_mb": 503,
    }
    assert "You have 1 documents, with deleted ones" in told["max_user_documents"][1]
    assert "You have 1 datasets, which is the limit" in told["max_user_datasets"][1]
    assert "1 uploads wait or have failed" in told["max_waiting_jobs"][1]
    assert "almost full" in told["min_free_disk_mb"][1]


def test_exports_and_embedding_anew_count_as_waiting(braid: Braid) -> None:
    app = make_app(braid, replace(Settings(), max_waiting_jobs=2))
    dataset = braid.ledger.add_dataset(site_of(app).accounts.all()[0].id, "Mine")
    client = sign_in(app)
    token = csrf_token(client)
    paths = [f"/datasets/{dataset.id}/{what}" for what in ("export", "reembed", "export")]
    statuses = [client.post(path, data={"csrf_token": token}).status_code for path in paths]
    assert statuses == [302, 302, 400]
    huge = client.post(f"/datasets/{dataset.id}/documents/remove", data={"csrf_token": token, "document": "9" * 5000})
    assert huge.status_code in (302, 400)
