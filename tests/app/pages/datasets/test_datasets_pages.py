"""The pages of datasets: lists, uploads and their progress, documents, exports, what others may see."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from braid.app.pages.datasets.document_list import DocumentList, document_list
from braid.app.site import Site
from braid.core.types import ChunkInput, Dataset, DocumentInput
from tests import samples
from tests.app.pages.datasets.sent import rows, settled, text_of, upload
from tests.fakes import HashEmbeddings
from tests.web import post_form
from tests.worlds import WAIT_S, eventually, html_page, web_site

pytestmark = pytest.mark.usefixtures("with_copy")


JAPANESE_PDF = samples.pdf([["Fees"], [samples.JAPANESE[:40]]])


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
