"""The list of users: states, filters, order, and what is done to several at once and undone; the page of one user."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from html import unescape

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from braid.app.pages.admin import blueprint
from braid.app.pages.admin import users as users_page
from braid.core.accounts.account_list import count_states, find_accounts
from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.datasets.shares import Kind, Share
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger.tables import UserRow
from braid.core.types import ChunkInput, DocumentInput
from tests.web import PASSWORD, acts, add_user, bearer, make_app, post_form, sign_in, site_of, text_of

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
    for wrong, told in (
        ("state=locked", "suspended, administrator"),
        ("sort=age", "or one with a minus"),
    ):
        answer = admin.get(f"/admin/users?{wrong}")
        assert answer.status_code == 400
        assert told in answer.text


def test_an_invitation_that_is_too_old_says_so(app: Flask, admin: FlaskClient) -> None:
    assert listed(admin, "?state=invited") == ["ivy"]
    assert "expired" not in admin.get("/admin/users").text
    with site_of(app).braid.ledger.database.write() as connection:
        old = update(UserRow).where(UserRow.name == "ivy").values(invited_at=time.time() - 8 * 86_400)
        connection.execute(old)
    assert "Invitation expired (1)" in admin.get("/admin/users").text
    assert listed(admin, "?state=expired") == ["ivy"]
    assert listed(admin, "?state=invited") == []
    post_form(admin, SEVERAL, c=ids(app, "ivy"), act="invite")
    assert listed(admin, "?state=invited") == ["ivy"]


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


def test_the_list_is_sorted_by_groups_and_state(admin: FlaskClient) -> None:
    assert listed(admin, "?sort=-groups")[0] == "ann"
    assert listed(admin, "?sort=groups")[-1] == "ann"
    assert listed(admin, "?sort=state") == ["admin", "ann", "oidc", "ivy", "newt", "sue", "wim"]
    assert listed(admin, "?sort=-state")[:2] == ["wim", "sue"]


def test_sign_ups_are_approved_or_rejected_together(app: Flask, admin: FlaskClient) -> None:
    site_of(app).accounts.sign_up("wes", PASSWORD, waiting=True)
    for act in ("approve", "reject"):
        refused = post_form(admin, SEVERAL, c=ids(app, "wim", "sue"), act=act)
        assert refused.status_code == 400
        assert "sue: does not wait for approval. Nothing has changed." in refused.text
    post_form(admin, SEVERAL, c=ids(app, "wim"), act="approve")
    assert "1 account can sign in now." in admin.get("/admin/users").text
    rejected = post_form(admin, f"{SEVERAL}?state=waiting&sort=-name", c=ids(app, "wes"), act="reject")
    assert rejected.location == "/admin/users?state=waiting&sort=-name"
    assert "1 sign-up is rejected." in admin.get(rejected.location).text
    assert ids(app, "wes") == []
    assert (acts(app)[0].action, acts(app)[0].target) == ("user.rejected", "wes")
    assert site_of(app).accounts.sign_up("wes", PASSWORD, waiting=True).waiting


def test_who_is_approved_while_another_administrator_rejects_them_stays(
    app: Flask, admin: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts, [wim], chosen = site_of(app).accounts, ids(app, "wim"), users_page._chosen
    accounts.sign_up("wes", PASSWORD, waiting=True)

    def read_and_overtaken(given: Sequence[str]) -> list[Account]:
        read = chosen(given)
        accounts.set_disabled(wim, False)
        return read

    monkeypatch.setattr(users_page, "_chosen", read_and_overtaken)
    refused = post_form(admin, SEVERAL, c=ids(app, "wim", "wes"), act="reject")
    assert refused.status_code == 400
    assert "wim: does not wait for approval. Nothing has changed." in refused.text
    assert accounts.get(wim).state == "active"
    assert len(ids(app, "wes")) == 1
    assert "user.rejected" not in {entry.action for entry in acts(app)}


@pytest.mark.parametrize(("act", "state"), [("approve", "active"), ("reject", None), ("invite", "invited")])
def test_what_is_done_to_one_is_done_beside_their_name(
    app: Flask, admin: FlaskClient, act: str, state: str | None
) -> None:
    name = "newt" if act == "invite" else "wim"
    [one] = ids(app, name)
    row = re.search(rf'<tr class="\w+">(?:(?!</tr>).)*>{name}</a>.*?</tr>', admin.get("/admin/users").text, re.DOTALL)
    assert row
    assert f'name="act" value="{act}:{one}"' in row[0]
    post_form(admin, SEVERAL, c=ids(app, "ann"), act=f"{act}:{one}")  # whoever else is ticked
    account = site_of(app).accounts.named(name)
    assert (account.state if account else None) == state
    assert site_of(app).accounts.get(ids(app, "ann")[0]).state == "active"
    for wrong in ("abc", "4711"):
        assert post_form(admin, SEVERAL, c=ids(app, "ann"), act=f"{act}:{wrong}").status_code == 404


def test_an_expired_invitation_is_sent_again_beside_the_name(app: Flask, admin: FlaskClient) -> None:
    [ivy] = ids(app, "ivy")
    assert f'value="invite:{ivy}" aria-label="New link: ivy">New link<' in admin.get("/admin/users").text
    with site_of(app).braid.ledger.database.write() as connection:
        connection.execute(update(UserRow).where(UserRow.id == ivy).values(invited_at=time.time() - 8 * 86_400))
    assert f'value="invite:{ivy}" aria-label="Invite: ivy">Invite again<' in admin.get("/admin/users").text


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
    post_form(admin, SEVERAL, c=chosen, act="join:lab")
    assert all("lab" in accounts.get(each).groups for each in chosen)
    offered = admin.get("/admin/users").text
    assert "2 people are now in “lab”." in offered
    assert 'value="leave:lab"' in offered
    assert re.findall(r'value="leave:(\w+)"', admin.get("/admin/users?group=lab").text) == ["lab"]
    post_form(admin, SEVERAL, c=chosen[1:], act="leave:lab")
    assert [bool(accounts.get(each).groups) for each in chosen] == [True, False, False]


def test_several_get_new_invitations(app: Flask, admin: FlaskClient) -> None:
    answer = post_form(admin, SEVERAL, c=ids(app, "ivy", "newt"), act="invite")
    assert answer.status_code == 201
    assert len(set(re.findall(r'/invitation/[^"%\\s<]+', answer.text))) == 2
    assert listed(admin, "?state=invited") == ["ivy", "newt"]


@pytest.mark.parametrize(
    ("names", "form", "told"),
    [
        ((), {"act": "suspend"}, "Choose 1 to 100 people at once."),
        (("ann", "admin"), {"act": "suspend"}, "You are among them."),
        (("ann", "newt"), {"act": "invite"}, "ann: has a password already"),
        (("ann",), {"act": "join: "}, "Name the group."),
        (("ann",), {"act": "erase"}, "choose suspend, reactivate, approve, reject, invite, join or leave"),
        (("ann", "newt"), {"act": f"join:{'x' * 300}"}, "is too long"),
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
    for name in ("ann", "lab"):
        kind: Kind = "user" if name == "ann" else "group"
        site_of(app).shares.put(notes, Share(kind, name), by="ben")
    site_of(app).shares.put(braid.ledger.add_dataset(ben.id, "Plans"), Share("group", "lab"), by="ben")
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
    assert "Plans shared by ben · lab" in shown
    assert "Diary their own" in shown
    assert "See as ann" in shown
    assert "Payroll" not in shown
    assert "1 document · 23 B · 1 dataset" in shown
    assert "0 running, 1 waiting, 0 failed" in shown
    assert "secret-plan" not in page
    assert "hidden-title" not in page


def test_who_is_let_in_for_the_first_time_is_not_suspended_by_an_undo(app: Flask, admin: FlaskClient) -> None:
    answer = post_form(admin, SEVERAL, c=ids(app, "wim", "sue"), act="reactivate")
    shown = admin.get(answer.location).text
    assert "2 accounts can sign in now." in shown
    assert ">Undo<" not in shown
    assert [site_of(app).accounts.get(each).state for each in ids(app, "wim", "sue")] == ["active", "active"]
    post_form(admin, SEVERAL, c=ids(app, "sue"), act="suspend")
    admin.get("/admin/users")
    post_form(admin, SEVERAL, c=ids(app, "sue"), act="reactivate")
    shown = admin.get("/admin/users").text
    assert "1 account is active again." in shown
    assert ">Undo<" in shown


@pytest.mark.parametrize(("act", "left"), [("join:board", {"staff", "board"}), ("leave:board", {"staff"})])
def test_a_group_that_is_left_meanwhile_does_not_come_back(
    app: Flask, admin: FlaskClient, monkeypatch: pytest.MonkeyPatch, act: str, left: set[str]
) -> None:
    accounts, [ann] = site_of(app).accounts, ids(app, "ann")
    if act != "join:board":
        accounts.change_groups(ann, add=["board"])
    chosen = users_page._chosen

    def read_and_then_another_changes(given: Sequence[str]) -> list[Account]:
        found = chosen(given)
        accounts.change_groups(ann, add=["staff"], remove=["lab"])
        return found

    monkeypatch.setattr(users_page, "_chosen", read_and_then_another_changes)
    post_form(admin, SEVERAL, c=[ann], act=act)
    assert accounts.get(ann).groups == left
    assert (acts(app)[0].action, acts(app)[0].detail) == ("user.groups", ", ".join(sorted(left)))


@pytest.mark.parametrize("wrong", ["abc", "", "7.0", "-1", "0", "9" * 30, "²", "4711"])
def test_an_id_that_is_none_changes_nobody(app: Flask, admin: FlaskClient, wrong: str) -> None:
    [ann] = ids(app, "ann")
    answer = post_form(admin, SEVERAL, c=[ann, wrong], act="suspend")
    assert answer.status_code == 404
    assert not site_of(app).accounts.get(ann).disabled


def test_what_was_ticked_stays_after_an_error(app: Flask, admin: FlaskClient) -> None:
    chosen = ids(app, "ann", "newt")
    answer = post_form(admin, f"{SEVERAL}?q=n", c=chosen, act="invite")
    assert answer.status_code == 400
    ticked = re.findall(r'name="c" value="(\d+)" checked', answer.text)
    assert sorted(map(int, ticked)) == sorted(chosen)
    assert f'action="{SEVERAL}?q=n"' in answer.text
    assert " checked" not in post_form(admin, SEVERAL, c=ids(app, "newt"), act="invite").text


def test_the_page_of_the_list_stays(app: Flask, admin: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blueprint, "PER_PAGE", 3)
    monkeypatch.setattr(users_page, "PER_PAGE", 3)
    shown = admin.get("/admin/users?sort=-name&page=1").text
    action = re.search(rf'action="({SEVERAL}[^"]*)"', shown)
    assert action
    address = unescape(action[1])
    assert address == f"{SEVERAL}?sort=-name&page=1"
    assert post_form(admin, address, c=ids(app, "ann"), act="suspend").location == "/admin/users?sort=-name&page=1"
    assert f'action="{action[1]}"' in admin.get("/admin/users?sort=-name&page=1").text, "of Undo"
    assert post_form(admin, address, act="suspend").text.count(f'action="{action[1]}"') == 1
    assert "page=" not in re.findall(r'<a class="sort" href="([^"]+)"', shown)[0]


def test_nobody_suspends_themselves(app: Flask, admin: FlaskClient) -> None:
    [me] = ids(app, "admin")
    site_of(app).accounts.add("second", PASSWORD, is_admin=True)
    answer = post_form(admin, f"/admin/users/{me}/disabled", disabled="1")
    assert answer.status_code == 400
    assert "You cannot suspend yourself. Ask another administrator." in text_of(answer.text)
    assert not site_of(app).accounts.get(me).disabled
    assert "Suspend account" not in admin.get(f"/admin/users/{me}").text
    assert "Suspend account" in sign_in(app, "second").get(f"/admin/users/{me}").text


def test_the_overview_counts_people_who_ask_and_not_what_they_ask_for(
    app: Flask, admin: FlaskClient, braid: Braid
) -> None:
    entries = [
        braid.registry.add(name, f"shared_{number}", allowed_groups=["staff"]) for number, name in enumerate("ab")
    ]
    braid.mirror_registry()
    for entry in entries:
        site_of(app).shares.ask(ids(app, "ann")[0], entry.id)
    assert "1 person asks to read a shared dataset" in text_of(admin.get("/admin/").text)
    site_of(app).shares.ask(ids(app, "oidc")[0], entries[0].id)
    assert "2 people ask to read a shared dataset" in text_of(admin.get("/admin/").text)


def test_the_overview_leads_to_expired_invitations_and_a_user_to_their_jobs_and_acts(
    app: Flask, admin: FlaskClient, braid: Braid
) -> None:
    [ann, ivy] = ids(app, "ann", "ivy")
    assert "expired" not in admin.get("/admin/").text
    with braid.ledger.database.write() as connection:
        connection.execute(update(UserRow).where(UserRow.id == ivy).values(invited_at=time.time() - 8 * 86_400))
    assert "1 invitation has expired." in admin.get("/admin/").text
    assert 'href="/admin/users?state=expired"' in admin.get("/admin/").text
    store = JobStore(braid.ledger)
    store.add(ann, [NewJob("upload", "hers.pdf", 1)])
    store.add(ivy, [NewJob("upload", "others.pdf", 1)])
    jobs = admin.get(f"/admin/jobs?user={ann}").text
    assert "Jobs of ann" in jobs
    assert "hers.pdf" in jobs
    assert "others.pdf" not in jobs
    assert "waiting (1)" in jobs
    assert f"/admin/jobs?user={ann}" in admin.get(f"/admin/users/{ann}").text
    assert "/admin/audit?who=ann" in admin.get(f"/admin/users/{ann}").text


def test_waiting_and_another_state_are_refused_by_the_api(app: Flask) -> None:
    client, headers = app.test_client(), bearer(app, site_of(app).accounts.all()[0], "admin")
    for query, names in (("waiting=true&state=waiting", ["wim"]), ("waiting=false&state=suspended", ["sue"])):
        found = client.get(f"/api/v1/users?{query}", headers=headers).get_json()
        assert [each["name"] for each in found["items"]] == names
    refused = client.get("/api/v1/users?waiting=true&state=suspended", headers=headers)
    assert refused.status_code in (400, 422)
    assert "waiting and state contradict each other" in refused.text
