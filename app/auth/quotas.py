"""What a user may take: documents, jobs and disk; requests per minute and at a time, and turns to compute."""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from limits import RateLimitItem, parse
from werkzeug.exceptions import ServiceUnavailable, TooManyRequests
from werkzeug.wsgi import ClosingIterator

from braid.app.site import Site, site
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.admission import LONGEST_S, Admission, Places
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, Reason, TooManyError
from braid.core.ingest.plan import MEBIBYTE
from braid.core.jobs.store import JobStore
from braid.core.ledger.outages import Outage, log_outage
from braid.core.ledger.quota import TOO_MANY_DOCUMENTS, documents_of
from braid.core.types import Dataset

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

logger = logging.getLogger(__name__)


class Quotas:
    """Checks the limits in the settings against the ledger and the disk."""

    def __init__(self, settings: Settings, braid: Braid) -> None:
        self._settings = settings
        self._braid = braid

    def require_dataset_room(self, account: Account) -> None:
        """Raise InvalidInputError when the user has as many datasets as allowed."""
        most = self._settings.max_user_datasets
        if len(self._braid.ledger.datasets(account.id)) >= most:
            raise InvalidInputError(
                Reason("you have %(most)s datasets, which is the limit; delete one first", most=format(most, ",")),
                field="name",
            )

    def require_room(self, account: Account, dataset: Dataset, *, source: str = "", more_bytes: int = 0) -> None:
        """Check that one more document fits in the dataset; one that replaces ``source`` is not counted again.

        Raises InvalidInputError, and ServiceUnavailable when the disk is full.
        """
        self.require_queue_room(account, more_bytes=more_bytes)
        replaces = source and self._braid.ledger.document(dataset.id, source) is not None
        if dataset.user_id is not None and not replaces:
            self.require_document_room(dataset.user_id, dataset.owner)

    def require_document_room(self, user_id: int, owner: str = "") -> None:
        """Raise InvalidInputError when the user has as many documents as allowed; ``owner`` names one who is not the
        caller.
        """
        most = self._settings.max_user_documents
        if self._braid.ledger.database.value(documents_of(user_id)) >= most:
            told = Reason(TOO_MANY_DOCUMENTS, most=format(most, ","))
            if owner:
                told = Reason(
                    "%(name)s has %(most)s documents, with deleted ones that can be restored, which is the limit; "
                    "delete some permanently",
                    name=owner,
                    most=format(most, ","),
                )
            raise InvalidInputError(told, field="file")

    def require_queue_room(self, account: Account, *, more_bytes: int = 0) -> None:
        """Check that the user may queue one more job.

        Raises InvalidInputError, and ServiceUnavailable when the disk is full.
        """
        self._require_disk(more_bytes)
        most = self._settings.max_waiting_jobs
        if JobStore(self._braid.ledger).count_not_done(account.id) >= most:
            shown = f"{most:,} uploads wait or have failed"
            raise InvalidInputError(f"{shown}, which is the limit; wait, or remove failed ones", field="file")

    def _require_disk(self, more_bytes: int) -> None:
        left = shutil.disk_usage(self._braid.data_dir).free - more_bytes
        if left < self._settings.min_free_disk_mb * MEBIBYTE:
            reason = f"{left // MEBIBYTE} MiB would be left, fewer than min_free_disk_mb"
            log_outage(logger, Outage("disk_full", reason), "a request that stores something")
            raise ServiceUnavailable("the disk of the server is almost full; tell the administrator")


def quotas() -> Quotas:
    """Return the quotas of the app that serves this request."""
    return Quotas(site().settings, site().braid)


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
