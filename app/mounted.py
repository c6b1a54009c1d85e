"""Names of Braid's endpoints, whatever the blueprint is called under which this request's app has it.

The code says ``braid.chat.page``; an app that has mounted Braid as ``docs`` knows it as ``docs.chat.page``.
"""

from __future__ import annotations

from typing import Any

import flask
from flask import current_app, request

ROOT = "braid"
"""The blueprint that has all of Braid's, as the code names it and unless the app has given it another name."""
MOUNTS = "braid.mounts"
"""Key of the names of the app's mounts in Flask's extensions."""


def mounts(app: flask.Flask) -> list[str]:
    """Return the names under which the app has mounted Braid; the caller may add one."""
    found: list[str] = app.extensions.setdefault(MOUNTS, [])
    return found


def mount() -> str:
    """Return the name of the mount that this request is for; the first one outside of them."""
    names = mounts(current_app)
    here = request.blueprints[-1] if flask.has_request_context() and request.blueprints else ""
    return here if here in names else next(iter(names), ROOT)


def url_for(endpoint: str, **values: Any) -> str:
    """Return the address of one of Braid's endpoints in this mount; of another endpoint as Flask does."""
    return flask.url_for(theirs(endpoint), **values)


def cookie_path() -> str:
    """Return the path that this request's cookies are for: other apps of the same name do not get them."""
    return request.script_root or "/"


def theirs(endpoint: str) -> str:
    """Return what this request's app calls an endpoint that the code names; another endpoint as it is."""
    head, dot, rest = endpoint.partition(".")
    return mount() + dot + rest if head == ROOT else endpoint


def endpoint_here() -> str:
    """Return the endpoint of this request as the code names it; empty for an address that nothing answers."""
    return ours(request.endpoint or "")


def blueprints_here() -> list[str]:
    """Return the blueprints of this request as the code names them, the innermost first."""
    return [ours(name) for name in request.blueprints]


def ours(name: str) -> str:
    """Return the code's name of an endpoint or blueprint; a host app's own ones are returned as they are.

    A blueprint of the host may be called ``braid``; its names then stand behind a dot, and equal none of Braid's.
    """
    head, dot, rest = name.partition(".")
    if head in mounts(current_app):
        return ROOT + dot + rest
    return f".{name}" if head == ROOT else name
