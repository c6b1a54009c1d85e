"""The app with an administrator and two users."""

from __future__ import annotations

import pytest
from flask import Flask

from braid.core.braid import Braid
from tests.app.api.callers import Caller, Put
from tests.web import add_user, make_app, site_of


@pytest.fixture
def app(braid: Braid) -> Flask:
    """The app with an administrator, and the user ann with a dataset (1) and a shared one (-1)."""
    made = make_app(braid)
    ann = add_user(made, "ann")
    braid.ledger.add_dataset(ann.id, "Notes")
    braid.registry.add("Handbook", "shared_main_db")
    braid.mirror_registry()
    return made


@pytest.fixture
def ann(app: Flask) -> Caller:
    """A user."""
    found = site_of(app).accounts.named("ann")
    assert found
    return Caller(app, found)


@pytest.fixture
def bob(app: Flask) -> Caller:
    """Another user, who owns nothing."""
    return Caller(app, add_user(app, "bob"))


@pytest.fixture
def admin(app: Flask) -> Caller:
    """An administrator."""
    return Caller(app, site_of(app).accounts.all()[0], "read", "write", "admin")


@pytest.fixture
def library(app: Flask, put: Put) -> None:
    """Two documents in each of ann's notes and the handbook."""
    put(1, "printer.md", "the printer shows error E-4711 when the tray is empty", file_type="md")
    put(1, "coffee.txt", "the coffee machine wants water")
    put(-1, "travel.md", "book trains through the travel office", "hotels need a receipt", file_type="md")
