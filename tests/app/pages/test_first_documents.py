"""Who has no dataset yet adds documents: it is made for the first one, once, and by no look at a page."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.opening import FIRST_DATASET
from braid.app.user.datasets import UserDatasets
from braid.core.braid import Braid
from braid.core.errors import NotFoundError
from braid.core.types import Dataset
from tests.web import add_user, csrf_token, make_app, post_form, sign_in, site_of

LOOKED_AT = ("/", "/chat", "/datasets", "/datasets/mine", "/datasets/live", "/palette.json", "/palette.json?to=add")


@pytest.fixture
def app(braid: Braid) -> Flask:
    app = make_app(braid)
    add_user(app, "mia")
    return app


@pytest.fixture
def mia(app: Flask) -> FlaskClient:
    """A user as the command line adds one: without a dataset."""
    return sign_in(app, "mia")


def datasets_of_mia(app: Flask) -> list[Dataset]:
    here = site_of(app)
    account = here.accounts.named("mia")
    assert account is not None
    return here.braid.ledger.datasets(account.id)


def own(app: Flask) -> list[str]:
    return [each.name for each in datasets_of_mia(app)]


def upload(client: FlaskClient, name: str) -> str:
    headers = {"Content-Type": "application/octet-stream", "X-CSRFToken": csrf_token(client)}
    answer = client.post(f"/datasets/mine/files?name={name}", data=b"Lamps are switched off.", headers=headers)
    assert answer.status_code == 202, answer.text
    return str(answer.json["name"])


def test_who_looks_at_pages_gets_no_dataset(app: Flask, mia: FlaskClient) -> None:
    for address in LOOKED_AT:
        assert mia.get(address).status_code in {200, 302}
    assert own(app) == []


def test_files_make_one_dataset(app: Flask, mia: FlaskClient) -> None:
    assert [upload(mia, name) for name in ("a.txt", "b.txt")] == ["a.txt", "b.txt"]
    assert own(app) == [FIRST_DATASET]


@pytest.mark.parametrize(
    ("where", "fields"),
    [("text", {"title": "Lamps", "text": "They are off."}), ("url", {"url": "https://example.org/"})],
)
def test_text_and_web_pages_make_it_too(app: Flask, mia: FlaskClient, where: str, fields: dict[str, str]) -> None:
    answer = post_form(mia, f"/datasets/mine/{where}", **fields)
    [dataset] = datasets_of_mia(app)
    assert answer.headers["Location"] == f"/datasets/{dataset.id}"
    assert mia.get("/datasets/mine").headers["Location"] == f"/datasets/{dataset.id}"


def test_who_deleted_the_last_one_gets_another(app: Flask, mia: FlaskClient) -> None:
    upload(mia, "a.txt")
    [dataset] = datasets_of_mia(app)
    site_of(app).braid.ledger.rename_dataset(dataset.id, "Notes")
    post_form(mia, f"/datasets/{dataset.id}/delete", name="Notes")
    assert own(app) == []
    upload(mia, "b.txt")
    assert own(app) == [FIRST_DATASET]


def test_who_has_a_dataset_adds_to_that(app: Flask, mia: FlaskClient) -> None:
    post_form(mia, "/datasets", name="Notes")
    upload(mia, "a.txt")
    assert own(app) == ["Notes"]


def test_requests_at_the_same_time_make_one(app: Flask) -> None:
    here = site_of(app)
    user = here.accounts.named("mia")
    assert user is not None
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _number: UserDatasets(here.braid, user.id).first().id, range(8)))
    assert len(set(found)) == 1
    assert own(app) == [FIRST_DATASET]


def test_a_limited_token_makes_none(app: Flask) -> None:
    user = site_of(app).accounts.named("mia")
    assert user is not None
    with pytest.raises(NotFoundError, match="none of the user's own datasets"):
        UserDatasets(site_of(app).braid, user.id, within=frozenset({-1})).first()
    assert own(app) == []


def test_pages_offer_to_add_documents(app: Flask, mia: FlaskClient) -> None:
    home, datasets = mia.get("/chat").text, mia.get("/datasets").text
    assert 'href="/datasets/mine#add-title"' in home
    assert "Add your own documents" in home
    assert 'data-files="/datasets/mine/files"' in datasets
    assert f"They go to “{FIRST_DATASET}”" in datasets
    [acts] = [each for each in mia.get("/palette.json?q=add doc").json["groups"] if each["name"] == "Commands"]
    assert (acts["entries"][0]["title"], acts["entries"][0]["href"]) == ("Add documents", "/datasets#add-title")
    [targets] = mia.get("/palette.json?to=add").json["groups"]
    assert [(each["title"], each["href"]) for each in targets["entries"]] == [(FIRST_DATASET, "/datasets/mine")]


def test_who_has_a_dataset_gets_the_list_alone(mia: FlaskClient) -> None:
    post_form(mia, "/datasets", name="Notes")
    assert 'id="upload"' not in mia.get("/datasets").text
    [targets] = mia.get("/palette.json?to=add").json["groups"]
    assert [each["title"] for each in targets["entries"]] == ["Notes"]
