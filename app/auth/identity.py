"""Identity of a request: its user, the permissions that come with how they signed in, and where it comes from."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import cast

from flask import g, request

from braid.core.accounts.accounts import Account

ALL_PERMISSIONS = frozenset({"read", "write", "admin"})


@dataclass(frozen=True, slots=True)
class Identity:
    """A user, and the permissions that come with how they signed in."""

    account: Account
    permissions: frozenset[str] = ALL_PERMISSIONS
    """The scopes of the API token; all of them for a browser."""
    session_id: int | None = None
    signed_in_at: float = 0.0
    """When this browser signed in, in seconds since the epoch; 0 where there was no sign-in."""
    fresh: bool = False
    """Whether the host app, or the proxy, says that this user has lately shown who they are."""
    expires_at: float | None = None
    """End of the API token, in seconds since the epoch; None for a browser."""
    by_token: bool = False
    """True for an API token. Such requests need no CSRF token, since no browser sends an API token on its own."""
    dataset_ids: frozenset[int] | None = None
    """The only datasets that the API token reads; None for all that its user may read."""
    by_proxy: bool = False
    """True where a proxy in front of Braid has signed the user in: there is no session of Braid's own to end."""

    @property
    def is_admin(self) -> bool:
        """Whether administrative actions are allowed."""
        return self.account.is_admin and "admin" in self.permissions


def identity() -> Identity:
    """Return the identity of this request. Only for routes whose rule is not ``anyone``."""
    return cast(Identity, g.braid_identity)


def signed_in() -> Identity | None:
    """Return the identity of this request, or None when nobody is signed in."""
    return cast("Identity | None", g.get("braid_identity"))


def origin_of(address: str) -> str:
    """Return the address, or for IPv6 its /64 network: one customer has all 2⁶⁴ addresses of one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        if not found.is_loopback:
            return str(ipaddress.IPv6Network((int(found) >> 64 << 64, 64)))
    return str(found)


def shown_address() -> str:
    """Return the address of this request as logs have it: one word, whatever a proxy passed on."""
    return re.sub(r"[^0-9A-Za-z.:%]", "?", request.remote_addr or "-")[:60]


def is_loopback(origin: str) -> bool:
    """Return whether the origin is this computer."""
    try:
        return ipaddress.ip_address(origin).is_loopback
    except ValueError:
        return False
