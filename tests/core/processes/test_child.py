"""The processes that read, calculate and write for the server: how long it waits for them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from braid.core.processes import child
from braid.core.processes.child import Child, queued_s
from tests.worlds import eventually

LIMIT_S, PATIENCE = 0.05, 4.0


@contextmanager
def python(program: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        try:
            yield process
        finally:
            process.kill()


def asked(queued: Callable[[int], float], monkeypatch: pytest.MonkeyPatch) -> float:
    """Return the seconds until a process that never answers is killed for it."""
    monkeypatch.setattr(child, "queued_s", queued)
    with python("import time; time.sleep(3600)") as process:
        silent, started = Child(process), time.monotonic()
        assert silent.ask({}, LIMIT_S, patience=PATIENCE) is None
        assert silent.timed_out
        return time.monotonic() - started


def test_time_without_a_processor_does_not_count_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(lambda pid: time.monotonic(), monkeypatch) >= PATIENCE * LIMIT_S, "it never had one"
    assert asked(lambda pid: 0.0, monkeypatch) >= LIMIT_S, "it always had one"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say for how long a process was kept waiting")
def test_a_process_whose_processor_is_busy_is_kept_waiting() -> None:
    spin = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\nwhile True: pass"
    with python(spin), python(spin) as process, python("import time; time.sleep(3600)") as idle:
        eventually(lambda: queued_s(process.pid) > 0.2)
        assert queued_s(idle.pid) < queued_s(process.pid)
    assert queued_s(2**22 + 1) == 0.0, "there is none"
