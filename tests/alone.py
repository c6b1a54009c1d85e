"""A computer of which nothing leaves: a program runs in namespaces of its own, and what it looks up and sends is noted.

    python -m tests.alone REPORT PROGRAM [ARGUMENT …]

The network there has loopback alone. Every address leads to it and refuses, and a name server knows every name, so that
a program which wants to send something tries to. REPORT gets a `Sent` as JSON. The status is the program's, or
`NOT_ALLOWED`, with the reason, where this system lets this user make no namespaces.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

NOT_ALLOWED = 77
ELSEWHERE = "203.0.113.7"
"""The address of every name; it is kept for documentation, and nobody's."""

_NEW_USER, _NEW_NETWORK, _NEW_MOUNTS = 0x10000000, 0x40000000, 0x00020000  # sched.h
_BIND, _PRIVATE = 4096, 0x44000  # MS_BIND, MS_REC | MS_PRIVATE of sys/mount.h
_NEW_LINK, _NEW_ROUTE = 16, 24  # RTM_… of linux/rtnetlink.h
_LOOPBACK = 1  # the number of its interface in every network
_EVERY_PACKET = 3  # ETH_P_ALL
_LIBRARY = ctypes.CDLL(None, use_errno=True)


@dataclass
class Sent:
    """The names that were looked up, other addresses that something was sent to, and packets that went by unread."""

    names: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    unread: int = 0


def main(report: Path, command: list[str]) -> int:
    """Run the command, and write down what it sent."""
    try:
        _leave()
        _lead_everything_to_loopback()
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_EVERY_PACKET))
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    except OSError as error:
        print(f"no namespace, network or packets of its own: {error}", file=sys.stderr)
        return NOT_ALLOWED
    sent = Sent()
    with packets, _name_server() as names, subprocess.Popen(command) as program:
        while _note(names, packets, sent, 0.05) or program.poll() is None:
            pass
        sent.unread = struct.unpack("II", packets.getsockopt(263, 6, 8))[1]  # SOL_PACKET, PACKET_STATISTICS: drops
    report.write_text(json.dumps(asdict(sent)))
    return program.returncode


def _leave() -> None:
    """Enter a network, mounts and, for who is not root, a user namespace of this process's own."""
    own = (os.getuid(), os.getgid())
    if _LIBRARY.unshare(_NEW_NETWORK | _NEW_MOUNTS):
        _do(_LIBRARY.unshare(_NEW_USER | _NEW_NETWORK | _NEW_MOUNTS))
        Path("/proc/self/setgroups").write_text("deny")
        for name, number in zip(("uid", "gid"), own, strict=True):
            Path(f"/proc/self/{name}_map").write_text(f"0 {number} 1")
    _do(_LIBRARY.mount(b"none", b"/", None, _PRIVATE, None))
    with tempfile.TemporaryDirectory(prefix="braid-") as folder:  # what is mounted stays when its name is gone
        for path, content in {
            "/etc/resolv.conf": "nameserver 127.0.0.1\n",
            "/etc/nsswitch.conf": "hosts: files dns\npasswd: files\ngroup: files\n",
        }.items():
            file = Path(folder, Path(path).name)
            file.write_text(content)
            _do(_LIBRARY.mount(bytes(file), path.encode(), None, _BIND, None))


def _do(status: int) -> None:
    if status:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _lead_everything_to_loopback() -> None:
    """Set loopback up, and make every address one of this computer."""
    up = struct.pack("=BxHiII", 0, 0, _LOOPBACK, 1, 1)  # struct ifinfomsg: the flag IFF_UP, and that it is changed
    _ask_kernel(_NEW_LINK, up)
    for family in (socket.AF_INET, socket.AF_INET6):
        # struct rtmsg: all addresses; the table local, set up by hand, for this host, of the type local; RTA_OIF
        route = struct.pack("=8BI", family, 0, 0, 0, 255, 4, 254, 2, 0) + struct.pack("=HHi", 8, 4, _LOOPBACK)
        _ask_kernel(_NEW_ROUTE, route)


def _ask_kernel(kind: int, content: bytes) -> None:
    request_ack_create = 0x1 | 0x4 | 0x400
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(content), kind, request_ack_create, 1, 0) + content)
        (status,) = struct.unpack_from("=i", netlink.recv(4096), 16)
    if status:
        raise OSError(-status, os.strerror(-status))


def _name_server() -> socket.socket:
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 53))
    return names


def _note(names: socket.socket, packets: socket.socket, sent: Sent, timeout_s: float) -> bool:
    """Note one question and one packet; return whether there was any."""
    ready, _, _ = select.select([names, packets], [], [], timeout_s)
    if names in ready:
        question, asker = names.recvfrom(4096)
        name, answer = _answer(question)
        sent.names += [name] * (name not in sent.names)
        names.sendto(answer, asker)
    if packets in ready:
        packet = packets.recv(64)
        six = packet[0] >> 4 == 6
        raw = packet[24:40] if six else packet[16:20]
        address = socket.inet_ntop(socket.AF_INET6 if six else socket.AF_INET, raw)
        if not address.startswith("127.") and address not in ("::1", *sent.addresses):
            sent.addresses.append(address)
    return bool(ready)


def _answer(question: bytes) -> tuple[str, bytes]:
    """Return the name that a DNS question is of, and the answer: one address of version 4, none of version 6."""
    labels, at = [], 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode("ascii", "replace"))
        at += 1 + length
    (kind,) = struct.unpack_from("!H", question, at + 1)
    found = kind == 1
    record = struct.pack("!HHHIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton(ELSEWHERE) if found else b""
    head = question[:2] + struct.pack("!5H", 0x8180, 1, found, 0, 0)
    return ".".join(labels), head + question[12 : at + 5] + record


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
