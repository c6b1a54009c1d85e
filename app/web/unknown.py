"""Braid's answer below its prefix in a host app, where no route of Braid's answers."""

from __future__ import annotations

from typing import NoReturn

from flask import Blueprint, current_app, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from braid.app.auth.access import rule

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


def _is_beside(endpoint: str) -> bool:
    """Return whether an endpoint is another one of this blueprint."""
    return endpoint.rpartition(".")[0] == request.blueprint and endpoint != request.endpoint


def _answers(method: str) -> bool:
    """Return whether another route takes this address with this method."""
    adapter = current_app.create_url_adapter(request)
    try:
        return adapter is not None and adapter.match(method=method)[0] != request.endpoint
    except HTTPException:
        return False
