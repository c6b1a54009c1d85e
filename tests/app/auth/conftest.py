"""The app after and before its first start."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from flask import Flask

from braid.core.braid import Braid
from tests.web import add_user, fresh_app, make_app


@pytest.fixture
def app(shelf: Braid) -> Flask:
    """The app after the first start."""
    return make_app(shelf)


@pytest.fixture
def new_app(braid: Braid) -> Flask:
    """The app before the first start."""
    return fresh_app(braid)


@pytest.fixture
def new_user(app: Flask) -> Callable[[], str]:
    """Makes another user; returns their name."""

    def make() -> str:
        return add_user(app, f"user {time.time_ns()}").name

    return make
