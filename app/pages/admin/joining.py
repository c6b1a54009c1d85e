"""Adding people: one, several by invitation, or those of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flask import render_template, request
from flask_babel import gettext as _
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from braid.app.auth.invitations import INVITATION_DAYS, invitation_url, require_invitable
from braid.app.opening import FIRST_DATASET
from braid.app.pages.admin.blueprint import (
    admin,
    audit,
    known_groups,
    read_groups,
    read_people,
    require_own_accounts,
)
from braid.app.pages.admin.user import show_invitation
from braid.app.site import site
from braid.app.web.errors import refusing
from braid.app.words.reasons import sentence
from braid.core.accounts.accounts import MIN_PASSWORD_CHARS, Account, NewAccount, password_error
from braid.core.accounts.user_import import Change, ImportedUser, import_users
from braid.core.errors import InvalidInputError, Reason


@admin.get("/users/add")
def joining() -> str:
    """Show the forms that add people."""
    require_own_accounts()
    return _page()


@admin.post("/users")
def add_user() -> tuple[str, int] | Response:
    """Add a user who can sign in."""
    require_own_accounts()
    password = request.form.get("password", "")
    invites = "invite" in request.form
    with refusing(_page):
        if not password and not invites:
            raise password_error(password)
        added = site().accounts.add(
            request.form.get("name", ""),
            "" if invites else password,
            is_admin="is_admin" in request.form,
            groups=read_groups("groups"),
        )
    site().braid.ledger.add_dataset(added.id, FIRST_DATASET)
    audit("user.added", added.name, "administrator" if added.is_admin else "")
    if invites:
        return show_invitation(added.id)
    return admin.done(_("%(name)s added. They can sign in now.", name=added.name), "user", user_id=added.id)


@admin.post("/users/invite")
def invite_several() -> tuple[str, int]:
    """Make a link per name with which each chooses a password; who has no account yet gets one. Who has a
    password already, or is suspended, is named and left out; all the others are invited, or none.
    """
    require_own_accounts()
    try:
        names, groups, accounts = read_people("names"), frozenset(read_groups("groups")), site().accounts
        with site().whole():
            known = {name: account for name in names if (account := accounts.named(name))}
            uninvited = [name for name, account in known.items() if account.has_password or account.disabled]
            if len(uninvited) == len(names):
                require_invitable(known.values(), field="names")
            names = [name for name in names if name not in uninvited]
            known = {name: account for name, account in known.items() if name in names}
            accounts.write_all([NewAccount(name, groups) for name in names if name not in known], [])
            for user_id in sorted(account.id for account in known.values()):
                accounts.change_groups(user_id, add=groups)
            people = [account for name in names if (account := accounts.named(name))]
            for account in people:
                if account.name not in known:
                    site().braid.ledger.add_dataset(account.id, FIRST_DATASET)
                audit("user.invited", account.name)
            invited = [(account, invitation_url(account)) for account in people]
    except InvalidInputError as error:
        name, told = error.reason.parts.get("name", "").strip("'"), sentence(error.reason)
        return _page(problem=_("%(name)s: %(gap)s", name=name, gap=told) if name else told), 400
    return _page(invited=invited, uninvited=uninvited), 201


@admin.post("/users/table")
def import_table() -> tuple[str, int] | str:
    """Add the users of a CSV table, and make those that there are like their lines; or say what would change."""
    require_own_accounts()
    file, dry_run = request.files.get("file"), "dry_run" in request.form
    try:
        if file is None or not file.filename:
            raise InvalidInputError(Reason("no file was chosen; choose one"), field="file")
        text = file.read().decode("utf-8-sig")
        done = import_users(site().accounts, text, dry_run=dry_run, then=_record_import)
    except UnicodeDecodeError:
        return _page(problem=_("The file is no text in UTF-8. Save it as “CSV UTF-8”.")), 400
    except InvalidInputError as error:
        return _page(problem=str(error)), 400
    return _page(imported=done)


# ---------------------------------------------------------------- what the routes share


def _record_import(counts: Mapping[Change, int]) -> None:
    audit("users.imported", f"{counts['added']} added, {counts['changed']} changed")


def _page(
    *,
    problem: str = "",
    imported: Sequence[ImportedUser] | None = None,
    invited: Sequence[tuple[Account, str]] = (),
    uninvited: Sequence[str] = (),
) -> str:
    return render_template(
        "braid/admin/joining.html",
        invited=invited,
        uninvited=uninvited,
        invitation_days=INVITATION_DAYS,
        suggested=known_groups(),
        problem=problem,
        imported=imported,
        imported_dry="dry_run" in request.form,
        typed=MultiDict() if invited else request.form,
        least=MIN_PASSWORD_CHARS,
    )
