"""A library with kinds of documents, and its pages."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.core.braid import Braid
from tests.app.pages.search.searched import fill
from tests.web import make_app, sign_in


@pytest.fixture(scope="module")
def library(shelf: Braid) -> Braid:
    """What all tests read; one that writes has `own_library`."""
    return fill(shelf)


@pytest.fixture(scope="module")
def app(library: Braid) -> Flask:
    return make_app(library)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A browser in which ann is signed in."""
    return sign_in(app)


@pytest.fixture
def own_library(braid: Braid) -> Braid:
    return fill(braid)


@pytest.fixture
def own_client(own_library: Braid) -> FlaskClient:
    return sign_in(make_app(own_library))
