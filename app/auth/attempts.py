"""Attempts to sign in: failures are counted, so that nobody guesses passwords or keeps somebody else out.

As OWASP has it ("Slow down online guessing attacks with device cookies"): strangers are counted by name, a browser that
signed in as this user before by itself alone. Between the password and the session comes the second factor.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from dataclasses import dataclass
from typing import Literal

from flask import current_app, redirect, request, session
from itsdangerous import BadSignature, URLSafeSerializer
from limits import RateLimitItem, parse
from werkzeug.exceptions import TooManyRequests
from werkzeug.wrappers import Response

from braid.app.auth.authenticate import sign_in
from braid.app.auth.identity import origin_of, shown_address
from braid.app.mounted import cookie_path, url_for
from braid.app.site import site
from braid.core.accounts.accounts import Account
from braid.core.errors import NotFoundError, Reason

BY_ADDRESS = parse("30/minute")
BY_NAME_AND_ADDRESS = parse("10/minute")
BY_NAME = parse("30/minute")
"""More than one address may fail, so that one alone cannot keep a user out."""
BY_DEVICE = parse("10/minute")
BY_CODE = parse("10/hour")
"""Wrong codes per user, of a million possible ones; the limits above are for passwords."""
BY_CODE_OF_USER = parse("50/hour")
"""The same from all browsers of a user together, however many are known."""
AUDITED = parse("60/minute")
"""Failures of all names and addresses that the audit log takes."""
STRANGER = "-"
"""Actor of a failed sign-in: nobody knows who it was."""
COOKIE = "braid_device"
COOKIE_S = 365 * 86_400
LOGGED_CHARS = 60

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to sign in, which counts as a failure unless `succeed` is called."""

    name: str
    address: str
    counted: tuple[tuple[RateLimitItem, tuple[str, ...]], ...]
    known: bool = False
    """Whether this browser signed in under the name before."""

    def begin(self) -> None:
        """Count it. Raises TooManyRequests when too many failed."""
        for number, (limit, key) in enumerate(self.counted):
            if not site().limiter.hit(limit, *key):
                self._give_back(number)
                self._note("refused")
                raise TooManyRequests(Reason("too many attempts; wait a minute and try again"), retry_after=60)

    def succeed(self) -> None:
        """Take the count back: it was no failure."""
        self._give_back(len(self.counted))

    def fail(self) -> None:
        """Leave a line for the administrator, and for programs such as fail2ban, and an entry in the audit log."""
        self._note("failed")

    def _give_back(self, taken: int) -> None:
        for limit, key in self.counted[:taken]:
            site().windows.give_back(limit.key_for(*key))

    def _note(self, how: str) -> None:
        """Count, log and record it; a flood of failures does not fill the audit log, the server's log has them all."""
        site().metrics.sign_in_failures.labels(how).inc()
        name = self.name[:LOGGED_CHARS]
        log.warning("event=sign_in_%s address=%s name=%s", how, shown_address(), json.dumps(name))
        if site().limiter.hit(AUDITED, "audited-failures"):
            site().audit.add(STRANGER, f"user.sign_in_{how}", name or "-", shown_address())


def attempt(name: str, *, by_code: bool = False) -> Attempt:
    """The attempt of this request to sign in under a name, which need not exist; ``by_code`` after the password."""
    address, folded = request.remote_addr or "", name.casefold()[:200]
    origin = origin_of(address)
    device = _device_of(name)
    if device:
        counted: tuple[tuple[RateLimitItem, tuple[str, ...]], ...] = ((BY_DEVICE, ("login-device", device)),)
    else:
        counted = (
            (BY_ADDRESS, ("login", origin)),
            (BY_NAME_AND_ADDRESS, ("login", folded, origin)),
            (BY_NAME, ("login-name", folded)),
        )
    if by_code:
        counted = (*counted, (BY_CODE, ("login-code", device or folded)), (BY_CODE_OF_USER, ("login-codes", folded)))
    return Attempt(name, address, counted, bool(device))


def remember_device(response: Response, account: Account) -> None:
    """Let this browser be known as one of the user's. It is worth nothing without the password."""
    known = _device_of(account.name)
    response.set_cookie(
        COOKIE,
        _serializer().dumps([account.id, known or secrets.token_urlsafe(12)]),
        max_age=COOKIE_S,
        path=cookie_path(),
        secure=request.is_secure,
        httponly=True,
        samesite="Lax",
    )


def _device_of(name: str) -> str:
    """What this browser is known by when it signed in under the name before; "" for a stranger."""
    given = request.cookies.get(COOKIE)
    if not given:
        return ""
    try:
        user_id, device = _serializer().loads(given)
    except (BadSignature, ValueError, TypeError):
        return ""
    account = site().accounts.named(name)
    return str(device) if account is not None and account.id == user_id else ""


def _serializer() -> URLSafeSerializer:
    return URLSafeSerializer(str(current_app.secret_key), salt="braid.device")


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
