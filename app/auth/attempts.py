"""Attempts to sign in: failures are counted, so that nobody guesses passwords or keeps somebody else out.

As OWASP has it ("Slow down online guessing attacks with device cookies"): strangers are counted by name, a browser that
signed in as this user before by itself alone.
"""

from __future__ import annotations

import json
import logging
import secrets
from dataclasses import dataclass

from flask import current_app, request
from itsdangerous import BadSignature, URLSafeSerializer
from limits import RateLimitItem, parse
from werkzeug.exceptions import TooManyRequests
from werkzeug.wrappers import Response

from braid.app.auth.identity import origin_of, shown_address
from braid.app.mounted import cookie_path
from braid.app.site import site
from braid.core.accounts.accounts import Account
from braid.core.errors import Reason

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
