"""Connections to public addresses, or to all but those of a cloud's secrets. The address checked is the one used."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

import httpcore

CONNECT_TIMEOUT_S = 5.0
MAX_ADDRESSES = 3
"""Addresses of one host that are tried."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # protocol assignments; a cloud has its metadata at 192.0.0.192
            "168.63.129.16/32",  # the host of a virtual machine in Azure
            "192.88.99.0/24",  # 6to4 relays
            "fec0::/10",  # site-local
            "3fff::/20",  # documentation
            "64:ff9b:1::/48",  # NAT64 of a network's own
            "100::/64",  # discarded
            "5f00::/16",  # segment routing
        ),
    )
)
"""Beside what `ipaddress` calls not global, which differs between versions of Python."""
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        (
            "100.100.100.200",  # Alibaba
            "192.0.0.192",  # Oracle
            "168.63.129.16",  # Azure
            "fd00:ec2::254",  # Amazon
            "fd20:ce::254",  # Google
        ),
    )
)
"""Where clouds tell their machines secrets, beside link-local addresses."""

Resolve = Callable[[str, int], list[str]]
"""(host, port) → addresses. Raises OSError for an unknown host."""


class AddressRefusedError(OSError):
    """The host has a forbidden address, which nothing is sent to."""


class TooSlowError(Exception):
    """The deadline of the whole request has passed."""


def is_public(address: str) -> bool:
    """Return whether an IP address is on the Internet.

    False for private, loopback, link-local, multicast and reserved addresses, and for IPv4 addresses that are mapped
    into IPv6.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _NAT64:
            return is_public(str(_inner(ip)))
        if _inner(ip) is not None:
            return False
    if any(ip in network for network in _NOT_PUBLIC if network.version == ip.version):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)


def has_secrets(address: str) -> bool:
    """Return whether a cloud tells a machine its secrets at this IP address, however it is written."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    inner = _inner(ip) if isinstance(ip, ipaddress.IPv6Address) else None
    return any(each.is_link_local or each in _METADATA for each in (ip, inner) if each is not None)


def _inner(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address to which packets for this one go, where one is written into it."""
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)


def resolve(host: str, port: int) -> list[str]:
    """Look up the addresses of a host with the system's resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedNetwork(httpcore.NetworkBackend):
    """Looks a host up once, refuses it if any of its addresses is not public, and connects to a checked address.

    With ``allow_private`` only the addresses where clouds tell secrets are refused. Everything has to be read before
    ``deadline``, in seconds of the monotonic clock; None leaves that to the timeouts of each request.
    """

    def __init__(self, deadline: float | None, *, allow_private: bool = False, resolve: Resolve = resolve) -> None:
        self._deadline = deadline
        self._allow_private = allow_private
        self._resolve = resolve
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first of the host's addresses that answers."""
        addresses = self._look_up(host, port)
        for address in addresses[:-1]:
            try:
                return self._connect(address, port, timeout)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connect(addresses[-1], port, timeout)

    def _look_up(self, host: str, port: int) -> list[str]:
        try:
            addresses = self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError("the host is not known") from error
        if not addresses or not all(map(self._is_allowed, addresses)):
            where = "this machine's own secrets in a cloud" if self._allow_private else "a private or reserved network"
            raise AddressRefusedError(f"{host} leads to {where}")
        return addresses[:MAX_ADDRESSES]

    def _is_allowed(self, address: str) -> bool:
        return not has_secrets(address) if self._allow_private else is_public(address)

    def _connect(self, address: str, port: int, timeout: float | None) -> httpcore.NetworkStream:
        if self._deadline is None:
            return self._network.connect_tcp(address, port, timeout=timeout)
        left = min(CONNECT_TIMEOUT_S, _left(self._deadline))
        return _TimedStream(self._network.connect_tcp(address, port, timeout=left), self._deadline)


class _TimedStream(httpcore.NetworkStream):
    """A connection whose reads and writes time out at the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, timeout=_left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout=_left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secure = self._stream.start_tls(ssl_context, server_hostname, timeout=_left(self._deadline))
        return _TimedStream(secure, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TooSlowError
    return left
