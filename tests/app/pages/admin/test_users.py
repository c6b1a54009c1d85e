"""The administrators' pages of users."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.web import PASSWORD, acts, csrf_token, post_form, sign_in, site_of


def test_a_user_is_added_changed_and_removed(app: Flask, admin: FlaskClient) -> None:
    accounts = site_of(app).accounts
    assert post_form(admin, "/admin/users", name="Cleo", password=PASSWORD, groups="lab, staff").status_code == 302
    cleo = accounts.named("Cleo")
    assert cleo
    assert (cleo.groups, cleo.is_admin) == ({"lab", "staff"}, False)
    client = sign_in(app, "Cleo")
    one = f"/admin/users/{cleo.id}"
    assert post_form(admin, f"{one}/administrator", is_admin="1").status_code == 302
    assert client.get("/admin/").status_code == 200
    post_form(admin, f"{one}/administrator", is_admin="0")
    refused = client.get("/admin/", headers={"Accept-Language": "ko"})
    assert (refused.status_code, "관리자만 이용할 수 있어요." in refused.text) == (403, True)
    post_form(admin, f"{one}/disabled", disabled="1")
    assert client.get("/search").status_code == 302
    post_form(admin, f"{one}/disabled", disabled="0")
    assert post_form(admin, f"{one}/password", password="another password").status_code == 302
    assert accounts.verify("Cleo", "another password")
    assert post_form(admin, f"{one}/remove", name="cleo").status_code == 400
    assert accounts.named("Cleo")
    assert post_form(admin, f"{one}/remove", name="Cleo").status_code == 302
    assert accounts.named("Cleo") is None
    assert len(acts(app)) == 7


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"name": "Cleo", "password": "short"}, "8 to 200 characters"),
        ({"name": "Cleo", "password": ""}, "8 to 200 characters"),
        ({"name": "", "password": PASSWORD}, "1 to 200 visible"),
        ({"name": "admin", "password": PASSWORD}, "is taken"),
    ],
)
def test_a_wrong_user_is_refused(app: Flask, admin: FlaskClient, form: dict[str, str], told: str) -> None:
    answer = post_form(admin, "/admin/users", **form)
    assert answer.status_code == 400
    assert told in answer.text
    assert len(site_of(app).accounts.all()) == 1


def test_the_last_administrator_stays(app: Flask, admin: FlaskClient) -> None:
    me = site_of(app).accounts.all()[0]
    for action, form, told in (
        ("administrator", {"is_admin": "0"}, "the last administrator"),
        ("disabled", {"disabled": "1"}, "You cannot suspend yourself."),
        ("remove", {"name": me.name}, "the last administrator"),
    ):
        answer = post_form(admin, f"/admin/users/{me.id}/{action}", **form)
        assert answer.status_code == 400
        assert told in answer.text
    assert site_of(app).accounts.all() == [me]
    assert acts(app) == []


def test_a_user_that_there_is_not(admin: FlaskClient) -> None:
    for user_id in (77, 10**30):
        assert admin.get(f"/admin/users/{user_id}").status_code == 404
        for action in ("groups", "administrator", "disabled", "password", "remove"):
            form = {"password": PASSWORD, "name": "x"}
            assert post_form(admin, f"/admin/users/{user_id}/{action}", **form).status_code == 404


def test_sign_up_is_opened_and_closed(app: Flask, admin: FlaskClient) -> None:
    assert app.test_client().get("/signup").status_code == 404
    post_form(admin, "/admin/users/sign-up", sign_up="open")
    assert app.test_client().get("/signup").status_code == 200
    post_form(admin, "/admin/users/sign-up", sign_up="closed")
    assert app.test_client().get("/signup").status_code == 404
    assert [entry.target for entry in acts(app)] == ["closed", "open"]


def test_in_a_host_app_users_are_the_hosts_to_change(braid: Braid) -> None:
    host = Flask("host")
    host.config.update(SECRET_KEY="of the host", TESTING=True)
    register_braid(host, lambda: HostUser("zoe", is_admin=True), braid=braid, settings=Settings(), url_prefix="/braid")
    client = host.test_client()
    page = client.get("/braid/admin/users").text
    assert "are managed by the app that Braid is built into" in page
    assert 'type="password"' not in page
    zoe = site_of(host).accounts.all()[0]
    one = f"/braid/admin/users/{zoe.id}"
    assert "administrator" in client.get(one).text
    token = csrf_token(client, "/braid/admin/users/1")
    for path in ("/braid/admin/users", f"{one}/groups", f"{one}/administrator", f"{one}/disabled", f"{one}/password"):
        assert client.post(path, data={"csrf_token": token, "name": "x", "password": PASSWORD}).status_code == 404
    assert client.get("/braid/admin/").status_code == 200
    assert 'href="/braid/admin/shared"' in client.get("/braid/admin/").text
