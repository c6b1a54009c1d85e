"""What comes between the password and the session: a code, or a second factor to set up where one is required."""

from __future__ import annotations

import time
from typing import Literal

from flask import redirect, session
from limits import parse
from werkzeug.wrappers import Response

from braid.app.auth.attempts import remember_device
from braid.app.auth.authenticate import sign_in
from braid.app.auth.identity import shown_address
from braid.app.mounted import url_for
from braid.app.site import site
from braid.core.accounts.accounts import Account
from braid.core.errors import NotFoundError

Step = Literal["ask", "enrol"]
KEPT = "second_factor"
"""Key of what the browser's cookie keeps between the password and the code. It is signed."""
PATIENCE_S = 10 * 60
OWN_CHECKS = parse("10/hour")
"""Codes that a user who is signed in may show: to turn the second factor off, or for new recovery codes."""


def enter(account: Account, page: str) -> Response:
    """Sign in whom the password has named and lead to a page; first to what else is to be shown, if there is any."""
    step = _step(account)
    if step is None:
        return complete(account, redirect(page))
    session.clear()
    mark = site().accounts.password_mark(account.id)
    session[KEPT] = {"user": account.id, "mark": mark, "at": time.time(), "step": step, "next": page}
    return redirect(url_for(f"braid.second_factor.{step}"))


def complete(account: Account, response: Response, how: str = "") -> Response:
    """Sign in who has shown everything, and return the response, which has the browser remembered."""
    site().audit.add(account.name, "user.signed_in", account.name, f"{how}{shown_address()}")
    sign_in(site(), account)
    remember_device(response, account)
    return response


def waiting_for(step: Step) -> tuple[Account, str] | None:
    """Return who has given the password in this browser and is to take this step, and the page that they wanted.

    None when that was too long ago, and when password, second factor or account have changed meanwhile.
    """
    kept = session.get(KEPT)
    if not isinstance(kept, dict) or kept.get("step") != step or time.time() - kept["at"] > PATIENCE_S:
        return None
    try:
        account = site().accounts.get(kept["user"])
    except NotFoundError:
        return None
    as_before = kept["mark"] == site().accounts.password_mark(account.id) and _step(account) == step
    return (account, str(kept["next"])) if as_before and not account.disabled else None


def _step(account: Account) -> Step | None:
    if site().second_factors.is_on(account.id):
        return "ask"
    return "enrol" if site().second_factor_required else None
