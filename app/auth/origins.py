"""The origin of a request: the address, or network, under which limits count it."""

from __future__ import annotations

import ipaddress
import re

from flask import request


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
