"""What a user may take of the server: requests per minute and at a time, and turns to compute."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from limits import RateLimitItem, parse
from werkzeug.exceptions import TooManyRequests
from werkzeug.wsgi import ClosingIterator

from braid.app.site import Site
from braid.core.admission import LONGEST_S, Admission, Places
from braid.core.errors import Reason, TooManyError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Rate(NamedTuple):
    """A user's rate limit, and the key that it is counted under."""

    limit: RateLimitItem
    key: tuple[str, str]

    def left(self, here: Site) -> tuple[int, int]:
        """Return how many more requests are answered, and the seconds until there will be more, at least 1."""
        stats = here.limiter.get_window_stats(self.limit, *self.key)
        return int(stats.remaining), max(1, math.ceil(stats.reset_time - time.time()))

    def take(self, here: Site) -> None:
        """Count one request. Raises TooManyRequests, whose ``retry_after`` is the seconds that `left` returns."""
        if not here.limiter.hit(self.limit, *self.key):
            _, seconds = self.left(here)
            raise TooManyRequests(
                Reason("at most %(most)s are answered; try again in %(seconds)s s", most=self.limit, seconds=seconds),
                retry_after=seconds,
            )


def rate_of(here: Site, user_id: int) -> Rate:
    """Return the rate of a user."""
    return Rate(parse(here.settings.api_rate_limit), ("api", str(user_id)))


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
