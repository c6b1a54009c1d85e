"""The user who sends a request, and what the way in which they signed in allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from flask import g

from braid.core.accounts.accounts import Account

ALL_PERMISSIONS = frozenset({"read", "write", "admin"})


@dataclass(frozen=True, slots=True)
class Identity:
    """The user, and what this way of signing in allows."""

    account: Account
    permissions: frozenset[str] = ALL_PERMISSIONS
    """The scopes of the API token; all of them for a browser."""
    session_id: int | None = None
    signed_in_at: float = 0.0
    """When this browser signed in, in seconds since the epoch; 0 where there was no sign-in."""
    by_token: bool = False
    """A program; its requests need no token against forgery, since no browser sends them on its own."""

    @property
    def is_admin(self) -> bool:
        """Whether administrative acts are allowed."""
        return self.account.is_admin and "admin" in self.permissions


def identity() -> Identity:
    """The one who sends this request. Only for routes whose rule is not ``anyone``."""
    return cast(Identity, g.braid_identity)


def signed_in() -> Identity | None:
    """The one who sends this request, or None."""
    return cast("Identity | None", g.get("braid_identity"))
