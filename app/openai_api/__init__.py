"""OpenAI's interface, ``/v1``: what chat apps speak that are connected to Braid as if it were a model.

May import: `app.api` and the rooms below it; not the pages.
Way in: `openai_api`, the blueprint. A model's id is a choice of datasets, see `braid.app.openai_api.models`.
"""

from __future__ import annotations

from typing import NoReturn

from flask import Blueprint, request
from werkzeug.exceptions import NotFound

from braid.app.api.framework.interfaces import mount_interface
from braid.app.api.framework.openapi import Interface
from braid.app.auth.access import rule
from braid.app.openai_api import chat, embeddings, models, responses
from braid.app.openai_api.cross_origin import allow_origin
from braid.app.openai_api.errors import ErrorShown, handle_errors
from braid.app.web.errors import METHODS, nothing

TEXT = """\
What OpenAI's clients send, answered by Braid: a model is a choice of datasets, such as `braid:all` or `braid:-1,3`.

Unknown parameters are ignored, as servers of this interface do, and so are tools; what would change what an answer is
(`n` above 1, a tool that must be called, a picture in the question) is refused in words. Errors have OpenAI's form.
The token is an API token of the account page."""

MAX_BODY_BYTES = 16 * 2**20
"""Clients send the pictures of all earlier messages again with each question."""


@rule("anyone")
def unknown(_path: str = "") -> NoReturn:
    """Refuse an address that is none of this interface, and say what is, or a method that it is not for."""
    try:
        nothing(_path)
    except NotFound:
        served = ", ".join(f"{each.method} {each.path}" for part in RESOURCES for each in part.operations)
        raise NotFound(f"there is no {request.method} /{_path[:100]} here; Braid serves {served} below /v1") from None


RESOURCES = (models.resource, chat.resource, responses.resource, embeddings.resource)
openai_api = Blueprint("openai_api", __name__, url_prefix="/v1")
mount_interface(
    openai_api,
    RESOURCES,
    Interface("Braid, OpenAI's interface", TEXT, ErrorShown, statuses={422: 400}, max_body_bytes=MAX_BODY_BYTES),
)
handle_errors(openai_api)
openai_api.after_request(allow_origin)
for path in ("/", "/<path:_path>"):
    openai_api.add_url_rule(path, "nothing", unknown, methods=METHODS, strict_slashes=False)
