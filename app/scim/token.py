"""The token of the identity provider, of which there is one; administrators make it and take it back."""

from __future__ import annotations

import secrets
import time
from hmac import compare_digest

from flask import request
from werkzeug.exceptions import Unauthorized

from braid.app.site import site
from braid.core.accounts.credentials import hash_secret

SETTING = "scim_token"
"""Name of the app setting that has its hash, and when and by whom it was made."""
PREFIX = "braid_scim_"


def make_token(by: str) -> str:
    """Make a token in place of the present one, and return it; it cannot be read again."""
    token = PREFIX + secrets.token_urlsafe(32)
    site().app_settings.set(SETTING, {"hash": hash_secret(token), "created_at": time.time(), "by": by})
    return token


def take_token_back() -> None:
    """Let nobody in any more."""
    site().app_settings.set(SETTING, None)


def token_made_at() -> float | None:
    """Return when the token was made, in seconds since the epoch; None without one."""
    kept = site().app_settings.get(SETTING)
    return None if kept is None else float(kept["created_at"])


def require_token() -> None:
    """Raise Unauthorized for a request without the token."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    kept = site().app_settings.get(SETTING)
    if kept is None or scheme.lower() != "bearer" or not compare_digest(kept["hash"], hash_secret(given.strip())):
        raise Unauthorized("send the token that an administrator makes under Users and groups: Authorization: Bearer …")
