"""The administrators' lists at a thousand users: a page at a time, searched, small and quick."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask.testing import FlaskClient
from sqlalchemy import insert

from braid.core.braid import Braid
from braid.core.indexes.leg_progress import LegProgress
from braid.core.ledger.ledger import personal_collection
from braid.core.ledger.tables import DatasetRow, UserGroupRow, UserRow
from tests.fakes import HashEmbeddings
from tests.web import bearer, make_app, sign_in, site_of, text_of

USERS = 1000
MAX_BYTES = 100_000
MAX_S = 0.2


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """An administrator of a thousand users in 200 groups, each with a dataset and a collection of their own."""
    with Braid(tmp_path_factory.mktemp("many") / "data", embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid)
        ids = range(2, USERS + 1)
        with braid.ledger.database.write() as connection:
            connection.execute(insert(UserRow), [{"id": n, "name": f"user {n:04}", "created_at": 0.0} for n in ids])
            members = [{"user_id": n, "group_name": f"group {n % 200:03}"} for n in ids]
            connection.execute(insert(UserGroupRow), members)
            shelf = {"documents": 1, "chunks": 3, "created_at": 0.0}
            personal = [
                {"id": n, "user_id": n, "name": f"Notes {n}", "collection": personal_collection(n), **shelf}
                for n in ids
            ]
            connection.execute(insert(DatasetRow), personal)
        yield sign_in(app)


def page(admin: FlaskClient, path: str) -> str:
    """The page, which is small and took little time to make."""
    admin.get(path)  # what is made once, such as templates
    gc.disable()  # what other tests have left may take longer to look through than the page
    try:
        began = time.thread_time()
        answer = admin.get(path)
        took = time.thread_time() - began
    finally:
        gc.enable()
    assert took < MAX_S
    assert answer.status_code == 200
    assert len(answer.data) < MAX_BYTES
    return answer.text


@pytest.mark.parametrize("name", ["users", "groups", "indexes", "usage", "jobs", "audit", ""])
def test_a_page_of_a_thousand_is_small_and_quick(admin: FlaskClient, name: str) -> None:
    page(admin, f"/admin/{name}")


def test_users_are_paged(admin: FlaskClient) -> None:
    first, last = page(admin, "/admin/users"), page(admin, "/admin/users?page=19")
    assert "1,000 users" in first
    assert 'rel="next">Next page<' in first
    assert "user 0010" in first
    assert "user 1000" in last
    assert 'rel="prev">Previous page<' in last
    assert 'rel="next"' not in last


@pytest.mark.parametrize(
    ("path", "last", "told"),
    [
        ("/admin/users?q=", 19, "user 1000"),
        ("/admin/users?q=group+07", 0, "user 0070"),
        ("/admin/groups?q=", 3, "group 199"),
        ("/admin/groups?q=group+07", 0, "group 079"),
        ("/admin/indexes?q=", 39, "user_1000"),
        ("/admin/group?name=group+007", 0, "user 0807"),
    ],
)
@pytest.mark.parametrize("further", [1, 90_000])
def test_past_the_end_of_a_list_is_its_last_page(
    admin: FlaskClient, monkeypatch: pytest.MonkeyPatch, path: str, last: int, told: str, further: int
) -> None:
    monkeypatch.setattr(site_of(admin.application).braid.indexer, "progress", tuple)
    shown, there = (text_of(page(admin, f"{path}&page={number}")) for number in (last + further, last))
    assert told in shown
    assert re.findall(r"Page [\d,]+ of [\d,]+|Page [\d,]+", shown) == re.findall(
        r"Page [\d,]+ of [\d,]+|Page [\d,]+", there
    )


def test_a_list_without_anything_has_one_page(admin: FlaskClient) -> None:
    assert "No user matches." in page(admin, "/admin/users?q=nobody&page=7")
    assert "No group matches." in page(admin, "/admin/groups?q=nothing&page=7")


def test_users_are_searched_by_name_and_group(admin: FlaskClient) -> None:
    found = page(admin, "/admin/users?q=USER+0987")
    assert "1 user ·" in found
    assert "user 0987" in found
    assert "user 0986" not in found
    by_group = text_of(page(admin, "/admin/users?q=group+07&page=0"))
    assert "50 users" in by_group  # ten groups of five
    assert "group 070 5" in text_of(page(admin, "/admin/groups?q=group+07"))
    assert "5 users" in page(admin, "/admin/users?group=group+007")
    groups = page(admin, "/admin/groups")
    assert "200 groups" in groups
    assert "group 049" in groups
    assert "group 050" not in groups
    assert "group 199" in page(admin, "/admin/groups?page=3")
    assert "No group matches." in page(admin, "/admin/groups?q=nothing")
    assert "No user matches." in page(admin, "/admin/users?q=%25")


@pytest.mark.one_app
def test_collections_are_paged_and_searched(admin: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_of(admin.application).braid.indexer, "progress", tuple)  # as if all were indexed
    assert "999 collections" in page(admin, "/admin/indexes")
    assert "<code>user_2</code>" in page(admin, "/admin/indexes")
    assert "<code>user_1000</code>" in page(admin, "/admin/indexes?page=39")
    for text in ("user_0987", "notes 987", "user 0987", "user_987"):
        found = page(admin, f"/admin/indexes?q={text}")
        assert re.findall(r"<code>(user_\d+)</code>", found) == ([] if text == "user_0987" else ["user_987"]), text
    assert "No collection matches." in page(admin, "/admin/indexes?q=user_0987")


@pytest.mark.one_app
def test_a_collection_in_trouble_comes_first(admin: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    indexer = site_of(admin.application).braid.indexer
    failed = LegProgress("dense", "user_900", "failed", error="the disk is full")
    states = indexer.states
    monkeypatch.setattr(indexer, "progress", lambda: (failed,))
    monkeypatch.setattr(
        indexer,
        "states",
        lambda legs: [
            replace(failed) if (each.leg, each.collection) == ("dense", "user_900") else each for each in states(legs)
        ],
    )
    shown = page(admin, "/admin/indexes")
    assert re.findall(r"<code>(user_\d+)</code>", shown)[:2] == ["user_900", "user_2"]
    assert "The disk is full" in shown


def test_the_api_searches_users_too(admin: FlaskClient) -> None:
    app = admin.application
    headers = bearer(app, site_of(app).accounts.get(1), "admin")
    found = app.test_client().get("/api/v1/users?q=user+09&limit=2&group=group+107", headers=headers).get_json()
    assert [user["name"] for user in found["items"]] == ["user 0907"]
    assert found["next"] is None
    paged = app.test_client().get("/api/v1/users?limit=2&offset=2", headers=headers).get_json()
    assert [user["name"] for user in paged["items"]] == ["user 0003", "user 0004"]
