"""Who follows which collections of a fleet: a working member claims its part of those that have work."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping

from braid.core.errors import BraidError
from braid.core.indexes.fleet.claimed import INDEX
from braid.core.ledger import prepared
from braid.core.ledger.change_log import StateName
from braid.core.ledger.database import Database
from braid.core.ledger.member import Member

IDLE_S = 10.0
"""Time after which a collection without work is given back: to claim it again costs an inspection."""


class Sharing:
    """Claims and gives back. ``versions`` returns for each leg the version that a collection's index must have."""

    def __init__(self, database: Database, member: Member, versions: Mapping[StateName, Callable[[str], str]]) -> None:
        self._database = database
        self._member = member
        self._versions = versions
        self._worked_at: dict[str, float] = {}

    def look(self) -> bool:
        """Take what is free and has work, up to this member's part, and give back what is idle or too much.

        Returns whether anything was taken.
        """
        work, now = self._with_work(), time.monotonic()
        mine = set(self._member.held(INDEX))
        self._worked_at = {name: self._worked_at.get(name, now) for name in mine}
        self._worked_at.update(dict.fromkeys(mine & work.keys(), now))
        idle = {name for name in mine if now - self._worked_at[name] >= IDLE_S}
        busy = sorted(mine & work.keys())
        part = -(-len(work) // max(1, self._member.living().working))
        # One more than its part stays, or collections would wander; and a rebuild would begin again elsewhere.
        too_many = [name for name in busy[part + 1 :] if not work[name]]
        if idle or too_many:
            self._member.release([INDEX + name for name in (*idle, *too_many)])
        claims, name_here = self._member.claims(), self._member.name
        # A claim of this process that it does not know: an answer of the database was lost.
        free = [name for name in work.keys() - mine if claims.get(INDEX + name, name_here) == name_here]
        taken = random.sample(free, min(len(free), max(0, part - len(busy))))
        if taken:
            self._member.claim([INDEX + name for name in taken])
        return bool(taken)

    def _with_work(self) -> dict[str, bool]:
        """Return the collections that have work in a leg, and whether one of their indexes is being rebuilt."""
        found: dict[str, bool] = {}
        for leg, version_of in self._versions.items():
            for collection, *found_state in self._database.rows(prepared.TO_FOLLOW, leg=leg):
                head, version, applied, state, wanted, report = found_state
                if state is None:
                    has_work = head > 0
                else:
                    has_work = bool(wanted) or state != "ready" or applied != head or _is_ill(report)
                    has_work = has_work or _is_other(version, version_of, collection)
                if has_work:
                    found[collection] = found.get(collection, False) or state == "rebuilding"
        return found


def _is_ill(report: str) -> bool:
    """Return whether the follower's last word was not that the index is ready: it is tried again until it is."""
    return bool(report) and json.loads(report).get("state", "ready") != "ready"


def _is_other(version: str, version_of: Callable[[str], str], collection: str) -> bool:
    try:
        return version != version_of(collection)
    except BraidError:  # a model that cannot be made: nothing can be done for the collection
        return False
