"""Invitations: links with which users give themselves a password, once, within a week."""

from __future__ import annotations

import time
from collections.abc import Iterable

from flask import current_app
from flask_babel import gettext as _
from itsdangerous import BadSignature, URLSafeTimedSerializer

from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.core.accounts.accounts import Account
from braid.core.errors import InvalidInputError, NotFoundError

INVITATION_DAYS = 7
DAY_S = 86_400


def invitation_url(account: Account) -> str:
    """Return the address of the page where the user chooses a password. It is worthless once they have, and while
    the administrator who asks for it here is none any more.

    Raises InvalidInputError for an account that is suspended, or waits for approval.
    """
    if account.disabled:
        raise InvalidInputError(f"the account {account.name!r} is suspended; reactivate it first", field="user_id")
    site().accounts.note_invitation(account.id)
    token = _serializer().dumps([account.id, site().accounts.password_mark(account.id), identity().account.id])
    return url_for("braid.sign_in.invitation", token=token, _external=True)


def require_invitable(accounts: Iterable[Account], *, field: str) -> None:
    """Raise InvalidInputError, which names them, where some of several have a password already, or cannot sign in."""
    if able := [account.name for account in accounts if account.has_password or account.disabled]:
        told = _("%(names)s: has a password already, or is suspended. Nobody was invited.", names=", ".join(able))
        raise InvalidInputError(told, field=field)


def valid_since() -> float:
    """Return when the oldest invitation was made that is not too old now, in seconds since the epoch."""
    return time.time() - INVITATION_DAYS * DAY_S


def invited(token: str) -> Account:
    """Return the account that an invitation is for. Raises NotFoundError when it is used, too old or made up, and when
    who made it may not invite any more.
    """
    return _read(token)[0]


def accept(token: str, password: str) -> Account:
    """Give the invited user the password, and return the account; of several requests at once, one holds.

    Raises NotFoundError as `invited` does, and InvalidInputError for a wrong password.
    """
    account, mark = _read(token)
    try:
        site().accounts.set_password(account.id, password, mark=mark)
    except NotFoundError:
        raise _gone() from None
    return account


def _gone() -> NotFoundError:
    return NotFoundError("this invitation is used, older than a week or incomplete; ask for another one")


def _read(token: str) -> tuple[Account, str]:
    """Return the account that an invitation is for, and the mark of the password that it replaces."""
    try:
        user_id, mark, inviter_id = _serializer().loads(token, max_age=INVITATION_DAYS * DAY_S)
        account, inviter = site().accounts.get(user_id), site().accounts.get(inviter_id)
    except (BadSignature, ValueError, TypeError, NotFoundError):
        raise _gone() from None
    if (
        account.disabled
        or inviter.disabled
        or not inviter.is_admin
        or mark != site().accounts.password_mark(account.id)
    ):
        raise _gone()
    return account, str(mark)


def _serializer() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(str(current_app.secret_key), salt="braid.invitation")
