"""The list of a dataset's documents, and a document's page."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient
from sqlalchemy import insert, update

from braid.app.site import Site
from braid.core.ledger.tables import JobRow
from braid.core.types import ChunkInput, Dataset, DocumentInput
from tests import samples
from tests.app.pages.datasets.sent import rows, text_of
from tests.web import post_form

pytestmark = pytest.mark.usefixtures("with_copy")


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
