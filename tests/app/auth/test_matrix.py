"""Every route for every kind of caller. A new route has to be given its row here."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.auth.access import SAFE
from braid.app.auth.csrf import IN_SESSION, masked
from braid.app.factory import routes_of
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.accounts.connected_apps import Consent
from braid.core.braid import Braid
from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.types import AnswerText, ChatRequest
from braid.core.datasets.assistants import Assistant
from braid.core.folders.store import NewSyncedFolder
from braid.core.ingest.incoming import Incoming
from braid.core.jobs.store import NewJob
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.web import bearer, make_app, site_of

TAKEN = {200, 201, 202, 204, 302, 303, 400, 409, 415, 422}
"""Let through; what is wrong with an empty request is another matter."""

# What is sent where an empty request would be refused before anybody looks whose thing it is.
BODIES: dict[str, dict[str, Any]] = {
    "POST /chat/{conversation}/rename": {"title": "New"},
    "POST /chat/{conversation}/shelve": {"archived": "0"},
    "POST /api/v1/conversations/{conversation}/messages": {"message": "Why?"},
    "PATCH /api/v1/conversations/{conversation}": {"title": "New"},
    "PUT /api/v1/conversations/{conversation}/messages/{message}/thumb": {"kind": "up"},
    "PUT /api/v1/datasets/{dataset}/glossary": {"terms": []},
    "PUT /api/v1/datasets/-1/glossary": {"terms": []},
    "PUT /api/v1/datasets/{dataset}/documents": {"source": "b.md", "text": "The tray."},
    "PUT /api/v1/datasets/-1/documents": {"source": "b.md", "text": "The tray."},
    "POST /api/v1/datasets/{dataset}/documents/get": {"ids": ["a.md"]},
    "POST /api/v1/datasets/{shared}/documents/get": {"source": "a.md"},
    "POST /api/v1/datasets/{dataset}/documents/delete": {"source": "a.md"},
    "POST /api/v1/datasets/{dataset}/deleted-documents/restore": {"ids": [1]},
    "POST /api/v1/datasets/-1/documents/delete": {"filters": {"source_prefix": "a"}},
    "POST /api/v1/datasets/{dataset}/pages": {"url": "https://example.org/"},
    "POST /api/v1/datasets/-1/pages": {"url": "https://example.org/"},
    "PATCH /api/v1/datasets/{dataset}": {"name": "New"},
    "POST /api/v1/datasets/{dataset}/shares": {"name": "Ben"},
    "POST /api/v1/datasets/{dataset}/shares/delete": {"name": "Ben"},
    "POST /api/v1/datasets/{dataset}/shares/decline": {"name": "Ben"},
    "POST /api/v1/conversations/{conversation}/messages/{message}/ask-access": {"number": 1},
    "POST /api/v1/datasets/{dataset}/hand-over": {"name": "Ben"},
    "PATCH /api/v1/assistants/{assistant}": {"name": "New"},
    "POST /api/v1/assistants/{assistant}/shares": {"name": "Ben"},
    "POST /api/v1/assistants/{assistant}/shares/delete": {"name": "Ben"},
    "POST /api/v1/assistants/{assistant}/hand-over": {"name": "Ben"},
    "POST /v1/chat/completions": {"model": "braid", "messages": [{"role": "user", "content": "Why?"}]},
    "POST /v1/responses": {"model": "braid", "input": "Why?"},
    "POST /dify/retrieval": {"knowledge_id": "all", "query": "Why?"},
    "POST /v1/embeddings": {"model": "fake:hash-64", "input": "Why?"},
}

CALLERS = ("anonymous", "other", "left the group", "weak token", "administrator", "user")
"""``user`` owns what is asked for, and is last, since she may delete it. ``weak token`` is hers, without the scope."""

# What each kind of route answers: to callers that are not named, a status of TAKEN.
KINDS: dict[str, dict[str, int]] = {
    "open": {},
    "any": {"anonymous": 401, "weak token": 403},
    "dify": {"anonymous": 403, "weak token": 403},  # which Dify checks for, when it is given a key
    "own": {"anonymous": 401, "weak token": 403, "other": 404, "left the group": 404, "administrator": 404},
    "group": {"anonymous": 401, "weak token": 403, "other": 404, "left the group": 404},
    "admin": {"anonymous": 401, "weak token": 403, "other": 403, "left the group": 403, "user": 403},
    "scim": dict.fromkeys(CALLERS, 401),
    "gone": dict.fromkeys(CALLERS, 404),
}

DATASET_PAGES = "/datasets/{dataset}"
DATASET_API = "/api/v1/datasets/{dataset}"
ROUTES: dict[str, str] = {
    # pages
    "GET /": "any",
    "GET /search": "any",
    "GET /search/compare": "any",
    "GET /search/documents.json": "any",
    "GET /search/fields": "any",
    "POST /search/fields": "any",
    "GET /search/why-not": "any",
    "GET /documents/passage/{chunk}": "own",
    "GET /documents/passage/{chunk}/original": "own",
    "GET /documents/passage/{chunk}/page/1": "own, 404",
    "GET /documents/passage/{chunk}/page/1.png": "own, 404",
    "GET /status.json": "any",
    "GET /palette.json": "any",
    "GET /chat": "any",
    "GET /chat/conversations": "any",
    "GET /chat/status.json": "any",
    "POST /chat/messages": "any",
    "POST /chat/files": "any",
    "GET /chat/shelf": "any",
    "POST /chat/shelf": "any",
    "GET /chat/{conversation}": "own",
    "GET /chat/{conversation}/files": "own",
    "POST /chat/{conversation}/files": "own",
    "POST /chat/{conversation}/files/keep": "own, 404",
    "POST /chat/{conversation}/messages": "own",
    "POST /chat/{conversation}/messages/{message}/feedback": "own",
    "GET /chat/{conversation}/manage": "own",
    "GET /chat/{conversation}/export.md": "own",
    "GET /chat/{conversation}/print": "own",
    "POST /chat/{conversation}/rename": "own",
    "POST /chat/{conversation}/delete": "own",
    "POST /chat/{conversation}/pin": "own",
    "POST /chat/{conversation}/shelve": "own",
    "GET /chat/{conversation}/messages/{message}/events": "own",
    "GET /chat/{conversation}/messages/{message}/how": "own",
    "GET /chat/{conversation}/messages/{message}/next": "own",
    "POST /chat/{conversation}/messages/{message}/again": "own",
    "POST /chat/{conversation}/messages/{message}/choose": "own",
    "POST /chat/{conversation}/messages/{message}/continue": "own",
    "POST /chat/{conversation}/messages/{message}/stop": "own",
    "POST /chat/{conversation}/messages/{question}/edit": "own",
    "POST /chat/{conversation}/link": "own",
    "POST /chat/{conversation}/link/end": "own",
    "POST /chat/{conversation}/messages/{message}/ask-access": "own, 404",
    "GET /chat/shared/made-up": "any, 404",
    "POST /chat/shared/made-up/copy": "any, 404",
    "POST /chat/shared/made-up/messages/1/ask-access": "any, 404",
    "GET /embed/chat": "any, 404",
    "GET /embed/picker": "any, 404",
    "GET /settings": "any",
    "POST /settings": "any",
    "POST /settings/keys/openai": "any",
    "POST /settings/keys/openai/remove": "any, 404",
    "POST /settings/choices": "any",
    "POST /settings/choices/work/remove": "any, 404",
    "POST /settings/reset": "any",
    # datasets
    "GET /datasets": "any",
    "POST /datasets": "any",
    "POST /datasets/deleted": "any",
    "GET /datasets/live": "any",
    "GET /datasets/mine": "any",
    "POST /datasets/mine/files": "any",
    "POST /datasets/mine/files/form": "any",
    "POST /datasets/mine/text": "any",
    "POST /datasets/mine/url": "any",
    "POST /datasets/import": "any",
    f"GET {DATASET_PAGES}": "own",
    f"GET {DATASET_PAGES}/live": "own",
    f"GET {DATASET_PAGES}/statistics": "own",
    f"GET {DATASET_PAGES}/glossary": "own",
    f"GET {DATASET_PAGES}/glossary.csv": "own",
    f"POST {DATASET_PAGES}/glossary": "own",
    f"POST {DATASET_PAGES}/glossary/remove": "own",
    f"GET {DATASET_PAGES}/documents/{{document}}": "own",
    f"GET {DATASET_PAGES}/documents/{{document}}/original": "own",
    f"POST {DATASET_PAGES}/documents/remove": "own",
    f"POST {DATASET_PAGES}/documents/deleted": "own",
    f"POST {DATASET_PAGES}/files": "own",
    f"POST {DATASET_PAGES}/files/form": "own",
    f"POST {DATASET_PAGES}/text": "own",
    f"POST {DATASET_PAGES}/url": "own",
    f"POST {DATASET_PAGES}/name": "own",
    f"POST {DATASET_PAGES}/reembed": "own",
    f"POST {DATASET_PAGES}/export": "own",
    f"GET {DATASET_PAGES}/exports/{{export}}": "own, 404",
    f"POST {DATASET_PAGES}/jobs/cancel": "own",
    f"POST {DATASET_PAGES}/jobs/retry": "own",
    f"POST {DATASET_PAGES}/jobs/{{job}}/retry": "own",
    f"POST {DATASET_PAGES}/jobs/{{job}}/remove": "own",
    f"POST {DATASET_PAGES}/jobs/{{job}}/undo": "own",
    f"POST {DATASET_PAGES}/share": "own, 404",
    f"POST {DATASET_PAGES}/unshare": "own, 404",
    f"POST {DATASET_PAGES}/decline": "own, 404",
    f"POST {DATASET_PAGES}/leave": "own, 404",
    f"POST {DATASET_PAGES}/hand-over": "own",
    "GET /datasets/people.json": "any, 404",
    f"POST {DATASET_PAGES}/delete": "own",
    # assistants
    "GET /assistants": "any",
    "POST /assistants": "any",
    "GET /assistants/new": "any",
    "GET /assistants/{assistant}": "own",
    "POST /assistants/{assistant}": "own",
    "POST /assistants/{assistant}/delete": "own",
    "POST /assistants/{assistant}/ask-access": "own",
    "POST /assistants/{assistant}/share": "own, 404",
    "POST /assistants/{assistant}/unshare": "own, 404",
    "POST /assistants/{assistant}/leave": "own, 404",
    "POST /assistants/{assistant}/hand-over": "own",
    # accounts
    "GET /setup": "open",
    "POST /setup": "open",
    "GET /login": "open",
    "POST /login": "open, 401",
    "GET /login/provider": "open, 404",
    "GET /login/provider/done": "open, 404",
    "GET /invitation/made-up": "gone",
    "POST /invitation/made-up": "gone",
    "GET /signup": "gone",
    "POST /signup": "gone",
    "GET /login/code": "open",
    "POST /login/code": "open",
    "GET /login/second-factor": "open",
    "POST /login/second-factor": "open",
    "GET /account/second-factor": "any, 404",
    "POST /account/second-factor": "any, 404",
    "POST /account/second-factor/confirm": "any, 404",
    "POST /account/second-factor/codes": "any, 404",
    "POST /account/second-factor/off": "any, 404",
    "POST /logout": "any",
    "GET /account": "any",
    "POST /account/password": "any",
    "POST /account/sessions/{session}/end": "any",
    "POST /account/sessions/end": "any",
    "POST /account/tokens": "any",
    "POST /account/tokens/{token}/revoke": "own",
    "GET /account/apps": "any",
    "POST /account/apps/{grant}/disconnect": "own",
    "GET /oauth/authorize": "any",
    "POST /oauth/authorize": "any",
    # programs that ask for access; they show a code or a token of their own
    "GET /.well-known/oauth-authorization-server": "open",
    "GET /.well-known/oauth-authorization-server/elsewhere": "gone",
    "GET /.well-known/openid-configuration": "open",
    "GET /.well-known/openid-configuration/elsewhere": "gone",
    "GET /.well-known/oauth-protected-resource": "open",
    "GET /.well-known/oauth-protected-resource/mcp": "open",
    "GET /oauth/keys": "open",
    "POST /oauth/register": "open",
    "POST /oauth/token": "open",
    "POST /oauth/revoke": "open, 401",  # a token is no client (RFC 6749, section 5.2)
    # the identity provider, whose token is none of these callers'
    "GET /scim/v2/nothing": "scim",
    "POST /scim/v2/nothing": "scim",
    "PUT /scim/v2/nothing": "scim",
    "PATCH /scim/v2/nothing": "scim",
    "DELETE /scim/v2/nothing": "scim",
    "GET /scim/v2/Users": "scim",
    "POST /scim/v2/Users": "scim",
    "GET /scim/v2/Users/1": "scim",
    "PUT /scim/v2/Users/1": "scim",
    "PATCH /scim/v2/Users/1": "scim",
    "DELETE /scim/v2/Users/1": "scim",
    "GET /scim/v2/Groups": "scim",
    "POST /scim/v2/Groups": "scim",
    "GET /scim/v2/Groups/1": "scim",
    "PUT /scim/v2/Groups/1": "scim",
    "PATCH /scim/v2/Groups/1": "scim",
    "DELETE /scim/v2/Groups/1": "scim",
    "GET /scim/v2/ServiceProviderConfig": "scim",
    "GET /scim/v2/ResourceTypes": "scim",
    "GET /scim/v2/ResourceTypes/User": "scim",
    "GET /scim/v2/Schemas": "scim",
    "GET /scim/v2/Schemas/x": "scim",
    # health
    "GET /healthz": "open",
    "GET /readyz": "open",
    "GET /metrics": "admin",
    "GET /static/braid.css": "open",
    # administration
    "GET /admin/": "admin",
    "GET /admin/audit": "admin",
    "GET /admin/backup": "admin",
    "POST /admin/backup": "admin",
    "POST /admin/scans/read": "admin",
    "GET /admin/audit.csv": "admin",
    "GET /admin/audit.jsonl": "admin",
    "GET /admin/folders": "admin",
    "POST /admin/folders": "admin",
    "POST /admin/folders/{folder}/remove": "admin",
    "POST /admin/folders/{folder}/sync": "admin",
    "GET /admin/group": "admin, 404",
    "POST /admin/group/delete": "admin, 404",
    "POST /admin/group/members": "admin, 404",
    "POST /admin/group/members/remove": "admin, 404",
    "POST /admin/group/rename": "admin, 404",
    "GET /admin/indexes": "admin",
    "POST /admin/indexes/examine": "admin",
    "POST /admin/indexes/rebuild": "admin",
    "POST /admin/indexes/repair": "admin",
    "GET /admin/jobs": "admin",
    "POST /admin/jobs/retry": "admin",
    "GET /admin/models": "admin",
    "POST /admin/models/local/none": "admin, 404",
    "POST /admin/models/reranker": "admin",
    "POST /admin/models/reranker/reset": "admin",
    "POST /admin/models/search": "admin",
    "POST /admin/models/search/reset": "admin",
    "POST /admin/models/servers": "admin",
    "POST /admin/models/servers/none/fetch": "admin, 404",
    "POST /admin/models/servers/none/remove": "admin, 404",
    "POST /admin/models/test": "admin",
    "POST /admin/models/use": "admin",
    "GET /admin/see-as": "admin",
    "POST /admin/see-as": "admin",
    "GET /admin/shared": "admin",
    "POST /admin/shared": "admin",
    "GET /admin/shared/file": "admin",
    "POST /admin/shared/file": "admin",
    "GET /admin/shared/{shared}": "admin",
    "POST /admin/shared/{shared}": "admin",
    "POST /admin/shared/{shared}/remove": "admin",
    "POST /admin/shared/{shared}/switch": "admin",
    "GET /admin/usage": "admin",
    "GET /admin/usage/answer": "admin",
    "GET /admin/usage/faults.csv": "admin",
    "GET /admin/users": "admin",
    "GET /admin/users/add": "admin",
    "POST /admin/users/several": "admin",
    "GET /admin/groups": "admin",
    "POST /admin/shared/-1/put-back": "admin",
    "GET /admin/sign-in": "admin",
    "POST /admin/users": "admin",
    "POST /admin/users/sign-up": "admin",
    "POST /admin/users/second-factor": "admin",
    "POST /admin/users/scim": "admin",
    "POST /admin/users/scim/end": "admin",
    "POST /admin/users/{victim}/second-factor/reset": "admin, 404",
    "POST /admin/users/invite": "admin",
    "POST /admin/users/table": "admin",
    "GET /admin/users/{victim}": "admin",
    "GET /admin/users/{victim}/export": "admin",
    "POST /admin/users/{victim}/invite": "admin",
    "POST /admin/users/{victim}/hand-over": "admin",
    "POST /admin/users/{victim}/sessions/1/end": "admin",
    "POST /admin/users/{victim}/sign-out": "admin",
    "POST /admin/users/{victim}/administrator": "admin",
    "POST /admin/users/{victim}/disabled": "admin",
    "POST /admin/users/{victim}/groups": "admin",
    "POST /admin/users/{victim}/password": "admin",
    "POST /admin/users/{victim}/remove": "admin",
    "POST /admin/users/{victim}/tokens/{victims_token}/revoke": "admin",
    "POST /admin/users/{victim}/apps/{victims_grant}/disconnect": "admin",
    # the API
    "GET /api/v1/docs": "open",
    "GET /api/v1/openapi.json": "open",
    "GET /api/v1/me": "any",
    "GET /api/v1/me/choices": "any",
    "PUT /api/v1/me/choices/work": "any, 404",
    "DELETE /api/v1/me/choices/work": "any, 404",
    "GET /api/v1/models": "any",
    "GET /api/v1/strategies": "any",
    "POST /api/v1/search": "any",
    "POST /api/v1/chat": "any",
    "POST /api/v1/explain": "any",
    "POST /api/v1/check": "any",
    "GET /api/v1/feedback": "any",
    "POST /api/v1/feedback": "any",
    "DELETE /api/v1/feedback": "any",
    "GET /api/v1/conversations": "any",
    "POST /api/v1/conversations": "any",
    "GET /api/v1/conversations/{conversation}": "own",
    "GET /api/v1/conversations/{conversation}/export": "own",
    "POST /api/v1/conversations/{conversation}/messages": "own",
    "PATCH /api/v1/conversations/{conversation}": "own",
    "PUT /api/v1/conversations/{conversation}/messages/{message}/thumb": "own",
    "DELETE /api/v1/conversations/{conversation}": "own",
    "POST /api/v1/conversations/{conversation}/restore": "own",
    "GET /api/v1/datasets": "any",
    "POST /api/v1/datasets": "any",
    f"GET {DATASET_API}": "own",
    f"GET {DATASET_API}/statistics": "own",
    f"GET {DATASET_API}/glossary": "own",
    f"PUT {DATASET_API}/glossary": "own",
    f"GET {DATASET_API}/documents": "own",
    f"PUT {DATASET_API}/documents": "own",
    f"POST {DATASET_API}/documents": "own",
    f"POST {DATASET_API}/documents/get": "own",
    f"POST {DATASET_API}/documents/delete": "own",
    f"GET {DATASET_API}/deleted-documents": "own",
    f"POST {DATASET_API}/deleted-documents/restore": "own, 404",
    f"DELETE {DATASET_API}/deleted-documents/{{document}}": "own, 404",
    f"POST {DATASET_API}/pages": "own",
    f"POST {DATASET_API}/reembed": "own",
    f"POST {DATASET_API}/exports": "own",
    f"GET {DATASET_API}/exports/{{export}}": "own, 404",
    "POST /api/v1/imports": "any",
    f"GET {DATASET_API}/documents/{{document}}": "own",
    f"GET {DATASET_API}/documents/{{document}}/passages": "own",
    f"GET {DATASET_API}/documents/{{document}}/original": "own",
    f"DELETE {DATASET_API}/documents/{{document}}": "own",
    f"PATCH {DATASET_API}": "own",
    f"DELETE {DATASET_API}": "own",
    "GET /api/v1/deleted-datasets": "any",
    "POST /api/v1/deleted-datasets/{dataset}/restore": "own, 404",
    "DELETE /api/v1/deleted-datasets/{dataset}": "own, 404",
    "GET /api/v1/assistants": "any",
    "POST /api/v1/assistants": "any",
    "GET /api/v1/assistants/{assistant}": "own",
    "PATCH /api/v1/assistants/{assistant}": "own",
    "DELETE /api/v1/assistants/{assistant}": "own",
    "GET /api/v1/assistants/{assistant}/shares": "own",
    "POST /api/v1/assistants/{assistant}/shares": "own",
    "POST /api/v1/assistants/{assistant}/shares/delete": "own, 404",
    "POST /api/v1/assistants/{assistant}/hand-over": "own",
    "PUT /api/v1/conversations/{conversation}/link": "own",
    "DELETE /api/v1/conversations/{conversation}/link": "own",
    "POST /api/v1/conversations/{conversation}/messages/{message}/ask-access": "own, 404",
    "GET /api/v1/shared-conversations/made-up": "any, 404",
    f"GET {DATASET_API}/shares": "own",
    f"POST {DATASET_API}/shares": "own",
    f"POST {DATASET_API}/shares/delete": "own, 404",
    f"POST {DATASET_API}/shares/decline": "own, 404",
    f"POST {DATASET_API}/hand-over": "own",
    "GET /api/v1/jobs": "any",
    "GET /api/v1/jobs/{job}": "own",
    "POST /api/v1/jobs/{job}/cancel": "own",
    "POST /api/v1/jobs/{job}/retry": "own",
    "GET /api/v1/shared-databases": "any",
    "POST /api/v1/shared-databases": "admin",
    "GET /api/v1/shared-databases/{shared}": "group",
    "PATCH /api/v1/shared-databases/{shared}": "admin",
    "DELETE /api/v1/shared-databases/{shared}": "admin",
    "GET /api/v1/folders": "admin",
    "POST /api/v1/folders": "admin",
    "POST /api/v1/folders/plan": "admin",
    "GET /api/v1/folders/{folder}": "admin",
    "POST /api/v1/folders/{folder}/sync": "admin",
    "DELETE /api/v1/folders/{folder}": "admin",
    "GET /api/v1/users": "admin",
    "POST /api/v1/users": "admin",
    "GET /api/v1/users/{victim}": "admin",
    "PATCH /api/v1/users/{victim}": "admin",
    "DELETE /api/v1/users/{victim}": "admin",
    "GET /api/v1/users/{victim}/tokens": "admin",
    "DELETE /api/v1/users/{victim}/tokens": "admin",
    "GET /api/v1/users/{victim}/sessions": "admin",
    "DELETE /api/v1/users/{victim}/sessions": "admin",
    "GET /api/v1/users/{victim}/export": "admin",
    "POST /api/v1/users/{victim}/transfer": "admin",
    "POST /api/v1/users/import": "admin",
    "POST /api/v1/users/{victim}/invitation": "admin",
    "GET /api/v1/audit": "admin",
    "GET /api/v1/audit/export": "admin",
    "DELETE /api/v1/users/{victim}/tokens/{victims_token}": "admin",
    # the interfaces of other programs
    "GET /v1/docs": "open",
    "GET /v1/openapi.json": "open",
    "GET /v1/models": "any",
    "GET /v1/models/braid:{dataset}": "own",
    "POST /v1/chat/completions": "any",
    "POST /v1/embeddings": "any",
    "POST /v1/responses": "any",
    "GET /v1/": "open, 404",
    "POST /v1/": "open, 404",
    "PUT /v1/": "open, 404",
    "PATCH /v1/": "open, 404",
    "DELETE /v1/": "open, 404",
    "GET /v1/files": "open, 404",
    "POST /v1/files": "open, 404",
    "PUT /v1/files": "open, 404",
    "PATCH /v1/files": "open, 404",
    "DELETE /v1/files": "open, 404",
    "GET /dify/docs": "open",
    "GET /dify/openapi.json": "open",
    "POST /dify/retrieval": "dify",
}
# The same addresses with a shared dataset that a group may read.
SHARED_READS = (
    "GET /datasets/{shared}",
    "GET /datasets/{shared}/live",
    "GET /datasets/{shared}/statistics",
    "GET /datasets/{shared}/glossary",
    "GET /datasets/{shared}/glossary.csv",
    "GET /api/v1/datasets/{shared}",
    "GET /api/v1/datasets/{shared}/statistics",
    "GET /api/v1/datasets/{shared}/glossary",
    "GET /api/v1/datasets/{shared}/documents",
    "POST /api/v1/datasets/{shared}/documents/get",
)
SHARED_WRITES = (
    "POST /datasets/-1/text",
    "POST /datasets/-1/glossary",
    "POST /datasets/-1/glossary/remove",
    "PUT /api/v1/datasets/-1/glossary",
    "POST /datasets/-1/url",
    "POST /datasets/-1/files",
    "POST /datasets/-1/documents/remove",
    "PUT /api/v1/datasets/-1/documents",
    "POST /api/v1/datasets/-1/documents",
    "POST /api/v1/datasets/-1/documents/delete",
    "POST /api/v1/datasets/-1/pages",
    "POST /api/v1/datasets/-1/exports",
)


@dataclass
class World:
    """An app with the callers, and things of Ana's that are made anew for each route."""

    app: Flask
    braid: Braid
    people: dict[str, Account]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    secrets: dict[str, str] = field(default_factory=dict)
    """Of each caller's session."""

    def browser(self, caller: str) -> FlaskClient:
        client = self.app.test_client()
        client.environ_base["HTTP_X_CSRFTOKEN"] = masked("known")  # forged requests are another test
        with client.session_transaction() as session:
            session[IN_SESSION] = "known"
            if caller in self.people:
                session["_user_id"] = self._secret(caller)
        return client

    def _secret(self, caller: str) -> str:
        """Of a session that no route has ended."""
        sessions = site_of(self.app).sessions
        if caller not in self.secrets or sessions.find(self.secrets[caller]) is None:
            self.secrets[caller] = sessions.open(self.people[caller].id)
        return self.secrets[caller]

    def address(self, template: str) -> str:
        wanted = set(re.findall(r"\{(\w+)\}", template))
        return template.format(**self._things(wanted)) if wanted else template

    def _things(self, wanted: set[str]) -> dict[str, Any]:
        here, ana, number = site_of(self.app), self.people["user"].id, next(self.numbers)
        dataset = self.braid.ledger.add_dataset(ana, f"Ana's {number}")
        file = self.braid.data_dir.parent / f"{number}.md"
        file.write_text(f"The tray is empty {number}.")
        incoming, chunk = Incoming.from_file(file, "a.md"), ChunkInput(file.read_text())
        put = self.braid.ledger.put_document(
            dataset.id, DocumentInput("a.md", "A", "md", (chunk,), content_hash=incoming.content_hash)
        )
        here.background.originals.keep(put.document_id, incoming)
        passages = self.braid.ledger.document_passages(put.document_id, [dataset.id])
        things = {
            "dataset": dataset.id,
            "document": put.document_id,
            "chunk": passages[0].chunk_id,
        }
        if wanted & {"conversation", "message"}:
            conversation = here.conversations.create(ana, "Ana asks")
            request, recorder = ChatRequest(ana, "Why?"), TurnRecorder(ChatRequest(ana, "Why?"))
            recorder.feed(AnswerText("Because."))
            here.conversations.add(conversation.id, request, recorder.result())
            messages = here.conversations.messages(ana, conversation.id)
            things |= {"conversation": conversation.id, "question": messages[0].id, "message": messages[-1].id}
        if wanted & {"job", "export"}:
            new = [NewJob("upload", "a.md", dataset.id), NewJob("export", "a.md", dataset.id)]
            jobs = here.background.store.add(ana, new)
            things |= {"job": jobs[0].id, "export": jobs[1].id}
        if "assistant" in wanted:
            things["assistant"] = here.assistants.add(ana, Assistant("Pumps", (dataset.id,))).id
        if "token" in wanted:
            things["token"] = here.tokens.add(ana, "t", ["read"])[0].id
        if "session" in wanted:
            here.sessions.open(ana)
            things["session"] = here.sessions.of_user(ana)[0].id
        if "grant" in wanted:
            things["grant"] = self._grant(ana)
        if "shared" in wanted:
            entry = self.braid.registry.add(f"Lab {number}", "shared_lab_db", allowed_groups=["lab"])
            things["shared"] = entry.id
        if "folder" in wanted:
            things["folder"] = self._folder(number)
        if "victim" in wanted:
            things["victim"] = here.accounts.add(f"victim {number}").id
        if "victims_token" in wanted:
            things["victims_token"] = here.tokens.add(things["victim"], "t", ["read"])[0].id
        if "victims_grant" in wanted:
            things["victims_grant"] = self._grant(things["victim"])
        return things

    def _grant(self, user_id: int) -> int:
        apps = site_of(self.app).connected_apps
        app, _secret = apps.register("Claude", ["https://app.example.org/"], "none")
        wish = Consent(user_id, app.id, app.redirect_uris[0], "http://localhost", "challenge", ["read"], [1])
        grant = apps.grant_of_code(code := apps.consent(wish))
        assert grant is not None
        apps.redeem(grant, code, ["read"])
        return grant.id

    def _folder(self, number: int) -> int:
        """The administrator's; she is no administrator."""
        boss = self.people["administrator"].id
        folder = self.braid.data_dir.parent / f"notes {number}"
        folder.mkdir()
        wanted = NewSyncedFolder(self.braid.ledger.add_dataset(boss, f"Notes {number}").id, str(folder))
        return site_of(self.app).background.supervisor.add(boss, wanted).id


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = TemporaryDirectory(prefix="braid-")  # below /dev no folder is synced
    with made as folder, Braid(Path(folder) / "data", embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid, Settings(folder_roots=(folder,)))
        here = site_of(app)
        people = {
            "administrator": here.accounts.all()[0],
            "user": here.accounts.add("Ana", groups=["lab"]),
            "other": here.accounts.add("Ben"),
            "left the group": here.accounts.add("Dan", groups=["lab"]),
        }
        braid.registry.add("Handbook", "shared_main_db")
        here.accounts.set_groups(people["left the group"].id, [])
        braid.mirror_registry()
        yield World(app, braid, people)


def statuses(world: World, row: str) -> dict[str, int]:
    """Each caller's status; the thing in the address is the same for all."""
    method, template = row.split(" ")
    address, here = world.address(template), site_of(world.app)
    found = {}
    for caller in CALLERS:
        headers = {}
        if caller == "weak token":
            reads = method in SAFE or address in (
                "/api/v1/search",
                "/api/v1/chat",
                "/api/v1/explain",
                "/api/v1/check",
                "/search/fields",
            )
            reads = reads or address.startswith(("/v1/", "/dify/")) or address.endswith("/documents/get")
            headers = bearer(world.app, here.accounts.get(world.people["user"].id), "write" if reads else "read")
        client = world.browser(caller)
        sent = BODIES.get(row, {})
        body = (
            {"json" if address.startswith(("/api/", "/v1/", "/dify/")) else "data": sent} if method not in SAFE else {}
        )
        response = client.open(address, method=method, headers={"Accept": "application/json", **headers}, **body)
        response.close()
        found[caller] = response.status_code
    for token in here.tokens.of_user(world.people["user"].id):  # a user may have a hundred
        here.tokens.revoke(world.people["user"].id, token.id)
    return found


def expected(kind: str) -> dict[str, set[int]]:
    name, _, more = kind.partition(", ")
    taken = TAKEN | ({int(more)} if more else set())
    return {caller: {KINDS[name][caller]} if caller in KINDS[name] else taken for caller in CALLERS}


def wrong(found: dict[str, int], allowed: dict[str, set[int]]) -> dict[str, int]:
    return {caller: status for caller, status in found.items() if status not in allowed[caller]}


@pytest.mark.parametrize(("row", "kind"), ROUTES.items(), ids=ROUTES)
def test_route(world: World, row: str, kind: str) -> None:
    assert wrong(statuses(world, row), expected(kind)) == {}


@pytest.mark.parametrize("row", SHARED_READS)
def test_a_shared_dataset_is_for_its_group(world: World, row: str) -> None:
    allowed = expected("group")
    allowed["administrator"] = TAKEN | {404}  # administrators manage it; whether they read it is up to its groups
    assert wrong(statuses(world, row), allowed) == {}


@pytest.mark.parametrize("row", SHARED_WRITES)
def test_a_shared_dataset_is_written_by_administrators(world: World, row: str) -> None:
    found = statuses(world, row)
    assert found["administrator"] in TAKEN
    assert found["anonymous"] == 401
    assert {found[caller] for caller in ("user", "other", "left the group", "weak token")} <= {403, 404}


def test_every_route_has_its_row(world: World) -> None:
    adapter, own = world.app.url_map.bind("localhost"), dict(routes_of(world.app))
    rows = set()
    for row in ROUTES:
        method, template = row.split(" ")
        endpoint, _ = adapter.match(re.sub(r"\{\w+\}", "1", template), method=method)
        rows.add((method, endpoint))
    routes = {
        (method, rule.endpoint)
        for rule in world.app.url_map.iter_rules()
        if rule.endpoint in own
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert routes - rows == set()
