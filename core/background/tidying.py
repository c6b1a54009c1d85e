"""Tidying: what is old, expired or nobody's goes, once it is certain whose it is and what time it is."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from braid.core.accounts.app_settings import AppSettings
from braid.core.accounts.connected_apps import ConnectedApps
from braid.core.accounts.credentials import WebSessions
from braid.core.accounts.idempotency import IdempotencyKeys
from braid.core.background.retention import Retention
from braid.core.files.lost import Rules
from braid.core.ingest.spool import Spool
from braid.core.jobs.store import JobStore
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.owners.site import newest_activity
from braid.core.originals.pages import PagePictures
from braid.core.originals.scans import Scans
from braid.core.originals.store import SPANS, Originals

if TYPE_CHECKING:
    from braid.core.braid import Braid

JUMP_S = 7 * 86_400.0
"""A difference to the time of the last tidying after which the clock may be wrong."""
SURE_AFTER_S = 86_400.0
"""Time of running after which a clock that jumped is believed."""
TIDIED_AT = "tidied_at"
"""Name of the app setting with the time of the last tidying."""

logger = logging.getLogger(__name__)


class Clock:
    """The time, and whether what is deleted by it can be: not when it is more than a week from the last tidying's.

    It is believed again once it is right, or after a day of running. ``now`` gives seconds since the epoch, ``uptime``
    seconds that no setting of a clock changes.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        now: Callable[[], float] = time.time,
        uptime: Callable[[], float] = time.monotonic,
    ) -> None:
        self.now = now
        self._uptime = uptime
        self._settings = AppSettings(ledger)
        self._noticed = ledger.noticed
        self._before = newest_activity(ledger.database)
        self._doubted_at: float | None = None

    def is_sure(self) -> bool:
        """Return whether the clock can be believed, and remember its time if so."""
        now, uptime = self.now(), self._uptime()
        last: float = self._settings.get(TIDIED_AT, self._before)
        if not last or abs(now - last) <= JUMP_S:
            self._doubted_at = None
        elif self._doubted_at is None:
            self._doubted_at = uptime
            logger.warning(
                "event=clock_jumped days=%+.1f nothing is deleted by age until the clock is right, or for %.0f hours",
                *((now - last) / 86_400, SURE_AFTER_S / 3600),
            )
        self._noticed.clock_jumped = self._doubted_at is not None and uptime < self._doubted_at + SURE_AFTER_S
        if self._noticed.clock_jumped:
            return False
        self._doubted_at = None
        self._settings.set(TIDIED_AT, now)
        return True


class Tidying:
    """Tidies an open data directory, as often as it is called."""

    def __init__(
        self, braid: Braid, spool: Spool, originals: Originals, retention: Retention, *, days: int, clock: Clock | None
    ) -> None:
        self._braid = braid
        self._spool = spool
        self._originals = originals
        self._retention = retention
        self._days = days
        self._clock = clock or Clock(braid.ledger)
        self._jobs = JobStore(braid.ledger)
        self._pages = PagePictures(braid.data_dir / "pages")
        self._settings = AppSettings(braid.ledger)
        since = newest_activity(braid.ledger.database)
        self._gap = (since, self._clock.now()) if since else None

    def tidy(self, *, everything: bool) -> None:
        """Delete what is too old and take away what is nobody's; without ``everything``, what this machine alone has.

        Raises OtherSiteError where the files may be another site's.
        """
        bucket = self._braid.bucket
        self._braid.require_site()
        kept = self._jobs.kept_files()
        if bucket is not None:
            if brought := self._spool.bring_in(kept) + self._originals.bring_in():
                logger.info("event=files_brought_in count=%d to=%s", brought, bucket.url)
            bucket.tidy()
        self._pages.sweep(self._originals.known)
        if not self._clock.is_sure():
            return
        rules = self._rules()
        if everything:
            self._by_age(rules.now)
            self._spool.sweep(self._jobs.kept_files(), rules)
            self._originals.sweep(rules)
            Scans(self._braid.ledger.database).sweep()
        elif bucket is not None:
            self._spool.sweep_folder(kept, rules)

    def _by_age(self, now: float) -> None:
        before = self._jobs.kept_files()
        self._jobs.prune(self._days, now=now)
        for name in before - self._jobs.kept_files():
            self._spool.remove(name)
        if any(deleted := self._retention.apply(now=now).values()):
            logger.info("event=retention deleted=%s", sum(deleted))
        WebSessions(self._braid.ledger).forget_old(now)
        IdempotencyKeys(self._braid.ledger).forget_old(now)
        ConnectedApps(self._braid.ledger).forget_old(now)

    def _rules(self) -> Rules:
        """Return which files are taken: none from after the ledger's end, where it is an older one than they are."""
        if self._gap is not None:
            (since, until), self._gap = self._gap, None
            kept = self._jobs.kept_files()
            newest = (self._spool.newest_unknown(kept, since, until), self._originals.newest_unknown(since, until))
            last = max((at for at in newest if at is not None), default=None)
            if last is not None and not any(first < last <= end for first, end in self._settings.get(SPANS, [])):
                self._settings.change(SPANS, [], lambda spans: [*spans, (since, last)])
                logger.warning("event=older_ledger files that are newer than it are kept, though it has no row of them")
        return self._originals.rules(self._clock.now())
