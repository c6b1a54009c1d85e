"""A site with a model, its administrator, and a user of a group."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.model_server import ModelServer, model_server
from tests.web import add_user, make_app, sign_in


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server("ready") as running:
        yield running


@pytest.fixture
def app(braid: Braid, server: ModelServer) -> Flask:
    return make_app(
        braid,
        Settings(search_model="openai:small", search_model_base_url=server.url, search_model_api_key="the-sites-key"),
    )


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    return sign_in(app)


@pytest.fixture
def ben(app: Flask) -> FlaskClient:
    add_user(app, "Ben", groups=("lab",))
    return sign_in(app, "Ben")
