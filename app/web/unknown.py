"""Braid's answer below its prefix in a host app, where no route of Braid's answers."""

from __future__ import annotations

from typing import NoReturn
from urllib.parse import quote

from flask import Blueprint, current_app, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from braid.app.auth.access import rule, wants_json

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

unknown = Blueprint("unknown", __name__)


@unknown.route("/<path:_path>", methods=METHODS)
@rule("anyone")
def nothing(_path: str) -> NoReturn:
    """Refuse an address that is not Braid's, or a method that it is not for. In an interface, name what it has."""
    if allowed := [method for method in METHODS if _answers(method)]:
        raise MethodNotAllowed(valid_methods=allowed)
    others = {rule.rule for rule in current_app.url_map.iter_rules() if _is_beside(rule.endpoint)}
    raise NotFound(f"there is no {request.path[:200]}; there are {', '.join(sorted(others))}" if others else None)


def meant_page() -> str:
    """Return the address of the page that this request means by one with a slash behind it; empty if it means none."""
    path = request.path.removesuffix("/")
    if path == request.path or request.method not in ("GET", "HEAD") or wants_json() or not _answers("GET", path):
        return ""
    asked = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    return f"{quote(request.script_root + path)}{asked}"


def _is_beside(endpoint: str) -> bool:
    """Return whether an endpoint is another one of this blueprint."""
    return endpoint.rpartition(".")[0] == request.blueprint and endpoint != request.endpoint


def _answers(method: str, path: str | None = None) -> bool:
    """Return whether another route takes this path, the request's without one, with this method."""
    adapter = current_app.create_url_adapter(request)
    try:
        return adapter is not None and adapter.match(path, method=method)[0] != request.endpoint
    except HTTPException:
        return False
