"""Who gets an account: sign-up with approval, its cap, and invitations."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from braid.app.auth import invitations
from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.command_line import CommandLine
from tests.web import PASSWORD, acts, add_user, bearer, csrf_token, make_app, post_form, sign_in, site_of, text_of
from tests.worlds import WAIT_S

PASSWORDS = ("the first password", "the second password")


@pytest.fixture
def app(braid: Braid) -> Flask:
    return make_app(braid, Settings(sign_up="approval", max_users=3))


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    return sign_in(app)


def send(app: Flask, path: str, **form: str) -> TestResponse:
    client = app.test_client()
    return client.post(path, data={"csrf_token": csrf_token(client, path), **form}, follow_redirects=True)


def test_who_signs_up_waits_for_approval(app: Flask, admin: FlaskClient) -> None:
    told = send(app, "/signup", name="zoe", password=PASSWORD).text
    assert "as soon as an administrator approves it" in told
    waits = send(app, "/login", name="zoe", password=PASSWORD)
    assert waits.status_code == 403
    assert "as soon as an administrator approves it" in waits.text
    assert send(app, "/login", name="zoe", password="wrong").status_code == 401
    zoe = site_of(app).accounts.named("zoe")
    assert zoe
    assert zoe.waiting
    assert "1 user waits for approval" in admin.get("/admin/").text
    assert "Waiting for approval (1)" in admin.get("/admin/users").text
    listed = admin.get("/admin/users?state=waiting").text
    assert "zoe" in listed
    assert '/admin/users/1"' not in listed
    assert ">Approve<" in admin.get(f"/admin/users/{zoe.id}").text
    post_form(admin, f"/admin/users/{zoe.id}/disabled", disabled="0")
    assert sign_in(app, "zoe").get("/account").status_code == 200
    assert not site_of(app).accounts.get(zoe.id).waiting
    assert [entry.action for entry in acts(app)] == ["user.enabled", "user.signed_up"]


def test_who_waits_is_approved_over_the_api_and_the_command_line(app: Flask, braid: Braid) -> None:
    for name in ("zoe", "yan"):
        send(app, "/signup", name=name, password=PASSWORD)
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = bearer(app, site_of(app).accounts.get(1), "admin")["Authorization"]
    yan, zoe = client.get("/api/v1/users?waiting=true").get_json()["items"]
    assert (zoe["waiting"], zoe["disabled"]) == (True, True)
    assert client.patch(f"/api/v1/users/{zoe['id']}", json={"disabled": False}).get_json()["waiting"] is False
    CommandLine(braid.data_dir.parent)("user", "enable", "yan")
    assert client.get(f"/api/v1/users/{yan['id']}").get_json()["waiting"] is False


def test_sign_up_ends_at_the_cap(app: Flask) -> None:
    for name in ("zoe", "yan"):
        assert send(app, "/signup", name=name, password=PASSWORD).status_code == 200
    refused = send(app, "/signup", name="xia", password=PASSWORD)
    assert refused.status_code == 400
    assert "No more accounts can be created." in refused.text
    assert add_user(app, "by an administrator")


def test_the_way_of_signing_up_is_chosen(app: Flask, admin: FlaskClient) -> None:
    for state in ("open", "approval", "closed"):
        post_form(admin, "/admin/users/sign-up", sign_up=state)
        assert f'value="{state}" checked' in admin.get("/admin/sign-in").text
        assert app.test_client().get("/signup").status_code == (404 if state == "closed" else 200)
        assert (acts(app)[0].action, acts(app)[0].target) == ("sign_up.changed", state)
    post_form(admin, "/admin/users/sign-up", sign_up="open")
    refused = post_form(admin, "/admin/users/sign-up", sign_up="opne")
    assert refused.status_code == 400
    assert "choose one of open, approval, closed" in refused.text
    assert app.test_client().get("/signup").status_code == 200


def link_in(page: str) -> str:
    found = re.search(r'value="http://localhost(/invitation/[^"]+)"', page)
    assert found, text_of(page)
    return found[1]


def test_an_invited_user_chooses_a_password_once(app: Flask, admin: FlaskClient) -> None:
    made = post_form(admin, "/admin/users", name="zoe", invite="1")
    assert made.status_code == 201
    link = link_in(made.text)
    assert "Welcome, zoe" in app.test_client().get(link).text
    assert send(app, link, password="short").status_code == 400
    assert "zoe" in send(app, link, password=PASSWORD).text
    assert sign_in(app, "zoe").get("/account").status_code == 200
    assert app.test_client().get(link).status_code == 404
    done = [(entry.action, entry.detail) for entry in acts(app)]
    assert done == [("user.password", "by invitation, 127.0.0.1"), ("user.invited", ""), ("user.added", "")]


def test_of_two_who_accept_an_invitation_at_once_one_is_let_in(
    app: Flask, admin: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, both_have_looked = add_user(app, "ann"), threading.Barrier(2, timeout=WAIT_S)
    link = link_in(post_form(admin, f"/admin/users/{ann.id}/invite").text)
    set_password = site_of(app).accounts.set_password

    def wait_and_set(*given: Any, **more: Any) -> int:
        both_have_looked.wait()
        return set_password(*given, **more)

    monkeypatch.setattr(site_of(app).accounts, "set_password", wait_and_set)
    with ThreadPoolExecutor(2) as pool:
        answers = dict(
            zip(PASSWORDS, pool.map(lambda password: send(app, link, password=password), PASSWORDS), strict=True)
        )
    assert sorted(answer.status_code for answer in answers.values()) == [200, 404]
    [holds] = [password for password, answer in answers.items() if answer.status_code == 200]
    assert [bool(site_of(app).accounts.verify("ann", each)) for each in PASSWORDS] == [
        each == holds for each in PASSWORDS
    ]


def test_an_invitation_that_does_not_hold(app: Flask, admin: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, ben = add_user(app, "ann"), add_user(app, "ben")
    link = link_in(post_form(admin, f"/admin/users/{ann.id}/invite").text)
    assert app.test_client().get(link).status_code == 200
    assert app.test_client().get(f"{link}x").status_code == 404
    accounts = site_of(app).accounts
    accounts.set_admin(ben.id, True)
    accounts.set_admin(1, False)
    assert app.test_client().get(link).status_code == 404, "who invited is no administrator any more"
    accounts.set_admin(1, True)
    assert app.test_client().get(link).status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr(invitations, "INVITATION_DAYS", -1)
        assert app.test_client().get(link).status_code == 404
    site_of(app).accounts.set_disabled(ann.id, True)
    assert app.test_client().get(link).status_code == 404
    assert post_form(admin, f"/admin/users/{ann.id}/invite").status_code == 400
    site_of(app).accounts.remove(ann.id)
    assert app.test_client().get(link).status_code == 404
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = bearer(app, site_of(app).accounts.get(1), "admin")["Authorization"]
    address = client.post(f"/api/v1/users/{ben.id}/invitation").get_json()["url"]
    assert app.test_client().get(address.removeprefix("http://localhost")).status_code == 200


def test_a_user_is_signed_out_and_exported_on_the_page(app: Flask, admin: FlaskClient) -> None:
    ann = add_user(app, "ann")
    browser = sign_in(app, "ann")
    post_form(admin, f"/admin/users/{ann.id}/sign-out")
    assert browser.get("/account").status_code == 302
    exported = admin.get(f"/admin/users/{ann.id}/export")
    assert exported.data.startswith(b"PK")
    assert exported.headers["Content-Disposition"] == f"attachment; filename=user-{ann.id}.zip"
    assert [entry.action for entry in acts(app)] == ["user.exported", "user.signed_out"]
