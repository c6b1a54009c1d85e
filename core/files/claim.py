"""The claim of a ledger to a folder, a bucket and servers: they belong to its site, and to no other."""

from __future__ import annotations

from dataclasses import dataclass

from braid.core.errors import OtherSiteError

SHOWN = 8
"""Digits of an id that a message shows."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A ledger's claim to a place. ``ledger`` is its address without a password; ``site`` is empty where it has no id.

    ``is_new`` says that the ledger had nothing when it was opened, ``takes`` that whatever it is given is its own from
    now on, and ``copy_of`` is the site whose backup it was restored from.
    """

    ledger: str
    site: str = ""
    copy_of: str = ""
    is_new: bool = False
    takes: bool = False

    def check(self, place: str, found: str, *, has: str = "") -> bool:
        """Return whether the id of the site is to be written to a place, where the id ``found``, or none, is.

        ``has`` says what lies there. Raises OtherSiteError when the place is another site's.
        """
        if self.site and found == self.site:
            return False
        if self.takes or not (found or (self.is_new and has)):
            return True
        raise OtherSiteError(self._refusal(place, found, has))

    def _refusal(self, place: str, found: str, has: str) -> str:
        theirs = f" {found[:SHOWN]}" if found else ""
        if self.site and not self.is_new:
            copied = f" (a restored copy of {self.copy_of[:SHOWN]})" if self.copy_of else ""
            said = f"the ledger {self.ledger} is of the site {self.site[:SHOWN]}{copied}, but {place} is of{theirs}"
            remedy = "set the one of this ledger; or, if it takes that one over and nobody else uses it any more,"
        else:
            said = f"the ledger {self.ledger} is new, but {place} is of a site{theirs} already"
            remedy = "name its ledger (database_url), or restore it; to begin a new site with what lies there,"
        return (
            f"{said}{has and f', with {has}'}; {remedy} start once with --new-site (in a program: new_site=True). "
            "Nothing was deleted"
        )
