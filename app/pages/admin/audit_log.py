"""The audit log: who did what to what, filtered by person, kind and day; its download."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time
from itertools import chain

from flask import render_template, request, stream_with_context
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from werkzeug.wrappers import Response

from braid.app.mounted import url_for
from braid.app.pages.admin.blueprint import BYTE_ORDER_MARK, admin, audit, csv_lines, page_number
from braid.app.site import site
from braid.app.words.audit_log import action_name, actor_name, detail_text, target_text
from braid.app.words.values import point_in_time
from braid.core.accounts.account_list import accounts_named
from braid.core.accounts.audit import DAY_S, AuditEntry, AuditFilter
from braid.core.errors import InvalidInputError, Reason
from braid.core.json_form import json_line
from braid.core.options import require_choice

PER_PAGE = 50
AUDIT_FIELDS = ("q", "who", "kind", "action", "since", "until")
KINDS: Mapping[str, str] = {
    "sign_ins": _l("Sign-ins"),
    "people": _l("Users and groups"),
    "content": _l("Datasets and conversations"),
    "site": _l("Site"),
}
"""Kinds of acts, by which the page filters."""
BEGINS: Mapping[str, tuple[str, ...]] = {
    "sign_ins": ("user.sign", "user.password", "second_factor."),
    "people": (
        *("user.added", "user.changed", "user.disabled", "user.e", "user.groups", "user.invited", "user.made_"),
        *("user.no_", "user.re", "users.", "administrator.", "group.", "scim.", "sign_up.", "token.", "key.", "app."),
    ),
    "content": ("assistant.", "conversation.", "dataset.", "documents.", "folder.", "search.", "shared_db"),
    "site": ("audit.", "backup.", "database.", "directory.", "index", "models.", "retention.", "scans."),
}
"""How the actions of each kind begin; each action is of one kind."""
OF_DATASETS = ("dataset.", "documents.", "shared_db.")
"""How the actions begin whose target is a dataset: its id and its name."""


@admin.get("/audit")
def audit_log() -> str:
    """Show what was done by whom, the newest first."""
    page, given = page_number(), _given_filter()
    found = site().audit.entries(_audit_filter(given), limit=PER_PAGE + 1, offset=PER_PAGE * page)
    entries, users = with_pages(found[:PER_PAGE])
    return render_template(
        "braid/admin/audit.html",
        entries=entries,
        users=users,
        kinds=KINDS,
        page=page,
        more=len(found) > PER_PAGE,
        given=given,
        actions=sorted(filter(_begins_with(given), site().audit.actions()), key=action_name),
        audit_days=site().settings.audit_days,
    )


@admin.get("/audit.jsonl")
def export_audit_log() -> Response:
    """Download what was done by whom as JSON lines, the oldest first."""
    given, log = _given_filter(), site().audit
    lines = log.all(_audit_filter(given))
    audit("audit.exported", " ".join(given.values()) or "all")
    headers = {"Content-Disposition": "attachment; filename=audit.jsonl"}
    return Response(map(json_line, lines), mimetype="application/x-ndjson", headers=headers)


@admin.get("/audit.csv")
def audit_table() -> Response:
    """Download what was done by whom as a table for a spreadsheet, in the words of the page, the newest last."""
    given = _given_filter()
    entries = site().audit.all(_audit_filter(given))
    audit("audit.exported", " ".join(given.values()) or "all")
    heads = (_("Date and time"), _("Who"), _("Action"), _("Target"), _("Details"))
    lines = (csv_lines([_cells(entry)]) for entry in entries)
    headers = {"Content-Disposition": "attachment; filename=audit.csv"}
    text = stream_with_context(chain([BYTE_ORDER_MARK + csv_lines([heads])], lines))
    return Response(text, mimetype="text/csv", headers=headers)


def _cells(entry: AuditEntry) -> tuple[str, ...]:
    what = str(target_text(entry.target, entry.action)), str(detail_text(entry.detail, entry.action))
    return point_in_time(entry.at), str(actor_name(entry.actor)), str(action_name(entry.action)), *what


def _given_filter() -> dict[str, str]:
    """Return the fields of the filter that are filled in. Raises InvalidInputError for a kind that there is not."""
    found = {name: request.args.get(name, "").replace("\0", "").strip()[:200] for name in AUDIT_FIELDS}
    if kind := found["kind"]:
        require_choice("kind", kind, KINDS)
    return {name: value for name, value in found.items() if value}


def _audit_filter(given: Mapping[str, str]) -> AuditFilter:
    """Return the filter; days are those of UTC, both of them included. Raises InvalidInputError."""
    since, until = (_day(given.get(name, ""), name) for name in ("since", "until"))
    end = None if until is None else until + DAY_S
    begins = BEGINS.get(given.get("kind", ""), ())
    return AuditFilter(given.get("q", ""), given.get("action", ""), since, end, given.get("who", ""), begins)


def _begins_with(given: Mapping[str, str]) -> Callable[[str], bool]:
    begins = BEGINS.get(given.get("kind", ""), ("",))
    return lambda action: action.startswith(begins)


def with_pages(entries: Sequence[AuditEntry]) -> tuple[list[tuple[AuditEntry, str]], dict[str, int]]:
    """Return each entry with the page of what it was done to, and the ids of the users whom the entries name."""
    names = {name for entry in entries for name in (entry.actor, entry.target)}
    users = accounts_named(site().braid.ledger.database, names)
    datasets = {entry.id for entry in site().braid.registry.entries()}
    return [(entry, _address(entry, users, datasets)) for entry in entries], users


def _address(entry: AuditEntry, users: Mapping[str, int], datasets: Collection[int]) -> str:
    """Return the page of what an act was done to; empty where there is none, or none any more."""
    if entry.action.startswith(OF_DATASETS) and entry.action != "dataset.transferred":  # which has its new owner
        number, _space, _name = entry.target.partition(" ")
        dataset_id = int(number) if len(number) < 20 and number.removeprefix("-").isdecimal() else 0
        return url_for("braid.admin.shared_one", dataset_id=dataset_id) if dataset_id in datasets else ""
    if entry.action.startswith("group.") and entry.action != "group.removed":
        return url_for("braid.admin.group", name=entry.target)
    if entry.action.startswith((*BEGINS["people"], *BEGINS["sign_ins"])) and entry.target in users:
        return url_for("braid.admin.user", user_id=users[entry.target])
    return ""


def _day(text: str, field: str) -> float | None:
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC).timestamp()
    except (ValueError, OverflowError):
        why = Reason("%(field)s is %(given)s; write a day as 2026-01-31", field=field, given=repr(text[:20]))
        raise InvalidInputError(why, field=field) from None
