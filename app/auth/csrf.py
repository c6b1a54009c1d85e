"""Tokens against forged requests (CSRF): Braid's own, for its routes only, alone and in a host's app.

A host's app may protect its forms with Flask-WTF's CSRFProtect, set up before or after Braid is mounted: Braid's
blueprints are exempt from it, and nothing of its configuration is read or changed.
"""

from __future__ import annotations

import hmac
import secrets
import sys
from urllib.parse import urlsplit

from flask import Flask, current_app, request, session
from flask_babel import gettext as _
from werkzeug.exceptions import BadRequest

FIELD = "csrf_token"
HEADERS = ("X-CSRFToken", "X-CSRF-Token")
IN_SESSION = "braid_csrf"
"""A key of Braid's own, since in a host's app the session is the host's."""
TOKEN_BYTES = 32
ROOT = "braid"
"""The blueprint that has all of Braid's."""


def csrf_token() -> str:
    """Return the token that a form of this browser's session must send; it lives as long as the session."""
    if IN_SESSION not in session:
        session[IN_SESSION] = secrets.token_urlsafe(TOKEN_BYTES)
    return str(session[IN_SESSION])


def refuse_forged_requests() -> None:
    """Check the token in the form or a header. Raises BadRequest without the right one.

    Over HTTPS the page that sent the form must be of this host, too: whoever can write cookies over plain HTTP could
    otherwise plant a session with a token that they know.
    """
    expected = session.get(IN_SESSION, "")
    sent = request.form.get(FIELD) or next((request.headers[name] for name in HEADERS if name in request.headers), "")
    if not expected or not hmac.compare_digest(expected.encode(), sent.encode(errors="replace")):
        raise BadRequest(_("This form has expired, or cookies are blocked. Reload the page."))
    if request.is_secure and urlsplit(request.referrer or "")[:2] != ("https", request.host):
        raise BadRequest(_("This form has expired, or cookies are blocked. Reload the page."))


def exempt_from_host(app: Flask) -> None:
    """Exempt Braid's blueprints from the host app's CSRFProtect if it has been set up by now."""
    protection = app.extensions.get("csrf")
    flask_wtf = sys.modules.get("flask_wtf.csrf")  # the host's; Braid does without it
    if flask_wtf is None or not isinstance(protection, flask_wtf.CSRFProtect):
        return
    for name, routes in app.blueprints.items():
        if name.partition(".")[0] == ROOT:
            protection.exempt(routes)


def exempt_this_request() -> None:
    """Exempt Braid's blueprints before the check of a host's CSRFProtect that was set up after Braid was mounted."""
    if ROOT in request.blueprints:
        exempt_from_host(current_app)
