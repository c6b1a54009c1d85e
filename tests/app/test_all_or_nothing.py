"""What somebody changes by one request is changed whole, with its lines of the audit log, or not at all: here the log
cannot be written, which is the last that each of them does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.datasets.assistants import Assistant
from braid.core.datasets.shares import Share
from braid.core.ledger.tables import Base
from tests.web import PASSWORD, add_user, bearer, make_app, post_form, sign_in, site_of

GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
PASSING = {
    "audit_log",
    "usage",
    "usage_counts",
    "web_sessions",
    "sessions",
    "api_tokens",
    "attempt_windows",
    "sqlite_sequence",
}
"""Tables that are written to beside what is asked for: when a session or a token was used, and counts of use."""


@dataclass
class Town:
    app: Flask
    admin: FlaskClient
    browser: FlaskClient
    key: Mapping[str, str]
    anns_key: Mapping[str, str]
    scim: Mapping[str, str]
    ann: Account
    ben: Account
    dataset: int
    assistant: int
    conversation: int
    group: int


@pytest.fixture
def town(braid: Braid) -> Town:
    app = make_app(braid)
    here, admin = site_of(app), sign_in(app)
    ann, ben = add_user(app, "ann", groups=("lab",)), add_user(app, "ben", groups=("blue",))
    page = post_form(admin, "/admin/users/scim").text
    token = page[page.index("braid_scim_") :].split("<")[0].split('"')[0].strip()
    scim = {"Authorization": f"Bearer {token}"}
    cho = app.test_client(use_cookies=False).post(
        "/scim/v2/Users", json={"schemas": [USER], "userName": "cho"}, headers=scim
    )
    made = {"schemas": [GROUP], "displayName": "works", "members": [{"value": cho.get_json(force=True)["id"]}]}
    group = app.test_client(use_cookies=False).post("/scim/v2/Groups", json=made, headers=scim).get_json(force=True)
    dataset = braid.ledger.add_dataset(ann.id, "Manuals")
    here.shares.put(dataset, Share("user", "ben"), by="ann")
    assistant = here.assistants.add(ann.id, Assistant("Keeper", (dataset.id,)))
    key = bearer(app, here.accounts.all()[0], "read", "write", "admin")
    here.shared_datasets.add("Handbook", "shared_handbook", allowed_groups=["lab", "works"], by="kim")
    browser = sign_in(app, "ann")
    post_form(browser, "/chat/messages", text="What is the code?", d="all")
    [conversation] = [each.id for each in here.conversations.all(ann.id)]
    return Town(
        app,
        admin,
        browser,
        key,
        bearer(app, ann),
        scim,
        ann,
        ben,
        dataset.id,
        assistant.id,
        conversation,
        int(group["id"]),
    )


def stored(app: Flask) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables but those that pass, and the list of shared datasets."""
    database = site_of(app).braid.ledger.database
    tables = [table for table in Base.metadata.sorted_tables if table.name not in PASSING]
    with database.read() as connection:
        rows = {each.name: sorted(map(tuple, connection.execute(select(each))), key=repr) for each in tables}
    return {**rows, "shared datasets": [(site_of(app).braid.registry.text()[0],)]}


@contextmanager
def full_log(app: Flask) -> Iterator[None]:
    """The database refuses lines of the audit log."""
    database = site_of(app).braid.ledger.database
    with database.write() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER full BEFORE INSERT ON audit_log WHEN NEW.action NOT LIKE 'user.sign%' "
            "BEGIN SELECT RAISE(ABORT, 'the log is full'); END"
        )
    yield
    with database.write() as connection:
        connection.exec_driver_sql("DROP TRIGGER full")


def api(town: Town, method: str, path: str, by: Mapping[str, str] | None = None, **body: object) -> None:
    headers = by or town.key
    town.app.test_client(use_cookies=False).open(f"/api/v1{path}", method=method, json=body, headers=headers)


def scim(town: Town, method: str, path: str, body: object = None) -> None:
    town.app.test_client(use_cookies=False).open(f"/scim/v2{path}", method=method, json=body, headers=town.scim)


ACTS: Mapping[str, Callable[[Town], object]] = {
    "api, change of a user": lambda t: api(
        t, "PATCH", f"/users/{t.ann.id}", groups=["red"], is_admin=True, disabled=True, password=f"{PASSWORD} new"
    ),
    "api, import": lambda t: api(t, "POST", "/users/import", csv="name,groups\nann,red\ndan,red\n"),
    "api, transfer": lambda t: api(t, "POST", f"/users/{t.ann.id}/transfer", to_user_id=t.ben.id),
    "api, share": lambda t: api(t, "POST", f"/datasets/{t.dataset}/shares", t.anns_key, kind="group", name="lab"),
    "group, rename": lambda t: post_form(t.admin, "/admin/group/rename", name="lab", new_name="red"),
    "group, delete": lambda t: post_form(t.admin, "/admin/group/delete", name="blue"),
    "group, member": lambda t: post_form(t.admin, "/admin/group/members", name="lab", user="ben"),
    "group, member removed": lambda t: post_form(t.admin, "/admin/group/members/remove", name="lab", user_id=t.ann.id),
    "several, group": lambda t: post_form(t.admin, "/admin/users/several", c=[t.ann.id, t.ben.id], act="join:red"),
    "several, invited": lambda t: post_form(t.admin, "/admin/users/invite", names="dan, eva", groups="red"),
    "second factor": lambda t: post_form(t.admin, "/admin/users/second-factor", required=""),
    "hand over": lambda t: post_form(t.browser, f"/datasets/{t.dataset}/hand-over", name="ben"),
    "hand over, assistant": lambda t: post_form(t.browser, f"/assistants/{t.assistant}/hand-over", name="ben"),
    "share": lambda t: post_form(t.browser, f"/datasets/{t.dataset}/share", kind="group", name="lab"),
    "take back": lambda t: post_form(t.browser, f"/datasets/{t.dataset}/unshare", kind="user", name="ben"),
    "link": lambda t: post_form(t.browser, f"/chat/{t.conversation}/link"),
    "scim, new user": lambda t: scim(t, "POST", "/Users", {"schemas": [USER], "userName": "dan", "externalId": "e"}),
    "scim, suspended": lambda t: scim(
        t, "PUT", f"/Users/{t.ben.id}", {"schemas": [USER], "userName": "ben", "active": False}
    ),
    "scim, removed user": lambda t: scim(t, "DELETE", f"/Users/{t.ben.id}"),
    "scim, new group": lambda t: scim(t, "POST", "/Groups", {"schemas": [GROUP], "displayName": "red", "members": []}),
    "scim, group": lambda t: scim(
        t, "PUT", f"/Groups/{t.group}", {"schemas": [GROUP], "displayName": "red", "externalId": "g"}
    ),
    "scim, removed group": lambda t: scim(t, "DELETE", f"/Groups/{t.group}"),
}


def test_what_is_not_in_the_log_has_not_happened(town: Town) -> None:
    before = stored(town.app)
    town.app.testing = False
    town.app.config["PROPAGATE_EXCEPTIONS"] = False
    with full_log(town.app):
        for name, act in ACTS.items():
            act(town)
            assert stored(town.app) == before, name


@pytest.mark.parametrize("name", ACTS)
def test_what_is_in_the_log_has_happened(town: Town, name: str) -> None:
    """So that the other test has requests that change something."""
    before = stored(town.app)
    ACTS[name](town)
    assert (stored(town.app) != before) is (name != "second factor")
