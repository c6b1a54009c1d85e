"""Addresses that Braid does not connect to."""

from __future__ import annotations

import httpcore
import pytest

from braid.core.outgoing.network import AddressRefusedError, GuardedNetwork, has_secrets, is_public

SECRET = (
    "169.254.169.254",
    "fe80::1%eth0",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "fd00:ec2::254",
    "fd20:ce::254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:5601:5601",
)
"""As clouds have them, and the same written into IPv6 by each of the ways: mapped, NAT64, 6to4, Teredo."""


@pytest.mark.parametrize("address", SECRET)
def test_no_server_of_a_model_is_where_a_cloud_tells_secrets(address: str) -> None:
    assert has_secrets(address)
    assert not is_public(address)
    network = GuardedNetwork(None, allow_private=True, resolve=lambda host, port: ["127.0.0.1", address])
    with pytest.raises(AddressRefusedError, match=r"^model leads to this machine's own secrets in a cloud$"):
        network.connect_tcp("model", 80)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.7", "192.168.1.9", "fd12::1", "8.8.8.8"])
def test_a_server_of_a_model_may_be_on_this_computer_and_in_this_network(address: str) -> None:
    assert not has_secrets(address)


def test_a_host_is_looked_up_once_and_the_address_that_was_checked_is_used() -> None:
    answers = [["127.0.0.1"], ["169.254.169.254"]]
    network = GuardedNetwork(None, allow_private=True, resolve=lambda host, port: answers.pop(0))
    with pytest.raises(httpcore.ConnectError):
        network.connect_tcp("model", 9, timeout=5)
    assert answers == [["169.254.169.254"]]
