"""Below a path of a proxy: addresses begin with it, whether the proxy takes it off or not."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from braid.config.settings import Settings, load_settings
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from tests.web import PASSWORD, csrf_token, make_app, site_of


@pytest.fixture
def app(shelf: Braid) -> Flask:
    return make_app(shelf, Settings(url_prefix="/braid"))


@pytest.mark.parametrize("taken_off", [True, False])
def test_every_address_begins_with_the_path(app: Flask, taken_off: bool) -> None:
    client, off = app.test_client(), "" if taken_off else "/braid"
    page = client.get(f"{off}/login")
    links = re.findall(r'\s(?:href|src|action)="(/[^"]*)"', page.text)
    assert len(links) > 3
    assert all(link.startswith("/braid/") for link in links)
    answer = client.get(f"{off}/datasets?x=1")
    assert answer.headers["Location"] == "/braid/login?next=%2Fbraid%2Fdatasets%3Fx%3D1"
    assert client.get(f"{off}/braided").status_code == 404


def test_cookies_are_for_the_path_alone(app: Flask) -> None:
    client = app.test_client()
    form = {"name": site_of(app).accounts.all()[0].name, "password": PASSWORD, "csrf_token": ""}
    form["csrf_token"] = csrf_token(client, "/braid/login?lang=ko")
    cookies = [*client.get("/braid/login?lang=ko").headers.getlist("Set-Cookie")]
    signed_in = client.post("/braid/login", data=form)
    cookies += signed_in.headers.getlist("Set-Cookie")
    assert {cookie.partition("=")[0] for cookie in cookies} == {"braid_language", "braid_session", "braid_device"}
    assert all("; Path=/braid" in cookie for cookie in cookies), cookies
    assert client.get("/braid/account").status_code == 200


@pytest.mark.parametrize("wrong", ["braid", "/braid/", "//evil.example", "/a b", "/"])
def test_a_path_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidInputError, match="without a slash at its end"):
        load_settings(env={"BRAID_URL_PREFIX": wrong})
