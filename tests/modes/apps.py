"""The tests' clients before several processes' apps: `pytest tests/app/pages --apps 3`.

Every app of `tests.web.make_app` then has siblings: each is an app of its own, over a `Braid` of its own that opens the
same ledger and data directory as another process does. The app's test clients send each request to the next of them, so
that whatever one keeps to itself and another needs is missed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from limits.strategies import MovingWindowRateLimiter
from werkzeug.test import run_wsgi_app
from werkzeug.wsgi import get_current_url

from braid.app.factory import create_app
from braid.app.rate_windows import SharedWindows
from braid.app.site import EXTENSION, Site
from braid.core.accounts.attempt_windows import AttemptWindows
from braid.core.braid import Braid
from braid.core.chat.turns.turn_store import TurnStore
from tests import web

APPS = "tests.apps"
ALL = "tests.all-apps"


@contextmanager
def rotating(number: int) -> Iterator[None]:
    """Have all apps that are made until the end of the block be ``number`` apps."""
    before, web.SIBLINGS = web.SIBLINGS, number - 1
    with pytest.MonkeyPatch.context() as patch:
        # they are one process, whose name is with each answer that it writes
        patch.setattr(TurnStore, "is_written_here", lambda store, settings: False)
        yield
    web.SIBLINGS = before


def add_siblings(app: Flask, *, number: int, jobs: bool) -> None:
    """Open the app's data directory ``number`` times more, and have its clients ask these, too, in turn."""
    here: Site = app.extensions[EXTENSION]
    siblings = [create_app(here.settings, _opened_again(here.braid)) for _ in range(number)]
    count_together(here)
    for sibling in siblings:
        there: Site = sibling.extensions[EXTENSION]
        count_together(there)
        sibling.testing = True
        if jobs:
            there.start_jobs()
        here.braid.on_close(there.braid.close)
        here.braid.on_close(there.close)
    app.extensions[ALL] = (app, *siblings)
    app.extensions[APPS] = itertools.cycle([*siblings, app])
    app.test_client_class = RotatingClient


def count_together(here: Site) -> None:
    """Have the site count attempts in the ledger, as a member of a fleet does."""
    here.windows = SharedWindows(AttemptWindows(here.braid.ledger))
    here.limiter = MovingWindowRateLimiter(here.windows)


def _opened_again(braid: Braid) -> Braid:
    """Open what is open, as another process with the same settings does."""
    return Braid(
        braid.data_dir,
        database_url=braid.ledger.database.engine.url.render_as_string(hide_password=False),
        shared_dbs=braid.registry.path,
        embedding_model=braid._models._given,
        embedding_options=braid.embedding_options,
        index_options=braid._options,
        models=braid.manager._context.models.chat,
        prompts=braid.manager.prompts,
        rerankers=braid.manager.rerankers,
        strategies=braid._configured,
    )


class RotatingClient(FlaskClient):
    """A test client that sends each request to the next app."""

    def run_wsgi_app(self, environ: Any, buffered: bool = False) -> Any:
        """Send the request; the cookies are those of the browser, whichever app set them."""
        self._add_cookies_to_wsgi(environ)
        answer = run_wsgi_app(next(self.application.extensions[APPS]), environ, buffered=buffered)
        url = urlsplit(get_current_url(environ))
        self._update_cookies_from_response(url.hostname or "localhost", url.path, answer[2].getlist("Set-Cookie"))
        return answer


# ---------------------------------------------------------------- the mode


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what looks into one app."""
    for item in items:
        if item.get_closest_marker("one_app"):
            item.add_marker(pytest.mark.skip(reason="it reaches into the app that its client asks"))


@pytest.fixture(scope="session", autouse=True)
def one_of_several_apps(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each request goes to another one."""
    with rotating(request.config.getoption("--apps")):
        yield
