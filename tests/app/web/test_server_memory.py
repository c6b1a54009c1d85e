"""The server's heap: the large pieces that a long question needs are given back, whatever was freed before."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os
from pathlib import Path
from braid.app.server import keep_heap_small

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20

keep_heap_small()
before, kept = resident_mb(), []
for size in (31 << 20, 24 << 20, 20 << 20):  # the first one raises glibc's threshold when it is freed
    pieces = []
    for number in range(10):
        pieces.append(bytes(size))
        kept.append(bytearray(b"x" * 100_000))  # on top of it, and stays
    del pieces
print(resident_mb() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc keeps what was freed in its heap")
def test_large_pieces_of_memory_are_given_back() -> None:
    grown = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True).stdout
    assert int(grown) < 60, "without it, some hundred megabytes stay"
