"""Users whom a proxy in front of Braid has signed in, and names in a header: Authelia, Authentik, oauth2-proxy."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network

from flask import request
from werkzeug.exceptions import Forbidden

from braid.app.host import HostUser
from braid.config.settings import Settings

MAX_GROUPS = 200
"""Groups of a user that are read; further ones are refused, so that nobody's access depends on the order."""


def user_of_proxy(settings: Settings) -> HostUser | None:
    """Return the user whom the proxy names; None without the setting ``sign_in_header``, and where nobody is named.

    Raises Forbidden for a header that another computer sends than those of ``sign_in_proxies``, for one that is no
    UTF-8, for a name with a comma, and for more than `MAX_GROUPS` groups.
    """
    if not settings.sign_in_header:
        return None
    name, groups = _header(settings.sign_in_header), _header(settings.sign_in_groups_header)
    if not name and not groups:
        return None
    if not _is_sign_in_proxy(connected_from(), settings.sign_in_proxies):
        raise Forbidden(
            f"the header {settings.sign_in_header} is believed from the proxies in sign_in_proxies alone, and this "
            f"request came from {connected_from()}"
        )
    if not name:
        return None
    if "," in name:  # as servers join a header that is given twice
        raise Forbidden(f"the header {settings.sign_in_header} is given twice, or the name in it has a comma")
    found = _groups(groups)
    return HostUser(name, found, is_admin=settings.sign_in_admin_group in found, fresh=True)


def connected_from() -> str:
    """Return the address of the computer that the connection comes from, whatever its headers say."""
    connected = request.environ.get("werkzeug.proxy_fix.orig", {}).get("REMOTE_ADDR", request.remote_addr)
    return connected or ""


def _header(name: str) -> str:
    """Return the value of a header, which proxies send as UTF-8; empty for none."""
    try:
        return request.headers.get(name, "").encode("latin-1").decode().strip() if name else ""
    except UnicodeError:
        raise Forbidden(f"the header {name} is not UTF-8") from None


def _groups(given: str) -> frozenset[str]:
    """Split groups at ``|``, as Authentik writes them, else at commas."""
    separator = "|" if "|" in given else ","
    found = frozenset(filter(None, map(str.strip, given.split(separator, MAX_GROUPS + 1))))
    if len(found) > MAX_GROUPS:
        raise Forbidden(f"the proxy names more than {MAX_GROUPS} groups; have it send those that Braid needs")
    return found


def _is_sign_in_proxy(address: str, proxies: tuple[str, ...]) -> bool:
    try:
        found = ip_address(re.sub(r"%.*", "", address))
    except ValueError:
        return False
    found = getattr(found, "ipv4_mapped", None) or found
    return any(found in ip_network(each, strict=False) for each in proxies)
