"""Limits that a process sets itself before it reads what strangers wrote."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext, suppress

_PR_SET_NO_NEW_PRIVS = 38


def limit(*, nice: int, memory_bytes: int = 0, cpu_s: int = 0, may_write: bool = True) -> None:
    """Lower this process's priority by ``nice``, let it leave no core and get no more rights, and limit its memory and
    processor time where they are given. Windows limits nothing, macOS no memory.
    """
    if sys.platform == "win32":
        return
    import resource

    os.nice(nice)  # on top of the server's own: a process without rights may not go below that
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not may_write:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if cpu_s:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    if memory_bytes:
        with suppress(ValueError) if sys.platform == "darwin" else nullcontext():
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
