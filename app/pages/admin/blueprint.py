"""The blueprint of the administrators' pages, and functions that these pages share."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from flask import abort, request
from flask_babel import gettext as _

from braid.app.auth.access import Routes
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.core.accounts.account_list import find_accounts, group_sizes
from braid.core.accounts.accounts import Account
from braid.core.errors import InvalidInputError, Reason

MAX_PAGE = 100_000
MOST_PEOPLE = 100
"""People whom one form names."""
PER_PAGE = 50
"""Users, or groups, of a page of their list."""
BYTE_ORDER_MARK = "\ufeff"
"""What a CSV file begins with, so that spreadsheets read it as UTF-8."""
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")
"""How a cell begins that a spreadsheet calculates."""
Row = TypeVar("Row")
admin = Routes("admin", __name__, "admin", url_prefix="/admin")


def audit(action: str, target: str, detail: str = "") -> None:
    """Record an action of the administrator who sends this request."""
    site().audit.add(identity().account.name, action, target, detail)


def require_own_accounts() -> None:
    """Abort with 404 where another app has the accounts."""
    if not site().standalone:
        abort(404)


def read_names(text: str) -> list[str]:
    """Return names, each once, from a text that separates them by commas or line breaks."""
    parts = (part.strip() for part in text.replace("\0", "").replace("、", ",").replace("\n", ",").split(","))
    return list(dict.fromkeys(name for name in parts if name))


def read_people(field: str) -> list[str]:
    """Return the users whom a form names: who was chosen, and those that are typed, of which one may have a comma.

    Raises InvalidInputError for nobody, and for more than `MOST_PEOPLE`.
    """
    chosen, typed = request.form.getlist(f"{field}_chosen"), request.form.get(field, "").strip()
    names = list(dict.fromkeys([*chosen, *([typed] if site().accounts.named(typed) else read_names(typed))]))
    if not 1 <= len(names) <= MOST_PEOPLE:
        raise InvalidInputError(_("Name 1 to %(most)s people at once.", most=MOST_PEOPLE), field=field)
    return names


def read_groups(field: str) -> list[str]:
    """Return the groups of a form: the ones that are ticked, and those that are typed."""
    ticked = request.form.getlist(f"{field}_chosen")
    return list(dict.fromkeys([*ticked, *read_names(request.form.get(field, ""))]))


def page_number() -> int:
    """Return the number of the list's page that the request asks for, counted from 0."""
    return min(max(0, request.args.get("page", 0, type=int)), MAX_PAGE)


def page_in(total: int, per_page: int) -> int:
    """Return the number of the page that the request asks for; past the end of the list, that of its last one."""
    return min(page_number(), max(0, total - 1) // per_page)


def accounts_page(**wanted: Any) -> tuple[list[Account], int, int]:
    """Return the page of `find_accounts` that the request asks for: its accounts, how many all pages have, its number.

    Past the end of the list it is the last one.
    """
    database, page = site().braid.ledger.database, page_number()
    found, total = find_accounts(database, **wanted, limit=PER_PAGE, offset=PER_PAGE * page)
    if (last := page_in(total, PER_PAGE)) != page:
        found, total = find_accounts(database, **wanted, limit=PER_PAGE, offset=PER_PAGE * last)
    return found, total, last


def in_order(
    rows: Iterable[Row], keys: Mapping[str, Callable[[Row], Any]], otherwise: str = ""
) -> tuple[list[Row], str]:
    """Return the rows as the request sorts them, and what it says: a key, with a minus for the greatest first.

    Without it they are sorted by ``otherwise``, or stay as they are. Raises InvalidInputError for another key.
    """
    given = request.args.get("sort", "") or otherwise
    if not given:
        return list(rows), ""
    require_order(given, keys)
    return sorted(rows, key=keys[given.removeprefix("-")], reverse=given.startswith("-")), given


def require_order(given: str, keys: Iterable[str]) -> None:
    """Raise InvalidInputError unless this is one of the keys, or one with a minus."""
    if given.removeprefix("-") not in (known := list(keys)):
        why = Reason(
            "%(field)s is %(given)s; choose one of %(choices)s, or one with a minus",
            field="sort",
            given=repr(given[:20]),
            choices=", ".join(known),
        )
        raise InvalidInputError(why, field="sort")


def searched() -> str:
    """Return the text that the request searches a list for."""
    return request.args.get("q", "").replace("\0", "").strip()[:200]


def known_groups() -> dict[str, int]:
    """Return the groups that somebody is in, or that a shared dataset is open to, each with its number of members."""
    members = group_sizes(site().braid.ledger.database)
    opened = (entry.allowed_groups for entry in site().braid.registry.entries())
    return {name: members.get(name, 0) for name in sorted({*members}.union(*opened))}


@admin.app_context_processor
def _in_templates() -> dict[str, object]:
    return {"admin_places": admin_places, "people_places": people_places, "invitations_csv": _invitations_csv}


def _invitations_csv(invited: Iterable[tuple[Account, str]]) -> str:
    rows = ((account.name, address) for account, address in invited)
    return BYTE_ORDER_MARK + csv_lines([(_("Name"), _("Link")), *rows])


def csv_lines(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of a CSV file. What a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    safe = ([f"'{cell}" if cell.startswith(FORMULA) and len(cell) > 1 else cell for cell in row] for row in rows)
    csv.writer(text).writerows(safe)
    return text.getvalue()


def admin_places() -> Iterator[tuple[str, str, str]]:
    """Yield (view, name, icon) of the administrators' pages."""
    yield "index", _("Overview"), "gauge"
    yield "shared", _("Shared datasets"), "books"
    yield "folders", _("Synced folders"), "folder"
    yield "users", _("Users and groups"), "people"
    yield "models", _("Models"), "model"
    yield "indexes", _("Indexes"), "layers"
    yield "jobs", _("Jobs"), "clock"
    yield "usage", _("Usage"), "chart"
    yield "audit_log", _("Audit log"), "list"


def people_places() -> Iterator[tuple[str, str]]:
    """Yield (view, name) of the pages about users and groups."""
    yield "users", _("Users")
    yield "groups", _("Groups")
    if site().standalone:
        yield "sign_ins", _("Sign-in")
    yield "see_as", _("See as someone else")
