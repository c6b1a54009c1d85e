"""The list of users: states, filters, order, and what is done to several at once and undone; the page of one user."""

from __future__ import annotations

import re
import time

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from braid.core.accounts.account_list import count_states, find_accounts
from braid.core.braid import Braid
from braid.core.datasets.shares import Share
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger.tables import UserRow
from braid.core.types import ChunkInput, DocumentInput
from tests.web import PASSWORD, acts, add_user, make_app, post_form, sign_in, site_of, text_of

STATES = {"ann": "active", "ivy": "invited", "newt": "new", "wim": "waiting", "sue": "suspended", "oidc": "active"}
SEVERAL = "/admin/users/several"


@pytest.fixture
def app(braid: Braid) -> Flask:
    app = make_app(braid)
    accounts = site_of(app).accounts
    accounts.add("ann", PASSWORD, groups=["lab"])
    accounts.note_invitation(accounts.add("ivy").id)
    accounts.add("newt")
    accounts.sign_up("wim", PASSWORD, waiting=True)
    accounts.set_disabled(accounts.add("sue", PASSWORD).id, True)
    site_of(app).sessions.open(accounts.add("oidc").id)  # whom a provider signs in
    return app


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    return sign_in(app)


def ids(app: Flask, *names: str) -> list[int]:
    return [account.id for name in names if (account := site_of(app).accounts.named(name))]


def listed(admin: FlaskClient, query: str = "") -> list[str]:
    """Return the names of the list's rows, in their order."""
    return re.findall(r'<th scope="row"><a href="/admin/users/\d+">([^<]+)</a>', admin.get(f"/admin/users{query}").text)


def test_a_state_is_the_same_in_the_list_and_in_the_account(app: Flask, admin: FlaskClient) -> None:
    database, accounts = site_of(app).braid.ledger.database, site_of(app).accounts
    for name, state in STATES.items():
        account = accounts.named(name)
        assert account
        assert account.state == state
        assert account in find_accounts(database, only=account.state)[0]
    counts = count_states(database)
    assert counts == {"active": 3, "invited": 1, "new": 1, "waiting": 1, "suspended": 1, "administrator": 1}
    assert sum(counts.values()) - counts["administrator"] == len(accounts.all())


def test_the_list_is_filtered_and_says_the_state(admin: FlaskClient) -> None:
    assert listed(admin, "?state=invited") == ["ivy"]
    assert listed(admin, "?state=suspended") == ["sue"]
    assert listed(admin, "?state=active") == ["admin", "ann", "oidc"]
    assert listed(admin, "?state=active&q=lab") == ["ann"]
    assert listed(admin, "?state=administrator") == ["admin"]
    shown = text_of(admin.get("/admin/users").text)
    for told in ("Active (3)", "Invited (1)", "Not invited yet (1)", "Waiting for approval (1)", "Suspended (1)"):
        assert told in shown
    for wrong, told in (("state=locked", "suspended, administrator"), ("sort=age", "-signed_in")):
        answer = admin.get(f"/admin/users?{wrong}")
        assert answer.status_code == 400
        assert told in answer.text


def test_an_invitation_that_is_too_old_says_so(app: Flask, admin: FlaskClient) -> None:
    assert "invitation expired" not in admin.get("/admin/users").text
    with site_of(app).braid.ledger.database.write() as connection:
        old = update(UserRow).where(UserRow.name == "ivy").values(invited_at=time.time() - 8 * 86_400)
        connection.execute(old)
    assert "invitation expired" in admin.get("/admin/users").text


def test_the_list_is_sorted_by_name_and_by_last_sign_in(app: Flask, admin: FlaskClient) -> None:
    with site_of(app).braid.ledger.database.write() as connection:
        for name, at in (("ann", 3e8), ("oidc", 2e8)):
            connection.execute(update(UserRow).where(UserRow.name == name).values(signed_in_at=at))
    assert listed(admin, "?sort=-name")[0] == "wim"
    assert listed(admin, "?sort=-signed_in")[:3] == ["admin", "ann", "oidc"]
    never_first = listed(admin, "?sort=signed_in")
    assert never_first[:4] == ["ivy", "newt", "sue", "wim"]
    assert never_first[-1] == "admin"
    assert 'aria-sort="descending"' in admin.get("/admin/users?sort=-signed_in").text


def test_a_sign_in_is_kept_after_the_sign_out(app: Flask) -> None:
    began = time.time()
    sign_in(app, "ann")
    [ann] = ids(app, "ann")
    site_of(app).sessions.end_all(ann)
    kept = site_of(app).accounts.get(ann).signed_in_at
    assert kept is not None
    assert kept >= began - 1


def test_several_are_suspended_and_it_is_undone(app: Flask, admin: FlaskClient) -> None:
    chosen, accounts = ids(app, "ann", "ivy", "sue"), site_of(app).accounts
    answer = post_form(admin, f"{SEVERAL}?state=active", c=chosen, act="suspend")
    assert answer.location == "/admin/users?state=active"
    assert [accounts.get(each).disabled for each in chosen] == [True, True, True]
    offered = admin.get(answer.location).text
    assert "2 accounts are suspended." in offered  # one was before
    undo = re.findall(r'name="c" value="(\d+)">', offered.partition("Undo")[0])
    assert "sue" not in {accounts.get(int(each)).name for each in undo}
    assert 'name="act" value="reactivate"' in offered
    post_form(admin, SEVERAL, c=undo, act="reactivate")
    assert [accounts.get(each).disabled for each in chosen] == [False, False, True]
    assert [entry.action for entry in acts(app)].count("user.enabled") == 2


def test_several_join_a_group_and_it_is_undone(app: Flask, admin: FlaskClient) -> None:
    chosen, accounts = ids(app, "ann", "newt", "sue"), site_of(app).accounts
    post_form(admin, SEVERAL, c=chosen, act="join", to_group="lab")
    assert all("lab" in accounts.get(each).groups for each in chosen)
    offered = admin.get("/admin/users").text
    assert "2 people are now in “lab”." in offered
    post_form(admin, SEVERAL, c=chosen[1:], act="leave:lab")
    assert [bool(accounts.get(each).groups) for each in chosen] == [True, False, False]


def test_several_get_new_invitations(app: Flask, admin: FlaskClient) -> None:
    answer = post_form(admin, SEVERAL, c=ids(app, "ivy", "newt"), act="invite")
    assert answer.status_code == 201
    assert len(set(re.findall(r"/invitation/[^<]+", answer.text))) == 2
    assert listed(admin, "?state=invited") == ["ivy", "newt"]


@pytest.mark.parametrize(
    ("names", "form", "told"),
    [
        ((), {"act": "suspend"}, "Choose 1 to 100 people at once."),
        (("ann", "admin"), {"act": "suspend"}, "You are among them."),
        (("ann", "newt"), {"act": "invite"}, "ann: has a password already"),
        (("ann",), {"act": "join", "to_group": " "}, "Name the group."),
        (("ann",), {"act": "erase"}, "choose suspend, reactivate, join or invite"),
    ],
)
def test_what_cannot_be_done_to_all_is_done_to_nobody(
    app: Flask, admin: FlaskClient, names: tuple[str, ...], form: dict[str, str], told: str
) -> None:
    before = site_of(app).accounts.all()
    answer = post_form(admin, SEVERAL, c=ids(app, *names), **form)
    assert answer.status_code == 400
    assert told in text_of(answer.text)
    assert site_of(app).accounts.all() == before


def test_the_page_of_a_user_says_what_they_read_and_through_what(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    braid.registry.add("Maps", "shared_maps", allowed_groups=["lab", "staff"])
    braid.registry.add("Handbook", "shared_handbook")
    braid.registry.add("Payroll", "shared_payroll", allowed_groups=["staff"])
    ben, [ann] = add_user(app, "ben"), ids(app, "ann")
    notes = braid.ledger.add_dataset(ben.id, "Notes")
    site_of(app).shares.put(notes, Share("user", "ann"), by="ben")
    own = braid.ledger.add_dataset(ann, "Diary")
    chunks = (ChunkInput("Nobody else reads this."),)
    braid.ledger.put_document(own.id, DocumentInput("secret-plan.md", "Secret plan", "md", chunks, size_bytes=23))
    store = JobStore(braid.ledger)
    store.add(ann, [NewJob("text", "hidden-title.txt", dataset_id=own.id)])
    page = admin.get(f"/admin/users/{ann}").text
    shown = text_of(page)
    assert "Maps lab" in shown
    assert "Handbook open to everyone" in shown
    assert "Notes shared by ben" in shown
    assert "Payroll" not in shown
    assert "1 document · 23 B · 1 dataset" in shown
    assert "0 running, 1 waiting, 0 failed" in shown
    assert "secret-plan" not in page
    assert "hidden-title" not in page
