"""Addresses that an app may be sent back to with its code (RFC 8252, section 7)."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

SCHEMES = {
    "claude": "Claude",
    "com.raycast": "Raycast",
    "cursor": "Cursor",
    "lmstudio": "LM Studio",
    "raycast": "Raycast",
    "vscode": "Visual Studio Code",
    "vscode-insiders": "Visual Studio Code Insiders",
    "warp": "Warp",
    "windsurf": "Windsurf",
    "zed": "Zed",
}
"""Schemes of programs on the user's computer, by which the system starts them. Others may be anybody's."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
MAX_CHARS = 2_000
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.IGNORECASE)
_PLAIN = re.compile(r"[!#-\[\]-~]+")
"""What can be in an address, and in the description of an error: no white space, quotes, backslashes."""


def is_allowed(uri: str) -> bool:
    """Return whether an app may register this address: https, this computer, or one of `SCHEMES`."""
    parts = _split(uri)
    if parts is None or parts.fragment or "@" in parts.netloc:
        return False
    if parts.scheme in SCHEMES:
        return True
    host = parts.hostname or ""
    if parts.scheme == "http":
        return host in LOOPBACK
    return parts.scheme == "https" and _HOST.fullmatch(host) is not None


def is_same(registered: str, given: str) -> bool:
    """Return whether an address is the one that was registered; programs on this computer choose the port each time."""
    one, other = _split(registered), _split(given)
    if registered == given or one is None or other is None:
        return registered == given
    if one.scheme != "http" or one.hostname not in LOOPBACK or "@" in other.netloc:
        return False
    return one._replace(netloc=one.hostname) == other._replace(netloc=other.hostname or "")


def destination(uri: str) -> str:
    """Return who gets the code, for people: a host, or the name of a program; empty for this computer."""
    parts = urlsplit(uri)
    if parts.scheme in SCHEMES:
        return SCHEMES[parts.scheme]
    return "" if parts.hostname in LOOPBACK else parts.netloc


def form_targets(uri: str) -> str:
    """Return the sources that let a form lead there, and on from there (Content Security Policy 3, section 2.3.1).

    Browsers apply them to all redirects of a form: an app's page may lead on to another one, or to a program.
    """
    parts = urlsplit(uri)
    sources = ["https:", *(f"{scheme}:" for scheme in SCHEMES)]
    if parts.scheme == "http":  # no source can name an address of IPv6
        sources.insert(0, "http:" if parts.hostname == "::1" else f"http://{parts.netloc}")
    return " ".join(sources)


def _split(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        _port = parts.port
    except ValueError:
        return None
    return parts if len(uri) <= MAX_CHARS and _PLAIN.fullmatch(uri) else None
