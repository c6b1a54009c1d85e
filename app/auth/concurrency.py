"""Limits the requests of one user that are answered at the same time, so that each gets a share of the threads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from werkzeug.exceptions import TooManyRequests
from werkzeug.wsgi import ClosingIterator

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

TAKE_SHARE = "braid.take_share"
"""The key of the WSGI environment under which `take_share` finds the function that counts a request of a user."""


def fair_shares(app: WSGIApplication, most: int) -> WSGIApplication:
    """Let a user have ``most`` requests answered at a time; more are refused with 429.

    A request counts until its answer is written, however slowly the client reads it.
    """
    running: Counter[int] = Counter()
    lock = threading.Lock()

    def counted(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        taken: list[int] = []

        def take(user_id: int) -> None:
            with lock:
                if running[user_id] >= most:
                    raise TooManyRequests(f"{most} of your requests are being answered; wait for one", retry_after=5)
                running[user_id] += 1
                taken.append(user_id)

        def give_back() -> None:
            with lock:
                running.subtract(taken)
                taken.clear()

        environ[TAKE_SHARE] = take
        try:
            return ClosingIterator(app(environ, start_response), give_back)
        except BaseException:
            give_back()
            raise

    return counted


def take_share(environ: WSGIEnvironment, user_id: int) -> None:
    """Count a request of this user until its answer is written. Raises TooManyRequests. Does nothing in a host app."""
    take: Callable[[int], None] | None = environ.get(TAKE_SHARE)
    if take is not None:
        take(user_id)
