"""The HTTP API, ``/api/v1``: one file per resource, built from typed operations.

May import: `app.web` and the rooms below it; not the pages.
Way in: `api`, the blueprint; a new resource goes into `RESOURCES`.
"""

from __future__ import annotations

from flask import Blueprint

from braid.app.api import (
    assistants,
    chat,
    check,
    conversations,
    datasets,
    documents,
    explain,
    feedback,
    files,
    folders,
    jobs,
    me,
    search,
    selected_documents,
    shared_databases,
    shares,
    strategies,
)
from braid.app.api.framework.etags import ChangedMeanwhileError
from braid.app.api.framework.interfaces import mount_interface
from braid.app.api.framework.problems import on_changed_meanwhile, on_invalid_request, on_key_error
from braid.app.api.framework.requests import InvalidRequestError
from braid.app.api.people import audit, life, users
from braid.core.accounts.idempotency import KeyInUseError, KeyReusedError

RESOURCES = (
    search.resource,
    chat.resource,
    check.resource,
    explain.resource,
    strategies.resource,
    datasets.resource,
    shares.resource,
    assistants.resource,
    documents.resource,
    selected_documents.resource,
    files.uploads,
    files.transfers,
    jobs.resource,
    shared_databases.resource,
    folders.resource,
    conversations.resource,
    feedback.resource,
    me.resource,
    users.resource,
    life.resource,
    audit.resource,
)

api = Blueprint("api", __name__, url_prefix="/api/v1")
mount_interface(api, RESOURCES)
api.register_error_handler(InvalidRequestError, on_invalid_request)
api.register_error_handler(ChangedMeanwhileError, on_changed_meanwhile)
api.register_error_handler(KeyInUseError, on_key_error)
api.register_error_handler(KeyReusedError, on_key_error)
