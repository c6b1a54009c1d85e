"""A small library and its pages, for tests that need no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.core.braid import Braid
from tests.web import make_app, sign_in

Put = Callable[..., str]


@pytest.fixture
def library(braid: Braid, put: Put) -> Braid:
    """A user with two datasets, and a shared one."""
    user = braid.ledger.add_user("local")
    braid.ledger.add_dataset(user.id, "Notes")
    braid.ledger.add_dataset(user.id, "Empty")
    braid.registry.add("Handbook", "shared_main_db")
    braid.mirror_registry()
    put(1, "fusion.md", "Rankings are fused by rank, which needs no tuning.", title="Fusion", wait=False)
    put(-1, "travel.md", "Book trains through the travel office.", title="Travel")
    return braid


@pytest.fixture
def app(library: Braid) -> Flask:
    """Without a language model."""
    return make_app(library)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return sign_in(app)
