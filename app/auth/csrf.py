"""Tokens against forged requests (CSRF): Braid's own, for its routes only, alone and in a host's app.

A host's app may protect its forms with Flask-WTF's CSRFProtect, set up before or after Braid is mounted: Braid's
blueprints are exempt from it, and nothing of its configuration is read or changed.
"""

from __future__ import annotations

import binascii
import hmac
import secrets
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from urllib.parse import urlsplit

from flask import Flask, current_app, g, request, session
from flask_babel import gettext as _
from werkzeug.exceptions import BadRequest

from braid.app.mounted import mounts

FIELD = "csrf_token"
HEADERS = ("X-CSRFToken", "X-CSRF-Token")
IN_SESSION = "braid_csrf"
"""A key of Braid's own, since in a host's app the session is the host's."""
TOKEN_BYTES = 32


class ExpiredForm(BadRequest):
    """A form without the token of this browser's session: that of an earlier one, or a forged one."""

    field = FIELD


def csrf_token() -> str:
    """Return the token that a form of this browser's session must send; it is valid as long as the session.

    It is another one in each answer, the session's secret under a random mask: the lengths of compressed pages would
    otherwise give away a secret that is repeated in them (BREACH).
    """
    if IN_SESSION not in session:
        session[IN_SESSION] = secrets.token_urlsafe(TOKEN_BYTES)
    if "braid_csrf_token" not in g:
        g.braid_csrf_token = masked(str(session[IN_SESSION]))
    return str(g.braid_csrf_token)


def masked(secret: str) -> str:
    """Return a session's secret under a new random mask."""
    mask = secrets.token_bytes(len(secret))
    return urlsafe_b64encode(mask + _xor(mask, secret.encode())).decode()


def _unmasked(token: str) -> bytes:
    """Return the secret under the mask; empty when the token is none."""
    try:
        both = urlsafe_b64decode(token.encode())
    except (binascii.Error, ValueError):
        return b""
    half = len(both) // 2
    return _xor(both[:half], both[half:])


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))


def refuse_forged_requests() -> None:
    """Check the token in the form or a header. Raises ExpiredForm without the right one.

    Over HTTPS the page that sent the form must be of this host, too: whoever can write cookies over plain HTTP could
    otherwise plant a session with a token that they know.
    """
    expected = session.get(IN_SESSION, "")
    sent = request.form.get(FIELD) or next((request.headers[name] for name in HEADERS if name in request.headers), "")
    if not expected or not hmac.compare_digest(expected.encode(), _unmasked(sent)):
        raise ExpiredForm(_("This form has expired, or cookies are blocked. Reload the page."))
    if request.is_secure and urlsplit(request.referrer or "")[:2] != ("https", request.host):
        raise ExpiredForm(_("This form has expired, or cookies are blocked. Reload the page."))


def exempt_from_host(app: Flask) -> None:
    """Exempt Braid's blueprints from the host app's CSRFProtect if it has been set up by now."""
    protection = app.extensions.get("csrf")
    flask_wtf = sys.modules.get("flask_wtf.csrf")  # the host's; Braid does without it
    if flask_wtf is None or not isinstance(protection, flask_wtf.CSRFProtect):
        return
    for name, routes in app.blueprints.items():
        if name.partition(".")[0] in mounts(app):
            protection.exempt(routes)


def exempt_this_request() -> None:
    """Exempt Braid's blueprints before the check of a host's CSRFProtect that was set up after Braid was mounted."""
    if set(mounts(current_app)).intersection(request.blueprints):
        exempt_from_host(current_app)
