"""A library in three languages, and its pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from braid.core.braid import Braid
from tests.app.pages.every.shown import fill
from tests.fakes import HashEmbeddings
from tests.web import make_app, sign_in


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    """The filled library for tests that only read."""
    with Braid(tmp_path_factory.mktemp("shelf") / "data", embedding_model=HashEmbeddings()) as braid:
        yield fill(braid)


@pytest.fixture(scope="module")
def session(shelf: Braid) -> FlaskClient:
    """A browser that signed in once: hashing a password takes longer than most of these tests."""
    return sign_in(make_app(shelf))


@pytest.fixture
def client(session: FlaskClient) -> FlaskClient:
    """A signed-in browser with no other cookies, for tests that only read."""
    cookie = session.get_cookie("braid_session")
    assert cookie is not None
    client = session.application.test_client()
    client.set_cookie("braid_session", cookie.value)
    return client


@pytest.fixture
def library(braid: Braid) -> Braid:
    """The filled library for tests that change it."""
    return fill(braid)
