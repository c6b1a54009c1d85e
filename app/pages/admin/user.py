"""One user: what they may read, where they are signed in, what is theirs, and what an administrator does with it."""

from __future__ import annotations

from collections.abc import Sequence

from flask import render_template, request
from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.auth.invitations import INVITATION_DAYS, invitation_url, valid_since
from braid.app.pages.account.mine import flash_revoked
from braid.app.pages.admin.blueprint import admin, audit, known_groups, read_groups, require_own_accounts
from braid.app.site import site
from braid.app.user.archive import archive, archive_name
from braid.app.user.sharing import hand_over_all
from braid.app.web.errors import refusing
from braid.core.accounts.account_list import account_names
from braid.core.accounts.accounts import MIN_PASSWORD_CHARS, Account
from braid.core.datasets.registry import SharedDataset
from braid.core.datasets.shares import Share
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.jobs.store import JobStore
from braid.core.ledger.quota import bytes_of
from braid.core.types import MAX_ID, Dataset

ONE = "/users/<int:user_id>"


@admin.post(f"{ONE}/second-factor/reset")
def reset_second_factor(user_id: int) -> Response:
    """Forget a user's second factor, as when the phone is lost, and sign them out everywhere."""
    require_own_accounts()
    account = _account(user_id)
    if not site().second_factors.reset(user_id):
        raise NotFoundError(f"{account.name!r} has no second factor")
    audit("second_factor.reset", account.name)
    text = _("%(name)s signs in without a second factor until they set up another one.", name=account.name)
    return admin.done(text, "user", user_id=user_id)


@admin.get(ONE)
def user(user_id: int) -> str:
    """Show one user."""
    return _user_page(user_id)


@admin.post(f"{ONE}/groups")
def set_groups(user_id: int) -> Response:
    """Replace the user's groups."""
    require_own_accounts()
    account = _account(user_id)
    with refusing(_user_page, user_id):
        site().accounts.set_groups(user_id, read_groups("groups"))
    groups = ", ".join(sorted(_account(user_id).groups))
    audit("user.groups", account.name, groups or "none")
    return admin.done(_("Groups saved."), "user", user_id=user_id)


@admin.post(f"{ONE}/administrator")
def set_administrator(user_id: int) -> Response:
    """Make the user an administrator, or no longer one."""
    require_own_accounts()
    account, wanted = _account(user_id), request.form.get("is_admin") == "1"
    with refusing(_user_page, user_id):
        site().accounts.set_admin(user_id, wanted)
    audit("user.made_administrator" if wanted else "user.no_administrator", account.name)
    if wanted:
        return admin.done(_("%(name)s is now an administrator.", name=account.name), "user", user_id=user_id)
    return admin.done(_("%(name)s is no longer an administrator.", name=account.name), "users")


@admin.post(f"{ONE}/disabled")
def set_disabled(user_id: int) -> tuple[str, int] | Response:
    """Disable a user at once, or enable them again."""
    require_own_accounts()
    account, wanted = _account(user_id), request.form.get("disabled") == "1"
    if wanted and user_id == identity().account.id:
        return _user_page(user_id, problem=_("You cannot suspend yourself. Ask another administrator.")), 400
    with refusing(_user_page, user_id):
        site().accounts.set_disabled(user_id, wanted)
    audit("user.disabled" if wanted else "user.enabled", account.name)
    if account.waiting and not wanted:
        return admin.done(_("%(name)s is approved and can sign in.", name=account.name), "user", user_id=user_id)
    if wanted:
        return admin.done(_("The account %(name)s is suspended.", name=account.name), "user", user_id=user_id)
    return admin.done(_("%(name)s can sign in again.", name=account.name), "user", user_id=user_id)


@admin.post(f"{ONE}/password")
def set_password(user_id: int) -> Response:
    """Give a new password, which signs the user out everywhere and revokes their API tokens."""
    require_own_accounts()
    account = _account(user_id)
    with refusing(_user_page, user_id):
        revoked = site().accounts.set_password(user_id, request.form.get("password", ""))
    audit("user.password", account.name, f"{revoked} tokens revoked" if revoked else "")
    flash_revoked(revoked)
    text = _("%(name)s has a new password and has been signed out everywhere.", name=account.name)
    return admin.done(text, "user", user_id=user_id)


@admin.post(f"{ONE}/invite")
def invite_user(user_id: int) -> tuple[str, int]:
    """Show a link with which the user chooses a password, once."""
    require_own_accounts()
    return show_invitation(user_id)


def show_invitation(user_id: int) -> tuple[str, int]:
    """Show the user with a new link to choose a password; or why there is none."""
    account = _account(user_id)
    with refusing(_user_page, user_id), site().whole():
        address = invitation_url(account)
        audit("user.invited", account.name)
    return _user_page(user_id, invited=[(account, address)]), 201


@admin.get(f"{ONE}/export")
def export_user(user_id: int) -> Response:
    """Download everything that is stored of the user as one zip archive."""
    account = _account(user_id)
    pieces = archive(site().braid, user_id)
    audit("user.exported", account.name)
    headers = {"Content-Disposition": f"attachment; filename={archive_name(user_id)}"}
    return Response(pieces, mimetype="application/zip", headers=headers)


@admin.post(f"{ONE}/sign-out")
def sign_user_out(user_id: int) -> Response:
    """Sign the user out of all browsers."""
    require_own_accounts()
    account = _account(user_id)
    site().sessions.end_all(user_id)
    audit("user.signed_out", account.name)
    return admin.done(_("%(name)s has been signed out everywhere.", name=account.name), "user", user_id=user_id)


@admin.post(f"{ONE}/sessions/<int:session_id>/end")
def end_users_session(user_id: int, session_id: int) -> Response:
    """Sign the user out of one browser, as when a laptop is lost."""
    require_own_accounts()
    account = _account(user_id)
    ended = next((each for each in site().sessions.of_user(user_id) if each.id == session_id), None)
    if ended is not None:
        site().sessions.end(user_id, session_id)
        audit("user.signed_out", account.name, "one browser")
    return admin.done(_("%(name)s has been signed out there.", name=account.name), "user", user_id=user_id)


@admin.post(f"{ONE}/hand-over")
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
    return admin.done(text, "user", user_id=user_id)


@admin.post(f"{ONE}/tokens/<int:token_id>/revoke")
def revoke_users_token(user_id: int, token_id: int) -> Response:
    """Make an API token of the user worthless."""
    account = _account(user_id)
    site().tokens.revoke(user_id, token_id)
    audit("token.revoked", account.name, str(token_id))
    return admin.done(_("Token revoked."), "user", user_id=user_id)


@admin.post(f"{ONE}/apps/<int:grant_id>/disconnect")
def disconnect_users_app(user_id: int, grant_id: int) -> Response:
    """End the access of an app that the user has connected."""
    account = _account(user_id)
    ended = site().connected_apps.disconnect(user_id, grant_id)
    audit("app.disconnected", account.name, f"{ended.app[:60]!r}, by an administrator")
    return admin.done(_("%(name)s is disconnected.", name=ended.app), "user", user_id=user_id)


@admin.post(f"{ONE}/remove")
def remove_user(user_id: int) -> tuple[str, int] | Response:
    """Remove a user with everything they own, if the name is typed again."""
    account = _account(user_id)
    if request.form.get("name", "").strip() != account.name.strip():
        problem = _("The name does not match “%(name)s”. Nothing was deleted.", name=account.name)
        return _user_page(user_id, problem=problem), 400
    datasets = site().braid.ledger.datasets(user_id)
    with refusing(_user_page, user_id):
        site().accounts.remove(user_id)
    site().braid.indexer.wake()
    audit("user.removed", account.name, f"{len(datasets)} {'dataset' if len(datasets) == 1 else 'datasets'}")
    text = ngettext(
        "%(name)s and %(num)s dataset have been deleted.",
        "%(name)s and %(num)s datasets have been deleted.",
        len(datasets),
        name=account.name,
    )
    return admin.done(text, "users")


# ---------------------------------------------------------------- what the routes share


def _user_page(user_id: int, *, problem: str = "", invited: Sequence[tuple[Account, str]] = ()) -> str:
    account, ledger = _account(user_id), site().braid.ledger
    lent = ledger.datasets_shared_with(user_id)
    return render_template(
        "braid/admin/user.html",
        account=account,
        invited=invited,
        invitation_days=INVITATION_DAYS,
        datasets=ledger.datasets(user_id),
        tokens=site().tokens.of_user(user_id),
        apps=site().connected_apps.of_user(user_id),
        sessions=site().sessions.of_user(user_id),
        assistants=sum(not each.owner for each in site().assistants.of_user(user_id)),
        second_factor=site().second_factors.is_on(user_id),
        readable=_readable(account),
        lent=[(dataset, _groups_of(account, dataset)) for dataset in lent],
        owners=account_names(ledger.database, {dataset.user_id or 0 for dataset in lent}),
        size_bytes=ledger.database.value(bytes_of(user_id)),
        jobs=JobStore(ledger).counts(user_id),
        valid_since=valid_since(),
        suggested=known_groups(),
        problem=problem,
        least=MIN_PASSWORD_CHARS,
    )


def _readable(account: Account) -> list[tuple[SharedDataset, list[str]]]:
    """Return the shared datasets that are open to the user, and the groups that open each; none where all may read."""
    found = []
    for entry in site().braid.registry.entries():
        through = sorted(account.groups.intersection(entry.allowed_groups))
        if entry.enabled and (through or not entry.allowed_groups):
            found.append((entry, through))
    return found


def _groups_of(account: Account, dataset: Dataset) -> list[str]:
    """Return the user's groups that a dataset is shared with; none where it is also shared with the user."""
    shares = site().shares.of(dataset)
    if Share("user", account.name) in (Share(share.kind, share.name) for share in shares):
        return []
    return [share.name for share in shares if share.kind == "group" and share.name in account.groups]


def _account(user_id: int) -> Account:
    if user_id > MAX_ID:
        raise NotFoundError(Reason("there is no user %(id)s", id=user_id))
    return site().accounts.get(user_id)
