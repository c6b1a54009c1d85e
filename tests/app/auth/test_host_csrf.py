"""Tokens against forged requests in a host's app, whose own protection is set up before Braid, after it, or not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask, Response, g, render_template_string, request
from flask.testing import FlaskClient
from flask_wtf import CSRFProtect
from werkzeug.exceptions import Unauthorized

from braid.app.auth.csrf import masked
from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.core.braid import Braid
from tests.web import bearer, csrf_token, site_of

SEARCH = "/braid/api/v1/search"
PAGE = "/braid/search"
FORM = "/braid/datasets"
HOST_FORM = "/form"


def mount_after(host: Flask, braid: Braid) -> None:
    CSRFProtect().init_app(host)
    register_braid(host, lambda: HostUser("ann"), braid=braid)


def mount_before(host: Flask, braid: Braid) -> None:
    register_braid(host, lambda: HostUser("ann"), braid=braid)
    CSRFProtect().init_app(host)


def mount_alone(host: Flask, braid: Braid) -> None:
    register_braid(host, lambda: HostUser("ann"), braid=braid)


Mount = Callable[[Flask, Braid], None]
PROTECTED: tuple[Mount, ...] = (mount_after, mount_before)
ALL: tuple[Mount, ...] = (*PROTECTED, mount_alone)


def make_host(mount: Mount, braid: Braid) -> Flask:
    """A host app with a form of its own, with Braid mounted in it."""
    host = Flask("host")
    host.secret_key = "the host's own"
    host.testing = True

    @host.route(HOST_FORM, methods=["GET", "POST"])
    def form() -> str:
        if request.method == "POST":
            return "ordered"
        return render_template_string('<input name="csrf_token" value="{{ csrf_token() if csrf_token else "" }}">')

    mount(host, braid)
    return host


@pytest.fixture(params=PROTECTED, ids=lambda mount: mount.__name__)
def protected(request: pytest.FixtureRequest, shelf: Braid) -> FlaskClient:
    """A browser at a host with a protection of its own."""
    return make_host(request.param, shelf).test_client()


@pytest.fixture(params=ALL, ids=lambda mount: mount.__name__)
def client(request: pytest.FixtureRequest, shelf: Braid) -> FlaskClient:
    """A browser at a host with or without one."""
    return make_host(request.param, shelf).test_client()


def test_the_hosts_forms_need_the_hosts_token(protected: FlaskClient) -> None:
    assert protected.post(HOST_FORM).status_code == 400
    token = csrf_token(protected, HOST_FORM)
    assert protected.post(HOST_FORM, data={"csrf_token": token}).text == "ordered"


def test_a_host_without_protection_gets_none(shelf: Braid) -> None:
    assert make_host(mount_alone, shelf).test_client().post(HOST_FORM).text == "ordered"


def test_braids_token_does_not_open_the_hosts_forms_nor_the_hosts_token_braids(protected: FlaskClient) -> None:
    ours, theirs = csrf_token(protected, PAGE), csrf_token(protected, HOST_FORM)
    assert protected.post(HOST_FORM, data={"csrf_token": ours}).status_code == 400
    assert protected.post(FORM, data={"csrf_token": theirs, "name": "x"}).status_code == 400


def test_braids_forms_need_braids_token(client: FlaskClient) -> None:
    assert client.post(FORM, data={"name": "Notes"}).status_code == 400
    assert client.post(FORM, data={"name": "Notes", "csrf_token": "wrong"}).status_code == 400
    assert client.post(FORM, data={"name": "Notes", "csrf_token": csrf_token(client, PAGE)}).status_code in (302, 303)


def test_every_form_of_a_page_carries_braids_token(client: FlaskClient) -> None:
    page = client.get("/braid/datasets").text
    token = page.partition('name="csrf_token" value="')[2].partition('"')[0]
    assert client.post(FORM, data={"name": "sent", "csrf_token": token}).status_code == 302
    assert page.count(f'value="{token}"') == page.count('name="csrf_token"') > 1  # the macros' forms, too


def test_the_api_takes_bearer_tokens_without_more(client: FlaskClient, shelf: Braid) -> None:
    here = site_of(client.application)
    ann = here.accounts.named("ann") or here.accounts.add("ann")
    sent = client.post(SEARCH, json={"query": "pump"}, headers=bearer(client.application, ann))
    assert sent.status_code == 200, sent.text


def test_the_api_needs_the_token_of_a_browser(client: FlaskClient) -> None:
    forged = client.post(SEARCH, json={"query": "pump"})
    assert (forged.status_code, forged.mimetype) == (400, "application/problem+json")
    headers = {"X-CSRFToken": csrf_token(client, PAGE)}
    assert client.post(SEARCH, json={"query": "pump"}, headers=headers).status_code == 200


def test_over_https_a_form_must_come_from_a_page_of_this_host(client: FlaskClient) -> None:
    secure = {"base_url": "https://localhost"}
    client.get(PAGE, **secure)
    with client.session_transaction(**secure) as session:
        headers = {"X-CSRFToken": masked(session["braid_csrf"])}
    assert client.post(SEARCH, json={"query": "pump"}, headers=headers, **secure).status_code == 400
    for referrer, status in (("https://evil.example/", 400), ("http://localhost/", 400), ("https://localhost/x", 200)):
        sent = client.post(SEARCH, json={"query": "pump"}, headers={**headers, "Referer": referrer}, **secure)
        assert sent.status_code == status, referrer


@pytest.mark.parametrize("mount", ALL)
def test_nothing_of_the_hosts_configuration_is_changed(mount: Mount, shelf: Braid) -> None:
    host, control = Flask("host"), Flask("host")
    host.secret_key = control.secret_key = "the host's own"
    mount(host, shelf)
    if mount is not mount_alone:
        CSRFProtect().init_app(control)
    assert host.config == control.config
    assert ("csrf_token" in host.jinja_env.globals) == ("csrf_token" in control.jinja_env.globals)


def test_a_host_that_answers_first_gets_braids_headers_and_no_error(shelf: Braid) -> None:
    host = Flask("host")
    host.secret_key = "the host's own"

    @host.before_request
    def refuse() -> Response | None:
        g.request_id = 7  # a name that a host may use, too
        if "closed" in request.args:
            return Response("closed", 503)
        if "stranger" in request.args:
            raise Unauthorized
        return None

    mount_alone(host, shelf)
    client = host.test_client()
    closed = client.post(f"{SEARCH}?closed=1")
    assert (closed.status_code, closed.text) == (503, "closed")
    assert len(closed.headers["X-Request-ID"]) == 12
    assert client.post(f"{SEARCH}?stranger=1").status_code == 401
    assert client.get(PAGE).status_code == 200
