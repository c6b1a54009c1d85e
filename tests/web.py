"""The app for tests of the pages and the API: signing in, sending forms, serving it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.serving import make_server
from werkzeug.test import TestResponse

from braid.app.auth.csrf import IN_SESSION, masked
from braid.app.factory import create_app
from braid.app.mcp.http import with_mcp
from braid.app.site import EXTENSION, Site
from braid.app.web.gate.gateway import Gateway
from braid.app.web.gate.request_bodies import Room
from braid.app.web.gate.threads import Threads
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.accounts.audit import AuditEntry
from braid.core.braid import Braid
from tests.worlds import WAIT_S, eventually

if TYPE_CHECKING:
    from tests.modes.through import Through

PASSWORD = "correct horse"
PROXIES: list[Through] = []
"""The proxy that all apps of the tests are behind, where `pytest --through` names one."""
SIBLINGS = 0
"""How many more apps each app of the tests has, where `pytest --apps` gives a number."""
SIGN_INS = ("user.signed_in", "user.sign_in_failed", "user.sign_in_refused")


def fresh_app(braid: Braid, settings: Settings | None = None) -> Flask:
    """The app before its first start, behind the proxy of `pytest --through`, unless the settings are about proxies."""
    settings = settings or Settings()
    if not PROXIES or settings.trusted_proxies or settings.url_prefix:
        return create_app(settings, braid)
    settings = PROXIES[-1].settings(settings)
    app = create_app(settings, braid)
    PROXIES[-1].add(app, settings)
    return app


def make_app(braid: Braid, settings: Settings | None = None, *, jobs: bool = False) -> Flask:
    """The app with an administrator: the user of the command line, or a new one.

    With ``jobs`` they are done; the caller closes the site before Braid.
    """
    app = fresh_app(braid, settings)
    if jobs:
        site_of(app).start_jobs()
    app.testing = True
    if SIBLINGS:
        from tests.modes.apps import add_siblings

        add_siblings(app, number=SIBLINGS, jobs=jobs)
    here = site_of(app)
    if here.accounts.need_setup():
        here.accounts.create_first(first_user(here) or "admin", PASSWORD)
    if not jobs:
        braid.on_close(lambda: write_counts(here))
    return app


def write_counts(here: Site) -> None:
    """What a site does when it is closed, as those of tests are not: a timer would soon find no ledger."""
    with suppress(SQLAlchemyError):  # of a test that broke it
        here.usage.write()


def site_of(app: Flask) -> Site:
    """The app's stores."""
    found: Site = app.extensions[EXTENSION]
    return found


def first_user(here: Site) -> str:
    """The name of the user that was added first, in tests mostly the administrator; empty without one."""
    found = here.braid.ledger.database.rows("SELECT name FROM users ORDER BY id LIMIT 1")
    return str(found[0][0]) if found else ""


def sign_in(app: Flask, name: str = "") -> FlaskClient:
    """A browser in which this user is signed in; the administrator without a name."""
    here = site_of(app)
    client = app.test_client()
    token = csrf_token(client, "/login")
    response = client.post("/login", data={"name": name or first_user(here), "password": PASSWORD, "csrf_token": token})
    assert response.status_code == 302, response.get_data(as_text=True)
    return client


def csrf_token(client: FlaskClient, path: str = "") -> str:
    """The token of a form on the page; without a page, one that is as good: that of this browser's session."""
    if not path:
        with client.session_transaction() as session:
            if IN_SESSION in session:  # once a page with a form has been opened, which takes longer than to send it
                return masked(session[IN_SESSION])
    page = client.get(path or "/account").get_data(as_text=True)
    found = re.search(r'name="csrf[-_]token" (?:content|value)="([^"]+)"', page)
    assert found, page
    return found[1]


def post_form(client: FlaskClient, path: str, **form: object) -> TestResponse:
    """Send a form as the page does, with a token of the browser's session."""
    return client.post(path, data={"csrf_token": csrf_token(client), **form})


def text_of(html: str) -> str:
    """What a reader sees, in one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html)).strip()


@contextmanager
def serving(app: Flask) -> Iterator[str]:
    """The app with MCP on a free port of this computer, in a thread of its own; its address, without a slash."""
    if proxy := app.extensions.get("tests.through"):
        with proxy.lifespan(app) as address:
            yield address
        return
    room = Room()
    served = with_mcp(Gateway(app, room, Threads(10, aside=10)), site_of(app), room)
    config = uvicorn.Config(served, port=0, log_level="warning", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(WAIT_S)


@contextmanager
def visited(app: Flask) -> Iterator[str]:
    """The app where browsers open it, without MCP; its address, which ends with a slash."""
    if proxy := app.extensions.get("tests.through"):
        yield proxy.address(app)
        return
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.port}/"
    server.shutdown()
    server.server_close()


def add_user(app: Flask, name: str, *, groups: tuple[str, ...] = ()) -> Account:
    """Another user, with the same password."""
    return site_of(app).accounts.add(name, PASSWORD, groups=groups)


def acts(app: Flask) -> list[AuditEntry]:
    """What the audit log has, the newest first, without sign-ins and failures."""
    return [entry for entry in site_of(app).audit.entries() if entry.action not in SIGN_INS]


def bearer(app: Flask, account: Account, *scopes: str) -> dict[str, str]:
    """Headers with a new API token of this user."""
    _, key = site_of(app).tokens.add(account.id, "test", scopes or ("read", "write"), days=1)
    return {"Authorization": f"Bearer {key}"}
