"""The HTTP API, ``/api/v1``: one file per resource, built from typed operations.

May import: `app.web` and the rooms below it; not the pages.
Way in: `api`, the blueprint; a new resource goes into `RESOURCES`.
"""

from __future__ import annotations

from flask import Blueprint, request

from braid.app.api import (
    chat,
    conversations,
    datasets,
    documents,
    explain,
    feedback,
    folders,
    jobs,
    me,
    search,
    shared_databases,
    strategies,
    transfers,
    uploads,
    user_life,
    users,
)
from braid.app.api.framework.document_pages import mount_pages
from braid.app.api.framework.etags import ChangedMeanwhileError
from braid.app.api.framework.problems import on_changed_meanwhile, on_invalid_request, on_key_error
from braid.app.api.framework.rate_headers import add_headers, count_request
from braid.app.api.framework.requests import InvalidRequestError
from braid.app.auth.body_limit import set_body_limit
from braid.core.accounts.idempotency import KeyInUseError, KeyReusedError

MAX_BODY_BYTES = 2 * 2**20
RESOURCES = (
    search.resource,
    chat.resource,
    explain.resource,
    strategies.resource,
    datasets.resource,
    documents.resource,
    uploads.resource,
    transfers.resource,
    jobs.resource,
    shared_databases.resource,
    folders.resource,
    conversations.resource,
    feedback.resource,
    me.resource,
    users.resource,
    user_life.resource,
)

api = Blueprint("api", __name__, url_prefix="/api/v1")
for resource in RESOURCES:
    resource.mount(api)
mount_pages(api, RESOURCES)
api.before_request(count_request)
api.after_request(add_headers)
api.register_error_handler(InvalidRequestError, on_invalid_request)
api.register_error_handler(ChangedMeanwhileError, on_changed_meanwhile)
api.register_error_handler(KeyInUseError, on_key_error)
api.register_error_handler(KeyReusedError, on_key_error)


@api.url_value_preprocessor
def limit_body(endpoint: str | None, values: dict[str, object] | None) -> None:
    """Limit the body's size before anything reads it; uploads have their own limit."""
    if request.max_content_length is None or request.max_content_length > MAX_BODY_BYTES:
        set_body_limit(MAX_BODY_BYTES)
