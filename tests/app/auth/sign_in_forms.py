"""Browsers that sign in, as people do, and from where."""

from __future__ import annotations

from flask import Flask
from flask.testing import FlaskClient

from tests.web import PASSWORD, csrf_token


def from_address(app: Flask, address: str) -> FlaskClient:
    """A browser on another computer."""
    client = app.test_client()
    client.environ_base["REMOTE_ADDR"] = address
    return client


def log_in(client: FlaskClient, name: str, password: str = PASSWORD, **more: str) -> tuple[int, str]:
    """The status and where it leads to."""
    form = {"name": name, "password": password, "csrf_token": csrf_token(client, "/login"), **more}
    response = client.post("/login", data=form)
    return response.status_code, response.headers.get("Location", "")


def set_up(client: FlaskClient, name: str = "boss", password: str = PASSWORD, **options: object) -> int:
    form = {"name": name, "password": password, "csrf_token": csrf_token(client, "/setup")}
    return client.post("/setup", data=form, **options).status_code


def is_signed_in(client: FlaskClient) -> bool:
    return client.get("/account").status_code == 200
