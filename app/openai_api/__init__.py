"""OpenAI's interface, ``/v1``: what chat apps speak that are connected to Braid as if it were a model.

May import: `app.api` and the rooms below it; not the pages.
Way in: `openai_api`, the blueprint. A model's id is a choice of datasets, see `braid.app.openai_api.models`.
"""

from __future__ import annotations

from flask import Blueprint

from braid.app.api.framework.interfaces import mount_interface
from braid.app.api.framework.openapi import Interface
from braid.app.openai_api import chat, embeddings, models, responses
from braid.app.openai_api.cross_origin import allow_origin
from braid.app.openai_api.errors import ErrorShown, handle_errors
from braid.app.web.unknown import METHODS, nothing

TEXT = """\
What OpenAI's clients send, answered by Braid: a model is a choice of datasets, such as `braid:all` or `braid:-1,3`.

Unknown parameters are ignored, as servers of this interface do, and so are tools; what would change what an answer is
(`n` above 1, a tool that must be called, a picture in the question) is refused in words. Errors have OpenAI's form.
The token is an API token of the account page."""

openai_api = Blueprint("openai_api", __name__, url_prefix="/v1")
mount_interface(
    openai_api,
    (models.resource, chat.resource, responses.resource, embeddings.resource),
    Interface("Braid, OpenAI's interface", TEXT, ErrorShown, statuses={422: 400}),
)
handle_errors(openai_api)
openai_api.after_request(allow_origin)
openai_api.add_url_rule("/<path:_path>", "nothing", nothing, methods=METHODS)
