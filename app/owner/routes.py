"""Routes for the command line beside a running app: whole results, for processes of the same version.

Requests may name any engine and reranker, as on the command line, so users' own tokens are not accepted here.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request
from pydantic import TypeAdapter, ValidationError

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.core.errors import InvalidInputError
from braid.core.types import Explanation, Filters, SearchOptions, SearchResult

KNOWN = frozenset({"dataset_ids", "strategy", "chunk_id", *SearchOptions.__dataclass_fields__})

owner = Blueprint("owner", __name__, url_prefix="/owner")


@owner.post("/search")
@rule("user", "owner")
def search() -> Response:
    """Return a search's whole result."""
    text, arguments = _read_request()
    result = site().braid.manager.search(text, user_id=identity().account.id, **arguments)
    return Response(TypeAdapter(SearchResult).dump_json(result), mimetype="application/json")


@owner.post("/explain")
@rule("user", "owner")
def explain() -> Response:
    """Explain why a passage is, or is not, found."""
    text, arguments = _read_request()
    explanation = site().braid.manager.explain(text, user_id=identity().account.id, **arguments)
    return Response(TypeAdapter(Explanation).dump_json(explanation), mimetype="application/json")


def _read_request() -> tuple[str, dict[str, Any]]:
    asked = request.get_json(force=True, silent=True)
    if not isinstance(asked, dict) or not isinstance(asked.get("text"), str) or "user_id" in asked:
        raise InvalidInputError("send a JSON object with a text", field="text")
    text = asked.pop("text")
    if unknown := sorted(asked.keys() - KNOWN):
        raise InvalidInputError(f"{unknown[0]!r} is not known here; does the other process run another version?")
    if "filters" in asked:
        try:
            asked["filters"] = TypeAdapter(Filters).validate_python(asked["filters"])
        except ValidationError:
            raise InvalidInputError("the filters are not valid; send the fields of Filters", field="filters") from None
    return text, asked
