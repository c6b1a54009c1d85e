"""Ten people come at once, and one leaves: invitations, lost laptops, what stays behind."""

from __future__ import annotations

import csv
import html
import re
from html import unescape
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.auth.invitations import invitation_url
from braid.app.mounted import url_for
from braid.app.pages.admin import joining
from braid.app.pages.admin.blueprint import admin_places, people_places
from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from braid.core.jobs.store import JobStore, NewJob
from tests.web import PASSWORD, acts, add_user, csrf_token, make_app, post_form, sign_in, site_of, text_of


@pytest.fixture
def app(braid: Braid) -> Flask:
    return make_app(braid)


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    return sign_in(app)


def test_ten_people_are_invited_at_once_each_with_a_link_of_their_own(app: Flask, admin: FlaskClient) -> None:
    accounts = site_of(app).accounts
    accounts.add("imported", groups=["lab"])
    names = ["imported", *(f"new {number}" for number in range(9))]
    answer = post_form(
        admin, "/admin/users/invite", names=", ".join(names[:5]) + "\n" + "\n".join(names[5:]), groups="board"
    )
    assert answer.status_code == 201
    links = re.findall(r'value="http://localhost(/invitation/[^"]+)"', answer.text)
    assert len(set(links)) == 10
    table = re.search(r'data-text="([^"]+)"', answer.text)
    assert table
    rows = list(csv.reader(html.unescape(table[1]).removeprefix("\ufeff").splitlines()))
    assert rows == [
        ["Name", "Link"],
        *([name, f"http://localhost{link}"] for name, link in zip(names, links, strict=True)),
    ]
    for name, link in zip(names, links, strict=True):
        invited = app.test_client()
        form = {"csrf_token": csrf_token(invited, link), "password": PASSWORD}
        assert invited.post(link, data=form).status_code == 302, name
        assert accounts.verify(name, PASSWORD), name
    assert accounts.named("imported").groups == {"lab", "board"}  # type: ignore[union-attr]
    assert accounts.named("new 8").groups == {"board"}  # type: ignore[union-attr]
    assert [entry.action for entry in acts(app)].count("user.invited") == 10


def test_who_has_a_password_is_not_invited_and_where_a_name_is_wrong_nobody_is(app: Flask, admin: FlaskClient) -> None:
    site_of(app).accounts.add("Robin", PASSWORD)
    for names, told in (
        ("Robin", "Robin: has a password already"),
        ("new, NEW", "new: This name is taken"),
        (" , ", "Name 1 to 100"),
    ):
        answer = post_form(admin, "/admin/users/invite", names=names)
        assert (answer.status_code, told in text_of(answer.text)) == (400, True), names
        assert site_of(app).accounts.named("new") is None
    page = post_form(admin, "/admin/users/invite", names="Robin", groups="lab").text
    assert re.search(r'id="invited-groups" name="groups" value="lab"', page), "what was typed stays where it was"


def test_who_has_a_password_is_named_and_the_others_are_invited(app: Flask, admin: FlaskClient) -> None:
    robin = site_of(app).accounts.add("Robin", PASSWORD)
    answer = post_form(admin, "/admin/users/invite", names="new, Robin, newer", groups="lab")
    assert answer.status_code == 201
    assert "Not invited, as they have a password already or are suspended: Robin" in text_of(answer.text)
    assert set(re.findall(r'data-name="([^"]+)"', answer.text)) == {"new", "newer"}
    assert site_of(app).accounts.get(robin.id).groups == frozenset(), "nothing of theirs is changed"
    assert [entry.target for entry in acts(app) if entry.action == "user.invited"] == ["newer", "new"]


def test_a_name_has_no_letter_that_cannot_be_stored(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    assert post_form(admin, "/admin/users/invite", names="\0 zoe, ann").status_code == 201
    zoe = site_of(app).accounts.named("zoe")
    assert zoe
    assert len(braid.ledger.datasets(zoe.id)) == 1


def test_one_browser_is_signed_out_and_the_others_stay(app: Flask, admin: FlaskClient) -> None:
    robin, here = add_user(app, "Robin"), site_of(app)
    here.sessions.open(robin.id, user_agent="Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
    here.sessions.open(robin.id, user_agent="")
    page = admin.get(f"/admin/users/{robin.id}").text
    assert re.search(r"Firefox on Linux last used \S+ \S+ UTC · signed in \S+ \S+ UTC", text_of(page))
    lost = next(each for each in here.sessions.of_user(robin.id) if "Firefox" in each.user_agent)
    other = add_user(app, "Marian")
    post_form(admin, f"/admin/users/{other.id}/sessions/{lost.id}/end")
    assert len(here.sessions.of_user(robin.id)) == 2, "it is not Marian's"
    post_form(admin, f"/admin/users/{robin.id}/sessions/{lost.id}/end")
    assert [each.user_agent for each in here.sessions.of_user(robin.id)] == [""]
    assert (acts(app)[0].action, acts(app)[0].detail) == ("user.signed_out", "one browser")


def test_what_a_leaver_owns_gets_another_owner(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    robin, marian = add_user(app, "Robin"), add_user(app, "Marian")
    maps = braid.ledger.add_dataset(robin.id, "Maps")
    page = text_of(admin.get(f"/admin/users/{robin.id}").text)
    assert "Another user becomes the owner of what belongs to Robin: “Maps”." in page
    path = f"/admin/users/{robin.id}/hand-over"
    for heir, told in (("nobody", "There is nobody named “nobody”."), ("Robin", "They belong to Robin already.")):
        answer = post_form(admin, path, heir=heir)
        assert (answer.status_code, told in text_of(answer.text)) == (400, True), heir
    answer = post_form(admin, path, heir="Marian")
    assert "Marian now owns 1 dataset of Robin" in text_of(admin.get(answer.headers["location"]).text)
    assert [each.id for each in braid.ledger.datasets(marian.id)] == [maps.id]
    assert braid.ledger.datasets(robin.id) == []
    assert (acts(app)[0].action, acts(app)[0].target) == ("dataset.transferred", "Marian")
    assert "Hand over" not in admin.get(f"/admin/users/{robin.id}").text


def test_failed_jobs_of_others_are_tried_again(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    robin, store = add_user(app, "Robin"), JobStore(braid.ledger)
    maps = braid.ledger.add_dataset(robin.id, "Maps")
    jobs = store.add(robin.id, [NewJob("upload", f"{name}.pdf", maps.id) for name in "ab"])
    for _each in jobs:
        claimed = store.claim(0)
        assert claimed
        store.fail(claimed, "it is encrypted")
    page = admin.get("/admin/jobs?state=failed").text
    assert "Maps" in page
    assert "Retry all failed" in page
    assert post_form(admin, "/admin/jobs/retry", user_id=robin.id, job=[each.id for each in jobs]).status_code == 302
    assert store.counts(robin.id)["queued"] == 2
    for twice in ({"job": [each.id for each in jobs]}, {}, {"job": 10**30}):
        assert post_form(admin, "/admin/jobs/retry", user_id=robin.id, **twice).status_code == 400
    assert post_form(admin, "/admin/jobs/retry", user_id=10**30, job=jobs[0].id).status_code == 400
    assert post_form(admin, "/admin/jobs/retry", user_id=robin.id + 1, job=jobs[0].id).status_code == 404


def test_a_job_that_is_no_number_is_refused_and_none_is_tried_again(
    app: Flask, admin: FlaskClient, braid: Braid
) -> None:
    robin, store = add_user(app, "Robin"), JobStore(braid.ledger)
    [job] = store.add(robin.id, [NewJob("upload", "a.pdf", braid.ledger.add_dataset(robin.id, "Maps").id)])
    claimed = store.claim(0)
    assert claimed
    store.fail(claimed, "it is encrypted")
    answer = post_form(admin, "/admin/jobs/retry", user_id=robin.id, job=[job.id, "x7"])
    assert answer.status_code == 400
    assert "is &#39;x7&#39;; give the number of one on the list" in answer.text
    assert store.get(robin.id, job.id).state == "failed"


def test_a_failed_file_that_was_added_again_is_not_tried_again(app: Flask, admin: FlaskClient, braid: Braid) -> None:
    robin, store = add_user(app, "Robin"), JobStore(braid.ledger)
    maps = braid.ledger.add_dataset(robin.id, "Maps")
    [old] = store.add(robin.id, [NewJob("upload", "a.pdf", maps.id)])
    claimed = store.claim(0)
    assert claimed
    store.fail(claimed, "it is encrypted")
    store.add(robin.id, [NewJob("upload", "a.pdf", maps.id)])
    with pytest.raises(InvalidInputError, match=r"a\.pdf was added again later"):
        store.retry(robin.id, old.id)
    assert post_form(admin, "/admin/jobs/retry", user_id=robin.id, job=old.id).status_code == 400
    assert store.get(robin.id, old.id).state == "failed"


@pytest.mark.parametrize(
    ("scopes", "told"),
    [
        (("read",), "reads only"),
        (("read", "write"), "reads and writes"),
        (("read", "write", "admin"), "does everything that the user may do"),
    ],
)
def test_what_a_token_may_do_is_said_in_words(app: Flask, scopes: tuple[str, ...], told: str) -> None:
    here = site_of(app)
    robin = here.accounts.add("Robin", PASSWORD, is_admin=True)
    here.tokens.add(robin.id, "Backup", scopes)
    for client, path in ((sign_in(app), f"/admin/users/{robin.id}"), (sign_in(app, "Robin"), "/account")):
        assert f"Backup {told}" in text_of(client.get(path).text), path


def test_usage_leads_to_users_and_datasets(app: Flask, admin: FlaskClient) -> None:
    robin = add_user(app, "Robin")
    site_of(app).usage.count(robin.id, "search", 3)
    assert f'<a href="/admin/users/{robin.id}">Robin</a>' in admin.get("/admin/usage").text


def action_of(page: str, button: str) -> str:
    """The address that the form with this button is sent to."""
    [form] = [each for each in re.findall(r"<form.*?</form>", page, re.DOTALL) if f">{button}</button>" in each]
    found = re.search(r'<form[^>]* action="([^"]+)"', form)
    assert found, form
    return found[1]


def test_a_user_is_added_from_the_page_whatever_it_was_shown_by(app: Flask, admin: FlaskClient) -> None:
    path = "/admin/users/add"
    invited = post_form(admin, "/admin/users/invite", names="mika")
    refused = post_form(admin, "/admin/users", name="", password=PASSWORD)
    for name, page in (("ann", admin.get(path)), ("ben", invited), ("cho", refused)):
        answer = post_form(admin, action_of(page.text, "Add"), name=name, password=PASSWORD)
        assert answer.status_code == 302, name
        assert site_of(app).accounts.verify(name, PASSWORD), name


def test_each_form_of_the_administration_names_an_address_that_takes_it(
    app: Flask, admin: FlaskClient, braid: Braid
) -> None:
    robin = add_user(app, "Robin", groups=("lab",))
    handbook = braid.registry.add("Handbook", "shared_main_db")
    braid.mirror_registry()
    with app.test_request_context():
        paths = [url_for(f"braid.admin.{view}") for view, *_ in (*admin_places(), *people_places())]
    own = next(each.id for each in site_of(app).accounts.all() if each.is_admin)
    paths += ["/admin/users/add", "/admin/group?name=lab", "/admin/shared/file", f"/admin/shared/{handbook.id}"]
    paths += [f"/admin/users/{each}" for each in (robin.id, own)]
    matched = app.url_map.bind("localhost")
    for path in paths:
        page = admin.get(path)
        assert page.status_code == 200, path
        for form in re.findall(r'<form[^>]* method="post"[^>]*>', page.text):
            action = re.search(r' action="([^"]+)"', form)
            assert action, (path, form)
            assert matched.match(unescape(action[1]).partition("?")[0], method="POST"), (path, form)


def test_a_link_that_cannot_be_made_leaves_nobody_invited(
    app: Flask, admin: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = site_of(app).accounts.add("known", groups=["lab"])

    def fails_for_the_second(account: Account) -> str:
        if account.name == "second":
            raise InvalidInputError("the account 'second' is suspended; reactivate it first", field="user_id")
        return invitation_url(account)

    monkeypatch.setattr(joining, "invitation_url", fails_for_the_second)
    answer = post_form(admin, "/admin/users/invite", names="known, first, second", groups="board")
    assert answer.status_code == 400
    assert "suspended" in text_of(answer.text)
    assert site_of(app).accounts.named("first") is None
    after = site_of(app).accounts.get(known.id)
    assert (after.groups, after.invited_at) == ({"lab"}, None)
    assert "user.invited" not in {entry.action for entry in acts(app)}


def test_a_group_that_is_left_meanwhile_does_not_come_back_by_an_invitation(
    app: Flask, admin: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = site_of(app).accounts
    known, write_all = accounts.add("known", groups=["lab"]), accounts.write_all

    def another_is_first(*args: Any, **options: Any) -> None:
        accounts.change_groups(known.id, add=["staff"], remove=["lab"])
        write_all(*args, **options)

    monkeypatch.setattr(accounts, "write_all", another_is_first)
    assert post_form(admin, "/admin/users/invite", names="known, new", groups="board").status_code == 201
    assert accounts.get(known.id).groups == {"staff", "board"}
    new = accounts.named("new")
    assert new
    assert new.groups == {"board"}
