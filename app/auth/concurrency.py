"""Shares of the server: requests of one user that are at work at the same time, and whose turn it is to compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from werkzeug.exceptions import TooManyRequests
from werkzeug.wsgi import ClosingIterator

from braid.core.admission import LONGEST_S, Admission, Places
from braid.core.errors import TooManyError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

ANY = 1_000_000
"""Requests of all users; the server's threads are fewer."""
TAKE_SHARE = "braid.take_share"
"""The key of the WSGI environment under which `take_share` finds the function that counts a request of a user."""


def fair_shares(app: WSGIApplication, most: int, places: Places) -> WSGIApplication:
    """Let a user have ``most`` requests answered at a time; more are refused with 429. They compute in turn.

    A request counts until its answer is written, however slowly the client reads it. It holds one of ``places`` until
    its answer begins, and lets others go first between its stages.
    """
    running = Admission(ANY, of_one=most, waiting_of_one=0)

    def counted(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        share, place = ExitStack(), ExitStack()

        def take(user_id: int) -> None:
            try:
                share.callback(running.leave, running.ask(user_id, bool))
            except TooManyError as error:
                raise TooManyRequests(str(error), retry_after=5) from error
            place.enter_context(places.hold(user_id, LONGEST_S))

        environ[TAKE_SHARE] = take
        try:
            with place:
                answer = app(environ, start_response)
            return ClosingIterator(answer, share.close)
        except BaseException:
            share.close()
            raise

    return counted


def take_share(environ: WSGIEnvironment, user_id: int) -> None:
    """Count a request of this user until its answer is written, and wait for its turn to compute.

    Raises TooManyRequests. Does nothing in a host app.
    """
    take: Callable[[int], None] | None = environ.get(TAKE_SHARE)
    if take is not None:
        take(user_id)
