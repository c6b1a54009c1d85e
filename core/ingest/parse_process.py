"""One process that parses, running `braid.core.ingest.parse_worker`."""

from __future__ import annotations

from typing import Any

from braid.core.processes.child import Child, IsStopped, never, start

START_TIMEOUT_S = 60.0

Outcome = dict[str, Any]


class ParseProcess(Child):
    """Reads one file after another. Raises OSError when it cannot be started."""

    def __init__(self, memory_mb: int) -> None:
        super().__init__(start("braid.core.ingest.parse_worker", str(memory_mb * 2**20)))
        self.requests = 0
        self.is_usable = self.receive(START_TIMEOUT_S) is not None
        """Whether the last request was answered to the end, so that the next one can be sent."""

    def ask(self, request: object, timeout_s: float, is_stopped: IsStopped = never) -> Outcome | None:
        """Send a request, a dictionary, and wait for the first frame of the answer; None as by `receive`."""
        assert isinstance(request, dict)
        self.is_usable = False
        self.requests += 1
        return super().ask({**request, "timeout_s": timeout_s}, timeout_s, is_stopped)

    def go_on(self) -> None:
        """Tell a process that waits that what it made was taken; one that died is noticed by `receive`."""
        self.tell({"go_on": True})
