"""OpenAI's interface, ``/v1``: what chat apps speak that are connected to Braid as if it were a model.

May import: `app.api` and the rooms below it; not the pages.
Way in: `openai_api`, the blueprint. A model's id is a choice of datasets, see `braid.app.openai_api.models`.
"""

from __future__ import annotations

from typing import NoReturn

from flask import Blueprint
from werkzeug.exceptions import NotFound

from braid.app.api.framework.interfaces import mount_interface
from braid.app.api.framework.openapi import Interface
from braid.app.auth.access import rule
from braid.app.openai_api import chat, embeddings, models
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
    (models.resource, chat.resource, embeddings.resource),
    Interface("Braid, OpenAI's interface", TEXT, ErrorShown, statuses={422: 400}),
)
handle_errors(openai_api)
openai_api.after_request(allow_origin)
openai_api.add_url_rule("/<path:_path>", "nothing", nothing, methods=METHODS)


@openai_api.post("/responses")
@rule("anyone")
def responses() -> NoReturn:
    """Refuse OpenAI's newer interface in words; its clients have a switch for this one."""
    raise NotFound(
        "Braid does not serve /v1/responses; have the client ask /v1/chat/completions, in openai-agents by "
        "set_default_openai_api('chat_completions')"
    )
