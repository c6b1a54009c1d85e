"""Users and groups: who may sign in, who administers the site, and which datasets they may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flask import abort, render_template, request
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from flask_babel import ngettext
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from braid.app.auth.access import rule
from braid.app.auth.challenge import base_address
from braid.app.auth.identity import identity
from braid.app.auth.invitations import INVITATION_DAYS, invitation_url
from braid.app.opening import FIRST_DATASET
from braid.app.pages.account.mine import flash_revoked
from braid.app.pages.admin.blueprint import (
    admin,
    audit,
    done,
    known_groups,
    page_number,
    read_groups,
    read_people,
    searched,
)
from braid.app.scim.token import make_token, take_token_back, token_made_at
from braid.app.site import SECOND_FACTOR, site
from braid.app.user.archive import archive, archive_name
from braid.app.user.sharing import hand_over_all
from braid.app.words.reasons import sentence
from braid.app.words.values import dataset_name
from braid.core.accounts.account_list import count_waiting, find_accounts, group_sizes, shared_with_groups
from braid.core.accounts.accounts import (
    MIN_PASSWORD_CHARS,
    Account,
    AccountChange,
    NewAccount,
    password_error,
)
from braid.core.accounts.user_import import Change, ImportedUser, import_users
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.types import MAX_ID, MAX_NAME_CHARS

ONE = "/users/<int:user_id>"
MOST_NAMES = 5
SIGN_UP_TEXTS: Mapping[str, str] = {
    "open": _l("Visitors can create accounts."),
    "approval": _l("Visitors can create accounts, which an administrator has to approve."),
    "closed": _l("Only administrators can add users."),
}
PER_PAGE = 50
MOST_GROUPS = 50
"""Groups that are listed with their datasets; the others are found by the search."""


@admin.get("/users")
@rule("admin")
def users() -> str:
    """Show all users, the form for another one, and whether visitors may sign up."""
    return _list_page()


@admin.post("/users")
@rule("admin")
def add_user() -> tuple[str, int] | Response:
    """Add a user who can sign in."""
    require_own_accounts()
    password = request.form.get("password", "")
    invites = "invite" in request.form
    try:
        if not password and not invites:
            raise password_error(password)
        added = site().accounts.add(
            request.form.get("name", ""),
            "" if invites else password,
            is_admin="is_admin" in request.form,
            groups=read_groups("groups"),
        )
    except InvalidInputError as error:
        return _list_page(problem=str(error)), 400
    site().braid.ledger.add_dataset(added.id, FIRST_DATASET)
    audit("user.added", added.name, "administrator" if added.is_admin else "")
    if invites:
        return _show_invitation(added.id)
    return done(_("%(name)s added. They can sign in now.", name=added.name), "user", user_id=added.id)


@admin.post("/users/invite")
@rule("admin")
def invite_several() -> tuple[str, int]:
    """Make a link per name with which each chooses a password; who has no account yet gets one. All of them or none."""
    require_own_accounts()
    try:
        names, groups, accounts = read_people("names"), frozenset(read_groups("groups")), site().accounts
        known = {name: account for name in names if (account := accounts.named(name))}
        if able := [name for name, account in known.items() if account.has_password or account.disabled]:
            told = _("%(names)s: has a password already, or is suspended. Nobody was invited.", names=", ".join(able))
            raise InvalidInputError(told, field="names")
        new = [NewAccount(name, groups) for name in names if name not in known]
        kept = [AccountChange(account.id, account.groups | groups, None, None) for account in known.values()]
        with site().whole():
            accounts.write_all(new, kept)
            invited = [account for name in names if (account := accounts.named(name))]
            for account in invited:
                if account.name not in known:
                    site().braid.ledger.add_dataset(account.id, FIRST_DATASET)
                audit("user.invited", account.name)
    except InvalidInputError as error:
        name, told = error.reason.parts.get("name", "").strip("'"), sentence(error.reason)
        return _list_page(problem=_("%(name)s: %(gap)s", name=name, gap=told) if name else told), 400
    return _list_page(invited=[(account, invitation_url(account)) for account in invited]), 201


@admin.post("/users/table")
@rule("admin")
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
        return _list_page(problem=_("The file is no text in UTF-8. Save it as “CSV UTF-8”.")), 400
    except InvalidInputError as error:
        return _list_page(problem=str(error)), 400
    return _list_page(imported=done)


@admin.post("/users/sign-up")
@rule("admin")
def set_sign_up() -> Response:
    """Allow visitors to create accounts, with or without approval, or forbid it."""
    require_own_accounts()
    given = request.form.get("sign_up", "")
    state = given if given in SIGN_UP_TEXTS else "closed"
    site().app_settings.set("sign_up", state)
    audit("sign_up.changed", state)
    return done(str(SIGN_UP_TEXTS[state]), "users")


@admin.post("/users/second-factor")
@rule("admin")
def require_second_factor() -> tuple[str, int] | Response:
    """Require a second factor of all who sign in with a password, or no longer. Who has none is signed out."""
    require_own_accounts()
    wanted, me = request.form.get("required") == "1", identity().account
    if wanted and me.has_password and not site().second_factors.is_on(me.id):
        return _list_page(problem=_("Set up your own second factor first, on your account page.")), 400
    with site().whole():
        site().app_settings.set(SECOND_FACTOR, wanted or None)
        if wanted:
            site().second_factors.sign_out_those_without()
        audit("second_factor.required" if wanted else "second_factor.optional", "everyone")
    if wanted:
        return done(_("Everyone who signs in with a password now shows a code, too."), "users")
    return done(_("A second factor is no longer required."), "users")


@admin.post("/users/scim")
@rule("admin")
def make_scim_token() -> tuple[str, int]:
    """Make a token for an identity provider in place of the present one, and show it, once."""
    require_own_accounts()
    token = make_token(identity().account.name)
    audit("scim.token", "SCIM")
    return _list_page(scim_token=token), 201


@admin.post("/users/scim/end")
@rule("admin")
def end_scim() -> Response:
    """Take the identity provider's token back."""
    require_own_accounts()
    take_token_back()
    audit("scim.ended", "SCIM")
    return done(_("The identity provider can no longer change users and groups."), "users")


@admin.post(f"{ONE}/second-factor/reset")
@rule("admin")
def reset_second_factor(user_id: int) -> Response:
    """Forget a user's second factor, as when the phone is lost, and sign them out everywhere."""
    require_own_accounts()
    account = _account(user_id)
    if not site().second_factors.reset(user_id):
        raise NotFoundError(f"{account.name!r} has no second factor")
    audit("second_factor.reset", account.name)
    text = _("%(name)s signs in without a second factor until they set up another one.", name=account.name)
    return done(text, "user", user_id=user_id)


@admin.get(ONE)
@rule("admin")
def user(user_id: int) -> str:
    """Show one user."""
    return _user_page(user_id)


@admin.post(f"{ONE}/groups")
@rule("admin")
def set_groups(user_id: int) -> tuple[str, int] | Response:
    """Replace the user's groups."""
    require_own_accounts()
    account = _account(user_id)
    try:
        site().accounts.set_groups(user_id, read_groups("groups"))
    except InvalidInputError as error:
        return _user_page(user_id, problem=str(error)), 400
    groups = ", ".join(sorted(_account(user_id).groups))
    audit("user.groups", account.name, groups or "none")
    return done(_("Groups saved."), "user", user_id=user_id)


@admin.post(f"{ONE}/administrator")
@rule("admin")
def set_administrator(user_id: int) -> tuple[str, int] | Response:
    """Make the user an administrator, or no longer one."""
    require_own_accounts()
    account, wanted = _account(user_id), request.form.get("is_admin") == "1"
    try:
        site().accounts.set_admin(user_id, wanted)
    except InvalidInputError as error:
        return _user_page(user_id, problem=str(error)), 400
    audit("user.made_administrator" if wanted else "user.no_administrator", account.name)
    if wanted:
        return done(_("%(name)s is now an administrator.", name=account.name), "user", user_id=user_id)
    return done(_("%(name)s is no longer an administrator.", name=account.name), "users")


@admin.post(f"{ONE}/disabled")
@rule("admin")
def set_disabled(user_id: int) -> tuple[str, int] | Response:
    """Disable a user at once, or enable them again."""
    require_own_accounts()
    account, wanted = _account(user_id), request.form.get("disabled") == "1"
    try:
        site().accounts.set_disabled(user_id, wanted)
    except InvalidInputError as error:
        return _user_page(user_id, problem=str(error)), 400
    audit("user.disabled" if wanted else "user.enabled", account.name)
    if account.waiting and not wanted:
        return done(_("%(name)s is approved and can sign in.", name=account.name), "user", user_id=user_id)
    if wanted:
        return done(_("The account %(name)s is suspended.", name=account.name), "user", user_id=user_id)
    return done(_("%(name)s can sign in again.", name=account.name), "user", user_id=user_id)


@admin.post(f"{ONE}/password")
@rule("admin")
def set_password(user_id: int) -> tuple[str, int] | Response:
    """Give a new password, which signs the user out everywhere and revokes their API tokens."""
    require_own_accounts()
    account = _account(user_id)
    try:
        revoked = site().accounts.set_password(user_id, request.form.get("password", ""))
    except InvalidInputError as error:
        return _user_page(user_id, problem=str(error)), 400
    audit("user.password", account.name, f"{revoked} tokens revoked" if revoked else "")
    flash_revoked(revoked)
    text = _("%(name)s has a new password and has been signed out everywhere.", name=account.name)
    return done(text, "user", user_id=user_id)


@admin.post(f"{ONE}/invite")
@rule("admin")
def invite_user(user_id: int) -> tuple[str, int]:
    """Show a link with which the user chooses a password, once."""
    require_own_accounts()
    return _show_invitation(user_id)


def _show_invitation(user_id: int) -> tuple[str, int]:
    account = _account(user_id)
    try:
        address = invitation_url(account)
    except InvalidInputError as error:
        return _user_page(user_id, problem=str(error)), 400
    audit("user.invited", account.name)
    return _user_page(user_id, invitation=address), 201


@admin.get(f"{ONE}/export")
@rule("admin")
def export_user(user_id: int) -> Response:
    """Download everything that is stored of the user as one zip archive."""
    account = _account(user_id)
    pieces = archive(site().braid, user_id)
    audit("user.exported", account.name)
    headers = {"Content-Disposition": f"attachment; filename={archive_name(user_id)}"}
    return Response(pieces, mimetype="application/zip", headers=headers)


@admin.post(f"{ONE}/sign-out")
@rule("admin")
def sign_user_out(user_id: int) -> Response:
    """Sign the user out of all browsers."""
    require_own_accounts()
    account = _account(user_id)
    site().sessions.end_all(user_id)
    audit("user.signed_out", account.name)
    return done(_("%(name)s has been signed out everywhere.", name=account.name), "user", user_id=user_id)


@admin.post(f"{ONE}/sessions/<int:session_id>/end")
@rule("admin")
def end_users_session(user_id: int, session_id: int) -> Response:
    """Sign the user out of one browser, as when a laptop is lost."""
    require_own_accounts()
    account = _account(user_id)
    ended = next((each for each in site().sessions.of_user(user_id) if each.id == session_id), None)
    if ended is not None:
        site().sessions.end(user_id, session_id)
        audit("user.signed_out", account.name, "one browser")
    return done(_("%(name)s has been signed out there.", name=account.name), "user", user_id=user_id)


@admin.post(f"{ONE}/hand-over")
@rule("admin")
def hand_user_over(user_id: int) -> tuple[str, int] | Response:
    """Give all datasets and assistants of the user to another one, as when they leave."""
    require_own_accounts()
    account, heir = _account(user_id), request.form.get("heir", "").strip()
    try:
        moved = hand_over_all(user_id, site().shares.user_named(heir))
    except InvalidInputError as error:
        told = _("There is nobody named “%(name)s”. Type a name as it is in their account.", name=heir[:40])
        if error.field == "to_user_id":
            told = _("They belong to %(name)s already. Name another user.", name=account.name)
        return _user_page(user_id, problem=told), 400
    text = ngettext(
        "%(name)s now owns %(num)s dataset of %(user)s, and their assistants.",
        "%(name)s now owns %(num)s datasets of %(user)s, and their assistants.",
        len(moved),
        name=heir,
        user=account.name,
    )
    return done(text, "user", user_id=user_id)


@admin.post(f"{ONE}/tokens/<int:token_id>/revoke")
@rule("admin")
def revoke_users_token(user_id: int, token_id: int) -> Response:
    """Make an API token of the user worthless."""
    account = _account(user_id)
    site().tokens.revoke(user_id, token_id)
    audit("token.revoked", account.name, str(token_id))
    return done(_("Token revoked."), "user", user_id=user_id)


@admin.post(f"{ONE}/apps/<int:grant_id>/disconnect")
@rule("admin")
def disconnect_users_app(user_id: int, grant_id: int) -> Response:
    """End the access of an app that the user has connected."""
    account = _account(user_id)
    ended = site().connected_apps.disconnect(user_id, grant_id)
    audit("app.disconnected", account.name, f"{ended.app[:60]!r}, by an administrator")
    return done(_("%(name)s is disconnected.", name=ended.app), "user", user_id=user_id)


@admin.post(f"{ONE}/remove")
@rule("admin")
def remove_user(user_id: int) -> tuple[str, int] | Response:
    """Remove a user with everything they own, if the name is typed again."""
    account = _account(user_id)
    if request.form.get("name", "").strip() != account.name.strip():
        problem = _("The name does not match “%(name)s”. Nothing was deleted.", name=account.name)
        return _user_page(user_id, problem=problem), 400
    datasets = site().braid.ledger.datasets(user_id)
    try:
        site().accounts.remove(user_id)
    except InvalidInputError as error:
        return _user_page(user_id, problem=str(error)), 400
    site().braid.indexer.wake()
    audit("user.removed", account.name, f"{len(datasets)} datasets")
    text = ngettext(
        "%(name)s and %(num)s dataset have been deleted.",
        "%(name)s and %(num)s datasets have been deleted.",
        len(datasets),
        name=account.name,
    )
    return done(text, "users")


# ---------------------------------------------------------------- what the routes share


def _record_import(counts: Mapping[Change, int]) -> None:
    audit("users.imported", f"{counts['added']} added, {counts['changed']} changed")


def _list_page(
    *,
    problem: str = "",
    imported: Sequence[ImportedUser] | None = None,
    scim_token: str = "",
    invited: Sequence[tuple[Account, str]] = (),
) -> str:
    waiting = "waiting" in request.args
    text, group, page = searched(), request.args.get("group", "")[:MAX_NAME_CHARS], page_number()
    accounts, total = find_accounts(
        site().braid.ledger.database, text=text, group=group, waiting=waiting, limit=PER_PAGE, offset=PER_PAGE * page
    )
    groups = _groups(text)
    return render_template(
        "braid/admin/users.html",
        accounts=accounts,
        total=total,
        text=text,
        group=group,
        waiting=waiting,
        waiting_count=count_waiting(site().braid.ledger.database),
        sign_up=site().sign_up,
        sign_up_texts=SIGN_UP_TEXTS,
        second_factor_required=site().second_factor_required,
        scim_token=scim_token,
        invited=invited,
        invitation_days=INVITATION_DAYS,
        scim_made_at=token_made_at(),
        scim_address=f"{base_address()}/scim/v2",
        page=page,
        more=total > PER_PAGE * (page + 1),
        groups=groups[:MOST_GROUPS],
        other_groups=max(0, len(groups) - MOST_GROUPS),
        suggested=known_groups(),
        problem=problem,
        imported=imported,
        imported_dry="dry_run" in request.form,
        typed=MultiDict() if invited else request.form,
        least=MIN_PASSWORD_CHARS,
        most_names=MOST_NAMES,
    )


def _user_page(user_id: int, *, problem: str = "", invitation: str = "") -> str:
    account = _account(user_id)
    return render_template(
        "braid/admin/user.html",
        account=account,
        invitation=invitation,
        invitation_days=INVITATION_DAYS,
        datasets=site().braid.ledger.datasets(user_id),
        tokens=site().tokens.of_user(user_id),
        apps=site().connected_apps.of_user(user_id),
        sessions=site().sessions.of_user(user_id),
        assistants=sum(not each.owner for each in site().assistants.of_user(user_id)),
        second_factor=site().second_factors.is_on(user_id),
        readable=[
            dataset_name(e.name) for e in site().braid.registry.entries() if _may_read(account, e.allowed_groups)
        ],
        suggested=known_groups(),
        problem=problem,
        least=MIN_PASSWORD_CHARS,
    )


def _groups(text: str) -> list[tuple[str, int, list[str]]]:
    """Return (group, number of members, the datasets open to it) per group whose name contains the text."""
    sizes = group_sizes(site().braid.ledger.database)
    lent = shared_with_groups(site().braid.ledger.database)
    opened = {group: [dataset_name(dataset) for dataset, _owner in found] for group, found in lent.items()}
    for entry in site().braid.registry.entries():
        for group in entry.allowed_groups:
            opened.setdefault(group, []).append(dataset_name(entry.name))
    found = [name for name in sorted({*sizes, *opened}) if text.casefold() in name.casefold()]
    return [(name, sizes.get(name, 0), opened.get(name, [])) for name in found]


def _may_read(account: Account, allowed_groups: tuple[str, ...]) -> bool:
    return not allowed_groups or not account.groups.isdisjoint(allowed_groups)


def _account(user_id: int) -> Account:
    if user_id > MAX_ID:
        raise NotFoundError(Reason("there is no user %(id)s", id=user_id))
    return site().accounts.get(user_id)


def require_own_accounts() -> None:
    """Abort with 404 where another app has the accounts."""
    if not site().standalone:
        abort(404)
