"""Original files on the pages and in the API: for readers of the document alone, and nothing in them runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.ingest.incoming import Incoming
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.web import bearer, make_app, sign_in, site_of

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

    def store(source: str, content: bytes, file_type: str, *, kept: bool = True) -> tuple[int, int, str]:
        path = folder / "spooled"
        path.write_bytes(content)
        incoming = Incoming.from_file(path, source)
        document = DocumentInput(
            source, source, file_type, (ChunkInput("The tray."),), content_hash=incoming.content_hash
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


def test_pages_lead_to_the_file_where_there_is_one(browser: FlaskClient, add: Add) -> None:
    for source, kept in (("kept.pdf", True), ("typed.md", False)):
        dataset_id, document_id, chunk_id = add(source, source.encode(), "pdf", kept=kept)
        own = f"/datasets/{dataset_id}/documents/{document_id}"
        assert (f"{own}/original" in browser.get(own).text) == kept
        cited = f"/documents/passage/{chunk_id}"
        assert (f"{cited}/original" in browser.get(cited).text) == kept
        assert browser.get(f"{own}/original", buffered=True).status_code == (200 if kept else 404)


def test_a_program_downloads_the_file(app: Flask, add: Add) -> None:
    dataset_id, document_id, _ = add("fees.pdf", b"%PDF", "pdf")
    headers = bearer(app, site_of(app).accounts.all()[0], "read")
    address = f"/api/v1/datasets/{dataset_id}/documents/{document_id}/original"
    response = app.test_client().get(address, headers=headers, buffered=True)
    assert (response.data, response.mimetype) == (b"%PDF", "application/octet-stream")
    site_of(app).braid.ledger.remove_document(dataset_id, "fees.pdf")
    assert app.test_client().get(address, headers=headers).status_code == 404
