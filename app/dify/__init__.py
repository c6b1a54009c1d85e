"""Dify's External Knowledge API, ``/dify``: datasets as knowledge that Dify's apps search.

May import: `app.api` and the rooms below it; not the pages.
Way in: `dify`, the blueprint. Scores are explained in `braid.app.dify.retrieval.scores_of`.
"""

from __future__ import annotations

from flask import Blueprint

from braid.app.api.framework.interfaces import mount_interface
from braid.app.api.framework.openapi import Interface
from braid.app.dify import retrieval
from braid.app.dify.errors import ErrorShown, handle_errors

TEXT = """\
Dify's External Knowledge API. In Dify, the endpoint is the address of this document without `/openapi.json`, the key is
an API token of the account page with the scope `read`, and the id of the knowledge names datasets: `all`, or `-1,3`.

Errors are `error_code` and `error_msg`: 1001 for a header that is no bearer token, 1002 for a token that is not valid
or may not read, 2001 for knowledge that does not exist; otherwise the code is the HTTP status."""

dify = Blueprint("dify", __name__, url_prefix="/dify")
mount_interface(
    dify,
    (retrieval.resource,),
    Interface("Braid, Dify's External Knowledge API", TEXT, ErrorShown, statuses={401: 403, 422: 400}),
)
handle_errors(dify)
