"""Who may see and change datasets, and how much."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from braid.app.site import Site
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.types import ChunkInput, Dataset, DocumentInput
from tests import samples
from tests.app.pages.datasets.sent import rows, settled, text_of, upload
from tests.web import csrf_token, make_app, post_form, sign_in, site_of

pytestmark = pytest.mark.usefixtures("with_copy")


@pytest.fixture
def shared(here: Site) -> Dataset:
    name = f"Handbook {time.time_ns()}"
    entry = here.braid.registry.add(name, "shared_main_db", description="For everybody")
    return here.braid.dataset(entry.id)


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
