"""A site with two users and an administrator, their browsers, and datasets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.site import Site
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.types import ChunkInput, Dataset, DocumentInput
from tests.fakes import HashEmbeddings
from tests.web import add_user, make_app, post_form, sign_in, site_of
from tests.worlds import WAIT_S


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


@pytest.fixture
def dataset(ann: FlaskClient, here: Site) -> Dataset:
    """A new, empty dataset of hers."""
    post_form(ann, "/datasets", name="Notes")
    return here.braid.ledger.all_datasets()[-1]


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


@pytest.fixture(autouse=True)
def no_message_of_an_earlier_test(ann: FlaskClient, eve: FlaskClient, admin: FlaskClient) -> None:
    """The browsers are those of all tests here, and a message waits for the next page that is shown."""
    for browser in (ann, eve, admin):
        with browser.session_transaction() as session:
            session.pop("_flashes", None)
