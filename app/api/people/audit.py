"""``/audit``: what administrators and commands did, sign-ins and failures."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from flask import Response
from pydantic import AwareDatetime, Field

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import Given
from braid.app.api.schemas import Moment, Page, PageQuery, Shown, page_of
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.core.accounts.audit import AuditFilter
from braid.core.json_form import json_line

LINES = "application/x-ndjson"

resource = Resource("audit log", "What was done by whom; administrators read it.", "admin")


class AuditShown(Shown):
    """An act."""

    id: int
    at: Moment
    actor: str
    action: str = Field(examples=["user.disabled"])
    target: str
    detail: str


class AuditSelection(Given):
    """The acts to return."""

    q: str = Field("", max_length=200, description="Only acts with this in the actor, action, target or detail")
    action: str = Field("", max_length=100, description="Only this action, or all that begin so: `user`")
    since: AwareDatetime | None = Field(None, description="Not before this moment")
    until: AwareDatetime | None = Field(None, description="Before this moment")


class AuditQuery(PageQuery, AuditSelection):
    """The part of the acts to return."""


@resource.get("/audit", Page[AuditShown])
def list_audit(query: AuditQuery) -> Answered:
    """List the acts of the audit log, the newest first."""
    read = partial(site().audit.entries, _filter(query))
    return page_of(Page[AuditShown], query, read, AuditShown.model_validate)


@resource.get("/audit/export", None, media_types=(LINES,))
def export_audit(query: AuditSelection) -> Response:
    """Download the acts as JSON lines, the oldest first, however many there are."""
    wanted, log = _filter(query), site().audit
    log.add(identity().account.name, "audit.exported", query.action or query.q or "all")
    headers = {"Content-Disposition": "attachment; filename=audit.jsonl"}
    return Response(map(json_line, log.all(wanted)), mimetype=LINES, headers=headers)


def _filter(query: AuditSelection) -> AuditFilter:
    return AuditFilter(query.q, query.action, _seconds(query.since), _seconds(query.until))


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
