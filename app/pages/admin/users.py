"""The list of users: searched, filtered, sorted, and changed several at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from flask import redirect, render_template, request
from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.auth.invitations import INVITATION_DAYS, invitation_url, require_invitable, valid_since
from braid.app.mounted import url_for
from braid.app.pages.admin.blueprint import (
    MOST_PEOPLE,
    PER_PAGE,
    accounts_page,
    admin,
    audit,
    known_groups,
    page_number,
    require_order,
    require_own_accounts,
    searched,
)
from braid.app.site import site
from braid.app.web.transfers import flash_undo
from braid.core.accounts.account_list import Only, Order, count_states
from braid.core.accounts.accounts import Account, AccountChange, clean_groups
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.options import require_choice
from braid.core.types import MAX_ID, MAX_NAME_CHARS

ONLY: tuple[Only, ...] = ("active", "invited", "expired", "new", "waiting", "suspended", "administrator")
"""Filters of the list, in their order."""


@admin.get("/users")
def users() -> str:
    """Show a page of the users, with what narrows and sorts the list."""
    return _list_page()


@admin.post("/users/several")
def change_several() -> tuple[str, int] | Response:
    """Suspend, reactivate, approve, reject or invite the ticked users, or the one of the button; or change a group.

    It is done to all of them or to none.
    """
    require_own_accounts()
    act, _colon, named = request.form.get("act", "").partition(":")
    try:
        if act in ("join", "leave"):  # a group; the one undoes the other
            return _change_group(_chosen(request.form.getlist("c")), named, joins=act == "join")
        chosen = _chosen([named] if named else request.form.getlist("c"))
        if act in ("suspend", "reactivate"):
            return _set_disabled(chosen, act == "suspend")
        if act in ("approve", "reject"):
            return _admit(chosen, act == "approve")
        if act == "invite":
            return _list_page(invited=_invite(chosen)), 201
        known = "suspend, reactivate, approve, reject, invite, join or leave"
        raise InvalidInputError(f"act is {act[:20]!r}; choose {known}", field="act")
    except InvalidInputError as error:
        return _list_page(problem=str(error)), 400


def _chosen(ids: Sequence[str]) -> list[Account]:
    """Return the accounts with these ids, in their order: whoever changes several locks them in the same one.

    Raises InvalidInputError for nobody and for too many, and NotFoundError for an id that is none.
    """
    given = set(ids)
    if not 1 <= len(given) <= MOST_PEOPLE:
        raise InvalidInputError(_("Choose 1 to %(most)s people at once.", most=MOST_PEOPLE), field="c")
    return [site().accounts.get(user_id) for user_id in sorted(set(map(_user_id, given)))]


def _user_id(given: str) -> int:
    user_id = int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else 0
    if not 0 < user_id <= MAX_ID:
        raise NotFoundError(Reason("there is no user %(id)s", id=given[:40]))
    return user_id


def _set_disabled(chosen: Sequence[Account], disabled: bool) -> Response:
    if disabled and any(account.id == identity().account.id for account in chosen):
        raise InvalidInputError(_("You are among them. Leave yourself out: you would be signed out."), field="c")
    changed = [account for account in chosen if account.disabled != disabled]

    def record() -> None:
        for account in changed:
            audit("user.disabled" if disabled else "user.enabled", account.name)

    site().accounts.write_all([], [AccountChange(each.id, disabled=disabled) for each in changed], then=record)
    if disabled:
        told = ngettext("%(num)s account is suspended.", "%(num)s accounts are suspended.", len(changed))
    elif any(account.waiting for account in changed):  # whom nobody can make wait again
        told = ngettext("%(num)s account can sign in now.", "%(num)s accounts can sign in now.", len(changed))
        return admin.done(told, "users", **_place())
    else:
        told = ngettext("%(num)s account is active again.", "%(num)s accounts are active again.", len(changed))
    return _back(told, "reactivate" if disabled else "suspend", changed)


def _change_group(chosen: Sequence[Account], given: str, *, joins: bool) -> Response:
    if not (cleaned := clean_groups([given])):
        raise InvalidInputError(_("Name the group."), field="to_group")
    [group] = cleaned
    changed = []
    with site().whole():
        for account in chosen:
            if (group in site().accounts.get(account.id).groups) != joins:
                add, remove = (cleaned, ()) if joins else ((), cleaned)
                now = site().accounts.change_groups(account.id, add=add, remove=remove)
                audit("user.groups", account.name, ", ".join(sorted(now)) or "none")
                changed.append(account)
    if not joins:
        told = ngettext(
            "%(num)s person is no longer in “%(name)s”.",
            "%(num)s people are no longer in “%(name)s”.",
            len(changed),
            name=group,
        )
        return admin.done(told, "users", **_place())
    told = ngettext(
        "%(num)s person is now in “%(name)s”.", "%(num)s people are now in “%(name)s”.", len(changed), name=group
    )
    return _back(told, f"leave:{group}", changed)


def _invite(chosen: Sequence[Account]) -> list[tuple[Account, str]]:
    """Return a new link for each. Raises InvalidInputError for one who has a password, or is suspended."""
    require_invitable(chosen, field="c")
    with site().whole():
        links = [(account, invitation_url(account)) for account in chosen]
        for account in chosen:
            audit("user.invited", account.name)
    return links


def _admit(chosen: Sequence[Account], approved: bool) -> Response:
    """Let people in who have signed up, or delete their accounts, in which nobody has been.

    Raises InvalidInputError where one does not wait for it.
    """
    if approved:
        _require_waiting(chosen)
        return _set_disabled(chosen, False)

    def reject() -> None:
        _require_waiting([site().accounts.get(account.id) for account in chosen])  # approved meanwhile, maybe
        for account in chosen:
            site().accounts.remove(account.id)
            audit("user.rejected", account.name)

    site().accounts.write_all([], [AccountChange(account.id) for account in chosen], then=reject)  # locked until then
    told = ngettext("%(num)s sign-up is rejected.", "%(num)s sign-ups are rejected.", len(chosen))
    return admin.done(told, "users", **_place())


def _require_waiting(chosen: Sequence[Account]) -> None:
    if others := [account.name for account in chosen if not account.waiting]:
        told = _("%(names)s: does not wait for approval. Nothing has changed.", names=_(", ").join(others))
        raise InvalidInputError(told, field="c")


def _back(told: str, undo: str, changed: Sequence[Account]) -> Response:
    """Lead back to the list as it was shown, which offers to undo what was done."""
    if not changed:
        return admin.done(_("Nothing has changed."), "users", **_place())
    flash_undo(told, url_for("braid.admin.change_several", **_place()), undo, [account.id for account in changed])
    return redirect(url_for("braid.admin.users", **_place()))


# ---------------------------------------------------------------- the list


def _shown() -> dict[str, Any]:
    """Return what the address says of the list: which users, in which order."""
    given = {name: request.args.get(name, "") for name in ("q", "group", "state", "sort")}
    return {name: value for name, value in given.items() if value}


def _place(page: int | None = None) -> dict[str, Any]:
    """Return what the address says of the list, with its page: the one that is asked for, unless given."""
    page = page_number() if page is None else page
    return {**_shown(), "page": page} if page else _shown()


def _list_page(*, problem: str = "", invited: Sequence[tuple[Account, str]] = ()) -> str:
    text, group = searched(), request.args.get("group", "")[:MAX_NAME_CHARS]
    only = request.args.get("state") or None
    sort = request.args.get("sort") or "name"
    if only is not None:
        require_choice("state", only, ONLY)
    require_order(sort, get_args(Order))
    since = valid_since()
    counts = count_states(site().braid.ledger.database, valid_since=since)
    wanted = {"sort": sort.removeprefix("-"), "descending": sort.startswith("-"), "valid_since": since}
    accounts, total, page = accounts_page(text=text, group=group, only=only, **wanted)
    return render_template(
        "braid/admin/users.html",
        accounts=accounts,
        total=total,
        text=text,
        group=group,
        only=only,
        counts=counts,
        everyone=sum(counts.values()) - counts.get("administrator", 0),
        filters=ONLY,
        sort=sort,
        shown=_shown(),
        shown_page=_place(page),
        ticked=frozenset(request.form.getlist("c") if problem else ()),
        invited=invited,
        invitation_days=INVITATION_DAYS,
        valid_since=since,
        page=page,
        more=total > PER_PAGE * (page + 1),
        suggested=known_groups(),
        problem=problem,
    )
