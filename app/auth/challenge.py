"""Where a program that may not come in asks for access (RFC 6750, section 3, and RFC 9728, section 5.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import request
from werkzeug.exceptions import Forbidden, Unauthorized

from braid.app.mounted import url_for

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

RESOURCES = ("/mcp/connector", "/mcp", "/api/v1", "/v1", "/dify")
"""What programs connect to, below Braid's address: each has its own metadata, as clients demand."""
WELL_KNOWN = "/.well-known/oauth-protected-resource"


def base_address() -> str:
    """Return the address of Braid in this request, without a slash at its end: what tokens are issued by."""
    return url_for("braid.search.home", _external=True).rstrip("/")


def challenge(base: str, path: str, error: str = "", scope: str = "") -> str:
    """Return the header ``WWW-Authenticate`` for a path below ``base``."""
    resource = next((each for each in RESOURCES if f"{path}/".startswith(f"{each}/")), "")
    parts = {"realm": "Braid", "error": error, "scope": scope, "resource_metadata": base + WELL_KNOWN + resource}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items() if value)


class NoToken(Unauthorized):
    """A program's request without a token that is valid. The answer says where to ask for one."""

    def get_headers(
        self, environ: WSGIEnvironment | None = None, scope: dict[str, Any] | None = None
    ) -> list[tuple[str, str]]:
        """Return the headers of the answer."""
        error = "invalid_token" if "Authorization" in request.headers else ""
        return [*super().get_headers(environ, scope), ("WWW-Authenticate", _challenge_here(error))]


class LacksScope(Forbidden):
    """A request with a token that has not been given this permission. The answer says what to ask for."""

    def __init__(self, permission: str) -> None:
        super().__init__(f"the token lacks the scope {permission!r}; create one that has it")
        self._permission = permission

    def get_headers(
        self, environ: WSGIEnvironment | None = None, scope: dict[str, Any] | None = None
    ) -> list[tuple[str, str]]:
        """Return the headers of the answer."""
        told = _challenge_here("insufficient_scope", self._permission)
        return [*super().get_headers(environ, scope), ("WWW-Authenticate", told)]


def _challenge_here(error: str, permission: str = "") -> str:
    base = base_address()
    path = (request.script_root + request.path).removeprefix(urlsplit(base).path)
    return challenge(base, path, error, permission)
