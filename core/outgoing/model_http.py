"""The HTTP client for model servers: follows no redirect, keeps no cookie, reaches no address of a cloud's secrets."""

from __future__ import annotations

import atexit
import os
import urllib.request
from functools import cache
from http.cookiejar import DefaultCookiePolicy

import httpcore
import httpx

from braid.core.outgoing.network import GuardedNetwork

IDLE_CONNECTIONS = 20
"""Connections that are kept open for later requests."""


def model_http(base_url: str) -> httpx.Client:
    """Return the client, which is shared and closed with the process, for the server at this address.

    Where a proxy of the environment is in between, that one looks the address up. The client's requests have timeouts
    of their own; they raise `AddressRefusedError`.
    """
    return _client(by_proxy=_has_proxy(httpx.URL(base_url)), trusted=os.environ.get("SSL_CERT_FILE", ""))


def guarded_transport(base_url: str) -> httpx.HTTPTransport | None:
    """Return a transport for a client of one's own, for the server at this address. None where a proxy is in between.

    The client closes it. Its requests raise `AddressRefusedError`.
    """
    return None if _has_proxy(httpx.URL(base_url)) else _GuardedTransport()


@cache
def _client(*, by_proxy: bool, trusted: str) -> httpx.Client:  # httpx reads the file of `trusted` by itself
    transport = None if by_proxy else _GuardedTransport()
    client = httpx.Client(transport=transport, follow_redirects=False)
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    atexit.register(client.close)
    return client


def follow_no_redirects(model: object) -> None:
    """Have the clients of a LangChain model of any package follow none, where it has such clients of httpx."""
    for found in (getattr(model, name, None) for name in ("client", "_client", "root_client")):
        for each in (found, getattr(found, "_client", None)):
            if isinstance(each, httpx.Client):
                each.follow_redirects = False


def _has_proxy(url: httpx.URL) -> bool:
    proxies = urllib.request.getproxies()
    return bool(proxies.get(url.scheme) or proxies.get("all")) and not urllib.request.proxy_bypass(url.host)


class _GuardedTransport(httpx.HTTPTransport):
    """Connects to no address of a cloud's secrets, whatever name it has."""

    def __init__(self) -> None:
        super().__init__()
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=None,
            max_keepalive_connections=IDLE_CONNECTIONS,
            keepalive_expiry=5.0,
            network_backend=GuardedNetwork(None, allow_private=True),
        )
