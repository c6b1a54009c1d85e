"""A small library and its pages, for tests that need no other."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.core.braid import Braid
from tests.web import make_app, sign_in
from tests.worlds import WAIT_S, document


def fill(braid: Braid) -> Braid:
    """A user with two datasets, and a shared one."""
    user = braid.ledger.add_user("local")
    braid.ledger.add_dataset(user.id, "Notes")
    braid.ledger.add_dataset(user.id, "Empty")
    braid.registry.add("Handbook", "shared_main_db")
    braid.mirror_registry()
    for dataset, source, title, text in (
        (1, "fusion.md", "Fusion", "Rankings are fused by rank, which needs no tuning."),
        (-1, "travel.md", "Travel", "Book trains through the travel office."),
    ):
        braid.ledger.put_document(dataset, document(source, text, title=title, file_type="txt"))
    assert braid.indexer.wait(WAIT_S)
    return braid


@pytest.fixture
def library(braid: Braid) -> Braid:
    return fill(braid)


@pytest.fixture(scope="module")
def common_client(shelf: Braid) -> FlaskClient:
    """The same for all tests of a module that change nothing."""
    return sign_in(make_app(fill(shelf)))


@pytest.fixture
def app(library: Braid) -> Flask:
    """Without a language model."""
    return make_app(library)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return sign_in(app)
